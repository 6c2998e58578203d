"""Random count queries: the same for the same seed, counted and estimated as by hand."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy, Table
from reissue.errors import InputError
from reissue.published import read_published
from reissue.release.form import Form
from reissue.release.release import Draft
from reissue.requirements import KAnonymity
from reissue.schema import Schema
from reissue.taxonomy import Taxonomy
from reissue.utility import WORKLOADS, Predicates, Workload, draw_queries, estimates, measure, query_error, true_counts
from reissue.utility import queries as module
from reissue.utility.published import from_tables
from reissue.verify import make_release
from tests.strategies import Case, tables

WORDS = st.sampled_from(sorted(WORKLOADS))


def wanted(predicates: Predicates, query: int) -> set[int]:
    """The codes that a query asks for."""
    if predicates.chosen is not None and predicates.asked[query]:
        return set(predicates.chosen[query].tolist())
    return set(range(int(predicates.first[query]), int(predicates.last[query]) + 1))


def inside(predicates: Predicates, query: int, taxonomy: Taxonomy, lo: int, hi: int) -> float:
    """The share of a published interval that a query asks for, from the definition."""
    if not predicates.asked[query]:
        return 1.0
    codes = wanted(predicates, query)
    if not taxonomy.ordered or predicates.chosen is not None:
        return len(codes & set(range(lo, hi + 1))) / (hi - lo + 1)
    last = taxonomy.size - 1 - taxonomy.missing
    if lo > last:
        return 0.0
    line = taxonomy.positions
    whole = all(float(number).is_integer() for number in line[: last + 1])
    low, high, start, end = (float(line[min(at, last)]) for at in (lo, hi, min(codes), max(codes)))
    if whole:
        share = max(0.0, min(high, end) - max(low, start) + 1) / (high - low + 1)
    elif low == high:
        share = float(start <= low <= end)
    else:
        share = max(0.0, min(high, end) - max(low, start)) / (high - low)
    return share * (last / taxonomy.size if hi > last else 1)


@given(tables(max_rows=12), WORDS, st.integers(0, 5), st.booleans(), st.data())
def test_counts_and_estimates_are_those_by_hand(
    case: Case, name: str, seed: int, apart: bool, data: st.DataObject
) -> None:
    table = Table.read(case.frame, case.schema)
    groups = data.draw(st.lists(st.integers(0, 2), min_size=table.rows, max_size=table.rows))
    numbers = np.unique(groups, return_inverse=True)[1].astype(np.int32)
    release = make_release(
        table,
        Draft(numbers, form=Form.TWO_TABLES if apart else Form.GENERALIZED),
        KAnonymity(1),
        "test",
        np.random.default_rng(0),
    )
    workload = Workload(**{**WORKLOADS[name].__dict__, "queries": 11, "seed": seed})
    quasi, secret = draw_queries(workload, table.taxonomies, table.domain if table.schema.sensitive else None)
    columns = [*table.codes, *([table.sensitive] if secret else [])]
    every = [*quasi, *([secret] if secret else [])]
    counted = true_counts(columns, every)
    guessed = estimates(from_tables(table, read_published(release, table.schema)), quasi, secret)
    for query in range(11):
        rows = [
            all(int(c[row]) in wanted(p, query) for c, p in zip(columns, every, strict=True))
            for row in range(table.rows)
        ]
        assert counted[query] == sum(rows)
        expected = 0.0
        for row in range(table.rows):
            mates = numbers == numbers[row]
            share = 1.0
            for place, taxonomy in enumerate(table.taxonomies):
                lo, hi = table.codes[place][row], table.codes[place][row]
                if not apart:
                    own = table.codes[place][mates]
                    (lo,), (hi,) = taxonomy.snap(own.min(keepdims=True), own.max(keepdims=True))
                if apart and int(lo) not in wanted(quasi[place], query):
                    share = 0.0
                elif not apart:
                    share *= inside(quasi[place], query, taxonomy, int(lo), int(hi))
            if secret is not None:
                share *= np.isin(table.sensitive[mates], list(wanted(secret, query))).mean()
            expected += share
        assert guessed[query] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_exact_tables_answer_exactly() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 4, 5] * 4, "b": ["x", "y"] * 10, "s": ["p", "q", "q", "r"] * 5})
    table = Table.read(frame, Schema.of_columns(quasi=["a", "b"], sensitive=["s"]))
    groups = np.unique(table.codes, axis=1, return_inverse=True)[1].astype(np.int32)
    exact = make_release(table, Draft(groups), KAnonymity(1), "test", np.random.default_rng(0))
    for name in WORKLOADS:
        found = measure(exact, queries=30, workload=name).queries
        assert found is not None
        assert found.mean == pytest.approx(0, abs=1e-6)
    buckets = make_release(
        table, Draft(np.zeros(20, np.int32), form=Form.TWO_TABLES), KAnonymity(1), "test", np.random.default_rng(0)
    )
    found = measure(buckets, queries=100, workload="providers").queries
    assert found is not None
    assert (found.mean, found.median) == (0, 0), "without sensitive values two tables tell everything"


def test_a_query_by_hand() -> None:
    """Ages 20 to 29 in one box, 5 of 10 rows below 25; half of the group has the flu."""
    frame = pl.DataFrame({"age": [20, 21, 22, 23, 29] * 2, "s": ["flu", "cold"] * 5})
    table = Table.read(frame, Schema.of_columns(quasi=["age"], sensitive=["s"]))
    release = make_release(table, Draft(np.zeros(10, np.int32)), KAnonymity(1), "test", np.random.default_rng(0))
    everyone = np.ones(1, np.bool_)
    age = Predicates(everyone, np.array([0]), np.array([3]), None, 5)
    flu = Predicates(everyone, np.array([1]), np.array([1]), None, 2)
    assert true_counts([table.codes[0], table.sensitive], [age, flu]).tolist() == [4]
    assert estimates(from_tables(table, read_published(release, table.schema)), [age], flu).tolist() == pytest.approx(
        [10 * 4 / 10 * 0.5]
    )


def test_errors_are_relative_to_the_true_count_and_bounded() -> None:
    frame = pl.DataFrame({"age": [0] * 90 + [100] * 10})
    table = Table.read(frame, Schema.of_columns(quasi=["age"], taxonomies={"age": Hierarchy(ranges=(1000.0,))}))
    release = make_release(table, Draft(np.zeros(100, np.int32)), KAnonymity(1), "test", np.random.default_rng(0))
    workload = Workload(200, (1, 1), width=0.5, bound=0.5)
    found = query_error(from_tables(table, read_published(release, table.schema)), workload)
    quasi, _ = draw_queries(workload, table.taxonomies, None)
    true, guessed = (
        true_counts(list(table.codes), quasi),
        estimates(from_tables(table, read_published(release, table.schema)), quasi, None),
    )
    errors = [abs(guess - count) / max(count, 50) for guess, count in zip(guessed, true, strict=True)]
    assert found.mean == pytest.approx(np.mean(errors))
    assert found.median == pytest.approx(np.median(errors))
    assert found.empty == sum(count < 50 for count in true)


# --- workloads -------------------------------------------------------------------------------------------------------


def taxonomies(sizes: list[int]) -> tuple[Taxonomy, ...]:
    frame = pl.DataFrame({f"q{place}": np.arange(300) % size for place, size in enumerate(sizes)})
    kinds = {f"q{place}": Hierarchy("flat") for place in range(0, len(sizes), 2)}
    return Table.read(frame, Schema.of_columns(quasi=frame.columns, taxonomies=kinds)).taxonomies


@given(WORDS, st.integers(0, 9), st.lists(st.integers(1, 40), min_size=1, max_size=7))
def test_queries_are_the_seeds(name: str, seed: int, sizes: list[int]) -> None:
    workload = Workload(**{**WORKLOADS[name].__dict__, "queries": 20, "seed": seed})
    trees = taxonomies(sizes)
    one, other = (draw_queries(workload, trees, None)[0] for _ in range(2))
    for first, second in zip(one, other, strict=True):
        assert all((first.mask(slice(0, 20)) == second.mask(slice(0, 20))).ravel())
    least, most = workload.sizes(len(sizes))
    asked = np.sum([predicate.asked for predicate in one], axis=0)
    assert asked.min() >= least
    assert asked.max() <= most
    for predicate, taxonomy in zip(one, trees, strict=True):
        for query in range(20):
            codes = wanted(predicate, query)
            assert codes <= set(range(taxonomy.size))
            assert codes
            if not predicate.asked[query]:
                assert len(codes) == taxonomy.size


def test_another_seed_asks_other_queries() -> None:
    trees = taxonomies([40, 40])
    masks = [draw_queries(Workload(50, seed=seed), trees, None)[0][0].mask(slice(0, 50)) for seed in (1, 2)]
    assert (masks[0] != masks[1]).any()


def test_the_papers_workloads_ask_what_they_say() -> None:
    trees = taxonomies([20, 40, 10, 30, 20, 10])
    quasi, _ = draw_queries(WORKLOADS["anatomy"], trees, None)
    share = 0.05 ** (1 / 6)
    for predicate, taxonomy in zip(quasi, trees, strict=True):
        assert predicate.chosen is not None
        assert {len(codes) for codes in predicate.chosen} == {math.ceil(share * taxonomy.size)}
        assert predicate.asked.all()
    quasi, _ = draw_queries(WORKLOADS["updates"], trees, None)
    assert all(
        (predicate.last - predicate.first + 1 <= taxonomy.size / 2 + 1).all()
        for predicate, taxonomy in zip(quasi, trees, strict=True)
    )
    quasi, _ = draw_queries(WORKLOADS["providers"], trees, None)
    asked = np.sum([predicate.asked for predicate in quasi], axis=0)
    assert set(asked.tolist()) == {2, 3}
    assert {name: workload.queries for name, workload in WORKLOADS.items()} == {
        "ranges": 1000,
        "anatomy": 10_000,
        "republication": 1000,
        "updates": 10_000,
        "providers": 2500,
    }


def test_selectivity_is_what_uniform_data_would_give() -> None:
    trees = taxonomies([100, 100, 100])
    quasi, _ = draw_queries(Workload(400, "all", selectivity=0.1, sensitive="none"), trees, None)
    shares = np.prod([(p.last - p.first + 1) / p.size for p in quasi], axis=0)
    assert 0.08 < shares.mean() < 0.12


def test_nobody_asks_for_the_missing_value() -> None:
    frame = pl.DataFrame({"a": [1, 2, None], "b": ["x", "y", None]})
    table = Table.read(frame, Schema.of_columns(quasi=["a", "b"]))
    for predicate in (Workload(60, "all"), Workload(60, "all", "values")):
        for column in draw_queries(predicate, table.taxonomies, None)[0]:
            assert not column.mask(slice(0, 60))[2].any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"queries": 0},
        {"selectivity": 0.0},
        {"selectivity": 1.5},
        {"width": 0.0},
        {"bound": -1.0},
        {"attributes": (0, 2)},
        {"attributes": (3, 2)},
    ],
)
def test_workloads_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Workload(**wrong)


def test_queries_and_rows_are_worked_on_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks give the same answer as large ones."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 9, 700), "b": rng.integers(0, 5, 700), "s": rng.integers(0, 4, 700)})
    table = Table.read(frame, Schema.of_columns(quasi=["a", "b"], sensitive=["s"]))
    release = make_release(
        table, Draft((np.arange(700) // 7).astype(np.int32)), KAnonymity(1), "test", np.random.default_rng(0)
    )
    whole = measure(release, queries=50).queries
    monkeypatch.setattr(module, "_CELLS", 1)
    monkeypatch.setattr(module, "_ROWS", 255 * 2)
    parts = measure(release, queries=50).queries
    assert whole is not None
    assert parts is not None
    assert parts.mean == pytest.approx(whole.mean, rel=1e-5)
    assert parts.empty == whole.empty
