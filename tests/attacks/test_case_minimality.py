"""The worst case of a minimality attack: everyone's credibility, and the group that gives away most."""

import polars as pl
import pytest

from reissue import anonymize, synth
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding, Status
from reissue.publishing.attack import attack
from tests.attacks.cases import sound
from tests.papers.test_minimality import NON, finding, people, rows


def counts(found: Finding) -> dict[float, int]:
    """The upper edge of each bin that has people."""
    picture = sound(found)["picture"]
    bins = zip(picture["edges"][1:], picture["counts"], strict=True)
    return {edge: number for edge, number in bins if number}


def said(probability: float) -> str:
    return "it is certain" if probability == 1 else f"with a probability of {100 * probability:.3g}%"


def test_table_i_andre_and_kim() -> None:
    found = finding(rows(("Q", "HIV", 2), ("Q", NON, 6)), people(("q1", 2), ("q2", 6)), "simple-l=2:HIV")
    case = sound(found)
    assert case["steps"] == [
        (
            "The adversary knows everyone's quasi-identifiers: a group of release 1 (QID Q) has 8 people, with 2 "
            "different exact quasi-identifiers. Take the 2 who share theirs."
        ),
        "By itself, release 1 links these 2 people to HIV with a probability of 25%: 2 of 8 records show it.",
        (
            "Nothing is generalized without need, so before, some people with the same quasi-identifiers broke "
            "simple-l=2:HIV: ways to hand out the values in which nobody did are excluded."
        ),
        "So it is certain that these 2 people had HIV in release 1; the limit is 50%.",
    ]
    assert counts(found) == {0.05: 6, 1.0: 2}
    assert "q1" not in str(case)
    assert "q2" not in str(case)


def test_nothing_was_generalized() -> None:
    """What is exactly at the limit lies below it in the picture."""
    published = rows(("q1", "HIV", 1), ("q1", NON, 1), ("q2", "HIV", 1), ("q2", NON, 5))
    found = finding(published, people(("q1", 2), ("q2", 6)), "simple-l=2:HIV")
    assert found.status == Status.WITHSTOOD
    assert counts(found) == {0.2: 6, 0.5: 2}
    assert "adds nothing" in sound(found)["steps"][2]


def test_table_x_local_recoding_is_told_of_the_generalized_group() -> None:
    published = rows(("Q", "HIV", 2), ("Q", NON, 2), ("q2", NON, 4))
    case = sound(finding(published, people(("q1", 2), ("q2", 6)), "simple-l=2:HIV"))
    assert "(QID Q) has 4 people" in case["steps"][0]


@pytest.mark.parametrize("method", ["pool", "mondrian", "topdown", "anatomy"])
def test_own_releases_and_files(method: str) -> None:
    frame = next(synth.Population(seed=4, people=400).months(1)).drop("age")
    frame = frame.with_columns(pl.lit("patient-") + pl.col("patient").cast(pl.String), age=pl.lit(30))
    schema, rule = synth.schema(), "l=2" if method == "anatomy" else "simple-l=3"
    release = anonymize(frame, schema, rule, method=method, seed=1)
    looks = next(iter(release.tables.values()))["zip"].cast(pl.String)
    zips = set(frame["zip"].cast(pl.String)) - (set() if method == "anatomy" else set(looks))
    known = Knowledge(population=frame.drop("disease"), requirement=rule)
    for found in (
        attack([release], schema, only="minimality")["minimality"],
        attack([release.frames], schema, only="minimality", knowledge=known)["minimality"],
    ):
        if found.status == Status.NOT_RUN:
            assert "case" not in found.details
            continue
        case = sound(found, secrets=["patient-", *zips])
        assert sum(case["picture"]["counts"]) == found.population
        assert case["picture"]["limit"] == found.limit
        assert ("(age " in case["steps"][0]) == (method != "anatomy")
        assert said(found.worst or 0) in case["steps"][-1]
