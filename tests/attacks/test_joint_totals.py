"""A adversary who knows how many people have each value knows which values counterfeits have."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue.attacks import Knowledge
from reissue.attacks.findings import Finding, Status
from reissue.errors import InputError, SchemaError
from reissue.ledger import Ledger
from reissue.policy import Policy
from reissue.publishing.publish import publish_next
from reissue.publishing.refusal import RefusedError
from reissue.publishing.series import anonymize_series
from reissue.release.release import Release
from reissue.schema import Schema

SCHEMA = replace(Schema.of_columns(identifier="id", quasi=["age"], sensitive=["ill"]), updates={"none": True})


def table(rare: int = 2) -> pl.DataFrame:
    """Many have the flu, few anything else: groups of three different values take counterfeits."""
    ill = ["flu"] * 20 + ["gout"] * 9 + ["HIV"] * rare
    return pl.DataFrame({"id": range(len(ill)), "age": [20 + 7 * one % 40 for one in range(len(ill))], "ill": ill})


def series(releases: int = 1) -> list[Release]:
    made = anonymize_series(
        [table()] * releases, SCHEMA, "m-unique=3", method="invariance", ineligible="counterfeits", seed=0
    )
    assert made[0].draft.counterfeits is not None
    return made


def joint(made: list[Release], **knowledge: object) -> Finding:
    return ri.attack(made, SCHEMA, only="joint", knowledge=Knowledge(groups=True, **knowledge))["joint"]  # type: ignore[arg-type]


@pytest.mark.parametrize("releases", [1, 2])
def test_true_totals_give_away_what_is_invented(releases: int) -> None:
    plain, known = joint(series(releases)), joint(series(releases), totals=True)
    assert plain.status == Status.WITHSTOOD
    assert plain.details["risk"] == pytest.approx(1 / 3, abs=0.01)
    assert plain.worst is not None
    assert plain.worst < 20 / 31  # three values are equally sure, and who names the common one is right so often
    assert not plain.details["totals"]
    assert known.status == Status.EXPOSED
    assert known.details["totals"]
    assert known.details["right"] > 0.8 * known.people
    assert "How many people have each value" in known.details["case"]["steps"][0]


def totals(frame: pl.DataFrame, releases: int = 1) -> pl.DataFrame:
    counted = frame["ill"].value_counts()
    return pl.concat([counted.with_columns(release=pl.lit(number)) for number in range(1, releases + 1)])


def test_a_table_of_totals_says_the_same_as_the_truth() -> None:
    made = series(2)
    known, read = joint(made, totals=True), joint(made, totals=totals(table(), 2))
    assert (read.people, read.worst) == (known.people, known.worst)


def test_totals_of_other_people_are_refused() -> None:
    with pytest.raises(InputError, match="of the same people"):
        joint(series(), totals=totals(table().head(25)))
    with pytest.raises(InputError, match="lacking"):
        joint(series(), totals=totals(table()).drop("count"))
    with pytest.raises(InputError, match="whole number"):
        joint(series(), totals=totals(table()).with_columns(count=pl.lit("many")))
    more = totals(table()).with_columns(count=pl.when(pl.col("ill") == "flu").then(31).otherwise(0))
    assert "values in it were changed" in str(joint(series(), totals=more).reason)


def test_a_policy_may_ask_for_it(tmp_path: Path) -> None:
    """What goes out while adversaries know no totals is refused where they do."""
    policy = {"require": "m-unique=3", "method": "invariance", "attacks": [], "counterfeits": 1.0}
    policy["options"] = {"ineligible": "counterfeits"}
    with Ledger.create(tmp_path / "a.ledger", replace(SCHEMA, policy={**policy, "knowledge": "groups"})) as ledger:
        assert publish_next(table(), ledger).findings["joint"].status == Status.WITHSTOOD
    asked = {**policy, "knowledge": ["groups", "totals"]}
    with (
        Ledger.create(tmp_path / "b.ledger", replace(SCHEMA, policy=asked)) as ledger,
        pytest.raises(RefusedError, match="joint: 9 of 31 people"),
    ):
        publish_next(table(), ledger)
    assert Policy.of(replace(SCHEMA, policy=asked)).knowledge == ("groups", "totals")
    with pytest.raises(SchemaError, match="knowledge"):
        Policy.of(replace(SCHEMA, policy={**policy, "knowledge": ["everything"]}))
