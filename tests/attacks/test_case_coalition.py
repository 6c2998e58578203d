"""The worst case of colluding providers: whom each two of them expose, and the group that is left worst off."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import anonymize, synth
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding
from reissue.papers.coalition.records import read_records
from reissue.published import read_published
from reissue.publishing.attack import attack
from reissue.requirements import parse
from tests.attacks import test_coalition_search as definition
from tests.attacks.cases import sound
from tests.attacks.test_coalition import SCHEMA as SMALL
from tests.attacks.test_coalition import frame_of, rows, run
from tests.effort import examples
from tests.papers.test_coalition import PATIENTS, RELEASE_A, RELEASE_B, find

NAMES = [name for name in PATIENTS["name"] if len(name) > 3]


def told(finding: Finding) -> list[str]:
    steps: list[str] = sound(finding, secrets=NAMES)["steps"]
    return steps


def test_release_a() -> None:
    """P1 alone removes Alice and Emily from the first group and is left with Sara and epilepsy."""
    finding = find(RELEASE_A)
    assert told(finding) == [
        "P1 knows its own records: 3 of the 10 in release 1.",
        "It takes them out of every group: of 3 records of the worst one (age [20-30]) 1 is left, with epilepsy.",
        "That does not meet k=3 & l=2.",
        "In all, 1 person in 1 group is exposed; the release withstands 0 colluding providers, the limit is 1.",
    ]
    providers = ["P1", "P2", "P3", "P4"]
    assert finding.details["case"]["picture"] == {
        "kind": "matrix",
        "rows": providers,
        "columns": providers,
        # P3 has a record in the first group and in the third: it leaves two in each.
        "values": [[1, 4, 2, 2], [4, 1, 2, 2], [2, 2, 4, 6], [2, 2, 6, 2]],
        "unit": "people exposed",
        "limit": 0,
    }


def test_release_b() -> None:
    """It withstands any two; without P1, P2 and P3 two records remain."""
    finding = find(RELEASE_B)
    assert told(finding)[1:3] == [
        (
            "They take them out of every group: of 10 records of the worst one (age [20-40]) 2 are left, with asthma "
            "and cancer."
        ),
        "That does not meet k=3 & l=2.",
    ]
    assert finding.details["case"]["picture"]["values"] == [[0] * 4] * 4


def test_one_coalition() -> None:
    finding = find(RELEASE_B, coalition=["P2", "P4"])
    assert told(finding)[0] == "P2 and P4 know their own records: 5 of the 10 in release 1."
    assert told(finding)[2:] == ["That still meets k=3 & l=2.", "In all, 0 people in 0 groups are exposed."]
    assert finding.details["case"]["picture"]["rows"] == ["P2", "P4", "P1", "P3"]


def test_nobody_can_and_nobody_has_to() -> None:
    alone = frame_of([("x", s, "A") for s in range(3)] + [("y", s, "B") for s in range(3)])
    assert "Whoever of them" in sound(run(alone, "k=2"))["steps"][1]
    assert sound(run(alone, "k=4"))["steps"][0].startswith("Nobody has to collude")
    everyone = run(alone, "k=2", coalition=["A", "B"])
    assert "nobody else to expose" in sound(everyone)["steps"][1]


@examples(60)
@given(records=rows, rule=st.sampled_from(["k=2", "k=3 & l=2", "confidence=0.7", "entropy-l=1.5", "t=0.5"]))
def test_the_matrix_is_that_of_the_definition(records: list[tuple[str, int, str]], rule: str) -> None:
    picture = sound(run(frame_of(records), rule))["picture"]
    given_ = read_records(read_published(frame_of(records), SMALL), SMALL).contributions
    groups = [given_.one(number) for number in range(given_.total)]
    names = sorted({name for _, _, name in records})
    for row, one in enumerate(picture["rows"]):
        for column, other in enumerate(picture["columns"]):
            members = sorted({names.index(one), names.index(other)})
            broken = [
                number
                for number, (group, providers) in enumerate(groups)
                if definition.breaks(group, parse(rule), tuple(np.flatnonzero(np.isin(providers, members)).tolist()))
            ]
            others = np.isin(given_.group, broken) & ~np.isin(given_.provider, members)
            assert picture["values"][row][column] == given_.count[others].sum()


@pytest.mark.parametrize("hospitals", [3, 30])
def test_own_releases_show_published_values_only(hospitals: int) -> None:
    frame = next(synth.Population(seed=2, people=900, hospitals=hospitals).months(1))
    frame = frame.with_columns(pl.lit("patient-") + pl.col("patient").cast(pl.String))
    release = anonymize(frame, synth.schema(), "k=4 & l=2", seed=1)
    zips = set(frame["zip"].cast(pl.String)) - set(release.tables["release"]["zip"].cast(pl.String))
    finding = attack([release], synth.schema(), only="coalition", knowledge=Knowledge(m=2))["coalition"]
    case = sound(finding, secrets=["patient-", *zips])
    size = min(hospitals, 20)
    assert len(case["picture"]["rows"]) == len(case["picture"]["values"]) == size
    assert any("The picture shows 20 of the 30" in step for step in case["steps"]) == (hospitals == 30)
    assert (
        finding.details["smallest_coalition"] == case["picture"]["rows"][: len(finding.details["smallest_coalition"])]
    )
