"""Grouping and counting: packed keys, group statistics as flat arrays.

A combination of codes is one integer (mixed radix) while the product of the domains fits 63 bits, a dense rank
otherwise; grouping is sorting integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Cells", "Counts", "Domain", "cells_of", "distinct_keys", "pack", "rank"]

_LIMIT = 2**63 - 1


def pack(columns: Sequence[Codes | Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """One key per row for a combination of codes, and a bound above all keys.

    The order of keys is the lexicographic order of the columns. Where the mixed radix would pass 63 bits, what has
    been packed so far is replaced by its dense rank, so the bound never overflows.
    """
    key = columns[0].astype(np.int64)
    bound = max(int(sizes[0]), 1)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if bound * max(int(size), 1) > _LIMIT:
            key, bound = rank(key)
        key *= max(int(size), 1)
        key += column
        bound *= max(int(size), 1)
    return key, bound


def rank(keys: Ints) -> tuple[Ints, int]:
    """Keys replaced by their dense rank 0, 1, ..., and how many there are."""
    distinct, dense = np.unique(keys, return_inverse=True)
    return dense.astype(np.int64, copy=False), max(len(distinct), 1)


def distinct_keys(keys: Ints, bound: int) -> tuple[Ints, Ints]:
    """The distinct keys in order, and the place of each key among them; without sorting where keys are small."""
    if bound > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)
    place = np.zeros(bound, np.int64)
    place[keys] = 1
    found = np.flatnonzero(place)
    place[found] = np.arange(len(found))
    return found, place[keys]


@dataclass(frozen=True, eq=False)
class Domain:
    """The sensitive values that can occur: how many, how often in the whole table, and how they lie to each other."""

    totals: Ints
    """Sensitive code to its count in the whole table."""
    taxonomy: Taxonomy | None = None
    """The tree over the sensitive values, where one sensitive column is given."""

    @property
    def size(self) -> int:
        """How many sensitive values there are."""
        return len(self.totals)

    @cached_property
    def shares(self) -> Floats:
        """The distribution in the whole table."""
        return self.totals / max(int(self.totals.sum()), 1)

    @property
    def positions(self) -> Floats:
        """Where each value lies on a line, for ordered distances."""
        return self.taxonomy.positions if self.taxonomy else np.arange(self.size, dtype=np.float64)


class Counts:
    """Statistics of groups: sizes, and histograms as triples (group, value, count) sorted by group, then value."""

    def __init__(
        self,
        groups: Codes | Ints,
        sensitive: Codes | Ints,
        domain: Domain,
        total: int | None = None,
        weights: Ints | None = None,
    ) -> None:
        """Count rows (or cells, by weight) by group number, 0 <= number < total, and sensitive code, when asked."""
        self._groups = groups
        self._sensitive = sensitive
        self._weights = weights
        self.domain = domain
        self.total = int(groups.max()) + 1 if total is None and len(groups) else int(total or 0)

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each group."""
        return np.bincount(self._groups, self._weights, self.total).astype(np.int64, copy=False)

    @cached_property
    def _triples(self) -> tuple[Ints, Ints, Ints]:
        width = max(self.domain.size, 1)
        keys = self._groups * np.int64(width) + self._sensitive
        if self.total * width <= 4 * len(keys) + 1024:
            dense = np.bincount(keys, self._weights, self.total * width).astype(np.int64, copy=False)
            distinct = np.flatnonzero(dense)
            number = dense[distinct]
        elif self._weights is None:
            distinct, number = np.unique(keys, return_counts=True)
        else:
            keys, weights = keys[self._weights > 0], self._weights[self._weights > 0]
            distinct, place = np.unique(keys, return_inverse=True)
            number = np.bincount(place, weights).astype(np.int64)
        return distinct // width, distinct % width, number

    @property
    def group(self) -> Ints:
        """The group of each triple."""
        return self._triples[0]

    @property
    def value(self) -> Ints:
        """The sensitive code of each triple."""
        return self._triples[1]

    @property
    def count(self) -> Ints:
        """How many rows of the triple's group have the triple's value."""
        return self._triples[2]

    @cached_property
    def distinct(self) -> Ints:
        """How many different values each group has."""
        return np.bincount(self.group, minlength=self.total)

    @cached_property
    def largest(self) -> Ints:
        """The count of each group's most frequent value."""
        most = np.zeros(self.total, np.int64)
        np.maximum.at(most, self.group, self.count)
        return most

    def rolled(self, label: Codes | Ints, labels: int) -> Ints:
        """Rows of each group by a label of their values: groups x labels, without sorting out the values."""
        keys = self._groups * np.int64(labels) + label[self._sensitive]
        flat = np.bincount(keys, self._weights, self.total * labels).astype(np.int64, copy=False)
        return flat.reshape(self.total, labels)

    def only(self, chosen: Bools) -> "Counts":
        """The same of the chosen groups, numbered anew."""
        inside = np.flatnonzero(chosen[self._groups])
        groups = (np.cumsum(chosen) - 1)[self._groups[inside]]
        weights = None if self._weights is None else self._weights[inside]
        return Counts(groups, self._sensitive[inside], self.domain, int(chosen.sum()), weights)

    def sum(self, weights: Floats) -> Floats:
        """The sum over each group's triples."""
        return np.bincount(self.group, weights=weights, minlength=self.total).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct QI combinations of a table."""

    codes: Codes
    """One row per attribute, one column per cell, cells in lexicographic order."""
    sizes: Ints
    """Rows in each cell."""
    of_row: Ints
    """Row to its cell."""


def cells_of(codes: Codes, sizes: Sequence[int]) -> Cells:
    """The distinct columns of a code matrix (attributes x rows)."""
    keys, _ = pack(list(codes), sizes)
    _, first, of_row, number = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return Cells(codes[:, first], number, of_row)
