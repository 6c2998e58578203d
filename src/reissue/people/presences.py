"""Presences of a release as an adversary has them: from files that kept the identifier, or from a register.

There are three ways to know. *Groups*: the holder's own release says where everyone is; so do forms that show groups
together with exact quasi-identifiers. A *copy*: a file that kept the identifier. A *register*: a table of people with
their exact quasi-identifiers; whoever lies in a published combination may be in that group, and equal combinations are
one group.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.cells import cells_of
from reissue.counting.histogram import counted
from reissue.counting.keys import pack, stable_order
from reissue.counting.segments import ranges
from reissue.counting.texts import TextCounts, joined_texts
from reissue.data.table import Table, to_polars
from reissue.engines.base import Source
from reissue.errors import InputError, InternalError
from reissue.published import PublishedRelease
from reissue.published.boxes import BoxBounds, boxes_in
from reissue.published.joins import containment
from reissue.release.presences import Presences, SeatLabels
from reissue.release.release import Release
from reissue.schema import Role, Schema

__all__ = [
    "by_register",
    "counted_population",
    "from_copy",
    "known_columns",
    "known_presences",
    "own_register",
    "register_of",
]


def known_presences(release: PublishedRelease, members: Any = None, population: Any = None) -> Presences | None:
    """The presences of a release by what is known of its people.

    Parameters
    ----------
    release
        Our own release, which knows its people, or anyone's.
    members
        A table of exactly the people in the release. Goes before what our own release knows, if there are tables.
    population
        A table of people who may be in it.

    Returns
    -------
    Presences | None
        None where nobody knows its people: no table is given, and it has no identifier.
    """
    if release.presences is not None and (members is None or not release.tables.frames):
        return release.presences
    if members is not None:
        return by_register(release, members, presence=True)
    if population is not None:
        return by_register(release, population, presence=False)
    return from_copy(release) if release.keeps_identifier else None


def own_register(known: Presences, release: Release) -> Presences:
    """The presences of the holder's own generalized release for someone whose register is the original table."""
    if known.table is None:
        raise InternalError("Our own release knows its people's records.")
    lo, hi = release.boxes.lo.astype(np.int64), release.boxes.hi.astype(np.int64)
    ends = np.concatenate([lo, hi])
    if release.draft.form.numbered:
        ends = np.vstack([ends, np.arange(ends.shape[1])])
    ends -= ends.min(axis=1, keepdims=True, initial=0)  # a group without anybody may have no box
    keys, _ = pack(list(ends), (ends.max(axis=1, initial=0) + 1).tolist())
    _, first, look = np.unique(keys, return_index=True, return_inverse=True)
    row, box = _containing(known.table, BoxBounds(release.boxes.lo, release.boxes.hi).some(first))
    found, total = known.histogram, len(first)
    merged = counted(look[found.group], found.value, total, found.values, found.count)
    return Presences(
        known.ids,
        row,
        box,
        TextCounts(merged.starts, merged.value, merged.count, merged.values, found.names),
        np.bincount(look, known.counterfeits, total).astype(np.int64),
        groups_known=False,
        truth=known.truth,
        table=known.table,
        of_group=first.astype(np.int64),
    )


def by_register(release: PublishedRelease, people: Any, *, presence: bool) -> Presences:
    """The presences of anyone's release for someone with a table of people.

    `presence` says that it lists exactly those who are in the release.
    """
    schema = _shared(release.schema, release)
    frame, _ = to_polars(people, schema)
    table, names = register_of(frame, schema)
    boxes = boxes_in(release.of_its_columns(), table.codings)
    inhabited = np.flatnonzero(boxes.inhabited)
    row, box = _containing(table, boxes.some(inhabited))
    pairs = np.unique(np.stack([row, release.looks.group[inhabited[box]]]), axis=1)
    counterfeits = release.counterfeits
    records = int(release.sizes.sum() - counterfeits.sum())
    kept, number = np.unique(pairs[0], return_inverse=True)
    return Presences(
        names.gather(kept),
        number.reshape(-1),
        pairs[1],
        release.histogram,
        counterfeits,
        groups_known=False,
        complete=len(kept) == records or (presence and len(kept) < records),
        table=table.some(kept),
        as_published=True,
        labels=_labels(release),
    )


def _labels(release: PublishedRelease) -> SeatLabels | None:
    """The seats that a panel shows."""
    if not release.form.seats:
        return None
    return SeatLabels(release.slots, release.group, joined_texts(release.main, release.schema.sensitive))


def from_copy(release: PublishedRelease) -> Presences:
    """The presences of a file that kept the identifier: everyone's group is known, and no other record's person."""
    if not release.keeps_identifier:
        raise InputError("These files have no identifier column.")
    ids, row = release.named
    missing = ids.is_null().to_numpy()
    there, others = np.flatnonzero(~missing), row[missing]
    return Presences(
        ids.gather(there),
        np.arange(len(there)),
        release.group[row[there]],
        release.histogram,
        release.counterfeits,
        others=release.group[others],
        lasting=_lookalikes(release, others),
        as_published=True,
    )


def _lookalikes(release: PublishedRelease, rows: Ints) -> pl.Series:
    """Names for rows without an identifier: those that look the same in several releases are one person."""
    looks = pl.DataFrame({"look": joined_texts(release.main, release.schema.quasi).gather(rows)})
    turn = pl.int_range(pl.len()).over("look").cast(pl.String)
    return looks.select(pl.col("look") + "\3" + turn).to_series()


# --- registers -------------------------------------------------------------------------------------------------------


def counted_population(people: Source, schema: Schema) -> Table:
    """A table of people that an engine has opened: the different rows, each with how many people it stands for."""
    known = known_columns(schema, people.columns)
    counted = people.counts([*known.quasi, *known.sensitive])
    frame = counted.values.with_columns(pl.col(pl.Categorical).cast(pl.String))
    times = counted.times.to_numpy().astype(np.int64)
    table = Table.read(frame, known, repair=False)
    totals = np.bincount(table.sensitive, times, table.domain.size).astype(np.int64)
    return replace(table, times=times, domain=replace(table.domain, totals=totals))


def known_columns(schema: Schema, columns: Collection[str]) -> Schema:
    """Everyone's quasi-identifiers, and the sensitive columns if they are there; nothing else need be."""
    used = {*schema.quasi, *(schema.sensitive if set(schema.sensitive) <= set(columns) else ())}
    return schema.with_roles({name: Role.DROP for name in schema.columns if name not in used})


def _shared(schema: Schema, release: PublishedRelease) -> Schema:
    """The schema without quasi-identifiers that this release does not show."""
    lacking = [name for name in schema.quasi if name not in release.main.columns]
    return schema.with_roles(dict.fromkeys(lacking, Role.DROP)) if lacking else schema


def register_of(frame: pl.DataFrame, schema: Schema) -> tuple[Table, pl.Series]:
    """Everyone's quasi-identifiers and names; rows without an identifier are people of their own."""
    named = schema.identifier is not None and schema.identifier in frame.columns
    used = {*schema.quasi, *([schema.identifier] if named else [])}
    known = schema.with_roles({name: Role.DROP for name in schema.columns if name not in used})
    table = Table.read(frame, known, repair=False)
    ids = table.frame[schema.identifier] if named and schema.identifier else pl.Series(range(table.rows))
    return table, ids.cast(pl.String)


def _containing(table: Table, boxes: BoxBounds) -> tuple[Ints, Ints]:
    """The pairs of a row and a box that it lies in, sorted by row, then box."""
    cells = cells_of(table.codes, table.sizes)
    cell, box = containment(cells.codes, boxes)
    order = stable_order(box, max(len(boxes), 1))
    order = order[stable_order(cell[order], max(len(cells.sizes), 1))]
    cell, box = cell[order], box[order]
    starts = np.searchsorted(cell, np.arange(len(cells.sizes) + 1))
    widths = np.diff(starts)[cells.of_row]
    return np.repeat(np.arange(table.rows), widths), box[ranges(starts[:-1][cells.of_row], widths)]
