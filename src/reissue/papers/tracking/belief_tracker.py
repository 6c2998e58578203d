"""Everybody's past as belief states: a release costs by who is in it, however long they were there.

A belief state is all that a person's releases so far say about later ones, so that nothing else need be kept. Of a
person's past only two things matter to later releases. *Weights*: how likely each value of its last place is, given all
its places so far. And for every value v that it may have had in some release the *complement*: how likely it was not v,
given the value w it has now, for each w. The posterior of v is 1 - sum of weight(w) x complement(w). A further release
turns complements into weighted means of themselves, so one that is nowhere below another never will be: it can be
forgotten, since only the largest posterior is asked for. What is left, the lowest complements, are few, however long
the person stays: about as many as its place has values, and a few more. (Beliefs of partially observed Markov processes
are kept in this way.) Complements are sums of what is not negative, so one is 0 just where v is certain.

Weights and complements together are a *shape*: the same for all people whose releases looked the same, but for the
names of the values. Each is kept once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.hashing import mix
from reissue.counting.segments import ranges
from reissue.errors import InternalError
from reissue.papers.tracking.forward_backward import Distributions, Powers, ValueDistributions, absent, found, rounded
from reissue.updates import UpdateModel

__all__ = ["CERTAIN", "IMPOSSIBLE", "BeliefStates", "BeliefTracker", "NextPlace", "TrackedRisk", "moved"]


CERTAIN, IMPOSSIBLE = 1, 2
_SLACK = 1e-12
"""A complement that is lower only by this part of itself is not lower."""
_APART = 1 << 20
_CELLS = 1 << 20
"""How many numbers a block's largest array holds."""


@dataclass(frozen=True, eq=False)
class BeliefStates:
    """Weights and complements, shape after shape."""

    widths: Ints
    """Shape to how many values its place has."""
    complements: Ints
    """Shape to how many complements it has; none where its places contradict each other."""
    weight: Floats
    complement: Floats
    largest: Floats
    """The largest posterior of any value in any release."""
    certainty: np.ndarray
    """CERTAIN: in some release one value is left; IMPOSSIBLE: none is."""
    keys: np.ndarray
    """What tells shapes apart."""

    @classmethod
    def none(cls) -> "BeliefStates":
        """Before the first release."""
        ints, floats = np.empty(0, np.int64), np.empty(0)
        return cls(ints, ints, floats, floats, floats, np.empty(0, np.uint8), np.empty(0, np.uint64))

    @cached_property
    def weight_starts(self) -> Ints:
        """Shape to its first weight."""
        return np.asarray(np.cumsum(self.widths) - self.widths)

    @cached_property
    def complement_starts(self) -> Ints:
        """Shape to its first complement."""
        sizes = self.widths * self.complements
        return np.asarray(np.cumsum(sizes) - sizes)

    def some(self, rows: Ints) -> "BeliefStates":
        """Some of the shapes, in the given order."""
        widths, complements = self.widths[rows], self.complements[rows]
        weight, complement = (
            ranges(self.weight_starts[rows], widths),
            ranges(self.complement_starts[rows], widths * complements),
        )
        parts = self.largest[rows], self.certainty[rows], self.keys[rows]
        return BeliefStates(widths, complements, self.weight[weight], self.complement[complement], *parts)

    def spread(self, rows: Ints, width: int, number: int) -> tuple[Floats, Floats]:
        """Weights (width x rows) and complements (number x width x rows); padding has weight 0 and complement 1."""
        slot, widths = np.arange(width)[:, np.newaxis], self.widths[rows]
        weight = np.zeros((width, len(rows)))
        real = slot < widths
        weight[real] = self.weight[(self.weight_starts[rows] + slot)[real]]
        which = np.arange(number)[:, np.newaxis, np.newaxis]
        complement = np.ones((number, width, len(rows)))
        there = real & (which < self.complements[rows])
        complement[there] = self.complement[(self.complement_starts[rows] + which * widths + slot)[there]]
        return weight, complement


def joined(parts: list[BeliefStates]) -> BeliefStates:
    """All of them, one after the other."""
    names = ("widths", "complements", "weight", "complement", "largest", "certainty", "keys")
    return BeliefStates(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class NextPlace:
    """People on their way to one place more."""

    shape: Ints
    """Person to its shape so far, -1 for none."""
    last: Ints
    """Person to the place where it was last."""
    gap: Ints
    """Person to how many releases ago that was."""
    place: Ints
    """Person to where it is now."""


def moved(
    shapes: BeliefStates, step: NextPlace, shown: ValueDistributions, powers: Powers
) -> tuple[BeliefStates, Ints]:
    """The shapes of some people one release later, each once; and person to its shape."""
    parts, of_row = [BeliefStates.none()], np.empty(len(step.shape), np.int64)
    number = 0
    for rows, block in _blocks(shapes, step, shown, powers):
        parts.append(block)
        of_row[rows] = number + np.arange(len(rows))
        number += len(rows)
    found = joined(parts)
    _, first, again = np.unique(found.keys, return_index=True, return_inverse=True)
    return found.some(first), again.reshape(-1)[of_row]


def _blocks(
    shapes: BeliefStates, step: NextPlace, shown: ValueDistributions, powers: Powers
) -> Iterator[tuple[Ints, BeliefStates]]:
    """People of about one size at a time."""
    known = step.shape >= 0
    new = rounded(shown.widths[step.place])
    old, complements = np.zeros((2, len(new)), np.int64)
    old[known] = rounded(shown.widths[step.last[known]])
    complements[known] = rounded(np.maximum(shapes.complements[step.shape[known]], 1))
    size = int(max(new.max(initial=0), old.max(initial=0), complements.max(initial=0))) + 1
    kind = (new * size + old) * size + complements
    order = np.argsort(kind, kind="stable")
    cuts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    for begin, end in pairwise([*cuts.tolist(), len(order)]):
        one = order[begin]
        wide, before, number = int(new[one]), int(old[one]), int(complements[one])
        rows_each = max(_CELLS // (wide * (wide + number + before)), 1)
        for at in range(begin, end, rows_each):
            rows = order[at : min(at + rows_each, end)]
            values, shares = shown.spread(step.place[rows], wide)
            share = shares.T
            widths = shown.widths[step.place[rows]]
            if not before:
                yield rows, _lowest(share / share.sum(axis=0), _units(wide, len(rows)), widths)
                continue
            weight, complement = shapes.spread(step.shape[rows], before, number)
            was = shown.spread(step.last[rows], before)[0].T
            flow = weight[:, np.newaxis] * powers.between(was, values.T, step.gap[rows])
            yield rows, _lowest(*_later(flow, complement, share), widths)


def _units(width: int, rows: int) -> Floats:
    """Doubts about the values of a place itself: there is none about the value that a person has."""
    return np.repeat((1.0 - np.eye(width))[:, :, np.newaxis], rows, axis=2)


def _later(flow: Floats, complement: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Weights and complements one release later; `flow` is what goes from each value to each (old x new x rows)."""
    total = flow.sum(axis=0)
    mean = np.einsum("kar,abr->kbr", complement, flow)
    mean /= np.where(total > 0, total, 1)
    weight = total * share
    every = weight.sum(axis=0)
    weight /= np.where(every > 0, every, 1)
    return weight, np.concatenate([_units(len(share), share.shape[1]), np.minimum(mean, 1)])


def _lowest(weight: Floats, complement: Floats, widths: Ints) -> BeliefStates:
    """Shapes of the lowest complements; values that are not possible count in none."""
    complement = np.where(weight > 0, complement, 0.0)
    kept = np.ones((len(complement), weight.shape[1]), np.bool_)
    for one, own in enumerate(complement * (1 + _SLACK)):
        lower = kept.copy()
        lower[one] = False
        for slot in range(len(weight)):
            lower &= complement[:, slot] <= own[slot]
        kept[one] = ~lower.any(axis=0)
    possible = weight.sum(axis=0) > 0
    kept &= possible
    largest = np.where(kept, 1 - np.einsum("kar,ar->kr", complement, weight), 0.0).max(axis=0)
    certain = (kept & (complement == 0).all(axis=1)).any(axis=0)
    certainty = (CERTAIN * certain + IMPOSSIBLE * ~possible).astype(np.uint8)
    return _packed(weight, complement, kept, widths, largest, certainty)


def _packed(
    weight: Floats, complement: Floats, kept: Bools, widths: Ints, largest: Floats, certainty: np.ndarray
) -> BeliefStates:
    """Without padding, person after person."""
    real = np.arange(len(weight)) < widths[:, np.newaxis]
    rows, which, slot = np.nonzero(kept.T[:, :, np.newaxis] & real[:, np.newaxis])
    complements = kept.sum(axis=0)
    place = (np.cumsum(kept, axis=0) - 1)[which, rows]
    flat = complement[which, slot, rows]
    person, at = np.nonzero(real)
    own = weight[at, person]
    keys = np.zeros(len(widths), np.uint64)
    for row, number, where in ((rows, flat, (place + 1) * _APART + slot), (person, own, at)):
        np.add.at(keys, row, mix(number.view(np.uint64) ^ mix(where.astype(np.uint64) + np.uint64(1))))
    keys ^= mix((widths * _APART + complements).astype(np.uint64))
    return BeliefStates(widths, complements, own, flat, largest, certainty, keys)


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
