"""The worst case of an attack by mechanism: everyone's posterior, and the person who is linked most surely."""

import polars as pl
import pytest

import reissue as ri
from reissue import Hierarchy, synth
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.publishing.attack import attack
from reissue.schema import Schema
from tests.attacks.cases import sound

BORN = Hierarchy("tree", tree={"Q": ["q1", "q2"]})
SCHEMA = Schema.of_columns(quasi=["born"], sensitive=["disease"], taxonomies={"born": BORN})
PATIENTS = pl.DataFrame({"born": ["q1"] * 2 + ["q2"] * 6, "disease": ["HIV"] * 2 + ["none"] * 6})


def said(probability: float) -> str:
    return "it is certain" if probability == 1 else f"with a probability of {100 * probability:.3g}%"


def test_andre_and_kim() -> None:
    """Of 28 tables one leads to the release: with both HIV among the two of November."""
    release = ri.anonymize(PATIENTS, SCHEMA, "simple-l=2:HIV", method="topdown", seed=0)
    own = attack([release], SCHEMA, only="mechanism")["mechanism"]
    known = Knowledge(population=PATIENTS, requirement="simple-l=2:HIV", algorithm="topdown")
    outside = attack([release.frame], SCHEMA, only="mechanism", knowledge=known)["mechanism"]
    for found in (own, outside):
        case = sound(found)
        assert case["steps"] == [
            "The adversary knows everyone's quasi-identifiers and group, the algorithm, and what it was asked for.",
            (
                "By itself, release 1 links this person to HIV with a probability of 25%: the group (born *) has 8 "
                "records."
            ),
            "The adversary tries which tables lead to this very release: 1 of 28.",
            "So it is certain that this person had HIV in release 1; the limit is 50%.",
        ]
        picture = case["picture"]
        assert (picture["counts"][0], picture["counts"][-1], sum(picture["counts"])) == (6, 2, 8)
        assert picture["limit"] == found.limit


@pytest.mark.slow
def test_values_that_were_changed() -> None:
    """MASK may publish a group without the value that its people are believed to have."""
    patients = pl.DataFrame({"born": ["q1", "q2", "q3", "q3", "q4", "q4"], "disease": ["HIV"] * 3 + ["none"] * 3})
    born = Hierarchy("tree", tree={"Q": ["q1", "q2"], "q3": {}, "q4": {}})
    schema = Schema.of_columns(quasi=["born"], sensitive=["disease"], taxonomies={"born": born})
    release = ri.anonymize(patients, schema, "k=2 & simple-l=2:HIV", method="mask", seed=1)
    found = attack([release], schema, only="mechanism")["mechanism"]
    assert found.status != Status.NOT_RUN
    assert "HIV" in sound(found)["steps"][-1]


@pytest.mark.parametrize("people", [60, 400])
def test_mondrian_at_any_size(people: int) -> None:
    frame = next(synth.Population(seed=4, people=people).months(1))
    frame = frame.with_columns(pl.lit("patient-") + pl.col("patient").cast(pl.String))
    release = ri.anonymize(frame, synth.schema(), "simple-l=2", method="mondrian", seed=1)
    zips = set(frame["zip"].cast(pl.String)) - set(release.tables["release"]["zip"].cast(pl.String))
    found = attack([release], synth.schema(), only="mechanism")["mechanism"]
    if found.status == Status.NOT_RUN:
        assert "case" not in found.details
        return
    case = sound(found, secrets=["patient-", *zips])
    assert sum(case["picture"]["counts"]) == found.population - found.details["unknown"]
    assert said(found.worst or 0) in case["steps"][3]
    assert (len(case["steps"]) == 5) == (found.details["unknown"] > 0)
