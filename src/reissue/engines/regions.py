"""Regions of a table: parts that follow from splits by code, and what is counted of each while they are found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from reissue._arrays import Codes, Ints

__all__ = ["RegionCounts", "Regions", "RowsByRegion", "Split", "Spread", "region_of"]

_DENSE = 1 << 22
"""Counts are kept in an array of all codes up to this length; beyond it, only those that occur."""


@dataclass(frozen=True)
class Split:
    """A region in two: rows whose code on an attribute is at least `cut` go above."""

    place: int
    cut: int
    below: int
    above: int


@dataclass(frozen=True)
class Regions:
    """A tree of splits; what is not split is a region of rows that are finished together."""

    splits: Mapping[int, Split]
    sizes: Mapping[int, int]
    """Region to its rows, of those that are not split."""


@dataclass(frozen=True, eq=False)
class Spread:
    """How often each code of a region's attribute goes with each sensitive value; sorted by code."""

    code: Codes
    value: Codes
    count: Ints


class RowsByRegion(Protocol):
    """Whoever holds the rows."""

    def bounds(self, splits: Mapping[int, Split], regions: Sequence[int]) -> tuple[Codes, Codes]:
        """Attributes x regions: the smallest and the largest code."""

    def spreads(self, splits: Mapping[int, Split], attribute: Mapping[int, int]) -> Mapping[int, Spread]:
        """Region to the spread on the attribute that it asks for."""


def region_of(codes: Codes, splits: Mapping[int, Split]) -> Codes:
    """Row to its region, from attributes x rows."""
    nodes = max([0, *(end for split in splits.values() for end in (split.below, split.above))]) + 1
    tree: Codes = np.full((4, nodes), -1, np.int32)
    for node, split in splits.items():
        tree[:, node] = split.place, split.cut, split.below, split.above
    place, cut, below, above = tree
    region, rows = np.zeros(codes.shape[1], np.int32), np.arange(codes.shape[1])
    while len(rows):
        rows = rows[place[region[rows]] >= 0]
        node = region[rows]
        region[rows] = np.where(codes[place[node], rows] >= cut[node], above[node], below[node])
    return region


@dataclass(eq=False)
class RegionCounts:
    """What is counted of some regions, rows by rows: bounds of every attribute, and spreads of some."""

    sizes: tuple[int, ...]
    """Attribute to the number of its codes."""
    values: int
    """The number of sensitive codes."""
    regions: tuple[int, ...]
    wanted: tuple[int, ...]
    """Attributes whose spreads are counted."""
    lo: Codes = field(init=False)
    hi: Codes = field(init=False)
    counts: dict[int, tuple[Ints, Ints]] = field(init=False, default_factory=dict)
    """Attribute to keys, sorted, and how often each occurs: region, code and value as one number."""

    def __post_init__(self) -> None:
        self.lo = np.full((len(self.sizes), len(self.regions)), np.iinfo(np.int32).max, np.int32)
        self.hi = np.full((len(self.sizes), len(self.regions)), -1, np.int32)

    def add(self, codes: Codes, value: Codes, splits: Mapping[int, Split]) -> None:
        """Count more rows."""
        number = np.full(max([0, *self.regions, *(max(s.below, s.above) for s in splits.values())]) + 1, -1, np.int32)
        number[list(self.regions)] = np.arange(len(self.regions))
        region = number[region_of(codes, splits)]
        inside = np.flatnonzero(region >= 0)
        if len(inside) < len(region):
            codes, value, region = codes[:, inside], value[inside], region[inside]
        order = np.argsort(region, kind="stable")
        starts = np.searchsorted(region[order], np.arange(len(self.regions) + 1))
        there = np.flatnonzero(np.diff(starts))
        for place, column in enumerate(codes):
            if len(there):
                laid = column[order]
                self.lo[place, there] = np.minimum(self.lo[place, there], np.minimum.reduceat(laid, starts[there]))
                self.hi[place, there] = np.maximum(self.hi[place, there], np.maximum.reduceat(laid, starts[there]))
            if place in self.wanted:
                keys = (region * np.int64(self.sizes[place]) + column) * self.values + value
                self.merge(place, *self._counted(place, keys))

    def _counted(self, place: int, keys: Ints) -> tuple[Ints, Ints]:
        bound = len(self.regions) * self.sizes[place] * self.values
        if bound > _DENSE:
            found, count = np.unique(keys, return_counts=True)
            return found, count
        number = np.bincount(keys, minlength=bound)
        found = np.flatnonzero(number)
        return found, number[found]

    def merge(self, place: int, keys: Ints, count: Ints) -> None:
        """Add what was counted elsewhere."""
        if place in self.counts:
            before, number = self.counts[place]
            keys, of = np.unique(np.concatenate([before, keys]), return_inverse=True)
            count = np.bincount(of, np.concatenate([number, count])).astype(np.int64)
        self.counts[place] = keys, count

    def widen(self, lo: Codes, hi: Codes) -> None:
        """Bounds that were found elsewhere."""
        self.lo, self.hi = np.minimum(self.lo, lo), np.maximum(self.hi, hi)

    def spread(self, region: int, place: int) -> Spread:
        """Of one region and a wanted attribute."""
        keys, count = self.counts[place]
        width = self.sizes[place] * self.values
        first, last = np.searchsorted(
            keys, [self.regions.index(region) * width, (self.regions.index(region) + 1) * width]
        )
        inner = keys[first:last] % width
        code, value = (inner // self.values).astype(np.int32), (inner % self.values).astype(np.int32)
        return Spread(code, value, count[first:last])
