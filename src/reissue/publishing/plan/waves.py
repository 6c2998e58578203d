"""Waves: the tables of a series, read and coded once, what they show about it, and a simulated continuation.

In a simulated continuation people leave from wave to wave, values change, and newcomers arrive, as they did in the
waves themselves or by stated dynamics. Whoever stays keeps the quasi-identifiers; a newcomer has those, and the value,
of somebody who arrived before (of anybody, where there is only one wave). It is a guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import floor
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.texts import MISSING, joined_texts
from reissue.data.identifiers import identifier_texts, refuse_strangers
from reissue.data.table import Table
from reissue.errors import DataError, InputError, SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.protection import Protection
from reissue.schema import Schema
from reissue.updates import MOST_VALUES
from reissue.words import plural

__all__ = ["Dynamics", "Waves", "continued", "read_waves"]

_NUMBER = "\0number"
"""The name of a column of our own beside the user's, which none of theirs can have."""
_RARE = 0.005
"""Changes of a smaller share than this are not listed; together they make up `rest`."""
_REST = 0.002
"""The smallest probability of all changes together that were never seen."""
_PSEUDO_PEOPLE = 100
"""Weight of the overall departure rate in that of a value: one more departure moves it by less than a hundredth."""
_DIGITS = 10_000
"""Shares have four digits."""


@dataclass(frozen=True, eq=False)
class Waves:
    """The tables of a series in order of time; people are numbered."""

    schema: Schema
    tables: tuple[Table, ...]
    given: int
    """How many tables were given; the others are simulated."""

    @cached_property
    def people(self) -> tuple[Ints, ...]:
        """The person of each row, by table."""
        return tuple(_ids(table).to_numpy() for table in self.tables)

    @cached_property
    def known_values(self) -> pl.DataFrame:
        """The distinct sensitive values of all tables; the number of a value is its row."""
        return pl.concat([_secrets(table) for table in self.tables]).unique(maintain_order=True)

    @cached_property
    def codes(self) -> tuple[Ints, ...]:
        """The number of each row's value, by table."""
        return tuple(self.codes_of(_secrets(table)) for table in self.tables)

    def codes_of(self, values: pl.DataFrame) -> Ints:
        """The numbers of known values."""
        numbered = self.known_values.with_row_index(_NUMBER)
        names = self.known_values.columns
        found = values.select(names).join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
        return found[_NUMBER].cast(pl.Int64).to_numpy()

    @cached_property
    def steps(self) -> Floats:
        """Value x value: how often each value became which, from one table to the next."""
        counts = np.zeros((self.values, self.values))
        for (one, before), (other, after) in pairwise(zip(self.people, self.codes, strict=True)):
            _, here, there = np.intersect1d(one, other, return_indices=True)
            np.add.at(counts, (before[here], after[there]), 1.0)
        return counts

    @property
    def values(self) -> int:
        """The number of distinct sensitive values."""
        return self.known_values.height

    @property
    def fewest(self) -> int:
        """Rows of the smallest table."""
        return min(table.rows for table in self.tables)

    @cached_property
    def largest_share(self) -> float:
        """The largest share of a protected value of any column in any table."""
        protection, largest = Protection.of(self.schema.policy, self.schema.sensitive), 0.0
        for column in self.schema.sensitive:
            names, label = self._labels(column)
            harmless = protection.harmless_in(column, names)
            for codes in self.codes:
                shares = np.bincount(label[codes], minlength=len(names)) / len(codes)
                largest = max(largest, float(shares[~harmless].max(initial=0.0)))
        return max(largest, 1 / self.fewest)

    def _labels(self, column: str) -> tuple[list[str | None], Ints]:
        """The values of one sensitive column as text (None: missing), and the position of each known value's own."""
        texts = self.known_values[column].cast(pl.String).fill_null(MISSING)
        names, label = np.unique(texts.to_numpy(), return_inverse=True)
        return [None if name == MISSING else name for name in names.tolist()], label.astype(np.int64)

    @cached_property
    def changed(self) -> float:
        """The share of values that change from one table to the next, among people who are in both."""
        total = float(self.steps.sum())
        return 0.0 if not total else 1 - float(np.trace(self.steps)) / total

    @property
    def changing(self) -> bool:
        """Whether any value changes."""
        return self.changed > 0

    @property
    def steady(self) -> bool:
        """Whether values never change; needs at least two tables."""
        return len(self.tables) > 1 and not self.changing

    @cached_property
    def gone(self) -> float:
        """The share of people who are not in the next table."""
        pairs = list(pairwise(self.people))
        left = sum(len(np.setdiff1d(one, other)) for one, other in pairs)
        return left / max(sum(len(one) for one, _ in pairs), 1)

    @cached_property
    def departures(self) -> dict[str, float]:
        """The departure rate of each value, shrunk to the overall rate: one person moves it by 0.01 at most.

        The values of several sensitive columns are taken together.
        """
        here, left = np.zeros(self.values), np.zeros(self.values)
        for (one, codes), (other, _) in pairwise(zip(self.people, self.codes, strict=True)):
            here += np.bincount(codes, minlength=self.values)
            left += np.bincount(codes[~np.isin(one, other)], minlength=self.values)
        rates = (left + _PSEUDO_PEOPLE * self.gone) / (here + _PSEUDO_PEOPLE)
        names = joined_texts(self.known_values, self.known_values.columns).to_list()
        listed = {"default": self.gone, **dict(zip(names, rates.tolist(), strict=True))}
        return {name: round(min(max(rate, 0.0), 0.99), 2) for name, rate in listed.items()}

    @cached_property
    def come(self) -> float:
        """Newcomers from one table to the next, as a share of the people in the earlier one."""
        pairs = list(pairwise(self.people))
        new = sum(len(np.setdiff1d(other, one)) for one, other in pairs)
        return new / max(sum(len(one) for one, _ in pairs), 1)

    @property
    def growing(self) -> bool:
        """Whether the series is append-only: records arrive, and never leave or change."""
        return len(self.tables) > 1 and not self.gone and not self.changing and not self._moved

    @cached_property
    def _moved(self) -> bool:
        """Whether anybody's quasi-identifiers change."""
        quasi = list(self.schema.quasi)
        for (one, before), (other, after) in pairwise(zip(self.people, self.tables, strict=True)):
            _, here, there = np.intersect1d(one, other, return_indices=True)
            if not before.frame[here].select(quasi).equals(after.frame[there].select(quasi), null_equal=True):
                return True
        return False

    @cached_property
    def providers(self) -> int:
        """The number of parties that contribute records."""
        if self.schema.provider is None:
            return 1
        return int(pl.concat([table.frame[self.schema.provider] for table in self.tables]).n_unique())

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the waves show, in plain words."""
        rows = [table.rows for table in self.tables]
        size = f"{rows[0]:,}" if min(rows) == max(rows) else f"{min(rows):,} to {max(rows):,}"
        said = [f"{plural(len(rows), 'wave')} of {size} people, {self.values:,} different sensitive values"]
        if len(rows) > 1:
            said[0] += (
                f"; from wave to wave {self.come:.1%} come, {self.gone:.1%} go, {self.changed:.1%} of values change"
            )
        return (f"{said[0]}. The most frequent protected value is {self.largest_share:.0%} of a wave.",)

    def with_updates(self) -> "Waves":
        """The waves under a schema with the changes that were seen, unless it has an `[updates]` section."""
        if self.schema.updates or not self.changing or self.values > MOST_VALUES:
            return self
        return self.of_schema(replace(self.schema, updates=self.updates))

    @cached_property
    def updates(self) -> dict[str, Any]:
        """The `[updates]` section that describes how values changed.

        With several sensitive columns it has a section for each: columns are taken to change independently.
        """
        if len(self.schema.sensitive) == 1:
            names = self.known_values.to_series().cast(pl.String).to_list()
            return _updates_section(names, self.steps)
        return {column: self._updates_of(column) for column in self.schema.sensitive}

    def _updates_of(self, column: str) -> dict[str, Any]:
        """The section of one of several sensitive columns."""
        names, label = self._labels(column)
        steps = np.zeros((len(names), len(names)))
        np.add.at(steps, (label[:, np.newaxis], label[np.newaxis]), self.steps)
        return _updates_section(names, steps) if steps.sum() > np.trace(steps) else {"none": True}

    def of_schema(self, schema: Schema) -> "Waves":
        """The same waves under another schema with the same roles."""
        return replace(self, schema=schema, tables=tuple(replace(one, schema=schema) for one in self.tables))


def read_waves(data: Sequence[Any], schema: Schema, *, dialect: Dialect = FOUND, newcomers: bool = False) -> Waves:
    """Read the tables of a series in order of time, and number their people.

    Parameters
    ----------
    data
        Dataframes, files or `Table`s.
    schema
        Must name an identifier and a sensitive column.
    dialect
        How files are written.
    newcomers
        Whether it is fine if hardly anybody of one wave is in the next.

    Raises
    ------
    InputError, SchemaError, DataError
        If there is no table, the schema lacks a role, a column has another type in another wave, or identifiers seem to
        have changed between waves.

    """
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


def _updates_section(names: Sequence[str | None], steps: Floats) -> dict[str, Any]:
    """The probabilities with which the values of one column changed, rounded, and `rest` for any other change.

    Each value is counted as having stayed once more than was seen: one person who changed does not make a change
    certain, and every value can stay. Shares are rounded down, and relate to what `rest` leaves, so that those of a
    value with `rest` sum to less than 1.
    """
    shares = steps / (steps.sum(axis=1, keepdims=True) + 1)
    listed = (shares >= _RARE) & ~np.eye(len(names), dtype=np.bool_)
    missing = np.array([name is None for name in names])
    listed[missing] = listed[:, missing] = False
    moved = float(steps.sum() - np.trace(steps))
    unlisted = (moved - float(steps[listed].sum())) / (float(steps.sum()) + 1)
    rest = max(_rounded_down(unlisted), _REST)
    chances = {
        str(names[before]): {
            str(names[after]): _rounded_down((1 - rest) * float(shares[before, after]))
            for after in np.flatnonzero(listed[before]).tolist()
        }
        for before in np.flatnonzero(listed.any(axis=1)).tolist()
    }
    return {"chances": chances, "rest": rest}


def _rounded_down(share: float) -> float:
    """A share with four digits, rounded down so that sums do not exceed 1."""
    return floor(share * _DIGITS) / _DIGITS


def _refuse_kinds(tables: Sequence[Table]) -> None:
    """Refuse a column that has another type in another wave: its values would not be recognized."""
    for number, (one, other) in enumerate(pairwise(tables), start=2):
        names = (*one.schema.quasi, *one.schema.sensitive)
        changed = [name for name in names if one.frame.schema[name] != other.frame.schema[name]]
        for name in changed:
            kinds = one.frame.schema[name], other.frame.schema[name]
            if not all(kind.is_numeric() for kind in kinds):
                raise DataError(f"Column '{name}' has another type in wave {number} than in the wave before.")


def _numbered(tables: Sequence[Table]) -> list[Table]:
    """The tables with numbers in place of identifiers; a person has the same number in all of them."""
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


SIMULATED = 4
"""How many waves are simulated after a single one."""


@dataclass(frozen=True)
class Dynamics:
    """How a table changes from one wave to the next, as shares of its people.

    Attributes
    ----------
    come
        Newcomers.
    go
        People who leave.
    change
        People whose value changes.

    """

    come: float = 0.1
    go: float = 0.1
    change: float = 0.05

    def __post_init__(self) -> None:
        if not all(0 <= share < 1 for share in (self.come, self.go, self.change)):
            raise InputError("How many come, go and change are shares of the people, at least 0 and below 1.")


@dataclass(frozen=True, eq=False)
class _Course:
    """How a series continues: the same as `Dynamics`, but by value."""

    come: float
    leaving: Floats
    """The share of people who leave, by value."""
    ends: Floats
    """Value x value: cumulative probabilities of the value in the next wave."""
    arrivals: pl.DataFrame
    """The people from whom newcomers are drawn."""


def continued(waves: Waves, count: int, rng: np.random.Generator, dynamics: Dynamics | None = None) -> Waves:
    """The waves and `count` simulated ones after the last; without `dynamics`, people behave as in the waves."""
    course = _seen(waves) if dynamics is None else _stated(waves, dynamics)
    tables, last = list(waves.tables), (waves.tables[-1].frame, waves.codes[-1])
    newest = int(max(people.max() for people in waves.people)) + 1
    for _ in range(count):
        frame, codes = _lived(waves, course, *last, rng)
        frame, codes, newest = _joined(waves, course, frame, codes, newest, rng)
        tables.append(replace(Table.read(frame, waves.schema, repair=False), back=waves.tables[0].back))
        last = frame, codes
    return replace(waves, tables=tuple(tables))


def _seen(waves: Waves) -> _Course:
    """The course that the waves themselves show, smoothed for rare values."""
    size = waves.values
    there, left = np.zeros(size), np.zeros(size)
    arrivals = []
    for place in range(len(waves.tables) - 1):
        before, after = waves.people[place], waves.people[place + 1]
        gone = ~np.isin(before, after)
        there += np.bincount(waves.codes[place], minlength=size)
        left += np.bincount(waves.codes[place], gone, size)
        arrivals.append(waves.tables[place + 1].frame.filter(pl.Series(~np.isin(after, before))))
    leaving = (left + waves.gone) / (there + 1)
    steps = waves.steps + np.eye(size)
    some = pl.concat(arrivals)
    return _Course(waves.come, leaving, _cumulated(steps), some if some.height else waves.tables[-1].frame)


def _stated(waves: Waves, dynamics: Dynamics) -> _Course:
    """The course by stated dynamics: a value that changes becomes any other in proportion to their frequencies."""
    shares = np.bincount(waves.codes[-1], minlength=waves.values) / len(waves.codes[-1])
    others = np.tile(shares, (waves.values, 1)) * (1 - np.eye(waves.values))
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-12)
    steps = (1 - dynamics.change) * np.eye(waves.values) + dynamics.change * others
    return _Course(dynamics.come, np.full(waves.values, dynamics.go), _cumulated(steps), waves.tables[-1].frame)


def _cumulated(steps: Floats) -> Floats:
    return np.asarray(np.cumsum(steps / steps.sum(axis=1, keepdims=True), axis=1))


def _lived(
    waves: Waves, course: _Course, frame: pl.DataFrame, codes: np.ndarray, rng: np.random.Generator
) -> tuple[pl.DataFrame, np.ndarray]:
    """The people who stay, with their values in the next wave."""
    stays = np.flatnonzero(rng.random(len(codes)) >= course.leaving[codes])
    chance = rng.random((len(stays), 1))
    codes = np.minimum((course.ends[codes[stays]] < chance).sum(axis=1), waves.values - 1)
    return frame[stays].with_columns(waves.known_values[codes]), codes


def _joined(
    waves: Waves, course: _Course, frame: pl.DataFrame, codes: np.ndarray, newest: int, rng: np.random.Generator
) -> tuple[pl.DataFrame, np.ndarray, int]:
    """The wave with its newcomers."""
    number = int(rng.poisson(course.come * waves.tables[-1].rows))
    chosen = course.arrivals[rng.integers(0, course.arrivals.height, number)]
    ids = pl.Series(str(waves.schema.identifier), np.arange(newest, newest + number), dtype=pl.Int64)
    chosen = chosen.with_columns(ids)
    both = np.concatenate([codes, waves.codes_of(chosen)])
    return pl.concat([frame, chosen.select(frame.columns)], how="vertical_relaxed"), both, newest + number
