"""Histograms: the count of each value in each group, in the one layout that is used for groups."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.counting.segments import ranges

__all__ = ["Histogram", "common", "counted", "starts_of"]


@dataclass(frozen=True, eq=False)
class Histogram:
    """The values of each group and their counts: entries sorted by group, then value.

    Subclasses add what else is known of groups (boxes, names, arrival times).
    """

    starts: Ints
    """Where the entries of each group start, followed by the number of entries."""
    value: Ints
    count: Ints | Codes
    values: int
    """The number of possible values."""

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Ints:
        """The number of distinct values in each group."""
        return np.diff(self.starts)

    @cached_property
    def group(self) -> Ints:
        """The group of each entry."""
        return np.repeat(np.arange(self.groups), self.lengths)

    @cached_property
    def sizes(self) -> Ints:
        """Number of records of each group."""
        return np.diff(np.append(0, np.cumsum(self.count))[self.starts])

    @property
    def reduced(self) -> Ints | Codes:
        """Each count divided by the greatest common divisor of its group's: equal shares compare equal."""
        filled = np.flatnonzero(self.lengths)
        if not len(filled):
            return self.count
        common_divisor = np.gcd.reduceat(self.count, self.starts[filled])
        return np.asarray(self.count // np.repeat(common_divisor, self.lengths[filled]))

    def between(self, first: int, last: int) -> "Histogram":
        """The groups from `first` up to, but not including, `last`, renumbered."""
        starts = self.starts[first : last + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        return Histogram(starts - starts[0], self.value[inside], self.count[inside], self.values)

    def pick(self, groups: Ints) -> "Histogram":
        """Some groups in the given order, renumbered."""
        lengths = self.lengths[groups]
        at = ranges(self.starts[groups], lengths)
        return Histogram(np.append(0, np.cumsum(lengths)), self.value[at], self.count[at], self.values)

    def counts_of(self, group: int) -> dict[int, int]:
        """The values of one group and their counts."""
        own = slice(int(self.starts[group]), int(self.starts[group + 1]))
        return dict(zip(self.value[own].tolist(), self.count[own].tolist(), strict=True))

    @cached_property
    def _keys(self) -> Ints:
        return self.group * self.values + self.value

    @cached_property
    def _table(self) -> Codes | None:
        """A lookup table from (group, value) to entry, if it is not much larger than the entries themselves."""
        space = self.groups * self.values
        if space > min(16 * len(self.value) + (1 << 16), 2**31):
            return None
        table = np.full(space, -1, np.int32)
        table[self._keys] = np.arange(len(self.value), dtype=np.int32)
        return table

    def find(self, groups: Ints, values: Ints) -> Ints:
        """Find the entry of each (group, value); -1 if the group lacks the value."""
        keys = groups * self.values + values
        if not len(self.value):
            return np.full(keys.shape, -1)
        if self._table is not None:
            return np.asarray(self._table[keys], np.int64)
        place = np.searchsorted(self._keys[:-1], keys)
        place[self._keys[place] != keys] = -1
        return place


def starts_of(group: Ints, groups: int) -> Ints:
    """Where each group starts among sorted entries, followed by the number of entries."""
    return np.append(0, np.cumsum(np.bincount(group, minlength=groups)))


def counted(
    group: Codes | Ints, value: Codes | Ints, groups: int, values: int, weights: Codes | Ints | None = None
) -> Histogram:
    """Count rows (or cells, by weight; a weight of 0 is no row) by group, 0 <= group < groups, and by value."""
    width = max(values, 1)
    keys = group * np.int64(width) + value
    if groups * width <= 4 * len(keys) + 1024:
        dense = np.bincount(keys, weights, groups * width).astype(np.int64, copy=False)
        distinct = np.flatnonzero(dense)
        number = dense[distinct]
        lengths = np.count_nonzero(dense.reshape(groups, width), axis=1)
    else:
        distinct, number = _sorted_out(keys, weights)
        lengths = np.bincount(distinct // width, minlength=groups)
    first = np.repeat(np.arange(groups) * width, lengths)
    return Histogram(np.append(0, np.cumsum(lengths)), distinct - first, number, values)


def _sorted_out(keys: Ints, weights: Codes | Ints | None) -> tuple[Ints, Ints]:
    """The distinct keys in order, with their counts."""
    if weights is None:
        return np.unique(keys, return_counts=True)
    keys, weights = keys[weights > 0], weights[weights > 0]
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(place, weights).astype(np.int64)


def common(left: Histogram, right: Histogram, one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """For pairs of a left and a right group, list every common value as (pair, left entry, right entry).

    The side with fewer entries is listed, the other one is looked up.
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
