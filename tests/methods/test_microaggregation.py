"""Microaggregation: groups by squares against the definition of MDAV; means as published, read back and attacked."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue._arrays import Floats
from reissue.errors import InputError, SchemaError
from reissue.methods.microaggregation import _mdav, squares_within
from reissue.published import read_published
from reissue.requirements import parse
from reissue.schema import Schema
from tests.strategies import Case, tables

SCHEMA = Schema.of_columns(identifier="id", quasi=["age", "wage", "town"], sensitive=["ill"])


def people(rows: int = 200, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    wage = (rng.normal(30, 8, rows) + age / 3).round(2)
    town, ill = rng.choice(["oslo", "rome", "bari"], rows), rng.choice(["flu", "gout", "none"], rows)
    return pl.DataFrame({"id": range(rows), "age": age, "wage": wage, "town": town, "ill": ill})


def by_definition(points: Floats, k: int) -> list[set[int]]:
    """MDAV, row by row."""
    rest, groups = list(range(len(points))), []

    def far(point: Floats) -> int:
        return max(rest, key=lambda row: float(((points[row] - point) ** 2).sum()))

    def take(row: int) -> None:
        near = sorted(rest, key=lambda one: float(((points[one] - points[row]) ** 2).sum()))[:k]
        groups.append(set(near))
        rest[:] = [one for one in rest if one not in near]

    while len(rest) >= 3 * k:
        first = far(points[rest].mean(axis=0))
        second = far(points[first])
        take(first)
        take(second)
    if len(rest) >= 2 * k:
        take(far(points[rest].mean(axis=0)))
    return [*groups, set(rest)]


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 5))
def test_mdav_is_that_of_the_definition(seed: int, rows: int, k: int) -> None:
    points = np.random.default_rng(seed).normal(size=(rows, 2))
    group = _mdav(points, k)
    found = [set(np.flatnonzero(group == one).tolist()) for one in range(int(group.max()) + 1)]
    assert {frozenset(one) for one in found} == {frozenset(one) for one in by_definition(points, k)}


@given(tables(min_rows=4), st.sampled_from(["k=2", "k=3", "k=2 & simple-l=2", "k=2 & t=0.5"]))
def test_groups_meet_the_requirement(case: Case, require: str) -> None:
    try:
        release = ri.anonymize(case.frame, case.schema, require, method="microaggregation", seed=1)
    except InputError:
        return
    assert ri.check(release.tables["release"], release.schema, parse(require)).met


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_what_is_published_is_the_groups_mean_or_median(statistic: str) -> None:
    frame = people()
    release = ri.anonymize(frame, SCHEMA, "k=5", method="microaggregation", statistic=statistic, seed=1)
    shown, order = release.tables["release"], release.order
    assert order is not None
    for name, decimals in (("age", 1), ("wage", 3)):
        true = frame[name].gather(order).alias(name)
        of_group = getattr(pl.col(name), statistic)().over("group").round(decimals)
        expected = shown.select("group").with_columns(true).with_columns(of_group)[name]
        assert (shown[f"{name}_{statistic}"] - expected).abs().max() <= 10.0**-decimals  # type: ignore[operator]
    assert f"town_{statistic}" not in shown.columns
    assert shown["group"].value_counts()["count"].min() >= 5  # type: ignore[operator]
    assert statistic in release.warnings[0]


def test_the_search_saves_squares_and_groups_are_nearer_than_pools() -> None:
    frame = people(600, seed=2)
    made = {
        method: ri.anonymize(frame, SCHEMA, "k=5", method=method, seed=1) for method in ("pool", "microaggregation")
    }
    points = frame.select("age", "wage").to_numpy().astype(np.float64)
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    near, pooled = (squares_within(points, made[name].draft.groups.astype(np.int64)) for name in sorted(made))
    assert near < pooled


def test_missing_numbers_and_groups_of_nothing_else() -> None:
    frame = people(60).with_columns(wage=pl.when(pl.col("id") < 12).then(None).otherwise(pl.col("wage")))
    shown = ri.anonymize(frame, SCHEMA, "k=4", method="microaggregation", seed=1).tables["release"]
    assert shown["age_mean"].null_count() == 0
    assert shown["wage_mean"].null_count() <= 12


def test_who_reads_the_files_uses_means_and_counts_groups(tmp_path: Path) -> None:
    frame = people(400, seed=3)
    ri.anonymize(frame, SCHEMA, "k=8", method="microaggregation", seed=1).write(tmp_path / "out.csv")
    assert ri.check(tmp_path / "out.csv", SCHEMA, "k=8").met
    assert set(read_published(str(tmp_path / "out.csv"), SCHEMA).averages) == {"age", "wage"}
    with_means = ri.measure(frame, tmp_path / "out.csv", SCHEMA, queries=0, models=["wage ~ age"]).models[0].lines[1]
    bare = pl.read_csv(tmp_path / "out.csv").drop("age_mean", "wage_mean")
    without = ri.measure(frame, bare, SCHEMA, queries=0, models=["wage ~ age"]).models[0].lines[1]
    assert with_means.true is not None
    assert with_means.published is not None
    assert without.published is not None
    assert abs(with_means.published.value - with_means.true.value) < 0.1 * with_means.true.value
    assert with_means.published.value != without.published.value


def test_attacks_take_groups_as_known_or_say_that_they_cannot(tmp_path: Path) -> None:
    frame = people(120, seed=4)
    release = ri.anonymize(frame, SCHEMA, "k=5", method="microaggregation", seed=1)
    (own,) = ri.attack([release], SCHEMA, only=["joint"])
    assert own.details["knowledge"] == "groups"
    release.write(tmp_path / "out.csv")
    (strange,) = ri.attack([tmp_path / "out.csv"], SCHEMA, only=["joint"], knowledge=ri.Knowledge(population=frame))
    assert strange.status == "not_run"
    assert "means" in str(strange.reason)


def test_what_it_cannot_do_is_refused() -> None:
    frame = people(60)
    with pytest.raises(InputError, match="no quasi-identifier is a number"):
        ri.anonymize(frame, SCHEMA.with_roles({"age": "drop", "wage": "drop"}), "k=2", method="microaggregation")
    with pytest.raises(InputError, match="decimals"):
        ri.anonymize(frame, SCHEMA, "k=2", method="microaggregation", decimals=-2)
    named = frame.with_columns(age_mean=pl.lit(1))
    with pytest.raises(SchemaError, match="age_mean"):
        ri.anonymize(named, SCHEMA.with_roles({"age_mean": "keep"}), "k=2", method="microaggregation")


def test_a_ledger_publishes_and_verifies_it(tmp_path: Path) -> None:
    schema = Schema.loads(
        '[columns]\nid = "identifier"\nage = "quasi"\nwage = "quasi"\ntown = "quasi"\nill = "sensitive"\n'
        '[policy]\nrequire = "k=5"\nmethod = "microaggregation"\nattacks = ["joint"]\n[policy.limits]\njoint = 0.95\n'
    )
    first = ri.publish(people(150, seed=5), tmp_path / "x.ledger", schema)
    assert "age_mean" in first.frame.columns
    with ri.Ledger.open(tmp_path / "x.ledger") as ledger:
        assert len(ledger.releases) == 1
