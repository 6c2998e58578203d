"""A Spark DataFrame as an engine sees it: columns, counts, and rows that are coded and rewritten on the workers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.engines.base import CodedRows, Counted, RewritePlan
from reissue.engines.spark.errors import explained

__all__ = ["SparkSource", "column_types", "numbered"]


@dataclass(frozen=True, eq=False)
class SparkSource:
    """A DataFrame; nothing of it comes to the driver but counts."""

    frame: Any

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        """As Polars calls them."""
        return column_types(self.frame)

    def counts(self, by: Sequence[str]) -> Counted:
        """By Spark's own group-by."""
        from pyspark.sql import functions

        names = [str(place) for place in range(len(by))]
        with explained("counting"):
            rows = numbered(self.frame, by)
            found = _polars(rows.groupBy(*names).agg(functions.count(functions.lit(1)).alias("times")).toArrow())
        return Counted(found.select(pl.col(old).alias(new) for old, new in zip(names, by, strict=True)), found["times"])

    def distinct(self, names: Sequence[str]) -> Mapping[str, Counted]:
        """Every column by itself, in one pass over the rows."""
        from reissue.engines.spark.passes import PARTIAL, CountColumns, merged, read_partial

        with explained("counting"):
            found = numbered(self.frame, names).mapInArrow(CountColumns(), PARTIAL).toArrow()
        parts: dict[int, list[pl.DataFrame]] = {}
        for place, first, _ in read_partial(found):
            parts.setdefault(place, []).append(pl.read_ipc(first))
        empty = {name: pl.DataFrame(schema={"value": kind, "times": pl.Int64}) for name, kind in self.columns.items()}
        tables = {name: merged(parts.get(place, [empty[name]])) for place, name in enumerate(names)}
        return {name: Counted(one.select(pl.col("value").alias(name)), one["times"]) for name, one in tables.items()}

    def people(self, name: str) -> tuple[int, int, int]:
        """How many identifiers are missing, how many are different, and how many rows there are."""
        from pyspark.sql import functions

        ids = functions.regexp_replace(functions.col("0").cast("string"), r"(?U)^\s+|\s+$", "")
        with explained("counting identifiers"):
            row = (
                numbered(self.frame, [name])
                .select(ids.alias("id"))
                .agg(functions.count("id"), functions.countDistinct("id"), functions.count(functions.lit(1)))
                .first()
            )
        there, different, rows = (int(one) for one in row)
        return rows - there, different, rows

    @contextmanager
    def coded(self, plan: RewritePlan) -> Iterator[CodedRows]:
        """The columns that are published, packed and kept by Spark until all is done: no row may change meanwhile."""
        from pyspark import StorageLevel

        from reissue.engines.spark.passes import PACKED, Coder, Pack
        from reissue.engines.spark.rows import SparkRows

        whose = () if plan.person is None else (plan.person.name,)
        with explained("coding the table"):
            rows = numbered(self.frame, (*plan.handed, *whose))
            kinds = tuple(field.dataType for field in rows.schema.fields[: len(plan.names)])
            packed = rows.mapInArrow(Pack(Coder.of(plan)), PACKED).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield SparkRows(packed, plan, kinds, SparkSource)
        finally:
            packed.unpersist(blocking=True)


def numbered(frame: Any, names: Sequence[str]) -> Any:
    """Some columns, named by their places: Spark takes other names apart at dots, and ignores their case."""
    places = [str(place) for place, _ in enumerate(frame.columns)]
    of_name = dict(zip(frame.columns, places, strict=True))
    chosen = frame.toDF(*places).select(*(of_name[name] for name in names))
    return chosen.toDF(*(str(place) for place, _ in enumerate(names)))


def column_types(frame: Any) -> Mapping[str, pl.DataType]:
    """Names to types in Polars."""
    from pyspark.sql.pandas.types import to_arrow_schema

    with explained("reading the table's columns"):
        places = frame.toDF(*(str(place) for place, _ in enumerate(frame.columns)))
        kinds = _polars(to_arrow_schema(places.schema).empty_table()).schema
    return dict(zip(frame.columns, kinds.values(), strict=True))


def _polars(table: Any) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)  # noqa: S101  # a table is one
    return found
