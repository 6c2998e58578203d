"""How the risk of a series grew: the same attacks by someone who stopped collecting earlier."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reissue.attacks import Attack, Knowledge, Series
from reissue.findings import Attacked, Finding, Point, Status
from reissue.release import GROUP

__all__ = ["attacked", "timeline_of"]

_SIZE = "\0size"
"""A column beside those of the data, whatever these are called."""
MOST = 12
"""Longer series are looked at in so many places: the attacks take their time."""


def timeline_of(attack: Attack, found: Finding, series: Series, knowledge: Knowledge) -> tuple[Point, ...]:
    """What the attack finds in the first releases, or, if it judges every release by itself, in each of them.

    An attack of the second kind that failed on all releases failed on each, so it need not be run again. All are
    measured against the limit of the whole series. A place where the attack cannot be run is left out.
    """
    held = found.releases
    if found.status == Status.NOT_RUN or len(held) < 2:
        return ()
    if found.limit is not None and not attack.alone:
        series = replace(series, limits={**series.limits, attack.name: found.limit})
    if attack.alone and found.status == Status.FAILED:
        return tuple(Point(held[place], 0, found.population, None) for place in _places(len(held)))
    points = []
    for place in _places(len(held)):
        some = held[place : place + 1] if attack.alone else held[: place + 1]
        one = found if len(some) == len(held) else attack(series, replace(knowledge, holds=tuple(some)))
        if one.status != Status.NOT_RUN:
            points.append(Point(held[place], one.people, one.population, one.worst))
    return tuple(points)


def _places(number: int) -> list[int]:
    """Where to look: everywhere in a short series, evenly in a long one, the end always."""
    if number <= MOST:
        return list(range(number))
    return sorted({round((step + 1) * number / MOST) - 1 for step in range(MOST)})


def attacked(given: Sequence[Any], series: Series) -> tuple[Attacked, ...]:
    """What a recipient counts in each release."""
    names = [Path(one).name if isinstance(one, str | Path) else "" for one in given]
    shown = []
    for number, name, release in zip(series.numbers, names, series.releases, strict=True):
        frame = next(release.tables[table] for table in ("release", "quasi") if table in release.tables)
        numbered = GROUP in frame.columns and GROUP not in series.schema.columns
        by = [GROUP] if numbered else [name for name in series.schema.quasi if name in frame.columns]
        sizes = frame.group_by(by).len(_SIZE)[_SIZE] if by else pl.Series([frame.height])
        least = sizes.min()
        smallest = least if isinstance(least, int) else 0
        shown.append(Attacked(number, name or f"release {number}", frame.height, len(sizes), smallest))
    return tuple(shown)
