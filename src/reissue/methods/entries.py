"""Rows, or distinct combinations with their numbers of rows, as far as judging groups needs them."""

from dataclasses import replace

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain, cells_of
from reissue.counting.people import PeopleCounts
from reissue.data.table import Table

__all__ = ["Entries"]


class Entries:
    """Rows, or distinct combinations with their number of rows, as far as judging groups needs them."""

    def __init__(self, values: Codes, domain: Domain, weights: Ints | None = None, people: Ints | None = None) -> None:
        """Sensitive codes of the entries, the domain they come from, and the rows of each entry (one, if not said).

        `people` are those whose entries they are, where people have several rows and are counted instead.
        """
        self.values = values
        self.domain = domain
        self.weights = weights
        self.people = people

    @classmethod
    def distinct(cls, table: Table, *, sensitive: bool) -> "tuple[Codes, Entries, Ints]":
        """The distinct combinations of a table, told apart by sensitive value only if asked, and by people if counted.

        Their codes (attributes x entries) in lexicographic order, the entries, and row to entry.
        """
        if table.people is not None:
            values = table.sensitive if sensitive else np.zeros(table.rows, np.int32)
            codes = np.vstack([table.codes, table.people[None].astype(np.int32), values[None]])
            cells = cells_of(codes, [*table.sizes, int(table.people.max()) + 1, table.domain.size])
            people = cells.codes[-2].astype(np.int64)
            return cells.codes[:-2], cls(cells.codes[-1], table.domain, cells.sizes, people), cells.of_row
        if not sensitive:
            cells = cells_of(table.codes, table.sizes, table.times)
            return cells.codes, cls(np.zeros(len(cells.sizes), np.int32), table.domain, cells.sizes), cells.of_row
        codes = np.vstack([table.codes, table.sensitive[None]])
        cells = cells_of(codes, [*table.sizes, table.domain.size], table.times)
        return cells.codes[:-1], cls(cells.codes[-1], table.domain, cells.sizes), cells.of_row

    @property
    def rows(self) -> Ints:
        """The rows of each entry."""
        return np.ones(len(self.values), np.int64) if self.weights is None else self.weights

    def counts(self, groups: Codes | Ints, total: int) -> Counts:
        """The entries counted by group."""
        if self.people is not None:
            return PeopleCounts(groups, self.values, self.people, self.domain, total, self.weights)
        return Counts(groups, self.values, self.domain, total, self.weights)

    def only(self, chosen: Bools) -> "Entries":
        """Some of the entries, as if they were the whole table."""
        weights = None if self.weights is None else self.weights[chosen]
        totals = np.bincount(self.values[chosen], weights, self.domain.size).astype(np.int64)
        people = None if self.people is None else self.people[chosen]
        return Entries(self.values[chosen], replace(self.domain, totals=totals), weights, people)
