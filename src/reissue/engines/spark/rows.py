"""Coded rows on Spark: counted by region in one pass a round, and finished a region a task.

Rows were coded and packed when they were read (`passes`), so that a pass reads codes alone. A pass counts all
attributes of all new regions, so that a region that cannot be split on one attribute is tried on the next without
another pass. The release is kept packed too, and unpacked where somebody reads it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes
from reissue.engines.base import Counted, FinishedRows, RegionWork, RewritePlan, Source
from reissue.engines.regions import RegionCounts, Split, Spread
from reissue.engines.spark.errors import explained
from reissue.engines.spark.handing import unpacked
from reissue.engines.spark.passes import (
    MADE,
    PARTIAL,
    PLACED,
    CountPacked,
    CountRegions,
    Finish,
    PlaceRows,
    code_type,
    merged,
    read_partial,
)

__all__ = ["SparkRows"]

_FREE = 1 << 22
"""Counts of an attribute, over all new regions, up to which they are counted before anybody asks for them."""


@dataclass(eq=False)
class SparkRows:
    """A DataFrame of packed rows, how they are coded, and the types of the columns to publish."""

    packed: Any
    plan: RewritePlan
    kinds: tuple[Any, ...]
    opens: Callable[[Any], Source]
    """Makes a source of a DataFrame."""
    _bounds: dict[int, tuple[Codes, Codes]] = field(default_factory=dict)
    _spreads: dict[tuple[int, int], Spread] = field(default_factory=dict)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(int(column.codes.max()) + 1 for column in self.plan.quasi)

    def bounds(self, splits: Mapping[int, Split], regions: Sequence[int]) -> tuple[Codes, Codes]:
        """Attributes x regions: the smallest and the largest code."""
        new = [region for region in regions if region not in self._bounds]
        if new:
            free = [at for at, size in enumerate(self._sizes) if len(new) * size * self.plan.values <= _FREE]
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
        counts = RegionCounts(self._sizes, self.plan.values, tuple(regions), tuple(wanted))
        with explained("counting regions"):
            found = (
                self.packed.select("codes")
                .mapInArrow(CountRegions(dict(splits), counts, code_type(self.plan)), PARTIAL)
                .toArrow()
            )
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
                told = made.agg(*(functions.sum(name) for name in ("groups", "number", "lost"))).first()
                known = int(told[0] or 0), int(told[1] or 0), float(told[2] or 0)
                work.progress(1.0)
                release = _Release(self._shown(made), made.select("rows"), self.opens)
                if work.place is not None:
                    return FinishedRows(self.opens(_written(release.frame, work.place)), *known)
                stack.pop_all()
                return FinishedRows(release, *known, drop)

    def _made(self, work: RegionWork) -> Any:
        """The published rows, packed, with the number of groups."""
        order = tuple(sorted(work.regions.sizes))
        number = {region: at for at, region in enumerate(order)}
        with explained("making the release"):
            place = PlaceRows(len(self.plan.quasi), code_type(self.plan), dict(work.regions.splits), number)
            placed = _apart(self.packed.mapInArrow(place, PLACED), len(order))
            return placed.mapInArrow(Finish(self.plan.handed, order, work.make, work.any_order), MADE)

    def _shown(self, made: Any) -> Any:
        """The published rows, under their names."""
        from pyspark.sql.types import StringType, StructField, StructType

        kinds = zip(self.plan.names, self.kinds, strict=True)
        out = [StringType() if name in self.plan.texts else kind for name, kind in kinds]
        shown = StructType([StructField(str(at), kind) for at, kind in enumerate(out)])
        return unpacked(made, shown, self.plan.names)


@dataclass(frozen=True, eq=False)
class _Release:
    """A release that is kept packed."""

    frame: Any
    """Its rows, unpacked when they are read."""
    packed: Any
    opens: Callable[[Any], Source]

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        """As Polars calls them."""
        return self.opens(self.frame).columns

    def counts(self, by: Sequence[str]) -> Counted:
        """Counted packed, a region by itself, and put together on the driver."""
        with explained("counting"):
            found = self.packed.mapInArrow(CountPacked(tuple(by)), PARTIAL).toArrow()
        whole = merged([pl.read_ipc(part) for _, part, _ in read_partial(found)])
        return Counted(whole.select(pl.col(str(at)).alias(name) for at, name in enumerate(by)), whole["times"])


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
