"""Groups joined with their neighbours, and repair before people are left out."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.counting import Counts
from reissue.ledger import Ledger
from reissue.publishing.anonymize import anonymize
from reissue.publishing.joining import join_groups, joinable
from reissue.publishing.publish import publish_next
from reissue.publishing.refusal import RefusedError
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.utility import measure
from reissue.verify import make_release, meets
from tests.effort import examples

SCHEMA = Schema.of_columns(quasi=["age", "zip"], sensitive=["ill"], identifier="p")


def patients(rows: int = 200, seed: int = 0, values: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "p": np.arange(rows),
            "age": rng.integers(0, 80, rows),
            "zip": rng.integers(0, 50, rows),
            "ill": rng.choice([f"v{value}" for value in range(values)], rows),
        }
    )


def released(rows: int = 200, seed: int = 0, require: str = "k=4 & l=2", method: str = "pool") -> Release:
    return anonymize(patients(rows, seed), SCHEMA, require, method=method, seed=seed)


@pytest.mark.parametrize("method", ["pool", "mondrian"])
@examples(15)
@given(seed=st.integers(0, 1000), rows=st.integers(20, 120), share=st.floats(0.01, 0.5))
def test_only_groups_of_broken_rows_and_their_neighbours_change(
    method: str, seed: int, rows: int, share: float
) -> None:
    release = released(rows, seed, method=method)
    rng = np.random.default_rng(seed)
    broken = rng.random(rows) < share
    joined = join_groups(release, broken, rng)
    if joined is None:
        assert release.groups == 1 or not broken.any() or len({*map(tuple, release.boxes.lo.T.tolist())}) == 1
        return
    made = joined.release
    assert meets(made, SCHEMA, release.requirement, made.table.secrets)
    before, after = release.draft.groups, made.draft.groups
    assert (joined.widened[broken]).all()
    for group in np.unique(after):
        inside = after == group
        parts = np.unique(before[inside])
        assert np.isin(before, parts).sum() == inside.sum(), "groups are joined whole"
        assert (len(parts) > 1) == joined.widened[inside].all() == joined.widened[inside].any() or len(parts) == 1
    assert joined.groups >= len(np.unique(before[broken]))


@examples(15)
@given(seed=st.integers(0, 1000))
def test_a_single_group_is_joined_with_the_neighbour_that_costs_least(seed: int) -> None:
    """By brute force: no other pair with the broken group has a smaller loss."""
    release = released(60, seed)
    boxes = np.vstack([release.boxes.lo, release.boxes.hi])
    if release.groups < 3 or len({*map(tuple, boxes.T.tolist())}) < release.groups:
        return
    broken = release.draft.groups == 0
    joined = join_groups(release, broken, np.random.default_rng(0))
    assert joined is not None
    losses = []
    for other in range(1, release.groups):
        groups = np.where(release.draft.groups == other, 0, release.draft.groups)
        groups = np.unique(groups, return_inverse=True)[1].astype(np.int32)
        one = make_release(
            release.table, replace(release.draft, groups=groups), release.requirement, "pool", np.random.default_rng(0)
        )
        losses.append(measure(one).loss)
    assert measure(joined.release).loss == pytest.approx(min(losses))


def test_rows_that_are_left_out_are_gone_and_their_groups_are_joined() -> None:
    release = released(100, 3)
    out = np.zeros(100, np.bool_)
    out[:3] = True
    joined = join_groups(release, out, np.random.default_rng(0), keep=~out)
    assert joined is not None
    assert joined.release.table.rows == 97
    assert joined.release.tables["release"].height == 97
    assert len(joined.widened) == 97


def test_methods_that_keep_a_memory_or_cut_globally_are_not_joined() -> None:
    frame = patients(60)
    assert joinable(released(60))
    assert not joinable(anonymize(frame, SCHEMA, "k=4", method="topdown", seed=0))
    assert not joinable(anonymize(frame, SCHEMA, "m-unique=2", method="invariance", seed=0))
    assert not joinable(anonymize(frame, SCHEMA, "k=4 & l=2", method="anatomy", seed=0))


def waves() -> list[pl.DataFrame]:
    """Two ages, which stay; the second wave brings one newcomer for each, whom the difference of the groups shows."""
    young = pl.DataFrame({"p": range(24), "age": [20] * 24, "ill": ["flu", "asthma", "gout"] * 8})
    old = pl.DataFrame({"p": range(100, 160), "age": [60] * 60, "ill": ["flu", "asthma", "gout"] * 20})
    newcomers = pl.DataFrame({"p": [50, 51], "age": [20, 60], "ill": ["HIV", "flu"]})
    return [pl.concat([young, old]), pl.concat([young, newcomers, old])]


def publish_both(place: Path, policy: Mapping[str, object]) -> tuple[Release, tuple[str, ...]]:
    schema = Schema.of_columns(quasi=["age"], sensitive=["ill"], identifier="p")
    with Ledger.create(place / "x.ledger", replace(schema, policy={"attacks": [], **policy})) as ledger:
        first, second = waves()
        publish_next(first, ledger)
        made = publish_next(second, ledger)
        assert publish_next(second, ledger).again, "the same table gives the same release"
    return made.release, made.warnings


def test_publish_leaves_the_few_out_before_it_joins_groups(tmp_path: Path) -> None:
    """Two people cost 86 rows their ages if groups are joined."""
    release, warnings = publish_both(tmp_path, {"require": "k=5 & l=2", "method": "mondrian", "suppress": 0.1})
    assert release.tables["release"].height == 84
    assert release.groups == 2
    assert any(one.startswith("2 people were left out") for one in warnings)
    assert not any("joined" in one for one in warnings)


def test_where_nobody_may_be_left_out_groups_are_joined_at_the_price_that_is_allowed(tmp_path: Path) -> None:
    policy = {"require": "k=5 & l=2", "method": "mondrian"}
    (tmp_path / "dear").mkdir()
    with pytest.raises(RefusedError, match=r"loss 1\.000 instead of 0\.000") as refused:
        publish_both(tmp_path / "dear", policy)
    assert any(problem.startswith("repair: ") for problem in refused.value.report.problems)
    assert any("`repair` than 0.1" in advice for advice in refused.value.report.advice)
    release, warnings = publish_both(tmp_path, {**policy, "repair": 1})
    assert (release.tables["release"].height, release.groups) == (86, 1)
    told = [one for one in warnings if "joined" in one]
    assert told[0].startswith("2 groups were joined with neighbours (86 rows generalized further)")


def test_without_some_rows_only_groups_that_fail_are_joined() -> None:
    release = released(100)
    sizes = np.bincount(release.draft.groups)
    assert sizes.max() > sizes.min() == 4
    for group in (int(np.argmax(sizes)), int(np.argmin(sizes))):
        out = release.draft.groups == group
        out[np.flatnonzero(out)[1:]] = False
        joined = join_groups(release, np.zeros_like(out), np.random.default_rng(0), keep=~out)
        assert joined is not None
        left = Counts(release.draft.groups[~out], release.table.sensitive[~out], release.table.domain)
        fails = not release.requirement.holds(left)[group]
        assert joined.groups == (2 if fails else 0)
        assert joined.widened.any() == fails


def test_where_groups_cannot_be_joined_people_are_left_out_as_far_as_the_policy_goes(tmp_path: Path) -> None:
    policy = {"require": "k=5 & l=2", "method": "topdown"}
    with pytest.raises(RefusedError):
        publish_both(tmp_path, policy)
    (tmp_path / "other").mkdir()
    release, warnings = publish_both(tmp_path / "other", {**policy, "suppress": 0.1})
    assert release.tables["release"].height < 86
    assert any("left out" in one for one in warnings)
