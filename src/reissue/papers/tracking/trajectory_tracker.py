"""Everybody's past as trajectories: all places of all people, for models that change with the values there are."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.segments import ranges
from reissue.papers.tracking.belief_states import CERTAIN, IMPOSSIBLE
from reissue.papers.tracking.belief_tracker import TrackedRisk
from reissue.papers.tracking.forward_backward import PresenceHistory, ValueDistributions, presence_blocks
from reissue.papers.tracking.incremental import Distributions, found
from reissue.papers.tracking.trajectories import Trajectories, longer
from reissue.updates import UpdateModel, fingerprint_of

__all__ = ["TrajectoryTracker"]

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
