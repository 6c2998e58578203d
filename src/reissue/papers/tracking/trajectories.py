"""Everybody's histories through a long series: one more release costs by who is in it, not by who ever was.

The stays of those who are in the last release are kept apart from the stays of those who are gone: these are only added
to, when somebody leaves, and looked up when somebody returns. Numbers take as few bytes as they need.
"""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.segments import ranges
from reissue.papers.tracking.forward_backward import PresenceHistory
from reissue.papers.tracking.incremental import absent, found, narrow

__all__ = ["Trajectories", "longer"]

_WASTE = 2
"""Stays of the gone are put together anew when they take this many times the room of what is still needed."""


def _nothing() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Trajectories:
    """The stays of everybody who ever was in the series."""

    people: Ints
    """Who is in the last release, sorted."""
    here: PresenceHistory
    gone: Ints
    """Who is not, sorted."""
    begin: Ints
    """Of those who are gone, the first of each one's stays."""
    versions: Ints
    """And how many there are."""
    release: np.ndarray
    place: np.ndarray

    @classmethod
    def none(cls) -> "Trajectories":
        """Before the first release."""
        return cls(_nothing(), _no_presence(), _nothing(), _nothing(), _nothing(), _nothing(), _nothing())

    def past(self, people: Ints) -> PresenceHistory:
        """The stays of some people so far; none of those who are new."""
        stayed, at = found(self.people, people)
        back, of_gone = found(self.gone, people)
        number = np.zeros(len(people), np.int64)
        number[stayed] = self.here.versions[at]
        number[back] = self.versions[of_gone]
        starts = np.append(0, np.cumsum(number))
        release, place = np.empty((2, starts[-1]), np.int64)
        for rows, first, source in (
            (stayed, self.here.starts[at], self.here),
            (back, self.begin[of_gone], self),
        ):
            into, out = ranges(starts[rows], number[rows]), ranges(first, number[rows])
            release[into], place[into] = source.release[out], source.place[out]
        return PresenceHistory(starts, release, place)

    def after(self, people: Ints, release: int, place: Ints) -> "Trajectories":
        """With one more release: who is in it, and where."""
        order = np.argsort(people)
        people, place = people[order], place[order]
        here = longer(self.past(people), release, place)
        return replace(
            self._with_gone(absent(self.people, people), absent(self.gone, people)), people=people, here=here
        )

    def _with_gone(self, leaving: Bools, still: Bools) -> "Trajectories":
        """Those who leave among those who are still gone."""
        rows = np.flatnonzero(leaving)
        versions = self.here.versions[rows]
        out = ranges(self.here.starts[rows], versions)
        begin = len(self.place) + np.cumsum(versions) - versions
        at = np.searchsorted(self.gone[still], self.people[rows])
        more = replace(
            self,
            gone=np.insert(self.gone[still], at, self.people[rows]),
            begin=np.insert(self.begin[still], at, begin),
            versions=np.insert(self.versions[still], at, versions),
            release=np.concatenate([self.release, narrow(self.here.release[out])]),
            place=np.concatenate([self.place, narrow(self.here.place[out])]),
        )
        if len(more.place) <= _WASTE * int(more.versions.sum()):
            return more
        # Without the stays of those who returned.
        at = ranges(more.begin, more.versions)
        begin = np.cumsum(more.versions) - more.versions
        return replace(more, begin=begin, release=more.release[at], place=more.place[at])


def longer(presence: PresenceHistory, release: int, place: Ints) -> PresenceHistory:
    """Every history with one more version at its end."""
    starts = presence.starts + np.arange(len(presence.starts))
    last = starts[1:] - 1
    earlier = np.ones(starts[-1], np.bool_)
    earlier[last] = False
    when, where = np.full(starts[-1], release), np.empty(starts[-1], np.int64)
    when[earlier], where[earlier], where[last] = presence.release, presence.place, place
    return PresenceHistory(starts, when, where)


def _no_presence() -> PresenceHistory:
    return PresenceHistory(np.zeros(1, np.int64), _nothing(), _nothing())
