"""Published tables of counts among releases: opened as such where attacks take them, refused where rows must be people.

A workbook is one release with all of its sheets that are tables of counts; so is a folder of such files. Text files may
have a title above the header and notes below the table.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue.contingency.cells import AS_SHOWN, UNBOUNDED, CountRules
from reissue.contingency.reading import count_tables
from reissue.contingency.recognition import counts_in
from reissue.contingency.sheet import plain_rows, sheet_tables
from reissue.contingency.table import CountTable
from reissue.data.table import to_polars
from reissue.errors import DataError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.excel import sheets_of
from reissue.files.grid import read_grid
from reissue.files.places import part_of
from reissue.files.tables import read_file
from reissue.published.tables import WHOLE, Tables
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.words import words_of

__all__ = ["counting_columns", "linked", "open_counts", "refuse_counts"]

_BOOKS = {".xlsx", ".xls", ".ods"}
_TEXTS = {".csv", ".tsv", ".txt"}
_LARGEST_FILE = 8_000_000
"""Bytes of a file that is looked at as a table of counts, at most: such tables are small."""
_CLASSES = words_of("group groups band bands class classes category range bracket gruppe")
"""Words beside the name of what is classified."""


# --- recognized -------------------------------------------------------------------------------------------------------


def counting_columns(tables: Tables, schema: Schema | None, named: Collection[str] = ()) -> tuple[str, ...]:
    """The columns that hold counts of a table of counts; none if rows are people, or somebody says so.

    The schema or the caller (`named`) says so by giving its counts a role.
    """
    if tables.source is not None or tables.apart or tables.times is not None or not tables.frames:
        return ()
    return _counts_in(tables.main, schema, named)


def _counts_in(frame: pl.DataFrame, schema: Schema | None, named: Collection[str] = ()) -> tuple[str, ...]:
    found = counts_in(frame)
    said = {*named, *(() if schema is None else schema.columns)}
    return () if said.intersection(found) else found


def refuse_counts(tables: Tables, schema: Schema | None, name: str, named: Collection[str] = ()) -> None:
    """Raise DataError for a table of counts."""
    found = counting_columns(tables, schema, named)
    if not found:
        return
    columns, why = " and ".join(f"'{column}'" for column in found), _WHY[len(found) == 1]
    raise DataError(
        f"{name[0].upper()}{name[1:]} looks like a table of counts, not of people: {why.format(columns=columns)}. "
        "Tables of counts are attacked with `reissue attack` and published with `reissue publish`; here every row "
        "would be taken for one person. If rows are people all the same, say so by naming the column in a schema, for "
        f'example under [columns]: {found[0]} = "drop".'
    )


_WHY = {
    True: "the column {columns} holds whole numbers, and every combination of the other columns occurs once",
    False: "the columns {columns} hold whole numbers and their totals",
}


# --- opened -----------------------------------------------------------------------------------------------------------


def open_counts(
    releases: Sequence[Any],
    schema: Schema | None = None,
    *,
    named: Collection[str] = (),
    rules: CountRules | None = None,
    dialect: Dialect = FOUND,
) -> list[Any]:
    """Releases, of which those that are tables of counts are opened; all others stay as they are.

    Parameters
    ----------
    releases
        Paths, dataframes, or releases that are open.
    schema, named
        A schema, or names of columns, that may say that rows are people.
    rules
        How counts were protected. Where it is given, releases that could be tables of counts are.
    dialect
        How the cells of text files are written.

    """
    opened = [_opened(one, schema, named, rules, dialect) or one for one in releases]
    counted = [table for one in opened if isinstance(one, Tables) for table in one.counts]
    if rules is None and any(map(_at_random, counted)) and not all(map(_at_random, counted)):
        # What shows in one release that its numbers were rounded at random holds for the others.
        return open_counts(releases, schema, named=named, rules=CountRules(random=True), dialect=dialect)
    return opened


def _at_random(table: CountTable) -> bool:
    """Whether numbers are taken to be rounded to either neighbour, or not to be rounded."""
    return table.base == 1 or bool((np.minimum(table.high, UNBOUNDED) - table.low >= table.base).any())


def _opened(
    data: Any, schema: Schema | None, named: Collection[str], rules: CountRules | None, dialect: Dialect
) -> Tables | None:
    path = Path(data) if isinstance(data, str | Path) and "://" not in str(data) else None
    if path is not None:
        return _of_file(path, schema, named, rules, dialect)
    if isinstance(data, Tables):
        parts = [_Part("", data.main)] if not data.counts and counting_columns(data, schema, named) else []
    elif isinstance(data, Release) or hasattr(data, "tables") or not hasattr(type(data), "columns"):
        parts = []
    else:
        parts = [_Part("", to_polars(data, None)[0])]
    return _counted(_recognized(parts, schema, named, rules), None, schema, rules)


def _of_file(
    path: Path, schema: Schema | None, named: Collection[str], rules: CountRules | None, dialect: Dialect
) -> Tables | None:
    """The tables of counts of a file or a folder; None where it has none.

    It is read as any table is, and where that shows no counts, cell by cell as people publish them.
    """
    parts, problem = [], None
    try:
        parts = _recognized(list(_plain(path, dialect)), schema, named, rules)
    except DataError as wrong:
        problem = wrong
    found = parts or _recognized(list(_in_sheets(path, dialect)), schema, named, rules)
    if not found and problem is not None:
        raise problem
    return _counted(found, path, schema, rules)


@dataclass(frozen=True, eq=False)
class _Part:
    """A sheet or a file of a release."""

    name: str
    frame: pl.DataFrame


def _recognized(
    parts: Sequence[_Part], schema: Schema | None, named: Collection[str], rules: CountRules | None
) -> list[_Part]:
    """The parts that are tables of counts; all of them where somebody says how counts were protected."""
    counted = [one for one in parts if _counts_in(one.frame, schema, named)]
    return counted or ([] if rules is None else list(parts))


def _counted(
    parts: Sequence[_Part], path: Path | None, schema: Schema | None, rules: CountRules | None
) -> Tables | None:
    """The tables of counts in some parts."""
    if not parts:
        return None
    known = () if schema is None else (*schema.quasi, *schema.sensitive)
    found: list[CountTable] = []
    for one in parts:
        found += count_tables(one.frame, one.name, rules or AS_SHOWN, known)
    return Tables({WHOLE: parts[0].frame}, path, counts=tuple(found))


def _files(path: Path) -> list[tuple[str, Path]]:
    """The small files of a release that may hold counts, with their names in a folder."""
    place, _ = part_of(path)
    if place.is_dir():
        return [(one.stem, one) for one in sorted(place.iterdir()) if _may_count(one)]
    return [("", path)] if _may_count(place) else []


def _may_count(place: Path) -> bool:
    kind = place.suffix.lower()
    return place.is_file() and (kind in _BOOKS or (kind in _TEXTS and place.stat().st_size <= _LARGEST_FILE))


def _sheets(path: Path, dialect: Dialect) -> list[tuple[str, str | Path]]:
    """The sheets of a workbook, with their names if there are several; or the file."""
    place, sheet = part_of(path)
    if place.suffix.lower() not in _BOOKS or sheet is not None or dialect.sheet is not None:
        return [("", path)]
    names = sheets_of(place)
    return [(name if len(names) > 1 else "", f"{place}#{name}") for name in names]


def _plain(path: Path, dialect: Dialect) -> Iterator[_Part]:
    """The tables of a file as any table is read, as text."""
    for name, file in _files(path):
        for sheet, place in _sheets(file, dialect):
            yield _Part(sheet or name, read_file(place, as_text=None, dialect=dialect))


def _in_sheets(path: Path, dialect: Dialect) -> Iterator[_Part]:
    """The tables that are found in a file's cells, below titles and above notes."""
    for name, file in _files(path):
        for sheet, place in _sheets(file, dialect):
            rows = read_grid(Path(place), dialect).rows
            tables = [] if plain_rows(rows) else sheet_tables(rows)
            for one in tables:
                title = sheet or name or (one.title if len(tables) > 1 else "")
                yield _Part(title, one.frame)


# --- linked to a schema -----------------------------------------------------------------------------------------------


def linked(table: CountTable, schema: Schema) -> CountTable:
    """The table with the schema's names for its dimensions.

    A dimension is a column of the schema by its name, or by its name without words for classes (`AGE_GROUP`). The
    header of a cross table is the one sensitive column that no other dimension is.
    """
    columns = [*schema.quasi, *schema.sensitive]
    names: dict[str, str] = {}
    for name in table.dimensions:
        words = words_of(name)
        bare = words - _CLASSES or words
        fits = [one for one in columns if one == name] or [
            one for one in columns if words_of(one) in (words, bare) or (words_of(one) - _CLASSES == bare)
        ]
        if len(fits) == 1 and fits[0] not in names.values():
            names[name] = fits[0]
    unnamed = [name for name in table.dimensions if name not in names]
    free = [one for one in schema.sensitive if one not in names.values()]
    if len(unnamed) == 1 and len(free) == 1 and unnamed[0] == "column":
        names[unnamed[0]] = free[0]
    return table.renamed(names)


def schema_columns(tables: Sequence[CountTable]) -> tuple[str, ...]:
    """The dimensions of tables without a schema."""
    if not tables:
        raise InputError("There are no tables of counts.")
    return tuple(dict.fromkeys(name for one in tables for name in one.dimensions))
