"""Files in and out: CSV (also gzipped) and Parquet.

Nothing is half-written: a file is written beside its place and moved there when it is whole. CSV cells that a
spreadsheet would run as formulas get an apostrophe in front, which reading takes off again.
"""

import csv
import os
import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import polars as pl

from reissue._csv import disarm, read_csv
from reissue.errors import DataError, InputError

__all__ = [
    "FORMATS",
    "disarm",
    "read_file",
    "refuse_existing",
    "second_path",
    "write_contents",
    "write_file",
    "write_files",
    "write_private",
    "write_text",
]

FORMATS = (".csv", ".csv.gz", ".parquet")


def read_file(
    path: str | Path, *, text: Sequence[str] | None = (), delimiter: str = ",", only: Sequence[str] = ()
) -> pl.DataFrame:
    """Read a table; columns named in `text`, or all if it is None, keep their characters (a zip code its leading zero).

    If all columns named in `only` are there, the others are left unread.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file '{path}'.")
    kind = _format(path)
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


def _format(path: Path) -> str:
    for known in FORMATS[::-1]:
        if path.name.lower().endswith(known):
            return known
    raise DataError(f"'{path}' must end in one of {', '.join(FORMATS)}.")


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


def refuse_existing(path: str | Path, *, force: bool, table: bool = True) -> None:
    """Stop before work starts if the output is already there, or cannot be written."""
    path = Path(path)
    if table:
        _format(path)
    if path.is_dir():
        raise InputError(f"'{path}' is a folder. Choose another name.")
    if path.exists() and not force:
        raise InputError(f"'{path}' exists already. Choose another name, or --force to replace it.")
    if not path.parent.is_dir():
        raise InputError(f"The folder '{path.parent}' does not exist.")


def write_file(frame: pl.DataFrame, path: str | Path, *, force: bool = False) -> None:
    """Write a table whole or not at all."""
    write_files([(frame, path)], force=force)


def write_files(tables: Sequence[tuple[pl.DataFrame, str | Path]], *, force: bool = False) -> None:
    """Write several tables, each whole, or none of them."""
    for _, path in tables:
        refuse_existing(path, force=force)
    jobs = [(Path(path), partial(_write, frame, kind=_format(Path(path)))) for frame, path in tables]
    _write_whole(jobs)


def write_text(text: str, path: str | Path, *, force: bool = False) -> None:
    """Write a text file whole or not at all."""
    refuse_existing(path, force=force, table=False)
    _write_whole([(Path(path), lambda beside: beside.write_text(text, encoding="utf-8"))])


def write_contents(contents: Sequence[tuple[bytes, str | Path]], *, force: bool = False) -> None:
    """Write files whose bytes are given, each whole, or none of them."""
    for _, path in contents:
        refuse_existing(path, force=force)
    _write_whole([(Path(path), partial(_put, content)) for content, path in contents])


def _put(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def write_private(content: bytes, path: str | Path, *, force: bool = False) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    refuse_existing(path, force=force, table=False)
    _write_whole([(Path(path), lambda beside: beside.write_bytes(content))], mode=0o600)


def _write_whole(jobs: Sequence[tuple[Path, Callable[[Path], object]]], mode: int = 0o644) -> None:
    """Write everything beside its place, then move it there."""
    written: list[Path] = []
    place = jobs[0][0]
    try:
        for place, write in jobs:
            handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
            os.close(handle)
            written.append(Path(name))
            write(written[-1])
            written[-1].chmod(mode)
        for beside, (place, _) in zip(written, jobs, strict=True):
            beside.replace(place)
    except OSError as problem:
        raise InputError(f"'{place}' cannot be written: {problem.strerror or 'input/output error'}.") from None
    except pl.exceptions.PolarsError:
        raise InputError(
            f"'{place}' cannot be written: a column has a type that the format lacks, such as lists. Try .parquet, or "
            "leave the column out."
        ) from None
    finally:
        for beside in written:
            beside.unlink(missing_ok=True)


def _write(frame: pl.DataFrame, path: Path, kind: str) -> None:
    if kind == ".parquet":
        frame.write_parquet(path)
    else:
        packing: Literal["gzip", "uncompressed"] = "gzip" if kind == ".csv.gz" else "uncompressed"
        disarm(frame).write_csv(path, compression=packing, check_extension=False)


def second_path(path: str | Path, name: str) -> str:
    """Where a further table of the same release goes: out.csv, out.sensitive.csv."""
    path = Path(path)
    ending = _format(path)
    return str(path.with_name(f"{path.name[: -len(ending)]}.{name}{path.name[-len(ending) :]}"))
