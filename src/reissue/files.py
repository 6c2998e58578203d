"""Files in and out: CSV (also gzipped) and Parquet.

Nothing is half-written: a file is written beside its place and moved there when it is whole. CSV cells that a
spreadsheet would run as formulas get an apostrophe in front, which reading takes off again.
"""

import csv
import gzip
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from reissue.errors import DataError, InputError

__all__ = ["FORMATS", "disarm", "read_file", "refuse_existing", "second_path", "write_file", "write_private", "write_text"]

FORMATS = (".csv", ".csv.gz", ".parquet")
_FORMULA = r"^'*[=+\-@\t\r]"


def read_file(path: str | Path, *, text: tuple[str, ...] = (), delimiter: str = ",") -> pl.DataFrame:
    """Read a table; columns named in `text` keep their characters (a zip code its leading zero)."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file '{path}'.")
    kind = _format(path)
    try:
        frame = pl.read_parquet(path) if kind == ".parquet" else _read_csv(path, text, delimiter)
    except (pl.exceptions.PolarsError, OSError, EOFError) as problem:
        raise DataError(f"'{path}' cannot be read: {_reason(problem, kind)}") from None
    if not frame.width:
        raise DataError(f"'{path}' has no columns.")
    return frame


def _format(path: Path) -> str:
    for known in FORMATS[::-1]:
        if path.name.lower().endswith(known):
            return known
    raise DataError(f"'{path}' must end in one of {', '.join(FORMATS)}.")


def _reason(problem: Exception, kind: str) -> str:
    """Why reading failed, without the library's message: it quotes the data."""
    words = str(problem).lower()
    if isinstance(problem, OSError) and not isinstance(problem, gzip.BadGzipFile):
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


def _read_csv(path: Path, text: tuple[str, ...], delimiter: str) -> pl.DataFrame:
    header = _header(path, delimiter)
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise DataError(f"'{path}' has {len(twice)} column names that occur twice.")
    overrides = {name: pl.String for name in text if name in header}
    frame = pl.read_csv(path, separator=delimiter, infer_schema_length=None, schema_overrides=overrides)
    strings = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    armed = [pl.col(name).str.replace(r"^'('*[=+\-@\t\r])", "${1}") for name in strings]
    return frame.with_columns(armed) if armed else frame


def _header(path: Path, delimiter: str) -> list[str]:
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
            return next(csv.reader(lines, delimiter=delimiter), [])
    except UnicodeDecodeError:
        raise DataError(
            f"'{path}' is not UTF-8 text. Convert it first, for example with iconv -f latin1 -t utf-8."
        ) from None


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
    refuse_existing(path, force=force)
    _write_whole(Path(path), lambda beside: _write(frame, beside, _format(Path(path))))


def write_text(text: str, path: str | Path, *, force: bool = False) -> None:
    """Write a text file whole or not at all."""
    refuse_existing(path, force=force, table=False)
    _write_whole(Path(path), lambda beside: beside.write_text(text, encoding="utf-8"))


def write_private(content: bytes, path: str | Path, *, force: bool = False) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    refuse_existing(path, force=force, table=False)
    _write_whole(Path(path), lambda beside: beside.write_bytes(content), mode=0o600)


def _write_whole(path: Path, write: Callable[[Path], object], mode: int = 0o644) -> None:
    """Write beside the path, then move there."""
    beside = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        beside = Path(name)
        write(beside)
        beside.chmod(mode)
        beside.replace(path)
    except OSError as problem:
        raise InputError(f"'{path}' cannot be written: {problem.strerror or 'input/output error'}.") from None
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def _write(frame: pl.DataFrame, path: Path, kind: str) -> None:
    if kind == ".parquet":
        frame.write_parquet(path)
        return
    safe = disarm(frame)
    if kind == ".csv":
        safe.write_csv(path)
        return
    with gzip.GzipFile(path, "wb", mtime=0) as packed:
        packed.write(safe.write_csv().encode())


def disarm(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an apostrophe before every text that a spreadsheet would take for a formula."""
    strings = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    cells = [
        pl.when(pl.col(name).str.contains(_FORMULA) & pl.col(name).cast(pl.Float64, strict=False).is_null())
        .then(pl.lit("'") + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in strings
    ]
    names: Mapping[str, str] = {name: f"'{name}" for name in frame.columns if name[:1] in set("=+-@\t\r")}
    return frame.with_columns(cells).rename(names) if cells else frame.rename(names)


def second_path(path: str | Path, name: str) -> str:
    """Where a further table of the same release goes: out.csv, out.sensitive.csv."""
    path = Path(path)
    ending = _format(path)
    return str(path.with_name(f"{path.name[: -len(ending)]}.{name}{path.name[-len(ending) :]}"))
