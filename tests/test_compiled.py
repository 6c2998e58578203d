"""Compiled loops: the same as NumPy to the last bit, and only where they are wanted."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import NarrowCodes
from reissue.compiled.wanted import ENVIRONMENT, _installed, wanted
from reissue.counting.segments import ranges
from reissue.data.table import Table
from reissue.errors import InputError, RequirementError
from reissue.methods import Job, find
from reissue.methods.local_search import exchanges, quotas
from reissue.methods.local_search.divisions import Division, Losses
from reissue.methods.partition.tried import CompiledGroups, TriedGroups
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.synth import bench_schema, bench_table
from reissue.taxonomy.codings import Hierarchy
from tests.effort import examples

numba = pytest.importorskip("numba")


def some_table(seed: int, rows: int, columns: int, values: int, *, tight: bool, spread: bool = False) -> Table:
    """Numbers in ranges, close together or spread, or without ranges; few different ones in some tables."""
    rng = np.random.default_rng(seed)
    names = [f"q{place}" for place in range(columns)]
    frame = {name: rng.integers(0, int(rng.integers(1, 40)), rows) * (37 if spread else 1) for name in names}
    frame["s"] = rng.integers(0, values, rows) ** 2 // max(values - 1, 1)
    coded = {} if spread else {name: Hierarchy(ranges=(5, 10)) for name in names}
    schema = Schema.of_columns(quasi=names, sensitive=["s"], taxonomies=coded)
    return Table.read(pl.DataFrame(frame), schema).with_boxes(tight=tight)


sizes = st.integers(0, 10_000), st.integers(2, 90), st.integers(1, 4), st.integers(1, 6), st.booleans()


@given(*sizes, st.integers(1, 4))
@examples(80)
def test_exchanges(seed: int, rows: int, columns: int, values: int, tight: bool, tries: int) -> None:
    table = some_table(seed, rows, columns, values, tight=tight)
    rng = np.random.default_rng(seed)
    group = np.unique(rng.integers(0, max(rows // 6, 2), rows), return_inverse=True)[1]
    division = Division.of(Losses.of(table.taxonomies, table.codes), group)
    one, other = np.triu_indices(len(division.sizes) - 1, 1)
    if not len(one):
        return
    order = np.argsort(division.sizes[one] + division.sizes[other], kind="stable")
    one, other = one[order], other[order]
    start = (rng.random((tries, len(one))) * division.sizes[one]).astype(np.int64)
    job = Job(table, parse("t=1"), rng)
    (rows_a, saved_a), (rows_b, saved_b) = (
        way(job, division, one, other, start) for way in (exchanges._plain, exchanges._compiled)
    )
    assert (rows_a == rows_b).all()
    assert (saved_a == saved_b).all()


@given(*sizes, st.floats(0.05, 0.9), st.integers(2, 9), st.integers(1, 3))
@examples(80)
def test_groups_by_quotas(
    seed: int, rows: int, columns: int, values: int, tight: bool, limit: float, size: int, blocks: int
) -> None:
    table = some_table(seed, rows, columns, values, tight=tight)
    block = np.sort(np.random.default_rng(seed).integers(0, blocks, rows))
    sizes = np.bincount(block)
    ways = quotas._plain, quotas._compiled
    wanted = quotas._quotas(table.domain.totals, limit, size)
    job, losses = Job(table, parse("t=1"), np.random.default_rng(0)), Losses.of(table.taxonomies, table.codes)
    plain, fast = (way(job, losses, wanted, np.arange(rows), sizes[sizes > 0]) for way in ways)
    assert (plain == fast).all()


REQUIREMENTS = ["k=2", "k=3", "k=2 & l=2", "confidence=0.8", "k=3 & t=0.5"]


@given(*sizes, st.sampled_from(REQUIREMENTS), st.booleans())
@examples(120)
def test_pool(seed: int, rows: int, columns: int, values: int, tight: bool, requirement: str, spread: bool) -> None:
    """Of codes far apart too, where a table of all children would be large."""
    table = some_table(seed, rows, columns, values, tight=tight, spread=spread)
    run, made = find("pool"), list[np.ndarray]()
    for compile_ in ("yes", "no"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(ENVIRONMENT, compile_)
            job = Job(table, parse(requirement), np.random.default_rng(0), options=run.settle({}))
            with suppress(RequirementError):
                made.append(run.run(job).groups)
    assert len(made) != 1
    assert not made or (made[0] == made[1]).all()


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 4), st.sampled_from([np.uint8, np.uint16, np.int32]))
@examples(80)
def test_rows_by_child(seed: int, groups: int, columns: int, kind: type) -> None:
    rng = np.random.default_rng(seed)
    every = rng.integers(1, 30, groups + 2)
    codes: NarrowCodes = rng.integers(0, 9, (int(every.sum()), columns)).astype(kind)
    chosen = np.sort(rng.choice(groups + 2, groups, replace=False))
    starts, sizes, place = (np.cumsum(every) - every)[chosen], every[chosen], rng.integers(0, columns, groups)
    nodes, level = (
        np.sort(rng.integers(0, 9, (3, 9)), axis=1).astype(np.int32).reshape(-1),
        9 * rng.integers(0, 3, groups),
    )
    bound = 9 * groups if seed % 2 else 2_000
    first = rng.permutation(bound // 9)[:groups] * 9
    rows = ranges(starts, sizes)
    plain = TriedGroups.of(codes[rows, np.repeat(place, sizes)], sizes, rows)
    fast = CompiledGroups.of(codes, starts, sizes, place)
    assert (plain.lo == fast.lo).all()
    assert (plain.hi == fast.hi).all()
    (distinct, size, one), (same, also, other) = (way.by_child(level, first, bound, nodes) for way in (plain, fast))
    assert (distinct == same).all()
    assert (size == also).all()
    some = np.flatnonzero(rng.random(groups) < 0.6)
    label = rng.integers(0, 100, len(distinct))
    for asked in (None, some):
        assert (one.children(asked) == other.children(asked)).all()
        assert np.asarray(one.places(asked) == other.places(asked)).all()
        labels = np.full((2, len(codes)), -1, np.int64)
        for way, into in zip((one, other), labels, strict=True):
            way.put(label, into, asked)
        assert (labels[0] == labels[1]).all()


def test_a_whole_release_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table.read(bench_table(3_000), bench_schema())
    run, made = find("pool"), []
    for compile_, threads in (("yes", "1"), ("yes", "3"), ("no", "2")):
        monkeypatch.setenv(ENVIRONMENT, compile_)
        monkeypatch.setenv("REISSUE_THREADS", threads)
        job = Job(table, parse("k=4 & t=0.4"), np.random.default_rng(0), options=run.settle({"effort": "balanced"}))
        made.append(run.run(job).groups)
    assert (made[0] == made[1]).all()
    assert (made[0] == made[2]).all()


def test_only_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert wanted(1_000_000)
    assert not wanted(100)
    monkeypatch.setenv(ENVIRONMENT, "no")
    assert not wanted(1_000_000)
    monkeypatch.setenv(ENVIRONMENT, "yes")
    assert wanted(100)
    monkeypatch.setenv(ENVIRONMENT, "perhaps")
    with pytest.raises(InputError, match="yes or no"):
        wanted(100)


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    _installed.cache_clear()
    try:
        assert not wanted(1_000_000)
        monkeypatch.setenv(ENVIRONMENT, "yes")
        with pytest.raises(InputError, match=r"reissue\[fast\]"):
            wanted(100)
    finally:
        _installed.cache_clear()


def _total(*, code: str, folder: Path) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
    )
    return done.stdout.strip()


def test_machine_code_that_is_kept_names_no_class_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may not have it, and what is kept could not be read."""
    from reissue.compiled import growing, splitting

    test_a_whole_release_is_the_same(monkeypatch)
    functions = [getattr(room, name) for room in (growing, splitting) for name in room.__all__]
    kinds = [kind for function in functions for signature in function.signatures for kind in signature]
    assert kinds
    assert not any(isinstance(kind, numba.types.BaseNamedTuple) for kind in kinds)


MODULE = "from reissue.compiled.compiler import compiled\n@compiled\ndef double(x):\n    return 2 * x\n"


def test_machine_code_is_kept_in_a_folder_of_ones_choice(tmp_path: Path) -> None:
    (tmp_path / "doubling.py").write_text(MODULE)
    cache, code = tmp_path / "cache", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import doubling; "
    assert _total(code=code + "print(doubling.double(4))", folder=cache) == "8"
    assert [*cache.rglob("*.nbc")]
    hits = "doubling.double(4); print(sum(doubling.double.stats.cache_hits.values()))"
    assert _total(code=code + hits, folder=cache) == "1"


def test_where_nothing_can_be_written_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "doubling.py").write_text(MODULE)
    nowhere = "from numba.core import caching; caching.CacheImpl._locator_classes = []; "
    code = nowhere + f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import doubling; print(doubling.double(4))"
    assert _total(code=code, folder=tmp_path / "cache") == "8"
    assert not (tmp_path / "cache").exists()
