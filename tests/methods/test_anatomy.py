"""Anatomy: the contract, buckets of different values, eligibility, and that row order tells nothing."""

from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Table, anonymize
from reissue.errors import RequirementError, SchemaError
from reissue.methods import Job
from reissue.methods.anatomy import _first, _most_per_value, anatomy
from reissue.requirements import KAnonymity, parse
from reissue.schema import Schema
from reissue.testing.meanings import meets
from reissue.testing.releases import check_release, samples
from tests.effort import examples
from tests.strategies import Case, tables


@pytest.mark.parametrize("requirement", samples())
@examples(25)
@given(case=tables(), suppress=st.sampled_from([0.0, 0.25]))
def test_contract(requirement: str, case: Case, suppress: float) -> None:
    check_release("anatomy", case.frame, case.schema, requirement, suppress, may_refuse=True)


def table_of(values: list[str]) -> Table:
    frame = pl.DataFrame({"q": [str(row % 3) for row in range(len(values))], "s": values})
    return Table.read(frame, Schema.of_columns(quasi=["q"], sensitive=["s"]))


def run(values: list[str], requirement: str, suppress: float = 0.0, seed: int = 0) -> list[list[str]]:
    """The values in each bucket."""
    groups = anatomy(Job(table_of(values), parse(requirement), np.random.default_rng(seed), suppress)).groups
    return [[values[row] for row in np.flatnonzero(groups == group)] for group in range(int(groups.max()) + 1)]


@examples(200)
@given(values=st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40), l=st.integers(1, 5))
def test_buckets_of_l_different_values_wherever_they_exist(values: list[str], l: int) -> None:  # noqa: E741
    """Exactly the eligible tables work, and then buckets have l rows or hardly more, all different."""
    if max(Counter(values).values()) * l > len(values):
        with pytest.raises(RequirementError, match="Anatomy needs"):
            run(values, f"l={l}")
        return
    buckets = run(values, f"l={l}")
    assert sorted(value for bucket in buckets for value in bucket) == sorted(values)
    assert all(len(set(bucket)) == len(bucket) >= l for bucket in buckets)
    assert len(buckets) == len(values) // l


@examples(200)
@given(case=tables(), requirement=st.sampled_from(samples()))
def test_refuses_only_tables_that_are_not_eligible(case: Case, requirement: str) -> None:
    table, asked = Table.read(case.frame, case.schema), parse(requirement)
    sure = max(Counter(table.sensitive.tolist()).values()) / table.rows
    everyone = range(table.rows)
    wanted = max([getattr(part, "l", 1) for part in asked.parts() if part.name in {"l", "simple-l"}], default=1)
    try:
        asked.fits(table.domain)
    except RequirementError:
        return
    if meets(table, everyone, asked, everyone) and sure <= 1 / wanted:
        assert anatomy(Job(table, asked, np.random.default_rng(0))).form.apart


@pytest.mark.parametrize("wanted", [1, 2, 3, 4])
def test_the_fewest_rows_are_left_out(wanted: int) -> None:
    """Against every way to keep some rows of each value."""
    for counts in combinations_with_replacement(range(6), 4):
        totals = np.array(counts)
        if not totals.any():
            continue
        keeps = np.stack(np.meshgrid(*(np.arange(count + 1) for count in counts)), axis=-1).reshape(-1, 4)
        eligible = keeps.max(axis=1) * wanted <= keeps.sum(axis=1)
        most = _most_per_value(totals, wanted)
        assert np.minimum(totals, most).sum() == keeps[eligible].sum(axis=1).max()


def test_surplus_rows_are_left_out_where_allowed() -> None:
    values = ["a"] * 6 + ["b"] * 2 + ["c"] * 2
    with pytest.raises(RequirementError, match=r"the most frequent one has 60\.0%: 2 of 10 rows too many, and 1 may"):
        run(values, "l=2", suppress=0.1)
    buckets = run(values, "l=2", suppress=0.2)
    assert sorted(value for bucket in buckets for value in bucket) == ["a"] * 4 + ["b"] * 2 + ["c"] * 2
    assert all(len(set(bucket)) == len(bucket) == 2 for bucket in buckets)


def test_messages_name_ranks_not_values() -> None:
    with pytest.raises(RequirementError, match=r"the 2 most frequent ones have up to 45\.5%") as refusal:
        run(["secret"] * 5 + ["hidden"] * 5 + ["x"], "l=3")
    assert "secret" not in str(refusal.value)
    assert "at most 2 values" in str(refusal.value)
    with pytest.raises(RequirementError, match="needs 3 different sensitive values in every bucket; the table has 2"):
        run(["a", "b"], "l=3")


def test_more_than_l_is_met_by_more_values_or_by_uniting() -> None:
    different = run(list("abcdef") * 10, "k=5 & l=2")
    assert {len(set(bucket)) for bucket in different} == {5}
    united = run(["a", "b"] * 30, "k=5 & l=2")
    assert {tuple(sorted(Counter(bucket).values())) for bucket in united} <= {(2, 2), (2, 3), (3, 3)}
    assert len(run(["a"] * 20 + ["b"] * 10, "k=3")) == 10


def test_uniting_spreads_values() -> None:
    """Close to the whole table's distribution with buckets far smaller than it."""
    values = ["a"] * 500 + ["b"] * 300 + ["c"] * 150 + ["d"] * 50
    assert len(run(values, "t=0.1")) >= 40


def test_buckets_do_not_follow_the_order_of_rows() -> None:
    """Over many seeds, two neighbours share a bucket as often as two rows far apart."""
    values = list("ab") * 6
    together = np.zeros((12, 12))
    for seed in range(600):
        groups = anatomy(Job(table_of(values), parse("l=2"), np.random.default_rng(seed))).groups
        together += groups[:, None] == groups[None, :]
    pairs = together[::2, 1::2] / 600
    assert np.abs(pairs - 1 / 6).max() < 0.07


def test_needs_a_sensitive_column() -> None:
    table = Table.read(pl.DataFrame({"q": ["x", "y"]}), Schema.of_columns(quasi=["q"]))
    with pytest.raises(SchemaError, match="schema names none"):
        anatomy(Job(table, KAnonymity(2), np.random.default_rng(0)))


def test_two_tables_come_out() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3, 4], "s": ["a", "b", "a", "b"], "id": [7, 8, 9, 10]})
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], identifier="id")
    release = anonymize(frame, schema, "l=2", method="anatomy")
    assert release.tables["quasi"].columns == ["group", "q"]
    assert release.tables["sensitive"].rows() == [(1, "a", 1), (1, "b", 1), (2, "a", 1), (2, "b", 1)]


@given(low=st.integers(1, 20), high=st.integers(1, 60), edge=st.integers(0, 70))
def test_first(low: int, high: int, edge: int) -> None:
    expected = next((number for number in range(low, high + 1) if number >= edge), None)
    assert _first(lambda number: number >= edge, low, high) == expected
