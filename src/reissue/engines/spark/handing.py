"""Packed rows on their way: to the driver a partition at a time, from there back, and unpacked by the workers."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from reissue.engines.spark.columns import no_rows
from reissue.engines.spark.errors import explained
from reissue.engines.spark.passes import Unpack, to_bytes

__all__ = ["from_spark", "to_spark", "unpacked"]

_PART = 250_000
"""Rows that go out as one value, to one partition."""


def from_spark(packed: Any) -> Iterator[pl.DataFrame]:
    """Rows as they come, while the workers are at the next ones; what is not looked at yet stays there."""
    with explained("reading the table"):
        parts = packed.toLocalIterator(prefetchPartitions=True)
    while True:
        with explained("reading the table"):
            part = next(parts, None)
        if part is None:
            return
        yield pl.read_ipc(bytes(part[0]))


def to_spark(session: Any, frame: pl.DataFrame) -> Any:
    """A DataFrame of rows that are here: they go out packed, and are unpacked where somebody reads them."""
    frame = frame.with_columns(pl.col(pl.UInt8, pl.UInt16, pl.UInt32).cast(pl.Int64))  # Spark knows no such numbers
    starts = range(0, max(frame.height, 1), _PART)
    parts = pa.chunked_array([pa.array([to_bytes(frame[start : start + _PART])], pa.binary()) for start in starts])
    plain: Any = _numbered(frame).clear().to_arrow(compat_level=pl.CompatLevel.oldest())
    with explained("handing the release back"):
        kinds = session.createDataFrame(plain).schema
        return unpacked(session.createDataFrame(pa.table({"rows": parts})), kinds, frame.columns)


def unpacked(packed: Any, kinds: Any, names: Sequence[str]) -> Any:
    """Packed rows as rows of Spark's types, whose fields are numbered, under their names."""
    schema = no_rows(packed.sparkSession.createDataFrame([], kinds)).schema
    return packed.select("rows").mapInArrow(Unpack(schema), kinds).toDF(*names)


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.rename({name: str(place) for place, name in enumerate(frame.columns)})
