"""Bounds on the share of one value among seats that are published together, now and at other times.

Seats that stay together, or end together, hide each other as long as no value is too frequent among them. This must
hold for every remembered release in which they were shown together: two seats with different diseases today that had
the same disease in spring give each other away in spring. It must also be likely to hold some releases ahead and back,
because values turn into each other (a flu into a bronchitis). So the expected number of each value after some steps of
the update model, plus one standard deviation, is bounded too (`LastingShare`).

If a value becomes too frequent in a cohort all the same, the whole cohort is suppressed in that release and pauses
(`without_collided`). Other cohorts of its group could hide the value for a while, until something becomes known of
them. A person whom the joint attack exposes is suppressed with the whole cohort (`companions`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import polars as pl
from scipy import sparse

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.counting.hashing import siphash
from reissue.data.identifiers import identifier_texts
from reissue.methods.cohorts.carrying import Arrival
from reissue.methods.cohorts.seats import CohortState, Seats
from reissue.methods.registry import Job
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.solver.transitions import Model

__all__ = ["Bounds", "LastingShare", "companions", "earlier", "later", "met_by", "without_collided"]


_SLACK = 1e-9
_STEPS = (2, 8)
"""Steps of the update model, ahead and back, at which shares are bounded."""
_ROOM = 0.35
"""How far the likely share may exceed the bound, as a share of the distance to 1. Measured on the synthetic hospital:
with one half a few people per release are exposed when values collide, with a third hardly anyone, with a fifth nobody,
at more loss."""
_WIDEST = 256
"""Number of values above which the update model is not projected: its matrices would be too large."""


@dataclass(frozen=True, eq=False)
class LastingShare(Requirement):
    """Require that no value has more than this share of a group, nor is likely to have much more at other times."""

    name: ClassVar[str] = "lasting-share"
    share: float
    times: tuple[Floats, ...] = field(default=(), repr=False)
    """Transition matrices (sensitive code x sensitive code) to the other times."""

    @property
    def least(self) -> int:
        """The minimum number of rows in which no value exceeds the share."""
        return int(np.ceil(1 / self.share - _SLACK))

    @property
    def likely(self) -> float:
        """The bound on the likely share at other times."""
        return self.share + _ROOM * (1 - self.share)

    def holds(self, counts: Counts) -> Bools:
        """Return which groups satisfy the bounds; monotone, because counts and standard deviations are subadditive."""
        fine = counts.largest <= self.share * counts.sizes + _SLACK
        shape = (counts.total, counts.domain.size)
        table = sparse.csr_array((counts.count, (counts.group, counts.value)), shape=shape, dtype=np.float64)
        for chance in self.times:
            likely = table @ chance + np.sqrt(table @ (chance * (1 - chance)))
            fine &= likely.max(axis=1, initial=0.0) <= self.likely * counts.sizes + _SLACK
        return np.asarray(fine)

    @classmethod
    def parse(cls, argument: str) -> "LastingShare":
        """Not supported: only the method creates this requirement."""
        raise NotImplementedError(argument)

    def __str__(self) -> str:
        """The requirement as text."""
        return f"no value above {self.share:.3g}"


def later(job: Job, model: Model, share: float) -> LastingShare:
    """Return the bound for seats that stay together from now on."""
    return LastingShare(share, tuple(_by_code(job, [model.after(gap) for gap in _gaps(job, model)])))


def earlier(job: Job, model: Model, share: float) -> LastingShare:
    """Return the bound for seats that were together until now."""
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
    """Return the sensitive codes that occurred in the series."""
    return np.flatnonzero(_numbers_of_all(job) >= 0)


def _numbers(job: Job) -> Ints:
    """Return the persistent codes of these values."""
    return _numbers_of_all(job)[_known(job)]


def _numbers_of_all(job: Job) -> Ints:
    return np.empty(0, np.int64) if job.stable_code is None else job.stable_code


def _by_code(job: Job, matrices: Sequence[Floats]) -> list[Floats]:
    """Convert matrices over persistent codes to matrices over sensitive codes."""
    known, number = _known(job), _numbers(job)
    made = []
    for matrix in matrices:
        table = np.eye(job.table.domain.size)
        table[np.ix_(known, known)] = matrix[np.ix_(number, number)]
        made.append(table)
    return made


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds for parts of cohorts."""

    domain: Domain
    past: LastingShare
    """The bound for the past: what follows from the last release about releases that are no longer remembered."""
    future: LastingShare

    @classmethod
    def of(cls, job: Job, model: Model, share: float) -> "Bounds":
        """Create the bounds for a table."""
        return cls(job.table.domain, earlier(job, model, share), later(job, model, share))

    @property
    def share(self) -> float:
        """The largest share of one value when a part is formed; later it may rise when values collide."""
        return self.past.share

    def kept_until_now(self, seats: Seats, member: Ints, part: Ints, parts: int) -> Bools:
        """Return for each part whether the bound held so far; `member` lists seats, `part` the part of each."""
        fine = self.past.holds(Counts(part, seats.before[member], self.domain, parts))
        shown, collided = seats.history[member], LastingShare(self.past.likely)
        for column in range(1, shown.shape[1]):
            here = shown[:, column] >= 0
            if here.any():
                fine &= collided.holds(Counts(part[here], shown[here, column], self.domain, parts))
        return fine

    def have_met(self, requirement: Requirement, seats: Seats, member: Ints) -> Bools:
        """Return for each cohort whether these seats alone met a requirement in every release that showed them."""
        fine = np.ones(seats.cohorts, np.bool_)
        for column in seats.history[member].T:
            here = column >= 0
            counts = Counts(seats.cohort[member[here]], column[here], self.domain, seats.cohorts)
            fine &= requirement.holds(counts) | (counts.sizes == 0)
        return fine

    def keep_from_now(self, seats: Seats, member: Ints, part: Ints, parts: int) -> Bools:
        """Return for each part whether the bound holds now and is likely to hold later."""
        return self.future.holds(Counts(part, seats.value[member], self.domain, parts))


def companions(release: Release, people: pl.Series) -> Bools:
    """Return which rows of a release belong to cohorts that these people are in, or were in before they left.

    Without them the cohort rests, and the release says nothing about anybody who was in it.
    """
    state, memory, ids = release.draft.state, release.draft.memory, release.table.ids
    if ids is None or memory is None or not isinstance(state, CohortState):
        return np.zeros(release.table.rows, np.bool_)
    wanted = siphash(identifier_texts(people), memory.key)
    seats, filled, gone = state.slots, state.slots.filled, state.departed
    here = state.inside[seats.row[filled]]
    beside = np.isin(seats.cohort, seats.cohort[filled][np.isin(here, wanted)])
    beside |= np.isin(seats.family, gone.family[np.isin(gone.people, wanted)])
    return np.isin(siphash(identifier_texts(ids), memory.key), here[beside[filled]])


def without_collided(arrival: Arrival, bounds: Bounds, spare: int, requirement: Requirement | None = None) -> Arrival:
    """Suppress cohorts that exceed the bound, those with the largest shares first, as far as suppression is allowed.

    A requirement that each cohort must meet by itself comes before that: all those that do not are suppressed.
    """
    seats = arrival.seats
    share, people = _largest_shares(seats), seats.people()
    if requirement is not None:
        share = np.where(met_by(seats, bounds, requirement), share, 2.0)
    worst = np.argsort(-share, kind="stable")
    worst = worst[(share[worst] > bounds.past.likely) & (people[worst] > 0)]
    room = spare - len(arrival.refused)
    chosen = worst[(np.cumsum(people[worst]) <= room) | (share[worst] > 1)]
    out = np.isin(seats.cohort, chosen) & seats.filled
    refused = np.concatenate([arrival.refused, seats.row[out]])
    return replace(arrival, seats=replace(seats, row=np.where(out, -1, seats.row)), refused=refused)


def met_by(seats: Seats, bounds: Bounds, requirement: Requirement) -> Bools:
    """Return for each cohort whether it alone meets a requirement."""
    return requirement.holds(Counts(seats.cohort, seats.value, bounds.domain, seats.cohorts))


def _largest_shares(seats: Seats) -> Floats:
    """Return the share of the most frequent value of each cohort."""
    width = int(seats.value.max(initial=0)) + 1
    keys, number = np.unique(seats.cohort * width + seats.value, return_counts=True)
    most = np.zeros(seats.cohorts)
    np.maximum.at(most, keys // width, number)
    return most / np.bincount(seats.cohort, minlength=seats.cohorts)
