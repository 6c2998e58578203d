"""Classes of people whom a series does not tell apart: the same published quasi-identifiers in the same releases.

A class is what all releases up to one show of somebody: the combination of quasi-identifiers in each, or that there
is none. One release more splits classes and never joins them, so a number for each person is enough. O(people x
releases), a sort for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Ints

__all__ = ["ClassGrowth", "Sight", "TrajectoryClasses", "follow", "one_each"]


@dataclass(frozen=True, eq=False)
class Sight:
    """One release: who is in it, by a mark that lasts, and how each looks."""

    marks: pl.Series
    """Row to the person's mark as text; no mark twice."""
    look: Ints
    """Row to its combination of published quasi-identifiers; of several rows a person, to the pattern of all."""
    first: Ints | None = None
    """Of several rows a person: pattern to the first of its combinations."""
    rows: Ints | None = None
    """And to how many rows it has."""


@dataclass(frozen=True)
class ClassGrowth:
    """How far people can be told apart after some release."""

    people: int
    """Everyone who was in a release so far."""
    classes: int
    """Also how many people somebody finds who guesses within each class."""
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


def one_each(marks: pl.Series, look: Ints) -> Sight:
    """People with several rows in a release: how often they show each combination of quasi-identifiers."""
    rows = pl.DataFrame({"mark": marks, "look": look}).sort("look")
    people = rows.group_by("mark", maintain_order=True).agg("look")
    texts = people["look"].cast(pl.List(pl.String)).list.join(" ")
    pattern = (texts.rank("dense").cast(pl.Int64) - 1).to_numpy()
    each = np.unique(pattern, return_index=True)[1]
    first, number = (part.to_numpy()[each] for part in (people["look"].list.first(), people["look"].list.len()))
    return Sight(people["mark"], pattern, first, number)


def follow(sights: Sequence[Sight], limit: int) -> TrajectoryClasses:
    """Follow marks through releases."""
    numbers = _numbered([one.marks for one in sights])
    total = 1 + max((int(person.max(initial=-1)) for person in numbers), default=-1)
    looks = np.full((total, len(sights)), -1, np.int64)
    cls, known, growth = np.zeros(total, np.int64), np.zeros(total, np.bool_), []
    for place, (person, sight) in enumerate(zip(numbers, sights, strict=True)):
        looks[person, place] = sight.look
        known[person] = True
        width = int(sight.look.max(initial=-1)) + 2
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
