"""Mondrian and pool: the contract, twins written straight from their descriptions, and the machinery they share."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Table, anonymize
from reissue._arrays import Codes
from reissue.counting import Counts, threads, workers
from reissue.errors import InputError, RequirementError
from reissue.methods import Job, find
from reissue.methods.partition import frontier
from reissue.methods.partition import pool as pool_module
from reissue.methods.partition.frontier import ALL, Ranks, TriedGroups, compact
from reissue.methods.partition.mondrian import mondrian
from reissue.methods.partition.pool import pool
from reissue.release.recode import boxes_of
from reissue.requirements import KAnonymity, Requirement, parse
from reissue.schema import Schema
from reissue.synth import bench_schema, bench_table
from reissue.testing.releases import check_release, samples
from tests.effort import examples
from tests.strategies import Case, tables

METHODS = [("pool", {}), ("mondrian", {}), ("mondrian", {"strict": False})]


@pytest.mark.parametrize("requirement", samples())
@pytest.mark.parametrize(("method", "options"), METHODS)
@examples(30)
@given(case=tables())
def test_contract(method: str, options: dict[str, bool], requirement: str, case: Case) -> None:
    check_release(method, case.frame, case.schema, requirement, **options)


def job_for(table: Table, requirement: Requirement, **options: bool) -> Job:
    return Job(table, requirement, np.random.default_rng(0), options=options)


def partition(groups: Codes) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(groups == group).tolist()) for group in np.unique(groups)}


def median_split_twin(table: Table, requirement: Requirement) -> set[frozenset[int]]:
    """Strict Mondrian, one group after the other."""

    def fine(rows: list[int]) -> bool:
        zeros = np.zeros(len(rows), np.int32)
        return bool(rows) and bool(requirement.holds(Counts(zeros, table.sensitive[rows], table.domain, 1))[0])

    def cover(place: int, rows: list[int]) -> float:
        codes, taxonomy = table.codes[place][rows], table.taxonomies[place]
        return float(taxonomy.loss(*taxonomy.snap(codes.min(keepdims=True), codes.max(keepdims=True)))[0])

    def cut(place: int, rows: list[int]) -> int:
        codes: list[int] = sorted(table.codes[place][rows].tolist())
        taxonomy = table.taxonomies[place]
        low, high, middle = codes[0], codes[-1], codes[len(codes) // 2]
        if taxonomy.runs:
            if taxonomy.missing and high == taxonomy.size - 1:
                return high
            return middle if middle > low else middle + 1
        levels = [level for level in taxonomy.levels if level.node[low] != level.node[high]]
        start = int(levels[-1].lo[middle])
        return start if start > low else int(levels[-1].hi[middle]) + 1

    def divide(rows: list[int]) -> list[list[int]]:
        places = sorted(range(len(table.codes)), key=lambda place: (-cover(place, rows), place))
        for place in places:
            if cover(place, rows) > 0:
                border = cut(place, rows)
                parts = [[row for row in rows if (table.codes[place][row] >= border) == up] for up in (False, True)]
                if all(fine(part) for part in parts):
                    return [group for part in parts for group in divide(part)]
        return [rows]

    return {frozenset(group) for group in divide(list(range(table.rows)))}


@examples(200)
@given(
    case=tables(max_rows=30),
    requirement=st.sampled_from(["k=1", "k=2", "k=3", "l=2", "k=3 & l=2"]),
    tight=st.booleans(),
)
def test_mondrian_is_the_recursive_one(case: Case, requirement: str, tight: bool) -> None:
    table, wanted = Table.read(case.frame, case.schema).with_boxes(tight=tight), parse(requirement)
    try:
        draft = mondrian(job_for(table, wanted))
    except RequirementError:
        return
    assert partition(draft.groups) == median_split_twin(table, wanted)


@examples(60)
@given(case=tables(min_rows=8, max_rows=40), chunk=st.integers(1, 9), requirement=st.sampled_from(["k=2", "l=2"]))
@pytest.mark.parametrize("method", [pool, mondrian])
def test_working_in_chunks_changes_nothing(method: object, case: Case, chunk: int, requirement: str) -> None:
    table, wanted = Table.read(case.frame, case.schema).with_boxes(tight=chunk % 2 == 0), parse(requirement)
    run = pool if method is pool else mondrian
    with pytest.MonkeyPatch.context() as patch:
        try:
            whole = run(job_for(table, wanted))
        except RequirementError:
            return
        patch.setattr(frontier, "_CHUNK", chunk)
        assert partition(run(job_for(table, wanted)).groups) == partition(whole.groups)


@examples(100)
@given(
    case=tables(min_rows=8, max_rows=40),
    tight=st.booleans(),
    requirement=st.sampled_from(["k=2", "l=2", "k=3 & t=0.5"]),
)
def test_attributes_that_pool_does_not_try_would_not_have_been_taken(case: Case, tight: bool, requirement: str) -> None:
    """Where every attribute promises more than any can save, all of them are tried before one is taken."""
    table, wanted = Table.read(case.frame, case.schema).with_boxes(tight=tight), parse(requirement)
    try:
        some = pool(job_for(table, wanted))
    except RequirementError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "_ABOVE", 1e12)
        every = pool(job_for(table, wanted))
    assert some.groups.tolist() == every.groups.tolist()


@examples(100)
@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=8), min_size=1, max_size=6), st.booleans())
def test_ranks_are_those_of_sorting(groups: list[list[int]], stretched: bool) -> None:
    """`stretched` puts the codes so far apart that the histogram would be too long."""
    groups = [[code * (10_000 if stretched else 1) for code in group] for group in groups]
    codes = np.array([code for group in groups for code in group], np.int32)
    sizes = np.array([len(group) for group in groups])
    ranks, starts = Ranks(TriedGroups.of(codes, sizes, ALL)), np.cumsum(sizes) - sizes
    for place in range(max(sizes)):
        inside = np.minimum(place, sizes - 1)
        expected = [sorted(group)[i] for group, i in zip(groups, inside.tolist(), strict=True)]
        assert ranks.at(starts + inside).tolist() == expected
        code = np.array(expected)
        below = [sum(other < c for other in group) for group, c in zip(groups, expected, strict=True)]
        assert ranks.below(code).tolist() == (starts + below).tolist()


@given(st.lists(st.integers(0, 60), min_size=1, max_size=50), st.sampled_from([61, 10**9]), st.integers(1, 3))
def test_compact_is_unique(keys: list[int], bound: int, times: int) -> None:
    for weights in (None, np.full(len(keys), times)):
        distinct, number, locate = compact(np.array(keys), bound, weights)
        each = 1 if weights is None else times
        assert distinct.tolist() == sorted(set(keys))
        assert number.tolist() == [keys.count(key) * each for key in sorted(set(keys))]
        assert distinct[locate(slice(None))].tolist() == keys
        assert distinct[locate(np.array([len(keys) - 1, 0]))].tolist() == [keys[-1], keys[0]]


@examples(60)
@given(case=tables(max_rows=6), requirement=st.sampled_from(samples()))
def test_no_group_of_fewer_rows_than_the_least_holds(case: Case, requirement: str) -> None:
    table = Table.read(case.frame, case.schema)
    for part in parse(requirement).parts():
        try:
            part.fits(table.domain)
        except RequirementError:
            continue
        if part.least > table.rows:
            assert not part.holds(table.whole())[0]


def test_a_pool_that_is_too_small_borrows_from_the_largest_child() -> None:
    frame = pl.DataFrame({"q": ["a"] * 7 + ["b"] * 2})
    table = Table.read(frame, Schema.of_columns(quasi=["q"]))
    sizes = sorted(np.bincount(pool(job_for(table, KAnonymity(3))).groups).tolist())
    assert sizes == [3, 6], "one of the seven joins the two"


def test_pool_loses_less_than_mondrian_on_skewed_data() -> None:
    rng = np.random.default_rng(1)
    columns = {f"q{place}": rng.geometric(0.3, 2000).clip(max=12) for place in range(4)}
    frame = pl.DataFrame(columns).with_columns(pl.all().cast(pl.String))
    schema = Schema.of_columns(quasi=list(columns))
    losses = {}
    for method in ("pool", "mondrian"):
        release = anonymize(frame, schema, "k=5", method=method)
        boxes, taxonomies = boxes_of(release.table, release.draft), release.table.taxonomies
        losses[method] = sum((t.loss(boxes.lo[i], boxes.hi[i]) @ boxes.sizes) for i, t in enumerate(taxonomies))
    assert losses["pool"] < losses["mondrian"]


@pytest.mark.parametrize(("quasi", "rows"), [(24, 30_000), (100, 10_000)])
@pytest.mark.parametrize("method", ["pool", "mondrian"])
def test_wide_tables_simply_work(method: str, quasi: int, rows: int) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"q{place}": rng.integers(0, 2 + place % 11, rows) for place in range(quasi)})
    release = anonymize(frame, Schema.of_columns(quasi=frame.columns), "k=5", method=method)
    assert release.tables["release"].shape == (rows, quasi)
    assert release.boxes.sizes.min() >= 5
    assert release.groups > rows // 20


@pytest.mark.parametrize("method", ["pool", "mondrian"])
def test_groups_do_not_depend_on_the_number_of_threads(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table.read(bench_table(3000), bench_schema())
    settled = find(method).settle({"effort": "fast"})
    job = Job(table, parse("k=4 & l=2"), np.random.default_rng(0), options=settled)
    monkeypatch.setattr(frontier, "_CHUNK", 64)
    found = []
    for number in ("1", "2", "3"):
        monkeypatch.setenv("REISSUE_THREADS", number)
        found.append(find(method).run(job))
    assert all((one.groups == found[0].groups).all() and one.notes == found[0].notes for one in found)
    assert found[0].notes["rounds"] > 50


def test_threads_stay_and_a_child_has_its_own() -> None:
    assert workers() is workers()
    workers().submit(os.getpid).result()
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as child:
        assert child.submit(_in_a_thread).result(timeout=60) != os.getpid()


def _in_a_thread() -> int:
    return workers().submit(os.getpid).result(timeout=30)


@pytest.mark.parametrize("number", ["0", "two", "-1", "1.5"])
def test_a_number_of_threads_that_is_none_is_refused(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REISSUE_THREADS", number)
    with pytest.raises(InputError, match="REISSUE_THREADS"):
        threads()
