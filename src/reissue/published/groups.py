"""Published tables as an attacker reads them: groups with their boxes, and what each group holds.

Nothing but published text goes in. Every quasi-identifier's texts become *nodes*, intervals of leaf codes that all
releases share; a release becomes its distinct (group, sensitive value, count) triples. Texts are parsed once each, not
once a row, and a row costs one look-up per column and its share of one sort.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.histogram import Histogram, counted
from reissue.counting.keys import pack, rank
from reissue.errors import DataError, TaxonomyError
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding, Hierarchy
from reissue.taxonomy.notation import coding_of, parse_column

__all__ = [
    "PublishedValues",
    "ReleaseCounts",
    "SeriesCounts",
    "count_release",
    "read_counts",
    "read_nodes",
    "read_values",
]

_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """What was published of one quasi-identifier in any of the releases: distinct intervals of leaf codes."""

    name: str
    lo: Codes
    hi: Codes
    texts: tuple[str | None, ...]
    """One published text of each node."""
    exact: bool
    """False if some text meant a set of values that is no interval."""


@dataclass(frozen=True, eq=False)
class ReleaseCounts(Histogram):
    """One release: how often each of its groups holds each sensitive value, and where the groups lie."""

    nodes: Codes
    """Quasi-identifiers x groups: the number of each group's node."""

    @classmethod
    def of(cls, counts: Histogram, nodes: Codes) -> "ReleaseCounts":
        """Groups' counts with their nodes."""
        return cls(counts.starts, counts.value, counts.count, counts.values, nodes)

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self.count.sum())


@dataclass(frozen=True, eq=False)
class SeriesCounts:
    """All releases in common codes."""

    quasi: tuple[PublishedValues, ...]
    releases: tuple[ReleaseCounts, ...]
    values: tuple[tuple[str | None, ...], ...]
    """Sensitive code to its published texts, one for each sensitive column."""

    def text(self, release: int, group: int) -> dict[str, str | None]:
        """The quasi-identifiers of a group as published; the release counts from 0."""
        nodes = self.releases[release].nodes[:, group].tolist()
        return {column.name: column.texts[node] for column, node in zip(self.quasi, nodes, strict=True)}


def read_counts(frames: Sequence[pl.DataFrame], schema: Schema, times: Sequence[Ints] | None = None) -> SeriesCounts:
    """Read published tables, whose rows may stand for several records each; an empty one is refused."""
    for number, frame in enumerate(frames, start=1):
        if not frame.height:
            raise DataError(f"Release {number} has no rows.")
    read = [read_nodes([frame[name] for frame in frames], schema.hierarchy(name)) for name in schema.quasi]
    values, sensitive = read_values(frames, schema.sensitive)
    quasi = tuple(column for column, _ in read)
    counts = [
        count_release(
            [codes[table] for _, codes in read], quasi, own, len(values), None if times is None else times[table]
        )
        for table, own in enumerate(sensitive)
    ]
    return SeriesCounts(quasi, tuple(counts), values)


def _text(column: pl.Series) -> pl.Series:
    """A column as published text; whole numbers look the same whether a frame holds them as integers or floats."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = column.cast(pl.Int64, strict=False)
        if (whole.cast(column.dtype) == column).all() and whole.null_count() == column.null_count():
            column = whole
    return column.cast(pl.String)


def _common_codes(columns: Sequence[pl.Series]) -> tuple[list[str | None], list[Codes]]:
    """The distinct texts of several columns, and each column as their numbers; a missing value is a text of its own."""
    shared = pl.Categories.random()
    labelled = [_text(column).cast(pl.Categorical(shared)) for column in columns]
    texts: list[str | None] = shared.to_series().to_list()  # while `labelled` keeps the categories alive
    coded = [column.to_physical() for column in labelled]
    missing = len(texts)
    if any(code.null_count() for code in coded):
        texts.append(None)
        coded = [code.fill_null(missing) for code in coded]
    return texts, [code.to_numpy().view(np.int32) for code in coded]


def read_nodes(
    columns: Sequence[pl.Series], hierarchy: Hierarchy, coding: Coding | None = None
) -> tuple[PublishedValues, list[Codes]]:
    """The nodes that several columns published, and the node of each of their rows."""
    name = columns[0].name
    texts, codes = _common_codes(columns)
    distinct = pl.Series(name, texts, dtype=pl.String)
    try:
        intervals = parse_column(distinct, coding or coding_of([distinct], hierarchy))
    except TaxonomyError:
        raise TaxonomyError(
            f"Column '{name}' holds published texts that its taxonomy cannot place. Add them to the hierarchy under "
            f"[taxonomy.{name}] in the schema. Ranges are read as [20, 34] or 20-34, sets as {{a, b}}, the root as *."
        ) from None
    size = int(intervals.hi.max()) + 1
    keys, first, place = np.unique(
        intervals.lo.astype(np.int64) * size + intervals.hi, return_index=True, return_inverse=True
    )
    nodes = PublishedValues(
        name,
        (keys // size).astype(np.int32),
        (keys % size).astype(np.int32),
        tuple(texts[text] for text in first.tolist()),
        bool(intervals.exact.all()),
    )
    number = place.astype(np.int32)
    return nodes, [number[code] for code in codes]


def read_values(
    frames: Sequence[pl.DataFrame], sensitive: Sequence[str]
) -> tuple[tuple[tuple[str | None, ...], ...], list[Codes]]:
    """The sensitive values that occur, several columns taken together, and each release's codes."""
    if not sensitive:
        return ((),), [np.zeros(frame.height, np.int32) for frame in frames]
    read = [_common_codes([frame[name] for frame in frames]) for name in sensitive]
    if len(read) == 1:
        texts, codes = read[0]
        return tuple((text,) for text in texts), codes
    whole = [np.concatenate(codes) for _, codes in read]
    keys, first, joint = np.unique(
        pack(whole, [len(texts) for texts, _ in read])[0], return_index=True, return_inverse=True
    )
    del keys
    values = tuple(
        tuple(texts[codes[row]] for (texts, _), codes in zip(read, whole, strict=True)) for row in first.tolist()
    )
    ends = np.cumsum([frame.height for frame in frames])[:-1]
    return values, np.split(joint.astype(np.int32), ends)


def count_release(
    codes: Sequence[Codes],
    columns: Sequence[PublishedValues],
    sensitive: Codes,
    values: int,
    times: Ints | None = None,
) -> ReleaseCounts:
    """Count a release's distinct combinations; `times` says how many records a row stands for."""
    sizes = [len(column.lo) for column in columns]
    space = values
    for size in sizes:
        space *= size
    if space >= _LIMIT:
        return _count_wide(codes, sizes, sensitive, values, times)
    keys, _ = pack([*codes, sensitive], [*sizes, values])
    distinct, count = _distinct(keys, times)
    box, value = np.divmod(distinct, values)
    fresh = np.diff(box, prepend=-1) != 0
    rest = box[fresh]
    nodes = np.empty((len(sizes), len(rest)), np.int32)
    for place in reversed(range(len(sizes))):
        rest, nodes[place] = np.divmod(rest, sizes[place])
    return ReleaseCounts(np.append(np.flatnonzero(fresh), len(box)), value, count, values, nodes)


def _distinct(keys: Ints, times: Ints | None) -> tuple[Ints, Ints]:
    if times is None:
        return np.unique(keys, return_counts=True)
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(place, times).astype(np.int64)


def _count_wide(
    codes: Sequence[Codes], sizes: Sequence[int], sensitive: Codes, values: int, times: Ints | None
) -> ReleaseCounts:
    """The same where one integer cannot hold a combination: groups are ranked first."""
    boxes, groups = rank(pack(codes, sizes)[0])
    _, first = np.unique(boxes, return_index=True)
    return ReleaseCounts.of(counted(boxes, sensitive, groups, values, times), np.stack([code[first] for code in codes]))
