"""Everybody's past as belief states: a release costs by who is in it, however long they were there."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.errors import InternalError
from reissue.papers.tracking.belief_states import BeliefStates, NextPlace, joined, moved
from reissue.papers.tracking.forward_backward import Powers, ValueDistributions
from reissue.papers.tracking.incremental import Distributions, absent, found
from reissue.updates import UpdateModel

__all__ = ["BeliefTracker", "TrackedRisk"]

_COLUMNS = ("people", "place", "shape", "seen")


@dataclass(frozen=True, eq=False)
class TrackedRisk:
    """What is known of some people with one more release."""

    largest: Floats
    """The largest posterior of any value in any release."""
    certainty: np.ndarray
    """CERTAIN: in some release one value is left; IMPOSSIBLE: none is."""
    shapes: BeliefStates | None = None
    shape: Ints | None = None


@dataclass(frozen=True, eq=False)
class _People:
    """Some people, sorted by number."""

    people: Ints
    place: Ints
    """Where each of them was last."""
    shape: Ints
    seen: Ints
    """When that was: the number of the release, from 0."""

    @classmethod
    def none(cls) -> "_People":
        return cls(*(np.empty(0, np.int64) for _ in _COLUMNS))

    def pick(self, chosen: Bools | Ints) -> "_People":
        return _People(*(getattr(self, name)[chosen] for name in _COLUMNS))

    def merged(self, others: "_People") -> "_People":
        at = np.searchsorted(self.people, others.people)
        return _People(*(np.insert(getattr(self, name), at, getattr(others, name)) for name in _COLUMNS))


@dataclass(frozen=True, eq=False)
class BeliefTracker:
    """Everybody's shape, with the place and the release of its last values."""

    shown: Distributions
    here: _People
    gone: _People
    shapes: BeliefStates

    @classmethod
    def none(cls) -> "BeliefTracker":
        """Before the first release."""
        return cls(Distributions.none(), _People.none(), _People.none(), BeliefStates.none())

    def look(self, people: Ints, release: int) -> NextPlace:
        """What is known of some people when they come to a release; where they stand in it is not, yet."""
        shape, last, gap = np.full((3, len(people)), -1, np.int64)
        for some in (self.here, self.gone):
            rows, at = found(some.people, people)
            shape[rows], last[rows], gap[rows] = some.shape[at], some.place[at], release - some.seen[at]
        return NextPlace(shape, last, gap, last)

    def judged(self, view: NextPlace, at: Ints, shown: ValueDistributions, model: UpdateModel) -> TrackedRisk:
        """What is known of them with their places in the release."""
        shapes, shape = moved(self.shapes, replace(view, place=at), shown, Powers(model))
        return TrackedRisk(shapes.largest[shape], shapes.certainty[shape], shapes, shape)

    def picked(self, view: NextPlace, rows: Ints) -> NextPlace:
        """The same of some of them, who may repeat."""
        return NextPlace(view.shape[rows], view.last[rows], view.gap[rows], view.place[rows])

    def after(
        self, people: Ints, release: int, at: Ints, shown: Distributions, judged: TrackedRisk, model: UpdateModel
    ) -> "BeliefTracker":
        """With one more release."""
        del model
        if judged.shapes is None or judged.shape is None:  # pragma: no cover
            raise InternalError("People's shapes were not looked at. Please report this.")
        order = np.argsort(people)
        seen = np.full(len(people), release)
        here = _People(people[order], at[order], judged.shape[order], seen)
        still, left = (some.pick(absent(some.people, here.people)) for some in (self.gone, self.here))
        gone = still.merged(left)
        return _tidied(shown, here, gone, self.shapes, judged.shapes)

    @property
    def people(self) -> Ints:
        """Everybody who ever was there."""
        return np.concatenate([self.here.people, self.gone.people])

    @cached_property
    def everyone(self) -> tuple[Floats, np.ndarray]:
        """The largest posterior of these people; and what is certain, or impossible."""
        shape = np.concatenate([self.here.shape, self.gone.shape])
        return self.shapes.largest[shape], self.shapes.certainty[shape]


def _tidied(shown: Distributions, here: _People, gone: _People, old: BeliefStates, new: BeliefStates) -> BeliefTracker:
    """The shapes that somebody has, each once."""
    used = np.zeros(len(old.keys), np.bool_)
    used[gone.shape] = True
    kept = old.some(np.flatnonzero(used))
    order = np.argsort(kept.keys)
    rows, at = found(kept.keys[order], new.keys)
    of_new = np.empty(len(new.keys), np.int64)
    fresh = np.ones(len(new.keys), np.bool_)
    fresh[rows], of_new[rows] = False, order[at]
    of_new[fresh] = len(kept.keys) + np.arange(int(fresh.sum()))
    of_old = np.cumsum(used) - 1
    return BeliefTracker(
        shown,
        replace(here, shape=of_new[here.shape]),
        replace(gone, shape=of_old[gone.shape]),
        joined([kept, new.some(np.flatnonzero(fresh))]),
    )
