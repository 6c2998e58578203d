"""Counts of a table: its cells, its groups as requirements judge them, and its sensitive columns one by one.

A table with several sensitive columns is counted by the combinations of their values. A `Margin` says how to count the
same groups by a single column.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.histogram import Histogram, counted
from reissue.counting.keys import pack
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Cells", "Counts", "Domain", "Margin", "Relabelling", "cells_of", "margins_of"]


@dataclass(frozen=True, eq=False)
class Domain:
    """The possible sensitive values: their number, their counts in the whole table, and their taxonomy."""

    totals: Ints
    """The count of each sensitive code in the whole table."""
    taxonomy: Taxonomy | None = None
    """The tree over the sensitive values, if there is a single sensitive column."""

    @property
    def size(self) -> int:
        """The number of sensitive values."""
        return len(self.totals)

    @cached_property
    def shares(self) -> Floats:
        """The distribution in the whole table."""
        return self.totals / max(int(self.totals.sum()), 1)

    @property
    def positions(self) -> Floats:
        """The position of each value on a line, for ordered distances."""
        return self.taxonomy.positions if self.taxonomy else np.arange(self.size, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Relabelling:
    """A map from the values of a domain to other values; several may become one."""

    of_value: Codes | Ints
    domain: Domain
    """The domain of the other values."""


class Counts:
    """Groups of rows as a requirement judges them: a histogram in a domain, counted only when needed.

    Most judgements need only sizes, so rows are stored and counted by value on demand; see `Histogram`.
    """

    def __init__(
        self,
        groups: Codes | Ints,
        sensitive: Codes | Ints,
        domain: Domain,
        total: int | None = None,
        weights: Codes | Ints | None = None,
    ) -> None:
        """Store rows (or cells, with weights) with their group number, 0 <= number < total, and sensitive code."""
        self._groups = groups
        self._sensitive = sensitive
        self._weights = weights
        self.domain = domain
        self.total = int(groups.max()) + 1 if total is None and len(groups) else int(total or 0)

    @property
    def by_people(self) -> bool:
        """Whether sizes and counts are numbers of people, who may have several values each (see `counting.people`)."""
        return False

    @property
    def rows(self) -> Ints:
        """Number of rows of each group; `sizes` differs where people are counted."""
        return self.sizes

    @cached_property
    def sizes(self) -> Ints:
        """Number of rows of each group."""
        return np.bincount(self._groups, self._weights, self.total).astype(np.int64, copy=False)

    @cached_property
    def histogram(self) -> Histogram:
        """The count of each value in each group."""
        return counted(self._groups, self._sensitive, self.total, self.domain.size, self._weights)

    @property
    def group(self) -> Ints:
        """The group of each triple."""
        return self.histogram.group

    @property
    def value(self) -> Ints:
        """The sensitive code of each triple."""
        return self.histogram.value

    @property
    def count(self) -> Ints:
        """The count of the triple's value in its group."""
        return np.asarray(self.histogram.count, np.int64)

    @property
    def distinct(self) -> Ints:
        """Number of distinct values in each group."""
        return self.histogram.lengths

    @cached_property
    def largest(self) -> Ints:
        """The count of each group's most frequent value."""
        most = np.zeros(self.total, np.int64)
        np.maximum.at(most, self.group, self.count)
        return most

    def rolled(self, label: Codes | Ints, labels: int) -> Ints:
        """Rows by group and by a label of their values (groups x labels), without counting single values."""
        keys = self._groups * np.int64(labels) + label[self._sensitive]
        flat = np.bincount(keys, self._weights, self.total * labels).astype(np.int64, copy=False)
        return flat.reshape(self.total, labels)

    def relabelled(self, labels: Relabelling) -> "Counts":
        """The same groups with other values."""
        return Counts(self._groups, labels.of_value[self._sensitive], labels.domain, self.total, self._weights)

    def apart(self, chosen: Bools) -> "Counts":
        """The same groups, with a distinct value for every record that has one of some values.

        The values of a group are then not sorted. O(triples and these records).
        """
        spared = chosen[self.value]
        if not spared.any():
            return self
        times = np.where(spared, self.count, 1)
        group, value = np.repeat(self.group, times), np.repeat(self.value, times)
        count, own = np.repeat(np.where(spared, 1, self.count), times), np.repeat(spared, times)
        value[own] = self.domain.size + np.arange(int(own.sum()))
        totals = np.append(np.where(chosen, 0, self.domain.totals), np.ones(int(own.sum()), np.int64))
        return self._as_counted(group, value, count, Domain(totals))

    def _as_counted(self, group: Ints, value: Ints, count: Ints, domain: Domain) -> "Counts":
        """The histogram of the same groups with other values."""
        made = Counts(group, value, domain, self.total, count)
        made.sizes = self.sizes
        lengths = np.bincount(group, minlength=self.total)
        made.histogram = Histogram(np.append(0, np.cumsum(lengths)), value, count, domain.size)
        return made

    def only(self, chosen: Bools) -> "Counts":
        """The chosen groups, renumbered."""
        inside = np.flatnonzero(chosen[self._groups])
        groups = (np.cumsum(chosen) - 1)[self._groups[inside]]
        weights = None if self._weights is None else self._weights[inside]
        return Counts(groups, self._sensitive[inside], self.domain, int(chosen.sum()), weights)

    def sum(self, weights: Floats) -> Floats:
        """The sum over the triples of each group."""
        return np.bincount(self.group, weights=weights, minlength=self.total).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct combinations of a table's codes: of the quasi-identifiers, or of these and the sensitive value."""

    codes: Codes
    """One row per attribute, one column per cell; cells are in lexicographic order."""
    sizes: Ints
    """Number of rows of each cell."""
    of_row: Ints
    """The cell of each row."""


def cells_of(codes: Codes, sizes: Sequence[int], times: Ints | None = None) -> Cells:
    """Find the distinct columns of a code matrix (attributes x rows); `times` is the number of rows of each column."""
    keys, _ = pack(list(codes), sizes)
    _, first, of_row, number = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    number = number if times is None else np.bincount(of_row, times, len(first)).astype(np.int64)
    return Cells(codes[:, first], number, of_row)


@dataclass(frozen=True, eq=False)
class Margin:
    """A sensitive column, or all of them together, given values that stand for combinations of all columns."""

    column: str
    """The name of the column, or all names."""
    label: Codes | Ints | None
    """The column's own value for each combination; None if these are the same."""
    size: int
    """The number of values of the column."""
    taxonomy: Taxonomy | None
    """The tree over the values of the column."""
    harmless: Bools
    """Which values of the column need no protection."""

    def labels(self, whole: Domain) -> Relabelling | None:
        """The map from combinations to the column's own values; None if these are the same."""
        return None if self.label is None else _labels(self, whole)

    def domain(self, whole: Domain) -> Domain:
        """The domain of the column's own values."""
        labels = self.labels(whole)
        return whole if labels is None else labels.domain

    def of(self, counts: Counts) -> Counts:
        """Groups counted by the column's own values, given groups counted by combinations."""
        labels = self.labels(counts.domain)
        return counts if labels is None else counts.relabelled(labels)

    def some(self, values: Codes | Ints) -> "Margin":
        """The same margin after combinations are renumbered: `values` has the old number of each new one."""
        if self.label is not None:
            return Margin(self.column, self.label[values], self.size, self.taxonomy, self.harmless)
        return Margin(self.column, None, len(values), None, self.harmless[values])


@lru_cache(maxsize=256)
def _labels(margin: Margin, whole: Domain) -> Relabelling:
    label = np.arange(whole.size) if margin.label is None else margin.label
    totals = np.bincount(label, whole.totals, margin.size).astype(np.int64)
    return Relabelling(label, Domain(totals, margin.taxonomy))


def margins_of(
    columns: Sequence[str],
    labels: Sequence[Codes | Ints],
    taxonomies: Sequence[Taxonomy | None],
    harmless: Callable[[str, int], Bools],
    together: str,
) -> tuple[Margin, ...]:
    """Return the margins of combinations of sensitive values: one per column, and one for all if there are several.

    Parameters
    ----------
    columns
        The names of the columns.
    labels
        For each column, its own value for each combination.
    taxonomies
        The tree over the values of each column; None if unknown.
    harmless
        A function of a column and its position that says which of its values need no protection.
    together
        The name of all columns together.

    """
    spared = [harmless(column, place) for place, column in enumerate(columns)]
    made = [
        Margin(column, label if len(columns) > 1 else None, len(own), taxonomy, own)
        for column, label, taxonomy, own in zip(columns, labels, taxonomies, spared, strict=True)
    ]
    if len(columns) < 2:
        return tuple(made)
    every = np.logical_and.reduce([own[label] for own, label in zip(spared, labels, strict=True)])
    return (*made, Margin(together, None, len(every), None, np.asarray(every)))
