"""A table and the releases that were made before it: what they hold against the next one, and why there may be none.

What arrived after each earlier release: the table's records less the release's, box by box and value by value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Cells, cells_of
from reissue.counting.histogram import Histogram
from reissue.counting.keys import distinct_keys, pack, rank, stable_order
from reissue.counting.segments import pieces, ranges
from reissue.data.table import Table
from reissue.errors import CannotRunError, DataError, InternalError, NotMetError
from reissue.papers.correspondence.chains import refuse_other_recodings
from reissue.papers.correspondence.earlier import Arrived, Chained, Covers, covers_of
from reissue.papers.correspondence.history import ChainHistory, add_release, all_values, replayed
from reissue.published import PublishedRelease, read_published
from reissue.published.boxes import PublishedValues, SeriesCounts, read_nodes
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding
from reissue.taxonomy.tree import ROOT

__all__ = ["EarlierCells", "arrived_after", "never_published", "read_history", "recheck", "recheck_counted", "refusal"]

_COARSER = 8
"""Cuts with this many times fewer boxes than there are cells wait until cells are counted together for them."""


def arrived_after(
    past: ChainHistory, columns: Sequence[PublishedValues], cells: Cells, values: int, sizes: Sequence[int]
) -> Arrived:
    """What arrived after the releases of a past; `columns` are its nodes as intervals of the table's leaves.

    The last row of the cells' codes is the sensitive value.

    Releases with the same cuts are gone through together.
    """
    covers = covers_of(columns, past.shown.nodes, past.release, past.releases, sizes)
    lows = [column.lo[row] for column, row in zip(columns, past.shown.nodes, strict=True)]
    kinds, kind = np.unique(np.stack([one.which for one in covers]), axis=1, return_inverse=True)
    order = np.argsort(kind.reshape(-1), kind="stable")
    times = np.split(order, np.flatnonzero(np.diff(kind.reshape(-1)[order])) + 1)
    found = []
    for some, counted in _cells_by_cut(covers, kinds, cells, values):
        cuts = [one.lo[cut] for one, cut in zip(covers, kinds[:, some], strict=True)]
        found.append(_arrived(past, times[some], cuts, lows, counted, values))
    time, boxes, its, count = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
    _refuse_lacking(time, count)
    order = stable_order(time, past.releases)
    order = order[count[order] > 0]
    return Arrived(list(boxes[:, order]), time[order], covers, its[order], count[order], past.releases, values)


def _cells_by_cut(covers: Sequence[Covers], kinds: Ints, cells: Cells, values: int) -> Iterator[tuple[int, Cells]]:
    """Each kind of cuts (attributes x kinds) with the table's cells, counted together where cuts allow.

    What coarse cuts do not tell apart is counted together before each of them is gone through. Of the nodes over a
    leaf the smallest begins last, and a smallest node is known by where it begins.
    """
    nodes = [(one.lo == np.arange(one.lo.shape[1])).sum(axis=1)[cut] for one, cut in zip(covers, kinds, strict=True)]
    boxes = np.prod(np.stack(nodes).astype(np.float64), axis=0)
    left = np.argsort(-boxes, kind="stable")
    while len(left):
        finest = [one.lo[np.unique(cut[left])].max(axis=0) for one, cut in zip(covers, kinds, strict=True)]
        cells = _counted(finest, cells, values)
        fine = boxes[left] * values > len(cells.sizes) / _COARSER
        fine[0] = True
        for some in left[fine].tolist():
            yield some, cells
        left = left[~fine]


def _counted(finest: Sequence[Codes], cells: Cells, values: int) -> Cells:
    """The cells by the first leaves of some nodes."""
    keys, bound = _keys(finest, cells.codes[:-1], cells.codes[-1], values)
    distinct, place = distinct_keys(keys, bound)
    source = np.empty(len(distinct), np.int64)
    source[place] = np.arange(len(place))
    leaves = [first[codes[source]] for first, codes in zip(finest, cells.codes[:-1], strict=True)]
    sizes = np.bincount(place, cells.sizes).astype(np.int64)
    return Cells(np.stack([*leaves, cells.codes[-1][source]]), sizes, place)


def _arrived(
    past: ChainHistory, times: Ints, cuts: Sequence[Codes], lows: Sequence[Codes], cells: Cells, values: int
) -> tuple[Ints, Codes, Ints, Ints]:
    """For releases with the same cuts: time, box, value and number of what arrived, or below 0 of what is lacking."""
    shown, own = past.shown, len(cells.sizes)
    starts = shown.starts[np.searchsorted(past.release, np.arange(past.releases + 1))]
    lengths = starts[times + 1] - starts[times]
    entries = ranges(starts[times], lengths)
    leaves = [np.append(codes, low[shown.group[entries]]) for codes, low in zip(cells.codes[:-1], lows, strict=True)]
    value = np.append(cells.codes[-1].astype(np.int64), shown.value[entries])
    keys, bound = _keys(cuts, leaves, value, values)
    there = np.bincount(keys[:own], cells.sizes, bound)
    source = np.empty(bound, np.int64)
    source[keys] = np.arange(len(keys))
    ends = np.append(0, np.cumsum(lengths))
    found = []
    for some in pieces(np.full(len(times), bound)):
        mine, rows = slice(ends[some.start], ends[some.stop]), some.stop - some.start
        at = np.repeat(np.arange(rows), lengths[some]) * bound + keys[own:][mine]
        was = np.bincount(at, shown.count[entries[mine]], rows * bound).reshape(rows, bound)
        row, key = np.nonzero(there - was)
        found.append((times[some][row], source[key], (there[key] - was[row, key]).astype(np.int64)))
    time, at, count = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return time, np.stack([cut[codes[at]] for cut, codes in zip(cuts, leaves, strict=True)]), value[at], count


def _keys(cuts: Sequence[Codes], leaves: Sequence[Codes] | Codes, value: Codes | Ints, values: int) -> tuple[Ints, int]:
    """One small number for each box and value, and a bound above all of them; cuts are leaves to first leaves."""
    number = [(np.cumsum(cut == np.arange(len(cut))) - 1)[cut] for cut in cuts]
    columns = [own[codes] for own, codes in zip(number, leaves, strict=True)]
    keys, bound = pack([*columns, value], [*(int(own[-1]) + 1 for own in number), values])
    return rank(keys) if bound > 4 * len(keys) + 1024 else (keys, bound)


def _refuse_lacking(time: Ints, count: Ints) -> None:
    if not (count < 0).any():
        return
    release = int(time[count < 0].min())
    lacking = int(-count[(count < 0) & (time == release)].sum())
    raise DataError(
        f"The table lacks {lacking:,} records that release {release + 1} published. This method is for tables that "
        "only grow: records may arrive, but not leave or change."
    )


@dataclass(frozen=True, eq=False)
class EarlierCells:
    """The next table's cells in common codes with all earlier releases, and what those hold against it."""

    cells: Cells
    """The last row of their codes is the sensitive value."""
    code: Ints
    """Sensitive value in common codes to the table's own code."""
    past: ChainHistory | None
    """The earlier releases, if there are any."""
    chained: Chained
    """The chains of groups on which a target may stand, by arrival time."""
    arrived: Arrived
    """What arrived after each earlier release."""


def read_history(table: Table, after: Sequence[Any]) -> EarlierCells:
    """What earlier releases hold against a table, in the table's own codings."""
    past = _read_past(after, table.schema, table.codings)
    own, common = _values(table, past)
    codes, sizes = np.vstack([table.codes, common[table.sensitive].astype(np.int32)]), [*table.sizes, len(own)]
    cells = cells_of(codes, sizes, table.times)
    if past is None:
        return EarlierCells(cells, own, past, *_nothing(table, len(own)))
    columns = _placed(past.quasi, table)
    arrived = arrived_after(past, columns, cells, len(own), table.sizes)
    return EarlierCells(cells, own, past, _chained(past, columns, table, len(own)), arrived)


def never_published(table: Table, after: Sequence[Any]) -> Bools:
    """The rows that no record of any earlier release can be: none has their value in a group that holds them.

    Only these may be left out of a growing table. To everyone else they arrive when they are first published; were a
    record left out that had been published, it would seem to have left.
    """
    past = _read_past(after, table.schema, table.codings)
    new = np.ones(table.rows, np.bool_)
    if past is None:
        return new
    own, common = _values(table, past)
    columns, shown = _placed(past.quasi, table), past.shown
    covers = covers_of(columns, shown.nodes, past.release, past.releases, table.sizes)
    sizes = [*table.sizes, len(own)]
    for release in range(past.releases):
        view = past.view(release)
        boxes = [column.lo[row][view.group] for column, row in zip(columns, view.nodes, strict=True)]
        mine = [cover.lo[cover.which[release]][codes] for cover, codes in zip(covers, table.codes, strict=True)]
        value = np.append(view.value, common[table.sensitive])
        keys, _ = pack([*(np.append(a, b) for a, b in zip(boxes, mine, strict=True)), value], sizes)
        new &= ~np.isin(keys[len(view.value) :], keys[: len(view.value)])
    return new


def _values(table: Table, past: ChainHistory | None) -> tuple[Ints, Ints]:
    """Sensitive value in common codes with the earlier releases to the table's own code, and the other way round."""
    codes = np.flatnonzero(table.domain.totals).astype(np.int32)
    values, number = all_values(() if past is None else past.values, _tops(table, codes), table.schema.sensitive)
    own, common = np.zeros(len(values), np.int64), np.zeros(table.domain.size, np.int64)
    own[number], common[codes] = codes, number
    return own, common


def _read_past(after: Sequence[Any], schema: Schema, codings: Sequence[Coding]) -> ChainHistory | None:
    """The earlier releases, taken up one by one with the holder's own codings."""
    past = None
    for number, data in enumerate(after, start=1):
        release = read_published(data, schema)
        frame, times = release.generalized, release.tables.times
        if frame is None:
            raise DataError(f"Release {number} publishes quasi-identifiers and sensitive values apart, in groups.")
        if not frame.height:
            raise DataError(f"Release {number} has no rows.")
        try:
            past = add_release(past, frame, schema, codings, None if times is None else times.to_numpy())
        except CannotRunError as obstacle:
            raise _lost(obstacle) from None
    return past


def _lost(obstacle: CannotRunError) -> DataError:
    return DataError(f"The earlier releases cannot be followed: {obstacle}")


def recheck(release: Release, after: Sequence[Any]) -> None:
    """Attack what was published together with the earlier releases, with code that shares nothing with the search."""
    schema, codings = release.schema, release.table.codings
    past = _read_past(after, schema, codings)
    _refuse_exposed(add_release(past, release.tables["release"], schema, codings), release.requirement.least)


def recheck_counted(release: PublishedRelease, codings: Sequence[Coding], least: int, after: Sequence[Any]) -> None:
    """The same of a release that an engine counted."""
    past = _read_past(after, release.schema, codings)
    _refuse_exposed(add_release(past, release.main, release.schema, codings, release.weights), least)


def _refuse_exposed(whole: ChainHistory, least: int) -> None:
    if (whole.chains.sizes < least).any():
        raise InternalError(
            "The release does not withstand the attack that it was made to withstand. Nothing was published. "
            "Please report this."
        )


def _tops(table: Table, codes: Codes) -> pl.DataFrame:
    """Rows of some sensitive values, with every quasi-identifier generalized to the root."""
    secret = table.decode(codes) if table.schema.sensitive else pl.DataFrame({ROOT: [ROOT] * len(codes)})
    return secret.with_columns(pl.lit(ROOT).alias(name) for name in table.schema.quasi)


def _placed(quasi: Sequence[PublishedValues], table: Table) -> list[PublishedValues]:
    """The nodes of earlier releases as intervals of the table's leaves."""
    read, placed = [], []
    for column, coding in zip(quasi, table.codings, strict=True):
        texts = pl.Series(column.name, column.texts, dtype=pl.String)
        own, (number,) = read_nodes([texts], table.schema.hierarchy(column.name), coding)
        read.append(own)
        placed.append(PublishedValues(column.name, own.lo[number], own.hi[number], column.texts, own.exact))
    try:
        refuse_other_recodings(SeriesCounts(tuple(read), (), ()), ())
    except CannotRunError as obstacle:
        raise _lost(obstacle) from None
    return placed


def _chained(past: ChainHistory, columns: Sequence[PublishedValues], table: Table, values: int) -> Chained:
    chains = past.chains
    covers = covers_of(columns, chains.nodes, chains.arrived, past.releases, table.sizes)
    leaves = [column.lo[row] for column, row in zip(columns, chains.nodes, strict=True)]
    held = Histogram(chains.starts, chains.value, chains.count.astype(np.int64), values)
    return Chained(leaves, chains.arrived, covers, held, past.releases)


def _nothing(table: Table, values: int) -> tuple[Chained, Arrived]:
    """What no earlier release holds against a table."""
    none = np.empty(0, np.int64)
    nodes = [
        PublishedValues(name, none.astype(np.int32), none.astype(np.int32), (), exact=True)
        for name in table.schema.quasi
    ]
    covers = covers_of(nodes, np.empty((len(nodes), 0), np.int32), none, 0, table.sizes)
    leaves = [none.astype(np.int32)] * len(nodes)
    chained = Chained(leaves, none, covers, Histogram(np.zeros(1, np.int64), none, none, values), 0)
    return chained, Arrived(leaves, none, covers, none, none, 0, values)


# --- why there may be no next release --------------------------------------------------------------------------------


def refusal(history: EarlierCells, table: Table, least: int) -> NotMetError | None:
    """Why not even the most general table would do, if it would not: which release binds, and by how much."""
    past = None
    total = 1 if history.past is None else history.past.releases + 1
    if history.past is not None:
        for past in replayed(history.past, table.schema, table.codings):
            if (low := _lowest(past, least)) is not None:
                return NotMetError(_binding(past.releases, total, *low, least))
    whole = add_release(past, _tops(table, table.sensitive), table.schema, table.codings, table.times)
    low = _lowest(whole, least)
    return None if low is None else NotMetError(_binding(total, total, *low, least))


def _lowest(past: ChainHistory, least: int) -> tuple[int, int] | None:
    """The first arrival time, from 0, of somebody who has too little left, and the least that is."""
    left, arrived = past.chains.sizes, past.chains.arrived
    if not (left < least).any():
        return None
    first = int(arrived[left < least].min())
    return first, int(left[arrived == first].min())


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
