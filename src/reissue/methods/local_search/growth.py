"""Groups that grow row by row, always by the row that widens the group's box least; and exchanges of rows by growing.

Two groups exchange rows of the same values, so that whatever is asked of their histograms holds as before. The rows of
both are taken together. One group grows anew from one of its rows, drawn at random, always by the row that widens its
box least and whose value it still lacks, until it has as many of each value as before; the other one gets the rest. The
best of some tries counts. O(rows of a pair squared) for each pair.
"""

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.methods.local_search.divisions import Better, Division, GroupPairs, Losses, batches
from reissue.methods.registry import Job

__all__ = ["GONE", "Growth", "exchanges"]

GONE = np.int32(1 << 29)
"""What it costs to take a row that is taken, or a value that is not wanted: more than any box loses."""
_MANY = 3
"""Where one of so many blocks changes it costs less to look at all of them."""
_GAIN = 1e-6
_ELEMENTS = 100_000
"""Rows of so many pairs are worked on at once."""


class Growth:
    """One growing group in each block, and what each row of the block would lose together with it.

    A row that is added changes that only on columns where it lies outside of the box. What changes there is computed
    once for each leaf, where these are few, and looked up for the rows.
    """

    def __init__(self, losses: Losses, rows: Ints, there: Bools) -> None:
        """Blocks x places: rows, and which places have one."""
        self._losses = losses
        self.unit = losses.unit
        self._block = np.arange(len(rows))
        self._codes = losses.codes[:, rows]
        self._lo = self._hi = self._codes[:, :, 0]
        self.taken: Codes = np.where(there, np.int32(0), GONE)
        self.cost: Codes = np.zeros(rows.shape, np.int32)
        """What each row's box, with the group, loses."""
        self._parts = {column: self.cost.copy() for column, table in enumerate(losses.around) if table is None}
        """Of columns with many leaves, what each row loses on it; of others it is looked up by leaf."""
        self._cell: dict[int, Ints] = {}
        for column, table in enumerate(losses.around):
            if table is not None:
                self._cell[column] = self._codes[column] + (self._block * table.shape[1])[:, np.newaxis]

    def begin(self, place: Ints) -> None:
        """A new group in each block, around one row; nothing is taken yet."""
        self._lo = self._codes[:, self._block, place]
        self._hi = self._lo.copy()
        self.cost[:] = 0
        for column, table in enumerate(self._losses.around):
            if table is None:
                self._parts[column][:] = 0
                self._widen_rows(column, self._block)
            else:
                self._widen(column, self._block, table[self._box(column, self._block)])

    def _box(self, column: int, blocks: Ints) -> Ints:
        """Blocks' boxes on one column, as numbers."""
        leaves = self._losses.taxonomies[column].size
        return np.asarray(self._lo[column, blocks].astype(np.int64) * leaves + self._hi[column, blocks])

    def _widen(self, column: int, blocks: Ints, more: Codes) -> None:
        """Add to the costs in some blocks what their boxes lose more on one column with each leaf (blocks x leaves)."""
        cell, leaves = self._cell[column], more.shape[1]
        if len(blocks) * _MANY >= len(self._block):
            table = np.zeros((len(self._block), leaves), np.int32)
            table[blocks] = more
            self.cost += table.reshape(-1).take(cell)
        else:
            shift = ((np.arange(len(blocks)) - blocks) * leaves)[:, np.newaxis]
            self.cost[blocks] += more.reshape(-1).take(cell[blocks] + shift)

    def _widen_rows(self, column: int, blocks: Ints) -> None:
        """The same where leaves are many: row by row."""
        codes, lo, hi = self._codes[column, blocks], self._lo[column, blocks], self._hi[column, blocks]
        ends = np.minimum(codes, lo[:, np.newaxis]), np.maximum(codes, hi[:, np.newaxis])
        after = self._losses.rounded(column, *ends)
        self.cost[blocks] += after - self._parts[column][blocks]
        self._parts[column][blocks] = after

    def nearest(self, dear: Codes, value: Ints) -> Ints:
        """In each block the free row that widens the group least; `dear` (blocks x values) is added for its value.

        `value` are places in `dear`, as one row of numbers.
        """
        total = dear.reshape(-1).take(value)
        total += self.cost
        total += self.taken
        return np.asarray(total.argmin(axis=1))

    def add(self, place: Ints, some: Bools) -> None:
        """Take a row in some of the blocks."""
        self.taken[self._block[some], place[some]] = GONE
        own = self._codes[:, self._block, place]
        outside = some & ((own < self._lo) | (own > self._hi))
        for column in np.flatnonzero(outside.any(axis=1)).tolist():
            wider = np.flatnonzero(outside[column])
            before = self._box(column, wider)
            self._lo[column, wider] = np.minimum(self._lo[column, wider], own[column, wider])
            self._hi[column, wider] = np.maximum(self._hi[column, wider], own[column, wider])
            table = self._losses.around[column]
            if table is None:
                self._widen_rows(column, wider)
            else:
                self._widen(column, wider, table[self._box(column, wider)] - table[before])


# --- exchanges -------------------------------------------------------------------------------------------------------


def exchanges(
    job: Job, division: Division, one: Ints, other: Ints, tries: int, rng: np.random.Generator
) -> list[Better]:
    """Pairs of groups grown anew with the values that they have, from so many rows each, where that saves anything.

    Pairs come in the order of their rows, fewest first.
    """
    if not len(one):
        return []
    turned = rng.random(len(one)) < 0.5
    first, second = np.where(turned, other, one), np.where(turned, one, other)
    start = (rng.random((tries, len(one))) * division.sizes[first]).astype(np.int64)
    rows, saved = _exchanged(job, division, first, second, start)
    ends = np.cumsum(division.sizes[first] + division.sizes[second])
    found = []
    for pair in np.flatnonzero(saved).tolist():
        both, size = rows[ends[pair - 1] if pair else 0 : ends[pair]], int(division.sizes[first[pair]])
        found.append((pair, both[:size], both[size:]))
    gain = _saved(division, first, second, found)
    return [
        Better(int(first[pair]), int(second[pair]), mine, theirs, float(more))
        for (pair, mine, theirs), more in zip(found, gain, strict=True)
        if more > _GAIN
    ]


def _exchanged(job: Job, division: Division, first: Ints, second: Ints, start: Ints) -> tuple[Ints, Ints]:
    """The rows of all pairs, those of each one's first group first, and what is saved (rounded); many pairs at once."""
    rows, saved = [], []
    for some in batches(division.sizes[first] + division.sizes[second], _ELEMENTS):
        pairs = GroupPairs.of(division, first[some], second[some])
        best = np.arange(pairs.rows.shape[1]) < division.sizes[pairs.one][:, np.newaxis]
        before = _both(division, pairs, best)
        most = np.zeros(len(some), np.int64)
        for place in start[:, some]:
            mine = _regrown(job, division, pairs, place)
            more = before - _both(division, pairs, mine)
            best = np.where((more > most)[:, np.newaxis], mine, best)
            most = np.maximum(more, most)
        order = np.argsort(np.where(pairs.there, ~best, 2), axis=1, kind="stable")
        rows.append(np.take_along_axis(pairs.rows, order, axis=1)[pairs.there])
        saved.append(most)
    return np.concatenate(rows), np.concatenate(saved)


def _regrown(job: Job, division: Division, pairs: GroupPairs, place: Ints) -> Bools:
    """Pairs x places: which rows the first group of each pair has, if it grows from this one."""
    number, places = pairs.rows.shape
    values, block = job.table.domain.size, np.arange(number)
    value = job.table.sensitive[pairs.rows].astype(np.int64)
    key = value + (block * values)[:, np.newaxis]
    size = division.sizes[pairs.one]
    before = np.arange(places) < size[:, np.newaxis]
    lacking = np.bincount(key[before], minlength=number * values).reshape(number, values)
    growth, mine = Growth(division.losses, pairs.rows, pairs.there), np.zeros(pairs.rows.shape, np.bool_)
    growth.begin(place)
    for turn in range(int(size.max())):
        some = turn < size
        if turn:
            dear: Codes = np.where(lacking > 0, np.int32(0), GONE)
            place = growth.nearest(dear, key)
        growth.add(place, some)
        lacking[block[some], value[block[some], place[some]]] -= 1
        mine[block[some], place[some]] = True
    return mine


def _both(division: Division, pairs: GroupPairs, mine: Bools) -> Ints:
    """What the rows of each pair lose (rounded) where the first group has these, and the second one the others."""
    total = np.zeros(len(mine), np.int64)
    for part in (mine, pairs.there & ~mine):
        inside = part.T
        lo = np.where(inside, pairs.codes, np.iinfo(np.int32).max).min(axis=1)
        hi = np.where(inside, pairs.codes, -1).max(axis=1)
        total += part.sum(axis=1) * division.losses.rounded_box(lo, hi)
    return total


def _saved(division: Division, first: Ints, second: Ints, found: list[tuple[int, Ints, Ints]]) -> Floats:
    """What some pairs save, not rounded, where their groups have these rows."""
    if not found:
        return np.zeros(0)
    parts = [part for _, *both in found for part in both]
    sizes, pair = np.array([len(part) for part in parts]), np.array([pair for pair, _, _ in found])
    codes, starts = division.losses.codes[:, np.concatenate(parts)], np.cumsum(sizes) - sizes
    lo, hi = (end.reduceat(codes, starts, axis=1) for end in (np.minimum, np.maximum))
    after = (sizes * division.losses.box(lo, hi)).reshape(-1, 2).sum(axis=1)
    before = sum(division.sizes[side[pair]] * division.each[side[pair]] for side in (first, second))
    return np.asarray(before - after)
