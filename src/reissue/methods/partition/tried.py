"""Groups of a frontier tried on one attribute each: their bounds, their order, and the children that they fall into."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue._arrays import Codes, Ints, NarrowCodes
from reissue.counting.segments import ranges

__all__ = ["ALL", "LocatedRows", "Ranks", "TriedGroups", "bounds_of", "compact"]

ALL = slice(None)
_ROWS_A_LEAF = 2
"""Where groups have that many rows for each leaf between their bounds, it pays to count rows by leaf first."""


@dataclass(frozen=True, eq=False)
class TriedGroups:
    """Groups of a frontier with the codes of their rows on one attribute each."""

    rows: Ints | slice
    """The rows' places in the frontier."""
    codes: NarrowCodes
    sizes: Ints
    starts: Ints
    lo: Codes
    """The smallest code of each group."""
    hi: Codes

    @classmethod
    def of(cls, codes: NarrowCodes, sizes: Ints, rows: Ints | slice) -> "TriedGroups":
        """Groups one after the other."""
        starts = np.cumsum(sizes) - sizes
        return cls(rows, codes, sizes, starts, *bounds_of(codes, starts))

    def places(self, some: Ints | slice) -> Ints | slice:
        """Where some of the rows stand in the frontier."""
        return some if isinstance(self.rows, slice) else self.rows[some]

    def put(self, groups: Ints, others: "TriedGroups") -> None:
        """Some groups on other attributes from now on; rows of all groups must be here."""
        self.codes[others.rows] = others.codes
        self.lo[groups], self.hi[groups] = others.lo, others.hi

    def by_child(self, level: Ints, first: Ints, bound: int, nodes: Codes) -> "tuple[Ints, Ints, LocatedRows]":
        """The children that have any rows, how many, and the rows by child, of which there are at most so many.

        A child is the node of a row's code, looked up from where its group's level begins, counted from `first`.
        """
        leaves = self.hi.astype(np.int64) - self.lo + 1
        if int(leaves.sum()) * _ROWS_A_LEAF > len(self.codes):
            rows = np.repeat(level, self.sizes) + self.codes
            distinct, size, locate = compact(np.repeat(first, self.sizes) + nodes.take(rows), bound)
            return distinct, size, LocatedRows(self, locate)
        # Rows are counted by leaf, and leaves looked up instead of rows.
        before = np.cumsum(leaves) - leaves - self.lo
        bins = np.asarray(np.repeat(before, self.sizes) + self.codes, np.int64)
        number = np.bincount(bins, minlength=int(leaves.sum()))
        keys = np.repeat(first, leaves) + nodes.take(np.arange(len(number)) + np.repeat(level - before, leaves))
        distinct, size, locate = compact(keys, bound, number)
        return distinct, size, LocatedRows(self, lambda some: locate(bins[some]))


@dataclass(frozen=True, eq=False)
class LocatedRows:
    """Rows of tried groups and the children that they would fall into; of some of the groups, or all."""

    tried: TriedGroups
    locate: Callable[[Any], Ints]
    """Of some of all these rows to their children."""

    def children(self, groups: Ints | None = None) -> Ints:
        """The child of each row, group by group."""
        return self.locate(self._inside(groups))

    def places(self, groups: Ints | None = None) -> Ints | slice:
        """Where each row stands in the frontier."""
        return self.tried.places(self._inside(groups))

    def put(self, label: Ints, labels: Ints, groups: Ints | None = None) -> None:
        """The label of its child becomes the label of each row."""
        labels[self.places(groups)] = label.take(self.children(groups))

    def _inside(self, groups: Ints | None) -> Ints | slice:
        return ALL if groups is None else ranges(self.tried.starts[groups], self.tried.sizes[groups])


def bounds_of(codes: NarrowCodes, starts: Ints) -> tuple[Codes, Codes]:
    """The smallest and the largest code of each group."""
    lo, hi = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
    return lo.astype(np.int32), hi.astype(np.int32)


class Ranks:
    """All rows in the order of (group, code), without moving any: which code stands where, and how many stand below.

    Read off one histogram in which every group has its own stretch of bins from lo to hi; where that would be too
    long, off the sorted codes.
    """

    def __init__(self, chosen: TriedGroups) -> None:
        """Order the rows of groups by the codes of their attributes."""
        widths = chosen.hi.astype(np.int64) - chosen.lo + 1
        self._dense = int(widths.sum()) <= 4 * len(chosen.codes) + 1024
        if self._dense:
            self._base = np.cumsum(widths) - widths - chosen.lo
            self._so_far = np.append(np.cumsum(np.bincount(np.repeat(self._base, chosen.sizes) + chosen.codes)), 0)
        else:
            shift = int(chosen.hi.max()).bit_length()
            self._base = np.arange(len(widths), dtype=np.int64) << shift
            self._keys = np.sort(np.repeat(self._base, chosen.sizes) + chosen.codes)

    def at(self, position: Ints) -> Codes:
        """For each group the code at a position among all rows; the position must lie in the group."""
        if self._dense:
            codes = np.searchsorted(self._so_far[:-1], position, "right") - self._base
        else:
            codes = self._keys[position] - self._base
        return np.asarray(codes, np.int32)

    def below(self, code: Codes | Ints) -> Ints:
        """For each group the position of the first row with this code or a larger one; lo <= code <= hi."""
        if self._dense:
            # The appended 0 answers for the very first bin, whose predecessor is index -1.
            return np.asarray(self._so_far[self._base + code - 1])
        return np.asarray(np.searchsorted(self._keys, self._base + code))


def compact(keys: Ints, bound: int, number: Ints | None = None) -> tuple[Ints, Ints, Callable[[Ints | slice], Ints]]:
    """The distinct keys in order, how many rows each has, and on request the place of some of the keys among them.

    `number` is how many rows each of the keys stands for; without it one.
    """
    if bound > 4 * len(keys) + 1024:  # a table of all keys would be too large
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, _counted(place, len(distinct), number), lambda some: place[some]
    table = _counted(keys, bound, number)
    distinct = np.flatnonzero(table)
    size = table[distinct]

    def places(some: Ints | slice) -> Ints:
        table[distinct] = np.arange(len(distinct))
        return table.take(keys[some])

    return distinct, size, places


def _counted(keys: Ints, bound: int, number: Ints | None) -> Ints:
    return np.bincount(keys, number, bound).astype(np.int64, copy=False)
