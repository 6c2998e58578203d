"""Records as an analyst has them: for each row its weight, and of each column what is expected of it.

The true table has values. In a published one, a number counts as the published mean or median of its group, else as the
middle of its range, a category as the shares of
its node's values, and `*` as the mean of the other rows. Where sensitive values belong to a group and not to a row,
every row counts as the mean of its group. Rows of a group with declared counterfeits have less weight: together as much
as it has people.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Floats
from reissue.data.table import Table
from reissue.errors import InputError, nearest
from reissue.published import PublishedRelease
from reissue.taxonomy.codings import Coding, Hierarchy, prepare
from reissue.taxonomy.notation import span_of
from reissue.taxonomy.tree import Level
from reissue.utility.published import intervals

__all__ = [
    "Formula",
    "PublishedRecords",
    "Records",
    "Scale",
    "Variable",
    "groups_of",
    "middle_of",
    "numbers_in",
    "scale_of",
]

_HELP = "Write it as  outcome ~ column + column;  a name with spaces or signs stands in backticks."


@dataclass(frozen=True)
class Variable:
    """A column, or an indicator of one of its values: `disease[flu]`."""

    column: str
    value: str | None = None

    def __str__(self) -> str:
        """The formula as written."""
        return self.column if self.value is None else f"{self.column}[{self.value}]"


@dataclass(frozen=True)
class Formula:
    """An outcome and its explanatory variables."""

    outcome: Variable
    terms: tuple[Variable, ...]

    def __str__(self) -> str:
        """The formula as written."""
        return f"{self.outcome} ~ {' + '.join(map(str, self.terms))}"

    @classmethod
    def parse(cls, text: str, columns: Sequence[str]) -> "Formula":
        """Read a formula over these columns."""
        sides = _split(text, "~")
        if len(sides) != 2:
            raise InputError(f"A model needs one outcome and one '~'. {_HELP}")
        terms = tuple(_variable(part, columns) for part in _split(sides[1], "+"))
        outcome = _variable(sides[0], columns)
        if len(set(terms)) < len(terms) or any(outcome.column == term.column for term in terms):
            raise InputError("A model names a column twice. Name each column once.")
        return cls(outcome, terms)


def _split(text: str, sign: str) -> list[str]:
    """Split at signs outside backticks."""
    parts = re.findall(rf"(?:`[^`]*`|[^`{re.escape(sign)}])+", text)
    return [part.strip() for part in parts] if text.count(sign) or len(parts) == 1 else [text]


def _variable(text: str, columns: Sequence[str]) -> Variable:
    text = text.strip()
    named = re.fullmatch(r"`([^`]+)`(?:\[(.+)\])?", text) or re.fullmatch(r"(.+?)(?:\[(.+)\])?", text)
    name, value = (text, None) if text in columns or named is None else (named[1], named[2])
    if name not in columns:
        hint = nearest(name, columns)
        raise InputError(
            f"A model may name quasi-identifiers, sensitive and kept columns, and no others.{hint} {_HELP}"
        )
    return Variable(name, value)


_FEW = 12
"""Groups are the nodes of the finest level of a taxonomy with at most this many nodes."""


@dataclass(frozen=True, eq=False)
class Scale:
    """How a column enters a computation: numbers for each leaf."""

    labels: tuple[str, ...]
    """One label for a number, one per category otherwise."""
    leaves: Floats
    """Leaves x labels; NaN for the missing value."""
    line: bool
    """Whether leaves lie on a line, so that a range stands for its middle."""

    def over(self, lo: Codes, hi: Codes, weights: Floats | None) -> Floats:
        """Rows x labels: the expectation over published intervals; without weights also for uninformative ones."""
        known = ~np.isnan(self.leaves[:, 0])
        last = int(np.flatnonzero(known).max(initial=-1))
        high = np.minimum(hi, last)
        if self.line:
            found = (self.leaves[np.minimum(lo, len(known) - 1)] + self.leaves[high]) / 2
        else:
            below = np.vstack([np.zeros(len(self.labels)), np.cumsum(np.where(known[:, None], self.leaves, 0), axis=0)])
            found = (below[high + 1] - below[lo]) / np.maximum(high - lo + 1, 1)[:, None]
        found[lo > high] = np.nan
        return found if weights is None else _filled(found, (lo == 0) & (hi >= last) & (last > 0), weights)


def _filled(found: Floats, nothing: Bools, weights: Floats) -> Floats:
    """Uninformative rows, filled with the mean of the others."""
    some = ~nothing & ~np.isnan(found[:, 0]) & (weights > 0)
    if some.any() and nothing.any():
        found[nothing] = weights[some] @ found[some] / weights[some].sum()
    return found


def scale_of(table: Table, variable: Variable, *, bands: bool = False) -> Scale:
    """How a variable enters a computation: numbers as they are, otherwise one label per category.

    With `bands`, texts count as the middle of the numbers in them, if all have some.
    """
    coding = _coding(table, variable.column)
    if variable.value is not None:
        return _indicator(coding, variable)
    numbers = _numbers(coding, bands=bands)
    if numbers is not None:
        return Scale((variable.column,), numbers[:, np.newaxis], coding.taxonomy.ordered)
    return _categories(coding.taxonomy.levels[0], variable.column)


def groups_of(table: Table, variable: Variable) -> Scale:
    """A column as groups of people: the finest level of its taxonomy with few nodes, else its values."""
    coding = _coding(table, variable.column)
    if variable.value is not None:
        return _indicator(coding, variable)
    levels = coding.taxonomy.levels
    few = [level for level in levels[:-1] if len(level.names) <= _FEW]
    return _categories(few[0] if few else levels[0], variable.column)


def _categories(level: Level, column: str) -> Scale:
    """One label for each node of a level."""
    names = [name for name in level.names if name is not None]
    leaves = np.full((len(level.node), len(names)), np.nan)
    known = level.node < len(names)
    leaves[known] = np.eye(len(names))[level.node[known]]
    return Scale(tuple(f"{column}[{name}]" for name in names), leaves, line=False)


def _indicator(coding: Coding, variable: Variable) -> Scale:
    names = coding.taxonomy.names
    if variable.value not in names:
        raise InputError(f"A model asks for a value of '{variable.column}' that the table lacks.")
    leaves = np.array([[np.nan if name is None else float(name == variable.value)] for name in names])
    return Scale((str(variable),), leaves, line=False)


def _numbers(coding: Coding, *, bands: bool) -> Floats | None:
    """The number of each leaf, if all have one."""
    kind = coding.leaves.dtype
    if kind.is_numeric() or kind in {pl.Boolean, pl.Date}:
        values = coding.leaves.to_physical().cast(pl.Float64).to_numpy()
    elif bands and coding.hierarchy.kind != "prefix":
        names = coding.leaves.cast(pl.String).to_list()
        read = [] if _codes(names) else [middle_of(name) for name in names]
        if None in read or not read:
            return None
        values = np.array(read, np.float64)
    else:
        return None
    return np.append(values, np.nan) if coding.taxonomy.missing else values.astype(np.float64)


def _codes(names: Sequence[str]) -> bool:
    """Whether texts are codes such as those of diseases: one letter and a number, with different letters."""
    return all(re.match(r"[^\W\d_]\d", name) for name in names) and len({name[0] for name in names}) > 1


def middle_of(text: str) -> float | None:
    """The middle of a band: `3-5`, `[20, 34]`, `v6-8`; of a half-open one, its end."""
    span = span_of(text)
    ends = [] if span is None or span.days else [float(end) for end in (span.low, span.high) if np.isfinite(end)]
    ends = ends or [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)][:2]
    return sum(ends) / len(ends) if ends else None


def _coding(table: Table, column: str) -> Coding:
    schema = table.schema
    if column in schema.quasi:
        return table.codings[schema.quasi.index(column)]
    if column in schema.sensitive:
        return table.secrets[schema.sensitive.index(column)]
    return _kept(table, column)


def _kept(table: Table, column: str) -> Coding:
    """The coding of a column that is published unchanged."""
    return Coding.build(Hierarchy(), prepare(table.frame[column], Hierarchy()), published=False)


@dataclass(frozen=True, eq=False)
class Records:
    """The true table."""

    table: Table

    @property
    def weights(self) -> Floats:
        """Every row is one person."""
        return np.ones(self.table.rows)

    def expect(self, column: str, scale: Scale, *, evenly: bool = False) -> Floats:  # noqa: ARG002
        """Rows x labels; numbers beyond bottom and top coding are known here."""
        coding = _coding(self.table, column)
        if scale.line and any(coding.taxonomy.open_ends):
            return self.table.frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()[:, np.newaxis]
        return np.asarray(scale.leaves[self._codes(column)])

    def _codes(self, column: str) -> Codes:
        table, schema = self.table, self.table.schema
        if column in schema.quasi:
            return np.asarray(table.codes[schema.quasi.index(column)])
        if column in schema.sensitive:
            return np.asarray(table.joint[schema.sensitive.index(column)][table.sensitive])
        return _encoded(_kept(table, column), table.frame[column])


@dataclass(frozen=True, eq=False)
class PublishedRecords:
    """The published table, row by row of the table with the quasi-identifiers."""

    table: Table
    published: PublishedRelease

    @cached_property
    def _intervals(self) -> tuple[Codes, Codes]:
        return intervals(self.published, self.table)

    @cached_property
    def weights(self) -> Floats:
        """The number of people that each row stands for; 0 if it shows a value that nobody has."""
        lo, hi = self._intervals
        nobody: Bools = np.asarray((lo > hi).any(axis=0))
        group, release = self.published.group, self.published
        strange = np.bincount(group[nobody], minlength=release.groups)
        share = 1 - np.maximum(release.counterfeits - strange, 0) / np.maximum(release.sizes - strange, 1)
        return np.asarray(np.where(nobody, 0.0, share[group]))

    def expect(self, column: str, scale: Scale, *, evenly: bool = False) -> Floats:
        """Rows x labels: what a recipient expects; with `evenly`, all values of `*` count alike."""
        schema = self.table.schema
        self.published.require(column)
        if column in schema.quasi:
            lo, hi = (ends[schema.quasi.index(column)] for ends in self._intervals)
            empty = lo > hi
            if scale.line and column in self.published.averages:
                return self._averages(column)
            return scale.over(np.where(empty, 0, lo), np.where(empty, 0, hi), None if evenly else self.weights)
        if column in schema.sensitive and not self.published.form.boxes:
            return self._by_group(column, scale)
        coding = _coding(self.table, column)
        return _at(scale, _encoded(coding, self.published.main[column]))

    def _averages(self, column: str) -> Floats:
        """The published mean or median of each row's group."""
        found = self.published.main[self.published.averages[column]]
        return found.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()[:, np.newaxis]

    def _by_group(self, column: str, scale: Scale) -> Floats:
        """The mean of each row's group."""
        coding = _coding(self.table, column)
        found = _at(scale, _encoded(coding, self.published.values[column]))
        known = ~np.isnan(found[:, 0])
        group, weights = self.published.value_group[known], self.published.weights[known].astype(np.float64)
        total = np.bincount(group, weights, self.published.groups)
        sums = [np.bincount(group, weights * each, self.published.groups) for each in found[known].T]
        with np.errstate(invalid="ignore"):
            return np.asarray((np.stack(sums, axis=1) / total[:, np.newaxis])[self.published.group])


def numbers_in(table: Table, column: str, scale: Scale, values: pl.Series) -> Floats:
    """Values x labels: the numbers of values of a column; NaN for those that the table lacks."""
    return _at(scale, _encoded(_coding(table, column), values))


def _encoded(coding: Coding, column: pl.Series) -> Codes:
    return coding.encode(prepare(column, coding.hierarchy))[0]


def _at(scale: Scale, codes: Codes) -> Floats:
    """The numbers of leaves; NaN for values that the original lacks."""
    found = scale.leaves[np.maximum(codes, 0)]
    found[codes < 0] = np.nan
    return np.asarray(found)
