"""Groups made up by quotas: where shares of values are limited, splitting gives up whole regions.

A group of n rows has a quota of every sensitive value. Under t-closeness that is n times the value's share in the
table; the rows beyond quotas, all values together, are the *excess*, which is at most a share of the group's rows (of
t-closeness: t). Under beta-likeness it is n times the largest share that the value may have, in whole rows, and there
is no excess. Groups grow from one row to the next nearest one whose value may still be added: either its quota has
room, or there is excess to spare, so that the group can be completed with the values of least excess. n is the smallest
number with which groups of whole rows need no more than half of what the limit allows. A value too rare for a row of
it in such a group comes first, rarest first: its rows begin larger groups, just large enough for one.

Rows are looked for in a block: what a method makes of the table for a stricter limit and many rows. Rows that are left
over are grouped the same way together, then join groups that can take them. O(rows of a block) for each row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts
from reissue.methods.extents import extent_of
from reissue.methods.joining import joined
from reissue.methods.local_search.divisions import Losses
from reissue.methods.local_search.growth import GONE, Growth
from reissue.methods.registry import Job
from reissue.release.release import Draft
from reissue.requirements import KAnonymity

__all__ = ["by_quotas"]

_BLOCK = 8000
"""Rows of a block, at most."""
_ELEMENTS = 1 << 16
"""Rows of so many blocks are worked on at once."""
_STRICTER = 0.7
"""Blocks keep to this part of the limit."""
_LARGEST = 200
"""Groups of more rows are not grown: a limit so strict leaves little to choose."""
_ROUNDING = 1e-9
"""Quotients that are whole numbers count as such."""


class Quotas(NamedTuple):
    """How groups are made up. A row counts as many as the table has rows, so that shares of rows are whole numbers."""

    size: int
    row: int
    wanted: Ints
    """Value to how much of it a group has without excess."""
    limit: int
    """The excess that a group may have."""
    least: Ints
    """The excess that single further rows would bring, smallest first: `value` is theirs, of which each is `number`."""
    value: Ints
    number: Ints

    @classmethod
    def of(cls, totals: Ints, wanted: Ints, share: float, size: int) -> "Quotas":
        """Of groups of so many rows with these quotas, where the table has these totals of values."""
        row = int(totals.sum())
        most = np.minimum(-(-wanted // row) + 1, size)
        value = np.repeat(np.arange(len(totals)), most)
        number = np.arange(len(value)) - np.repeat(np.cumsum(most) - most, most) + 1
        excess = np.clip(number * row - wanted[value], 0, row)
        order = np.argsort(excess, kind="stable")[: 2 * size]
        return cls(size, row, wanted, int(share * size * row + 1e-6), excess[order], value[order], number[order])


@dataclass(frozen=True, eq=False)
class _Limits:
    """What a requirement limits: the excess of a group, or each value's share of it (`bounds`)."""

    totals: Ints
    excess: float
    bounds: Floats | None

    @classmethod
    def of(cls, job: Job) -> "_Limits | None":
        """Of a job; None where its requirement limits neither."""
        domain = job.table.domain
        bounds, excess = job.requirement.value_bounds(domain), job.requirement.excess_limit
        if bounds is not None:
            return cls(domain.totals, 0.0, np.minimum(bounds, 1.0))
        return None if excess is None else cls(domain.totals, excess, None)

    def quotas(self, size: int) -> Quotas:
        """Of groups of so many rows."""
        wanted = size * self.totals if self.bounds is None else _most(self.bounds, size) * int(self.totals.sum())
        return Quotas.of(self.totals, wanted, self.excess, size)

    def smallest(self, least: int) -> int | None:
        """The smallest groups that need no more than half of what is allowed."""
        return next((size for size in range(max(least, 2), _LARGEST) if self._enough(size)), None)

    def _enough(self, size: int) -> bool:
        if self.bounds is not None:
            # Quotas without rounding add up to the sum of all bounds, and a group needs 1 of that.
            return bool(2 * _most(self.bounds, size).sum() >= size * (1 + self.bounds.sum()))
        quotas = self.quotas(size)
        return len(quotas.least) >= size and bool(2 * quotas.least[:size].sum() <= quotas.limit)

    def rare(self, size: int) -> list[tuple[int, int]]:
        """Values of which a group of so many rows may have none, rarest first, each after the size that it needs."""
        if self.bounds is None:
            return []
        none = np.flatnonzero((_most(self.bounds, size) == 0) & (self.totals > 0))
        needed = np.ceil(1 / self.bounds[none] - _ROUNDING).astype(np.int64)
        order = np.argsort(-needed, kind="stable")
        return [(int(needed[at]), int(none[at])) for at in order if needed[at] < _LARGEST]


def _most(bounds: Floats, size: int) -> Ints:
    """Value to the most rows of it in a group of so many, by each value's largest share."""
    return np.floor(bounds * size + _ROUNDING).astype(np.int64)


def by_quotas(job: Job, make: Callable[[Job], Draft]) -> Codes | None:
    """Groups of all rows that meet the requirement; None where it limits no shares so, or they are not found."""
    limits, table = _Limits.of(job), job.table
    size = None if limits is None else limits.smallest(max(part.least for part in job.requirement.parts()))
    if limits is None or size is None or table.rows < 4 * size:
        return None
    if not job.requirement.stricter(_STRICTER).holds(table.whole())[0]:
        return None  # a region of a table, which is judged by the whole table's shares
    group, losses = np.full(table.rows, -1, np.int64), Losses.of(table.taxonomies, table.codes)
    blocks = _blocks(job, make, size)
    for larger, value in [*limits.rare(size), (size, None)]:
        rows = np.flatnonzero(group < 0)
        _grow(job, losses, limits.quotas(larger), rows, blocks[rows], group, value)
    for larger in (size, size * 3 // 2):
        rows = np.flatnonzero(group < 0)
        _grow(job, losses, limits.quotas(larger), rows, _portions(job, rows, np.zeros(len(rows), np.int64)), group)
    return _completed(job, group)


def _blocks(job: Job, make: Callable[[Job], Draft], size: int) -> Ints:
    """Row to its block: groups of many rows that a method makes for a stricter limit, cut where they are too large."""
    rows = job.table.rows
    many = KAnonymity(max(min(_BLOCK // 6, rows // 4), size))
    stricter = job.requirement.stricter(_STRICTER) & many
    whole = np.zeros(rows, np.int64)
    made = make(replace(job, requirement=stricter, suppress=0.0, progress=lambda _: None)).groups
    return _portions(job, np.arange(rows), whole if (made < 0).any() else made.astype(np.int64))


def _portions(job: Job, rows: Ints, block: Ints) -> Ints:
    """Blocks cut into portions of about as many rows and the same shares of values, in the order of the columns."""
    if not len(rows):
        return block
    number = -(-np.bincount(block) // _BLOCK)
    first = np.cumsum(number) - number
    value = job.table.sensitive[rows]
    order = np.lexsort((*job.table.codes[:, rows], value, block))
    starts = np.flatnonzero(np.append(True, np.diff(block[order]) | np.diff(value[order])))
    run = np.diff(np.append(starts, len(rows)))
    rank = np.arange(len(rows)) - np.repeat(starts, run)
    portion = np.empty(len(rows), np.int64)
    portion[order] = rank * number[block[order]] // np.repeat(run, run)
    return np.asarray(first[block] + portion)


def _grow(
    job: Job, losses: Losses, quotas: Quotas, rows: Ints, block: Ints, group: Ints, value: int | None = None
) -> None:
    """Groups of some rows, in their blocks; rows that none was found for stay as they are.

    With a value, every group begins with a row of it.
    """
    if len(rows) < quotas.size:
        return
    order, sizes = np.argsort(block, kind="stable"), np.bincount(block)
    rows, sizes = rows[order], sizes[sizes > 0]
    number = _numbers(job, losses, quotas, rows, sizes, value)
    new = number >= 0
    number += np.repeat(np.arange(len(sizes)) * len(rows), sizes)
    group[rows[new]] = np.unique(number[new], return_inverse=True)[1] + int(group.max()) + 1


def _numbers(job: Job, losses: Losses, quotas: Quotas, rows: Ints, sizes: Ints, value: int | None) -> Ints:
    """Rows, block by block, to their group's number in the block; -1 for rows that are left over."""
    number = np.full(len(rows), -1, np.int64)
    for some, own in _batches(sizes):
        there = np.arange(int(own.max())) < own[:, np.newaxis]
        inside = np.zeros(there.shape, np.int64)
        inside[there] = rows[some]
        number[some] = _grown(job, quotas, Growth(losses, inside, there), inside, there, value)[there]
    return number


def _batches(sizes: Ints) -> Iterator[tuple[slice, Ints]]:
    """Places of rows, block by block, so many blocks at a time, and the sizes of these."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        begin = int(ends[first] - sizes[first])
        last = max(int(np.searchsorted(ends, begin + _ELEMENTS, "right")), first + 1)
        yield slice(begin, int(ends[last - 1])), sizes[first:last]
        first = last


def _grown(job: Job, quotas: Quotas, growth: Growth, rows: Ints, there: Bools, first: int | None) -> Ints:
    """Blocks x places to groups' numbers in their block, -1 for rows that are left over: one group after the other."""
    values, blocks = job.table.domain.size, np.arange(len(rows))
    value = job.table.sensitive[rows].astype(np.int64)
    key = value + (blocks * values)[:, np.newaxis]
    left = np.bincount(key[there], minlength=len(rows) * values).reshape(len(rows), values)
    begins = np.full(values, True) if first is None else np.arange(values) == first
    barred: Codes = np.tile(np.where(begins, np.int32(0), GONE), (len(rows), 1))
    group, made = np.full(rows.shape, -1, np.int64), 0
    going = (there.sum(axis=1) >= quotas.size) & left[:, begins].any(axis=1)
    while going.any():
        seed = growth.nearest(barred, key)
        growth.begin(seed)
        chosen, number, works = _one_each(quotas, growth, seed, key, left, going)
        group[blocks[works, np.newaxis], chosen[works]] = made
        left[works] -= number[works]
        made += 1
        going = works & (left.sum(axis=1) >= quotas.size) & left[:, begins].any(axis=1)
    return group


def _one_each(
    quotas: Quotas, growth: Growth, seed: Ints, key: Ints, left: Ints, going: Bools
) -> tuple[Ints, Ints, Bools]:
    """One group in each block: its places, how many it has of each value, and whether it could be completed."""
    blocks, number = np.arange(len(seed)), np.zeros_like(left)
    first, total = blocks * left.shape[1], np.maximum(left.sum(axis=1), 1)[:, np.newaxis]
    chosen, works, spent = np.empty((len(seed), quotas.size), np.int64), going.copy(), np.zeros(len(seed), np.int64)
    place = seed
    for turn in range(quotas.size):
        excess = np.clip((number + 1) * quotas.row - quotas.wanted, 0, quotas.row)
        spare = quotas.limit - spent - _to_complete(quotas, number, left, quotas.size - turn - 1)
        barred = (excess > spare[:, np.newaxis]) | (number >= left)
        if turn:
            # A value of which the block has little left costs as much as a column, so that it lasts.
            scarce = np.clip((number + 1) * total - quotas.size * left, 0, total)
            dear: Codes = np.where(barred, GONE, growth.unit * scarce // total).astype(np.int32)
            place = growth.nearest(dear, key)
        value = key[blocks, place] - first
        works &= ~barred[blocks, value] & (growth.taken[blocks, place] == 0)
        chosen[:, turn] = place
        spent += excess[blocks, value]
        number[blocks, value] += 1
        growth.add(place, works)
    return chosen, number, works


def _to_complete(quotas: Quotas, number: Ints, left: Ints, slots: int) -> Ints:
    """The least excess with which groups of these numbers of values (blocks x values) get so many rows more."""
    free = (quotas.number > number[:, quotas.value]) & (quotas.number <= left[:, quotas.value])
    return np.asarray((free & (np.cumsum(free, axis=1) <= slots)) @ quotas.least)


def _completed(job: Job, group: Ints) -> Codes | None:
    """Rows without a group join near ones that can take them; None where groups would not meet the requirement."""
    table = job.table
    alone = np.flatnonzero(group < 0)
    group[alone] = int(group.max()) + 1 + np.arange(len(alone))
    total = int(group.max()) + 1
    met = Counts(group, table.sensitive, table.domain, total)
    if int((~job.requirement.holds(met)).sum()) > len(alone):
        return None
    extent = extent_of(table.taxonomies, table.codes).merged(group, total)
    whole = joined(extent, group, table.sensitive, table.domain, job.requirement)[group]
    return np.unique(whole, return_inverse=True)[1].astype(np.int32)
