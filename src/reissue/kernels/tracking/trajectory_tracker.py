"""Everybody's past as trails: the places of everybody, for update models that change with the values there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.segments import ranges
from reissue.kernels.forward_backward import PresenceHistory, ValueDistributions, presence_blocks
from reissue.kernels.tracking.belief_states import CERTAIN, IMPOSSIBLE
from reissue.kernels.tracking.belief_tracker import Judged
from reissue.kernels.tracking.incremental import Distributions, found
from reissue.kernels.tracking.trajectories import Trajectories, longer
from reissue.updates import UpdateModel, mark_of

__all__ = ["TrajectoryTracker"]

_FOUND = ("mark", "largest", "told", "gone_largest", "gone_told")


@dataclass(frozen=True, eq=False)
class _View:
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
    told: np.ndarray
    gone_largest: Floats
    gone_told: np.ndarray

    @classmethod
    def none(cls) -> "TrajectoryTracker":
        """Before the first release."""
        nothing = np.empty(0), np.empty(0, np.uint8)
        return cls(Distributions.read(None), Trajectories.none(), "", *nothing, *nothing)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> "TrajectoryTracker":
        """From what `arrays` gave."""
        return cls(Distributions.read(kept), Trajectories.read(kept), *(kept[name] for name in _FOUND))

    def arrays(self) -> dict[str, Any]:
        """What is to be kept."""
        return self.trails.arrays() | self.shown.arrays() | {name: getattr(self, name) for name in _FOUND}

    def look(self, people: Ints, release: int) -> _View:
        """What is known of some people when they come to a release."""
        return _View(self.trails.past(people), release)

    def judged(self, view: _View, at: Ints, shown: ValueDistributions, model: UpdateModel) -> Judged:
        """What is known of them with their places in the release."""
        return _told(longer(view.presence, view.release, at), shown, model)

    def picked(self, view: _View, rows: Ints) -> _View:
        """The same of some of them, who may repeat."""
        versions = view.presence.versions[rows]
        at = ranges(view.presence.starts[rows], versions)
        starts = np.append(0, np.cumsum(versions))
        return _View(PresenceHistory(starts, view.presence.release[at], view.presence.place[at]), view.release)

    def after(
        self, people: Ints, release: int, at: Ints, shown: Distributions, judged: Judged, model: UpdateModel
    ) -> "TrajectoryTracker":
        """With one release more. If the update model has changed, those who are gone are looked at again."""
        trails, mark, order = self.trails.after(people, release, at), mark_of(model), np.argsort(people)
        gone = self._kept(trails.gone) if mark == self.mark else _told(trails.past(trails.gone), shown.places, model)
        return TrajectoryTracker(
            shown, trails, mark, judged.largest[order], judged.told[order], gone.largest, gone.told
        )

    def _kept(self, gone: Ints) -> Judged:
        """What was found of those who are gone, when they were last looked at."""
        largest, told = np.empty(len(gone)), np.empty(len(gone), np.uint8)
        for people, known in (
            (self.trails.people, (self.largest, self.told)),
            (self.trails.gone, (self.gone_largest, self.gone_told)),
        ):
            rows, at = found(people, gone)
            largest[rows], told[rows] = (part[at] for part in known)
        return Judged(largest, told)

    @property
    def people(self) -> Ints:
        """Everybody who ever was there."""
        return np.concatenate([self.trails.people, self.trails.gone])

    @property
    def everyone(self) -> tuple[Floats, np.ndarray]:
        """The largest posterior of these people; and what is certain, or impossible."""
        return np.concatenate([self.largest, self.gone_largest]), np.concatenate([self.told, self.gone_told])


def _told(presence: PresenceHistory, shown: ValueDistributions, model: UpdateModel) -> Judged:
    """The largest posterior in any version of each history; and whether one is certain, or none possible."""
    largest, told = np.zeros(len(presence.versions)), np.zeros(len(presence.versions), np.uint8)
    for block in presence_blocks(presence, shown, model):
        left = np.count_nonzero(block.posterior, axis=2)
        largest[block.rows] = block.posterior.max(axis=(1, 2))
        certain, impossible = (left == 1).any(axis=1), (left == 0).any(axis=1)
        told[block.rows] = CERTAIN * certain + IMPOSSIBLE * impossible
    return Judged(largest, told)
