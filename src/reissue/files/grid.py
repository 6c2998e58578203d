"""Sheets as they are: every cell of a CSV file or a workbook as text, row by row, for those who look for defects.

Nothing is left out, so that rows can be named by their numbers in the file. Of a workbook, cells that were merged over
several rows are named too: only the first of them holds the value.
"""

import csv
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import DataError
from reissue.files.child import ask_reader
from reissue.files.csv import unescape_formulas
from reissue.files.dialect import Dialect, detect_csv_dialect
from reissue.files.excel import grid_of, sheet_of
from reissue.files.places import format_of, part_of, refuse_absent

__all__ = ["Grid", "Span", "grid_facts", "has_grid", "read_grid", "read_grid_here"]

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
_BOOKS = (".xlsx", ".xls", ".ods")
_LARGEST = 2**28
"""Maximum bytes of a text file that is read cell by cell."""
_MERGED = re.compile(r"^([A-Z]+)(\d+):([A-Z]+)(\d+)$")
_MOST_XML = 2**28
"""Maximum bytes of a sheet's XML in which merged cells are looked for."""

Span = tuple[int, int, int, int]
"""Merged cells: first row, last row, first column, last column, from 0."""


@dataclass(frozen=True, eq=False)
class Grid:
    """All cells of a sheet as text."""

    rows: list[list[str | None]]
    dialect: Dialect
    """How the sheet was read."""
    header: int | None = None
    """The row of the column names, counted from 1, if somebody said it."""
    merged: tuple[Span, ...] = ()
    others: tuple[str, ...] = ()
    """Further sheets of the workbook."""


def has_grid(path: Path) -> bool:
    """Whether a file is text or a workbook, of a size that is read cell by cell."""
    file, _ = part_of(path)
    if not file.is_file() or not file.name.lower().endswith((*_TEXT, *_BOOKS)):
        return False
    return format_of(file) in _BOOKS or file.stat().st_size <= _LARGEST


def read_grid(path: Path, dialect: Dialect) -> Grid:
    """Return every cell of a sheet; a workbook is read in the reader process."""
    file, part = part_of(path)
    refuse_absent(file)
    dialect = dialect if part is None else replace(dialect, sheet=part)
    if format_of(file) in _BOOKS:
        given = {"path": str(file), "dialect": asdict(dialect)}
        frame: pl.DataFrame = ask_reader("grid", file, given)
        about = ask_reader("grid_facts", file, given)
        own = Dialect(**about["dialect"])
        rows = [[cell if cell is None else str(cell) for cell in row] for row in frame.rows()]
        merged = tuple(tuple(one) for one in about["merged"])
        return Grid(rows, own, dialect.header, merged, tuple(about["others"]))
    own = detect_csv_dialect(file, dialect, packed=format_of(file).endswith(".gz"))
    return Grid(_csv_rows(file, own), own, dialect.header)


def read_grid_here(given: dict[str, Any]) -> pl.DataFrame:
    """Return the cells of a workbook's sheet as text, in this process."""
    return grid_of(Path(given["path"]), Dialect(**given["dialect"]))


def grid_facts(given: dict[str, Any]) -> dict[str, Any]:
    """Return how a workbook's sheet is read, its merged cells, and what other sheets there are."""
    path = Path(given["path"])
    dialect, others = sheet_of(path, Dialect(**given["dialect"]))
    name = dialect.sheet or ""
    return {"dialect": asdict(dialect), "others": others, "merged": list(_merged(path, name))}


def _csv_rows(path: Path, dialect: Dialect) -> list[list[str | None]]:
    try:
        with gzip.open(path, "rb") if format_of(path).endswith(".gz") else path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        text = content.decode(dialect.encoding or "utf-8").removeprefix("\ufeff")
        found = list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter or ",", strict=False))
    except (OSError, EOFError, zlib.error, UnicodeError, csv.Error):
        raise DataError(f"'{path}' cannot be read as text: its encoding, quotes or compression are wrong.") from None
    if len(content) > _LARGEST:
        raise DataError(f"'{path}' is too large to be looked at cell by cell.")
    return [[cell or None for cell in row] for row in _rearmed(found)]


def _rearmed(rows: list[list[str]]) -> list[list[str]]:
    """The cells without the apostrophes that protect spreadsheets from formulas."""
    if not any(cell.startswith("'") for row in rows for cell in row):
        return rows
    cells = unescape_formulas(pl.DataFrame({"cell": [cell for row in rows for cell in row]}))["cell"].to_list()
    found = iter(cells)
    return [[next(found) for _ in row] for row in rows]


# --- merged cells of .xlsx -------------------------------------------------------------------------------------------


def _merged(path: Path, sheet: str) -> Iterator[Span]:
    """Cells merged over several rows; nothing for other formats, which do not say it in this way."""
    if path.suffix.lower() != ".xlsx":
        return
    with suppress(zipfile.BadZipFile, KeyError, OSError, NotImplementedError), zipfile.ZipFile(path) as book:
        place = _sheet_file(book, sheet)
        if place is None or book.getinfo(place).file_size > _MOST_XML:
            return
        with book.open(place) as file:
            head, _, rest = file.read().partition(b"<sheetData")
        tail = rest.rpartition(b"</sheetData>")[2].decode("utf-8", "replace")
        size = re.search(rb'dimension ref="([A-Z]+)', head)
        left = _column(size[1].decode()) if size else 0  # empty columns on the left are not read
        for ref in re.findall(r'<(?:\w+:)?mergeCell [^>]*ref="([A-Z0-9:]+)"', tail):
            found = _MERGED.match(ref)
            if found:
                yield int(found[2]) - 1, int(found[4]) - 1, _column(found[1]) - left, _column(found[3]) - left


def _sheet_file(book: zipfile.ZipFile, sheet: str) -> str | None:
    """The part of the package that holds a sheet (empty: the first)."""
    names = book.read("xl/workbook.xml").decode("utf-8", "replace")
    links = book.read("xl/_rels/workbook.xml.rels").decode("utf-8", "replace")
    targets = {}
    for link in re.findall(r"<(?:\w+:)?Relationship [^>]*>", links):
        key, target = re.search(r'\bId="([^"]+)"', link), re.search(r'\bTarget="([^"]+)"', link)
        if key and target:
            targets[key[1]] = target[1].removeprefix("/xl/").removeprefix("xl/")
    for one in re.findall(r"<(?:\w+:)?sheet [^>]*>", names):
        name, key = re.search(r'\bname="([^"]*)"', one), re.search(r'\b\w+:id="([^"]+)"', one)
        if name and key and sheet in {"", unescape(name[1])}:
            return f"xl/{targets[key[1]]}"
    return None


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
