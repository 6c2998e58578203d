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

    @classmethod
    def of(cls, code: Codes, value: Codes, codes: int, values: int) -> "Spread":
        """Of a region's rows; there are so many codes, and so many sensitive values."""
        kind = _kind(codes * values)
        keys = code if values == 1 else code.astype(kind, copy=False) * kind(values) + value
        return cls.decoded(*_counted(keys, codes * values), values)

    @classmethod
    def decoded(cls, keys: Ints, count: Ints, values: int) -> "Spread":
        """From code and value as one number."""
        return cls((keys // values).astype(np.int32), (keys % values).astype(np.int32), count)


class RowsByRegion(Protocol):
    """Whoever holds the rows."""

    def bounds(self, splits: Mapping[int, Split], regions: Sequence[int]) -> tuple[Codes, Codes]:
        """Attributes x regions: the smallest and the largest code."""

    def spreads(self, splits: Mapping[int, Split], attribute: Mapping[int, int]) -> Mapping[int, Spread]:
        """Region to the spread on the attribute that it asks for."""


def region_of(codes: Codes, splits: Mapping[int, Split]) -> Codes:
    """Row to its region, from attributes x rows."""
    region = np.zeros(codes.shape[1], np.int32)
    waiting: list[tuple[int, Ints | slice]] = [(0, slice(None))]
    while waiting:
        node, rows = waiting.pop()
        if node not in splits:
            region[rows] = node
            continue
        split = splits[node]
        above = codes[split.place][rows] >= split.cut
        for child, here in ((split.below, ~above), (split.above, above)):
            inside = np.flatnonzero(here)
            waiting.append((child, inside if isinstance(rows, slice) else rows[inside]))
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
        for place in self.wanted:
            keys, count = _counted(self._keys(place, region, codes[place], value), self._bound(place))
            self._widen(place, keys // (self.sizes[place] * self.values), keys // self.values % self.sizes[place])
            self.merge(place, keys, count)
        others = [place for place in range(len(self.sizes)) if place not in self.wanted]
        order = np.argsort(region, kind="stable") if others else region[:0]
        for place in others:
            self._widen(place, region[order], codes[place][order])

    def _keys(self, place: int, region: Codes, column: Codes, value: Codes) -> Codes | Ints:
        """Region, code and value as one number; of four bytes where they suffice."""
        kind = _kind(self._bound(place))
        keys = region.astype(kind, copy=False) * kind(self.sizes[place]) + column
        return np.asarray(keys if self.values == 1 else keys * kind(self.values) + value)

    def _bound(self, place: int) -> int:
        return len(self.regions) * self.sizes[place] * self.values

    def _widen(self, place: int, region: Codes | Ints, code: Codes | Ints) -> None:
        """Bounds of an attribute, by codes that lie region by region."""
        starts = np.searchsorted(region, np.arange(len(self.regions) + 1))
        there = np.flatnonzero(np.diff(starts))
        if len(there):
            self.lo[place, there] = np.minimum(self.lo[place, there], np.minimum.reduceat(code, starts[there]))
            self.hi[place, there] = np.maximum(self.hi[place, there], np.maximum.reduceat(code, starts[there]))

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
        return Spread.decoded(keys[first:last] % width, count[first:last], self.values)


def _kind(bound: int) -> type[np.signedinteger]:
    """Of numbers below a bound: four bytes where they suffice."""
    return np.int32 if bound < np.iinfo(np.int32).max else np.int64


def _counted(keys: Codes | Ints, bound: int) -> tuple[Ints, Ints]:
    """The different numbers, sorted, and how often each occurs."""
    if bound > _DENSE:
        found, count = np.unique(keys, return_counts=True)
        return found.astype(np.int64), count
    number = np.bincount(keys, minlength=bound)
    found = np.flatnonzero(number)
    return found, number[found]
