"""A bound on the share of one value in a set of slots that lasts: now, later, and before.

Values that become each other easily (a flu and a bronchitis) are soon one value, or were: slots that show them hardly
hide each other better than slots of a single value. So the share of a value must be unlikely to be large after
some steps of the update model, forwards or backwards: its expected number and one standard deviation are bounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy import sparse

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts
from reissue.methods.registry import Job
from reissue.requirements import Requirement
from reissue.solver.transitions import Model

__all__ = ["LastingShare", "earlier", "later"]

_SLACK = 1e-9
_STEPS = (2, 8)
"""This many releases it is looked ahead and back."""
_ROOM = 0.35
"""How far a likely share may be above the bound, on the way to 1. Measured on a synthetic hospital: with one half a few
people a release are exposed when values collide, with a third hardly anyone, with a fifth nobody, at more loss."""
_WIDEST = 256
"""Of more values than this no matrices are made."""


@dataclass(frozen=True, eq=False)
class LastingShare(Requirement):
    """No value has a larger share of a group, nor is likely to have one that is much larger at other times."""

    name: ClassVar[str] = "lasting-share"
    share: float
    times: tuple[Floats, ...] = field(default=(), repr=False)
    """Matrices of sensitive code x sensitive code: how likely a value is, or was, which other at another time."""

    @property
    def least(self) -> int:
        """The fewest rows that can have no value above the share."""
        return int(np.ceil(1 / self.share - _SLACK))

    @property
    def likely(self) -> float:
        """The bound at other times, when values have collided."""
        return self.share + _ROOM * (1 - self.share)

    def holds(self, counts: Counts) -> Bools:
        """Which groups keep to it. Numbers add up and deviations no more than that, so it is monotone."""
        fine = counts.largest <= self.share * counts.sizes + _SLACK
        shape = (counts.total, counts.domain.size)
        table = sparse.csr_array((counts.count, (counts.group, counts.value)), shape=shape, dtype=np.float64)
        for chance in self.times:
            likely = table @ chance + np.sqrt(table @ (chance * (1 - chance)))
            fine &= likely.max(axis=1, initial=0.0) <= self.likely * counts.sizes + _SLACK
        return np.asarray(fine)

    @classmethod
    def parse(cls, argument: str) -> "LastingShare":
        """It is made by the method only."""
        raise NotImplementedError(argument)

    def __str__(self) -> str:
        """In words."""
        return f"no value above {self.share:.3g}"


def later(job: Job, model: Model, share: float) -> LastingShare:
    """The bound for slots that stay together from now on."""
    return LastingShare(share, tuple(_by_code(job, [model.after(gap) for gap in _gaps(job, model)])))


def earlier(job: Job, model: Model, share: float) -> LastingShare:
    """The bound for slots that were together until now."""
    totals = job.table.domain.totals[_known(job)].astype(np.float64) + _SLACK
    often = np.empty(model.values)
    often[_numbers(job)] = totals
    found = []
    for gap in _gaps(job, model):
        weight = often[:, np.newaxis] * model.after(gap)
        found.append((weight / np.maximum(weight.sum(axis=0), 1e-300)).T)
    return LastingShare(share, tuple(_by_code(job, found)))


def _gaps(job: Job, model: Model) -> tuple[int, ...]:
    return () if model.steps is None or job.table.domain.size > _WIDEST else _STEPS


def _known(job: Job) -> Ints:
    """Sensitive codes that somebody has had."""
    return np.flatnonzero(_numbers_of_all(job) >= 0)


def _numbers(job: Job) -> Ints:
    """Their lasting numbers."""
    return _numbers_of_all(job)[_known(job)]


def _numbers_of_all(job: Job) -> Ints:
    return np.empty(0, np.int64) if job.stable_code is None else job.stable_code


def _by_code(job: Job, matrices: Sequence[Floats]) -> list[Floats]:
    """Matrices over lasting values as matrices over sensitive codes."""
    known, number = _known(job), _numbers(job)
    made = []
    for matrix in matrices:
        table = np.eye(job.table.domain.size)
        table[np.ix_(known, known)] = matrix[np.ix_(number, number)]
        made.append(table)
    return made
