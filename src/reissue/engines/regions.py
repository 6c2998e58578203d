"""Regions of a table: parts that follow from splits by code, and what is counted of each while they are found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from reissue._arrays import Codes, Ints

__all__ = ["Regions", "RowsByRegion", "Split", "Spread"]


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
