"""A Spark DataFrame as an engine sees it: columns, counts, and rows that are coded and rewritten on the workers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.engines.base import CodedRows, ColumnCodes, Counted, RewritePlan, WhoHasWhich
from reissue.engines.spark.columns import column_types, numbered, to_polars
from reissue.engines.spark.errors import explained

__all__ = ["HeldRows", "SparkSource"]


@dataclass(frozen=True, eq=False)
class SparkSource:
    """A DataFrame; nothing comes to the driver but counts, numbers of people, and rows where they are asked for."""

    frame: Any
    tells_identifiers = False
    in_order = False

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
            found = to_polars(rows.groupBy(*names).agg(functions.count(functions.lit(1)).alias("times")).toArrow())
        return Counted(found.select(pl.col(old).alias(new) for old, new in zip(names, by, strict=True)), found["times"])

    def by_person(self, name: str, tables: Sequence[tuple["SparkSource", Counted]]) -> list[WhoHasWhich]:
        """People are put together on Spark, and numbers come to the driver; who they are stays there."""
        from reissue.engines.spark.people import follow

        return follow([(table.frame, counted) for table, counted in tables], name)

    def people(self, name: str) -> tuple[int, int, int]:
        """Compared as in memory, where `1` and `1.0` are one person."""
        from reissue.engines.spark.people import count_people

        return count_people(self.frame, name)

    @contextmanager
    def held(self, names: Sequence[str]) -> Iterator["HeldRows"]:
        """Packed and kept by Spark: no row may change meanwhile, and to hand rows over costs more than all else."""
        from pyspark import StorageLevel

        packed = self._packed(names).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield HeldRows(self.frame, packed, tuple(names))
        finally:
            packed.unpersist(blocking=True)

    def _packed(self, names: Sequence[str]) -> Any:
        from reissue.engines.spark.passes import ROWS, Pack

        with explained("reading the table"):
            return numbered(self.frame, names).mapInArrow(Pack(), ROWS)

    def distinct(self, names: Sequence[str]) -> Mapping[str, Counted]:
        """Every column by itself."""
        with self.held(names) as rows:
            return rows.distinct(names)

    def batches(self, names: Sequence[str], codes: Sequence[ColumnCodes] = ()) -> Iterator[pl.DataFrame]:
        """Read once, without being kept."""
        wanted = tuple(dict.fromkeys((*names, *(one.name for one in codes))))
        yield from HeldRows(self.frame, self._packed(wanted), wanted).batches(names, codes)

    def back(self, frame: pl.DataFrame) -> Any:
        """A DataFrame of the same session, with the types that columns had."""
        from reissue.engines.spark.handing import to_spark

        return to_spark(self.frame, frame)

    @contextmanager
    def coded(self, plan: RewritePlan) -> Iterator[CodedRows]:
        """The columns that are handed on, coded."""
        names = dict.fromkeys((*plan.handed, *(() if plan.person is None else (plan.person.name,))))
        with self.held(tuple(names)) as rows, rows.coded(plan) as coded:
            yield coded


@dataclass(frozen=True, eq=False)
class HeldRows(SparkSource):
    """The same with some columns packed: columns are counted, and rows coded, from there."""

    packed: Any
    names: tuple[str, ...]

    def distinct(self, names: Sequence[str]) -> Mapping[str, Counted]:
        """Every column by itself, in one pass over the packed rows."""
        from reissue.engines.spark.passes import PARTIAL, CountColumns, merged, read_partial

        places = {self.names.index(name): name for name in names}
        with explained("counting"):
            found = self.packed.mapInArrow(CountColumns(tuple(places)), PARTIAL).toArrow()
        kinds = self.columns
        parts = {name: [pl.DataFrame(schema={"value": kinds[name], "times": pl.Int64})] for name in names}
        for place, first, _ in read_partial(found):
            parts[places[place]].append(pl.read_ipc(first))
        tables = {name: merged(some[1:] or some).sort("value") for name, some in parts.items()}
        return {name: Counted(one.select(pl.col("value").alias(name)), one["times"]) for name, one in tables.items()}

    def batches(self, names: Sequence[str], codes: Sequence[ColumnCodes] = ()) -> Iterator[pl.DataFrame]:
        """Coded on the workers; a partition at a time comes here."""
        from reissue.engines.spark.handing import from_spark
        from reissue.engines.spark.passes import ROWS, Choose

        place = {name: number for number, name in enumerate(self.names)}
        with explained("reading the table"):
            chosen = self.packed.mapInArrow(Choose(place, tuple(names), tuple(codes)), ROWS)
        yield from from_spark(chosen)

    @contextmanager
    def coded(self, plan: RewritePlan) -> Iterator[CodedRows]:
        """The columns that are handed on, coded, and kept by Spark until all is done."""
        from pyspark import StorageLevel

        from reissue.engines.spark.passes import CODED, Coder, CodeRows
        from reissue.engines.spark.rows import SparkRows

        whose = () if plan.person is None else (plan.person.name,)
        places = tuple(self.names.index(name) for name in (*plan.handed, *whose))
        with explained("coding the table"):
            fields = numbered(self.frame, plan.names).schema.fields
            coded = self.packed.mapInArrow(CodeRows(Coder.of(plan), places), CODED)
            coded = coded.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield SparkRows(coded, plan, tuple(field.dataType for field in fields), SparkSource)
        finally:
            coded.unpersist(blocking=True)
