"""Records change places only with those who may, and only where that generalizes less."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Table
from reissue.methods.invariance import regroup as module
from reissue.methods.invariance.regroup import Kinds, regroup
from reissue.schema import Schema
from tests.effort import examples


def lost(table: Table, codes: np.ndarray, groups: np.ndarray, real: int) -> float:
    """What people lose, group by group; counterfeits widen nothing."""
    total = 0.0
    for group in np.unique(groups):
        inside = np.flatnonzero(groups == group)
        inside = inside[inside < real]
        for own, taxonomy in zip(codes, table.taxonomies, strict=True):
            if len(inside):
                ends = taxonomy.snap(own[inside].min(keepdims=True), own[inside].max(keepdims=True))
                total += len(inside) * float(taxonomy.loss(*ends)[0])
    return total


@st.composite
def settings_of(draw: st.DrawFn) -> dict[str, Any]:
    """Buckets with so many groups of one record of each of their values; some records new, some of nobody."""
    depths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    values = [draw(st.lists(st.integers(0, 3), min_size=2, max_size=3, unique=True)) for _ in depths]
    records = [(b, value, g) for b, depth in enumerate(depths) for g in range(depth) for value in values[b]]
    order = draw(st.permutations(records))
    fakes = draw(st.integers(0, 2))
    real = max(len(order) - fakes, 1)
    numbers = {key: place for place, key in enumerate(sorted({(b, g) for b, _, g in order}))}
    frame = pl.DataFrame(
        {
            "age": draw(st.lists(st.integers(0, 40), min_size=len(order), max_size=len(order))),
            "job": draw(st.lists(st.sampled_from("abcd"), min_size=len(order), max_size=len(order))),
        }
    )
    return {
        "table": Table.read(frame, Schema.of_columns(quasi=["age", "job"])),
        "bucket": np.array([b for b, _, _ in order], np.int32),
        "value": np.array([v for _, v, _ in order], np.int32),
        "groups": np.array([numbers[b, g] for b, _, g in order], np.int32),
        "new": np.array(sorted(draw(st.sets(st.integers(0, real - 1)))), np.int64),
        "real": real,
    }


@examples(150)
@given(settings_of())
def test_groups_stay_what_they_are_and_lose_no_more(case: dict[str, Any]) -> None:
    table, bucket, value, groups, real = (case[name] for name in ("table", "bucket", "value", "groups", "real"))
    found, where = regroup(table.codes, groups, Kinds(bucket, value, case["new"], real), table.taxonomies)
    assert lost(table, table.codes, found, real) <= lost(table, table.codes, groups, real) + 1e-9
    of_group = {int(group): int(b) for group, b in zip(groups, bucket, strict=True)}
    for group in np.unique(groups):
        assert sorted(value[found == group]) == sorted(value[groups == group]), "the same values"
    new = set(case["new"].tolist())
    for record in range(len(groups)):
        assert of_group[int(found[record])] == where[record]
        moved = where[record] != bucket[record]
        assert not moved or record in new, "only new people change buckets"


@examples(60)
@given(settings_of(), st.sampled_from([2, 128]), st.sampled_from([1, 1_000_000]))
def test_blocks_weighed_at_once_are_those_weighed_one_after_the_other(
    case: dict[str, Any], block: int, at: int
) -> None:
    table, groups = case["table"], case["groups"]
    kinds = Kinds(case["bucket"], case["value"], case["new"], case["real"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_BLOCK", block)
        patched.setattr(module, "_PAIRS", at)
        found = regroup(table.codes, groups, kinds, table.taxonomies)
        patched.setattr(module, "_apart", lambda blocks, *_: [[one] for one in blocks])
        alone = regroup(table.codes, groups, kinds, table.taxonomies)
    for one, other in zip(found, alone, strict=True):
        assert (one == other).all()


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc")), min_size=4, max_size=10).filter(
        lambda x: len(x) % 2 == 0
    )
)
def test_two_values_end_in_the_best_pairs(people: list[tuple[int, str]]) -> None:
    """The twin: with two values in one bucket the assignment is the best of all pairings."""
    frame = pl.DataFrame(people, schema=["age", "job"], orient="row")
    table = Table.read(frame, Schema.of_columns(quasi=["age", "job"]))
    half = len(people) // 2
    value = np.repeat([0, 1], half).astype(np.int32)
    groups = np.tile(np.arange(half), 2).astype(np.int32)
    kinds = Kinds(np.zeros(len(people), np.int32), value, np.empty(0, np.int64), len(people))
    found, _ = regroup(table.codes, groups, kinds, table.taxonomies)
    best = min(
        lost(table, table.codes, np.concatenate([np.arange(half), order]), len(people))
        for order in itertools.permutations(range(half))
    )
    assert lost(table, table.codes, found, len(people)) == pytest.approx(best)


def test_counterfeits_go_where_they_help() -> None:
    """Three people of two values in two groups, and one counterfeit: the two who are alike end together."""
    table = Table.read(pl.DataFrame({"age": [20, 80, 80, 20]}), Schema.of_columns(quasi=["age"]))
    value, groups = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    found, _ = regroup(
        table.codes, groups, Kinds(np.zeros(4, np.int32), value, np.empty(0, np.int64), 3), table.taxonomies
    )
    assert found[1] == found[2] != found[0]


def test_large_tables_are_left_alone() -> None:
    table = Table.read(pl.DataFrame({"age": [1, 2]}), Schema.of_columns(quasi=["age"]))
    groups = np.arange(60_001, dtype=np.int32)
    codes = np.zeros((1, 60_001), np.int32)
    kinds = Kinds(np.zeros(60_001, np.int32), np.zeros(60_001, np.int32), np.empty(0, np.int64), 60_001)
    assert (regroup(codes, groups, kinds, table.taxonomies)[0] == groups).all()
