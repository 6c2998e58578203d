"""Everybody's past in a series of m-Distinct releases, and what it tells with one place more.

A *place* is the distribution of values that a group shows. Everybody's places are kept, those of people who left too,
since they may return. The posterior of a value is computed anew with every release (`tracking.forward_backward`), so a
release costs by how long its people have been there.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.segments import ranges
from reissue.papers.tracking.forward_backward import (
    PresenceHistory,
    ValueDistributions,
    presence_blocks,
)
from reissue.updates import UpdateModel

__all__ = ["PlacesSoFar", "largest_posteriors", "some_of", "with_place"]


@dataclass(frozen=True, eq=False)
class PlacesSoFar:
    """The places of everybody who ever was in the series."""

    shown: ValueDistributions
    """All places that there have been."""
    people: Ints
    """Sorted."""
    history: PresenceHistory

    @classmethod
    def none(cls) -> "PlacesSoFar":
        """Before the first release."""
        nothing = np.empty(0, np.int64)
        start = np.zeros(1, np.int64)
        shown = ValueDistributions(start, nothing, np.empty(0))
        return cls(shown, nothing, PresenceHistory(start, nothing, nothing))

    def of(self, people: Ints) -> PresenceHistory:
        """The histories of some people, empty for those who are new."""
        at = np.where(np.isin(people, self.people), np.searchsorted(self.people, people), len(self.people))
        return _taken(self.history, self.history.starts[at], np.append(self.history.versions, 0)[at])

    def after(self, people: Ints, release: int, place: Ints, shown: ValueDistributions) -> "PlacesSoFar":
        """With one more release: who is in it, and where."""
        everyone = np.union1d(self.people, people)
        history = self.of(everyone)
        person = np.append(np.repeat(np.arange(len(everyone)), history.versions), np.searchsorted(everyone, people))
        order = np.argsort(person, kind="stable")
        when = np.append(history.release, np.full(len(people), release))
        where = np.append(history.place, place)
        starts = np.searchsorted(person[order], np.arange(len(everyone) + 1))
        return PlacesSoFar(shown, everyone, PresenceHistory(starts, when[order], where[order]))


def _taken(history: PresenceHistory, begin: Ints, versions: Ints) -> PresenceHistory:
    at = ranges(begin, versions)
    return PresenceHistory(np.append(0, np.cumsum(versions)), history.release[at], history.place[at])


def some_of(history: PresenceHistory, rows: Ints) -> PresenceHistory:
    """The histories of some people, who may repeat."""
    return _taken(history, history.starts[rows], history.versions[rows])


def with_place(history: PresenceHistory, release: int, place: Ints) -> PresenceHistory:
    """Every history with one more release at its end."""
    ends = history.starts[1:]
    return PresenceHistory(
        history.starts + np.arange(len(history.starts)),
        np.insert(history.release, ends, release),
        np.insert(history.place, ends, place),
    )


def largest_posteriors(history: PresenceHistory, shown: ValueDistributions, model: UpdateModel) -> Floats:
    """Person to the largest posterior of any value in any release."""
    largest = np.zeros(len(history.versions))
    for block in presence_blocks(history, shown, model):
        largest[block.rows] = block.posterior.max(axis=(1, 2))
    return largest
