"""The worst case of a correspondence attack: a target's groups, and what is left of them."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reissue import anonymize, synth
from reissue.attacks.findings import Status
from reissue.publishing.attack import attack
from tests.attacks.cases import sound
from tests.effort import examples
from tests.papers.test_correspondence import R1, R2, SCHEMA


def test_example_1_1() -> None:
    """Tables 1 and 2: five lawyers of Europe who are in France later; F and C rule one record out each."""
    case = sound(attack([R1, R2], SCHEMA, only="correspondence")["correspondence"])
    assert case["picture"] == {
        "kind": "candidates",
        "bars": [
            {"label": "release 1", "size": 5, "left": 4, "published": {"Birthplace": "Europe", "Job": "Lawyer"}},
            {"label": "release 2", "size": 5, "left": 4, "published": {"Birthplace": "France", "Job": "Professional"}},
        ],
        "limit": 5,
        "unit": "records",
    }
    assert case["steps"][1:] == [
        "By itself, the group has 5 records in release 1 and 5 records in release 2 that look alike.",
        "The person's record stays in all later releases, always with the same value.",
        (
            "Records with Flu: 3 in release 1, but 2 in release 2, so 2 can be the person's. Records with HIV: 3 in "
            "release 2, but 2 in release 1, so 2 can be the person's."
        ),
        "In all, 4 records can still be the person's; the limit is 5.",
    ]


def test_who_came_later() -> None:
    """The B-attack: ten of the twelve with flu were there before, so two can be of somebody who came later."""
    early = pl.DataFrame({"Birthplace": ["Europe"] * 10, "Job": ["Lawyer"] * 10, "Disease": ["Flu"] * 10})
    later = pl.DataFrame({"Birthplace": ["UK", "France"] * 6, "Job": ["Lawyer"] * 12, "Disease": ["Flu"] * 12})
    finding = attack([early, later], SCHEMA, only="correspondence")["correspondence"]
    case = sound(finding)
    assert (finding.worst, finding.details["worst_target"]["arrived"]) == (2, 2)
    assert [(bar["label"], bar["size"], bar["left"]) for bar in case["picture"]["bars"]] == [("release 2", 6, 2)]
    assert "is in release 2, arrived after release 1" in case["steps"][0]
    assert case["steps"][2:] == [
        (
            "The person's record stays in all later releases, always with the same value, and is none that release 1 "
            "must have had already."
        ),
        "Records with Flu: 6 in release 2, of which 2 can be the person's.",
        "In all, 2 records can still be the person's; the limit is 6.",
    ]


def test_nothing_ruled_out() -> None:
    finding = attack([R1, R1], SCHEMA, only="correspondence")["correspondence"]
    case = sound(finding)
    assert finding.status == Status.WITHSTOOD
    assert any("none can be ruled out" in step for step in case["steps"])


@given(st.integers(0, 10**6), st.sampled_from(["topdown", "mondrian"]))
@examples(25)
def test_the_case_is_the_finding(seed: int, method: str) -> None:
    frame = next(synth.Population(seed=seed, people=120).months(1))
    frame = frame.with_columns(pl.lit("patient-") + pl.col("patient").cast(pl.String))
    schema = synth.schema()
    releases = [
        anonymize(frame[:rows], schema, "k=4", method=method, seed=seed) for rows in (60, 90, 120)[: 2 + seed % 2]
    ]
    finding = attack(releases, schema, only="correspondence")["correspondence"]
    if finding.status == Status.NOT_RUN:
        return
    looks = pl.concat(release.tables["release"].select(pl.col(schema.quasi).cast(pl.String)) for release in releases)
    texts = {text for column in looks for text in column}
    zips = set(frame["zip"].cast(pl.String)) - texts
    case = sound(finding, secrets=["patient-", *zips], published=texts)
    assert all(bar["left"] == finding.worst <= bar["size"] for bar in case["picture"]["bars"])
    assert case["picture"]["limit"] == finding.limit
    for bar in case["picture"]["bars"]:
        shown = releases[int(bar["label"].removeprefix("release ")) - 1].tables["release"]
        match = [pl.col(name).cast(pl.String) == text for name, text in bar["published"].items()]
        assert shown.filter(match).height == bar["size"]
