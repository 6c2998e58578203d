"""People with equal quasi-identifiers: who goes into which group is drawn, and does not follow from values."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.data.draws import draw_key, with_draws
from reissue.publishing.folder import anonymize_folder
from tests.effort import examples

QUASI = ["age", "place"]


def crowded(rows: int, seed: int) -> pl.DataFrame:
    """Many people who differ in nothing but who they are and what they have."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": rng.permutation(10 * rows)[:rows],
            "age": rng.integers(30, 36, rows),
            "place": rng.choice(["a1", "a2", "b1"], rows, p=[0.6, 0.3, 0.1]),
            "ill": rng.choice(["flu", "cold", "cancer"], rows),
        }
    )


def shuffled_values(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The same people, with the values of those who are alike in another order."""
    return table.with_columns(pl.col("ill").shuffle(seed).over(QUASI))


def schema(*, ids: bool, keep: bool = False) -> ri.Schema:
    """With identifiers or without; they may be published, so that a test sees who is where."""
    more: dict[str, Any] = {"identifier": "who"} if ids else {}
    return ri.Schema.of_columns(quasi=QUASI, sensitive=["ill"], keep=["same"] if keep else [], **more)


def published(table: pl.DataFrame, plan: ri.Schema, engine: str, seed: int, **asked: Any) -> pl.DataFrame:
    """A release by `pool` in several regions."""
    asked = {"method": "pool", "seed": seed, "region": max(table.height // 3, 4), **asked}
    if engine == "memory":
        whole: pl.DataFrame = ri.anonymize(table, plan, "k=3", **asked).frame
        return whole
    with tempfile.TemporaryDirectory() as folder:
        made = anonymize_folder(table.lazy(), plan, "k=3", Path(folder) / "out", **asked)
        return pl.concat(pl.read_parquet(one) for one in sorted(made.folder.iterdir()))


def rows_of(frame: pl.DataFrame, *names: str) -> Counter[tuple[Any, ...]]:
    """Published rows, whatever their order."""
    chosen = frame.select(names) if names else frame
    return Counter(chosen.with_columns(pl.all().cast(pl.String)).rows())


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from(["memory", "stream"]), st.sampled_from([0.0, 0.1]))
def test_groups_by_size_do_not_follow_values(seed: int, engine: str, suppress: float) -> None:
    table = crowded(60, seed)
    other = shuffled_values(table, seed)
    one, two = (published(some.drop("who"), schema(ids=False), engine, 1, suppress=suppress) for some in (table, other))
    assert rows_of(one) == rows_of(two), "without identifiers it is the same table"
    # `same` says who somebody is, and is published: so it shows in which group they are.
    named = [some.with_columns(same="who") for some in (table, other)]
    one, two = (published(some, schema(ids=True, keep=True), engine, 1, suppress=suppress) for some in named)
    assert rows_of(one, *QUASI, "same") == rows_of(two, *QUASI, "same"), "everybody is where they were"


@examples(25)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.0, 0.1]))
def test_engines_draw_alike_whatever_the_order_of_rows(seed: int, ids: bool, suppress: float) -> None:
    table, plan = crowded(60, seed).with_columns(same="who"), schema(ids=ids, keep=True)
    right = rows_of(published(table, plan, "memory", 7, suppress=suppress))
    mixed = table.sample(fraction=1, shuffle=True, seed=seed)
    assert rows_of(published(mixed, plan, "memory", 7, suppress=suppress)) == right
    assert rows_of(published(mixed, plan, "stream", 7, suppress=suppress)) == right


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from([("mondrian", {"strict": False}), ("mask", {"region": 20})]))
def test_methods_that_cut_equal_people_draw_them(seed: int, way: tuple[str, dict[str, Any]]) -> None:
    """Neither values nor the order of the table decide; without a seed in common others are drawn."""
    method, more = way
    table = crowded(60, seed).with_columns(same="who")
    require = "k=3" if method == "mondrian" else "k=3 & simple-l=1"
    asked: dict[str, Any] = {"method": method, "seed": 5, **more}
    plan = schema(ids=True, keep=True)
    right = rows_of(ri.anonymize(table, plan, require, **asked).frame, *QUASI, "same")
    other = shuffled_values(table, seed).sample(fraction=1, shuffle=True, seed=seed)
    assert rows_of(ri.anonymize(other, plan, require, **asked).frame, *QUASI, "same") == right


@pytest.mark.parametrize(("method", "more"), [("mondrian", {"strict": False}), ("mask", {})])
def test_another_seed_cuts_between_others(method: str, more: dict[str, Any]) -> None:
    table, plan = crowded(90, 3).with_columns(same="who"), schema(ids=True, keep=True)
    require = "k=3" if method == "mondrian" else "k=3 & simple-l=1"
    made = {
        frozenset(rows_of(ri.anonymize(table, plan, require, method=method, seed=seed, **more).frame).items())
        for seed in range(8)
    }
    assert len(made) > 1


@pytest.mark.parametrize("ids", [True, False])
def test_who_comes_first_is_as_likely_anybody(ids: bool) -> None:
    """Of six people alike, two of each value, the first by lot has each value about as often."""
    table = pl.DataFrame({"who": range(6), "age": [30] * 6, "place": ["a"] * 6, "ill": ["a", "a", "b", "b", "c", "c"]})
    table = table if ids else table.drop("who")
    read = ri.Table.read(table, schema(ids=ids))
    first, pairs = Counter[int](), Counter[bool]()
    for seed in range(3000):
        draw = with_draws(read, draw_key(np.random.default_rng(seed))).draw
        assert draw is not None
        order = np.argsort(draw.of(np.arange(6)))
        first[int(read.sensitive[order[0]])] += 1
        pairs[bool(read.sensitive[order[0]] == read.sensitive[order[1]])] += 1
    assert all(abs(first[value] - 1000) < 130 for value in range(3))  # five standard deviations
    assert abs(pairs[True] - 600) < 110, "equal values do not come together"


def test_another_seed_draws_others() -> None:
    table, plan = crowded(90, 3), schema(ids=True)
    made = {frozenset(rows_of(published(table, plan, "memory", seed)).items()) for seed in range(8)}
    assert len(made) > 1
