"""A table and the releases that were made before it: what they hold against the next one, and why there may be none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.algorithms._earlier import Arrived, Chained, Cover
from reissue.attacks import CannotRunError, Published
from reissue.attacks._chains import Targets, targets
from reissue.attacks._pairs import Histograms
from reissue.attacks._recodings import refuse_other_recodings
from reissue.attacks._views import View, Views, read_codes
from reissue.cells import pack
from reissue.errors import DataError, InternalError, NotMetError
from reissue.release import Release
from reissue.schema import Schema
from reissue.table import Table
from reissue.taxonomy import ROOT

__all__ = ["Cells", "History", "read_history", "recheck", "refusal"]


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct rows of a table: leaf codes, sensitive value, number of rows."""

    leaves: tuple[Codes, ...]
    value: Ints
    weight: Ints


@dataclass(frozen=True, eq=False)
class History:
    """The next table's cells in common codes with all earlier releases, and what those hold against it."""

    cells: Cells
    code: Ints
    """Sensitive value in common codes to the table's own code."""
    views: Views
    """The earlier releases, and at the end the table with everything generalized to the root."""
    chained: tuple[Chained, ...]
    """By arrival time: the chains of groups on which a target may stand."""
    arrived: tuple[Arrived, ...]
    """By earlier release: what came after it."""

    @property
    def covers(self) -> list[tuple[Cover, ...]]:
        """The cuts of every earlier release."""
        return [some.covers for some in self.arrived]


def read_history(table: Table, after: Sequence[Any]) -> History:
    """Read the earlier releases with the table's own codings."""
    schema, frames = table.schema, _frames(after, table.schema)
    codes = np.flatnonzero(table.domain.totals).astype(np.int32)
    coded = read_codes([*frames, _tops(table, codes)], schema, table.codings)
    common = np.zeros(table.domain.size, np.int64)
    common[codes] = coded.sensitive[-1]
    cells = _cells(table, common[table.sensitive], len(coded.values))
    root = coded.view(len(frames))
    totals = np.bincount(cells.value, cells.weight, len(coded.values)).astype(np.int64)
    root = View(root.nodes, root.group, root.value, totals[root.value])
    views = Views(coded.quasi, (*(coded.view(number) for number in range(len(frames))), root), coded.values)
    own = np.zeros(len(coded.values), np.int64)
    own[coded.sensitive[-1]] = codes
    return History(cells, own, views, *_followed(table, cells, views))


def _frames(after: Sequence[Any], schema: Schema) -> list[pl.DataFrame]:
    frames = []
    for number, data in enumerate(after, start=1):
        frame = Published.read(data, schema).generalized(schema)
        if frame is None:
            raise DataError(f"Release {number} publishes quasi-identifiers and sensitive values apart, in groups.")
        frames.append(frame)
    return frames


def recheck(release: Release, after: Sequence[Any]) -> None:
    """Attack what was published together with the earlier releases, with code that shares nothing with the search."""
    schema = release.schema
    frames = [*_frames(after, schema), release.tables["release"]]
    coded = read_codes(frames, schema, release.table.codings)
    views = Views(coded.quasi, tuple(coded.view(number) for number in range(len(frames))), coded.values)
    for some in targets(views):
        if ((some.left > 0) & (some.left < release.requirement.least)).any():
            raise InternalError(
                "The release does not withstand the attack that it was made to withstand. Nothing was published. "
                "Please report this."
            )


def _tops(table: Table, codes: Codes) -> pl.DataFrame:
    """A table of all sensitive values with every quasi-identifier generalized to the root."""
    secret = table.decode(codes) if table.schema.sensitive else pl.DataFrame({ROOT: [ROOT] * len(codes)})
    return secret.with_columns(pl.lit(ROOT).alias(name) for name in table.schema.quasi)


def _cells(table: Table, value: Ints, values: int) -> Cells:
    keys, _ = pack([*table.codes, value], [*table.sizes, values])
    _, first, weight = np.unique(keys, return_index=True, return_counts=True)
    return Cells(tuple(codes[first] for codes in table.codes), value[first], weight)


def _followed(table: Table, cells: Cells, views: Views) -> tuple[tuple[Chained, ...], tuple[Arrived, ...]]:
    earlier = Views(views.quasi, views.views[:-1], views.values)
    if not earlier.views:
        return (), ()
    try:
        refuse_other_recodings(views, range(1, len(views.views) + 1))
        standing: list[list[Targets]] = [[] for _ in earlier.views]
        for some in targets(earlier):
            standing[some.arrived].append(some)
    except CannotRunError as obstacle:
        raise DataError(f"The earlier releases cannot be followed: {obstacle}") from None
    arrived = tuple(_arrived(number, table, cells, earlier) for number in range(len(earlier.views)))
    return tuple(_chained(parts, table, earlier) for parts in standing), arrived


def _covers(table: Table, views: Views, nodes: Codes) -> tuple[Cover, ...]:
    used = [np.unique(row) for row in nodes]
    return tuple(
        Cover(column.lo[some], column.hi[some], size)
        for column, some, size in zip(views.quasi, used, table.sizes, strict=True)
    )


def _chained(parts: Sequence[Targets], table: Table, views: Views) -> Chained:
    """The chains of one arrival time, without those on which nobody can stand, and values of which nothing is left."""
    nodes = np.concatenate([part.nodes[:, part.left > 0] for part in parts], axis=1)
    lengths, values, terms = [], [], []
    for part in parts:
        kept = part.term > 0
        number = np.add.reduceat(kept, part.starts[:-1], dtype=np.int64)
        lengths.append(number[part.left > 0])
        values.append(part.value[kept])
        terms.append(part.term[kept])
    starts = np.append(0, np.cumsum(np.concatenate(lengths)))
    held = Histograms(starts, np.concatenate(values), len(views.values))
    leaves = [column.lo[row] for column, row in zip(views.quasi, nodes, strict=True)]
    return Chained(leaves, _covers(table, views, nodes), held, np.concatenate(terms))


def _arrived(number: int, table: Table, cells: Cells, views: Views) -> Arrived:
    """What came after a release: the table's records less the release's, box by box and value by value."""
    view, values = views.views[number], len(views.values)
    covers = _covers(table, views, view.nodes)
    boxes = [cover.lo[leaf] for cover, leaf in zip(covers, cells.leaves, strict=True)]
    theirs = [column.lo[row][view.group] for column, row in zip(views.quasi, view.nodes, strict=True)]
    columns = [np.concatenate(pair) for pair in zip(boxes, theirs, strict=True)]
    value = np.concatenate([cells.value, view.value])
    keys, _ = pack([*columns, value], [*table.sizes, values])
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    came = np.bincount(place, np.concatenate([cells.weight, -view.count])).astype(np.int64)
    if came.min() < 0:
        raise DataError(
            f"The table lacks {int(-came[came < 0].sum()):,} records that release {number + 1} published. This method "
            "is for tables that only grow: records may arrive, but not leave or change."
        )
    new = first[came > 0]
    return Arrived([column[new] for column in columns], covers, value[new], came[came > 0], values)


def refusal(history: History, least: int) -> NotMetError | None:
    """Why not even the most general table would do, if it would not: which release binds, and by how much."""
    total = len(history.views.views)
    for last in range(1, total + 1):
        releases = history.views.views[:last]
        for some in targets(Views(history.views.quasi, releases, history.views.values)):
            low = some.left[(some.left > 0) & (some.left < least)]
            if len(low):
                return NotMetError(_told(last, total, some.arrived, int(low.min()), least))
    return None


def _told(last: int, total: int, arrived: int, left: int, least: int) -> str:
    """Which release binds, in words; releases count from 1, arrival times from 0."""
    lacking = f"{left:,} of {least:,} records"
    if last < total:
        together = f"releases 1 to {last} together already leave" if last > 1 else "release 1 already leaves"
        return (
            f"No next release can be safe: {together} only {lacking} to someone who arrived with release "
            f"{arrived + 1}. Release {last} binds. Start a new series, or ask for less."
        )
    # The root takes nothing from those who were there before, so this is about those who came last.
    return (
        f"No next release can be safe yet: even with everything generalized to the root, only {lacking} are left to "
        f"someone who arrived after release {last - 1}. Release {last - 1} binds. Wait until at least "
        f"{least - left:,} more have arrived, or ask for less."
    )
