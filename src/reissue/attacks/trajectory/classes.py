"""Classes of people whom a series does not tell apart: by a pseudonym, by lasting columns, or by the seats of a panel.

A class is what all releases up to one show of somebody: the combination of quasi-identifiers in each, or that there
is none. One release more splits classes and never joins them, so a number for each person is enough. O(people x
releases), a sort for each.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.counting.texts import joined_texts
from reissue.protection import Protection
from reissue.published import PublishedRelease

__all__ = [
    "ClassGrowth",
    "LastingClass",
    "LookedAt",
    "SeatHistories",
    "TrajectoryClasses",
    "follow",
    "lasting_classes",
    "lasting_columns",
    "one_each",
    "seat_histories",
]


@dataclass(frozen=True, eq=False)
class LookedAt:
    """The people of one release, by marks that last, and how each looks."""

    marks: pl.Series
    """Row to the person's mark as text; no mark twice."""
    look: Ints
    """Row to its combination of published quasi-identifiers; with repeated records, to the pattern of all of them."""
    first: Ints | None = None
    """With repeated records: pattern to the first of its combinations."""
    rows: Ints | None = None
    """With repeated records: pattern to its number of records."""


@dataclass(frozen=True)
class ClassGrowth:
    """How far people can be told apart after some release."""

    people: int
    """Everyone who was in a release so far."""
    classes: int
    """Also the number of people found by somebody who guesses within each class."""
    unique: int
    """People who are a class by themselves."""
    below: int
    """People in classes below the limit."""
    smallest: int


@dataclass(frozen=True, eq=False)
class TrajectoryClasses:
    """Everyone's class after all releases, and how it grew."""

    of_person: Ints
    """Person to class; people are numbered as they first occur."""
    sizes: Ints
    """Class to its people."""
    growth: tuple[ClassGrowth, ...]
    looks: Ints
    """People x releases: the look in each, -1 where absent."""


def one_each(marks: pl.Series, look: Ints) -> LookedAt:
    """Merge the repeated records of people: how often they show each combination of quasi-identifiers."""
    rows = pl.DataFrame({"mark": marks, "look": look}).sort("look")
    people = rows.group_by("mark", maintain_order=True).agg("look")
    texts = people["look"].cast(pl.List(pl.String)).list.join(" ")
    pattern = (texts.rank("dense").cast(pl.Int64) - 1).to_numpy()
    each = np.unique(pattern, return_index=True)[1]
    first, number = (part.to_numpy()[each] for part in (people["look"].list.first(), people["look"].list.len()))
    return LookedAt(people["mark"], pattern, first, number)


def follow(releases: Sequence[LookedAt], limit: int) -> TrajectoryClasses:
    """Follow marks through releases."""
    numbers = _numbered([one.marks for one in releases])
    total = 1 + max((int(person.max(initial=-1)) for person in numbers), default=-1)
    looks = np.full((total, len(releases)), -1, np.int64)
    cls, known, growth = np.zeros(total, np.int64), np.zeros(total, np.bool_), []
    for place, (person, one) in enumerate(zip(numbers, releases, strict=True)):
        looks[person, place] = one.look
        known[person] = True
        width = int(one.look.max(initial=-1)) + 2
        cls = np.unique(cls * width + looks[:, place] + 1, return_inverse=True)[1].reshape(-1)
        growth.append(_growth(np.bincount(cls[known]), limit))
    sizes = np.bincount(cls, minlength=1)
    return TrajectoryClasses(cls, sizes, tuple(growth), looks)


def _numbered(marks: Sequence[pl.Series]) -> list[Ints]:
    """Marks as numbers 0, 1, ... in the order in which they first occur."""
    every = pl.concat([one.alias("mark") for one in marks])
    known = every.unique(maintain_order=True).to_frame().with_row_index("person")
    codes = every.to_frame().join(known, on="mark", how="left", maintain_order="left")["person"]
    ends = np.cumsum([len(one) for one in marks])[:-1]
    return np.split(codes.to_numpy().astype(np.int64), ends)


def _growth(sizes: Ints, limit: int) -> ClassGrowth:
    sizes = sizes[sizes > 0]
    below = sizes[sizes < limit]
    return ClassGrowth(
        int(sizes.sum()), len(sizes), int((sizes == 1).sum()), int(below.sum()), int(sizes.min(initial=sizes.sum()))
    )


# --- columns that never change ---------------------------------------------------------------------------------------

_BIRTH = frozenset({"birth", "born", "birthdate", "birthday", "birthyear", "dob", "yob"})
_OTHERS = frozenset({"sex", "gender", "race", "ethnicity", "ethnic", "native"})
_ROWS = "\0rows"


@dataclass(frozen=True)
class LastingClass:
    """People who share everything that never changes."""

    smallest: int
    """Rows in the release where there are fewest, of those that have some."""
    people: int
    """Rows in the release where there are most: there are at least this many people."""
    below: int
    """The same of releases where there are fewer than the limit."""


def lasting_columns(shown: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The quasi-identifiers that all releases show and whose names say that they never change; none if it is one alone.

    Sex alone, or race, tells too few people apart to follow anybody.
    """
    common = [name for name in shown[0] if all(name in other for other in shown)]
    lasting = tuple(name for name in common if (_BIRTH | _OTHERS) & _words(name))
    return lasting if len(lasting) > 1 or any(_BIRTH & _words(name) for name in lasting) else ()


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", name.lower()))


def lasting_classes(
    texts: Sequence[pl.DataFrame], rows: Sequence[Ints], columns: Sequence[str], limit: int
) -> list[LastingClass]:
    """The classes in all releases, from their different combinations and the number of rows of each."""
    counted = [
        frame.select(columns).with_columns(pl.Series(_ROWS, count)).group_by(columns).agg(pl.col(_ROWS).sum())
        for frame, count in zip(texts, rows, strict=True)
    ]
    number = pl.col(_ROWS)
    found = (
        pl.concat(counted)
        .group_by(columns, maintain_order=True)
        .agg(
            number.min().alias("least"),
            number.max().alias("most"),
            number.filter(number < limit).max().fill_null(0).alias("below"),
        )
    )
    return [LastingClass(*row) for row in found.select("least", "most", "below").rows()]


# --- seats of a panel ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SeatHistories:
    """What a panel shows of seats (its column `slot`) that cannot be told apart by the groups they were in."""

    found: TrajectoryClasses
    """Of seats instead of people."""
    share: float
    """The largest share of one value in a class, in any release."""
    above: int
    """Seats of classes in which some value had a larger share than the limit, in some release."""
    left: float
    """How many seats of a class one value of a person leaves, on average over seats and releases."""
    single: float
    """How often it leaves one."""

    @property
    def sentence(self) -> str:
        """What someone learns who knows a value of a person."""
        return (
            f"Who knows a person's value in one release too, is left with {self.left:.1f} seats on average, and in "
            f"{self.single:.0%} of the cases with one: then with all that it showed in the series."
        )


def seat_histories(releases: Sequence[PublishedRelease], size: int, limit: float) -> SeatHistories:
    """Follow the seats of panels, from the published tables alone.

    Someone who knows a person's group in each release looks for seats with the same history of groups. Everything
    these seats ever showed is known of the person: the share of a value among them is how likely it is. Someone who
    knows one of the person's values too keeps the seats that had it.

    Parameters
    ----------
    releases
        The panels.
    size
        The smallest class that is acceptable.
    limit
        The largest acceptable share of a value.

    Returns
    -------
    SeatHistories
        The classes of seats, and the shares of values in them.
    """
    seen = [LookedAt(pl.Series(one.slots).cast(pl.String), one.group) for one in releases]
    found = follow(seen, size)
    numbers = pl.concat([one.marks for one in seen]).unique(maintain_order=True)
    places = dict(zip(numbers.to_list(), range(len(numbers)), strict=True))
    worst, left, single, total = np.zeros(len(found.sizes)), 0.0, 0, 0
    for release, one in zip(releases, seen, strict=True):
        mark = one.marks.replace_strict(places, return_dtype=pl.Int64).to_numpy()
        columns, cls = release.schema.sensitive, found.of_person[mark]
        same = _same(cls, release, columns)
        for some in {columns, *((column,) for column in columns)}:
            np.maximum.at(worst, cls, _same(cls, release, some) * _guarded(release, some) / found.sizes[cls])
        left, single, total = left + float(same.sum()), single + int((same == 1).sum()), total + len(same)
    above = int(found.sizes[worst > limit + 1e-9].sum())
    return SeatHistories(found, float(worst.max()), above, left / total, single / total)


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
