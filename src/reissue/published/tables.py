"""The tables of one release: files, frames or our own Release, before a schema gives their columns a meaning.

A release lies in one file or in several: the sensitive values of groups apart from the quasi-identifiers, and the
numbers of counterfeits, lie beside the first file under its name (`out.csv`, `out.sensitive.csv`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from reissue.contingency.table import CountTable
from reissue.data.frames import read_together
from reissue.data.table import to_polars
from reissue.engines.base import Source, WhoHasWhich
from reissue.errors import DataError
from reissue.files.databases import database_table, is_database_url
from reissue.files.dialect import FOUND, Dialect
from reissue.files.places import SECOND_TABLES, part_of, second_path
from reissue.files.tables import read_file
from reissue.release.presences import Presences
from reissue.release.release import COUNT, COUNTERFEITS, GROUP, SIDE, SLOT, Release
from reissue.requirements import Requirement
from reissue.schema import Schema

__all__ = ["Tables", "dates_of", "order_hint", "read_tables", "releases_among", "whole_numbers"]

WHOLE, QUASI, VALUES = "release", "quasi", "sensitive"
"""One table; or the first and the second of two. Counterfeits are the table `COUNTERFEITS`."""
_WRONG = 'Give one published table, or two under the names "quasi" and "sensitive".'


@dataclass(frozen=True, eq=False)
class Tables:
    """The published tables of one release by name: "release", or "quasi" and "sensitive"; perhaps "counterfeits"."""

    frames: Mapping[str, pl.DataFrame]
    path: Path | None = None
    """Where the first one was read from."""
    source: Release | None = None
    """For our own release: what stays with the holder."""
    presences: Presences | None = None
    """For our own release from a ledger: who is in which group. Attacks that follow people need no tables then."""
    requirement: Requirement | None = None
    """For such a release: what it was made to meet."""
    e: int | None = None
    """For such a release: the e of e-equivalence, where its method promises one."""
    times: pl.Series | None = None
    """How many records each row of the one table stands for, where an engine counted equal ones; None: one each."""
    opened: Source | None = None
    """The source that an engine opened, where it counted the one table."""
    people: Callable[[], WhoHasWhich] | None = None
    """For a copy that an engine counted: asks it for every record's identifier, and which of the rows it is."""
    counts: tuple[CountTable, ...] = ()
    """The tables of counts, where people were counted and have no rows."""
    margins: tuple[tuple[CountTable, Presences], ...] = ()
    """For such tables from a ledger: their margins, and who is in which class of each."""

    def __post_init__(self) -> None:
        only_people = not self.frames and self.presences is not None
        if not only_people and WHOLE not in self.frames and not {QUASI, VALUES} <= set(self.frames):
            raise DataError(_WRONG)

    @property
    def main(self) -> pl.DataFrame:
        """The table that has the quasi-identifiers."""
        return self.frames.get(WHOLE, self.frames.get(QUASI, pl.DataFrame()))

    @property
    def values(self) -> pl.DataFrame:
        """The table that has the sensitive values: the same, or the second one."""
        return self.frames[VALUES] if self.apart else self.main

    @property
    def apart(self) -> bool:
        """Whether the sensitive values are in a table of their own."""
        return WHOLE not in self.frames and VALUES in self.frames

    @property
    def numbered(self) -> bool:
        """Whether the column `group` numbers groups: 1, 2, ... (or 0, 1, ...) without a gap; or joins two tables."""
        if self.apart or GROUP not in self.main.columns:
            return self.apart
        number = whole_numbers(self.main[GROUP])
        low, high = number.min(), number.max()
        if number.null_count() or not (isinstance(low, int) and isinstance(high, int)):
            return False
        return low in {0, 1} and high - low + 1 == number.n_unique()

    @property
    def slotted(self) -> bool:
        """Whether groups are numbered and the column `slot` numbers rows: whole numbers, all different."""
        if self.apart or SLOT not in self.main.columns or not self.numbered:
            return False
        number = whole_numbers(self.main[SLOT])
        return number.dtype.is_integer() and not number.null_count() and number.n_unique() == len(number)

    @property
    def public(self) -> dict[str, pl.Series]:
        """The columns that say something about people: all but the numbers and sizes of groups."""
        numbers = {GROUP, SLOT} if self.slotted else {GROUP}
        own = {GROUP, COUNT} if self.apart else numbers if self.numbered else set()
        found = {name: self.main[name] for name in self.main.columns if name not in own - {COUNT}}
        return found | {name: self.values[name] for name in self.values.columns if self.apart and name not in own}

    @property
    def counterfeits(self) -> pl.DataFrame | None:
        """The number of counterfeits in each group, if that was published."""
        return self.frames.get(COUNTERFEITS)


def read_tables(data: Any, schema: Schema | None = None, *, dialect: Dialect = FOUND, as_text: bool = True) -> Tables:
    """The tables of a release: a path, a dataframe, a Release, a mapping of tables by name, or a list of them in order.

    Beside a file, the further tables of the same release are read too. With `as_text` published columns keep their
    characters (all of them without a schema); else numbers become numbers.
    """
    if isinstance(data, Tables):
        return data
    if isinstance(data, Release):
        return Tables(data.tables, source=data)
    data = database_table(data) if isinstance(data, str) and is_database_url(data) else data
    reader = _Reader(schema, dialect, as_text)
    if isinstance(data, str | Path):
        return reader.with_beside(Path(data))
    if isinstance(data, tuple | list):
        return reader.in_order(data)
    named = data if isinstance(data, Mapping) else {WHOLE: data}
    return Tables({name: reader.frame(one) for name, one in named.items()})


@dataclass(frozen=True)
class _Reader:
    schema: Schema | None
    dialect: Dialect
    as_text: bool

    def frame(self, data: Any) -> pl.DataFrame:
        """One table."""
        if not isinstance(data, str | Path) or not self.as_text:
            return to_polars(data, self.schema, dialect=self.dialect, repair=False)[0]
        if self.schema is None:
            return read_file(data, as_text=None, dialect=self.dialect)
        codes = tuple(name for name, one in self.schema.hierarchies.items() if one.kind == "prefix")
        public = (*self.schema.quasi, *self.schema.sensitive)
        return read_together(data, self.schema, text=codes, as_text=public, dialect=self.dialect)

    def in_order(self, data: Sequence[Any]) -> Tables:
        """One table or two; files that lie beside the first one may be named too."""
        if data and all(isinstance(one, str | Path) for one in data):
            data = releases_among([Path(one) for one in data])
            if len(data) == 1:
                return self.with_beside(data[0])
        names = {1: (WHOLE,), 2: (QUASI, VALUES)}.get(len(data), ())
        return Tables({name: self.frame(one) for name, one in zip(names, data, strict=False)})

    def with_beside(self, path: Path) -> Tables:
        """Read a file and its further tables."""
        main = self.frame(path)
        if not path.is_file():
            return Tables({WHOLE: main}, path)
        values = self._values(path, main)
        frames = {WHOLE: main} if values is None else {QUASI: main, VALUES: values}
        counted = self._beside(path, COUNTERFEITS)
        if counted is not None and COUNTERFEITS in counted.columns and _fits(counted, main):
            frames[COUNTERFEITS] = counted
        side = self._side(path)
        return Tables(frames if side is None else frames | {SIDE: side}, path)

    def _side(self, path: Path) -> pl.DataFrame | None:
        """The side table of randomized values, with published and true values written alike."""
        beside = Path(second_path(path, SIDE))
        found = read_file(beside, as_text=None, dialect=self.dialect) if beside.is_file() else None
        if found is None or not {"chance", "share", "version"} <= set(found.columns):
            return None
        return found.with_columns(pl.col("chance", "share", "version").cast(pl.Float64, strict=False))

    def _values(self, path: Path, main: pl.DataFrame) -> pl.DataFrame | None:
        """The second table, if there is one with sensitive columns that the first lacks."""
        if GROUP not in main.columns:
            return None
        if self.schema is not None and (
            GROUP in self.schema.columns or not set(self.schema.sensitive) - set(main.columns)
        ):
            return None
        values = self._beside(path, VALUES)
        own = set() if values is None or GROUP not in values.columns else set(values.columns) - {GROUP, COUNT}
        return values if own - set(main.columns) else None

    def _beside(self, path: Path, name: str) -> pl.DataFrame | None:
        beside = Path(second_path(path, name))
        return self.frame(beside) if beside.is_file() else None


def _fits(counted: pl.DataFrame, main: pl.DataFrame) -> bool:
    """Whether a table of counterfeits names groups as the first table does."""
    marks = set(counted.columns) - {COUNTERFEITS}
    return bool(marks) and marks <= set(main.columns)


def whole_numbers(column: pl.Series) -> pl.Series:
    """A column as whole numbers, whatever type holds them, if it has no others; else as text."""
    if column.dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(pl.String)
    text = column.cast(pl.String)
    number = (column.fill_nan(None) if column.dtype.is_float() else text).cast(pl.Float64, strict=False)
    whole = number.cast(pl.Int64, strict=False)
    same = whole.null_count() == column.null_count() and (whole == number).drop_nulls().all()
    return whole if same and column.null_count() < len(column) else text


# --- files that a user names as releases -----------------------------------------------------------------------------

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2]|q[1-4])?(?:[-_.]?([0-2]\d|3[01]))?(?!\d)")
_NAME = re.compile(rf"(?<![a-z])({'|'.join(_MONTHS)})[a-z]*")
_NUMBER = re.compile(r"\d+")


def releases_among(paths: Sequence[Any]) -> list[Any]:
    """Leave out second tables, which are read with the first one: a pattern names them too."""
    files = [path for path in paths if isinstance(path, Path) and not path.is_dir() and part_of(path)[1] is None]
    beside = {Path(second_path(path, name)) for path in files for name in SECOND_TABLES}
    return [path for path in paths if path not in beside]


def order_hint(paths: Sequence[Any]) -> str:
    """A sentence if the dates, months or numbers in the file names suggest another order; otherwise an empty string."""
    keys = _keys([path.name.lower() for path in paths])
    if all(before <= after for before, after in pairwise(keys)):
        return ""
    return (
        "The files' names tell another order than the one they were given in. Releases are read in the order given, as "
        "that of their publication: if it is wrong, what follows is wrong."
    )


def dates_of(names: Sequence[str]) -> list[tuple[int, ...]]:
    """The dates in some names; none if some name lacks one."""
    found = [_DATE.search(name) for name in names]
    return [_date(one) for one in found if one] if names and all(found) else []


def _keys(names: Sequence[str]) -> list[tuple[int, ...]]:
    """Sort keys of the names: dates, otherwise months, otherwise their last numbers; none if some name lacks it."""
    dates = dates_of(names)
    if dates:
        return dates
    months = [_NAME.search(name) for name in names]
    if all(months):
        return _around([_MONTHS.index(found[1]) for found in months if found])
    numbers = [_NUMBER.findall(name.partition(".")[0]) for name in names]
    return [(int(found[-1]),) for found in numbers] if all(numbers) else []


def _date(found: re.Match[str]) -> tuple[int, ...]:
    year, part, day = found.groups()
    month = 0 if part is None else 3 * int(part[1]) - 2 if part[0] == "q" else int(part)
    return int(year), month, int(day or 0)


def _around(months: Sequence[int]) -> list[tuple[int, ...]]:
    """Months without a year: January may follow December."""
    years = [0]
    for before, after in pairwise(months):
        years.append(years[-1] + (before == 11 and after == 0))
    return list(zip(years, months, strict=True))
