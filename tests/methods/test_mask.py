"""MASK: groups that know nothing of values, and values changed to look like others."""

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Hierarchy
from reissue.attacks.findings import Status
from reissue.errors import InputError, NotMetError, RequirementError
from reissue.papers.mask import UNDER, _rounded
from reissue.publishing.attack import attack
from reissue.release.release import Release
from reissue.schema import Role, Schema
from tests.effort import examples
from tests.strategies import Case, tables

TREE = {"A": ["a1", "a2", "a3"], "B": ["b1", "b2", "b3"]}
ILL = {"grave": ["HIV", "cancer"], "light": ["flu", "cold", "cough"]}
SCHEMA = Schema.of_columns(
    quasi=["place", "age"],
    sensitive=["ill"],
    taxonomies={"place": Hierarchy("tree", tree=TREE), "ill": Hierarchy("tree", tree=ILL)},
)


def hospital(rows: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    place = rng.choice(["a1", "a2", "a3", "b1", "b2", "b3"], rows)
    age = rng.integers(20, 40, rows)
    grave = rng.random(rows) < np.where(place == "a1", 0.6, 0.15)
    ill = np.where(grave, rng.choice(["HIV", "cancer"], rows), rng.choice(["flu", "cold", "cough"], rows))
    return pl.DataFrame({"place": place, "age": age, "ill": ill})


def grave_shares(release: Release) -> list[float]:
    frame = release.tables["release"]
    grouped = frame.group_by("place", "age").agg(share=pl.col("ill").is_in(["HIV", "cancer"]).mean())
    return grouped["share"].to_list()


@pytest.mark.parametrize("under", UNDER)
def test_every_group_meets_the_requirement_and_no_group_depends_on_values(under: str) -> None:
    requirement = "k=4 & simple-l=2:{HIV, cancer}"
    frame, known = hospital().with_row_index("who"), SCHEMA.with_roles({"who": Role.IDENTIFIER})
    release = ri.anonymize(frame, known, requirement, method="mask", seed=0, under=under)
    assert max(grave_shares(release)) <= 0.5
    notes = release.draft.notes
    assert notes["breaking"] > 0 or under == "incognito"
    assert notes["alike"] == notes["breaking"]
    shuffled = frame.with_columns(ill=pl.Series(np.random.default_rng(1).permutation(frame["ill"].to_numpy())))
    other = ri.anonymize(shuffled, known, requirement, method="mask", seed=0, under=under)
    assert (release.draft.groups == other.draft.groups).all()


def test_what_was_changed_is_counted_and_only_where_needed() -> None:
    frame = hospital()
    release = ri.anonymize(frame, SCHEMA, "k=4 & simple-l=2:{HIV, cancer}", method="mask", seed=0)
    before, after = release.table.sensitive, release.draft.sensitive
    assert after is not None
    notes = release.draft.notes
    assert notes["changed"] == (before != after).sum() > 0
    assert 0 < notes["distortion"] < notes["changed"] / frame.height + 1e-12
    touched = set(release.draft.groups[before != after].tolist())
    assert len(touched) <= notes["breaking"]
    published = Counter(release.tables["release"]["ill"])
    assert published != Counter(frame["ill"])
    assert sum(published.values()) == frame.height


def test_a_changed_group_has_the_proportion_of_a_group_that_looked_alike() -> None:
    frame = pl.DataFrame(
        {
            "place": ["a1"] * 4 + ["a2"] * 4 + ["b1"] * 4,
            "age": [30] * 12,
            "ill": ["HIV"] * 4 + ["HIV", "flu"] * 2 + ["flu"] * 4,
        }
    )
    release = ri.anonymize(frame, SCHEMA, "k=4 & simple-l=2:HIV", method="mask", seed=0)
    values = Counter(release.tables["release"].filter(place="a1")["ill"])
    assert values == {"HIV": 2, "flu": 2}
    assert release.draft.notes["changed"] == 2


def test_a_table_with_too_many_of_a_value_is_masked_if_enough_groups_look_alike() -> None:
    """Algorithm 1 asks for groups to look like, not that the table itself meets the requirement: it changes values."""
    schema = Schema.of_columns(quasi=["a"], sensitive=["s"])
    frame = pl.DataFrame({"a": [1, 1, 2, 2, 3, 3], "s": ["HIV", "HIV", "HIV", "flu", "HIV", "flu"]})
    release = ri.anonymize(frame, schema, "k=2 & simple-l=2:HIV", method="mask", seed=0)
    published = Counter(release.tables["release"].select("a", "s").rows())
    assert set(published.values()) == {1}
    assert len(published) == 6
    assert release.draft.notes["changed"] == 1
    findings = attack([release], schema, only="mechanism")
    assert findings["mechanism"].status != Status.NOT_RUN
    with pytest.raises(RequirementError, match="No release of this table can meet k=7"):
        ri.anonymize(frame, schema, "k=7 & simple-l=2:HIV", method="mask")


def test_nothing_is_changed_where_nothing_breaks() -> None:
    frame = hospital().with_columns(ill=pl.Series(["HIV", "flu", "cold"] * 100))
    release = ri.anonymize(frame, SCHEMA, "k=60 & simple-l=2:HIV", method="mask", seed=0)
    assert release.draft.sensitive is None
    assert release.draft.notes["changed"] == 0


def test_two_tables_have_exact_quasi_identifiers() -> None:
    frame = hospital()
    release = ri.anonymize(frame, SCHEMA, "k=4 & simple-l=2:{HIV, cancer}", method="mask", seed=0, tables=2)
    assert set(release.tables) == {"quasi", "sensitive"}
    assert Counter(release.tables["quasi"].select("place", "age").rows()) == Counter(
        frame.select("place", "age").rows()
    )
    counted = release.tables["sensitive"].with_columns(bad=pl.col("ill").is_in(["HIV", "cancer"]) * pl.col("count"))
    shares = counted.group_by("group").agg(share=pl.col("bad").sum() / pl.col("count").sum())
    assert shares["share"].max() <= 0.5  # type: ignore[operator]


def test_too_few_groups_that_look_alike_are_refused() -> None:
    frame = pl.DataFrame({"place": ["a1"] * 2 + ["b1"] * 4, "age": [30] * 6, "ill": ["HIV"] * 2 + ["flu"] * 4})
    with pytest.raises(NotMetError, match="only 1 meet it"):
        ri.anonymize(frame, SCHEMA, "k=2 & simple-l=3:HIV", method="mask", seed=0)


def test_m_and_values_may_be_options() -> None:
    release = ri.anonymize(hospital(), SCHEMA, "k=4", method="mask", seed=0, m=2, sensitive_values="{HIV, cancer}")
    assert max(grave_shares(release)) <= 0.5


@pytest.mark.parametrize(
    ("requirement", "options", "error"),
    [
        ("simple-l=2:HIV", {}, RequirementError),
        ("k=4", {}, RequirementError),
        ("k=4", {"m": 1}, InputError),
        ("k=4", {"under": "mask"}, InputError),
    ],
)
def test_what_cannot_be_asked_is_said(requirement: str, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ri.anonymize(hospital(), SCHEMA, requirement, method="mask", seed=0, **options)


def test_other_requirements_have_their_whole_histogram_matched() -> None:
    release = ri.anonymize(hospital(), SCHEMA, "k=5 & l=3", method="mask", seed=0)
    distinct = release.tables["release"].group_by("place", "age").agg(pl.col("ill").n_unique())
    assert distinct["ill"].min() >= 3  # type: ignore[operator]


def test_it_withstands_the_minimality_attack_that_its_rivals_do_not() -> None:
    frame = hospital(200)
    rival = attack(
        [ri.anonymize(frame, SCHEMA, "simple-l=2:grave", method="mondrian", seed=0)], SCHEMA, only="minimality"
    )
    masked = attack(
        [ri.anonymize(frame, SCHEMA, "k=4 & simple-l=2:grave", method="mask", seed=0)], SCHEMA, only="minimality"
    )
    assert rival["minimality"].status == Status.EXPOSED
    assert masked["minimality"].status == Status.WITHSTOOD
    assert masked["minimality"].worst == 0.5


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 12), st.integers(0, 99))
def test_rounding_keeps_the_sum_and_moves_less_than_one(parts: list[int], total: int, seed: int) -> None:
    expected = (np.array(parts) + 0.25) * total / sum(part + 0.25 for part in parts)
    rounded = _rounded(expected, np.random.default_rng(seed))
    assert rounded.sum() == total
    assert (np.abs(rounded - expected) < 1 + 1e-6).all()


@given(tables(min_rows=4, sensitive="flat"), st.sampled_from(["k=2 & simple-l=2", "k=3 & simple-l=2", "k=2 & l=2"]))
@examples(60)
def test_small_tables_are_masked_or_refused(case: Case, requirement: str) -> None:
    try:
        release = ri.anonymize(case.frame, case.schema, requirement, method="mask", seed=3)
    except (InputError, NotMetError):
        return
    quasi = list(case.schema.quasi)
    for group in release.tables["release"].partition_by(quasi):
        counts = Counter(group["secret"].to_list())
        assert group.height >= 2
        if "simple" in requirement:
            assert 2 * max(counts.values()) <= group.height
        else:
            assert len(counts) >= 2


def test_values_that_shift_the_whole_distribution_too_far_are_refused() -> None:
    schema, outcomes = Schema.of_columns(quasi=["q", "r"], sensitive=["s"]), set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        quasi = {"q": rng.integers(-1, 4, 20), "r": rng.integers(0, 3, 20) * 0.5}
        frame = pl.DataFrame({**quasi, "s": np.minimum(rng.geometric(0.5, 20) - 1, 3)})
        try:
            ri.anonymize(frame, schema, "k=2 & t=0.3:ordered", method="mask", seed=0)
        except NotMetError as problem:
            outcomes.add("Changed values shift" in str(problem))
    assert True in outcomes
