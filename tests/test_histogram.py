"""Histograms and the flat arrays around them against loops, on both of their ways: by table and by search."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from reissue._arrays import Ints
from reissue.counting import Histogram, common, counted, equal_keys, pieces, ranges, stable_order
from reissue.papers.correspondence.earlier import Pool


def histograms(rng: np.random.Generator, groups: int, values: int, filled: int) -> Histogram:
    keys = np.unique(rng.integers(0, groups * values, filled))
    lengths = np.bincount(keys // values, minlength=groups)
    return Histogram(np.append(0, np.cumsum(lengths)), keys % values, np.ones(len(keys), np.int64), values)


def held(some: Histogram) -> list[dict[int, int]]:
    """Value to entry, group by group."""
    return [{int(some.value[e]): e for e in range(a, b)} for a, b in pairwise(some.starts.tolist())]


def test_ranges() -> None:
    assert ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert ranges(np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize(("values", "filled"), [(6, 60), (500_000, 60)])
def test_find_and_common(values: int, filled: int) -> None:
    """Many possible values make the table too large, so that entries are searched for."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        left, right = histograms(rng, 8, values, filled), histograms(rng, 5, values, filled // 2)
        shared = right.value[rng.integers(0, len(right.value), 20)]
        assert (left._table is None) == (values > 6)
        groups = rng.integers(0, 8, 20)
        assert left.find(groups, shared).tolist() == [
            held(left)[g].get(v, -1) for g, v in zip(groups.tolist(), shared.tolist(), strict=True)
        ]
        one, other = rng.integers(0, 8, 12), rng.integers(0, 5, 12)
        pair, mine, its = common(left, right, one, other)
        expected = [
            (p, held(left)[a][v], held(right)[b][v])
            for p, (a, b) in enumerate(zip(one.tolist(), other.tolist(), strict=True))
            for v in sorted(held(left)[a].keys() & held(right)[b].keys())
        ]
        assert list(zip(pair.tolist(), mine.tolist(), its.tolist(), strict=True)) == expected
        turned, its_too, mine_too = common(right, left, other, one)
        assert [turned.tolist(), mine_too.tolist(), its_too.tolist()] == [pair.tolist(), mine.tolist(), its.tolist()]


def test_equal_keys() -> None:
    one, other = np.array([2, 0, 3]), np.array([0, 2, 1, 2])
    order, start, number = equal_keys(one, other)
    assert [order[s : s + n].tolist() for s, n in zip(start, number, strict=True)] == [[1, 3], [0], []]


def test_pieces_cover_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reissue.counting.segments._PIECE", 10)
    weights = np.array([4, 4, 4, 30, 0, 0, 9, 2])
    parts = list(pieces(weights))
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(8))
    assert all(weights[part].sum() <= 10 or part.stop == part.start + 1 for part in parts)


@pytest.mark.parametrize("bound", [3, 256, 257, 1 << 16, (1 << 16) + 1, 1 << 20, (1 << 32) + 5, 1 << 34])
def test_stable_order(bound: int) -> None:
    keys = np.random.default_rng(2).integers(0, bound, 500)
    keys[:3] = bound - 1
    assert stable_order(keys, bound).tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize("values", [4, 100_000])
def test_counted(values: int) -> None:
    rng = np.random.default_rng(3)
    groups, value, weight = rng.integers(0, 6, 50), rng.integers(0, values, 50), rng.integers(1, 4, 50)
    weight[:5] = 0
    some, plain = counted(groups, value, 7, values, weight), counted(groups, value, 7, values)
    assert some.groups == plain.groups == 7
    for group in range(7):
        pairs = list(zip(value[groups == group].tolist(), weight[groups == group].tolist(), strict=True))
        weighed = {v: sum(w for u, w in pairs if u == v) for v, _ in pairs}
        assert some.counts_of(group) == {v: w for v, w in weighed.items() if w}
        assert plain.counts_of(group) == Counter(v for v, _ in pairs)
        assert (some.group == group).sum() == some.lengths[group] == len(some.counts_of(group))
        assert some.sizes[group] == sum(weighed.values())
    part = some.between(2, 5)
    assert [part.counts_of(g) for g in range(3)] == [some.counts_of(g) for g in range(2, 5)]


def test_a_pool_splits_only_what_it_is_told() -> None:
    leaves: Ints = np.array([0, 1, 2, 3, 0, 1])
    pool = Pool([leaves.astype(np.int32)])
    first = pool.commit(pool.split(np.array([0]), 0, np.array([0, 0, 1, 1]), 2))
    assert first.tolist() == [1, 2]
    assert [sorted(pool.items(np.array([g])).tolist()) for g in (1, 2)] == [[0, 1, 4, 5], [2, 3]]
    second = pool.commit(pool.split(np.array([1]), 0, np.array([0, 2, 1]), 3))
    assert second.tolist() == [3, -1, 4], "nobody is in the middle"
    assert [sorted(pool.items(np.array([g])).tolist()) for g in (2, 3, 4)] == [[2, 3], [0, 4], [1, 5]]
    assert pool.lengths(np.array([0, 1])).tolist() == [0, 0]
