"""Who has which row, in several DataFrames at once: people are put together on Spark, numbers come to the driver.

Rows are joined with the different rows that were counted, identifiers become texts, and all tables together are sorted
by them, so that everything about a person lies in one partition, one row after the other. There people are numbered in
the order of their texts, as in memory; what says who they are stays there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, itemgetter
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from reissue.data.identifiers import MIDNIGHT, WHOLE, identifier_texts, too_long
from reissue.engines.base import Counted, WhoHasWhich
from reissue.engines.spark.columns import numbered
from reissue.engines.spark.errors import explained, told
from reissue.engines.spark.passes import PARTIAL, Batches, chunks, one_partial, read_partial, to_bytes
from reissue.errors import DataError
from reissue.taxonomy.numbers import EXACT

__all__ = ["count_people", "follow"]

_PERSON, _TABLE, _PLACE = "person", "table", "place"
_ROWS = f"{_PERSON} string, {_TABLE} int, {_PLACE} int"
_NAMED = pa.schema([(_PERSON, pa.string()), (_TABLE, pa.int32()), (_PLACE, pa.int32())])
_NONE = pl.DataFrame(schema={_PERSON: pl.Int64, _TABLE: pl.Int32, _PLACE: pl.Int32})
_FIRST = 10**11
"""Numbers of people begin here: all have twelve digits, so that their texts sort as they do."""


def count_people(frame: Any, name: str) -> tuple[int, int, int]:
    """How many identifiers are missing, how many are different, and how many rows there are.

    Spark compares them as `identifier_texts` would, without handing rows over: numbers and days by what they are.
    """
    from pyspark.sql import functions as fn

    ids = numbered(frame, [name])
    kind, one = ids.schema.fields[0].dataType.typeName(), fn.col("0")
    largest = fn.lit(0.0)
    if kind == "string":
        for pattern, text in ((r"(?U)^\s+|\s+$", ""), (WHOLE, "$1"), (MIDNIGHT, "$1")):
            one = fn.regexp_replace(one, pattern, text)
    elif kind in {"float", "double"}:
        one = fn.nanvl(one, fn.lit(None).cast(kind))
        largest = fn.coalesce(fn.max(fn.abs(fn.col("id"))), fn.lit(0.0))
    with explained("counting identifiers"):
        counts = (fn.count("id"), fn.countDistinct("id"), fn.count(fn.lit(1)), largest.alias("largest"))
        there, different, rows, far = ids.select(one.alias("id")).agg(*counts).first()
    if far >= EXACT:
        raise too_long(name)
    return int(rows) - int(there), int(different), int(rows)


def follow(tables: Sequence[tuple[Any, Counted]], name: str) -> list[WhoHasWhich]:
    """Of every row of some DataFrames: a number for whose it is, and its place among the different rows counted."""
    with explained("following people"):
        placed = [_placed(frame, name, counted, number) for number, (frame, counted) in enumerate(tables)]
        rows = reduce(lambda some, more: some.unionAll(more), placed)
        sorted_rows = rows.repartitionByRange(_PERSON).sortWithinPartitions(_PERSON, _TABLE, _PLACE)
        found = sorted_rows.mapInArrow(_NumberPeople(), PARTIAL).toArrow()
    parts = _in_order([(partition, pl.read_ipc(part)) for partition, part, _ in read_partial(found)])
    return [
        _of_table(pl.concat([_NONE, *(part.filter(pl.col(_TABLE) == table) for part in parts)]), counted)
        for table, (_, counted) in enumerate(tables)
    ]


def _placed(frame: Any, name: str, counted: Counted, table: int) -> Any:
    """Whose each row is, as text, and which of the different rows it shows."""
    from pyspark.sql import functions
    from pyspark.sql.types import IntegerType, StructField, StructType

    by = counted.values.columns
    rows = numbered(frame, [*by, name])
    columns = (pl.col(old).alias(str(at)) for at, old in enumerate(by))
    different = counted.values.select(*columns, pl.int_range(pl.len(), dtype=pl.Int32).alias(_PLACE))
    kinds = StructType([*rows.schema.fields[:-1], StructField(_PLACE, IntegerType())])
    known = rows.sparkSession.createDataFrame(different.to_arrow(compat_level=pl.CompatLevel.oldest()), kinds)
    same = [functions.col(f"rows.{at}").eqNullSafe(functions.col(f"known.{at}")) for at, _ in enumerate(by)]
    joined = rows.alias("rows").join(known.alias("known"), reduce(and_, same))
    shown = joined.select(functions.col(f"rows.{len(by)}").alias(_PERSON), functions.col(f"known.{_PLACE}"))
    return shown.mapInArrow(_NamePeople(table), _ROWS)


@dataclass(frozen=True)
class _NamePeople:
    """Identifiers as texts, the same whatever type a table gives them."""

    table: int

    def __call__(self, batches: Batches) -> Batches:
        """Name the people of a partition."""
        with told():
            for rows in chunks(batches):
                table = pl.repeat(self.table, rows.height, dtype=pl.Int32, eager=True)
                named: Any = pl.DataFrame([identifier_texts(rows[_PERSON]), table.alias(_TABLE), rows[_PLACE]])
                yield from named.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(_NAMED).to_batches()


@dataclass(frozen=True)
class _NumberPeople:
    """Rows sorted by person: a number for each, from 0 on in every partition, instead of who it is."""

    def __call__(self, batches: Batches) -> Batches:
        """Number the people of a partition."""
        from pyspark import TaskContext

        with told():
            last, number = "", -1
            for rows in chunks(batches):
                person = rows[_PERSON]
                first = number if number >= 0 and person[0] == last else number + 1
                numbers = person.rle_id().cast(pl.Int32) + first
                last, number = person[-1], numbers[-1]
                known = rows.with_columns(numbers.zip_with(person.is_not_null(), numbers.clear(1)).alias(_PERSON))
                yield one_partial(TaskContext.get().partitionId(), to_bytes(known), b"")


def _in_order(parts: list[tuple[int, pl.DataFrame]]) -> list[pl.DataFrame]:
    """Parts of partitions, in whose order people are, with numbers that go on from one to the next."""
    found, partition, first, last = [], -1, _FIRST, _FIRST - 1
    for place, part in sorted(parts, key=itemgetter(0)):
        first, partition = (first if place == partition else last + 1), place
        person = part[_PERSON].cast(pl.Int64) + first
        last = int(person.drop_nulls().to_numpy().max(initial=last))
        found.append(part.with_columns(person))
    return found


def _of_table(rows: pl.DataFrame, counted: Counted) -> WhoHasWhich:
    place = rows[_PLACE].to_numpy().astype(np.int64)
    if not np.array_equal(np.bincount(place, minlength=len(counted.times)), counted.times.to_numpy()):
        raise DataError("The table changed while it was read.")
    return rows[_PERSON], place
