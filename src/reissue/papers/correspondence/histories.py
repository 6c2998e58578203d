"""A table and the releases that were made before it: what they hold against the next one, and why there may be none.

What arrived after each earlier release: the table's records less the release's, box by box and value by value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Cells, cells_of
from reissue.counting.histogram import Histogram
from reissue.counting.keys import pack, rank
from reissue.data.table import Table
from reissue.errors import CannotRunError, DataError, InternalError, NotMetError
from reissue.papers.correspondence.chains import refuse_other_recodings, targets
from reissue.papers.correspondence.earlier import Arrived, Chained, Covers, covers_of
from reissue.published import PublishedRelease, read_published
from reissue.published.boxes import PublishedValues, ReleaseCounts, SeriesCounts, read_counts, read_values
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding
from reissue.taxonomy.tree import ROOT

__all__ = ["EarlierCells", "never_published", "read_history", "recheck", "recheck_counted", "refusal"]


@dataclass(frozen=True, eq=False)
class EarlierCells:
    """The next table's cells in common codes with all earlier releases, and what those hold against it."""

    cells: Cells
    """The last row of their codes is the sensitive value."""
    code: Ints
    """Sensitive value in common codes to the table's own code."""
    releases: int
    """How many earlier releases there are."""
    chained: Chained
    """The chains of groups on which a target may stand, by arrival time."""
    arrived: Arrived
    """What arrived after each earlier release."""


def read_history(table: Table, after: Sequence[Any]) -> EarlierCells:
    """What earlier releases hold against a table, in the table's own codings."""
    views = _views(_frames(after, table.schema), table.schema, table.codings)
    own, common = _values(table, views)
    codes, sizes = np.vstack([table.codes, common[table.sensitive].astype(np.int32)]), [*table.sizes, len(own)]
    cells = cells_of(codes, sizes, table.times)
    chained = _chained(views, table, len(own))
    arrived = _arrived(views, cells, [*table.sizes, len(own)])
    return EarlierCells(cells, own, len(views.releases), chained, arrived)


def never_published(table: Table, after: Sequence[Any]) -> Bools:
    """The rows that no record of any earlier release can be: none has their value in a group that holds them.

    Only these may be left out of a growing table. To everyone else they arrive when they are first published; were a
    record left out that had been published, it would seem to have left.
    """
    views = _views(_frames(after, table.schema), table.schema, table.codings)
    own, common = _values(table, views)
    covers, sizes = _covers(views, table.sizes), [*table.sizes, len(own)]
    new = np.ones(table.rows, np.bool_)
    for time, view in enumerate(views.releases):
        boxes = _boxes(views.quasi, covers, view, time, table.codes)
        keys, _ = pack([*boxes, np.append(common[table.sensitive], view.value)], sizes)
        new &= ~np.isin(keys[: table.rows], keys[table.rows :])
    return new


# --- earlier releases ------------------------------------------------------------------------------------------------

_Frames = tuple[list[pl.DataFrame], list[Ints]]
"""Published tables, and how many records each of their rows stands for."""


def _frames(after: Sequence[Any], schema: Schema) -> _Frames:
    frames, weights = [], []
    for number, data in enumerate(after, start=1):
        release = read_published(data, schema)
        if release.generalized is None:
            raise DataError(f"Release {number} publishes quasi-identifiers and sensitive values apart, in groups.")
        frames.append(release.generalized)
        weights.append(release.weights)
    return frames, weights


def _views(read: _Frames, schema: Schema, codings: Sequence[Coding]) -> SeriesCounts:
    """Releases in the holder's own codings."""
    frames, weights = read
    if not frames:
        none = np.empty(0, np.int32)
        return SeriesCounts(tuple(PublishedValues(name, none, none, (), exact=True) for name in schema.quasi), (), ())
    try:
        views = read_counts(frames, schema, weights, codings)
        refuse_other_recodings(views, range(1, len(frames) + 1))
    except CannotRunError as obstacle:
        raise _lost(obstacle) from None
    return views


def _lost(obstacle: CannotRunError) -> DataError:
    return DataError(f"The earlier releases cannot be followed: {obstacle}")


def _values(table: Table, views: SeriesCounts) -> tuple[Ints, Ints]:
    """Sensitive value in common codes with the earlier releases to the table's own code, and the other way round."""
    codes = np.flatnonzero(table.domain.totals).astype(np.int32)
    shown, (place,) = read_values([_tops(table, codes)], table.schema.sensitive)
    number = {value: place for place, value in enumerate(views.values)}
    for value in shown:
        number.setdefault(value, len(number))
    own, common = np.zeros(len(number), np.int64), np.zeros(table.domain.size, np.int64)
    common[codes] = np.array([number[value] for value in shown], np.int64)[place]
    own[common[codes]] = codes
    return own, common


def _covers(views: SeriesCounts, sizes: Sequence[int]) -> tuple[Covers, ...]:
    """The cuts of each release."""
    nodes = [view.nodes for view in views.releases] or [np.empty((len(views.quasi), 0), np.int32)]
    time = np.repeat(np.arange(len(views.releases)), [view.groups for view in views.releases])
    return covers_of(views.quasi, np.concatenate(nodes, axis=1), time, len(views.releases), sizes)


def _boxes(
    columns: Sequence[PublishedValues], covers: Sequence[Covers], view: ReleaseCounts, time: int, codes: Codes
) -> list[Codes]:
    """The first leaves of boxes by a release's own cuts: of some leaves, then of the release's entries."""
    cuts = [one.lo[one.which[time]] for one in covers]
    shown = [column.lo[nodes][view.group] for column, nodes in zip(columns, view.nodes, strict=True)]
    return [np.append(cut[own], box) for cut, own, box in zip(cuts, codes, shown, strict=True)]


def _arrived(views: SeriesCounts, cells: Cells, sizes: Sequence[int]) -> Arrived:
    """What arrived after each release: the table's records less the release's, by the release's cuts."""
    covers = _covers(views, sizes[:-1])
    rows = len(sizes) + 2
    found = [np.empty((rows, 0), np.int64)]
    for time, view in enumerate(views.releases):
        boxes = _boxes(views.quasi, covers, view, time, cells.codes[:-1])
        columns = np.stack([*boxes, np.append(cells.codes[-1], view.value)])
        keys, number = rank(pack(list(columns), sizes)[0])
        more = np.bincount(keys, np.append(cells.sizes, -view.count), number).astype(np.int64)
        if (more < 0).any():
            raise DataError(
                f"The table lacks {-int(more[more < 0].sum()):,} records that release {time + 1} published. This "
                "method is for tables that only grow: records may arrive, but not leave or change."
            )
        first = np.empty(number, np.int64)
        first[keys] = np.arange(len(keys))
        kept = np.flatnonzero(more)
        found.append(np.vstack([columns[:, first[kept]], more[kept], np.full(len(kept), time)]))
    *boxes, value, more, time = np.concatenate(found, axis=1)
    return Arrived([one.astype(np.int32) for one in boxes], time, covers, value, more, len(views.releases), sizes[-1])


def _chained(views: SeriesCounts, table: Table, values: int) -> Chained:
    """The chains of which something is left, sorted by arrival time."""
    parts = list(targets(views)) if views.releases else []
    none, first = np.empty(0, np.int64), 0
    nodes, arrived = [np.empty((len(views.quasi), 0), np.int32)], [none]
    chain, value, count = [none], [none], [none]
    for part in parts:
        there = np.flatnonzero(part.sizes > 0)
        number = np.full(part.groups, -1)
        number[there] = first + np.arange(len(there))
        kept = np.flatnonzero(part.count)
        nodes.append(part.nodes[:, there])
        arrived.append(np.full(len(there), part.arrived))
        chain.append(number[part.group[kept]])
        value.append(part.value[kept].astype(np.int64))
        count.append(part.count[kept].astype(np.int64))
        first += len(there)
    whole, time = np.concatenate(nodes, axis=1), np.concatenate(arrived)
    starts = np.searchsorted(np.concatenate(chain), np.arange(first + 1))
    held = Histogram(starts, np.concatenate(value), np.concatenate(count), values)
    covers = covers_of(views.quasi, whole, time, len(views.releases), table.sizes)
    leaves = [column.lo[row] for column, row in zip(views.quasi, whole, strict=True)]
    return Chained(leaves, time, covers, held, len(views.releases))


def _tops(table: Table, codes: Codes) -> pl.DataFrame:
    """Rows of some sensitive values, with every quasi-identifier generalized to the root."""
    secret = table.decode(codes) if table.schema.sensitive else pl.DataFrame({ROOT: [ROOT] * len(codes)})
    return secret.with_columns(pl.lit(ROOT).alias(name) for name in table.schema.quasi)


# --- after the search ------------------------------------------------------------------------------------------------


def recheck(release: Release, after: Sequence[Any]) -> None:
    """Attack what was published together with the earlier releases, with code that shares nothing with the search."""
    frame = release.tables["release"]
    _recheck(
        frame, np.ones(frame.height, np.int64), release.schema, release.table.codings, release.requirement.least, after
    )


def recheck_counted(release: PublishedRelease, codings: Sequence[Coding], least: int, after: Sequence[Any]) -> None:
    """The same of a release that an engine counted."""
    _recheck(release.main, release.weights, release.schema, codings, least, after)


def _recheck(
    frame: pl.DataFrame, weights: Ints, schema: Schema, codings: Sequence[Coding], least: int, after: Sequence[Any]
) -> None:
    frames, earlier = _frames(after, schema)
    if _lowest(_views(([*frames, frame], [*earlier, weights]), schema, codings), least) is not None:
        raise InternalError(
            "The release does not withstand the attack that it was made to withstand. Nothing was published. "
            "Please report this."
        )


# --- why there may be no next release --------------------------------------------------------------------------------


def refusal(table: Table, after: Sequence[Any], least: int) -> NotMetError | None:
    """Why not even the most general table would do, if it would not: which release binds, and by how much."""
    frames, weights = _frames(after, table.schema)
    times = np.ones(table.rows, np.int64) if table.times is None else table.times
    read = [*frames, _tops(table, table.sensitive)], [*weights, times]
    views = _views(read, table.schema, table.codings)
    total = len(views.releases)
    for last in range(1, total + 1):
        low = _lowest(SeriesCounts(views.quasi, views.releases[:last], views.values), least)
        if low is not None:
            return NotMetError(_binding(last, total, *low, least))
    return None


def _lowest(views: SeriesCounts, least: int) -> tuple[int, int] | None:
    """The first arrival time, from 0, of somebody who has too little left, and the least that is."""
    try:
        found = [(part.arrived, int(part.sizes[part.sizes > 0].min(initial=least))) for part in targets(views)]
    except CannotRunError as obstacle:
        raise _lost(obstacle) from None
    low = [(arrived, left) for arrived, left in found if left < least]
    return min(low, default=None)


def _binding(last: int, total: int, arrived: int, left: int, least: int) -> str:
    """Which release binds, in words; releases count from 1, arrival times from 0."""
    lacking = f"{left:,} of {least:,} records"
    if last < total:
        together = f"releases 1 to {last} together already leave" if last > 1 else "release 1 already leaves"
        return (
            f"No next release can be safe: {together} only {lacking} to someone who arrived with release "
            f"{arrived + 1}. Release {last} binds. Start a new series, or ask for less."
        )
    # The root takes nothing from those who were there before, so this is about those who arrived last.
    return (
        f"No next release can be safe yet: even with everything generalized to the root, only {lacking} are left to "
        f"someone who arrived after release {last - 1}. Release {last - 1} binds. Wait until at least "
        f"{least - left:,} more have arrived, or ask for less."
    )
