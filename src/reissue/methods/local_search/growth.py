"""Groups that grow row by row, in many blocks of rows at once: always by a row that widens the group's box least."""

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.methods.local_search.divisions import Losses

__all__ = ["GONE", "Growth"]

GONE = np.int32(1 << 29)
"""What it costs to take a row that is taken, or a value that is not wanted: more than any box loses."""
_MANY = 3
"""Where one of so many blocks changes it costs less to look at all of them."""


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
