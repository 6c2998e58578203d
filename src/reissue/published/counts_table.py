"""Published tables of counts among releases: opened as such where attacks take them, refused where rows must be people.

A workbook is one release with all of its sheets that are tables of counts; so is a folder of such files. Text files may
have a title above the header and notes below the table.
"""

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from reissue.contingency.cells import AS_SHOWN, CountRules
from reissue.contingency.reading import count_tables
from reissue.contingency.recognition import counts_in
from reissue.contingency.table import CountTable
from reissue.data.table import to_polars
from reissue.errors import DataError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.excel import sheets_of
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
_DELIMITERS = ",;\t|"
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
    return [_opened(one, schema, named, rules, dialect) or one for one in releases]


def _opened(
    data: Any, schema: Schema | None, named: Collection[str], rules: CountRules | None, dialect: Dialect
) -> Tables | None:
    path = Path(data) if isinstance(data, str | Path) and "://" not in str(data) else None
    if path is not None:
        parts = list(_frames(path, dialect))
    elif isinstance(data, Tables):
        parts = [_Part("", data.main)] if not data.counts and counting_columns(data, schema, named) else []
    elif isinstance(data, Release) or hasattr(data, "tables") or not hasattr(type(data), "columns"):
        parts = []
    else:
        parts = [_Part("", to_polars(data, None)[0])]
    counted = [one for one in parts if _counts_in(one.frame, schema, named)]
    if not counted and (rules is None or not parts):
        return None
    known = () if schema is None else (*schema.quasi, *schema.sensitive)
    found: list[CountTable] = []
    for one in counted or parts:
        found += count_tables(one.frame, one.name, rules or AS_SHOWN, known)
    return Tables({WHOLE: (counted or parts)[0].frame}, path, counts=tuple(found))


@dataclass(frozen=True, eq=False)
class _Part:
    """A sheet or a file of a release."""

    name: str
    frame: pl.DataFrame


def _frames(path: Path, dialect: Dialect) -> Iterator[_Part]:
    """The tables of a file as text, if it can be one of counts: small, and of a kind that such tables have."""
    place, sheet = part_of(path)
    if place.is_dir():
        files = sorted(one for one in place.iterdir() if one.suffix.lower() in _BOOKS | _TEXTS)
        parts = [part for one in files for part in _frames(one, dialect)]
        yield from (_Part(part.name or one.stem, part.frame) for one, part in zip(files, parts, strict=False))
        return
    if place.suffix.lower() in _BOOKS and place.is_file() and sheet is None and dialect.sheet is None:
        names = sheets_of(place)
        for name in names:
            frame = read_file(f"{place}#{name}", as_text=None, dialect=dialect)
            yield _Part(name if len(names) > 1 else "", frame)
        return
    if place.is_file() and place.suffix.lower() in _BOOKS | _TEXTS and place.stat().st_size <= _LARGEST_FILE:
        try:
            yield _Part("", read_file(path, as_text=None, dialect=dialect))
        except DataError:
            bare = _without_title(place)
            if bare is None:
                raise
            yield _Part("", bare)


def _without_title(path: Path) -> pl.DataFrame | None:
    """A small text file without the lines above its header and below its last row; None if it has no such lines."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    best = max(_DELIMITERS, key=text.count)
    rows = [row for row in csv.reader(text.splitlines(), delimiter=best) if any(cell.strip() for cell in row)]
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    if not rows or max(filled) < 2:
        return None
    header = filled.index(max(filled))
    width = len(rows[header])
    names = [cell.strip() or f"column {place}" for place, cell in enumerate(rows[header], start=1)]
    below = zip(rows[header + 1 :], filled[header + 1 :], strict=True)
    body = [(row + [""] * width)[:width] for row, cells in below if cells > 1]
    if len(set(names)) < width or not body:
        return None
    return pl.DataFrame({name: [row[place] for row in body] for place, name in enumerate(names)})


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
