"""Waves: the tables of a series, read and coded once, and what they show about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import floor
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.texts import MISSING
from reissue.data.identifiers import identifier_texts, refuse_strangers
from reissue.data.table import Table
from reissue.errors import DataError, InputError, SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.protection import Protection
from reissue.schema import Schema
from reissue.words import plural

__all__ = ["Waves", "read_waves"]

_NUMBER = "\0number"
"""Beside columns of the user, so of a name that none of them has."""
_RARE = 0.005
"""Changes that are rarer than this are not listed: together they are what is left over."""
_REST = 0.002
"""How often, at least, a value is taken to become one that it was never seen to become."""
_DIGITS = 10_000
"""Shares are written with four digits."""


@dataclass(frozen=True, eq=False)
class Waves:
    """Tables in order of time; people are whole numbers in them."""

    schema: Schema
    tables: tuple[Table, ...]
    given: int
    """How many of them were given; the others are simulated."""

    @cached_property
    def people(self) -> tuple[Ints, ...]:
        """Table to the person of each row."""
        return tuple(_ids(table).to_numpy() for table in self.tables)

    @cached_property
    def known_values(self) -> pl.DataFrame:
        """The sensitive values of all tables; a value's row is its number here."""
        return pl.concat([_secrets(table) for table in self.tables]).unique(maintain_order=True)

    @cached_property
    def codes(self) -> tuple[Ints, ...]:
        """Table to the value of each row, numbered over all tables."""
        return tuple(self.codes_of(_secrets(table)) for table in self.tables)

    def codes_of(self, values: pl.DataFrame) -> Ints:
        """The numbers of known values."""
        numbered = self.known_values.with_row_index(_NUMBER)
        names = self.known_values.columns
        found = values.select(names).join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
        return found[_NUMBER].cast(pl.Int64).to_numpy()

    @cached_property
    def steps(self) -> Floats:
        """Value x value: how often each became which, from one table to the next."""
        counts = np.zeros((self.values, self.values))
        for (one, before), (other, after) in pairwise(zip(self.people, self.codes, strict=True)):
            _, here, there = np.intersect1d(one, other, return_indices=True)
            np.add.at(counts, (before[here], after[there]), 1.0)
        return counts

    @property
    def values(self) -> int:
        """How many different sensitive values there are."""
        return self.known_values.height

    @property
    def fewest(self) -> int:
        """Rows of the smallest table."""
        return min(table.rows for table in self.tables)

    @cached_property
    def largest_share(self) -> float:
        """The share of the most frequent protected value, of any column, in the table where that is largest."""
        protection, largest = Protection.of(self.schema.policy, self.schema.sensitive), 0.0
        for column in self.schema.sensitive:
            names, label = np.unique(self.known_values[column].cast(pl.String).fill_null(MISSING), return_inverse=True)
            harmless = protection.harmless_in(column, [None if name == MISSING else name for name in names.tolist()])
            for codes in self.codes:
                shares = np.bincount(label[codes], minlength=len(names)) / len(codes)
                largest = max(largest, float(shares[~harmless].max(initial=0.0)))
        return max(largest, 1 / self.fewest)

    @cached_property
    def changed(self) -> float:
        """The share of values that change from one table to the next, of people who are in both."""
        total = float(self.steps.sum())
        return 0.0 if not total else 1 - float(np.trace(self.steps)) / total

    @property
    def changing(self) -> bool:
        """Whether any value changes."""
        return self.changed > 0

    @property
    def steady(self) -> bool:
        """Whether values stay, as far as the tables show: there must be two."""
        return len(self.tables) > 1 and not self.changing

    @cached_property
    def gone(self) -> float:
        """The share of people who are not in the next table."""
        pairs = list(pairwise(self.people))
        left = sum(len(np.setdiff1d(one, other)) for one, other in pairs)
        return left / max(sum(len(one) for one, _ in pairs), 1)

    @cached_property
    def come(self) -> float:
        """The share of people who were not in the table before, of those who were in it."""
        pairs = list(pairwise(self.people))
        new = sum(len(np.setdiff1d(other, one)) for one, other in pairs)
        return new / max(sum(len(one) for one, _ in pairs), 1)

    @property
    def growing(self) -> bool:
        """Whether records only arrive, and stay what they are."""
        return len(self.tables) > 1 and not self.gone and not self.changing and not self._moved

    @cached_property
    def _moved(self) -> bool:
        """Whether quasi-identifiers of anybody change."""
        quasi = list(self.schema.quasi)
        for (one, before), (other, after) in pairwise(zip(self.people, self.tables, strict=True)):
            _, here, there = np.intersect1d(one, other, return_indices=True)
            if not before.frame[here].select(quasi).equals(after.frame[there].select(quasi), null_equal=True):
                return True
        return False

    @cached_property
    def providers(self) -> int:
        """How many parties contribute records."""
        if self.schema.provider is None:
            return 1
        return int(pl.concat([table.frame[self.schema.provider] for table in self.tables]).n_unique())

    @property
    def sentences(self) -> tuple[str, ...]:
        """What they show, in plain words."""
        rows = [table.rows for table in self.tables]
        size = f"{rows[0]:,}" if min(rows) == max(rows) else f"{min(rows):,} to {max(rows):,}"
        said = [f"{plural(len(rows), 'wave')} of {size} people, {self.values:,} different sensitive values"]
        if len(rows) > 1:
            said[0] += (
                f"; from wave to wave {self.come:.1%} come, {self.gone:.1%} go, {self.changed:.1%} of values change"
            )
        return (f"{said[0]}. The most frequent protected value is {self.largest_share:.0%} of a wave.",)

    def with_updates(self) -> "Waves":
        """With the changes that were seen written into the schema, where it says nothing about them."""
        if self.schema.updates or not self.changing or len(self.schema.sensitive) != 1:
            return self
        return self.of_schema(replace(self.schema, updates=self.updates))

    @cached_property
    def updates(self) -> dict[str, Any]:
        """The `[updates]` section that says how values changed: rounded shares, and how much is left for any other.

        Each value is counted as having stayed once more than was seen: one person who changed does not make a change
        certain, and every value can stay. Shares are rounded down, and are of what `rest` leaves, so that those of a
        value with `rest` stay below 1.
        """
        names: list[str | None] = self.known_values.to_series().cast(pl.String).to_list()
        shares = self.steps / (self.steps.sum(axis=1, keepdims=True) + 1)
        listed = (shares >= _RARE) & ~np.eye(self.values, dtype=np.bool_)
        missing = np.array([name is None for name in names])
        listed[missing] = listed[:, missing] = False
        moved = float(self.steps.sum() - np.trace(self.steps))
        apart = (moved - float(self.steps[listed].sum())) / (float(self.steps.sum()) + 1)
        rest = max(_rounded_down(apart), _REST)
        chances = {
            str(names[before]): {
                str(names[after]): _rounded_down((1 - rest) * float(shares[before, after]))
                for after in np.flatnonzero(listed[before]).tolist()
            }
            for before in np.flatnonzero(listed.any(axis=1)).tolist()
        }
        return {"chances": chances, "rest": rest}

    def of_schema(self, schema: Schema) -> "Waves":
        """The same under another schema with the same roles."""
        return replace(self, schema=schema, tables=tuple(replace(one, schema=schema) for one in self.tables))


def read_waves(data: Sequence[Any], schema: Schema, *, dialect: Dialect = FOUND, newcomers: bool = False) -> Waves:
    """Read tables in order of time: dataframes, files or Tables."""
    if isinstance(data, str | pl.DataFrame) or not isinstance(data, Sequence) or not data:
        raise InputError("The waves must be a list of tables, in order of time: dataframes or files.")
    if schema.identifier is None or not schema.sensitive:
        raise SchemaError(
            "A plan follows people and what nobody should learn about them: the schema must name an identifier and a "
            "sensitive column."
        )
    for its in (schema, *(table.schema for table in data if isinstance(table, Table))):
        its.refuse_several_rows("A plan")
    tables = [one if isinstance(one, Table) else Table.read(one, schema, dialect=dialect) for one in data]
    _refuse_kinds(tables)
    waves = Waves(schema, tuple(_numbered(tables)), len(tables))
    if not newcomers:
        for one, other in pairwise(waves.people):
            refuse_strangers(one, other)
    return waves


def _rounded_down(share: float) -> float:
    """As a file shows it; never more than it is, so that sums stay what they must be."""
    return floor(share * _DIGITS) / _DIGITS


def _refuse_kinds(tables: Sequence[Table]) -> None:
    """Stop where a column is of another type in another wave: its values would not be recognized."""
    for number, (one, other) in enumerate(pairwise(tables), start=2):
        names = (*one.schema.quasi, *one.schema.sensitive)
        changed = [name for name in names if one.frame.schema[name] != other.frame.schema[name]]
        for name in changed:
            kinds = one.frame.schema[name], other.frame.schema[name]
            if not all(kind.is_numeric() for kind in kinds):
                raise DataError(f"Column '{name}' has another type in wave {number} than in the wave before.")


def _numbered(tables: Sequence[Table]) -> list[Table]:
    """With whole numbers instead of identifiers: the same person has the same one."""
    texts = [identifier_texts(_ids(table)) for table in tables]
    numbers = pl.concat(texts).rank("dense").cast(pl.Int64)
    ends = np.cumsum([len(text) for text in texts])
    made = []
    for table, end, text in zip(tables, ends, texts, strict=True):
        column = numbers.slice(int(end) - len(text), len(text)).alias(str(table.schema.identifier))
        made.append(replace(table, frame=table.frame.with_columns(column)))
    return made


def _ids(table: Table) -> pl.Series:
    if table.ids is None:
        raise SchemaError("A plan follows people: the schema must name an identifier column.")
    return table.ids


def _secrets(table: Table) -> pl.DataFrame:
    return table.frame.select(table.schema.sensitive)
