"""The one reader of published groups as boxes: intervals of codes that all releases share, or those of a table.

Nothing but published text goes in. Every quasi-identifier's texts become *nodes*, intervals of leaf codes. Texts are
parsed once each, not once a row; a row costs one look-up for each column and its share of one sort.

- `read_counts`: generalized releases, each as its distinct (group, sensitive value, count) triples.
- `read_boxes`: releases of any form, one box for each look of a group; a column that a release lacks is all of it.
- `boxes_in`: the looks of one release in the codes of a table of people.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.histogram import Histogram, counted
from reissue.counting.keys import pack, rank
from reissue.errors import DataError, TaxonomyError
from reissue.published.release import PublishedRelease
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding, Hierarchy
from reissue.taxonomy.notation import coding_of, parse_column
from reissue.taxonomy.numbers import EXACT
from reissue.taxonomy.ranges import is_range

__all__ = [
    "BoxBounds",
    "CommonBoxes",
    "PublishedValues",
    "ReleaseCounts",
    "SeriesCounts",
    "boxes_in",
    "count_release",
    "counts_of",
    "read_boxes",
    "read_counts",
    "read_nodes",
    "read_values",
]

_LIMIT = 2**62
"""Combinations of codes, at most, that one integer holds."""


@dataclass(frozen=True, eq=False)
class BoxBounds:
    """The first and the last code of each attribute, attributes x boxes."""

    lo: Codes
    hi: Codes

    def __len__(self) -> int:
        return int(self.lo.shape[1])

    @property
    def inhabited(self) -> Bools:
        """Box to whether it holds any code of every attribute."""
        return np.asarray((self.lo <= self.hi).all(axis=0))

    @property
    def exact(self) -> Bools:
        """Box to whether it is one point."""
        return np.asarray((self.lo == self.hi).all(axis=0))

    def some(self, boxes: Ints | Bools) -> "BoxBounds":
        """Select some of them."""
        return BoxBounds(self.lo[:, boxes], self.hi[:, boxes])


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """The published values of one quasi-identifier in any of the releases: distinct intervals of leaf codes."""

    name: str
    lo: Codes
    hi: Codes
    texts: tuple[str | None, ...]
    """One published text of each node."""
    exact: bool
    """False if some text meant a set of values that is no interval."""
    leaves: tuple[str | None, ...] = ()
    """Code to its name, where boxes are described."""
    ordered: int = 0
    """How many of the leaves, from the first on, are numbers or days, not words or missing."""

    def texts_of(self, lo: int, hi: int) -> tuple[str | None, ...]:
        """The text that was published for a run of codes; nothing where none was."""
        found = np.flatnonzero((self.lo == lo) & (self.hi == hi))
        return tuple(self.texts[node] for node in found.tolist())


@dataclass(frozen=True, eq=False)
class ReleaseCounts(Histogram):
    """One release: how often each of its groups holds each sensitive value, and where the groups lie."""

    nodes: Codes
    """Quasi-identifiers x groups: the number of each group's node."""

    @classmethod
    def of(cls, counts: Histogram, nodes: Codes) -> "ReleaseCounts":
        """Add the groups' nodes to their counts."""
        return cls(counts.starts, counts.value, counts.count, counts.values, nodes)

    @property
    def records(self) -> int:
        """The number of records."""
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

    def bounds(self, release: int) -> BoxBounds:
        """The boxes of a release's groups."""
        pairs = list(zip(self.quasi, self.releases[release].nodes, strict=True))
        lo = np.stack([column.lo[nodes] for column, nodes in pairs])
        return BoxBounds(lo, np.stack([column.hi[nodes] for column, nodes in pairs]))


# --- generalized releases --------------------------------------------------------------------------------------------


def read_counts(
    frames: Sequence[pl.DataFrame],
    schema: Schema,
    times: Sequence[Ints] | None = None,
    codings: Sequence[Coding] = (),
) -> SeriesCounts:
    """Read published tables, whose rows may stand for several records each (`times`); an empty one is refused.

    A holder who has them reads by the `codings` of a table, so that nodes are intervals of its codes.
    """
    for number, frame in enumerate(frames, start=1):
        if not frame.height:
            raise DataError(f"Release {number} has no rows.")
    own: Sequence[Coding | None] = codings or [None] * len(schema.quasi)
    read = [
        read_nodes([frame[name] for frame in frames], schema.hierarchy(name), coding)
        for name, coding in zip(schema.quasi, own, strict=True)
    ]
    values, sensitive = read_values(frames, schema.sensitive)
    quasi = tuple(column for column, _ in read)
    counts = [
        count_release(
            [codes[table] for _, codes in read], quasi, own, len(values), None if times is None else times[table]
        )
        for table, own in enumerate(sensitive)
    ]
    return SeriesCounts(quasi, tuple(counts), values)


def counts_of(releases: Sequence[PublishedRelease], schema: Schema) -> SeriesCounts | None:
    """Read releases in common codes; None if one of them publishes quasi-identifiers and values apart."""
    frames = [frame for release in releases if (frame := release.generalized) is not None]
    if len(frames) < len(releases):
        return None
    counted = any(release.tables.times is not None for release in releases)
    return read_counts(frames, schema, [release.weights for release in releases] if counted else None)


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


# --- releases of any form --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CommonBoxes:
    """The boxes of all releases, in common codes."""

    bounds: BoxBounds
    columns: tuple[PublishedValues, ...]
    release: Ints
    """Box to its release, from 0; boxes are sorted by it."""
    group: Ints
    """Box to its group, numbered over all releases."""


def read_boxes(releases: Sequence[PublishedRelease], schema: Schema) -> CommonBoxes:
    """Read all releases as boxes; a column that a release does not show is the whole range."""
    shown = [release.of_its_columns() for release in releases]
    columns = [name for name in schema.quasi if any(name in one.schema.quasi for one in shown)]
    coded = [_intervals(shown, name, schema) for name in columns]
    first = np.cumsum([0, *(one.groups for one in shown[:-1])])
    return CommonBoxes(
        BoxBounds(np.stack([lo for _, lo, _ in coded]), np.stack([hi for _, _, hi in coded])),
        tuple(column for column, _, _ in coded),
        np.repeat(np.arange(len(shown)), [len(one.looks.group) for one in shown]),
        np.concatenate([one.looks.group + start for one, start in zip(shown, first, strict=True)]),
    )


def _intervals(shown: Sequence[PublishedRelease], name: str, schema: Schema) -> tuple[PublishedValues, Codes, Codes]:
    """One quasi-identifier of all boxes; the whole range where a release lacks it."""
    having = [one for one in shown if name in one.schema.quasi]
    texts, hierarchy = [one.looks.texts[name] for one in having], schema.hierarchy(name)
    coding = coding_of(texts, hierarchy)
    coding = coding_of([*texts, *_between(coding)], hierarchy)
    nodes, codes = read_nodes(texts, hierarchy, coding)
    read = iter(codes)
    size = coding.taxonomy.size
    lo, hi = [], []
    for one in shown:
        shows, boxes = name in one.schema.quasi, len(one.looks.group)
        code = next(read) if shows else None
        lo.append(np.zeros(boxes, np.int32) if code is None else nodes.lo[code])
        hi.append(np.full(boxes, size - 1, np.int32) if code is None else nodes.hi[code])
    line = len(coding.leaves) if coding.taxonomy.ordered else 0
    column = replace(nodes, leaves=coding.taxonomy.names, ordered=line)
    return column, np.concatenate(lo), np.concatenate(hi)


def _between(coding: Coding) -> list[pl.Series]:
    """Neighbours of the ends of published ranges: a point between two ranges lies in fewer of them."""
    leaves = coding.leaves
    if leaves.dtype.is_float() and coding.hierarchy.kind == "ranges":
        return [pl.Series(leaves.name, _between_numbers(leaves.to_numpy())).cast(pl.String)]
    if not coding.taxonomy.ordered or not (leaves.dtype.is_integer() or leaves.dtype == pl.Date):
        return []
    step = pl.duration(days=1) if leaves.dtype == pl.Date else 1
    inside = pl.col("end").is_between(leaves.min(), leaves.max())
    near = [pl.select((pl.lit(leaves) + sign * step).alias("end")).filter(inside)["end"] for sign in (1, -1)]
    return [one.cast(pl.String).alias(leaves.name) for one in near]


def _between_numbers(ends: Floats) -> Floats:
    """Points between neighbours: whole numbers if all that was published is whole, `[20, 25)` too; else midpoints."""
    low, high = ends[:-1], ends[1:]
    near = np.round(ends)
    # The last number of a range that is open is the float before its end.
    if (np.abs(ends) < EXACT).all() and (np.abs(ends - near) <= np.spacing(np.abs(near))).all():
        low, high = np.append(low, low), np.append(high, high)
        points = np.append(np.floor(ends[:-1]), np.ceil(ends[1:]) - 2) + 1
    else:
        points = low / 2 + high / 2
    return np.asarray(points[(low < points) & (points < high)])


# --- one release in the codes of a table -----------------------------------------------------------------------------


def boxes_in(release: PublishedRelease, codings: Sequence[Coding]) -> BoxBounds:
    """Read a release in the codes of a table of people; a box that is not `inhabited` has none of them.

    Where quasi-identifiers are published as they are, a value that none of the people has is somebody else's, or
    nobody's. A name in a generalized release, or beside ranges, may include some of them: it must be in the taxonomy.
    """
    exact = not release.form.boxes
    columns = [release.looks.texts[name] for name in release.schema.quasi]
    read = [
        parse_column(texts, coding, partial=True, strange=exact and not _shows_ranges(texts))
        for texts, coding in zip(columns, codings, strict=True)
    ]
    return BoxBounds(np.stack([part.lo for part in read]), np.stack([part.hi for part in read]))


def _shows_ranges(texts: pl.Series) -> bool:
    return any(map(is_range, texts.drop_nulls().unique()))
