"""What runs on Spark's workers: a pass over Arrow batches of rows, each counted or rewritten with Polars and NumPy.

Rows are packed once, when they are read: half a million of them are one value to Spark, as bytes, and later two, with
their codes. Spark takes rows apart value by value wherever it hands them over, which costs more than all that is
computed here; packed ones it keeps, moves and hands over as they are.

Columns are numbered (`0`, `1`, ...), since Spark takes names apart at dots and ignores their case. Whatever fails in
here ends in logs of Spark, so errors are raised anew without a library's words, which may quote the data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from reissue._arrays import Codes
from reissue.engines.base import ColumnCodes, MakeRegion, RewritePlan
from reissue.engines.coded import laid_out
from reissue.engines.regions import RegionCounts, Split, region_of
from reissue.engines.spark.errors import told

__all__ = [
    "CODED",
    "MADE",
    "PARTIAL",
    "PLACED",
    "ROWS",
    "Batches",
    "Choose",
    "CodeRows",
    "Coder",
    "CountColumns",
    "CountPacked",
    "CountRegions",
    "Finish",
    "Pack",
    "PlaceRows",
    "Unpack",
    "chunks",
    "code_type",
    "merged",
    "one_partial",
    "read_partial",
    "to_bytes",
]

PARTIAL = "place int, first binary, second binary"
"""What counting passes give back, as Spark writes a schema: numbers or tables as bytes."""
ROWS = "rows binary"
CODED = "codes binary, rows binary"
PLACED = "region int, rows binary"
MADE = "groups long, number long, lost double, rows binary"
"""Some rows of a region, how many they are, and, told once for each, its groups and what it loses."""
_CHUNK = 1 << 19
"""Rows that are worked on at a time."""
_OUT = 1 << 16
"""Rows of a batch that goes back."""
_DRAW = "draw"
"""The column of the numbers drawn for people; what says who they are goes no further."""
_PARTIAL = pa.schema([("place", pa.int32()), ("first", pa.binary()), ("second", pa.binary())])
_ROWS = pa.schema([("rows", pa.binary())])
_CODED = pa.schema([("codes", pa.binary()), ("rows", pa.binary())])
_PLACED = pa.schema([("region", pa.int32()), ("rows", pa.binary())])
_MADE = pa.schema([("groups", pa.int64()), ("number", pa.int64()), ("lost", pa.float64()), ("rows", pa.binary())])

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


def one_partial(place: int, first: bytes, second: bytes) -> pa.RecordBatch:
    """A part of an answer, to be put together on the driver."""
    return _one(_PARTIAL, place, first, second)


def _one(schema: pa.Schema, *values: object) -> pa.RecordBatch:
    """A batch of one row."""
    columns = [pa.array([one], kind) for one, kind in zip(values, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def to_bytes(rows: pl.DataFrame) -> bytes:
    """Rows as one value to Spark."""
    return rows.write_ipc(None, compression="lz4").getvalue()


def _each(batches: Batches, *names: str) -> Iterator[tuple[Any, ...]]:
    """The values of some columns, row by row; a batch is given up before the next."""
    for batch in batches:
        yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def read_partial(found: pa.Table) -> Iterator[tuple[int, bytes, bytes]]:
    """What counting passes gave back."""
    for one in found.to_pylist():
        yield one["place"], one["first"], one["second"]


@dataclass(frozen=True)
class Pack:
    """Rows in chunks, as bytes."""

    def __call__(self, batches: Batches) -> Batches:
        """Pack a partition."""
        with told():
            for rows in chunks(batches):
                yield _one(_ROWS, to_bytes(rows))


@dataclass(frozen=True, eq=False)
class Choose:
    """Some columns of packed rows as they are, and codes of others, packed again, under their names."""

    place: Mapping[str, int]
    """Name to the number of the column."""
    names: tuple[str, ...]
    codes: tuple[ColumnCodes, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Choose from a partition."""
        with told():
            wanted = dict.fromkeys((*self.names, *(one.name for one in self.codes)))
            numbers = {str(self.place[name]): name for name in wanted}
            columns = [*map(pl.col, self.names), *(one.code() for one in self.codes)]
            for (packed,) in _each(batches, "rows"):
                rows = pl.read_ipc(packed, columns=list(numbers)).rename(numbers)
                yield _one(_ROWS, to_bytes(rows.select(columns)))


@dataclass(frozen=True)
class CountColumns:
    """Some columns of packed rows, every one by itself: its different values and their numbers, as Arrow bytes."""

    places: tuple[int, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Count a partition."""
        with told():
            found: dict[int, list[pl.DataFrame]] = {}
            for (packed,) in _each(batches, "rows"):
                rows = pl.read_ipc(packed, columns=[str(place) for place in self.places])
                for place in self.places:
                    value = pl.col(str(place)).alias("value")
                    counted = rows.group_by(value).agg(pl.len().cast(pl.Int64).alias("times"))
                    found.setdefault(place, []).append(counted)
            for place, parts in found.items():
                yield one_partial(place, to_bytes(merged(parts)), b"")


def merged(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Values with their numbers (`times`), each combination once."""
    whole = pl.concat(parts)
    if len(parts) == 1:
        return whole
    return whole.group_by([name for name in whole.columns if name != "times"]).agg(pl.col("times").sum())


@dataclass(frozen=True, eq=False)
class Coder:
    """Codes of rows, whose columns are numbered as they are handed on; the last one says who they are, if asked for."""

    plan: RewritePlan
    """With the numbers of columns instead of their names."""

    @classmethod
    def of(cls, plan: RewritePlan) -> "Coder":
        """By a plan."""
        number = {name: str(place) for place, name in enumerate(plan.handed)}

        def called(one: ColumnCodes | None) -> ColumnCodes | None:
            return None if one is None else replace(one, name=number[one.name])

        quasi = tuple(replace(one, name=number[one.name]) for one in plan.quasi)
        person = None if plan.person is None else replace(plan.person, name=str(len(plan.handed)))
        changed = replace(plan, quasi=quasi, value=called(plan.value), provider=called(plan.provider), person=person)
        return cls(changed)

    def codes(self, rows: pl.DataFrame) -> NDArray[Any]:
        """Attributes x rows, and below them what a row counts as."""
        codes = np.empty((len(self.plan.quasi) + 1, rows.height), code_type(self.plan))
        for place, column in enumerate(self.plan.quasi):
            codes[place] = rows.select(column.code()).to_series().to_numpy()
        codes[-1] = rows.select(self.plan.value_code()).to_series().to_numpy()
        return codes

    def drawn(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with a number drawn for each person instead of who they are."""
        person = self.plan.person
        return rows if person is None else rows.with_columns(person.draw().alias(_DRAW)).drop(person.name)


@dataclass(frozen=True, eq=False)
class CodeRows:
    """Packed rows with the codes of each attribute and of the value beside them, and people's numbers among them."""

    coder: Coder
    places: tuple[int, ...]
    """Which columns of the packed rows are handed on, in their order; the last says who they are, if asked for."""

    def __call__(self, batches: Batches) -> Batches:
        """Code a partition."""
        with told():
            chosen = [pl.col(str(place)).alias(str(number)) for number, place in enumerate(self.places)]
            for (packed,) in _each(batches, "rows"):
                whole = pl.read_ipc(packed)
                rows = whole.select(chosen)
                as_they_are = self.coder.plan.person is None and rows.columns == whole.columns and self._in_order
                handed = packed if as_they_are else to_bytes(self.coder.drawn(rows))
                yield _one(_CODED, self.coder.codes(rows).tobytes(), handed)

    @property
    def _in_order(self) -> bool:
        return self.places == tuple(range(len(self.places)))


def code_type(plan: RewritePlan) -> type[np.integer[Any]]:
    """The smallest type that holds all codes: every pass reads them."""
    largest = max(plan.values, *(int(one.codes.max()) + 1 for one in plan.quasi))
    return next(one for one in (np.uint8, np.uint16, np.int32) if largest <= np.iinfo(one).max)


def _codes(packed: bytes, kind: type[np.integer[Any]], attributes: int) -> tuple[Codes, Codes]:
    whole = np.frombuffer(packed, kind).reshape(attributes + 1, -1)
    return whole[:-1], whole[-1]


@dataclass(frozen=True, eq=False)
class CountRegions:
    """Bounds and spreads of regions."""

    splits: Mapping[int, Split]
    empty: RegionCounts
    """What is to be counted, with nothing in it."""
    kind: type[np.integer[Any]]
    """Of the codes."""

    def __call__(self, batches: Batches) -> Batches:
        """Count a partition."""
        with told():
            counts = RegionCounts(self.empty.sizes, self.empty.values, self.empty.regions, self.empty.wanted)
            for (packed,) in _each(batches, "codes"):
                counts.add(*_codes(packed, self.kind, len(counts.sizes)), self.splits)
            yield one_partial(-1, counts.lo.tobytes(), counts.hi.tobytes())
            for place, (keys, count) in counts.counts.items():
                yield one_partial(place, keys.astype(np.int64).tobytes(), count.astype(np.int64).tobytes())


@dataclass(frozen=True, eq=False)
class PlaceRows:
    """Rows by region: the number of the region in the order of regions, and its rows of one chunk."""

    attributes: int
    kind: type[np.integer[Any]]
    """Of the codes."""
    splits: Mapping[int, Split]
    number: Mapping[int, int]

    def __call__(self, batches: Batches) -> Batches:
        """Place a partition's rows."""
        with told():
            place = np.full(max(self.number) + 1, -1, np.int32)
            place[list(self.number)] = list(self.number.values())
            for packed, rows in _each(batches, "codes", "rows"):
                region = place[region_of(_codes(packed, self.kind, self.attributes)[0], self.splits)]
                whole = pl.read_ipc(rows).with_columns(pl.Series("region", region))
                for (number,), part in whole.partition_by("region", as_dict=True, include_key=False).items():
                    yield _one(_PLACED, number, to_bytes(part))


@dataclass(frozen=True, eq=False)
class Finish:
    """All rows of some regions, each finished by a function; rows come in any order, and go in one of their own."""

    names: tuple[str, ...]
    regions: tuple[int, ...]
    """A region's number among those that are finished to its own."""
    make: MakeRegion
    any_order: bool

    def __call__(self, batches: Batches) -> Batches:
        """Finish the regions of a partition."""
        with told():
            parts: dict[int, list[bytes]] = {}
            for number, packed in _each(batches, "region", "rows"):
                parts.setdefault(number, []).append(packed)
            for number in sorted(parts):
                part = pl.concat(pl.read_ipc(packed) for packed in parts.pop(number))
                made = self.make(self.regions[number], *laid_out(part, self.names, any_order=self.any_order))
                del part
                for first in range(0, made.rows.height, _CHUNK):
                    rows = made.rows.slice(first, _CHUNK)
                    once = (0, 0.0) if first else (made.groups, made.lost)
                    yield _one(_MADE, once[0], rows.height, once[1], to_bytes(rows))


@dataclass(frozen=True, eq=False)
class Unpack:
    """Packed rows as rows of the types that Spark expects."""

    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """Unpack a partition."""
        with told():
            for (packed,) in _each(batches, "rows"):
                rows = pl.read_ipc(packed).with_columns(pl.col(pl.Enum).cast(pl.String))
                rows = rows.rename({name: str(place) for place, name in enumerate(rows.columns)})
                for first in range(0, rows.height, _OUT):
                    table: Any = rows.slice(first, _OUT).to_arrow(compat_level=pl.CompatLevel.oldest())
                    yield from table.cast(self.schema).combine_chunks().to_batches()


@dataclass(frozen=True, eq=False)
class CountPacked:
    """The different combinations of some columns of packed rows, and their numbers."""

    by: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Count a partition."""
        with told():
            columns = [pl.col(name).alias(str(place)) for place, name in enumerate(self.by)]
            # Texts are compared by their numbers, which hold within a region, and put out when there are few left. What
            # two chunks have in common is put together by whoever asked: that is little, and texts are slow to compare.
            for (packed,) in _each(batches, "rows"):
                counted = pl.read_ipc(packed).group_by(columns).agg(pl.len().cast(pl.Int64).alias("times"))
                yield one_partial(0, to_bytes(counted.with_columns(pl.col(pl.Enum).cast(pl.String))), b"")
