"""Draft and Release: from what an algorithm decided to the table that goes out.

A Release is re-checked from its published columns, by other code than the algorithm's, before anyone gets to see it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.cells import Counts
from reissue.errors import InternalError
from reissue.files import refuse_existing, second_path, write_file
from reissue.requirements import Requirement
from reissue.schema import Schema
from reissue.table import Table

__all__ = ["GROUP", "Boxes", "Draft", "Release", "boxes_of", "make_release"]

GROUP = "group"
"""The column that joins the two tables of a bucketized release."""


@dataclass(frozen=True, eq=False)
class Draft:
    """What an algorithm decides: which rows stand together, and how their values are generalized."""

    groups: Codes
    """Row to group number 0, 1, ...; -1 for a suppressed row."""
    cuts: tuple[Codes, ...] | None = None
    """Global recoding: one cut per quasi-identifier. None: every group is published as its tight box."""
    bucketized: bool = False
    """Two tables, exact quasi-identifiers and sensitive values apart, joined by a group number."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What the method wants to tell: levels, cuts, rounds."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The published interval of each group on each quasi-identifier, and its number of rows."""

    lo: Codes
    """Quasi-identifiers x groups."""
    hi: Codes
    sizes: Ints


@dataclass(frozen=True, eq=False)
class Release:
    """What goes out, and beside it what stays with the holder."""

    tables: Mapping[str, pl.DataFrame]
    """Published tables: one called "release", or "quasi" and "sensitive" of a bucketized release."""
    table: Table
    """Private: the original."""
    draft: Draft
    """Private: who stands together."""
    boxes: Boxes
    requirement: Requirement
    method: str

    @property
    def schema(self) -> Schema:
        """The schema that it was made by."""
        return self.table.schema

    @property
    def frame(self) -> Any:
        """The published table, as the kind of frame the user gave; of a bucketized release the one with the QI."""
        return self.table.back(next(iter(self.tables.values())))

    @property
    def frames(self) -> dict[str, Any]:
        """All published tables, as the kind of frame the user gave."""
        return {name: self.table.back(frame) for name, frame in self.tables.items()}

    @property
    def suppressed(self) -> int:
        """How many rows were left out."""
        return int((self.draft.groups < 0).sum())

    @property
    def groups(self) -> int:
        """How many groups were published."""
        return len(self.boxes.sizes)

    def write(self, path: str, *, force: bool = False) -> list[str]:
        """Write the published tables; a second table goes beside the first. Returns the paths."""
        frames = list(self.tables.items())
        paths = [path] + [second_path(path, name) for name, _ in frames[1:]]
        for target in paths:
            refuse_existing(target, force=force)
        for (_, frame), target in zip(frames, paths, strict=True):
            write_file(frame, target, force=force)
        return paths


def boxes_of(table: Table, draft: Draft) -> Boxes:
    """The published intervals of each group: its nodes in the cuts, else its tight box."""
    kept = np.flatnonzero(draft.groups >= 0)
    groups = draft.groups[kept]
    order = np.argsort(groups, kind="stable")
    rows, sizes = kept[order], np.bincount(groups).astype(np.int64)
    starts = np.append(0, np.cumsum(sizes)[:-1])
    lo = np.empty((len(table.codes), len(sizes)), np.int32)
    hi = np.empty_like(lo)
    for place, taxonomy in enumerate(table.taxonomies):
        if draft.cuts is not None:
            cut, ends = draft.cuts[place], taxonomy.ends(draft.cuts[place])
            first = table.codes[place][rows[starts]] if len(sizes) else np.empty(0, np.int32)
            lo[place], hi[place] = cut[first], ends[first]
        elif len(sizes):
            codes = table.codes[place][rows]
            lo[place], hi[place] = taxonomy.snap(np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts))
    return Boxes(lo, hi, sizes)


def make_release(
    table: Table, draft: Draft, requirement: Requirement, method: str, rng: np.random.Generator
) -> Release:
    """Turn a draft into the tables that go out: recode, shuffle, re-check from the published columns."""
    boxes = boxes_of(table, draft)
    kept = np.flatnonzero(draft.groups >= 0)
    order = kept[rng.permutation(len(kept))]
    tables = _bucketized(table, draft, order, rng) if draft.bucketized else _generalized(table, draft, boxes, order)
    release = Release(tables, table, draft, boxes, requirement, method)
    _recheck(release)
    return release


def _generalized(table: Table, draft: Draft, boxes: Boxes, order: Ints) -> dict[str, pl.DataFrame]:
    groups = draft.groups[order]
    recoded = {}
    for place, name in enumerate(table.schema.quasi):
        taxonomy = table.taxonomies[place]
        keys = boxes.lo[place].astype(np.int64) * taxonomy.size + boxes.hi[place]
        distinct, of_group = np.unique(keys, return_inverse=True)
        low, high = (distinct // taxonomy.size).astype(np.int32), (distinct % taxonomy.size).astype(np.int32)
        names = pl.Series(name, taxonomy.text(low, high), dtype=pl.String)
        recoded[name] = names.gather(of_group[groups])
    return {"release": _published(table, order, recoded)}


def _bucketized(table: Table, draft: Draft, order: Ints, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """The QI table with exact values and the table of sensitive values with counts, joined by a shuffled number."""
    total = int(draft.groups.max(initial=-1)) + 1
    number = rng.permutation(total)[draft.groups[order]] + 1
    joined = pl.Series(GROUP, number, dtype=pl.Int64)
    sensitive = list(table.schema.sensitive)
    quasi = _published(table, order, {}).drop(sensitive).insert_column(0, joined)
    values = table.frame[order].select(sensitive).insert_column(0, joined)
    counted = values.group_by([GROUP, *sensitive]).agg(pl.len().alias("count")).sort([GROUP, *sensitive])
    return {"quasi": quasi, "sensitive": counted}


def _published(table: Table, order: Ints, recoded: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Quasi-identifiers, sensitive and kept columns in the order of the user's table; nothing else."""
    schema = table.schema
    public = {*schema.quasi, *schema.sensitive, *schema.kept}
    columns = [name for name in table.frame.columns if name in public]
    return pl.DataFrame([recoded[name] if name in recoded else table.frame[name].gather(order) for name in columns])


def _recheck(release: Release) -> None:
    """Two independent answers: nobody gets a release that its own published columns contradict."""
    from reissue.check import meets

    if not meets(release.tables, release.schema, release.requirement, release.table.domain):
        raise InternalError(
            f"The release that '{release.method}' made does not meet {release.requirement} when counted again from its "
            "published columns. Nothing was published. Please report this."
        )


def whole_table(table: Table) -> Counts:
    """The table as one single group."""
    return Counts(np.zeros(table.rows, np.int32), table.sensitive, table.domain, 1)
