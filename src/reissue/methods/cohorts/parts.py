"""Parts of a cohort: slots that go on together, or go together, hide each other if no value has too many of them.

What counts is what they showed in every release in which they were together, not only in the last one: two slots of
different diseases today that had the same one in spring give each other away in spring.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Counts, Domain
from reissue.methods.cohorts.lasting_share import LastingShare, earlier, later
from reissue.methods.cohorts.slots import Slots
from reissue.methods.registry import Job
from reissue.requirements import Requirement
from reissue.solver.transitions import Model

__all__ = ["Bounds"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """What parts of cohorts must keep to."""

    domain: Domain
    past: LastingShare
    """For what a reader would guess from the last release, and for releases that are not remembered any more."""
    future: LastingShare

    @classmethod
    def of(cls, job: Job, model: Model, share: float) -> "Bounds":
        """For the slots of a table."""
        return cls(job.table.domain, earlier(job, model, share), later(job, model, share))

    @property
    def share(self) -> float:
        """The largest share of one value, but for values that collide later."""
        return self.past.share

    def kept_until_now(self, slots: Slots, member: Ints, part: Ints, parts: int) -> Bools:
        """Part to whether its members have been alike; `member` are slots, `part` is the part of each."""
        fine = self.past.holds(Counts(part, slots.before[member], self.domain, parts))
        shown, collided = slots.history[member], LastingShare(self.past.likely)
        for column in range(1, shown.shape[1]):
            here = shown[:, column] >= 0
            if here.any():
                fine &= collided.holds(Counts(part[here], shown[here, column], self.domain, parts))
        return fine

    def have_met(self, requirement: Requirement, slots: Slots, member: Ints) -> Bools:
        """Cohort to whether some of its slots met a requirement by themselves whenever they were shown."""
        fine = np.ones(slots.cohorts, np.bool_)
        for column in slots.history[member].T:
            here = column >= 0
            counts = Counts(slots.cohort[member[here]], column[here], self.domain, slots.cohorts)
            fine &= requirement.holds(counts) | (counts.sizes == 0)
        return fine

    def keep_from_now(self, slots: Slots, member: Ints, part: Ints, parts: int) -> Bools:
        """Part to whether its members are alike now, and likely to stay so."""
        return self.future.holds(Counts(part, slots.value[member], self.domain, parts))
