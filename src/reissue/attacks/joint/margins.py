"""Tables of counts as releases of the joint attack: each margin is a release whose groups are its classes.

Tables of one date are releases at the same time, so that nothing changes between them. Files whose names have the same
date are of one date; a table with a column of dates is one of each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reissue.contingency.table import CountTable
from reissue.errors import CannotRunError
from reissue.people.counts import NO_VALUES, CountedRegister, margin_presences, telling_margins
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease, Tables
from reissue.published.counts_table import linked
from reissue.published.series import Series
from reissue.published.tables import dates_of
from reissue.words import words_of

__all__ = ["with_margins"]

_DATES = words_of("date day week month quarter year period time datum tag woche monat quartal jahr zeitraum")


def with_margins(series: Series, knowledge: Knowledge) -> tuple[Series, Knowledge]:
    """The series with the margins of its tables of counts instead of these; unchanged where it has none."""
    if not any(release.counts for release in series.releases):
        return series, knowledge
    made = list(_places(series, knowledge))
    counted = {place.number for place in made if place.release.counts}
    told = {number for number, one in zip(series.numbers, series.releases, strict=True) if one.counts}
    if not counted:
        raise CannotRunError(NO_VALUES, needs=["schema"])
    numbers = tuple(place.number for place in made)
    releases, times = tuple(place.release for place in made), tuple(place.time for place in made)
    members = None if knowledge.members is None else [place.members for place in made]
    if told - counted:
        raise CannotRunError(f"release {min(told - counted)}: {NO_VALUES}", needs=["schema"])
    series = replace(series, releases=releases, numbers=numbers, times=times)
    return series, replace(knowledge, members=members)


@dataclass(frozen=True, eq=False)
class _Place:
    release: PublishedRelease
    number: int
    time: int
    members: Any


def _places(series: Series, knowledge: Knowledge) -> Iterator[_Place]:
    """Every release or margin, with its time."""
    same = _of_one_date(series)
    everyone: CountedRegister | None = None
    time = -1
    for place, (release, number) in enumerate(zip(series.releases, series.numbers, strict=True)):
        time += not same[place]
        members = None if knowledge.members is None else knowledge.members[place]
        if not release.counts:
            yield _Place(release, number, time, members)
            continue
        if release.tables.margins:
            for own in release.tables.margins:
                yield _Place(_of(release, own[0], own[1]), number, time, members)
            continue
        if members is not None:
            register = CountedRegister.read(members, series.schema, complete=True)
        elif knowledge.population is not None:
            everyone = everyone or CountedRegister.read(knowledge.population, series.schema, complete=False)
            register = everyone
        else:
            raise CannotRunError(
                "tables of counts do not say who was counted: give a table of people for each release, or one for all "
                "of them.",
                needs=["members", "people"],
            )
        first = time
        for tables, later in _by_date(release.counts, series):
            time = first + later
            for margin in telling_margins(tables, series.schema):
                known = margin_presences(margin, series.schema, register)
                yield _Place(_of(release, margin, known), number, time, members)


def _of(release: PublishedRelease, margin: CountTable, known: Any) -> PublishedRelease:
    """A margin as a release of its own, whose people are known."""
    return replace(release, tables=Tables({}, release.tables.path, presences=known, counts=(margin,)))


def _of_one_date(series: Series) -> list[bool]:
    """Whether each release is of the same date as the one before, by the dates in their files' names."""
    names = ["" if one.tables.path is None else one.tables.path.name.lower() for one in series.releases]
    dates = dates_of(names)
    if not dates:
        return [False] * len(names)
    counted = [bool(one.counts) for one in series.releases]
    return [
        bool(place and dates[place] == dates[place - 1] and (counted[place] or counted[place - 1]))
        for place in range(len(names))
    ]


def _by_date(tables: Sequence[CountTable], series: Series) -> Iterator[tuple[list[CountTable], int]]:
    """The tables of each date of one release, and how many dates were before."""
    known = {*series.schema.quasi, *series.schema.sensitive}
    named = [linked(one, series.schema) for one in tables]
    dates: list[str] = []
    parts: dict[str, list[CountTable]] = {}
    for table in named:
        columns = [name for name in table.dimensions if name not in known and words_of(name) & _DATES]
        column = columns[0] if len(columns) == 1 else None
        if column is None:
            parts.setdefault("", []).append(table)
            continue
        for date in table.categories[column].drop_nulls().unique(maintain_order=True).to_list():
            rows = np.flatnonzero((table.categories[column] == date).fill_null(value=False).to_numpy())
            part = replace(
                table, categories=table.categories[rows].drop(column), low=table.low[rows], high=table.high[rows]
            )
            parts.setdefault(date, []).append(part)
            dates.append(date)
    order = [date for date in dict.fromkeys(["", *sorted(dict.fromkeys(dates), key=_in_time)]) if date in parts]
    for later, date in enumerate(order):
        yield parts[date], later


def _in_time(date: str) -> tuple[tuple[int, ...], str]:
    found = dates_of([date.lower()])
    return (found[0] if found else (), date)
