"""Groups that grow row by row, in many blocks of rows at once: always by a row that widens the group's box least."""

import numpy as np
from numpy.typing import NDArray

from reissue._arrays import Bools, Ints
from reissue.algorithms.partition.divisions import Losses

__all__ = ["GONE", "Growth", "Weights"]

Weights = NDArray[np.float32]
"""Losses that are only compared: half the memory."""
GONE = np.float32(1e6)
"""What it costs to take a row that is taken, or a value that is not wanted: more than any box loses."""


class Growth:
    """One growing group in each block. What each free row would widen it by is kept, column by column.

    A row that is added changes that only on columns where it lies outside of the box: O(blocks x places) for each of
    these.
    """

    def __init__(self, losses: Losses, rows: Ints, there: Bools) -> None:
        """Blocks x places: rows, and which places have one."""
        self._between = losses.between
        self._codes = losses.codes[:, rows]
        self._block = np.arange(len(rows))
        self._parts: Weights = np.empty(self._codes.shape, np.float32)
        self._lo = self._hi = self._codes[:, :, 0]
        self.taken: Weights = np.where(there, np.float32(0), GONE)
        self.cost: Weights = np.zeros(rows.shape, np.float32)
        """What each row's box, with the group, loses."""

    def begin(self, place: Ints) -> None:
        """A new group in each block, around one row; nothing is taken yet."""
        self._lo = self._codes[:, self._block, place]
        self._hi = self._lo.copy()
        for part, between, codes, own in zip(self._parts, self._between, self._codes, self._lo, strict=True):
            part[:] = between(codes, own[:, np.newaxis])
        self.cost = self._parts.sum(axis=0)

    def nearest(self, dear: Weights, value: Ints) -> Ints:
        """In each block the free row that widens the group least; `dear` (blocks x values) is added for its value.

        `value` are places in `dear`, as one row of numbers.
        """
        return np.asarray((self.cost + self.taken + dear.reshape(-1).take(value)).argmin(axis=1))

    def add(self, place: Ints, some: Bools) -> None:
        """Take a row in some of the blocks."""
        self.taken[self._block[some], place[some]] = GONE
        own = self._codes[:, self._block, place]
        outside = some & ((own < self._lo) | (own > self._hi))
        np.minimum(self._lo, own, out=self._lo, where=outside)
        np.maximum(self._hi, own, out=self._hi, where=outside)
        for column in np.flatnonzero(outside.any(axis=1)).tolist():
            wider = np.flatnonzero(outside[column])
            codes = self._codes[column, wider]
            lo = np.minimum(codes, self._lo[column, wider, np.newaxis])
            after = self._between[column](lo, np.maximum(codes, self._hi[column, wider, np.newaxis]))
            self.cost[wider] += after - self._parts[column, wider]
            self._parts[column, wider] = after
