"""Traits: coarse features of people that may be correlated with a value.

Quasi-identifiers when a person was first seen with them, in about eight bins each; when the person arrived, and in how
many releases the person has been. Bins are those of the first table that shows a column: numbers by where they lie
among its people, anything else by a coarse level of its hierarchy. So a ledger can keep them: pseudonyms and bins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.data.table import Table
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Traits"]

_BINS = 8
_FEW = 12
"""Domains with this many values, or levels with this many nodes, are not binned further."""


@dataclass(frozen=True, eq=False)
class _Column:
    """How one quasi-identifier is put into bins."""

    name: str
    cuts: Floats
    """For numbers: where the second bin begins, and each later one."""
    labels: tuple[str, ...]
    """For anything else: the labels of its bins."""

    def of(self, taxonomy: Taxonomy) -> "tuple[_Column, Ints]":
        """Map each leaf to its bin, from 1 on; also gives the column with labels that are new."""
        if taxonomy.ordered:
            bins = 1 + np.searchsorted(self.cuts, taxonomy.positions, side="right")
            if taxonomy.missing:
                bins[-1] = len(self.cuts) + 2
            return self, bins.astype(np.int64)
        shown = _coarse(taxonomy)
        number = {label: place for place, label in enumerate(self.labels, start=1)}
        for label in shown:
            number.setdefault(label, len(number) + 1)
        return replace(self, labels=tuple(number)), np.array([number[label] for label in shown], np.int64)


@dataclass(frozen=True, eq=False)
class Traits:
    """The traits of everyone so far."""

    columns: tuple[_Column, ...]
    bins: tuple[Ints, ...]
    """Column to the bin of each person; 0 where it is not known."""
    arrival: Ints
    """Person to the time of the first release; -1: none yet."""
    stay: Ints
    """Person to the number of releases."""

    @classmethod
    def none(cls) -> "Traits":
        """Before the first release."""
        return cls((), (), np.empty(0, np.int64), np.empty(0, np.int64))

    def after(self, time: int, people: int, here: Ints, table: Table | None, rows: Ints) -> "Traits":
        """Add a release.

        `people` is the number of people so far, `here` are those in it, `rows` the person of each row of the table.
        """
        new = people - len(self.arrival)
        arrival = np.append(self.arrival, np.full(new, -1))
        stay = np.append(self.stay, np.zeros(new, np.int64))
        arrival[here[arrival[here] < 0]] = time
        stay[here] += 1
        bins = [np.append(one, np.zeros(new, np.int64)) for one in self.bins]
        made = Traits(self.columns, tuple(bins), arrival, stay)
        return made if table is None else made._seen(table, rows)

    def _seen(self, table: Table, rows: Ints) -> "Traits":
        columns, bins = list(self.columns), list(self.bins)
        place = {column.name: at for at, column in enumerate(columns)}
        for name, codes, taxonomy in zip(table.schema.quasi, table.codes, table.taxonomies, strict=True):
            if name not in place:
                place[name] = len(columns)
                columns.append(_Column(name, _cuts(taxonomy.positions[codes]), ()))
                bins.append(np.zeros(len(self.arrival), np.int64))
            at = place[name]
            columns[at], of_leaf = columns[at].of(taxonomy)
            new = bins[at][rows] == 0
            bins[at][rows[new]] = of_leaf[codes[new]]
        return replace(self, columns=tuple(columns), bins=tuple(bins))

    def features(self, people: Ints, *, stay: bool = True) -> list[Ints]:
        """Quasi-identifiers, arrival and, if asked for, length of stay of some people, each as a number from 0 on."""
        timed = [_binned(one[people]) for one in ((self.arrival, self.stay) if stay else (self.arrival,))]
        return [*(one[people] for one in self.bins), *timed]


def _cuts(numbers: Floats) -> Floats:
    """The cuts between bins of about equally many people; between all values where there are few."""
    distinct = np.unique(numbers)
    if len(distinct) <= _FEW:
        return distinct[1:]
    return np.unique(np.quantile(numbers, np.linspace(0, 1, _BINS + 1)[1:-1]))


def _binned(numbers: Ints) -> Ints:
    return np.searchsorted(_cuts(numbers.astype(np.float64)), numbers, side="right").astype(np.int64)


def _coarse(taxonomy: Taxonomy) -> Sequence[str]:
    """Leaf to the label of its bin: the finest level with few nodes, or a few bins by hash where there is none."""
    for level in taxonomy.levels[:-1]:
        if len(level.names) <= _FEW:
            return [str(level.names[node]) for node in level.node.tolist()]
    return [str(crc32(str(name).encode()) % _BINS) for name in taxonomy.names]
