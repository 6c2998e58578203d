"""Histograms of groups as flat arrays, and what two of them have in common, for many pairs of groups at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Codes, Ints

__all__ = ["Histograms", "common", "equal_keys", "pieces", "ranges"]

_PIECE = 1 << 22
"""How many entries are looked up at a time: bounds the memory of `common`."""


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers start, start + 1, ... of each range, one range after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


@dataclass(frozen=True, eq=False)
class Histograms:
    """Which values each group holds: entries sorted by group, then value."""

    starts: Ints
    """Where each group's entries start, and the number of entries at the end."""
    value: Ints
    values: int
    """How many different values there can be."""

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Ints:
        """How many values each group holds."""
        return np.diff(self.starts)

    @cached_property
    def _keys(self) -> Ints:
        return np.repeat(np.arange(self.groups), self.lengths) * self.values + self.value

    @cached_property
    def _table(self) -> Codes | None:
        """(group, value) to entry, where such a table is not much larger than the entries themselves."""
        space = self.groups * self.values
        if space > min(16 * len(self.value) + (1 << 16), 2**31):
            return None
        table = np.full(space, -1, np.int32)
        table[self._keys] = np.arange(len(self.value), dtype=np.int32)
        return table

    def find(self, groups: Ints, values: Ints) -> Ints:
        """The entry of each (group, value), -1 where the group lacks the value."""
        keys = groups * self.values + values
        if not len(self.value):
            return np.full(keys.shape, -1)
        if self._table is not None:
            return np.asarray(self._table[keys], np.int64)
        place = np.searchsorted(self._keys[:-1], keys)
        place[self._keys[place] != keys] = -1
        return place


def common(left: Histograms, right: Histograms, one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """For pairs of a left and a right group: every value that both hold, as (pair, left entry, right entry).

    The side with fewer entries is listed, the other one looked up.
    """
    few, many = left.lengths[one], right.lengths[other]
    turned = int(few.sum()) > int(many.sum())
    listed, looked, mine, its = (right, left, other, one) if turned else (left, right, one, other)
    lengths = listed.lengths[mine]
    entry = ranges(listed.starts[mine], lengths)
    pair = np.repeat(np.arange(len(mine)), lengths)
    found = looked.find(its[pair], listed.value[entry])
    both = np.flatnonzero(found >= 0)
    pair, entry, found = pair[both], entry[both], found[both]
    return (pair, found, entry) if turned else (pair, entry, found)


def equal_keys(one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """All pairs with equal keys, as an order, starts and numbers: p meets order[start[p] : start[p] + number[p]]."""
    order = np.argsort(other, kind="stable")
    total = int(max(one.max(initial=-1), other.max(initial=-1))) + 1
    number = np.bincount(other, minlength=total)
    start = np.cumsum(number) - number
    return order, start[one], number[one]


def pieces(weights: Ints) -> Iterator[slice]:
    """Consecutive slices whose weights add up to about a piece each."""
    ends = np.cumsum(weights)
    begin = 0
    while begin < len(weights):
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + _PIECE, "right")), begin + 1)
        yield slice(begin, end)
        begin = end
