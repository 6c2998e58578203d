"""The example of Rani (2014): ten patients of four hospitals."""

import doctest
from pathlib import Path

import polars as pl
import pytest

import reissue
from reissue import Hierarchy
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding, Status
from reissue.papers.coalition.records import read_records
from reissue.papers.coalition.search import STRATEGIES, Oracle
from reissue.published import read_published
from reissue.publishing.attack import attack
from reissue.requirements import parse
from reissue.schema import Schema

PATIENTS = pl.DataFrame(
    [
        ("P1", "Alice", 24, "cancer"),
        ("P1", "Bob", 35, "asthma"),
        ("P1", "Emily", 22, "asthma"),
        ("P2", "Dorothy", 38, "cancer"),
        ("P2", "Mark", 37, "flu"),
        ("P2", "John", 31, "flu"),
        ("P3", "Sara", 20, "epilepsy"),
        ("P3", "Cecilia", 39, "flu"),
        ("P4", "Olga", 32, "cancer"),
        ("P4", "Frank", 33, "asthma"),
    ],
    schema=["hospital", "name", "age", "disease"],
    orient="row",
)
SCHEMA = Schema.of_columns(
    quasi=["age"],
    sensitive=["disease"],
    identifier="name",
    provider="hospital",
    several_rows=False,
    taxonomies={"age": Hierarchy("auto")},
)
RULE = "k=3 & l=2"


def published(bounds: list[tuple[int, int]]) -> pl.DataFrame:
    """The holder's copy of a release: the hospital beside the published columns."""
    age = pl.lit("")
    for low, high in bounds:
        age = pl.when(pl.col("age").is_between(low, high)).then(pl.lit(f"[{low}-{high}]")).otherwise(age)
    return PATIENTS.with_columns(age.alias("age")).select("hospital", "age", "disease")


RELEASE_A = published([(20, 30), (31, 35), (36, 40)])
RELEASE_B = published([(20, 40)])


def find(release: pl.DataFrame, **knowledge: object) -> Finding:
    known = Knowledge(requirement=RULE, **knowledge)  # type: ignore[arg-type]
    return attack([release], SCHEMA, only="coalition", knowledge=known)["coalition"]


def test_release_a_meets_the_rule_and_one_hospital_breaks_it() -> None:
    finding = find(RELEASE_A)
    assert finding.status == Status.EXPOSED
    assert finding.details["largest_m"] == 0
    assert finding.details["smallest_coalition"] == ["P1"]
    assert finding.people == 1, "Sara"
    assert finding.details["groups"] == finding.details["fewest_left"] == 1
    assert finding.sentence == (
        "P1 can take its own records out of release 1 and break k=3 & l=2 in 1 group, where 1 other person is left; "
        "the release withstands 0 colluding providers, the limit is 1."
    )


def test_release_b_withstands_two_hospitals_and_not_three() -> None:
    two, three = find(RELEASE_B, m=2), find(RELEASE_B, m=3)
    assert two.status == Status.WITHSTOOD
    assert three.status == Status.EXPOSED
    assert two.details["largest_m"] == 2
    assert two.details["smallest_coalition"] == ["P1", "P2", "P3"]
    assert three.people == 2, "Olga and Frank"


def test_without_p1_and_p2_four_remain_with_four_values() -> None:
    rest = RELEASE_B.filter(~pl.col("hospital").is_in(["P1", "P2"]))
    assert (rest.height, rest["disease"].n_unique()) == (4, 4)
    assert find(RELEASE_B, coalition=["P1", "P2"]).status == Status.WITHSTOOD
    assert find(RELEASE_B, coalition=["P1", "P2", "P3"]).people == 2


@pytest.mark.parametrize(
    ("release", "m", "private"),
    [(RELEASE_A, 0, True), (RELEASE_A, 1, False), (RELEASE_B, 2, True), (RELEASE_B, 3, False)],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_strategies_say_so(release: pl.DataFrame, m: int, private: bool, strategy: str) -> None:
    given = read_records(read_published(release, SCHEMA), SCHEMA).contributions
    verdicts = []
    for number in range(given.total):
        group, _ = given.one(number)
        verdicts.append(STRATEGIES[strategy](Oracle(group, parse(RULE)), min(m, group.providers - 1)) is None)
    assert all(verdicts) == private


def test_the_checks_of_every_strategy_are_reported() -> None:
    checks = find(RELEASE_B).details["checks"]
    assert set(checks) == {"exact", *STRATEGIES}
    assert checks["bottom-up"] == 12, "nobody, four ones, six pairs, and the first three that are tried"


def test_the_third_party_publishes_one_private_group() -> None:
    release = reissue.anonymize(PATIENTS, SCHEMA, RULE, method="providers", m=2, seed=1)
    finding = attack([release], SCHEMA, only="coalition", knowledge=Knowledge(m=2))["coalition"]
    assert finding.status == Status.WITHSTOOD
    assert release.groups == 1
    assert attack([release], SCHEMA, only="coalition")["coalition"].details["largest_m"] == 2


def test_the_concept_page_tells_the_truth() -> None:
    page = Path(__file__).parents[2] / "docs" / "concepts" / "providers.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 10
    assert outcome.failed == 0
