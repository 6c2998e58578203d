"""Panels: rows carry a slot, whose number lasts. How many slots could be a person's, and what they show.

Whoever knows where a person was, release by release, looks for slots with the same history of groups. All that these
slots ever showed is what the adversary knows of the person: the share of a value among them is how likely it is. It is
computed from the published tables alone. Someone who knows one of the person's values too keeps the slots that had it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.attacks.trajectory.classes import Sight, TrajectoryClasses, follow
from reissue.counting.texts import joined_texts
from reissue.protection import Protection
from reissue.published import PublishedRelease

__all__ = ["SlotHistories", "slot_histories"]


@dataclass(frozen=True, eq=False)
class SlotHistories:
    """What a panel shows of slots that cannot be told apart by where they were."""

    found: TrajectoryClasses
    """Of slots instead of people."""
    sights: tuple[Sight, ...]
    share: float
    """The largest share of one value in a class, in any release."""
    above: int
    """Slots of classes in which some value had a larger share than the limit, in some release."""
    left: float
    """How many slots of a class one value of a person leaves, on average over slots and releases."""
    single: float
    """How often it leaves one."""

    @property
    def sentence(self) -> str:
        """What someone learns who knows a value of a person."""
        return (
            f"Who knows a person's value in one release too, is left with {self.left:.1f} slots on average, and in "
            f"{self.single:.0%} of the cases with one: then with all that it showed in the series."
        )


def slot_histories(releases: Sequence[PublishedRelease], size: int, limit: float) -> SlotHistories:
    """Follow the slots of panels: `size` is the smallest class that is fine, `limit` the largest share of a value."""
    sights = tuple(Sight(pl.Series(one.slots).cast(pl.String), one.group) for one in releases)
    found = follow(sights, size)
    numbers = pl.concat([one.marks for one in sights]).unique(maintain_order=True)
    places = dict(zip(numbers.to_list(), range(len(numbers)), strict=True))
    worst, left, single, total = np.zeros(len(found.sizes)), 0.0, 0, 0
    for release, sight in zip(releases, sights, strict=True):
        mark = sight.marks.replace_strict(places, return_dtype=pl.Int64).to_numpy()
        columns, cls = release.schema.sensitive, found.of_person[mark]
        same = _same(cls, release, columns)
        for some in {columns, *((column,) for column in columns)}:
            np.maximum.at(worst, cls, _same(cls, release, some) * _guarded(release, some) / found.sizes[cls])
        left, single, total = left + float(same.sum()), single + int((same == 1).sum()), total + len(same)
    above = int(found.sizes[worst > limit + 1e-9].sum())
    return SlotHistories(found, sights, float(worst.max()), above, left / total, single / total)


def _guarded(release: PublishedRelease, columns: Sequence[str]) -> Bools:
    """Row to whether one of its values in some columns needs protection."""
    protection = Protection.of(release.schema.policy, release.schema.sensitive)
    free = [protection.harmless_in(name, release.main[name].cast(pl.String).to_list()) for name in columns]
    return np.asarray(~np.logical_and.reduce(free), np.bool_)


def _same(cls: Ints, release: PublishedRelease, columns: Sequence[str]) -> Ints:
    """Row to how many rows of its class have its values in some columns."""
    release.require(*columns)
    value = joined_texts(release.main, columns).rank("dense").to_numpy().astype(np.int64)
    _, place, number = np.unique(cls * (int(value.max()) + 1) + value, return_inverse=True, return_counts=True)
    return np.asarray(number[place.reshape(-1)])
