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


@dataclass(frozen=True, eq=False)
class Relabelling:
    """Other values for the values of a domain: several of them may become one."""

    of_value: Codes | Ints
    domain: Domain
    """Of the other values."""


class Counts:
    """Groups of rows as a requirement judges them: a histogram in its domain, counted when one asks for it.

    Beside `Histogram`, since most judgements need sizes alone: rows are kept, and counted by value only then.
    """

    def __init__(
        self,
        groups: Codes | Ints,
        sensitive: Codes | Ints,
        domain: Domain,
        total: int | None = None,
        weights: Codes | Ints | None = None,
    ) -> None:
        """Count rows (or cells, by weight) by group number, 0 <= number < total, and sensitive code, when asked."""
        self._groups = groups
        self._sensitive = sensitive
        self._weights = weights
        self.domain = domain
        self.total = int(groups.max()) + 1 if total is None and len(groups) else int(total or 0)

    @property
    def by_people(self) -> bool:
        """Whether sizes and counts are numbers of people who may have several values each (`counting.people`)."""
        return False

    @property
    def rows(self) -> Ints:
        """Rows of each group; its size is another number where people are counted."""
        return self.sizes

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each group."""
        return np.bincount(self._groups, self._weights, self.total).astype(np.int64, copy=False)

    @cached_property
    def histogram(self) -> Histogram:
        """How often each group has each value."""
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
        """How many rows of the triple's group have the triple's value."""
        return np.asarray(self.histogram.count, np.int64)

    @property
    def distinct(self) -> Ints:
        """How many different values each group has."""
        return self.histogram.lengths

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

    def relabelled(self, labels: Relabelling) -> "Counts":
        """The same groups by other values."""
        return Counts(self._groups, labels.of_value[self._sensitive], labels.domain, self.total, self._weights)

    def apart(self, chosen: Bools) -> "Counts":
        """The same groups, where every record with one of some values has a value of its own.

        Values of a group are in no order then. O(triples and these records).
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
        """The same groups with other values: how often each group has each."""
        made = Counts(group, value, domain, self.total, count)
        made.sizes = self.sizes
        lengths = np.bincount(group, minlength=self.total)
        made.histogram = Histogram(np.append(0, np.cumsum(lengths)), value, count, domain.size)
        return made

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
    """The distinct combinations of a table's codes: of its quasi-identifiers, or of these and the sensitive value."""

    codes: Codes
    """One row per attribute, one column per cell, cells in lexicographic order."""
    sizes: Ints
    """Rows in each cell."""
    of_row: Ints
    """Row to its cell."""


def cells_of(codes: Codes, sizes: Sequence[int], times: Ints | None = None) -> Cells:
    """The distinct columns of a code matrix (attributes x rows); `times` is how many rows each column stands for."""
    keys, _ = pack(list(codes), sizes)
    _, first, of_row, number = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    number = number if times is None else np.bincount(of_row, times, len(first)).astype(np.int64)
    return Cells(codes[:, first], number, of_row)


@dataclass(frozen=True, eq=False)
class Margin:
    """One sensitive column of values that stand for several columns, or all columns together."""

    column: str
    """The column's name, or all names where columns are taken together."""
    label: Codes | Ints | None
    """Value of all columns together to the column's own value; None: they are the same."""
    size: int
    """How many values the column has."""
    taxonomy: Taxonomy | None
    """The tree over the column's values."""
    harmless: Bools
    """The column's values to whether they need no protection."""

    def labels(self, whole: Domain) -> Relabelling | None:
        """The column's values for those of all columns together; None where they are the same."""
        return None if self.label is None else _labels(self, whole)

    def domain(self, whole: Domain) -> Domain:
        """Of the column's values, from that of all columns together."""
        labels = self.labels(whole)
        return whole if labels is None else labels.domain

    def of(self, counts: Counts) -> Counts:
        """Groups counted by the column's values, from those counted by values of all columns together."""
        labels = self.labels(counts.domain)
        return counts if labels is None else counts.relabelled(labels)

    def some(self, values: Codes | Ints) -> "Margin":
        """The same where values of all columns together are numbered anew: new number to old one."""
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
    """The margins of values that stand for some columns: each column, and all of them together where there are several.

    Parameters
    ----------
    columns
        Their names.
    labels
        For each column: value of all columns together to the column's own value.
    taxonomies
        The tree over each column's values; None where it is not known.
    harmless
        A column and its place to which of its own values need no protection.
    together
        What to call all of them together.

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
