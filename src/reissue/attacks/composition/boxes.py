"""All releases as boxes in common codes, with the set of values that each group holds.

A release that does not show a quasi-identifier shows boxes that are all of it. Sets of values are single bits in words
of 64, so that what groups have in common is one `and`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.histogram import Histogram, starts_of
from reissue.counting.texts import MISSING
from reissue.errors import CannotRunError
from reissue.protection import Protection
from reissue.published import PublishedRelease
from reissue.published.boxes import BoxBounds, PublishedValues, read_boxes
from reissue.published.series import Series
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates

__all__ = ["SPARED", "SeriesBoxes", "SeriesGroups", "Words", "boxes_of", "groups_of"]

_MOST = 4096
"""Different values, at most: sets of them are compared for millions of pairs of groups."""

SPARED = 1 << 30
"""More values than any limit: what is left needs no protection."""

Words = NDArray[np.uint64]
"""Sets of values, sets x words: a bit for each value."""


@dataclass(frozen=True, eq=False)
class SeriesGroups(Histogram):
    """The groups of all releases, one after the other, with the values that each holds."""

    holds: Words
    """Group to the values it holds."""
    next: Words
    """Group to the values that these can become in a later release."""
    before: Words
    """Group to the values that can have become one of these."""


@dataclass(frozen=True, eq=False)
class SeriesBoxes:
    """Everything published, in common codes."""

    bounds: BoxBounds
    release: Ints
    """Box to its release, from 0; boxes are sorted by it."""
    group: Ints
    """Box to its group."""
    groups: SeriesGroups
    columns: tuple[PublishedValues, ...]
    names: tuple[str | None, ...]
    """Value to its published text."""
    can: Bools | None
    """From x to: what a value can become; None where values stay."""
    records: tuple[int, ...]
    """Release to its rows."""
    protected: Bools
    """Value to whether it needs protection."""

    @property
    def releases(self) -> int:
        """The number of releases."""
        return len(self.records)

    def of_release(self, release: int) -> Ints:
        """The boxes of a release."""
        first, after = np.searchsorted(self.release, [release, release + 1])
        return np.arange(first, after)

    def reaching(self, lo: Codes, hi: Codes, some: Ints) -> Bools:
        """Which of some boxes reach into a part of space."""
        first, last = self.bounds.lo[:, some], self.bounds.hi[:, some]
        return np.asarray(((first <= hi[:, np.newaxis]) & (last >= lo[:, np.newaxis])).all(axis=0))

    def words(self, members: Bools) -> Words:
        """Flags of values as words."""
        return _bits(members)

    def members(self, groups: Ints) -> Bools:
        """Groups x values: which values they hold."""
        bits = np.unpackbits(self.groups.holds[groups].view(np.uint8), axis=1, bitorder="little")
        return bits[:, : len(self.names)].astype(np.bool_)

    def left(self, one: Ints, other: Ints) -> Ints:
        """For pairs of an earlier and a later group: how many values are left, in whichever of them fewer are."""
        later = self.count(self.groups.next[one] & self.groups.holds[other])
        if self.can is None:
            return later
        return np.minimum(later, self.count(self.groups.holds[one] & self.groups.before[other]))

    def count(self, sets: Words) -> Ints:
        """The number of values in each set; `SPARED` where there are some and none of them needs protection."""
        number = np.asarray(np.bitwise_count(sets).sum(axis=-1, dtype=np.int64))
        if self.protected.all():
            return number
        harmless = ~(sets & _bits(self.protected[np.newaxis])).any(axis=-1)
        return np.where(harmless & (number > 0), SPARED, number)

    def fewest(self, values: Bools) -> int:
        """The same of flags, releases x values: the smallest number of any release."""
        return int(self.count(_bits(values)).min())


def boxes_of(series: Series) -> SeriesBoxes:
    """Read the boxes of all releases."""
    shown = [release.of_its_columns() for release in series.releases]
    boxes = read_boxes(shown, series.schema)
    names, groups = _groups(shown)
    if len(names) > _MOST:
        raise CannotRunError(f"there are more than {_MOST:,} different sensitive values to compare.", too_large=True)
    model = _model(series.schema, names)
    return SeriesBoxes(
        boxes.bounds,
        boxes.release,
        boxes.group,
        groups_of(*groups, model, len(names)),
        boxes.columns,
        names,
        None if model.fixed else model.can[: len(names), : len(names)],
        tuple(int(one.sizes.sum()) for one in shown),
        Protection.of(series.schema.policy, series.schema.sensitive).guarded(names),
    )


def _groups(shown: Sequence[PublishedRelease]) -> tuple[tuple[str | None, ...], tuple[Ints, Ints, Ints]]:
    """The values of all groups in common codes: names; and starts, values, counts."""
    found = [one.histogram for one in shown]
    texts = sorted({text for one in found for text in one.names})
    place = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}).with_row_index("place")
    value, group, first = [], [], 0
    for one, release in zip(found, shown, strict=True):
        own = pl.DataFrame({"text": pl.Series(one.names, dtype=pl.String)})
        code = own.join(place, on="text", how="left", maintain_order="left")["place"].to_numpy().astype(np.int64)
        value.append(code[one.value])
        group.append(one.group + first)
        first += release.groups
    starts = starts_of(np.concatenate(group), first)
    if not np.diff(starts).all():
        raise CannotRunError("a published group has no record, so that nothing is said about who is in it.")
    names = tuple(None if text == MISSING else text for text in texts)
    return names, (starts, np.concatenate(value), np.concatenate([one.count for one in found]))


def _model(schema: Schema, names: Sequence[str | None]) -> UpdateModel:
    """How values change; they stay unless the schema says otherwise."""
    return read_updates(schema, names) if schema.updates else UpdateModel.none(names)


def groups_of(starts: Ints, value: Ints, count: Ints, model: UpdateModel, values: int) -> SeriesGroups:
    """Add to groups what their values can become, and can have been."""
    own = _bits(np.eye(values, dtype=np.bool_))
    can = model.can[:values, :values]
    after, back = (own, own) if model.fixed else (_bits(can), _bits(can.T))
    first = starts[:-1]
    holds, later, before = (np.bitwise_or.reduceat(bits[value], first, axis=0) for bits in (own, after, back))
    return SeriesGroups(starts, value, count, values, holds, later, before)


def _bits(members: Bools) -> Words:
    """Pack rows of flags into words of 64 bits."""
    width = -(-members.shape[1] // 64) * 64
    padded = np.zeros((len(members), width), np.bool_)
    padded[:, : members.shape[1]] = members
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
