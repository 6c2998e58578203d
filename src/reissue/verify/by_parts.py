"""Checking a release in parts, one part at a time: of each part only the appearance of its groups is kept.

Groups of different parts may look the same; to a recipient they are one group. Appearances are compared as 64-bit
numbers, and the few groups that share one are counted together once more. If two different appearances had the same
number, more groups than necessary would be counted together, never fewer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Domain
from reissue.engines.base import Source
from reissue.published import PublishedRelease, read_published
from reissue.published.counted import read_counted
from reissue.published.tables import WHOLE, Tables
from reissue.requirements import Requirement
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding, prepare
from reissue.verify.check import meets
from reissue.verify.groups import CheckedGroups, read_groups
from reissue.verify.measures import judge_columns

__all__ = ["meets_by_parts", "value_totals"]


def meets_by_parts(
    whole: Source, parts: Sequence[Source], schema: Schema, requirement: Requirement, secrets: Sequence[Coding] = ()
) -> bool:
    """Whether a release in parts meets a requirement, counted from its published columns; see `meets`."""
    if len(parts) < 2 or len(schema.sensitive) > 1:
        return meets(read_counted(whole, schema), schema, requirement, secrets)
    compares = requirement.sensitive and schema.sensitive and secrets
    totals = value_totals(whole, schema, secrets) if compares else None
    counting = _PartCheck(schema, requirement, secrets, totals)
    judged = [counting.judged(read_counted(part, schema)) for part in parts]
    if any(one is None for one in judged):
        return meets(read_counted(whole, schema), schema, requirement, secrets)
    known = [one for one in judged if one is not None]
    looks, times = np.unique(np.concatenate([one.looks for one in known]), return_counts=True)
    shared = looks[times > 1]
    if not all(np.isin(one.looks[~one.met], shared).all() for one in known):
        return False
    touched = [part for part, one in zip(parts, known, strict=True) if np.isin(one.looks, shared).any()]
    return not touched or counting.met_together(touched, shared)


@dataclass(frozen=True, eq=False)
class _PartResult:
    """The groups of a part: their appearance, and whether each meets the requirement by itself."""

    looks: Ints
    met: Bools


@dataclass(frozen=True, eq=False)
class _PartCheck:
    schema: Schema
    requirement: Requirement
    secrets: Sequence[Coding]
    totals: Ints | None
    """The count of each sensitive value in the whole release, with which shares are compared."""

    def groups(self, release: PublishedRelease) -> CheckedGroups:
        """The groups of a part, with the shares of the whole release."""
        groups = read_groups(release, secrets=self.secrets, sensitive=self.requirement.sensitive)
        if self.totals is None:
            return groups
        return replace(groups, domain=Domain(self.totals, groups.domain.taxonomy))

    def judged(self, release: PublishedRelease) -> _PartResult | None:
        """The result for a part; None if groups cannot be told apart by appearance."""
        if release.form.numbered:
            return None
        groups = self.groups(release)
        return _PartResult(_looks(groups)[0], self.met(groups))

    def met(self, groups: CheckedGroups) -> Bools:
        """Which groups meet the whole requirement."""
        met = np.ones(groups.total, np.bool_)
        for part in self.requirement.parts():
            met &= judge_columns(part, [groups])[0][1].to_numpy()
        return met

    def met_together(self, parts: Sequence[Source], shared: Ints) -> bool:
        """Whether the groups of these parts that look alike meet it when counted over all parts."""
        kept, times = [], []
        for part in parts:
            release = read_counted(part, self.schema)
            looks, of_row = _looks(self.groups(release))
            some = pl.Series(np.isin(looks, shared)[of_row])
            kept.append(release.main.filter(some).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)))
            times.append(pl.Series("times", release.weights).filter(some))
        found = read_published(Tables({WHOLE: pl.concat(kept)}, times=pl.concat(times)), self.schema)
        return bool(self.met(self.groups(found)).all())


def value_totals(release: Source, schema: Schema, secrets: Sequence[Coding]) -> Ints:
    """The count of each sensitive value in a release."""
    (coding,), counted = secrets, release.counts(schema.sensitive)
    codes, _ = coding.encode(prepare(counted.values[schema.sensitive[0]], coding.hierarchy))
    return np.bincount(codes, counted.times.to_numpy(), coding.taxonomy.size).astype(np.int64)


def _looks(groups: CheckedGroups) -> tuple[Ints, Ints]:
    """A number for the appearance of each group, equal in all parts of a run; and the group of each row."""
    if groups.rows is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    quasi, key = groups.rows
    _, first, of_row = np.unique(key.to_numpy(), return_index=True, return_inverse=True)
    texts = quasi[first].with_columns(pl.all().cast(pl.String))
    return texts.hash_rows(seed=0).to_numpy().view(np.int64), of_row
