"""Coded rows on Spark: counted by region in one pass a round, and finished a region a task.

Every pass codes the rows again on the workers, which is cheaper than to send codes to and fro. A pass counts all
attributes of all new regions, so that a region that cannot be split on one attribute is tried on the next without
another pass.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reissue._arrays import Codes
from reissue.engines.base import FinishedRows, RegionWork, RewritePlan, Source
from reissue.engines.regions import RegionCounts, Split, Spread
from reissue.engines.spark.errors import explained
from reissue.engines.spark.passes import (
    DRAW,
    GROUPS,
    LOST,
    PARTIAL,
    AddRegion,
    Coder,
    CountRegions,
    Finish,
    read_partial,
)

__all__ = ["SparkRows"]

_FREE = 1 << 22
"""Counts of an attribute, over all new regions, up to which they are counted before anybody asks for them."""


@dataclass(eq=False)
class SparkRows:
    """A DataFrame of the columns to publish, numbered, and how they are coded."""

    frame: Any
    plan: RewritePlan
    opens: Callable[[Any], Source]
    """Makes a source of a DataFrame."""
    _bounds: dict[int, tuple[Codes, Codes]] = field(default_factory=dict)
    _spreads: dict[tuple[int, int], Spread] = field(default_factory=dict)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(int(column.codes.max()) + 1 for column in self.plan.quasi)

    @property
    def _values(self) -> int:
        return 1 if self.plan.value is None else int(self.plan.value.codes.max()) + 1

    def bounds(self, splits: Mapping[int, Split], regions: Sequence[int]) -> tuple[Codes, Codes]:
        """Attributes x regions: the smallest and the largest code."""
        new = [region for region in regions if region not in self._bounds]
        if new:
            free = [at for at, size in enumerate(self._sizes) if len(new) * size * self._values <= _FREE]
            self._count(splits, new, free)
        lo, hi = zip(*(self._bounds[region] for region in regions), strict=True)
        return np.stack(lo, axis=1), np.stack(hi, axis=1)

    def spreads(self, splits: Mapping[int, Split], attribute: Mapping[int, int]) -> Mapping[int, Spread]:
        """Region to the spread on the attribute that it asks for."""
        lacking = [pair for pair in attribute.items() if pair not in self._spreads]
        if lacking:
            self._count(splits, sorted({region for region, _ in lacking}), sorted({place for _, place in lacking}))
        return {pair[0]: self._spreads[pair] for pair in attribute.items()}

    def _count(self, splits: Mapping[int, Split], regions: Sequence[int], wanted: Sequence[int]) -> None:
        """One pass over all rows."""
        counts = RegionCounts(self._sizes, self._values, tuple(regions), tuple(wanted))
        run = CountRegions(Coder.of(self.plan), dict(splits), counts)
        with explained("counting regions"):
            found = self.frame.mapInArrow(run, PARTIAL).toArrow()
        shape = counts.lo.shape
        for place, first, second in read_partial(found):
            if place < 0:
                lo, hi = (np.frombuffer(one, np.int32).reshape(shape) for one in (first, second))
                counts.widen(lo, hi)
            else:
                counts.merge(place, np.frombuffer(first, np.int64), np.frombuffer(second, np.int64))
        for number, region in enumerate(regions):
            self._bounds[region] = counts.lo[:, number], counts.hi[:, number]
            self._spreads |= {(region, place): counts.spread(region, place) for place in wanted}

    def finish(self, work: RegionWork) -> FinishedRows:
        """A region a task, wherever Spark runs it; every task puts its rows in an order that is theirs alone."""
        from pyspark import StorageLevel
        from pyspark.sql import functions

        made = self._made(work).persist(StorageLevel.MEMORY_AND_DISK)
        with ExitStack() as stack:
            drop = stack.callback(partial(made.unpersist, blocking=True))
            with explained("making the release"):
                told = made.agg(functions.sum(GROUPS), functions.count(GROUPS), functions.sum(LOST)).first()
                known = int(told[0] or 0), int(told[1]), float(told[2] or 0)
                work.progress(1.0)
                shown = made.drop(GROUPS, LOST).toDF(*self.plan.names)
                if work.place is not None:
                    return FinishedRows(self.opens(_written(shown, work.place)), *known)
                stack.pop_all()
                return FinishedRows(self.opens(shown), *known, drop)

    def _made(self, work: RegionWork) -> Any:
        """The published rows, numbered, with the number of groups."""
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructField, StructType

        order, columns = tuple(sorted(work.regions.sizes)), self.frame.schema.fields[: len(self.plan.names)]
        kinds = dict(zip(self.plan.names, (one.dataType for one in columns), strict=True))
        kinds = {name: StringType() if name in self.plan.texts else kind for name, kind in kinds.items()}
        shown = [StructField(str(at), kind) for at, kind in enumerate(kinds.values())]
        out = StructType([*shown, StructField(GROUPS, LongType()), StructField(LOST, DoubleType())])
        drawn = [] if self.plan.person is None else [StructField(DRAW, LongType())]
        within = StructType([*columns, *drawn, StructField("region", IntegerType())])
        number = {region: at for at, region in enumerate(order)}
        coder = Coder.of(self.plan)
        with explained("making the release"):
            placed = self.frame.mapInArrow(
                AddRegion(coder, dict(work.regions.splits), number, to_arrow_schema(within)), within
            )
            apart = _apart(placed, len(order))
            return apart.mapInArrow(Finish(self.plan.names, order, work.make, to_arrow_schema(out)), out)


def _apart(rows: Any, regions: int) -> Any:
    """Rows of a region in one partition; where Spark can, no other region is in it."""
    if hasattr(rows, "repartitionById"):  # since 4.1
        from pyspark.sql import functions

        return rows.repartitionById(regions, functions.col("region"))
    return rows.repartition(regions, "region")


def _written(rows: Any, place: Path) -> Any:
    """Rows in a folder of Parquet, with nothing beside it; and read from there."""
    rows.write.mode("append").parquet(str(place))
    for beside in [*place.glob(".*.crc"), *place.glob("_SUCCESS")]:
        beside.unlink()
    return rows.sparkSession.read.parquet(str(place))
