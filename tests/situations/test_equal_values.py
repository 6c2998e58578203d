"""Who is shown to have the same values as whom: small random series of any groups, against all worlds, one by one."""

from collections import Counter
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks.findings import Finding, Status
from reissue.errors import Why
from tests.effort import examples

SCHEMA = ri.Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="who")


class Series(NamedTuple):
    """Who stands in which group of which release, and with which value."""

    people: int
    groups: list[list[list[int]]]
    """Releases of groups of people."""
    values: list[list[int]]
    """Release to everybody's value."""


def copies(series: Series) -> list[pl.DataFrame]:
    rows = [
        [(f"p{one}", f"g{place}", "abcd"[now[one]]) for place, group in enumerate(release) for one in group]
        for release, now in zip(series.groups, series.values, strict=True)
    ]
    return [pl.DataFrame(some, schema=["who", "q", "s"], orient="row") for some in rows]


def found(series: Series, limit: int | None = None) -> Finding:
    limits = None if limit is None else {"equivalence": limit}
    return ri.attack(copies(series), SCHEMA, only="equivalence", limits=limits)["equivalence"]


def shown(series: Series) -> list[tuple[list[int], Counter[int]]]:
    return [
        (group, Counter(now[one] for one in group))
        for release, now in zip(series.groups, series.values, strict=True)
        for group in release
    ]


def worlds(series: Series) -> np.ndarray:
    """Worlds x people: every way to give everyone one value for good that fits all groups."""
    cells = shown(series)
    allowed: list[set[int]] = [set(range(4)) for _ in range(series.people)]
    for group, counts in cells:
        for one in group:
            allowed[one] &= set(counts)
    fitting = [
        world
        for world in product(*(sorted(some) for some in allowed))
        if all(Counter(world[one] for one in group) == counts for group, counts in cells)
    ]
    return np.array(fitting, np.int64).reshape(len(fitting), series.people)


def smallest(series: Series, limit: int) -> dict[int, int]:
    """Person to the smallest e below the limit of two sets of e people who have the same values in all worlds."""
    every = worlds(series)
    least: dict[int, int] = {}
    everyone = sorted({one for group, _ in shown(series) for one in group})
    for e in range(1, limit):
        for one in combinations(everyone, e):
            for other in combinations([p for p in everyone if p not in one and p > one[0]], e):
                if (np.sort(every[:, one], axis=1) == np.sort(every[:, other], axis=1)).all():
                    for person in (*one, *other):
                        least.setdefault(person, e)
    return least


@st.composite
def staying(draw: st.DrawFn, *, changing: bool = False) -> Series:
    """Up to seven people who come and go and stand in groups of any size; values stay, unless they are `changing`."""
    people, releases = draw(st.integers(3, 7)), draw(st.integers(2, 3))
    kinds = draw(st.integers(2, 4))
    value = st.integers(0, kinds - 1)
    first = draw(st.lists(value, min_size=people, max_size=people))
    groups, values = [], []
    for _ in range(releases):
        there = [one for one in range(people) if draw(st.integers(0, 5))]
        place = draw(st.lists(st.integers(0, 2), min_size=people, max_size=people))
        made = [[one for one in there if place[one] == group] for group in range(3)]
        groups.append([group for group in made if group])
        values.append([draw(value) if changing and not draw(st.integers(0, 4)) else one for one in first])
    assume(all(groups))
    return Series(people, groups, values)


def fewest(series: Series) -> int:
    """How many values each group has at least."""
    return min(len(counts) for _, counts in shown(series))


@examples(600)
@given(series=staying(), limit=st.sampled_from([None, 2, 3]))
def test_verdicts_are_those_of_all_worlds(series: Series, limit: int | None) -> None:
    finding, below = found(series, limit), limit or fewest(series)
    if below < 2:
        assert (finding.status, finding.why) == (Status.NOT_RUN, Why.DOES_NOT_APPLY), "nothing is below 1"
        return
    least = smallest(series, below)
    assert finding.status == (Status.EXPOSED if least else Status.WITHSTOOD), finding
    assert finding.people == len(least)
    assert finding.worst == (min(least.values()) if least else None)
    assert finding.details["exact"] is True


def holds_more_now(series: Series) -> bool:
    """Whether more people of a group of an earlier release have some value later than that group shows of it."""
    for place, release in enumerate(series.groups):
        for later in range(place + 1, len(series.groups)):
            there = {one for group in series.groups[later] for one in group}
            for group in release:
                then = Counter(series.values[place][one] for one in group)
                now = Counter(series.values[later][one] for one in group if one in there)
                if now - then:
                    return True
    return False


@examples(400)
@given(series=staying(changing=True))
def test_what_contradicts_values_that_stay_makes_it_another_attacks_case(series: Series) -> None:
    finding = found(series, 2)
    if holds_more_now(series) or not len(worlds(series)):
        assert (finding.status, finding.why) == (Status.NOT_RUN, Why.DOES_NOT_APPLY)
        assert "values change" in str(finding.reason)
        return
    if finding.status == Status.NOT_RUN:
        # Two people with the same value in all worlds have different ones now: that contradicts it too.
        assert smallest(series, 2)
        return
    assert finding.status == (Status.EXPOSED if smallest(series, 2) else Status.WITHSTOOD)


def of(*releases: list[tuple[str, str]]) -> Series:
    """Releases of groups: people by letters, and a value for each."""
    number = {
        name: place for place, name in enumerate(sorted({one for some in releases for who, _ in some for one in who}))
    }
    values = [["abcd".index("a")] * len(number) for _ in releases]
    for release, now in zip(releases, values, strict=True):
        for who, has in release:
            for one, value in zip(who, has, strict=True):
                now[number[one]] = "abcd".index(value)
    return Series(len(number), [[[number[one] for one in who] for who, _ in some] for some in releases], values)


@pytest.mark.parametrize(
    ("series", "people", "e"),
    [
        # Groups of four kinds: the first two less the other two leave one person on either side.
        (of([("PQ", "ab"), ("RS", "cd")], [("PR", "ac"), ("QT", "bd")]), 2, 1),
        # Everyone has a whole value: sums of groups show sets of two here, worlds single people (joint.md, section 3).
        (of([("ABCD", "abba")], [("BCEF", "bbaa")], [("CD", "ba")]), 4, 1),
    ],
)
def test_series_that_were_judged_wrongly(series: Series, people: int, e: int) -> None:
    least = smallest(series, 2)
    finding = found(series, 2)
    assert finding.status == (Status.EXPOSED if least else Status.WITHSTOOD)
    assert finding.people == len(least)
    if finding.people:
        assert (finding.people, finding.worst) == (people, e)
