"""Tables in and out: CSV in any dialect, Parquet, Arrow, workbooks, files of statistics packages, databases.

Files are written completely or not at all: beside their place, and moved there when they are complete. CSV cells that
a spreadsheet would run as formulas get a leading apostrophe, which reading removes.
"""

import codecs
import csv
import gzip
import zlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import polars as pl

from reissue.errors import DataError, InputError
from reissue.files.cells import report_missing, without_codes
from reissue.files.child import ask_reader
from reissue.files.csv import escape_formulas, read_csv
from reissue.files.databases import DatabaseTable, writing
from reissue.files.dialect import DATES, FOUND, PLAIN, Dialect, detect_csv_dialect
from reissue.files.excel import detect_excel_dialect, read_excel, write_excel
from reissue.files.limits import refuse_large_parquet
from reissue.files.places import DATABASES, FORMATS, format_of, part_of, refuse_absent, refuse_existing
from reissue.files.staging import Staging, reason
from reissue.files.statistics import read_statistics, write_statistics

__all__ = [
    "csv_bytes",
    "detect_dialect",
    "detect_dialect_here",
    "escape_formulas",
    "nested",
    "read_file",
    "read_here",
    "refuse_nested",
    "stage_tables",
    "write_file",
    "write_files",
    "write_private",
    "write_text",
]

_CSV = tuple(kind for kind in FORMATS if kind.startswith((".csv", ".tsv", ".txt")))
_PLAIN = tuple(kind for kind in _CSV if not kind.endswith(".gz"))
"""Formats read in this process: their size on disk bounds their memory."""
_ARROW = (".parquet", ".arrow", ".feather")
_BOOKS = (".xlsx", ".xls", ".ods")
Place = str | Path | DatabaseTable
"""Where a table is written."""


def read_file(
    path: str | Path,
    *,
    text: Sequence[str] = (),
    as_text: Sequence[str] | None = (),
    dialect: Dialect = FOUND,
    only: Sequence[str] = (),
) -> pl.DataFrame:
    """Read a table from a file.

    Parameters
    ----------
    path
        A file, or `book.xlsx#sheet` or `clinic.sqlite#patients`.
    text
        Columns that keep their characters, such as the leading zero of a postal code.
    as_text
        Columns (None: all) that stay text, but with numbers and dates in standard notation.
    dialect
        How the file is written; what is not given is detected.
    only
        If the file has all of these columns, the others are not read.

    Raises
    ------
    InputError
        If the file is missing, damaged, too large, or needs a library that is not installed.

    """
    path, part = part_of(Path(path))
    refuse_absent(path)
    if not path.is_file():
        raise DataError(f"'{path}' is a folder, and a file is needed.")
    if path.suffix.lower() in DATABASES:
        return _of_a_database(path, part).frame
    dialect = dialect if part is None else replace(dialect, sheet=part)
    if format_of(path) in _PLAIN:
        frame = read_here(path, text=text, as_text=as_text, dialect=dialect, only=only)
    else:
        asked = {"text": list(text), "as_text": None if as_text is None else list(as_text), "only": list(only)}
        frame = ask_reader("read", path, {"path": str(path), "dialect": asdict(dialect), **asked})
    if not frame.width:
        raise DataError(f"'{path}' has no columns.")
    frame, codes = without_codes(frame, dialect, text=text, as_text=as_text)
    report_missing(path, codes)
    return frame


def read_here(
    path: Path, *, text: Sequence[str], as_text: Sequence[str] | None, dialect: Dialect, only: Sequence[str]
) -> pl.DataFrame:
    """Read a table in this process: plain text, or anything in the reader process."""
    kind = format_of(path)
    try:
        return _read(path, kind, detect_dialect_here(path, dialect), text, as_text, only)
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error, csv.Error) as problem:
        raise DataError(f"'{path}' cannot be read: {_reason(problem, kind)}") from None


def _read(
    path: Path,
    kind: str,
    dialect: Dialect,
    text: Sequence[str],
    as_text: Sequence[str] | None,
    only: Sequence[str],
) -> pl.DataFrame:
    if kind in _CSV:
        return read_csv(path, dialect, packed=kind.endswith(".gz"), text=text, as_text=as_text, only=only)
    if kind in _ARROW:
        lazy = pl.scan_parquet(path, glob=False) if kind == ".parquet" else pl.scan_ipc(path)
        names = lazy.collect_schema().names()
        wanted = [name for name in names if name in set(only)] if only and set(only) <= set(names) else names
        refuse_large_parquet(path, lazy, wanted)
        return lazy.select(wanted).collect()
    if kind in _BOOKS:
        return read_excel(path, dialect, text=text, as_text=as_text, only=only)
    return read_statistics(path, kind, only, None if as_text is None else (*text, *as_text))


def detect_dialect(path: str | Path, given: Dialect = FOUND) -> Dialect:
    """Return the dialect of a file with everything detected that was not given; `given` if it is not a file."""
    path, part = part_of(Path(path))
    if not path.is_file() or path.suffix.lower() in DATABASES:
        return given
    if format_of(path) in _BOOKS:
        given = replace(given, sheet=part or given.sheet)
        return Dialect(**ask_reader("detect_dialect", path, {"path": str(path), "dialect": asdict(given)}))
    return detect_dialect_here(path, given)


def detect_dialect_here(path: Path, given: Dialect) -> Dialect:
    """Detect the dialect of a file in this process."""
    kind = format_of(path)
    try:
        if kind in _CSV:
            return detect_csv_dialect(path, given, packed=kind.endswith(".gz"))
        return detect_excel_dialect(path, given) if kind in _BOOKS else given
    except (OSError, EOFError, zlib.error, csv.Error) as problem:
        raise DataError(f"'{path}' cannot be read: {_reason(problem, kind)}") from None


def _of_a_database(path: Path, part: str | None) -> DatabaseTable:
    if part is None:
        raise InputError(f"Which table of '{path}'? Say it after the name, as in {path.name}#patients.")
    return DatabaseTable(f"{DATABASES[path.suffix.lower()]}:///{path}", part)


def nested(dtype: pl.DataType) -> bool:
    """Whether cells of this type hold several values, or have no text form, as durations and raw bytes."""
    return dtype.is_nested() or isinstance(dtype, pl.Binary | pl.Object | pl.Duration)


def refuse_nested(frame: pl.DataFrame, names: Sequence[str]) -> None:
    """Refuse a needed column whose cells are not single values."""
    bad = [name for name in names if name in frame.columns and nested(frame.schema[name])]
    if bad:
        raise DataError(
            f"Column '{bad[0]}' holds lists, structures, durations or raw bytes, not plain values. Make it text, "
            "numbers or dates, or leave it out."
        )


def _reason(problem: Exception, kind: str) -> str:
    """Why reading failed, without the library's message, which quotes the data."""
    words = str(problem).lower()
    if isinstance(problem, OSError) and problem.errno is not None:
        return "the system refused it (permissions?)."
    if kind in _ARROW:
        return "it is not a whole Parquet file." if kind == ".parquet" else "it is not a whole Arrow file."
    if kind in _BOOKS:
        return "it is not a whole workbook."
    if "empty" in words or "no data" in words:
        return "it is empty."
    if "more fields" in words or "ragged" in words or "truncate" in words or "found more" in words:
        return "some rows have more cells than the header. Check quotes and the delimiter; `reissue clean` shows them."
    return "it is not a regular CSV file (quotes, delimiter or compression are wrong)."


def write_file(frame: pl.DataFrame, path: str | Path, *, force: bool = False, dialect: Dialect = PLAIN) -> None:
    """Write a table completely or not at all."""
    write_files([(frame, path)], force=force, dialect=dialect)


def write_files(tables: Sequence[tuple[pl.DataFrame, Place]], *, force: bool = False, dialect: Dialect = PLAIN) -> None:
    """Write several tables completely, or none of them."""
    for _, path in tables:
        if not isinstance(path, DatabaseTable):
            refuse_existing(path, force=force)
    with Staging() as staging:
        stage_tables(staging, tables, force=force, dialect=dialect)
        staging.place()


def stage_tables(
    staging: Staging, tables: Sequence[tuple[pl.DataFrame, Place]], *, force: bool = False, dialect: Dialect = PLAIN
) -> None:
    """Stage tables beside their places, to be placed with other files; tables of a database in a transaction."""
    stored = [(frame, place) for frame, place in tables if isinstance(place, DatabaseTable)]
    if stored:
        staging.add_transaction(writing(stored, force=force))
    for frame, path in tables:
        if isinstance(path, DatabaseTable):
            continue
        place = Path(path)
        try:
            staging.add(place, partial(_write, frame, kind=format_of(place), dialect=dialect), replaces=force)
        except pl.exceptions.PolarsError as problem:
            if "os error" in str(problem):
                raise InputError(f"'{place}' cannot be written: {reason(problem)}.") from None
            raise InputError(
                f"'{place}' cannot be written: a column has a type that the format lacks, such as lists. Try .parquet, "
                "or leave the column out."
            ) from None


def write_text(text: str, path: str | Path, *, force: bool = False) -> None:
    """Write a text file completely or not at all."""
    refuse_existing(path, force=force, table=False)
    with Staging() as staging:
        staging.add_bytes(Path(path), text.encode(), replaces=force)
        staging.place()


def write_private(content: bytes, path: str | Path, *, force: bool = False) -> None:
    """Write a file that only its owner can read, completely or not at all."""
    refuse_existing(path, force=force, table=False)
    with Staging() as staging:
        staging.add_bytes(Path(path), content, replaces=force, private=True)
        staging.place()


def _write(frame: pl.DataFrame, path: Path, kind: str, dialect: Dialect) -> None:
    if kind == ".parquet":
        frame.write_parquet(path)
    elif kind in _ARROW:
        frame.write_ipc(path)
    elif kind in _BOOKS:
        write_excel(frame, path)
    elif kind in _CSV:
        path.write_bytes(csv_bytes(frame, dialect, tabs=".tsv" in kind, packed=kind.endswith(".gz")))
    else:
        write_statistics(frame, path, kind)


def csv_bytes(frame: pl.DataFrame, dialect: Dialect = PLAIN, *, tabs: bool = False, packed: bool = False) -> bytes:
    """Return a table as CSV in a dialect, with no cell that a spreadsheet would run.

    With commas as delimiters numbers have a decimal point: with a decimal comma they would be quoted, and many readers
    take quoted numbers for text.
    """
    mark = "\t" if tabs else dialect.delimiter or ","
    way = DATES[dialect.dates or "yyyy-mm-dd"]
    local = dialect.dates not in {None, "yyyy-mm-dd"}
    text = escape_formulas(frame).write_csv(
        separator=mark,
        decimal_comma=dialect.decimal == "," and mark != ",",
        date_format=way if local else None,
        datetime_format=f"{way} %H:%M:%S" if local else None,
        time_format="%H:%M:%S%.f",
    )
    try:
        content = text.encode(dialect.encoding or "utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"The table has letters that the encoding {dialect.encoding} lacks. Write it in another one: --write "
            "encoding=utf-8."
        ) from None
    # A reader would drop a name's leading byte order mark, so another one is written before it.
    if (dialect.encoding or "utf-8") == "utf-8" and (dialect.bom or text.startswith("\ufeff")):
        content = codecs.BOM_UTF8 + content
    return gzip.compress(content, mtime=0) if packed else content
