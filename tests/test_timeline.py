"""How the risk of a series grew, and what was attacked."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.attacks import find
from reissue.attacks.findings import Point
from reissue.publishing.timeline import FEW, MOST, _places
from reissue.schema import Schema
from reissue.synth import Population, schema, updates


@pytest.fixture(scope="module")
def releases() -> list[ri.Release]:
    months = Population(seed=3, people=300).months(4)
    return [ri.anonymize(month, schema(), "k=3 & l=2", seed=1, method="mondrian") for month in months]


def still(month: pl.DataFrame, first: pl.DataFrame) -> pl.DataFrame:
    """The people of a month with the values they began with."""
    return month.drop("disease").join(first.select("patient", "disease"), on="patient")


def rerun(point: Point, data: list[Any], plan: Schema, found: ri.Finding, knowledge: ri.Knowledge) -> ri.Finding:
    """The attack on the first releases alone, by the limit of them all."""
    first = data[: point.release]
    members = None if knowledge.members is None else knowledge.members[: point.release]
    limits = {found.attack: found.limit or 0}
    knowing = replace(knowledge, members=members)
    return ri.attack(first, plan, only=found.attack, limits=limits, knowledge=knowing)[found.attack]


def models(folder: Path) -> dict[str, Schema]:
    """Schemas of people whose values stay, and whose values change."""
    updates().write_csv(folder / "updates.csv")
    return {"stay": schema(), "change": replace(schema(), updates={"file": "updates.csv"}, folder=folder)}


@pytest.mark.parametrize("attack", ["updates", "joint"])
@pytest.mark.parametrize("kind", ["stay", "change", "members"])
def test_the_timeline_is_the_attack_on_the_first_releases(attack: str, kind: str, tmp_path: Path) -> None:
    months = list(Population(seed=3, people=150).months(4))
    plan = models(tmp_path)["stay" if kind == "stay" else "change"]
    if kind == "stay":
        months = [still(month, months[0]) for month in months]
    data: list[Any] = [ri.anonymize(month, plan, "k=3 & l=2", seed=1) for month in months]
    knowledge = ri.Knowledge(groups=True)
    if kind == "members":
        data, knowledge = [one.frame.drop("hospital", strict=False) for one in data], ri.Knowledge(members=months)
    found = ri.attack(data, plan, only=attack, timeline=True, knowledge=knowledge)
    points = found.timeline[attack]
    assert [point.release for point in points] == [1, 2, 3, 4]
    for point in points:
        alone = rerun(point, data, plan, found[attack], knowledge)
        assert (point.people, point.population) == (alone.people, alone.population)
        assert point.worst == pytest.approx(alone.worst, abs=1e-6)
    assert points[0].people < points[-1].people == found[attack].people


def test_with_and_without_a_timeline_the_finding_is_the_same(releases: list[ri.Release]) -> None:
    for attack in ("joint", "equivalence", "correspondence", "composition"):
        one, other = (ri.attack(releases, schema(), only=attack, timeline=timeline) for timeline in (False, True))
        assert one[attack].as_dict() == other[attack].as_dict()


@pytest.mark.parametrize(("attack", "limit"), [("coalition", 1), ("minimality", 0.4)])
def test_an_attack_on_single_releases_is_shown_release_by_release(
    releases: list[ri.Release], attack: str, limit: float
) -> None:
    limits = {attack: limit}
    found = ri.attack(releases, schema(), only=attack, limits=limits, timeline=True)
    each = [ri.attack([one], schema(), only=attack, limits=limits)[attack] for one in releases]
    assert [(one.people, one.population, one.worst) for one in found.timeline[attack]] == [
        (one.people, one.population, one.worst) for one in each
    ]
    assert max(one.people or 0 for one in each) == found[attack].people
    assert found[attack].people


def test_a_coalition_need_not_be_in_every_release() -> None:
    roles = {"age": "quasi", "hospital": "provider", "disease": "sensitive"}
    columns = Schema.read({"columns": roles, "person": {"several_rows": False}})
    months = [
        pl.DataFrame(
            {"age": [30, 31, 32] * 8, "hospital": [first, second] * 12, "disease": ["flu", "cold", "cough"] * 8}
        )
        for first, second in (("North", "South"), ("North", "West"))
    ]
    data = [ri.anonymize(month, columns, "k=8") for month in months]
    found = ri.attack(data, columns, only="coalition", knowledge=ri.Knowledge(coalition=["South"]), timeline=True)
    assert [point.people for point in found.timeline["coalition"]] == [12, 0]
    with pytest.raises(ri.InputError, match="1 provider"):
        ri.attack(data, columns, only="coalition", knowledge=ri.Knowledge(coalition=["East"]), timeline=True)


def test_tables_of_people_go_with_the_releases_held(releases: list[ri.Release]) -> None:
    people = list(Population(seed=3, people=300).months(4))
    frames = [release.frame.drop("hospital", strict=False) for release in releases]
    some = ri.Knowledge(members=people, holds=(2, 3))
    held = ri.attack(frames, schema(), only="updates", knowledge=some)["updates"]
    by_hand = ri.attack(frames[1:3], schema(), only="updates", knowledge=ri.Knowledge(members=people[1:3]))["updates"]
    assert (held.people, held.worst, held.status) == (by_hand.people, by_hand.worst, by_hand.status)


def test_without_being_asked_for_there_is_no_timeline(releases: list[ri.Release]) -> None:
    found = ri.attack(releases, schema(), only="updates")
    assert not found.timeline
    assert "timeline" not in found.as_dict()


def test_what_was_attacked_is_counted_as_a_recipient_would(releases: list[ri.Release]) -> None:
    found = ri.attack(releases, schema(), only="coalition")
    for release, shown in zip(releases, found.releases, strict=True):
        sizes = release.frame.group_by(schema().quasi).len()["len"]
        assert (shown.rows, shown.groups, shown.smallest) == (release.frame.height, len(sizes), sizes.min())
    assert [one["number"] for one in json.loads(found.to_json())["releases"]] == [1, 2, 3, 4]


def test_long_series_are_looked_at_in_few_places_and_at_the_end() -> None:
    for number in (13, 50, 121):
        places = _places(number, MOST)
        assert len(places) == MOST
        assert places[-1] == number - 1
    assert _places(5, MOST) == [0, 1, 2, 3, 4]
    assert _places(12, FEW) == [2, 5, 8, 11]


def test_attacks_say_whether_they_judge_releases_alone() -> None:
    assert find("minimality").per_release
    assert not find("updates").per_release


def test_nothing_to_attack_is_said() -> None:
    with pytest.raises(ri.InputError, match="one release or more"):
        ri.attack([], schema())
