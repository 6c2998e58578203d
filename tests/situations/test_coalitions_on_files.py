"""Coalitions that hold copies of several releases: what follows about others, against all worlds, one by one."""

from collections import Counter
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding, Findings, Status
from tests.cli.conftest import Reissue, reissue
from tests.effort import examples

__all__ = ["reissue"]

SCHEMA = ri.Schema.loads(
    """
[columns]
who = "identifier"
q = "quasi"
s = "sensitive"
house = "provider"

[updates]
none = true
"""
)
Series = list[list[tuple[int, int]]]
"""For each release who is in it, and in which of its groups."""


def copies(series: Series, values: list[int], houses: list[str]) -> list[pl.DataFrame]:
    return [
        pl.DataFrame(
            {
                "who": [f"person {one}" for one, _ in release],
                "q": [f"group {group}" for _, group in release],
                "s": ["abc"[values[one]] for one, _ in release],
                "house": [houses[one] for one, _ in release],
            }
        )
        for release in series
    ]


def groups_of(series: Series) -> Iterator[list[int]]:
    for release in series:
        for group in sorted({group for _, group in release}):
            yield [one for one, its in release if its == group]


def worlds(series: Series, values: list[int], own: set[int]) -> list[tuple[int, ...]]:
    """All ways to give everyone a value that stays, so that every group shows what it shows, the coalition's known."""
    everyone = range(len(values))
    choices = [[values[one]] if one in own else sorted(set(values)) for one in everyone]
    shown = [(group, Counter(values[one] for one in group)) for group in groups_of(series)]
    return [
        world
        for world in product(*choices)
        if all(Counter(world[one] for one in group) == counts for group, counts in shown)
    ]


@st.composite
def situations(draw: st.DrawFn) -> tuple[Series, list[int], list[str]]:
    """Five or six people in two releases of two groups or three."""
    people = draw(st.integers(4, 6))
    values = draw(st.lists(st.integers(0, 2), min_size=people, max_size=people))
    houses = draw(st.lists(st.sampled_from("PQR"), min_size=people, max_size=people))
    series = []
    for _ in range(2):
        there = draw(st.lists(st.booleans(), min_size=people, max_size=people))
        place = draw(st.lists(st.integers(0, 1), min_size=people, max_size=people))
        series.append([(one, place[one]) for one in range(people) if there[one]])
    assume(all(series))
    return series, values, houses


def joint(tables: list[pl.DataFrame], *coalition: str) -> Finding:
    return ri.attack(tables, SCHEMA, only="joint", exact=True, knowledge=Knowledge(coalition=coalition))["joint"]


@examples(300)
@given(situation=situations(), coalition=st.sets(st.sampled_from("PQR"), min_size=1))
def test_what_is_certain_of_others_is_what_all_worlds_have(
    situation: tuple[Series, list[int], list[str]], coalition: set[str]
) -> None:
    series, values, houses = situation
    inside = {one for release in series for one, _ in release}
    assume(coalition <= {houses[one] for one in inside})
    own = {one for one in inside if houses[one] in coalition}
    found = joint(copies(series, values, houses), *sorted(coalition))
    others = inside - own
    assert found.population == len(others)
    assert found.status != Status.NOT_RUN
    possible = worlds(series, values, own)
    certain = [one for one in others if len({world[one] for world in possible}) == 1]
    assert found.details["sure"] == len(certain)
    if certain:
        assert (found.status, found.worst) == (Status.EXPOSED, 1.0)
    if found.status == Status.EXPOSED:
        assert found.details["right"] is not None, "the holder's copy says who has what"


R1 = pl.DataFrame({"who": list("abcd"), "q": list("xxyy"), "s": ["flu", "hiv", "flu", "cold"], "house": list("PQPQ")})
R2 = pl.DataFrame({"who": list("acbe"), "q": list("xxyy"), "s": ["flu", "flu", "hiv", "cold"], "house": list("PPQQ")})


def ran(findings: Findings) -> set[str]:
    return {one.attack for one in findings if one.status != Status.NOT_RUN}


def test_attacks_run_with_a_coalition_as_they_do_without() -> None:
    known = Knowledge(requirement="k=2", coalition=["P"])
    with_names = ri.attack([R1, R2], SCHEMA, knowledge=known)
    assert {"coalition", "joint", "updates", "trajectory"} <= ran(with_names)
    assert "the attack `joint`" in str(with_names["composition"].reason)
    nameless = ri.attack([R1.drop("who"), R2.drop("who")], SCHEMA, knowledge=known)
    assert "composition" in ran(nameless)
    assert "identifier" in str(nameless["joint"].reason)
    by_hand = [frame.filter(pl.col("house") != "P").drop("who", "house") for frame in (R1, R2)]
    assert nameless["composition"] == ri.attack(by_hand, SCHEMA, only="composition")["composition"]


def test_each_attack_that_does_not_run_with_a_coalition_says_what_it_lacks() -> None:
    register = pl.DataFrame({"who": list("abcde"), "q": list("xxxyy")})
    known = Knowledge(coalition=["P"], population=register)
    found = ri.attack([R1.drop("who"), R2.drop("who")], SCHEMA, knowledge=known)
    assert "does not say which of them" in str(found["joint"].reason)
    assert found["joint"].needs == ("identifier",)
    assert found["composition"].status != Status.NOT_RUN, "nothing else says what is left"
    blind = SCHEMA.with_roles({"house": "drop"})
    assert "no column as" in str(ri.attack([R1, R2], blind, knowledge=Knowledge(coalition=["P"]))["joint"].reason)
    without = ri.attack([R1.drop("house"), R2], SCHEMA, only="joint", knowledge=Knowledge(coalition=["P"]))["joint"]
    assert "no column that names the provider" in str(without.reason)
    apart = [frame.with_columns(group=pl.Series([1, 1, 2, 2]), q=pl.Series(list("xyxy"))) for frame in (R1, R2)]
    permuted = ri.attack(apart, SCHEMA, only="joint", knowledge=Knowledge(coalition=["P"]))["joint"]
    assert "apart from the people" in str(permuted.reason)
    with pytest.raises(ri.InputError, match="names 1 providers"):
        joint([R1, R2], "Z")


def test_from_the_shell(reissue: Reissue, tmp_path: Path) -> None:
    for name, frame in {"r1.csv": R1, "r2.csv": R2}.items():
        frame.write_csv(tmp_path / name)
    (tmp_path / "s.toml").write_text(SCHEMA.dumps(), encoding="utf-8")
    outcome = reissue("attack", "r1.csv", "r2.csv", "--schema", "s.toml", "--coalition", "P", "--json")
    findings = {one["attack"]: one for one in outcome.json["findings"]}
    assert outcome.code == 1
    assert (findings["joint"]["status"], findings["joint"]["population"]) == ("exposed", 3)


def test_the_order_in_which_people_stand_does_not_matter() -> None:
    first = joint([R1, R2], "P")
    for order in list(permutations(range(4)))[::7]:
        again = joint([R1[list(order)], R2[list(order)]], "P")
        assert (again.people, again.worst) == (first.people, first.worst)
