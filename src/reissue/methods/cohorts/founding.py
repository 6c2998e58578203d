"""New cohorts, of people who enter together: near each other, and no value more than its share."""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.methods.cohorts.lasting_share import LastingShare
from reissue.methods.cohorts.slots import Slots, nothing_shown
from reissue.methods.partition.pool import pool
from reissue.methods.registry import Job
from reissue.requirements import KAnonymity, Requirement

__all__ = ["Newcomers", "founded_apart"]


@dataclass(frozen=True, eq=False)
class Newcomers:
    """People who found cohorts: their rows, the names that their slots get (-1: a new one), and their providers."""

    rows: Ints
    names: Ints
    owner: Ints


def _founded(
    job: Job, rows: Ints, names: Ints, size: int, bound: LastingShare, requirement: Requirement | None = None
) -> Slots:
    """Cohorts of some rows, whose slots get these names first; counterfeits where one value has too many of them.

    Names may be fewer than slots: the rest, those of counterfeits, are -1. With a requirement each cohort meets it by
    itself; there are none where all of them together do not.
    """
    if not len(rows):
        return Slots.none()
    mates, values = _counterfeits(job, rows, bound.share)
    members = np.concatenate([rows, mates])
    sensitive = np.concatenate([job.table.sensitive[rows], values]).astype(np.int32)
    table = job.table.some(members)
    totals = np.bincount(sensitive, minlength=table.domain.size)
    table = replace(table, sensitive=sensitive, domain=replace(table.domain, totals=totals))
    least = min(size, len(members))
    if not bound.holds(table.whole())[0]:
        bound = LastingShare(bound.share)  # what cannot be kept for all of them is not asked of each
    wanted = KAnonymity(least) & bound
    if requirement is not None:
        wanted = wanted & requirement
        if not wanted.holds(table.whole())[0]:
            return Slots.none()
    draft = pool(replace(job, table=table, requirement=wanted, suppress=0.0, progress=lambda _: None))
    row = np.concatenate([rows, np.full(len(mates), -1)])
    name, none = np.append(names, np.full(len(mates), -1)), np.full(len(row), -1)
    cohort = draft.groups.astype(np.int64)
    zero = np.zeros(len(row), np.int64)
    return Slots(name, cohort, sensitive, row, nothing_shown(len(row)), none, zero, zero)


def founded_apart(
    job: Job,
    newcomers: Newcomers,
    size: int,
    bound: LastingShare,
    requirement: Requirement | None = None,
) -> Slots:
    """The same for the people of each provider by themselves."""
    slots = Slots.none()
    for owner in np.unique(newcomers.owner).tolist():
        own = newcomers.owner == owner
        some = _founded(job, newcomers.rows[own], newcomers.names[own], size, bound, requirement)
        slots = slots.beside(replace(some, owner=np.full(len(some.name), owner)))
    return slots


def _counterfeits(job: Job, rows: Ints, share: float) -> tuple[Ints, Codes]:
    """Counterfeits without which the most frequent value has more than its share: whom they are like, their values."""
    counts = np.bincount(job.table.sensitive[rows], minlength=job.table.domain.size)
    frequent = int(counts.argmax())
    number = max(int(np.ceil(counts[frequent] / share - 1e-9)) - len(rows), 0)
    others = job.table.domain.totals.astype(np.float64)
    others[frequent] = 0
    if not number or not others.sum():
        return np.empty(0, np.int64), np.empty(0, np.int32)
    having = rows[job.table.sensitive[rows] == frequent]
    values = job.rng.choice(len(others), number, p=others / others.sum())
    return job.rng.choice(having, number), values.astype(np.int32)
