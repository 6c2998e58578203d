"""Packed rows on their way: to the driver a partition at a time, from there back, and unpacked by the workers."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from reissue.engines.spark.columns import column_types, no_rows
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


def to_spark(given: Any, frame: pl.DataFrame) -> Any:
    """A DataFrame of rows that are here: they go out packed, and are unpacked where somebody reads them.

    Columns that are as they were `given` have the type that they had there.
    """
    frame = frame.with_columns(pl.col(pl.UInt8, pl.UInt16, pl.UInt32).cast(pl.Int64))  # Spark knows no such numbers
    starts = range(0, max(frame.height, 1), _PART)
    parts = pa.chunked_array([pa.array([to_bytes(frame[start : start + _PART])], pa.binary()) for start in starts])
    with explained("handing the release back"):
        packed = given.sparkSession.createDataFrame(pa.table({"rows": parts}))
        return unpacked(packed, _kinds(given, frame), frame.columns)


def _kinds(given: Any, frame: pl.DataFrame) -> Any:
    """Spark's types of columns, whose fields are numbered; a time without a zone is one only if it was given so."""
    from pyspark.sql.types import StructField, StructType

    numbers = frame.clear().rename({name: str(place) for place, name in enumerate(frame.columns)})
    plain = given.sparkSession.createDataFrame(numbers.to_arrow(compat_level=pl.CompatLevel.oldest())).schema
    before, own = column_types(given), {field.name: field.dataType for field in given.schema.fields}
    return StructType(
        [
            StructField(field.name, own[name] if before.get(name) == kind else field.dataType)
            for field, (name, kind) in zip(plain.fields, frame.schema.items(), strict=True)
        ]
    )


def unpacked(packed: Any, kinds: Any, names: Sequence[str]) -> Any:
    """Packed rows as rows of Spark's types, whose fields are numbered, under their names."""
    schema = no_rows(packed.sparkSession.createDataFrame([], kinds)).schema
    return packed.select("rows").mapInArrow(Unpack(schema), kinds).toDF(*names)
