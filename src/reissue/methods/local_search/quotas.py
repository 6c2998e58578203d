"""Groups of nearly the table's shares of values: where t-closeness asks for it, splitting gives up whole regions.

A group of n rows has its part of every value, n times the value's share in the table, and may have so much more of some
as the limit leaves: the *excess*, all values together, is at most that share of its rows (of t-closeness: t). Groups
grow from one row to the next nearest one whose value may still be added: either it is not in excess, or there is excess
to spare, so that the group can be completed with the values of least excess. n is the smallest number for which groups
of whole rows need no more than half of the excess that they may have.

Rows are looked for in a block: what a method makes of the table for a stricter limit and many rows. Rows that are left
over go the same way together, then join groups that can take them. O(rows of a block) for each row.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from reissue._arrays import Bools, Codes, Ints
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


def _quotas(totals: Ints, limit: float, size: int) -> Quotas:
    """Of groups of so many rows, where the table has these totals of values."""
    row, wanted = int(totals.sum()), size * totals
    most = np.minimum(-(-wanted // row) + 1, size)
    value = np.repeat(np.arange(len(totals)), most)
    number = np.arange(len(value)) - np.repeat(np.cumsum(most) - most, most) + 1
    excess = np.clip(number * row - wanted[value], 0, row)
    order = np.argsort(excess, kind="stable")[: 2 * size]
    allowed = int(limit * size * row + 1e-6)
    return Quotas(size, row, wanted, allowed, excess[order], value[order], number[order])


def _smallest(totals: Ints, limit: float, least: int) -> Quotas | None:
    """The smallest groups that need no more than half of the excess they may have."""
    for size in range(max(least, 2), _LARGEST):
        quotas = _quotas(totals, limit, size)
        if len(quotas.least) >= size and 2 * quotas.least[:size].sum() <= quotas.limit:
            return quotas
    return None


def by_quotas(job: Job, make: Callable[[Job], Draft]) -> Codes | None:
    """Groups of all rows that meet the requirement; None where it limits no excess, or they are not found."""
    limit, table = job.requirement.excess_limit, job.table
    least = max(part.least for part in job.requirement.parts())
    quotas = None if limit is None else _smallest(table.domain.totals, limit, least)
    if quotas is None or limit is None or table.rows < 4 * quotas.size:
        return None
    if not job.requirement.stricter(_STRICTER).holds(table.whole())[0]:
        return None  # a region of a table, which is judged by the whole table's shares
    group, losses = np.full(table.rows, -1, np.int64), Losses.of(table.taxonomies, table.codes)
    blocks = _blocks(job, make, quotas)
    for size in (quotas.size, quotas.size, quotas.size * 3 // 2):
        rows = np.flatnonzero(group < 0)
        if len(rows) >= size:
            _grow(job, losses, _quotas(table.domain.totals, limit, size), rows, blocks, group)
        rows = np.flatnonzero(group < 0)
        blocks = _portions(job, rows, np.zeros(len(rows), np.int64))
    return _completed(job, group)


def _blocks(job: Job, make: Callable[[Job], Draft], quotas: Quotas) -> Ints:
    """Row to its block: groups of many rows that a method makes for a stricter limit, cut where they are too large."""
    rows = job.table.rows
    many = KAnonymity(max(min(_BLOCK // 6, rows // 4), quotas.size))
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


def _grow(job: Job, losses: Losses, quotas: Quotas, rows: Ints, block: Ints, group: Ints) -> None:
    """Groups of some rows, in their blocks; rows that none was found for stay as they are."""
    order, sizes = np.argsort(block, kind="stable"), np.bincount(block)
    rows, sizes = rows[order], sizes[sizes > 0]
    turn = _turns(job, losses, quotas, rows, sizes)
    new = turn >= 0
    number = np.repeat(np.arange(len(sizes)) * len(rows), sizes) + turn
    group[rows[new]] = np.unique(number[new], return_inverse=True)[1] + int(group.max()) + 1


def _turns(job: Job, losses: Losses, quotas: Quotas, rows: Ints, sizes: Ints) -> Ints:
    """Rows, block by block, to their group's number in the block; -1 for rows that are left over."""
    turn = np.full(len(rows), -1, np.int64)
    for some, own in _batches(sizes):
        there = np.arange(int(own.max())) < own[:, np.newaxis]
        inside = np.zeros(there.shape, np.int64)
        inside[there] = rows[some]
        turn[some] = _grown(job, quotas, Growth(losses, inside, there), inside, there)[there]
    return turn


def _batches(sizes: Ints) -> Iterator[tuple[slice, Ints]]:
    """Places of rows, block by block, so many blocks at a time, and the sizes of these."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        begin = int(ends[first] - sizes[first])
        last = max(int(np.searchsorted(ends, begin + _ELEMENTS, "right")), first + 1)
        yield slice(begin, int(ends[last - 1])), sizes[first:last]
        first = last


def _grown(job: Job, quotas: Quotas, growth: Growth, rows: Ints, there: Bools) -> Ints:
    """Blocks x places to groups' numbers in their block, -1 for rows that are left over: one group after the other."""
    values, blocks = job.table.domain.size, np.arange(len(rows))
    value = job.table.sensitive[rows].astype(np.int64)
    key = value + (blocks * values)[:, np.newaxis]
    left = np.bincount(key[there], minlength=len(rows) * values).reshape(len(rows), values)
    group, made = np.full(rows.shape, -1, np.int64), 0
    going = there.sum(axis=1) >= quotas.size
    while going.any():
        seed = np.asarray((growth.cost + growth.taken).argmin(axis=1))
        growth.begin(seed)
        chosen, number, works = _one_each(quotas, growth, seed, key, left, going)
        group[blocks[works, np.newaxis], chosen[works]] = made
        left[works] -= number[works]
        made += 1
        going = works & (left.sum(axis=1) >= quotas.size)
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
