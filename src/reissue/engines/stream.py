"""The engine `stream`: Parquet larger than memory, read a batch of rows at a time by Polars.

What is kept are the different combinations that are asked for: of a published table its groups, however many rows it
has. Parquet says how large it is without being read, so "auto" takes this engine for large files only.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue.data.identifiers import identifier_texts
from reissue.engines.base import CodedRows, ColumnCodes, Counted, RewritePlan, WhoHasWhich
from reissue.engines.coded import CodedFiles
from reissue.engines.memory import counted
from reissue.engines.registry import engine
from reissue.errors import DataError, InputError
from reissue.files.staging import scratch_folder

__all__ = ["LARGE", "open_stream"]

LARGE = 500_000_000
"""Cells from which on "auto" streams: about four gigabytes in memory."""
_PARQUET = (
    "The engine 'stream' reads Parquet: a file, a folder of files with the same columns, or a lazy Polars frame. "
    'Convert other tables first, or leave the engine to "auto".'
)

_BATCH = 250_000
"""Rows that come into memory at a time."""
_UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
_DAMAGED = "The table cannot be read to its end: a file is damaged, or the files differ."
_PERSON, _PLACE = "\0person", "\0place"
"""Names that no column of a user has."""


@dataclass(frozen=True, eq=False)
class _Scan:
    rows: pl.LazyFrame
    tells_identifiers = True
    in_order = True

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        return dict(self.rows.collect_schema())

    def counts(self, by: Sequence[str]) -> Counted:
        try:
            return counted(self.rows, by)
        except pl.exceptions.PolarsError:
            raise DataError(_DAMAGED) from None

    def by_person(self, name: str, tables: Sequence[tuple["_Scan", Counted]]) -> list[WhoHasWhich]:
        """The identifier of every row, and where what it shows is among the different rows."""
        return [_who_has_which(table.rows, name, counted) for table, counted in tables]

    def distinct(self, names: Sequence[str]) -> Mapping[str, Counted]:
        """Every column by itself."""
        return {name: self.counts([name]) for name in names}

    @contextmanager
    def held(self, names: Sequence[str]) -> Iterator["_Scan"]:
        """Parquet is read quickly, and a column at a time."""
        del names
        yield self

    def people(self, name: str) -> tuple[int, int, int]:
        """Compared as in memory, where `1` and `1.0` are one person."""
        ids = pl.col(name)
        if not self.columns[name].is_integer():
            ids = ids.map_batches(identifier_texts, return_dtype=pl.String, is_elementwise=True)
        texts = self.rows.select(ids)
        counted_ids = texts.select(pl.col(name).null_count(), pl.col(name).drop_nulls().n_unique().alias("n"), pl.len())
        try:
            missing, different, rows = counted_ids.collect(engine="streaming").row(0)
        except DataError as problem:  # Polars adds words of its own
            raise DataError(str(problem).partition("\n")[0]) from None
        return missing, different, rows

    def batches(self, names: Sequence[str], codes: Sequence[ColumnCodes] = ()) -> Iterator[pl.DataFrame]:
        """In the order of the files."""
        columns = [*map(pl.col, names), *(one.code() for one in codes)]
        try:
            yield from self.rows.select(columns).collect_batches(chunk_size=_BATCH)
        except pl.exceptions.PolarsError:
            raise DataError(_DAMAGED) from None

    def back(self, frame: pl.DataFrame) -> pl.DataFrame:
        """In memory, where it is."""
        return frame

    @contextmanager
    def coded(self, plan: RewritePlan) -> Iterator[CodedRows]:
        """Into a private folder."""
        with scratch_folder() as folder:
            yield CodedFiles.write(folder, self.rows, plan, open_stream)


def _who_has_which(rows: pl.LazyFrame, name: str, counted: Counted) -> WhoHasWhich:
    by, kinds = counted.values.columns, rows.collect_schema()
    texts = pl.col([one for one in by if kinds[one] in {pl.String, pl.Categorical, pl.Enum}]).cast(pl.String)
    known = counted.values.with_columns(texts).with_row_index(_PLACE)
    shown = rows.select(pl.col(name).alias(_PERSON), *by).with_columns(texts)
    try:
        found = (
            shown.join(known.lazy(), on=by, how="left", nulls_equal=True, maintain_order="left")
            .select(_PERSON, _PLACE)
            .collect(engine="streaming")
        )
    except pl.exceptions.PolarsError:
        raise DataError(_DAMAGED) from None
    if found[_PLACE].null_count():
        raise DataError("The table changed while it was read.")
    return found[_PERSON].alias(name), found[_PLACE].to_numpy().astype(np.int64)


def _large(data: Any) -> bool:
    if isinstance(data, pl.LazyFrame):
        return True
    files = _files(data)
    if not files:
        return False
    try:
        scan = pl.scan_parquet(files, glob=False)
        return int(scan.select(pl.len()).collect().item()) * len(scan.collect_schema()) > LARGE
    except _UNREADABLE:
        return False  # memory says what is wrong with it


@engine("stream", "Parquet larger than memory on one machine, a batch of rows at a time.", suits=_large)
def open_stream(data: Any) -> _Scan:
    """A Parquet file, a folder of them, or a lazy frame."""
    if isinstance(data, pl.LazyFrame):
        return _Scan(data)
    files = _files(data)
    if not files:
        raise InputError(_PARQUET)
    try:
        scan = pl.scan_parquet(files, glob=False)
        scan.collect_schema()
    except _UNREADABLE:
        raise DataError("The table cannot be read: it is not whole Parquet with the same columns everywhere.") from None
    return _Scan(scan)


def _files(data: Any) -> list[Path]:
    """The Parquet files of a path, a list of one, or a folder; none where it is anything else."""
    if isinstance(data, list | tuple) and len(data) == 1:
        data = data[0]
    if not isinstance(data, str | Path):
        return []
    path = Path(data)
    if path.is_dir():
        inside = sorted(one for one in path.iterdir() if one.is_file() and one.name[0] not in "._")
        return inside if all(one.suffix == ".parquet" for one in inside) else []
    return [path] if path.suffix == ".parquet" and path.is_file() else []
