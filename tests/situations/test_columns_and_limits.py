"""Several sensitive columns, limits of values, harmless and missing values: verdicts against enumeration of all worlds.

Two releases of the same people in other groups. A world gives everyone the values of one record so that every group of
both releases has its records; all worlds are equally likely. What that says of a person is a definition, not a method.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks.findings import Status

Row = tuple[str | None, ...]
Grouping = tuple[int, ...]
NEAR = 0.08
"""How far the joint attack may be off on two releases of tiny groups (see the concept page of the joint attack)."""
VALUES = ("a", "b", "c")


@dataclass(frozen=True)
class World:
    """People with values, the group of each in two releases, and what the policy says."""

    rows: tuple[Row, ...]
    groups: tuple[Grouping, Grouping]
    policy: dict[str, Any]

    @property
    def columns(self) -> list[str]:
        return [f"s{number}" for number in range(len(self.rows[0]))]

    @property
    def schema(self) -> ri.Schema:
        schema = ri.Schema.of_columns(quasi=["cell"], sensitive=self.columns, identifier="id")
        return replace(schema, policy=self.policy)

    def frames(self) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
        """The published releases, and who is in them."""
        ids = pl.Series("id", [f"p{place}" for place in range(len(self.rows))])
        values = pl.DataFrame(list(self.rows), schema=dict.fromkeys(self.columns, pl.String), orient="row")
        cells = [pl.Series("cell", [f"{turn}{group}" for group in one]) for turn, one in enumerate(self.groups)]
        return [values.with_columns(cell) for cell in cells], [pl.DataFrame([ids, cell]) for cell in cells]

    def posteriors(self) -> list[dict[tuple[int, str | None], float]]:
        """Person to (column, value) to how likely it is, by enumeration."""
        second = sorted(self._shown(1))
        worlds = [rows for rows in self._fillings() if sorted(self._shown(1, rows)) == second]
        found: list[dict[tuple[int, str | None], float]] = [defaultdict(float) for _ in self.rows]
        for rows in worlds:
            for person, row in enumerate(rows):
                for column, value in enumerate(row):
                    found[person][column, value] += 1 / len(worlds)
        return found

    def _shown(self, turn: int, rows: tuple[Row, ...] | None = None) -> list[tuple[int, tuple[str, ...]]]:
        return [(group, tuple(map(str, row))) for group, row in zip(self.groups[turn], rows or self.rows, strict=True)]

    def _fillings(self) -> set[tuple[Row, ...]]:
        """Everything that the first release allows."""
        made = {self.rows}
        for group in set(self.groups[0]):
            mine = [place for place, one in enumerate(self.groups[0]) if one == group]
            made = {_put(rows, mine, order) for rows in made for order in permutations([rows[one] for one in mine])}
        return made

    def limit(self, column: int, value: str | None) -> float | None:
        """How likely it may be; None where it needs no protection."""
        name = self.columns[column]
        if value is None:
            return self.policy["limit"]["default"] if self.policy["missing_is_sensitive"] else None
        if value in self.policy["harmless_values"].get(name, []):
            return None
        return float(self.policy["limit"].get(name, {}).get(value, self.policy["limit"]["default"]))


def _put(rows: tuple[Row, ...], places: list[int], values: Any) -> tuple[Row, ...]:
    made = list(rows)
    for place, value in zip(places, values, strict=True):
        made[place] = value
    return tuple(made)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Six people in groups of two or three, one to three columns, two of them binary, some cells missing."""
    columns = draw(st.integers(1, 3))
    cell = [st.sampled_from((None, *VALUES[: 2 + (column == 0)])) for column in range(columns)]
    rows = tuple(draw(st.tuples(*cell)) for _ in range(6))
    groups = draw(st.sampled_from([((0, 0, 0, 1, 1, 1), (0, 0, 1, 1, 2, 2)), ((0, 0, 1, 1, 2, 2), (0, 1, 1, 2, 2, 0))]))
    names = [f"s{number}" for number in range(columns)]
    harmless = {name: ["b"] for name in names if draw(st.booleans())}
    own = {names[-1]: {"a": draw(st.sampled_from([0.3, 0.9]))}} if draw(st.booleans()) else {}
    limit = {"default": draw(st.sampled_from([0.45, 0.75])), **own}
    missing = draw(st.booleans())
    return World(rows, groups, {"limit": limit, "harmless_values": harmless, "missing_is_sensitive": missing})


@given(worlds())
def test_a_verdict_is_what_all_worlds_say(world: World) -> None:
    releases, members = world.frames()
    finding = ri.attack(releases, world.schema, only=["joint"], knowledge=ri.Knowledge(members=members))["joint"]
    over = set[int]()
    under = set[int]()
    for person, chances in enumerate(world.posteriors()):
        limits = {key: world.limit(*key) for key in chances}
        excess = [chances[key] - limit for key, limit in limits.items() if limit is not None]
        if any(one > NEAR for one in excess):
            over.add(person)
        elif all(one < -NEAR for one in excess):
            under.add(person)
    assert len(over) <= finding.people <= len(world.rows) - len(under)
    if over:
        assert finding.status == Status.EXPOSED
        assert finding.details["surest"]["column"]
    if len(under) == len(world.rows):
        assert finding.status == Status.WITHSTOOD


def test_a_limit_of_one_is_no_test() -> None:
    world = World((("a",), ("b",), ("a",), ("b",)), ((0, 0, 1, 1), (0, 1, 0, 1)), {"limit": 1.0})
    releases, members = world.frames()
    found = ri.attack(releases, world.schema, only=["joint"], knowledge=ri.Knowledge(members=members))
    assert found["joint"].status == Status.NOT_RUN
    assert "permits everything" in str(found["joint"].reason)
    assert found.verdict != "withstood"


def test_gain_bounds_what_a_release_adds_to_a_rare_value() -> None:
    """One of sixty has the value: a group of six that shows it makes it ten times as likely, far below the limit."""
    rows = [("positive",)] + [("negative",)] * 59
    group = tuple(place // 6 for place in range(60))
    world = World(tuple(rows), (group, group), {"harmless_values": ["negative"]})
    releases, members = world.frames()
    knowledge = ri.Knowledge(members=members)
    plain = ri.attack(releases, world.schema, only=["joint"], knowledge=knowledge)["joint"]
    assert (plain.status, plain.details["surest"]["prior"]) == (Status.WITHSTOOD, pytest.approx(1 / 60))
    bounded = replace(world.schema, policy={**world.policy, "gain": 5})
    found = ri.attack(releases, bounded, only=["joint"], knowledge=knowledge)["joint"]
    assert (found.status, found.people) == (Status.EXPOSED, 6)
    assert found.details["surest"]["gain"] == pytest.approx((1 / 5) / (1 / 59), rel=1e-3)


def test_missing_cells_expose_nobody_unless_the_policy_says_so() -> None:
    rows = tuple((value,) for value in [None] * 7 + ["a", "b", "c"])
    group = (0,) * 5 + (1,) * 5
    world = World(rows, (group, group), {})
    releases, members = world.frames()
    knowledge = ri.Knowledge(members=members)
    found = ri.attack(releases, world.schema, only=["joint"], knowledge=knowledge)["joint"]
    assert (found.status, found.people) == (Status.WITHSTOOD, 0)
    secret = replace(world.schema, policy={"missing_is_sensitive": ["s0"]})
    found = ri.attack(releases, secret, only=["joint"], knowledge=knowledge)["joint"]
    assert (found.status, found.people) == (Status.EXPOSED, 5)
