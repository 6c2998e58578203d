"""One release as somebody sees it who knows people: the groups that each person may be in.

Three ways to know. *Groups*: the holder's own release says where everyone is; so do forms that show groups together
with exact quasi-identifiers. A *copy*: a file that kept the identifier. A *register*: a table of people with their
exact quasi-identifiers; whoever lies in a published combination may be in that group, and equal combinations are one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import cells_of
from reissue.counting.histogram import counted
from reissue.counting.keys import pack, stable_order
from reissue.counting.segments import ranges
from reissue.counting.texts import TextCounts, joined_texts
from reissue.data.table import Table, to_polars
from reissue.errors import InputError
from reissue.people.containment import containment
from reissue.published import PublishedRelease
from reissue.release.release import Form, Release
from reissue.release.roster import Labels, Roster
from reissue.schema import Role, Schema
from reissue.taxonomy.notation import parse_column

__all__ = ["Sighting", "by_groups", "by_register", "by_slots", "from_copy", "own_register"]

_FIRST_SLOT = -(2**62)
"""Slots are numbered downwards from here, where no identifier and no pseudonym is likely to be."""


@dataclass(frozen=True, eq=False)
class Sighting:
    """People in one release. Rows are people; pairs of a row and a group that it fits are sorted by row."""

    ids: pl.Series
    """Row to the person's identifier as text."""
    row: Ints
    group: Ints
    histogram: TextCounts
    counterfeits: Ints
    """Group to how many of its records are nobody's."""
    knows_groups: bool
    """Whether each person's group is known, not only the published combinations that the person fits."""
    sure: bool = True
    """Whether all these people are in the release; else the register is larger."""
    truth: pl.Series | None = None
    """Row to the true value as text, where the holder knows it."""
    known: Bools | None = None
    """Row to whether the reader knows the value: a coalition's own records."""
    table: Table | None = None
    """Everyone's quasi-identifiers, if they were given."""
    as_published: bool = False
    """Whether groups are numbered as a recipient reads them, not as the holder does."""
    of_group: Ints | None = None
    """Group to one of the holder's own groups that are published in this way, if these are numbered otherwise."""
    totals: Mapping[str, int] | None = None
    """Value to how many people in the release have it, where the reader knows; what is not in it nobody has."""
    occupant: pl.Series | None = None
    """Where rows are slots that live on when people leave: row to who is in it, null for nobody."""
    labels: Labels | None = None
    """What a panel shows of its slots, by numbers that last."""

    @property
    def groups(self) -> int:
        """How many groups the release has."""
        return self.histogram.groups

    @property
    def fits(self) -> float:
        """How many groups a person fits on average."""
        return len(self.row) / max(len(self.ids), 1)


def by_groups(roster: Roster, source: Release | None = None) -> Sighting:
    """The holder's own release, everyone's group known; with its source or table also everyone's true value."""
    table = roster.table if source is None else _published_rows(source)
    return Sighting(
        roster.ids.cast(pl.String),
        np.arange(len(roster.ids)),
        roster.group,
        roster.histogram,
        np.bincount(roster.nobody, minlength=roster.groups),
        knows_groups=True,
        truth=None if table is None else joined_texts(table.decode(table.sensitive), table.schema.sensitive),
        table=table,
    )


def by_slots(roster: Roster, slots: Ints, source: Release | None = None) -> Sighting:
    """The holder's own release made by cohorts: the slots are what is followed, and who is in them is known."""
    known = by_groups(roster, source)
    return replace(
        known,
        ids=pl.Series(_FIRST_SLOT - slots).cast(pl.String),
        row=np.arange(len(slots)),
        group=roster.records,
        counterfeits=np.zeros_like(known.counterfeits),
        occupant=known.ids.extend_constant(None, len(roster.nobody)),
        labels=roster.labels,
    )


def own_register(roster: Roster, release: Release) -> Sighting:
    """The holder's own generalized release, seen by someone whose register is the original table."""
    known = by_groups(roster, release)
    lo, hi = release.boxes.lo.astype(np.int64), release.boxes.hi.astype(np.int64)
    ends = np.concatenate([lo, hi])
    if release.draft.form in {Form.NUMBERED, Form.PANEL}:
        ends = np.vstack([ends, np.arange(ends.shape[1])])
    ends -= ends.min(axis=1, keepdims=True, initial=0)  # a group without anybody may have no box
    keys, _ = pack(list(ends), (ends.max(axis=1, initial=0) + 1).tolist())
    _, first, look = np.unique(keys, return_index=True, return_inverse=True)
    table = _published_rows(release)
    row, box = _containing(table, lo[:, first].astype(np.int32), hi[:, first].astype(np.int32))
    found, total = known.histogram, len(first)
    merged = counted(look[found.group], found.value, total, found.values, found.count)
    fakes = np.bincount(look, known.counterfeits, total).astype(np.int64)
    return Sighting(
        known.ids,
        row,
        box,
        TextCounts(merged.starts, merged.value, merged.count, merged.values, found.names),
        fakes,
        knows_groups=False,
        truth=known.truth,
        table=table,
        of_group=first.astype(np.int64),
    )


def by_register(release: PublishedRelease, people: Any, *, presence: bool) -> Sighting:
    """Anyone's release, seen by someone with a table of people; `presence`: it lists just those who are in it."""
    schema = _shared(release.schema, release)
    frame, _ = to_polars(people, schema)
    table, names = _register(frame, schema)
    looks = release.looks
    parsed = [
        parse_column(looks.texts[name], coding, partial=True)
        for name, coding in zip(table.schema.quasi, table.codings, strict=True)
    ]
    lo, hi = np.stack([part.lo for part in parsed]), np.stack([part.hi for part in parsed])
    inhabited = np.flatnonzero((lo <= hi).all(axis=0))
    row, box = _containing(table, lo[:, inhabited], hi[:, inhabited])
    pairs = np.unique(np.stack([row, looks.group[inhabited[box]]]), axis=1)
    counterfeits = release.counterfeits
    records = int(release.sizes.sum() - counterfeits.sum())
    fitting = len(np.unique(pairs[0]))
    kept, number = np.unique(pairs[0], return_inverse=True)
    sure = presence and fitting <= records
    return Sighting(
        names.gather(kept),
        number.reshape(-1),
        pairs[1],
        release.histogram,
        counterfeits,
        knows_groups=False,
        sure=sure or fitting == records,
        table=table.some(kept),
        as_published=True,
        labels=_labels(release),
    )


def _labels(release: PublishedRelease) -> Labels | None:
    """What a panel shows of its slots."""
    if release.form != Form.PANEL:
        return None
    return Labels(release.slots, release.group, joined_texts(release.main, release.schema.sensitive))


def from_copy(release: PublishedRelease) -> Sighting:
    """A file that kept the identifier: everyone's group is known."""
    if not release.keeps_identifier:
        raise InputError("These files have no identifier column.")
    ids, row = release.named
    there = np.flatnonzero(ids.is_not_null().to_numpy())
    return Sighting(
        ids.gather(there),
        np.arange(len(there)),
        release.group[row[there]],
        release.histogram,
        release.counterfeits,
        knows_groups=True,
        as_published=True,
    )


# --- parts -----------------------------------------------------------------------------------------------------------


def _published_rows(release: Release) -> Table:
    """The rows of the original that were published; not copied where all were."""
    kept = release.draft.groups >= 0
    return release.table if kept.all() else release.table.some(np.flatnonzero(kept))


def _shared(schema: Schema, release: PublishedRelease) -> Schema:
    """The schema without quasi-identifiers that this release does not show."""
    lacking = [name for name in schema.quasi if name not in release.main.columns]
    return schema.with_roles(dict.fromkeys(lacking, Role.DROP)) if lacking else schema


def _register(frame: pl.DataFrame, schema: Schema) -> tuple[Table, pl.Series]:
    """Everyone's quasi-identifiers and names; rows without an identifier are people of their own."""
    named = schema.identifier is not None and schema.identifier in frame.columns
    used = {*schema.quasi, *([schema.identifier] if named else [])}
    table = Table.read(frame, schema.with_roles({name: Role.DROP for name in schema.columns if name not in used}))
    ids = table.frame[schema.identifier] if named and schema.identifier else pl.Series(range(table.rows))
    return table, ids.cast(pl.String)


def _containing(table: Table, lo: Codes, hi: Codes) -> tuple[Ints, Ints]:
    """The pairs of a row and a box that it lies in, sorted by row, then box."""
    cells = cells_of(table.codes, table.sizes)
    cell, box = containment(cells.codes, lo, hi)
    order = stable_order(box, max(lo.shape[1], 1))
    order = order[stable_order(cell[order], max(len(cells.sizes), 1))]
    cell, box = cell[order], box[order]
    starts = np.searchsorted(cell, np.arange(len(cells.sizes) + 1))
    widths = np.diff(starts)[cells.of_row]
    return np.repeat(np.arange(table.rows), widths), box[ranges(starts[:-1][cells.of_row], widths)]
