"""Presences in a published table of counts: whoever is in its register is in one class of each margin.

A margin of a table is a release whose groups are its classes. The register says who is in which, the table how many
people of each class have each sensitive value, exactly or between bounds. O(people) for each margin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.contingency.cells import UNBOUNDED
from reissue.contingency.table import CountTable, TableMargin
from reissue.counting.cells import cells_of
from reissue.counting.texts import TextCounts, joined_texts, ranked_texts
from reissue.data.table import Table, to_polars
from reissue.errors import CannotRunError
from reissue.people.presences import register_of
from reissue.published.boxes import BoxBounds
from reissue.published.joins import containment
from reissue.release.presences import Presences
from reissue.schema import Schema
from reissue.taxonomy.notation import parse_column

__all__ = ["NO_VALUES", "CountedRegister", "kept_presences", "margin_presences", "telling_margins"]

_FIT = 0.5
"""Share of a register's people who must be in some class of a table, at least: else its classes were not understood."""
NO_VALUES = (
    "the tables of counts do not classify people by a sensitive column and something that is known about them: name "
    "both in a schema (--schema, or --sensitive and --quasi)."
)


@dataclass(frozen=True, eq=False)
class CountedRegister:
    """People who were counted, by what is known about them."""

    table: Table
    names: pl.Series
    truth: pl.Series | None
    """Row to the sensitive value, where the register has it."""
    complete: bool
    """Whether it lists exactly the people who were counted."""

    @classmethod
    def read(cls, people: Any, schema: Schema, *, complete: bool) -> "CountedRegister":
        """Read a table of people."""
        frame, _ = to_polars(people, schema)
        known = [name for name in schema.quasi if name in frame.columns]
        shared = schema.with_roles({name: "drop" for name in schema.quasi if name not in known})
        table, names = register_of(frame, shared)
        there = bool(schema.sensitive) and set(schema.sensitive) <= set(frame.columns)
        return cls(table, names, joined_texts(frame, schema.sensitive) if there else None, complete)


def telling_margins(tables: Sequence[CountTable], schema: Schema) -> list[CountTable]:
    """The margins that say something about sensitive values, each as a table; none that others say already."""
    made = []
    for table in tables:
        if not schema.sensitive or not set(schema.sensitive) <= set(table.dimensions):
            continue
        finer: list[TableMargin] = []
        for margin in table.margins():
            own, covered = (
                set(margin.dimensions),
                any(set(margin.dimensions) <= set(one.dimensions) and (one.low == one.high).all() for one in finer),
            )
            if not set(schema.sensitive) <= own or not own <= {*schema.quasi, *schema.sensitive} or covered:
                continue
            finer.append(margin)
            made.append(CountTable(table.name, margin.categories, margin.low, margin.high, table.base))
    return made


def margin_presences(margin: CountTable, schema: Schema, known: CountedRegister) -> Presences:
    """Who is in which class of a margin, and how many of each class have each value."""
    quasi = [name for name in margin.dimensions if name not in schema.sensitive]
    classes = margin.categories.select(quasi).unique(maintain_order=True) if quasi else pl.DataFrame([{}])
    row, group = _classes(classes, known.table) if quasi else _everyone(known.table.rows)
    if len(row) < _FIT * known.table.rows:
        raise CannotRunError("hardly any people of the register are in a class of the tables of counts.")
    complete = known.complete or int(margin.low.sum()) <= len(row) <= int(np.minimum(margin.high, UNBOUNDED).sum())
    found = kept_presences(margin, schema, known.names.gather(row), group, complete=complete)
    truth = known.truth
    if truth is not None and not truth.is_in(list(found.histogram.names)).all():
        truth = None
    return replace(found, table=known.table.some(row), truth=None if truth is None else truth.gather(row))


def kept_presences(margin: CountTable, schema: Schema, names: pl.Series, group: Ints, *, complete: bool) -> Presences:
    """The same of people whose class is known; classes are numbered in the order in which the margin has them."""
    quasi = [name for name in margin.dimensions if name not in schema.sensitive]
    classes = margin.categories.select(quasi).unique(maintain_order=True) if quasi else pl.DataFrame([{}])
    members = np.bincount(group, minlength=max(classes.height, 1))
    texts, value = ranked_texts(joined_texts(margin.categories, schema.sensitive))
    cells = _Cells(_class_of(margin.categories, classes, quasi), value, margin.low, margin.high)
    cells = cells.completed(members, len(texts)) if complete else cells.capped(members)
    return Presences(
        names,
        np.arange(len(names)),
        group,
        cells.histogram(len(members), tuple(texts.to_list())),
        np.zeros(len(members), np.int64),
        groups_known=False,
        complete=complete,
        as_published=True,
        least=cells.sorted_least(),
    )


def _everyone(rows: int) -> tuple[Ints, Ints]:
    return np.arange(rows), np.zeros(rows, np.int64)


def _classes(classes: pl.DataFrame, table: Table) -> tuple[Ints, Ints]:
    """Rows of people, and the class of each; people of no class are left out."""
    places = [table.schema.quasi.index(name) for name in classes.columns]
    read = [
        parse_column(classes[name], table.codings[place], partial=True, strange=True)
        for name, place in zip(classes.columns, places, strict=True)
    ]
    bounds = BoxBounds(np.stack([one.lo for one in read]), np.stack([one.hi for one in read]))
    inhabited = np.flatnonzero(bounds.inhabited)
    cells = cells_of(table.codes[places], [table.sizes[place] for place in places])
    point, box = containment(cells.codes, bounds.some(inhabited))
    if len(np.unique(point)) < len(point):
        raise CannotRunError("classes of a table of counts overlap: a person would be counted twice.")
    of_point = np.full(len(cells.sizes), -1, np.int64)
    of_point[point] = inhabited[box]
    of_row = of_point[cells.of_row]
    row = np.flatnonzero(of_row >= 0)
    return row, of_row[row]


def _class_of(categories: pl.DataFrame, classes: pl.DataFrame, quasi: Sequence[str]) -> Ints:
    """The class of each cell."""
    if not quasi:
        return np.zeros(categories.height, np.int64)
    numbered = classes.with_row_index("\0class")
    found = categories.select(quasi).join(numbered, on=list(quasi), how="left", maintain_order="left")
    return found["\0class"].to_numpy().astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells by group and value, and between what the count of each is."""

    group: Ints
    value: Ints
    low: Ints
    high: Ints

    def capped(self, members: Ints) -> "_Cells":
        """No count larger than there are people, where nothing else bounds it."""
        most = np.where(self.high >= UNBOUNDED, np.maximum(members[self.group], self.low), self.high)
        return _Cells(self.group, self.value, self.low, most)

    def completed(self, members: Ints, values: int) -> "_Cells":
        """By how many people each group has: what is left for cells, and for values that the table does not list."""
        low, high = (np.bincount(self.group, end, len(members)) for end in (self.low, np.minimum(self.high, UNBOUNDED)))
        short = np.flatnonzero(high < members)  # some values of these groups are not listed
        listed = np.zeros((len(members), values), np.bool_)
        listed[self.group, self.value] = True
        group, value = np.nonzero(~listed[short])
        group = short[group]
        made = _Cells(
            np.append(self.group, group),
            np.append(self.value, value),
            np.append(self.low, np.zeros(len(group), np.int64)),
            np.append(self.high, np.full(len(group), UNBOUNDED)),
        )
        room = np.maximum(members - low, 0).astype(np.int64)[made.group] + made.low
        others = high[made.group] - np.minimum(made.high, UNBOUNDED)
        least = np.where(others < UNBOUNDED, np.maximum(made.low, members[made.group] - others), made.low)
        added = np.arange(len(made.group)) >= len(self.group)
        least = np.where(added | np.isin(made.group, short), made.low, least).astype(np.int64)
        return _Cells(made.group, made.value, least, np.maximum(np.minimum(made.high, room), least))

    def _order(self) -> Ints:
        some = np.flatnonzero(self.high > 0)
        return some[np.lexsort((self.value[some], self.group[some]))]

    def histogram(self, groups: int, names: tuple[str, ...]) -> TextCounts:
        """The most of each cell, as what the groups show."""
        order = self._order()
        starts = np.searchsorted(self.group[order], np.arange(groups + 1))
        return TextCounts(starts, self.value[order], self.high[order], len(names), names)

    def sorted_least(self) -> Ints:
        """The least of each cell, in the order of the histogram."""
        return self.low[self._order()]
