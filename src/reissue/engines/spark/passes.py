"""What runs on Spark's workers: a pass over Arrow batches of rows, each counted or rewritten with Polars and NumPy.

Columns are numbered (`0`, `1`, ...), since Spark takes names apart at dots and ignores their case. Whatever fails in
here ends in logs of Spark, so errors are raised anew without a library's words, which may quote the data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from reissue._arrays import Codes
from reissue.engines.base import ColumnCodes, MakeRegion, PersonDraw, RewritePlan
from reissue.engines.coded import laid_out
from reissue.engines.regions import RegionCounts, Split, region_of
from reissue.engines.spark.errors import told

__all__ = ["DRAW", "GROUPS", "LOST", "PARTIAL", "AddRegion", "CountColumns", "CountRegions", "Finish", "read_partial"]

PARTIAL = "place int, first binary, second binary"
"""What counting passes give back, as Spark writes a schema: numbers or tables as bytes."""
GROUPS, LOST = "groups", "lost"
"""Columns that say how many groups a region has and what it loses, once for each."""
DRAW = "draw"
"""The column of the numbers drawn for people; what says who they are goes no further."""
_CHUNK = 1 << 19
"""Rows that are worked on at a time."""
_OUT = 1 << 16
"""Rows of a batch that goes back."""
_PARTIAL = pa.schema([("place", pa.int32()), ("first", pa.binary()), ("second", pa.binary())])

Batches = Iterator[pa.RecordBatch]


def chunks(batches: Batches, rows: int = _CHUNK) -> Iterator[pl.DataFrame]:
    """Batches put together until they have about so many rows."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= rows:
            yield _frame(waiting)
            waiting = []
    if waiting:
        yield _frame(waiting)


def _frame(batches: list[pa.RecordBatch]) -> pl.DataFrame:
    found = pl.from_arrow(pa.Table.from_batches(batches))
    assert isinstance(found, pl.DataFrame)  # noqa: S101  # a table is one
    return found


def _partial(place: int, first: bytes, second: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"place": place, "first": first, "second": second}], _PARTIAL)


def read_partial(found: pa.Table) -> Iterator[tuple[int, bytes, bytes]]:
    """What counting passes gave back."""
    for one in found.to_pylist():
        yield one["place"], one["first"], one["second"]


@dataclass(frozen=True)
class CountColumns:
    """Every column by itself: its different values and their numbers, as Arrow bytes."""

    def __call__(self, batches: Batches) -> Batches:
        """Count a partition."""
        with told():
            found: dict[str, list[pl.DataFrame]] = {}
            for rows in chunks(batches):
                for name in rows.columns:
                    counted = rows.group_by(pl.col(name).alias("value")).agg(pl.len().cast(pl.Int64).alias("times"))
                    found.setdefault(name, []).append(counted)
            for name, parts in found.items():
                yield _partial(int(name), merged(parts).write_ipc(None, compression="lz4").getvalue(), b"")


def merged(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Values with their numbers, each value once, in order."""
    return pl.concat(parts).group_by("value").agg(pl.col("times").sum()).sort("value")


@dataclass(frozen=True, eq=False)
class Coder:
    """Codes of rows, whose columns are numbered as they are published; the last one says who they are, if asked for."""

    quasi: tuple[ColumnCodes, ...]
    value: ColumnCodes | None
    person: PersonDraw | None

    @classmethod
    def of(cls, plan: RewritePlan) -> "Coder":
        """By a plan."""
        number = {name: str(place) for place, name in enumerate(plan.names)}
        quasi = tuple(replace(one, name=number[one.name]) for one in plan.quasi)
        value = None if plan.value is None else replace(plan.value, name=number[plan.value.name])
        person = None if plan.person is None else replace(plan.person, name=str(len(plan.names)))
        return cls(quasi, value, person)

    def codes(self, rows: pl.DataFrame) -> tuple[Codes, Codes]:
        """Attributes x rows, and the sensitive codes."""
        codes = np.empty((len(self.quasi), rows.height), np.int32)
        for place, column in enumerate(self.quasi):
            codes[place] = rows.select(column.code()).to_series().to_numpy()
        if self.value is None:
            return codes, np.zeros(rows.height, np.int32)
        return codes, rows.select(self.value.code()).to_series().to_numpy()

    def drawn(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with a number drawn for each person instead of who they are."""
        if self.person is None:
            return rows
        return rows.with_columns(self.person.draw().alias(DRAW)).drop(self.person.name)


@dataclass(frozen=True, eq=False)
class CountRegions:
    """Bounds and spreads of regions."""

    coder: Coder
    splits: Mapping[int, Split]
    empty: RegionCounts
    """What is to be counted, with nothing in it."""

    def __call__(self, batches: Batches) -> Batches:
        """Count a partition."""
        with told():
            counts = RegionCounts(self.empty.sizes, self.empty.values, self.empty.regions, self.empty.wanted)
            for rows in chunks(batches):
                counts.add(*self.coder.codes(rows), self.splits)
            yield _partial(-1, counts.lo.tobytes(), counts.hi.tobytes())
            for place, (keys, count) in counts.counts.items():
                yield _partial(place, keys.astype(np.int64).tobytes(), count.astype(np.int64).tobytes())


@dataclass(frozen=True, eq=False)
class AddRegion:
    """Rows with the number of their region, in the order of regions, as one more column."""

    coder: Coder
    splits: Mapping[int, Split]
    number: Mapping[int, int]
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """Place a partition's rows."""
        with told():
            for rows in chunks(batches):
                place = np.full(max(self.number) + 1, -1, np.int32)
                place[list(self.number)] = list(self.number.values())
                region = place[region_of(self.coder.codes(rows)[0], self.splits)]
                yield from _out(self.coder.drawn(rows).with_columns(pl.Series("region", region)), self.schema)


@dataclass(frozen=True, eq=False)
class Finish:
    """All rows of some regions, each finished by a function; rows come in any order, and go in one of their own."""

    names: tuple[str, ...]
    regions: tuple[int, ...]
    """A region's number among those that are finished to its own."""
    make: MakeRegion
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """Finish the regions of a partition."""
        with told():
            found = list(chunks(batches, 1 << 62))
            parts = found[0].partition_by("region", as_dict=True, include_key=False) if found else {}
            found.clear()
            for (number,) in sorted(parts):
                made = self.make(self.regions[int(number)], *laid_out(parts.pop((number,)), self.names))
                once = pl.int_range(pl.len()) == 0
                numbered = made.rows.rename({name: str(place) for place, name in enumerate(made.rows.columns)})
                told_once = [pl.when(once).then(made.groups).otherwise(0).alias(GROUPS)]
                told_once += [pl.when(once).then(made.lost).otherwise(0.0).alias(LOST)]
                yield from _out(numbered.with_columns(told_once), self.schema)


def _out(rows: pl.DataFrame, schema: pa.Schema) -> Batches:
    """Rows as batches of the types that Spark expects."""
    for first in range(0, rows.height, _OUT):
        table: Any = rows.slice(first, _OUT).to_arrow(compat_level=pl.CompatLevel.oldest())
        yield from table.cast(schema).combine_chunks().to_batches()
