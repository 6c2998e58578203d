"""Local search: what it promises of any table, and its sums against the definition."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue import Hierarchy, Table, synth
from reissue.counting import Counts
from reissue.errors import InputError
from reissue.methods import Job, find
from reissue.methods.local_search import divisions as parts
from reissue.methods.local_search.growth import Growth, exchanges
from reissue.methods.local_search.quotas import by_quotas
from reissue.methods.local_search.search import EFFORTS, searched
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.synth import Population
from reissue.testing.releases import check_release, samples
from tests.effort import examples
from tests.strategies import Case, tables

TREE: dict[str, dict[str, dict[str, object]]] = {
    "north": {"oslo": {}, "umea": {}},
    "south": {"rome": {}, "bari": {}, "malta": {}},
}
SICK = {"illness": Hierarchy(tree={"lungs": {"flu": {}}, "belly": {"ulcer": {}, "gout": {}}})}
TOWNS = ["oslo", "umea", "rome", "bari", "malta"]


def schema(**more: Hierarchy) -> Schema:
    taxonomies = more | {"age": Hierarchy(ranges=(5, 10)), "town": Hierarchy(tree=TREE)}
    return Schema.of_columns(quasi=["age", "town"], sensitive=["illness"], taxonomies=taxonomies)


def people(seed: int, rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    ages = [None if rng.random() < 0.1 else int(age) for age in rng.integers(20, 60, rows)]
    towns, illnesses = rng.choice(TOWNS, rows), rng.choice(["flu", "ulcer", "gout"], rows)
    return pl.DataFrame({"age": ages, "town": towns, "illness": illnesses})


def lost(table: Table, groups: np.ndarray) -> float:
    """Straight from the definition: every row loses what is published of its group."""
    total = 0.0
    for number in np.unique(groups):
        inside = groups == number
        for codes, taxonomy in zip(table.codes[:, inside], table.taxonomies, strict=True):
            box = taxonomy.snap(codes.min(keepdims=True), codes.max(keepdims=True))
            total += float(taxonomy.loss(*box)[0]) * int(inside.sum())
    return total


@given(
    st.integers(0, 10_000),
    st.integers(8, 60),
    st.booleans(),
    st.sampled_from(["k=2", "k=3", "k=2 & l=2", "t=0.4", "confidence=0.7", "k=2 & recursive=3,2"]),
)
@examples(80)
def test_groups_meet_the_requirement_and_never_lose_more(seed: int, rows: int, tight: bool, requirement: str) -> None:
    table = Table.read(people(seed, rows), schema()).with_boxes(tight=tight)
    wanted = parse(requirement)
    start = np.zeros(rows, np.int32)
    if not wanted.holds(Counts(start, table.sensitive, table.domain, 1)).all():
        return
    job = Job(table, wanted, np.random.default_rng(seed))
    for effort in EFFORTS.values():
        groups = searched(job, start, effort)
        total = int(groups.max()) + 1
        assert wanted.holds(Counts(groups, table.sensitive, table.domain, total)).all()
        assert np.bincount(groups).min() > 0
        assert lost(table, groups) <= lost(table, start) + 1e-9
        assert (groups == searched(job, start, effort)).all()


@given(st.integers(0, 10_000), st.integers(4, 14), st.booleans(), st.booleans())
@examples(80)
def test_what_a_cut_saves_is_what_the_definition_says(seed: int, rows: int, tight: bool, tabled: bool) -> None:
    table = Table.read(people(seed, rows), schema()).with_boxes(tight=tight)
    rng = np.random.default_rng(seed)
    group = np.unique(rng.integers(0, 3, rows), return_inverse=True)[1]
    losses = parts.Losses.of(table.taxonomies, table.codes)
    if not tabled:
        losses = replace(losses, between=tuple(parts._computed(one) for one in table.taxonomies))
    division = parts.Division.of(losses, group)
    assert division.lost == pytest.approx(lost(table, group))
    nobody = len(division.sizes) - 1
    one = np.arange(nobody)
    pairs = parts.GroupPairs.of(division, one, np.append(one[1:], nobody))
    order = parts._line(losses, pairs, rng)
    saved = parts._saved(losses, pairs, order)
    for pair, total in enumerate(pairs.total.tolist()):
        line = pairs.rows[pair, order[pair, :total]]
        assert sorted(line) == np.flatnonzero(np.isin(group, [pairs.one[pair], pairs.other[pair]])).tolist()
        for cut in range(total - 1):
            after = group.copy()
            after[line[: cut + 1]], after[line[cut + 1 :]] = 10, 11
            assert saved[pair, cut] == pytest.approx(lost(table, group) - lost(table, after))


HOSPITAL = next(iter(Population(seed=1, people=800).months(1)))


def loss_of(requirement: str, **options: Any) -> float:
    release = ri.anonymize(HOSPITAL, synth.schema(), requirement, **options)
    return lost(release.table, release.draft.groups) / release.table.rows


def test_more_effort_loses_less_with_either_method() -> None:
    for method in ("pool", "mondrian"):
        fast, balanced, best = (
            loss_of("k=4 & l=2", method=method, effort=effort) for effort in ("fast", "balanced", "best")
        )
        assert balanced < 0.95 * fast, method
        assert best < balanced, method


def test_the_search_loses_less_where_rows_are_suppressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reissue.methods.partition.pool.peeled", lambda *_: None)  # so that both start alike
    fast, best = (
        ri.anonymize(HOSPITAL, synth.schema(), "k=6", suppress=0.05, effort=effort) for effort in ("fast", "best")
    )
    assert fast.suppressed > 0

    assert ri.measure(best).loss < ri.measure(fast).loss


def test_seconds_are_a_budget() -> None:
    assert loss_of("k=4", effort=30.0) == loss_of("k=4", effort="best")
    assert loss_of("k=4", effort="best") < loss_of("k=4", effort="1e-9") <= loss_of("k=4", effort="fast")


@pytest.mark.parametrize("requirement", samples())
@examples(10)
@given(case=tables())
def test_contract(requirement: str, case: Case) -> None:
    check_release("pool", case.frame, case.schema, requirement, effort="balanced")


@pytest.mark.parametrize("effort", ["much", 0, -1.0, True, "nan", "inf"])
def test_other_efforts_are_refused(effort: object) -> None:
    with pytest.raises(InputError, match="effort"):
        ri.anonymize(people(4, 50), schema(), "k=4", effort=effort)


# --- exchanges and quotas --------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(6, 30), st.booleans())
@examples(60)
def test_an_exchange_keeps_every_histogram_and_saves_what_it_says(seed: int, rows: int, tight: bool) -> None:
    table = Table.read(people(seed, rows), schema()).with_boxes(tight=tight)
    rng = np.random.default_rng(seed)
    group = np.unique(rng.integers(0, 3, rows), return_inverse=True)[1]
    division = parts.Division.of(parts.Losses.of(table.taxonomies, table.codes), group)
    job = Job(table, parse("t=1"), rng)
    one, other = np.triu_indices(len(division.sizes) - 1, 1)
    order = np.argsort(division.sizes[one] + division.sizes[other], kind="stable")
    for better in exchanges(job, division, one[order], other[order], 2, rng):
        after = group.copy()
        after[better.first], after[better.second] = better.one, better.other
        assert np.isin(group[group != after], [better.one, better.other]).all()
        for number in (better.one, better.other):
            assert sorted(table.sensitive[group == number]) == sorted(table.sensitive[after == number])
        assert better.saved == pytest.approx(lost(table, group) - lost(table, after))
        assert better.saved > 0


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 6), st.booleans())
@examples(80)
def test_a_group_grows_by_the_row_that_widens_its_box_least(seed: int, rows: int, turns: int, tabled: bool) -> None:
    table = Table.read(people(seed, rows), schema())
    losses = parts.Losses.of(table.taxonomies, table.codes)
    if not tabled:
        vars(losses)["around"] = (None,) * len(table.codes)  # as where leaves are many
    growth = Growth(losses, np.arange(rows)[np.newaxis], np.ones((1, rows), np.bool_))
    none, of_row = np.zeros((1, 1), np.int32), np.zeros((1, rows), np.int64)
    growth.begin(np.array([0]))
    growth.add(np.array([0]), np.array([True]))
    inside = [0]
    for _ in range(min(turns, rows - 1)):
        with_it = {row: lost(table.some(np.array([*inside, row])), np.zeros(len(inside) + 1)) for row in range(rows)}
        free = [row for row in range(rows) if row not in inside]
        chosen = int(growth.nearest(none, of_row)[0])
        assert chosen in free
        assert with_it[chosen] == pytest.approx(min(with_it[row] for row in free), rel=1e-4)
        growth.add(np.array([chosen]), np.array([True]))
        inside.append(chosen)


@given(
    st.integers(0, 10_000),
    st.integers(120, 260),
    st.sampled_from(["t=0.2", "k=3 & t=0.3", "t=0.3:ordered", "t=0.4 & l=2", "k=3 & beta=1", "beta=2:enhanced"]),
)
@examples(25)
def test_groups_by_quotas_meet_the_requirement(seed: int, rows: int, requirement: str) -> None:
    table = Table.read(people(seed, rows), schema(**SICK))
    job, wanted = Job(table, parse(requirement), np.random.default_rng(0)), parse(requirement)
    groups = by_quotas(job, find("pool").run)
    assert groups is not None
    total = int(groups.max()) + 1
    assert total > 1
    assert wanted.holds(Counts(groups, table.sensitive, table.domain, total)).all()
    assert (groups == by_quotas(job, find("pool").run)).all()


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_rare_values_begin_the_groups_that_are_just_large_enough_for_them(beta: float) -> None:
    table = Table.read(people(5, 300), schema(**SICK))
    rare = np.flatnonzero(table.sensitive == 0)[3:]
    table = table.some(np.setdiff1d(np.arange(table.rows), rare))
    job = Job(table, parse(f"k=2 & beta={beta}"), np.random.default_rng(0))
    groups = by_quotas(job, find("pool").run)
    assert groups is not None
    shares = table.domain.totals / table.rows
    for row in np.flatnonzero(table.sensitive == 0):
        own = groups == groups[row]
        assert own.sum() >= 1 / ((1 + beta) * shares[0]) - 1e-9
        assert all(
            (table.sensitive[own] == value).mean() <= (1 + beta) * share + 1e-9 for value, share in enumerate(shares)
        )


def test_closeness_gains_from_effort() -> None:
    young = (pl.col("age") < 40) & (pl.int_range(pl.len()) % 3 > 0)
    frame = people(3, 900).with_columns(illness=pl.when(young).then(pl.lit("flu")).otherwise("illness"))
    made = [ri.anonymize(frame, schema(), "k=4 & t=0.15", effort=effort) for effort in ("fast", "balanced", "best")]
    fast, balanced, best = (lost(one.table, one.draft.groups) for one in made)
    assert balanced < 0.8 * fast
    assert best <= balanced
