"""The joint attack through the front door: what it must find, and what each kind of knowledge gives."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.attacks import Knowledge, Series, find, run_attack
from reissue.attacks.findings import Finding
from reissue.publishing.series import anonymize_series
from reissue.schema import Schema
from tests.ledger.series import MONTHS as STAYING

SCHEMA = replace(Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s"]), updates={"none": True})
Group = tuple[str, str]
"""People, a letter each, and the values that they have together."""


def release(*groups: Group) -> pl.DataFrame:
    """A file that kept the identifier: everyone's group is known; whose value is whose is not used."""
    rows = [
        (person, f"group {number}", value)
        for number, (people, values) in enumerate(groups)
        for person, value in zip(people, values, strict=True)
    ]
    return pl.DataFrame(rows, schema=["id", "q", "s"], orient="row")


def joint(releases: Sequence[Any], schema: Schema = SCHEMA, **how: Any) -> Finding:
    return ri.attack(releases, schema, only="joint", **how)["joint"]


def shown(*groups: tuple[str, str]) -> pl.DataFrame:
    """A file without identifiers: ranges of a quasi-identifier, and values."""
    return pl.DataFrame([(box, value) for box, values in groups for value in values], schema=["q", "s"], orient="row")


def people(**ages: int) -> pl.DataFrame:
    return pl.DataFrame({"id": list(ages), "q": list(ages.values())})


# --- what must come out ----------------------------------------------------------------------------------------------


def test_the_third_of_three_is_certain_when_two_of_them_come_again() -> None:
    found = joint([release(("ABC", "aab")), release(("AB", "ab"))])
    assert (found.people, found.details["sure"], found.worst) == (1, 1, 1.0)
    assert found.population == 3


def test_what_one_release_says_reaches_people_of_another_group() -> None:
    found = joint([release(("BC", "bc"), ("AD", "ac")), release(("CD", "ab"))])
    assert found.details["sure"] == 4


def test_two_pairs_have_the_same_value_whichever_it_is() -> None:
    found = joint([release(("ABDE", "abab")), release(("BCEF", "abab")), release(("CD", "ab"))])
    assert (found.details["equal"], found.details["sure"]) == (2, 0)
    assert found.worst == pytest.approx(0.5)


def test_the_same_people_twice_say_no_more_than_once() -> None:
    found = joint([release(("ABCDE", "aaabb"))] * 2)
    assert found.worst == pytest.approx(0.6)
    assert found.people == 0


def test_one_signature_for_ever_is_one_in_m_for_ever() -> None:
    """m-invariance: whoever is in which group of the bucket, all groups look alike."""
    orders = ("ABCDEF", "AFCBED", "DEBCAF")
    found = joint([release((order[:3], "xyz"), (order[3:], "xyz")) for order in orders])
    assert found.worst == pytest.approx(1 / 3, abs=1e-3)


def test_a_later_release_gives_away_an_earlier_value(tmp_path: Path) -> None:
    """Only b can become d: whoever has d now had b."""
    (tmp_path / "steps.csv").write_text("from,to\na,a\nb,b\nb,d\nc,c\nd,d\n")
    schema = replace(SCHEMA, updates={"file": "steps.csv"}, folder=tmp_path)
    series = [release(("AB", "ab"), ("CD", "cc")), release(("AC", "cd"), ("BD", "ac"))]
    assert joint(series[:1], schema).details["sure"] == 2
    assert joint(series, schema).details["sure"] == 4


# --- what each kind of knowledge gives -------------------------------------------------------------------------------


def test_groups_known_give_more_than_a_register() -> None:
    schema = replace(synth.schema(), updates={"none": True})
    made = [ri.anonymize(month, schema, "k=4 & l=2", seed=1) for month in STAYING]
    weak, strong = (joint(made, schema, knowledge=Knowledge(groups=groups)) for groups in (False, True))
    assert (weak.details["knowledge"], strong.details["knowledge"]) == ("register", "groups")
    assert weak.details["fits"] > strong.details["fits"] == 1
    assert 0 < weak.details["sure"] <= strong.details["sure"]
    assert strong.details["right"] <= strong.people <= strong.population


def test_members_of_each_release_are_a_register() -> None:
    series = [shown(("[0, 9]", "aab"), ("[10, 19]", "cc")), shown(("[0, 9]", "ab"))]
    who = [people(A=1, B=2, C=3, D=11, E=12), people(A=1, B=2)]
    found = joint(series, knowledge=Knowledge(members=who))
    assert found.population == 5
    assert found.details["sure"] == 3
    assert found.details["right"] is None


def test_a_register_that_is_larger_than_the_release_makes_less_sure() -> None:
    """Of three people who fit, two are in it: nobody is certain, not even of what the whole group has."""
    series = [shown(("[0, 9]", "aa"), ("[10, 19]", "bb"))]
    exact = joint(series, knowledge=Knowledge(population=people(A=1, B=2, D=11, E=12)))
    larger = joint(series, knowledge=Knowledge(population=people(A=1, B=2, C=3, D=11, E=12, F=13)))
    assert exact.details["sure"] == 4
    assert larger.details["sure"] == 0
    assert larger.worst is not None
    assert exact.worst == 1 > larger.worst


def test_a_counterfeit_may_have_any_value_of_its_group() -> None:
    schema = Schema.of_columns(identifier="patient", quasi=["age", "zip", "sex", "job"], sensitive=["disease"])
    made = anonymize_series(
        STAYING[:3],
        replace(schema, updates={"none": True}),
        "m-unique=3",
        method="invariance",
        seed=1,
        ineligible="counterfeits",
    )
    assert sum(one.counterfeits for one in made) > 0
    found = joint(made, made[0].table.schema, knowledge=Knowledge(groups=True))
    assert found.people == 0
    assert found.worst == pytest.approx(1 / 3, abs=0.02)


def test_who_was_away_and_returns_is_the_same_person() -> None:
    """A and B share {a, b}; after an absence A stands with C in {a, c}: A has a, so B has b and C has c."""
    found = joint([release(("AB", "ab"), ("CD", "cd")), release(("D", "d")), release(("AC", "ac"))])
    assert found.details["sure"] == 4


def test_a_coalition_knows_its_own_records() -> None:
    frame = pl.DataFrame(
        {
            "patient": [1, 2, 3, 4],
            "hospital": ["x", "x", "y", "y"],
            "age": [30, 31, 32, 33],
            "disease": ["flu", "flu", "flu", "HIV"],
        }
    )
    schema = Schema.of_columns(identifier="patient", provider="hospital", quasi=["age"], sensitive=["disease"])
    made = [ri.anonymize(frame, replace(schema, updates={"none": True}), "k=4", seed=1)]
    alone = joint(made, made[0].table.schema)
    together = joint(made, made[0].table.schema, knowledge=Knowledge(coalition=["x"]))
    assert alone.worst == pytest.approx(0.75)
    assert alone.details["sure"] == 0
    assert (together.population, together.details["sure"]) == (2, 0), "nothing is claimed about the coalition's own"
    assert together.worst == pytest.approx(0.5)


def test_several_sensitive_columns_are_one_value() -> None:
    schema = replace(Schema.of_columns(identifier="id", quasi=["q"], sensitive=["s", "t"]), updates={"none": True})
    first = release(("ABC", "aab")).with_columns(t=pl.Series(["x", "x", "y"]))
    second = release(("AB", "ab")).with_columns(t=pl.Series(["x", "y"]))
    assert joint([first, second], schema).details["sure"] == 1


def test_a_missing_value_is_a_value() -> None:
    first = release(("ABC", "aab")).with_columns(s=pl.Series(["a", "a", None]))
    second = release(("AB", "ab")).with_columns(s=pl.Series(["a", None]))
    assert joint([first, second]).details["sure"] == 1


def test_only_the_releases_held_count() -> None:
    series = [release(("ABC", "aab")), release(("AB", "ab"))]
    found = joint(series, knowledge=Knowledge(holds=(2,)))
    assert found.releases == (2,)
    assert found.details["sure"] == 0


def test_releases_may_show_different_columns() -> None:
    schema = replace(Schema.of_columns(identifier="id", quasi=["q", "r"], sensitive=["s"]), updates={"none": True})
    first = shown(("[0, 9]", "aab"))
    second = shown(("[0, 9]", "ab")).rename({"q": "r"})
    who = [people(A=1, B=2, C=3).with_columns(r=pl.col("q")), people(A=1, B=2).with_columns(r=pl.col("q"))]
    found = run_attack(find("joint"), Series.read([first, second], schema), Knowledge(members=who))
    assert found.details["sure"] == 1


def test_people_who_contradict_the_releases_are_set_aside() -> None:
    found = joint([release(("AB", "ab"), ("CD", "cc")), release(("AC", "ab"), ("BD", "bc"))])
    assert found.details["contradicted"] == 1
    assert found.population == 3


# --- how far confidences can be trusted -------------------------------------------------------------------------------

WAYS: Mapping[str, tuple[str, str]] = {
    "pool": ("pool", "k=5 & l=3"),
    "mondrian": ("mondrian", "k=5 & l=3"),
    "large groups": ("pool", "k=20 & l=3"),
}


@pytest.mark.parametrize("groups", [True, False], ids=["groups", "register"])
@pytest.mark.parametrize("way", WAYS)
def test_confidences_are_right_as_often_as_they_say(way: str, groups: bool) -> None:
    months = list(synth.Population(seed=2, people=1_500).months(4))
    schema = replace(synth.schema(), updates={})
    method, requirement = WAYS[way]
    made = [ri.anonymize(month, schema, requirement, method=method, seed=1) for month in months]
    found = joint(made, schema, knowledge=Knowledge(groups=groups))
    bins = [one for one in found.details["calibration"] if one["people"] >= 200]
    assert len(bins) >= 3
    for one in bins:
        assert one["right"] == pytest.approx(one["claim"], abs=0.07)


def test_confidences_about_groups_made_by_value_are_right_as_often_as_they_say() -> None:
    """Over two worlds: people of one world are right or wrong together (decision 0208)."""
    schema, found = replace(synth.schema(), updates={}), list[dict[str, float]]()
    for seed in (20, 21):
        months = list(synth.Population(seed=seed, people=1_000).months(4))
        options: dict[str, Any] = {"ineligible": "counterfeits", "suppress": 0.05}
        made = anonymize_series(months, schema, "m-unique=7", method="distinct", seed=1, **options)
        one = joint(made, schema, knowledge=Knowledge(groups=True))
        assert one.details["counterfeits_learnt"]
        found += one.details["calibration"]
    bins = (
        pl.DataFrame(found)
        .group_by("from")
        .agg(pl.col("people").sum(), (pl.col("claim", "right") * pl.col("people")).sum() / pl.col("people").sum())
        .filter(pl.col("people") >= 200)
    )
    assert bins.height >= 3
    assert (bins["claim"] - bins["right"]).abs().max() < 0.05  # type: ignore[operator]


def test_a_register_that_lacks_people_says_so() -> None:
    series = [shown(("[0, 9]", "aab"))]
    found = joint(series, knowledge=Knowledge(members=[people(A=1, B=2)]))
    assert found.details["strangers"] == 1
    assert "1 record is of people whom the register lacks" in found.sentence
    whole = joint(series, knowledge=Knowledge(members=[people(A=1, B=2, C=3)]))
    assert whole.details["strangers"] == 0
    assert "lacks" not in whole.sentence


def test_a_policy_bounds_how_many_guesses_are_right_on_average() -> None:
    months = list(synth.Population(seed=3, people=200).months(2))
    plain = synth.schema()
    releases = [ri.anonymize(month, plain, "k=20", seed=1) for month in months]
    found = ri.attack(releases, replace(plain, policy={"limit": 0.99}), only="joint")["joint"]
    assert 0 < found.details["without"] < found.details["average"] < 1
    assert found.details["average_limit"] is None
    lower = {"limit": 0.99, "average": found.details["average"] - 0.01}
    judged = ri.attack(releases, replace(plain, policy=lower), only="joint")["joint"]
    assert judged.status == "exposed"
    assert judged.people == found.people
    assert "on average" in judged.sentence
    higher = {"limit": 0.99, "average": found.details["average"] + 0.01}
    assert ri.attack(releases, replace(plain, policy=higher), only="joint")["joint"].status == found.status
