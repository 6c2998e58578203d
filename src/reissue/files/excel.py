"""Workbooks in and out: .xlsx, .xls and .ods are read, .xlsx is written.

Unless a sheet is named, it is the first one with columns and rows. Its header is the first row that has as many cells
as the widest of the first rows, so that a title above the table does no harm. Numbers and dates entered as text are
read as in CSV.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import DataError, InputError, nearest
from reissue.files.cells import report_missing, typed_cells, whole_if_all_are
from reissue.files.child import ask_reader
from reissue.files.csv import escape_formulas, unescape_formulas
from reissue.files.dialect import Dialect
from reissue.files.extras import import_optional
from reissue.files.layout import find_layout
from reissue.files.limits import refuse_large_package

__all__ = [
    "detect_excel_dialect",
    "grid_of",
    "read_excel",
    "sheet_of",
    "sheets_here",
    "sheets_of",
    "write_excel",
]

_FIRST = 40
"""Number of rows in which the header is searched for."""
_NO_DAY = [date(1899, 12, 30), date(1899, 12, 31)]
"""The date that a cell with only a time of day has."""
_MIDNIGHT = r"^(\d{4}-\d{2}-\d{2})[ T]00:00:00(?:\.0+)?$"
_TIME_ONLY = r"^1899-12-3[01][ T](\d{2}:\d{2}:\d{2})$"
_MOST_ROWS = 1_048_575
"""Maximum number of rows of a sheet below its header."""


def detect_excel_dialect(path: Path, given: Dialect) -> Dialect:
    """Detect the sheet and the row of its header; the sheet is named only if there are several."""
    refuse_large_package(path)
    book = _book(path)
    if given.sheet is not None and given.sheet not in book.sheet_names:
        raise DataError(f"'{path}' has no sheet '{given.sheet}'." + nearest(given.sheet, book.sheet_names))
    sheet = given.sheet or next(iter(_tables(book)), book.sheet_names[0])
    header = given.header or _header(_first_rows(book, sheet), sheet, book.sheet_names)
    several = len(book.sheet_names) > 1 or given.sheet is not None
    return replace(given, sheet=sheet if several else None, header=header)


def sheet_of(path: Path, given: Dialect) -> tuple[Dialect, list[str]]:
    """Return the dialect with the sheet that is read, and the other sheets that hold tables."""
    found = detect_excel_dialect(path, given)
    book = _book(path)
    own = found.sheet or book.sheet_names[0]
    return replace(found, sheet=own), [name for name in _tables(book) if name != own]


def grid_of(path: Path, given: Dialect) -> pl.DataFrame:
    """Return all cells of a sheet as text, as a spreadsheet would export them, without a header."""
    found, _ = sheet_of(path, given)
    frame = _sheet(_book(path), found.sheet or "", header_row=None, skip_rows=0, dtypes="string")
    return unescape_formulas(frame.select(_as_shown(column) for column in frame.iter_columns()))


def _as_shown(column: pl.Series) -> pl.Series:
    """Days without their midnight, times without the day that a workbook stores with them, blank cells as missing."""
    shown = column.str.replace(_MIDNIGHT, "${1}").str.replace(_TIME_ONLY, "${1}")
    return pl.select(pl.when(shown.str.strip_chars() != "").then(shown)).to_series().alias(column.name)


def sheets_here(path: Path) -> list[str]:
    """The sheets of a workbook that have columns and rows, read in this process."""
    refuse_large_package(path)
    book = _book(path)
    return [name for name in book.sheet_names if _is_table(book, name)]


def sheets_of(path: Path) -> list[str]:
    """The same, read in the reader process."""
    return [str(name) for name in ask_reader("sheets", path, {"path": str(path)})]


def read_excel(
    path: Path,
    dialect: Dialect,
    *,
    text: Sequence[str] = (),
    as_text: Sequence[str] | None = (),
    only: Sequence[str] = (),
) -> pl.DataFrame:
    """Read a sheet in a known dialect; columns of mixed types are text. If it has all columns in `only`, just those."""
    book = _book(path)
    sheet = dialect.sheet or book.sheet_names[0]
    row = (dialect.header or 1) - 1
    frame = _sheet(book, sheet, header_row=row, schema_sample_rows=None)
    names = _sheet(book, sheet, header_row=None, skip_rows=row, n_rows=1, dtypes="string").row(0) if frame.width else ()
    if len(set(names)) < len(names):
        raise DataError(
            f"'{path}' has column names that occur more than once. Every column needs one of its own; `reissue clean` "
            "gives it one."
        )
    frame = _filled(frame.select(_plain(column) for column in frame.iter_columns()))
    if only and set(only) <= set(frame.columns):
        frame = frame.select(name for name in frame.columns if name in set(only))
    frame, marks = typed_cells(unescape_formulas(frame), dialect, text=text, as_text=as_text)
    report_missing(path, marks)
    texts = frame.columns if as_text is None else [name for name in frame.columns if name in {*text, *as_text}]
    return frame.with_columns(pl.col(name).cast(pl.String) for name in texts)


def _book(path: Path) -> Any:
    fastexcel = import_optional("fastexcel", "excel", f"'{path}' is a workbook")
    try:
        book = fastexcel.read_excel(path)
    except fastexcel.FastExcelError:
        raise DataError(f"'{path}' is not a whole workbook, or it is protected by a password.") from None
    if not book.sheet_names:
        raise DataError(f"'{path}' has no sheets.")
    return book


def _sheet(book: Any, name: str, **options: Any) -> pl.DataFrame:
    import fastexcel

    try:
        found: pl.DataFrame = book.load_sheet(name, **options).to_polars()
    except fastexcel.FastExcelError:
        raise DataError("The sheet has no table, or its header lies below its last row.") from None
    return found


def _first_rows(book: Any, name: str) -> pl.DataFrame:
    return _sheet(book, name, header_row=None, skip_rows=0, n_rows=_FIRST, dtypes="string")


def _tables(book: Any) -> list[str]:
    """The sheets that hold tables, those that are hidden last."""
    found = [name for name in book.sheet_names if _is_table(book, name)]
    return sorted(found, key=lambda name: book.load_sheet(name, n_rows=0).visible != "visible")


def _is_table(book: Any, name: str) -> bool:
    """Whether a sheet has columns and rows; a title page has none."""
    try:
        first = _first_rows(book, name)
    except DataError:
        return False
    return first.width > 1 and first.height > 1


def _header(first: pl.DataFrame, sheet: str, sheets: Sequence[str]) -> int:
    """The row of the column names, counted from 1."""
    if not first.width or not first.height:
        others = ", ".join(f"'{name}'" for name in sheets if name != sheet)
        raise DataError(f"The sheet '{sheet}' is empty." + (f" There is also {others}." if others else ""))
    return find_layout(first.rows()).named + 1


def _plain(column: pl.Series) -> pl.Series:
    """Whole numbers, dates and times as such, as a sheet shows them; blank text as missing."""
    if column.dtype.is_float():
        return whole_if_all_are(column)
    if column.dtype == pl.Datetime:
        days = column.dt.date()
        if days.drop_nulls().is_in(_NO_DAY).all() and len(column) > column.null_count():
            return column.dt.time()
        return days if (days.cast(column.dtype) == column).fill_null(value=True).all() else column
    return _as_shown(column) if column.dtype == pl.String else column


def _filled(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame without empty rows, and without columns that have neither a name nor a cell."""
    nameless = [name for name in frame.columns if name.startswith("__UNNAMED__")]
    frame = frame.drop([name for name in nameless if frame[name].null_count() == frame.height])
    return frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width else frame


def write_excel(frame: pl.DataFrame, path: Path, sheet: str = "release") -> None:
    """Write one sheet without formulas; text that a spreadsheet would run gets an apostrophe as in CSV."""
    xlsxwriter = import_optional("xlsxwriter", "excel", "A workbook is asked for")
    if frame.height > _MOST_ROWS:
        raise InputError(f"A sheet has at most {_MOST_ROWS:,} rows. Choose another ending, such as .csv or .parquet.")
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
    with xlsxwriter.Workbook(str(path), options) as book:
        escape_formulas(frame).write_excel(book, worksheet=sheet[:31], autofit=False, table_style=None)
