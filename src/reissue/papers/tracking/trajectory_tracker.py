"""Everybody's past as trajectories: all places of all people, for models that change with the values there are.

The stays of those who are in the last release are kept apart from the stays of those who are gone: these are only added
to, when somebody leaves, and looked up when somebody returns. Numbers take as few bytes as they need.

A `PersonTracker` is either of two, for the update attack and m-Distinct. `BeliefTracker` keeps what everybody's
releases so far leave to say: a release costs by who is in it, however long they have been there. That is only right
while the update model stays what it was. A model that speaks of the values there have been so far, such as an order of
any numbers, changes with a new value, and with it what all earlier releases tell: then `TrajectoryTracker` keeps
everybody's places, and a release costs by how long its people have stayed.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.segments import ranges
from reissue.papers.tracking.belief_tracker import CERTAIN, IMPOSSIBLE, BeliefTracker, TrackedRisk
from reissue.papers.tracking.forward_backward import (
    Distributions,
    PresenceHistory,
    ValueDistributions,
    absent,
    found,
    narrow,
    presence_blocks,
)
from reissue.schema import Schema
from reissue.updates import UpdateModel, fingerprint_of, settled

__all__ = [
    "CERTAIN",
    "IMPOSSIBLE",
    "BeliefTracker",
    "KnownPast",
    "PersonTracker",
    "TrackedRisk",
    "Trajectories",
    "TrajectoryTracker",
    "begun",
    "longer",
]

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


_FOUND = ("mark", "largest", "certainty", "gone_largest", "gone_certainty")


@dataclass(frozen=True, eq=False)
class _KnownPast:
    """Some people's places so far, and the release that they come to."""

    presence: PresenceHistory
    release: int


@dataclass(frozen=True, eq=False)
class TrajectoryTracker:
    """Everybody's places, and what was found of everybody when last looked at."""

    shown: Distributions
    trails: Trajectories
    mark: str
    """By which update model that was."""
    largest: Floats
    certainty: np.ndarray
    gone_largest: Floats
    gone_certainty: np.ndarray

    @classmethod
    def none(cls) -> "TrajectoryTracker":
        """Before the first release."""
        nothing = np.empty(0), np.empty(0, np.uint8)
        return cls(Distributions.none(), Trajectories.none(), "", *nothing, *nothing)

    def look(self, people: Ints, release: int) -> _KnownPast:
        """What is known of some people when they come to a release."""
        return _KnownPast(self.trails.past(people), release)

    def judged(self, view: _KnownPast, at: Ints, shown: ValueDistributions, model: UpdateModel) -> TrackedRisk:
        """What is known of them with their places in the release."""
        return _judged(longer(view.presence, view.release, at), shown, model)

    def picked(self, view: _KnownPast, rows: Ints) -> _KnownPast:
        """The same of some of them, who may repeat."""
        versions = view.presence.versions[rows]
        at = ranges(view.presence.starts[rows], versions)
        starts = np.append(0, np.cumsum(versions))
        return _KnownPast(PresenceHistory(starts, view.presence.release[at], view.presence.place[at]), view.release)

    def after(
        self, people: Ints, release: int, at: Ints, shown: Distributions, judged: TrackedRisk, model: UpdateModel
    ) -> "TrajectoryTracker":
        """With one more release. If the update model has changed, those who are gone are looked at again."""
        trails, mark, order = self.trails.after(people, release, at), fingerprint_of(model), np.argsort(people)
        gone = self._kept(trails.gone) if mark == self.mark else _judged(trails.past(trails.gone), shown.places, model)
        return TrajectoryTracker(
            shown, trails, mark, judged.largest[order], judged.certainty[order], gone.largest, gone.certainty
        )

    def _kept(self, gone: Ints) -> TrackedRisk:
        """What was found of those who are gone, when they were last looked at."""
        largest, certainty = np.empty(len(gone)), np.empty(len(gone), np.uint8)
        for people, known in (
            (self.trails.people, (self.largest, self.certainty)),
            (self.trails.gone, (self.gone_largest, self.gone_certainty)),
        ):
            rows, at = found(people, gone)
            largest[rows], certainty[rows] = (part[at] for part in known)
        return TrackedRisk(largest, certainty)

    @property
    def people(self) -> Ints:
        """Everybody who ever was there."""
        return np.concatenate([self.trails.people, self.trails.gone])

    @property
    def everyone(self) -> tuple[Floats, np.ndarray]:
        """The largest posterior of these people; and what is certain, or impossible."""
        return np.concatenate([self.largest, self.gone_largest]), np.concatenate([self.certainty, self.gone_certainty])


def _judged(presence: PresenceHistory, shown: ValueDistributions, model: UpdateModel) -> TrackedRisk:
    """The largest posterior in any version of each history; and whether one is certain, or none possible."""
    largest, certainty = np.zeros(len(presence.versions)), np.zeros(len(presence.versions), np.uint8)
    for block in presence_blocks(presence, shown, model):
        left = np.count_nonzero(block.posterior, axis=2)
        largest[block.rows] = block.posterior.max(axis=(1, 2))
        certain, impossible = (left == 1).any(axis=1), (left == 0).any(axis=1)
        certainty[block.rows] = CERTAIN * certain + IMPOSSIBLE * impossible
    return TrackedRisk(largest, certainty)


PersonTracker = BeliefTracker | TrajectoryTracker
KnownPast = Any
"""What a past says of some people who come to a release; only the same past can read it."""

_WIDE = 16
"""Places of more values than this have too many complements: trails are kept instead."""


def begun(schema: Schema, model: UpdateModel, widest: int) -> PersonTracker:
    """Before the first release; its places have at most this many values."""
    return BeliefTracker.none() if widest <= _WIDE and settled(schema, model) else TrajectoryTracker.none()
