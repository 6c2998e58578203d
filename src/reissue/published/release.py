"""PublishedRelease: one release as its recipients see it, whoever published it and in whatever form.

A group is what a reader cannot tell apart: rows with the same quasi-identifiers, or, where the release numbers its
groups, rows with the same number. A column `group` numbers groups if the schema does not name it and it holds the
numbers 1, 2, ... (or 0, 1, ...) without a gap, as our own releases do; any other column of that name is taken for data
that the schema leaves out. In two tables it joins them, whatever it holds. Where groups are numbered, a column `slot`
of whole numbers, all different, makes it a panel: the slot is the same in other releases of the series.

Everything is counted on first use, once, for all attacks. O(rows), one sort.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.contingency.table import CountTable
from reissue.counting.texts import TextCounts, count_texts, joined_texts
from reissue.data.identifiers import identifier_texts
from reissue.errors import CannotRunError, DataError, SchemaError, nearest_column
from reissue.files.dialect import FOUND, Dialect
from reissue.published.counts_table import refuse_counts
from reissue.published.tables import Tables, read_tables, whole_numbers
from reissue.release.averages import STATISTICS, Averages
from reissue.release.form import DEFAULT_FORM, Form
from reissue.release.presences import Presences, presences_of
from reissue.release.release import COUNT, COUNTERFEITS, GROUP, SLOT, Release
from reissue.requirements import Requirement
from reissue.schema import Role, Schema
from reissue.taxonomy.notation import coding_of, parse_column

__all__ = ["Looks", "PublishedRelease", "read_published"]

_GROUP, _ROWS, _LOOK, _FIRST = "\0group", "\0rows", "\0look", "\0first"
"""Column names that no user can have."""


@dataclass(frozen=True, eq=False)
class Looks:
    """The different published combinations of quasi-identifiers in each group, sorted by group."""

    group: Ints
    texts: pl.DataFrame
    """One row for each, one column of texts for each quasi-identifier."""
    rows: Ints
    """The number of published rows with each combination."""
    first: Ints
    """One of those rows."""
    of_row: Ints
    """Published row to its combination."""


@dataclass(frozen=True, eq=False)
class PublishedRelease:
    """One release as it went out. Groups are numbered 0, 1, ... here, in the order of their published numbers."""

    tables: Tables
    schema: Schema
    form: Form

    @property
    def source(self) -> Release | None:
        """For our own release: what stays with the holder, who attacks with everything that an adversary could know."""
        return self.tables.source

    @cached_property
    def presences(self) -> Presences | None:
        """For our own release: who is in which group, where people have identifiers."""
        return self.tables.presences if self.source is None else presences_of(self.source)

    @property
    def requirement(self) -> Requirement | None:
        """For our own release: what it was made to meet."""
        return self.tables.requirement if self.source is None else self.source.requirement

    @property
    def e(self) -> int | None:
        """For our own release: the e of e-equivalence, where its method promises one."""
        return self.tables.e if self.source is None else self.source.draft.e

    @property
    def counts(self) -> tuple[CountTable, ...]:
        """The tables of counts, where it shows nobody's record; none of microdata."""
        return self.tables.counts

    @property
    def main(self) -> pl.DataFrame:
        """The table that has the quasi-identifiers."""
        return self.tables.main

    @property
    def values(self) -> pl.DataFrame:
        """The table that has the sensitive values: the same, or the second of two."""
        return self.tables.values

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that tell the groups of the main table apart."""
        return (GROUP,) if self.form.numbered else self.schema.quasi

    @property
    def generalized(self) -> pl.DataFrame | None:
        """The one table whose equal rows are groups, with all columns of the schema; None in any other form."""
        if self.form.numbered:
            return None
        self.require(*self.schema.quasi, *self.schema.sensitive)
        return self.main

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns of the published tables."""
        return tuple(dict.fromkeys([*self.main.columns, *self.values.columns]))

    @property
    def lacking(self) -> tuple[str, ...]:
        """Quasi-identifiers of the schema that this release does not show."""
        return tuple(name for name in self.schema.quasi if name not in self.main.columns)

    @property
    def averages(self) -> dict[str, str]:
        """Quasi-identifier to the column of its groups' means or medians, where groups are numbered and it has one."""
        if not (self.form.boxes and self.form.numbered):
            return {}
        pairs = [(name, Averages(one).column(name)) for one in STATISTICS for name in self.schema.quasi]
        return {name: column for name, column in pairs if column in self.main.columns and not self._named(column)}

    def _named(self, column: str) -> bool:
        """Whether the schema says that a column is data."""
        return self.schema.columns.get(column, Role.DROP) != Role.DROP

    def of_its_columns(self) -> "PublishedRelease":
        """Restrict the schema to the quasi-identifiers that the release shows; unchanged where it shows none."""
        lacking = self.lacking
        if not lacking or len(lacking) == len(self.schema.quasi):
            return self
        return self.with_schema(self.schema.with_roles(dict.fromkeys(lacking, Role.DROP)))

    def with_schema(self, schema: Schema) -> "PublishedRelease":
        """The same tables with another schema."""
        return replace(self, schema=schema)

    def of_sensitive(self, column: str) -> "PublishedRelease":
        """Restrict to one sensitive column."""
        source, kept, place = self.source, self.tables.presences, self.schema.sensitive.index(column)
        source = None if source is None else source.of_sensitive(column)
        if kept is not None:
            kept = kept.of_sensitive(place, None if kept.table is None else kept.table.of_sensitive(column))
        tables = replace(self.tables, source=source, presences=kept)
        return replace(self, tables=tables, schema=self.schema.of_sensitive(column))

    def require(self, *columns: str) -> None:
        """Raise SchemaError if the published tables lack columns that the schema names."""
        known = list(self.shown)
        absent = [name for name in columns if name not in known]
        if absent:
            hint = nearest_column(absent[0], known)
            raise SchemaError(f"A release lacks columns that the schema names: {', '.join(absent)}.{hint}")

    @property
    def keeps_identifier(self) -> bool:
        """Whether it is a holder's private copy, with the identifier of every record."""
        return self.schema.identifier is not None and (
            self.tables.people is not None or self.schema.identifier in self.main.columns
        )

    @property
    def named(self) -> tuple[pl.Series, Ints]:
        """For such a copy: every record's identifier as text, and its row of the main table."""
        if self.tables.people is not None:
            given, row = self.tables.people()
            return identifier_texts(given), row
        return identifier_texts(self.main[str(self.schema.identifier)]), np.arange(self.main.height)

    @cached_property
    def repeats(self) -> bool:
        """Whether it is a copy with repeated records."""
        return self.keeps_identifier and bool(self.named[0].drop_nulls().is_duplicated().any())

    # --- groups ------------------------------------------------------------------------------------------------------

    @cached_property
    def group(self) -> Ints:
        """Row of the main table to its group."""
        return self._places(self.main) if self.form.numbered else self.looks.of_row

    @cached_property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> Ints:
        """Records of each group, counterfeits included."""
        if self.tables.times is None:
            return np.bincount(self.group, minlength=self.groups)
        return np.bincount(self.group, self.row_times, self.groups).astype(np.int64)

    @property
    def row_times(self) -> Ints:
        """Row of the main table to the number of records it stands for."""
        times = self.tables.times
        return np.ones(self.main.height, np.int64) if times is None else times.to_numpy()

    @cached_property
    def looks(self) -> Looks:
        """The published combinations of quasi-identifiers in each group: one for each group, if the form has boxes."""
        columns = list(self.schema.quasi)
        if not columns:
            raise SchemaError("The schema names no quasi-identifier: there is nothing that groups records.")
        self.require(*columns)
        called = self._places(self.main) if self.form.numbered else np.zeros(self.main.height, np.int64)
        times = pl.lit(1, pl.Int64).alias(_ROWS) if self.tables.times is None else self.tables.times.alias(_ROWS)
        rows, keys = _texts(self.main, columns).with_columns(pl.Series(_GROUP, called)), [_GROUP, *columns]
        found = (
            rows.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_FIRST), times)
            .group_by(keys)
            .agg(pl.col(_ROWS).sum(), pl.col(_FIRST).min())
            .sort(keys)
        )
        found = found.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_LOOK))
        of_row = rows.join(found, on=keys, how="left", nulls_equal=True, maintain_order="left")[_LOOK].to_numpy()
        group = found[_GROUP if self.form.numbered else _LOOK].to_numpy()
        return Looks(group, found.select(columns), found[_ROWS].to_numpy(), found[_FIRST].to_numpy(), of_row)

    @cached_property
    def exact(self) -> bool:
        """Whether groups are numbered and rows show exact quasi-identifiers: then the release shows who is in it."""
        if self.source is not None or self.form.boxes:
            return self.source is not None and self.source.draft.exact
        return all(_all_leaves(self.looks.texts[name], self.schema) for name in self.schema.quasi)

    def box(self, group: int) -> dict[str, str | None]:
        """The quasi-identifiers of a group as published; nothing where its rows differ."""
        mine = np.flatnonzero(self.looks.group == group)
        return self.looks.texts.row(int(mine[0]), named=True) if len(mine) == 1 else {}

    @cached_property
    def slots(self) -> Ints:
        """Row of a panel's table to its slot."""
        return whole_numbers(self.main[SLOT]).to_numpy()

    # --- values ------------------------------------------------------------------------------------------------------

    @cached_property
    def value_group(self) -> Ints:
        """Row of the values' table to its group."""
        return self._places(self.values) if self.tables.apart else self.group

    @cached_property
    def weights(self) -> Ints:
        """Row of the values' table to the number of records it stands for."""
        if not self.tables.apart:
            return self.row_times
        if COUNT not in self.values.columns:
            return np.ones(self.values.height, np.int64)
        counted = whole_numbers(self.values[COUNT])
        if counted.null_count() or not counted.dtype.is_integer() or bool((counted < 0).any()):
            raise DataError(f"The column '{COUNT}' of the second table must hold whole numbers.")
        return counted.to_numpy()

    @cached_property
    def consistent(self) -> bool:
        """Whether two tables have the same number of records in every group; a single table always does."""
        if not self.tables.apart:
            return True
        return bool((np.bincount(self.value_group, self.weights, self.groups) == self.sizes).all())

    @cached_property
    def histogram(self) -> TextCounts:
        """How often each sensitive value occurs in each group, counterfeits included."""
        self.require(*self.schema.sensitive)
        texts = joined_texts(self.values, self.schema.sensitive)
        if not self.consistent:
            raise DataError("The two tables do not belong together: the sizes of their groups differ.")
        return count_texts(self.value_group, texts, self.weights, self.groups)

    @cached_property
    def counterfeits(self) -> Ints:
        """The declared number of counterfeits in each group."""
        counted = self.tables.counterfeits
        if counted is None:
            return np.zeros(self.groups, np.int64)
        number = whole_numbers(counted[COUNTERFEITS]).cast(pl.Int64, strict=False)
        place = self._places(counted) if self.form.numbered else self._looking(counted)
        total = np.bincount(place, number.fill_null(-1).to_numpy(), self.groups).astype(np.int64)
        if number.null_count() or (number < 0).any() or (total > self.sizes).any():
            raise DataError("The table of counterfeits does not belong to the release: its numbers do not fit.")
        return total

    @property
    def has_counterfeits(self) -> bool:
        """Whether some of its records are known to be counterfeits."""
        own = 0 if self.source is None else self.source.counterfeits
        return bool(own) or self.tables.counterfeits is not None

    def _looking(self, counted: pl.DataFrame) -> Ints:
        """The groups of a table that shows their quasi-identifiers instead of numbers."""
        columns = [name for name in self.schema.quasi if name in counted.columns]
        shown = self.looks.texts.with_columns(pl.Series(_GROUP, self.looks.group))
        texts = _texts(counted, columns)
        if len(columns) == len(self.schema.quasi):
            found = texts.join(shown, on=columns, how="left", nulls_equal=True, maintain_order="left")[_GROUP]
            if not found.null_count():
                return found.to_numpy()
        raise DataError("The table of counterfeits names groups that were not published.")

    @cached_property
    def _labels(self) -> pl.Series:
        """The published labels of the groups, in order."""
        return whole_numbers(self.main[GROUP]).unique().drop_nulls().sort()

    def _places(self, table: pl.DataFrame) -> Ints:
        """The groups of a table's rows by their labels."""
        labels, called = self._labels, whole_numbers(table[GROUP]).cast(self._labels.dtype, strict=False)
        places: pl.Series
        if labels.dtype.is_integer() and len(labels) and labels[-1] - labels[0] + 1 == len(labels):  # without a gap
            places = called - int(labels[0])
            places = places.set((places < 0) | (places >= len(labels)), None)
        else:
            known = pl.DataFrame({_GROUP: labels}).with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_LOOK))
            called = called.alias(_GROUP)
            places = called.to_frame().join(known, on=_GROUP, how="left", maintain_order="left")[_LOOK]
        if places.null_count():
            raise DataError(f"{places.null_count()} rows have a '{GROUP}' that the other table lacks, or none at all.")
        return places.to_numpy()


def read_published(data: Any, schema: Schema, *, dialect: Dialect = FOUND, as_text: bool = True) -> PublishedRelease:
    """Read a release: anything that `read_tables` takes, or tables that were read before."""
    if isinstance(data, PublishedRelease):
        return data
    tables = read_tables(data, schema, dialect=dialect, as_text=as_text)
    if tables.counts:
        return PublishedRelease(tables, schema, DEFAULT_FORM)
    refuse_counts(tables, schema, "the table" if tables.path is None else f"'{tables.path}'")
    return PublishedRelease(tables, schema, _form(tables, schema))


def _form(tables: Tables, schema: Schema) -> Form:
    if tables.source is not None:
        return tables.source.draft.form
    if tables.apart:
        if not all(GROUP in frame.columns for frame in (tables.main, tables.values)):
            raise SchemaError(f"Both tables of a release in two need the column '{GROUP}', which joins them.")
        return Form.TWO_TABLES
    main = tables.main
    if GROUP in schema.columns or not tables.numbered:
        return DEFAULT_FORM
    quasi = [name for name in schema.quasi if name in main.columns]
    alike = main.select(GROUP, *quasi).n_unique() == main[GROUP].n_unique()
    if alike and SLOT not in schema.columns and tables.slotted:
        return Form.PANEL
    return Form.NUMBERED if alike else Form.PERMUTED


def _all_leaves(texts: pl.Series, schema: Schema) -> bool:
    """Whether none of the published texts stands for several values."""
    try:
        coding = coding_of([texts], schema.hierarchy(texts.name))
    except CannotRunError:  # ranges, and texts that cannot be read
        return False
    read = parse_column(texts, coding)
    return bool((read.lo == read.hi).all())


def _texts(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Published columns as text; not-a-number is missing."""
    real = [name for name in columns if frame.schema[name].is_float()]
    return frame.select(columns).with_columns(pl.col(real).fill_nan(None)).cast(pl.String)
