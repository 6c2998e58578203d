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
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.algorithms.extents import extent_of
from reissue.algorithms.joining import joined
from reissue.algorithms.partition.divisions import Losses
from reissue.algorithms.partition.growth import GONE, Growth, Weights
from reissue.algorithms.registry import Job
from reissue.counting.cells import Counts
from reissue.release.release import Draft
from reissue.requirements import KAnonymity

__all__ = ["by_quotas"]

_BLOCK = 2_000
"""Rows of a block, at most."""
_ELEMENTS = 1 << 16
"""Rows of so many blocks are worked on at once."""
_STRICTER = 0.7
"""Blocks keep to this part of the limit."""
_LARGEST = 200
"""Groups of more rows are not grown: a limit so strict leaves little to choose."""
_DEAR = 1.0
"""What a row costs beside what it widens, if its value is in excess of what is left in the block."""


@dataclass(frozen=True, eq=False)
class _Plan:
    """How groups are made up."""

    size: int
    wanted: Floats
    """Value to how many rows of it a group has without excess."""
    limit: float
    """The excess that a group may have, in rows."""
    least: Floats
    """The excess that single further rows would bring, smallest first: `value` is theirs, of which each is `number`."""
    value: Ints
    number: Ints

    @classmethod
    def of(cls, shares: Floats, limit: float, size: int) -> "_Plan":
        wanted = size * shares
        most = np.minimum(np.ceil(wanted).astype(np.int64) + 1, size)
        value = np.repeat(np.arange(len(shares)), most)
        number = np.arange(len(value)) - np.repeat(np.cumsum(most) - most, most) + 1
        excess = np.clip(number - wanted[value], 0, 1)
        order = np.argsort(excess, kind="stable")[: 2 * size]
        return cls(size, wanted, limit * size, excess[order], value[order], number[order])

    @classmethod
    def smallest(cls, shares: Floats, limit: float, least: int) -> "_Plan | None":
        """The smallest groups that need no more than half of the excess they may have."""
        for size in range(max(least, 2), _LARGEST):
            plan = cls.of(shares, limit, size)
            if len(plan.least) >= size and plan.least[:size].sum() <= plan.limit / 2:
                return plan
        return None

    def excess(self, number: Ints) -> Floats:
        """What one row more of each value brings (blocks x values): its part beyond what a group may have."""
        return np.asarray(np.clip(number + 1 - self.wanted, 0, 1))

    def to_complete(self, number: Ints, left: Ints, slots: int) -> Floats:
        """The least excess with which groups of these numbers of values (blocks x values) get so many rows more."""
        if not slots:
            return np.zeros(len(number))
        free = (self.number > number[:, self.value]) & (self.number <= left[:, self.value])
        chosen = free & (np.cumsum(free, axis=1) <= slots)
        return np.asarray(chosen @ self.least)


def by_quotas(job: Job, make: Callable[[Job], Draft]) -> Codes | None:
    """Groups of all rows that meet the requirement; None where it limits no excess, or they are not found."""
    limit, table = job.requirement.excess_limit, job.table
    least = max(part.least for part in job.requirement.parts())
    plan = None if limit is None else _Plan.smallest(table.domain.shares, limit, least)
    if plan is None or limit is None or table.rows < 4 * plan.size:
        return None
    if not job.requirement.stricter(_STRICTER).holds(table.whole())[0]:
        return None  # a region of a table, which is judged by the whole table's shares
    group = np.full(table.rows, -1, np.int64)
    blocks = _blocks(job, make, plan)
    for size in (plan.size, plan.size, plan.size * 3 // 2):
        rows = np.flatnonzero(group < 0)
        if len(rows) >= size:
            _grow(job, _Plan.of(table.domain.shares, limit, size), rows, blocks, group)
        rows = np.flatnonzero(group < 0)
        blocks = _portions(job, rows, np.zeros(len(rows), np.int64))
    return _completed(job, group)


def _blocks(job: Job, make: Callable[[Job], Draft], plan: _Plan) -> Ints:
    """Row to its block: groups of many rows that a method makes for a stricter limit, cut where they are too large."""
    rows = job.table.rows
    many = KAnonymity(max(min(_BLOCK // 6, rows // 4), plan.size))
    wanted = job.requirement.stricter(_STRICTER) & many
    whole = np.zeros(rows, np.int64)
    made = make(replace(job, requirement=wanted, suppress=0.0, progress=lambda _: None)).groups
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


def _grow(job: Job, plan: _Plan, rows: Ints, block: Ints, group: Ints) -> None:
    """Groups of some rows, in their blocks; rows that none was found for stay as they are."""
    losses = Losses.of(job.table.taxonomies, job.table.codes)
    for some in _batches(block):
        sizes = np.bincount(block[some])
        sizes = sizes[sizes > 0]
        place = np.arange(int(sizes.max()))
        there = place < sizes[:, np.newaxis]
        inside = np.zeros(there.shape, np.int64)
        inside[there] = rows[some]
        found = _grown(job, plan, Growth(losses, inside, there), inside, there)
        new = found >= 0
        group[inside[new]] = found[new] + int(group.max()) + 1


def _batches(block: Ints) -> Iterator[Ints]:
    """Places of rows, block by block, so many blocks at a time."""
    order = np.argsort(block, kind="stable")
    ends = np.cumsum(np.bincount(block))
    first = 0
    while first < len(order):
        after = ends[ends > first]
        last = int(after[max(int((after <= first + _ELEMENTS).sum()) - 1, 0)])
        yield order[first:last]
        first = last


def _grown(job: Job, plan: _Plan, growth: Growth, rows: Ints, there: Bools) -> Ints:
    """Blocks x places to groups, -1 for rows that are left over: one group in each block after the other."""
    values, blocks = job.table.domain.size, np.arange(len(rows))
    value = job.table.sensitive[rows].astype(np.int64)
    key = value + (blocks * values)[:, np.newaxis]
    left = np.bincount(key[there], minlength=len(rows) * values).reshape(len(rows), values)
    group, made = np.full(rows.shape, -1, np.int64), 0
    going = there.sum(axis=1) >= plan.size
    while going.any():
        seed = np.asarray((growth.cost + growth.taken).argmin(axis=1))
        growth.begin(seed)
        chosen, number, works = _one_each(plan, growth, seed, key, left, going)
        growth.taken[blocks[~works, np.newaxis], chosen[~works]] = 0.0
        growth.taken[~there] = GONE
        group[blocks[works, np.newaxis], chosen[works]] = (made + np.arange(int(works.sum())))[:, np.newaxis]
        left[works] -= number[works]
        made += int(works.sum())
        going = works & (left.sum(axis=1) >= plan.size)
    return group


def _one_each(plan: _Plan, growth: Growth, seed: Ints, key: Ints, left: Ints, going: Bools) -> tuple[Ints, Ints, Bools]:
    """One group in each block: its places, how many it has of each value, and whether it could be completed."""
    blocks, number = np.arange(len(seed)), np.zeros_like(left)
    first = blocks * left.shape[1]
    chosen, works, spent = np.empty((len(seed), plan.size), np.int64), going.copy(), np.zeros(len(seed))
    common = plan.size * left / np.maximum(left.sum(axis=1), 1)[:, np.newaxis]
    place = seed
    for turn in range(plan.size):
        excess = plan.excess(number)
        spare = plan.limit - spent - plan.to_complete(number, left, plan.size - turn - 1)
        barred = (excess > spare[:, np.newaxis] + 1e-9) | (number >= left)
        if turn:
            dear: Weights = np.where(barred, GONE, _DEAR * np.clip(number + 1 - common, 0, 1)).astype(np.float32)
            place = growth.nearest(dear, key)
        value = key[blocks, place] - first
        works &= ~barred[blocks, value] & (growth.taken[blocks, place] == 0)
        chosen[:, turn] = place
        spent += excess[blocks, value]
        number[blocks, value] += 1
        growth.add(place, works)
    return chosen, number, works


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
