"""The worst case of an equivalence attack: what is left of two groups, and the history graph of a bucket."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import anonymize, synth
from reissue.attacks import Knowledge
from reissue.attacks.findings import Status
from reissue.papers.equivalence.case import two_groups
from reissue.papers.equivalence.groups import propagate
from reissue.papers.tracking.membership import membership
from reissue.published.series import Series
from reissue.publishing.attack import attack
from tests.attacks.cases import sound
from tests.attacks.test_equivalence import groups_of, random_series
from tests.effort import examples
from tests.hospital import SCHEMA, T1, T2, T3
from tests.methods.streams import SCHEMA as STREAM
from tests.methods.streams import publish, stream
from tests.papers.test_invariance import series

NAMES = ["Alice", "Chris", "Ellen", "Frank", "Greg", "Harry", "Jane"]


def test_example_3() -> None:
    """Tables Ib and IIIb: Alice cancels out, and Bob and Greg have the same disease."""
    one = T1.with_columns(group=pl.Series([1, 1, 2, 2, 3, 3]))
    fake = pl.DataFrame({"owner": [None], "age": [49], "zip": [51000], "disease": ["flu"], "group": [2]})
    two = pl.concat([T2.with_columns(group=pl.Series([1, 2, 3, 1, 3, 4, 4])), fake.cast(one.schema)])
    case = sound(attack([one, two], SCHEMA, only="equivalence")["equivalence"], secrets=NAMES)
    assert case["steps"] == [
        "The adversary knows who is in a group of release 1 and in one of release 2.",
        "Both have 2 records and show the same values: cancer, flu.",
        "Subtracting one from the other, 1 person is in both and cancels out; 1 is left on either side.",
        "So this person and that one have the same value; the limit is 2.",
        "Once a single value becomes known, such steps give away up to 2 other people.",
    ]
    assert case["picture"] == {
        "kind": "history",
        "nodes": [
            {"label": "release 1: cancer, flu", "people": 2, "side": 0},
            {"label": "release 2: cancer, flu", "people": 2, "side": 0},
            {"label": "in one of them only", "people": 2, "side": 1},
        ],
        "edges": [
            {"from": 0, "to": 1, "weight": 1, "cut": False},
            {"from": 0, "to": 2, "weight": 1, "cut": True},
            {"from": 1, "to": 2, "weight": 1, "cut": True},
        ],
        "limit": 2,
    }


def test_example_4_and_figure_3() -> None:
    """The bucket of cancer and measles: the cut separates releases 1 and 3 from 2 and the end; Frank and Harry."""
    releases = series("equivalence", "simple-l=2", [T1, T2, T3], e=1)
    finding = attack(releases, SCHEMA, only="equivalence", limits={"equivalence": 2})["equivalence"]
    case = sound(finding, secrets=NAMES)
    nodes = [(node["label"], node["people"], node["side"]) for node in case["picture"]["nodes"]]
    assert nodes == [
        ("release 1: cancer, measles", 2, 1),
        ("release 2: cancer, measles", 4, 0),
        ("release 3: cancer, measles", 2, 1),
        ("still there", 2, 0),
    ]
    edges = [(edge["from"], edge["to"], edge["weight"], edge["cut"]) for edge in case["picture"]["edges"]]
    assert edges == [(0, 1, 1, True), (1, 2, 1, True), (1, 3, 2, False), (0, 2, 1, False)]
    assert (
        case["steps"][2]
        == "Left are 1 person of release 2 only on one side, and 1 person of release 1 only on the other."
    )


def test_nothing_found_nothing_told() -> None:
    releases = series("equivalence", "simple-l=2", [T1, T2, T3], e=2)
    finding = attack(releases, SCHEMA, only="equivalence")["equivalence"]
    assert finding.status == Status.WITHSTOOD
    assert "case" not in finding.details


@given(st.integers(0, 10**6))
@examples(60)
def test_the_two_groups_differ_in_that_many_classes(seed: int) -> None:
    members = random_series(seed)
    found = propagate(members, 4)
    if not found.least.any():
        return
    e = int(found.least[found.least > 0].min())
    pair = two_groups(members, found, e)
    assert pair is not None
    one, other = pair
    assert members.kinds[one] == members.kinds[other]
    groups = groups_of(members)
    # A 1-equivalence shows itself in people; larger ones may need to know that some of them have the same value.
    mine, theirs = (Counter(groups[g] if e == 1 else [int(found.classes[p]) for p in groups[g]]) for g in pair)
    assert (mine - theirs).total() == (theirs - mine).total() == e


@pytest.mark.parametrize("method", ["invariance", "equivalence"])
@given(seed=st.integers(0, 10**6))
@examples(25)
def test_cases_agree_with_the_finding(method: str, seed: int) -> None:
    frames = stream(seed, returns=bool(seed % 2))
    if method == "equivalence":
        releases = publish(frames, method, "simple-l=2", e=1)
    else:
        releases = publish(frames, method, "m-unique=2")
    finding = attack(releases, STREAM, only="equivalence", limits={"equivalence": 4})["equivalence"]
    if finding.worst is None:
        assert "case" not in finding.details
        return
    case = sound(finding)
    nodes, edges = case["picture"]["nodes"], case["picture"]["edges"]
    assert case["picture"]["limit"] == finding.limit
    shown = (
        "this person and that one" if finding.worst == 1 else f"these {finding.worst} people and those {finding.worst}"
    )
    assert any(step.startswith(f"So {shown} have the same") for step in case["steps"])
    assert all(edge["from"] < len(nodes) and edge["to"] < len(nodes) for edge in edges)
    crossed = sum(edge["weight"] for edge in edges if edge["cut"])
    # Somebody may count several times, so that fewer people than 2e are in it.
    assert 0 < crossed <= 2 * finding.worst
    if not seed % 2 and crossed == 2 * finding.worst:
        assert all((nodes[edge["from"]]["side"] != nodes[edge["to"]]["side"]) == edge["cut"] for edge in edges)


def test_published_values_only() -> None:
    frames = list(synth.Population(seed=3, people=500).months(3))
    frames = [frame.with_columns(pl.lit("patient-") + pl.col("patient").cast(pl.String)) for frame in frames]
    everyone = pl.concat(frames).unique("patient", keep="first").select("patient", "disease")
    frames = [frame.drop("disease").join(everyone, on="patient") for frame in frames]
    releases, memory = [], None
    for frame in frames:
        made = anonymize(frame, synth.schema(), "m-unique=2", method="invariance", memory=memory, seed=1)
        memory = made.draft.memory
        releases.append(made)
    looks = [release.tables["release"]["zip"].cast(pl.String) for release in releases]
    zips = set(pl.concat(frames)["zip"].cast(pl.String)) - {text for column in looks for text in column}
    assert zips
    finding = attack(releases, synth.schema(), only="equivalence")["equivalence"]
    case = sound(finding, secrets=["patient-", *zips])
    assert "(age " in case["steps"][0]
    assert attack(releases, synth.schema(), only="equivalence")["equivalence"] == finding
    members = membership(Series.read(releases, synth.schema()), Knowledge())
    assert len(members.label) == len(members.release)
