"""How large a file says it is, compared with the memory that reading it may take, before anything is read.

What a file says may be a lie, so that this is no protection by itself: reading happens under a limit all the same
(`child.py`). But it is soon known, it can be said in rows and columns, and it works where a system has no limits.
"""

import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from reissue.errors import DataError
from reissue.files.memory import ENVIRONMENT, allowance, shown_bytes

__all__ = ["MOST_COLUMNS", "refuse_large_grid", "refuse_large_package", "refuse_large_parquet"]

MOST_COLUMNS = 16_384
"""Of a CSV file; a sheet has no more either. Each takes about 30 kB while it is looked at, however few its rows are."""
_CELL = 24
"""Bytes of one cell of a sheet, empty or not: reading makes a rectangle of all cells up to the last one."""
_NUMBER = 8
_MOST_ROWS = 1_048_576
_FILLED = rb'<c r="([A-Z]{1,3})%s"[^>]*[^/]>\s*<[vif]'
"""A cell of a sheet that is not empty; only of sheets as the usual programs write them."""
_COLUMN = re.compile(_FILLED % rb"\d+")
_ROW = re.compile(_FILLED.replace(b"([A-Z]{1,3})", b"[A-Z]{1,3}") % rb"(\d{1,7})")
_CHUNK = 2**20


def refuse_large_grid(path: Path, rows: int, columns: int, cell: int = _NUMBER, advice: str = "") -> None:
    """Stop if so many cells take more memory than a file may."""
    most = allowance()
    if most and rows * columns * cell > most:
        raise DataError(
            f"'{path}' has {rows:,} rows and {columns:,} columns, which take {shown_bytes(rows * columns * cell)} of "
            f"memory; a file may take {shown_bytes(most)}. {advice}If it is right, raise the limit with {ENVIRONMENT}."
        )


def refuse_large_parquet(path: Path, rows: pl.LazyFrame, only: Sequence[str]) -> None:
    """The same for a file that says how many rows it has; the columns are those that are read."""
    if not any(kind.is_nested() for kind in rows.collect_schema().dtypes()):
        refuse_large_grid(path, rows.select(pl.len()).collect().item(), len(only))


def refuse_large_package(path: Path) -> None:
    """The same for a workbook that is a zip archive of XML; another kind is left to the limit."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as package:
            size, most = sum(one.file_size for one in package.infolist()), allowance()
            if most and size > most:
                raise DataError(
                    f"'{path}' unpacks to {shown_bytes(size)}; a file may take {shown_bytes(most)} of memory. If it is "
                    f"right, raise the limit with {ENVIRONMENT}."
                )
            for name in package.namelist():
                if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                    _refuse_large_sheet(path, package, name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError):  # damaged or protected: its reader says so
        return


def _refuse_large_sheet(path: Path, package: zipfile.ZipFile, name: str) -> None:
    columns = max((_number(one) for found in _found(package, name, _COLUMN) for one in set(found)), default=0)
    most = allowance()
    if most and _MOST_ROWS * columns * _CELL > most:
        rows = max((int(one) for found in _found(package, name, _ROW) for one in found), default=0)
        advice = "Delete the cells far from the table, which may be forgotten ones. "
        refuse_large_grid(path, rows, columns, _CELL, advice)


def _found(package: zipfile.ZipFile, name: str, pattern: re.Pattern[bytes]) -> Iterator[list[bytes]]:
    """What a pattern finds in a member, a piece at a time; some of it twice."""
    with package.open(name) as member:
        before = b""
        while chunk := member.read(_CHUNK):
            yield pattern.findall(before + chunk)
            before = chunk[-200:]


def _number(letters: bytes) -> int:
    """The number of a column from its letters: A is 1, XFD is 16,384."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number
