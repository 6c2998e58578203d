"""What an engine is: it opens a table that may be larger than memory, counts it, and may rewrite its rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.data.draws import person_draws
from reissue.engines.regions import Regions, RowsByRegion

__all__ = [
    "CodedRows",
    "ColumnCodes",
    "Counted",
    "Engine",
    "FinishedRows",
    "FollowsPeople",
    "InBatches",
    "MadeRegion",
    "MakeRegion",
    "PersonDraw",
    "RegionWork",
    "Rewritable",
    "RewritePlan",
    "Source",
    "WhoHasWhich",
]


@dataclass(frozen=True, eq=False)
class Counted:
    """Different rows, and how often each occurs."""

    values: pl.DataFrame
    """Texts may be categories."""
    times: pl.Series
    """Whole numbers, 1 or more; their sum is the number of records."""


WhoHasWhich = tuple[pl.Series, Ints]
"""Of every row: who has it, null for nobody, and its place among the different rows counted."""


class Source(Protocol):
    """A table that an engine has opened. Nothing but what is asked for comes into memory."""

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        """The names of its columns, in order, and their types."""

    def counts(self, by: Sequence[str]) -> Counted:
        """The different combinations of some columns, in their order, and how many rows have each."""


@dataclass(frozen=True, eq=False)
class ColumnCodes:
    """A column's different values, each with its code; a value may be missing, not-a-number is."""

    name: str
    values: pl.Series
    codes: Codes

    def code(self) -> pl.Expr:
        """What codes the column of this name."""
        column = pl.col(self.name)
        column = column.fill_nan(None) if self.values.dtype.is_float() else column
        # A batch at a time: Polars takes `replace_strict` for something that needs the whole column at once.
        return column.map_batches(self._coded, return_dtype=pl.Int32, is_elementwise=True)

    def _coded(self, column: pl.Series) -> pl.Series:
        near = self._near
        if near is not None and len(column) and column.dtype == self.values.dtype and not column.null_count():
            first, code = near
            place = column.to_numpy().astype(np.int64, copy=False) - first
            if place.min() >= 0 and place.max() < len(code) and code[place].min() >= 0:
                return pl.Series(column.name, code[place])
        return column.replace_strict(self.values, pl.Series(self.codes), return_dtype=pl.Int32)

    @cached_property
    def _near(self) -> tuple[int, Codes] | None:
        """Of whole numbers that lie close together: the first, and the code of each from there on, -1 for none."""
        known = self.values.is_not_null()
        if not self.values.dtype.is_integer() or not known.any():
            return None
        numbers = self.values.filter(known)
        first, last = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]  # there is one
        if last - first > max(4 * len(numbers), 1 << 16) or not -(2**62) < first <= last < 2**62:
            return None
        code = np.full(last - first + 1, -1, np.int32)
        code[numbers.cast(pl.Int64).to_numpy() - first] = self.codes[known.to_numpy()]
        return first, code


@dataclass(frozen=True)
class PersonDraw:
    """The column that says who a row is, and the key of the numbers that are drawn for people."""

    name: str
    key: bytes = field(repr=False)

    def draw(self) -> pl.Expr:
        """What draws a number for the column of this name."""
        return pl.col(self.name).map_batches(self._drawn, return_dtype=pl.Int64, is_elementwise=True)

    def _drawn(self, column: pl.Series) -> pl.Series:
        return pl.Series(person_draws(column, self.key))


@dataclass(frozen=True, eq=False)
class RewritePlan:
    """How rows are coded, and what of them is published."""

    names: tuple[str, ...]
    """The columns that are published, in their order."""
    texts: tuple[str, ...]
    """Those of them that are published as texts."""
    quasi: tuple[ColumnCodes, ...]
    value: ColumnCodes | None
    """The sensitive column; None if nothing is asked of it: then every row has code 0."""
    person: PersonDraw | None = None
    """Whose rows they are, where people's numbers are to be drawn; of the column itself nothing else is kept."""
    provider: ColumnCodes | None = None
    """Who gave a record, where regions are counted by provider and value; it goes with the rows, unpublished."""
    sensitive_codes: int = 1
    """How many codes the sensitive column may have."""

    @property
    def handed(self) -> tuple[str, ...]:
        """The columns of a region's rows: those that are published, and the provider where it matters."""
        return self.names if self.provider is None else (*self.names, self.provider.name)

    @property
    def values(self) -> int:
        """How many codes there are that regions are counted by, beside attributes."""
        providers = 1 if self.provider is None else int(self.provider.codes.max()) + 1
        return providers * (1 if self.value is None else self.sensitive_codes)

    def value_code(self) -> pl.Expr:
        """What a row counts as: its sensitive code, or provider and sensitive code as one number."""
        value = pl.lit(0, pl.Int32) if self.value is None else self.value.code()
        if self.provider is None:
            return value
        return self.provider.code() * pl.lit(1 if self.value is None else self.sensitive_codes, pl.Int32) + value


@dataclass(frozen=True, eq=False)
class MadeRegion:
    """A region's rows as they are published, how many groups they are, and what is lost."""

    rows: pl.DataFrame
    groups: int
    lost: float
    """What the rows that are published lose, together."""


MakeRegion = Callable[[int, pl.DataFrame, Ints | None], MadeRegion]
"""From a region's number, its rows, and the numbers drawn for them. Texts that it publishes may be an Enum."""


@dataclass(frozen=True, eq=False)
class RegionWork:
    """What is to be done with every region."""

    regions: Regions
    make: MakeRegion
    """May run elsewhere, and more than once for a region."""
    place: Path | None
    """An empty folder for Parquet; without one the release stays where the engine keeps tables."""
    progress: Callable[[float], None]
    any_order: bool = False
    """Whether rows may be handed out in any order; else in one that depends on nothing but them."""


@dataclass(frozen=True, eq=False)
class FinishedRows:
    """A release that an engine made: what can be counted of it, and how many groups it has."""

    source: Source
    groups: int
    rows: int
    lost: float
    """What the rows that are published lose, together."""
    drop: Callable[[], None] = lambda: None
    """Gives up what the engine keeps of it."""
    parts: tuple[Source, ...] = ()
    """The same in parts that fit in memory, one at a time; none where only the whole can be counted."""


class CodedRows(RowsByRegion, Protocol):
    """Rows that have been coded, counted by region and finished a region at a time."""

    def finish(self, work: RegionWork) -> FinishedRows:
        """Every region by a function."""


@runtime_checkable
class FollowsPeople(Source, Protocol):
    """A table of which it can be told who has which row, in a few bytes for each person."""

    @property
    def tells_identifiers(self) -> bool:
        """Whether people are told by their identifiers; else by numbers, which hold for the tables of one answer."""

    def by_person(self, name: str, tables: Sequence[tuple[Any, Counted]]) -> list[WhoHasWhich]:
        """Of every row of some tables that this engine opened and counted: whose it is, and which one it shows.

        `name` is the column of identifiers; rows may come in any order.
        """


@runtime_checkable
class Rewritable(Source, Protocol):
    """A table whose rows can be rewritten, too."""

    def distinct(self, names: Sequence[str]) -> Mapping[str, Counted]:
        """Every one of some columns by itself: its different values, and how many rows have each."""

    def held(self, names: Sequence[str]) -> "AbstractContextManager[Rewritable]":
        """The same table, of which only these columns will be asked for: read once, where reading is dear.

        What is kept of it is gone afterwards.
        """

    def people(self, name: str) -> tuple[int, int, int]:
        """Of a column of identifiers: how many are missing, how many are different, and how many rows there are.

        They are compared as `identifier_texts` writes them.
        """

    def coded(self, plan: RewritePlan) -> AbstractContextManager[CodedRows]:
        """The rows, read once and coded; what is kept of that is gone afterwards."""


@runtime_checkable
class InBatches(Rewritable, Protocol):
    """A table whose rows come here, too, some at a time: what a method that decides on codes is made of."""

    @property
    def in_order(self) -> bool:
        """Whether rows have an order, in which they come; else in any, and whoever needs one puts them in it."""

    def batches(self, names: Sequence[str], codes: Sequence[ColumnCodes] = ()) -> Iterator[pl.DataFrame]:
        """Of every row these columns as they are, and after them the codes of others, all under their names."""

    def back(self, frame: pl.DataFrame) -> Any:
        """A table of the kind that this engine opens."""

    def held(self, names: Sequence[str]) -> "AbstractContextManager[InBatches]":
        """As any engine, with rows that come here."""


@dataclass(frozen=True)
class Engine:
    """A registered engine."""

    name: str
    summary: str
    """One sentence for people who read a list of engines."""
    open: Callable[[Any], Source]
    """From what a user gives; InputError with the reason where it cannot be opened this way."""
    suits: Callable[[Any], bool]
    """Whether "auto" takes this engine for what a user gives; nothing may be read for that but a file's own notes."""
