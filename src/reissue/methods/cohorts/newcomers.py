"""Newcomers: assign them to empty seats, and form new cohorts of the others.

A newcomer may take an empty seat of the same value if that widens the ranges of the cohort by no more than allowed. The
cheapest assignment is found with `scipy.optimize.linear_sum_assignment`, in batches of nearby seats and newcomers. The
others form cohorts by the method `pool`, so that members are near each other and no value exceeds its share.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Codes, Floats, Ints
from reissue.data.table import Table
from reissue.methods.cohorts.bounds import LastingShare
from reissue.methods.cohorts.seats import Seats, nothing_shown
from reissue.methods.extents import Extent, extent_of
from reissue.methods.partition.pool import pool
from reissue.methods.registry import Job
from reissue.requirements import KAnonymity, Requirement

__all__ = ["Newcomers", "founded_apart", "refilled"]


@dataclass(frozen=True, eq=False)
class Newcomers:
    """People who form cohorts: their rows, the numbers of their seats (-1: new), and their providers."""

    rows: Ints
    names: Ints
    owner: Ints


def _founded(
    job: Job, rows: Ints, names: Ints, size: int, bound: LastingShare, requirement: Requirement | None = None
) -> Seats:
    """Form cohorts of some rows, with counterfeits where one value would be too frequent.

    `names` are the numbers of the first seats; those of counterfeits are -1. With a requirement each cohort meets it
    alone; none is formed if all rows together do not.
    """
    if not len(rows):
        return Seats.none()
    mates, values = _counterfeits(job, rows, bound.share)
    members = np.concatenate([rows, mates])
    sensitive = np.concatenate([job.table.sensitive[rows], values]).astype(np.int32)
    table = job.table.some(members)
    totals = np.bincount(sensitive, minlength=table.domain.size)
    table = replace(table, sensitive=sensitive, domain=replace(table.domain, totals=totals))
    least = min(size, len(members))
    if not bound.holds(table.whole())[0]:
        bound = LastingShare(bound.share)  # a bound that all rows together violate cannot be required of each cohort
    wanted = KAnonymity(least) & bound
    if requirement is not None:
        wanted = wanted & requirement
        if not wanted.holds(table.whole())[0]:
            return Seats.none()
    draft = pool(replace(job, table=table, requirement=wanted, suppress=0.0, progress=lambda _: None))
    row = np.concatenate([rows, np.full(len(mates), -1)])
    name, none = np.append(names, np.full(len(mates), -1)), np.full(len(row), -1)
    cohort = draft.groups.astype(np.int64)
    zero = np.zeros(len(row), np.int64)
    return Seats(name, cohort, sensitive, row, nothing_shown(len(row)), none, zero, zero)


def founded_apart(
    job: Job,
    newcomers: Newcomers,
    size: int,
    bound: LastingShare,
    requirement: Requirement | None = None,
) -> Seats:
    """Form cohorts, separately for the people of each provider."""
    seats = Seats.none()
    for owner in np.unique(newcomers.owner).tolist():
        own = newcomers.owner == owner
        some = _founded(job, newcomers.rows[own], newcomers.names[own], size, bound, requirement)
        seats = seats.beside(replace(some, owner=np.full(len(some.name), owner)))
    return seats


def _counterfeits(job: Job, rows: Ints, share: float) -> tuple[Ints, Codes]:
    """Return the counterfeits needed to bring the most frequent value down to its share: model rows and values."""
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


_ROUNDS = 6
_PIECE = 250
"""Maximum number of seats, and roughly of newcomers, in one assignment problem."""
_NEVER = 1e6


def refilled(table: Table, seats: Seats, new: Ints, owner: Ints, grow: float, together: int) -> tuple[Seats, Ints]:
    """Assign newcomers to empty seats; return the seats and the newcomers who remain.

    `grow` bounds what a newcomer may cost: its own loss, and what the others of the cohort lose more. `together` seats
    of a cohort are refilled at once, or none.
    """
    made, left = seats, new
    for _ in range(_ROUNDS):
        found = _round(table, made, left, owner[left], grow)
        if not len(found.place):
            break
        made = made.filling(found.place, found.row)
        left = np.setdiff1d(left, found.row)
    return (made, left) if together <= 1 else _enough(seats, made, new, together)


def _enough(before: Seats, after: Seats, new: Ints, together: int) -> tuple[Seats, Ints]:
    """Drop the assignments of cohorts that would refill fewer than `e` seats."""
    refill = after.row != before.row
    few = np.bincount(after.cohort[refill], minlength=after.cohorts) < together
    row = np.where(refill & few[after.cohort], before.row, after.row)
    return replace(after, row=row), np.setdiff1d(new, row)


@dataclass(frozen=True, eq=False)
class _Found:
    """Candidate assignments of rows to seats, with their costs."""

    place: Ints
    row: Ints
    cost: Floats

    def first_of_each(self, cohort: Ints) -> "_Found":
        """Keep the cheapest assignment of each cohort."""
        order = np.lexsort((self.place, self.cost))
        chosen = order[np.unique(cohort[self.place[order]], return_index=True)[1]]
        return _Found(self.place[chosen], self.row[chosen], self.cost[chosen])


def _round(table: Table, seats: Seats, new: Ints, owner: Ints, grow: float) -> _Found:
    """Assign at most one newcomer to each cohort."""
    filled = np.flatnonzero(seats.filled)
    people = extent_of(table.taxonomies, table.codes)
    homes = people.pick(seats.row[filled]).merged(seats.cohort[filled], seats.cohorts)
    parts = [_Found(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for empty, rows in _pieces(table, seats, new, owner, homes):
        parts.append(_assigned(homes, seats.cohort, empty, people, rows, grow))
    found = _Found(*(np.concatenate([getattr(one, name) for one in parts]) for name in ("place", "row", "cost")))
    return found.first_of_each(seats.cohort)


def _pieces(table: Table, seats: Seats, new: Ints, owner: Ints, homes: Extent) -> Iterator[tuple[Ints, Ints]]:
    """Yield batches of empty seats and newcomers of the same value and provider that are near each other."""
    empty = np.flatnonzero(~seats.filled)
    value = np.concatenate([seats.value[empty], table.sensitive[new]]).astype(np.int64)
    both = np.stack([np.concatenate([seats.owner[empty], owner]), value])
    kind = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    of_slot, of_row = np.split(kind, [len(empty)])
    middle = (homes.lo // 2 + homes.hi // 2)[:, seats.cohort]
    for one in np.intersect1d(of_slot, of_row).tolist():
        places, rows = empty[of_slot == one], new[of_row == one]
        pieces = -(-max(len(places), len(rows)) // _PIECE)
        if pieces > 1:
            places = places[np.lexsort(middle[:, places])]
            rows = rows[np.lexsort(table.codes[:, rows])]
        yield from zip(np.array_split(places, pieces), np.array_split(rows, pieces), strict=True)


def _assigned(homes: Extent, cohort: Ints, places: Ints, people: Extent, rows: Ints, grow: float) -> _Found:
    """Return the cheapest assignment of as many seats as possible."""
    from scipy.optimize import linear_sum_assignment

    seat, row = (one.reshape(-1) for one in np.meshgrid(places, rows, indexing="ij"))
    one, other = homes.pick(cohort[seat]), people.pick(row)
    cost = one.cost(other)
    table = np.where(cost <= grow, cost, _NEVER).reshape(len(places), len(rows))
    at, by = linear_sum_assignment(table)
    fits = table[at, by] < _NEVER
    return _Found(places[at[fits]], rows[by[fits]], table[at, by][fits])
