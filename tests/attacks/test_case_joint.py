"""The joint attack's worst case: groups that leave one value, or what makes a value likely."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reissue import anonymize, synth
from reissue.attacks import Knowledge, Series, find
from reissue.attacks.joint.story.picture import _rounded
from reissue.attacks.joint.story.steps import _amount
from reissue.publishing.attack import attack
from reissue.publishing.series import anonymize_series
from reissue.schema import Role, Schema
from tests.attacks.cases import sound

SCHEMA = Schema(
    {"name": Role.IDENTIFIER, "age": Role.QUASI, "illness": Role.SENSITIVE},
    updates={"none": True},
)


def copy(**groups: tuple[str, str]) -> pl.DataFrame:
    """A file that kept its identifiers: an age for a group, and its people and illnesses."""
    rows = [
        {"name": f"name-{person}", "age": f"{group}0-{group}9", "illness": illness}
        for group, (people, illnesses) in groups.items()
        for person, illness in zip(people.split(), illnesses.split(), strict=True)
    ]
    return pl.DataFrame([{**row, "age": row["age"].replace("g", "")} for row in rows])


def test_what_only_all_worlds_show_is_told_by_supposing_the_other_value() -> None:
    """Ann and Ben have one cold between them, so Cas has flu: no single count shows it."""
    one, two = copy(g2=("Ann Ben Cas", "flu cold flu")), copy(g2=("Ann Ben", "flu cold"))
    case = sound(attack([one, two], SCHEMA, only="joint")["joint"], secrets=["name-"], published=["20-29"])
    assert case["steps"][1:] == [
        "This person's group in release 1 (age 20-29) shows flu 2, cold 1.",
        (
            "Suppose that this person had cold in release 1. Then the only record of cold in a group of release 1 is "
            "this person's; A and B did not have cold in release 2. But then a group of release 2 shows 1 record of "
            "cold, and nobody is left for it. So it was not cold."
        ),
        (
            "These 2 groups, each an equation, leave only flu for this person in release 1: it is certain. By itself, "
            "release 1 says 66.7%; the limit is 75%."
        ),
    ]
    groups = case["picture"]["groups"]
    assert [group["people"] for group in groups] == [["this person", "A", "B"], ["A", "B"]]
    assert [(row["value"], row["people"]) for row in groups[0]["rows"]] == [("flu", ["this person"]), ("cold", [])]
    assert all(not row["people"] for row in groups[1]["rows"]), "what was only supposed is nobody's"


def test_two_groups_leave_one_value() -> None:
    one = copy(g2=("Ann Ben Cas", "flu cold ulcer"))
    two = copy(g2=("Ann Ben", "flu cold"), g4=("Eve Fay", "flu cold"))
    finding = attack([one, two], SCHEMA, only="joint")["joint"]
    case = sound(finding, secrets=["name-"], published=["20-29"])
    assert case["steps"] == [
        (
            "The adversary knows who is in which group of which release, this person and the others alike, and what "
            "each group shows; nobody's value."
        ),
        "This person's group in release 1 (age 20-29) shows cold 1, flu 1, ulcer 1.",
        (
            "A and B are in both release 1 and release 2; values do not change, and ulcer is not in what release 2 "
            "shows for them: so none of them had it in release 1."
        ),
        "For the only record of ulcer in release 1 nobody else is left: it is this person's.",
        (
            "These 2 groups, each an equation, leave only ulcer for this person in release 1: it is certain. By "
            "itself, release 1 says 33.3%; the limit is 75%."
        ),
    ]
    groups = case["picture"]["groups"]
    assert [group["people"] for group in groups] == [["this person", "A", "B"], ["A", "B"]]
    assert [(row["value"], row["chance"], row["people"]) for row in groups[0]["rows"]] == [
        ("cold", 0.0, []),
        ("flu", 0.0, []),
        ("ulcer", 1.0, ["this person"]),
    ]
    assert [row["chance"] for row in groups[1]["rows"]] == [None, None]
    assert (groups[1]["before"], groups[1]["new"]) == (0, 0)


def test_what_is_only_likely_is_told_by_what_others_take() -> None:
    one = copy(g2=("Ann Ben Cas Dan", "flu flu flu cold"))
    finding = attack([one], SCHEMA, only="joint")["joint"]
    case = sound(finding, secrets=["name-"], published=["20-29"])
    assert "flu with a probability of 75%: " in case["steps"][1]
    assert "the 3 other people of the group would hold 2.2 of its 3 records of flu." in case["steps"][2]
    assert case["steps"][-1] == "So this person had flu in release 1 with a probability of 75%; the limit is 75%."
    (group,) = case["picture"]["groups"]
    assert (group["people"], group["before"], group["new"]) == (["this person"], 0, 3)


def test_what_others_take_is_not_told_where_they_may_be_in_another_group() -> None:
    """Four people fit a group of three records: what all of them are expected to hold is more than it shows."""
    shown = [("20-29", "flu"), ("20-29", "flu"), ("20-29", "cold"), ("25-39", "flu"), ("25-39", "cold")]
    release = pl.DataFrame(shown, schema=["age", "illness"], orient="row")
    people = pl.DataFrame({"name": [f"name-{one}" for one in range(5)], "age": [21, 22, 27, 28, 31]})
    finding = attack([release], SCHEMA, only="joint", knowledge=Knowledge(members=[people]))["joint"]
    case = sound(finding, secrets=["name-"], published=["20-29", "25-39"])
    assert finding.details["knowledge"] == "register"
    assert not any("would hold" in step for step in case["steps"])
    assert "All groups of all releases are solved for everyone at once" in case["steps"][2]


def test_what_was_learnt_of_counterfeits_is_told(tmp_path: Path) -> None:
    synth.updates().write_csv(tmp_path / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=tmp_path)
    months = list(synth.Population(seed=5, people=600).months(4))
    options: dict[str, Any] = {"ineligible": "counterfeits", "suppress": 0.05}
    made = anonymize_series(months, schema, "m-unique=4", method="distinct", seed=1, **options)
    finding = attack(made, schema, only="joint", knowledge=Knowledge(groups=True))["joint"]
    assert finding.details["counterfeits_learnt"]
    assert finding.details["sure"] == 0
    case = sound(finding, secrets=[])
    assert any("what newcomers and counterfeits tend to have was estimated" in step for step in case["steps"])


def test_nothing_likely_is_shown_as_certain() -> None:
    """A picture strikes out what has no chance."""
    assert [_rounded(one) for one in (0, 1e-9, 0.1234567, 1 - 1e-9, 1)] == [0, 1e-6, 0.123457, 1 - 1e-6, 1]
    assert [_amount(one) for one in (2.4e-7, 1.74, 123.4)] == ["less than 0.01", "1.7", "123"]


def test_carried_on_it_tells_with_counts_and_values(tmp_path: Path) -> None:
    """What is carried on has older releases as numbers only; the same person and the same steps as all at once."""
    synth.updates().write_csv(tmp_path / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=tmp_path)
    months = synth.Population(seed=3, people=120).months(2)
    releases = [anonymize(month, schema, "k=4", method="mondrian", seed=1) for month in months]
    fold, state = find("joint").fold, None
    assert fold is not None
    for number, release in enumerate(releases, start=1):
        series = replace(Series.read([release], schema), numbers=(number,))
        state = fold.add(state, series)
    assert state is not None
    case = sound(state.finding, published=[])
    whole = sound(attack(releases, schema, only="joint")["joint"])
    assert case["picture"]["kind"] == "equations"
    assert {group["label"] for group in case["picture"]["groups"]} <= {"release 1", "release 2"}
    assert case["steps"][-1].endswith("the limit is 75%.")
    assert "it is certain" in case["steps"][-1]
    assert "it is certain" in whole["steps"][-1]


@pytest.mark.parametrize("groups", [False, True])
def test_nothing_that_was_not_published(groups: bool) -> None:
    months = [
        month.with_columns(pl.lit("patient-") + pl.col("patient").cast(pl.String))
        for month in synth.Population(seed=3, people=200).months(3)
    ]
    releases = [anonymize(month, synth.schema(), "k=4 & l=2", seed=1) for month in months]
    finding = attack(releases, synth.schema(), only="joint", knowledge=Knowledge(groups=groups))["joint"]
    texts = {text for one in releases for name in one.schema.quasi for text in one.frame[name].cast(pl.String)}
    case = sound(finding, secrets=["patient-"], published=texts)
    words = "register" if not groups else "in which group"
    assert words in case["steps"][0]
    assert finding == attack(releases, synth.schema(), only="joint", knowledge=Knowledge(groups=groups))["joint"]
