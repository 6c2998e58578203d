"""Worked examples of "Anonymity for continuous data publishing", and one with three releases."""

import polars as pl

from reissue import Hierarchy
from reissue.attacks.findings import Status
from reissue.papers.correspondence.attack import crack_sizes
from reissue.papers.correspondence.chains import targets
from reissue.publishing.attack import attack
from reissue.schema import Schema
from tests.attacks.brute import brute_left, left_of, views_of

SCHEMA = Schema.of_columns(
    quasi=["Birthplace", "Job"],
    sensitive=["Disease"],
    taxonomies={
        "Birthplace": Hierarchy("tree", tree={"Europe": ["UK", "France"]}),
        "Job": Hierarchy("tree", tree={"Professional": ["Lawyer", "Doctor"]}),
    },
)
R1 = pl.DataFrame({"Birthplace": ["Europe"] * 5, "Job": ["Lawyer"] * 5, "Disease": ["Flu"] * 3 + ["HIV"] * 2})
R2 = pl.DataFrame(
    {
        "Birthplace": ["UK"] * 3 + ["France"] * 5 + ["UK"] * 2,
        "Job": ["Professional"] * 10,
        "Disease": ["Flu"] * 3 + ["HIV"] * 3 + ["Flu"] * 2 + ["HIV"] * 2,
    }
)


def test_example_1_1() -> None:
    """Tables 1 and 2: 5-anonymous each, and FA = CA = BA = 4 together."""
    finding = attack([R1, R2], SCHEMA)["correspondence"]
    assert finding.status == Status.EXPOSED
    assert (finding.worst, finding.limit) == (4, 5)
    assert {name: finding.details[name] for name in ("FA", "CA", "BA")} == {"FA": 4, "CA": 4, "BA": 4}
    assert finding.details["left"] == [4, 4]
    assert finding.details["exact"] is True


def test_example_1_1_crack_sizes() -> None:
    """Examples 3.2 to 3.4 and 4.1 to 4.3: one record is cracked by each attack, and no other."""
    sizes = crack_sizes([R1, R2], SCHEMA)
    cracked = sizes.filter(pl.col("crack") > 0).drop("target").rows()
    assert cracked == [
        ("F", "Europe", "Lawyer", "France", "Professional", "Flu", 3, 1),
        ("C", "Europe", "Lawyer", "France", "Professional", "HIV", 3, 1),
        ("B", None, None, "UK", "Professional", "Flu", 3, 1),
    ]
    assert sizes.group_by("attack").agg(pl.col("target").n_unique()).sort("attack").rows() == [
        ("B", 2),
        ("C", 2),
        ("F", 2),
    ]


def test_lemma_4_4() -> None:
    """What F leaves in release 1 is what C leaves in release 2."""
    left = crack_sizes([R1, R2], SCHEMA).group_by("attack", "target").agg((pl.col("size") - pl.col("crack")).sum())
    by_attack = {name: dict(part.select("target", "size").rows()) for (name,), part in left.group_by("attack")}
    assert by_attack["F"] == by_attack["C"] == {1: 5, 2: 4}
    assert sorted(by_attack["B"].values()) == [4, 5]


def test_three_releases() -> None:
    """A target c that arrived at time 2 keeps 2 records; the paper's compositions would leave 3."""
    releases = [[(("B",), "")], [(("*",), "")] * 4, [(("B",), "")] * 3 + [(("a",), ""), (("b",), "")]]
    views = views_of(releases)
    target = 1, (("*",), ("B",))
    assert left_of(targets(views), views)[target] == 2
    assert brute_left(releases)[target] == 2
    # The paper: B-attack(1, 2) leaves 4 - 1 of the group in release 2, then F-attack(2, 3) at most the 3 of B.
    assert min(4 - 1, 3) == 3
