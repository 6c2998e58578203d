"""Files in and out: CSV (also gzipped) and Parquet.

Nothing is half-written: a file is written beside its place and moved there when it is whole. CSV cells that a
spreadsheet would run as formulas get an apostrophe in front, which reading takes off again.
"""

import csv
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import polars as pl

from reissue.errors import DataError, InputError
from reissue.files.csv import disarm, read_csv
from reissue.files.places import format_of, refuse_existing
from reissue.files.staging import Staging, reason

__all__ = [
    "disarm",
    "nested",
    "read_file",
    "refuse_nested",
    "stage_tables",
    "write_file",
    "write_files",
    "write_private",
    "write_text",
]


def read_file(
    path: str | Path, *, text: Sequence[str] | None = (), delimiter: str = ",", only: Sequence[str] = ()
) -> pl.DataFrame:
    """Read a table; columns named in `text`, or all if it is None, keep their characters (a zip code its leading zero).

    If all columns named in `only` are there, the others are left unread.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file '{path}'.")
    kind = format_of(path)
    try:
        if kind == ".parquet":
            frame = _read_parquet(path, only)
        else:
            frame = read_csv(path, delimiter, packed=kind == ".csv.gz", text=text, only=only)
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error, csv.Error) as problem:
        raise DataError(f"'{path}' cannot be read: {_reason(problem, kind)}") from None
    if not frame.width:
        raise DataError(f"'{path}' has no columns.")
    return frame


def _read_parquet(path: Path, only: Sequence[str]) -> pl.DataFrame:
    lazy = pl.scan_parquet(path, glob=False)
    names = lazy.collect_schema().names()
    wanted = [name for name in names if name in set(only)] if only and set(only) <= set(names) else names
    return lazy.select(wanted).collect()


def nested(dtype: pl.DataType) -> bool:
    """Whether cells of this type hold several things, or what has no text: durations and raw bytes."""
    return dtype.is_nested() or isinstance(dtype, pl.Binary | pl.Object | pl.Duration)


def refuse_nested(frame: pl.DataFrame, names: Sequence[str]) -> None:
    """Stop if a column that is needed holds what is no single value."""
    bad = [name for name in names if name in frame.columns and nested(frame.schema[name])]
    if bad:
        raise DataError(
            f"Column '{bad[0]}' holds lists, structures, durations or raw bytes, not plain values. Make it text, "
            "numbers or dates, or leave it out."
        )


def _reason(problem: Exception, kind: str) -> str:
    """Why reading failed, without the library's message: it quotes the data."""
    words = str(problem).lower()
    if isinstance(problem, OSError) and problem.errno is not None:
        return "the system refused it (permissions?)."
    if kind == ".parquet":
        return "it is not a whole Parquet file."
    if "utf-8" in words or "utf8" in words:
        return "it is not UTF-8 text. Convert it first, for example with iconv -f latin1 -t utf-8."
    if "empty" in words or "no data" in words:
        return "it is empty."
    if "more fields" in words or "ragged" in words or "truncate" in words or "found more" in words:
        return "some rows have more cells than the header. Check quotes and the delimiter."
    return "it is not a regular CSV file (quotes, delimiter or compression are wrong)."


def write_file(frame: pl.DataFrame, path: str | Path, *, force: bool = False) -> None:
    """Write a table whole or not at all."""
    write_files([(frame, path)], force=force)


def write_files(tables: Sequence[tuple[pl.DataFrame, str | Path]], *, force: bool = False) -> None:
    """Write several tables, each whole, or none of them."""
    for _, path in tables:
        refuse_existing(path, force=force)
    with Staging() as staging:
        stage_tables(staging, tables, force=force)
        staging.place()


def stage_tables(staging: Staging, tables: Sequence[tuple[pl.DataFrame, str | Path]], *, force: bool = False) -> None:
    """Write tables beside their places, to be placed with other files."""
    for frame, path in tables:
        place = Path(path)
        try:
            staging.add(place, partial(_write, frame, kind=format_of(place)), replaces=force)
        except pl.exceptions.PolarsError as problem:
            if "os error" in str(problem):
                raise InputError(f"'{place}' cannot be written: {reason(problem)}.") from None
            raise InputError(
                f"'{place}' cannot be written: a column has a type that the format lacks, such as lists. Try .parquet, "
                "or leave the column out."
            ) from None


def write_text(text: str, path: str | Path, *, force: bool = False) -> None:
    """Write a text file whole or not at all."""
    refuse_existing(path, force=force, table=False)
    with Staging() as staging:
        staging.add_bytes(Path(path), text.encode(), replaces=force)
        staging.place()


def write_private(content: bytes, path: str | Path, *, force: bool = False) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    refuse_existing(path, force=force, table=False)
    with Staging() as staging:
        staging.add_bytes(Path(path), content, replaces=force, private=True)
        staging.place()


def _write(frame: pl.DataFrame, path: Path, kind: str) -> None:
    if kind == ".parquet":
        frame.write_parquet(path)
    else:
        packing: Literal["gzip", "uncompressed"] = "gzip" if kind == ".csv.gz" else "uncompressed"
        disarm(frame).write_csv(path, compression=packing, check_extension=False)
