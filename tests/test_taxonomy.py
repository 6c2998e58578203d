"""Interval arithmetic on trees against sets of leaves."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.taxonomy import ROOT, Coding, Taxonomy, prepare
from tests.strategies import leaves_of, trees

Set = frozenset[str | None]


def coding(hierarchy: Hierarchy, values: list[Any], dtype: Any = None) -> Coding:
    return Coding.build(hierarchy, prepare(pl.Series("x", values, dtype=dtype), hierarchy))


def of_tree(tree: Mapping[str, Any], *, missing: bool = False) -> Taxonomy:
    return coding(Hierarchy("tree", tree=tree), [None] if missing else [], pl.String).taxonomy


def nodes_of(tree: Mapping[str, Any], *, missing: bool) -> list[Set]:
    """All nodes as sets of leaves: the root first, then parents before children. A single top is the root itself."""
    while len(tree) == 1 and next(iter(tree.values())):
        tree = next(iter(tree.values()))
    found: list[Set] = [frozenset([*leaves_of(tree), *([None] if missing else [])])]
    stack = list(tree.items())
    while stack:
        name, below = stack.pop(0)
        found.append(frozenset(leaves_of(below)) if below else frozenset([name]))
        stack += list(below.items())
    return [*found, *([frozenset([None])] if missing else [])]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Taxonomy, list[Set]]:
    tree, missing = draw(trees(depth=3)), draw(st.booleans())
    taxonomy = of_tree(tree, missing=missing)
    if not missing:
        # Without values a column counts as all missing, which is a leaf; code one value instead.
        taxonomy = coding(Hierarchy("tree", tree=tree), leaves_of(tree)[:1], pl.String).taxonomy
    return taxonomy, nodes_of(tree, missing=missing)


def interval(taxonomy: Taxonomy, leaves: Set) -> tuple[int, int]:
    codes = sorted(taxonomy.names.index(leaf) for leaf in leaves)
    assert codes == list(range(codes[0], codes[-1] + 1)), "a node is an interval"
    return codes[0], codes[-1]


@given(cases())
def test_nodes_are_intervals_and_levels_coarsen(case: tuple[Taxonomy, list[Set]]) -> None:
    taxonomy, nodes = case
    known = {interval(taxonomy, node) for node in nodes}
    above: set[tuple[int, int]] = set()
    for level in taxonomy.levels:
        bounds = set(zip(level.first[:-1].tolist(), (level.first[1:] - 1).tolist(), strict=True))
        assert bounds <= known
        assert (np.diff(level.node) >= 0).all()
        above |= bounds
    assert above == known
    for below, coarser in itertools.pairwise(taxonomy.levels):
        assert all(len(set(coarser.node[below.node == node].tolist())) == 1 for node in set(below.node.tolist()))
    assert taxonomy.levels[-1].names == (ROOT,)
    assert taxonomy.missing == (taxonomy.names[-1] is None)


@given(cases(), st.data())
def test_snap_gives_the_smallest_node(case: tuple[Taxonomy, list[Set]], data: st.DataObject) -> None:
    taxonomy, nodes = case
    lo, hi = sorted(data.draw(st.tuples(*[st.integers(0, taxonomy.size - 1)] * 2)))
    known = [interval(taxonomy, node) for node in nodes]
    best = min((b - a, a, b) for a, b in known if a <= lo and hi <= b)
    low, high = taxonomy.snap(np.array([lo], np.int32), np.array([hi], np.int32))
    assert (low[0], high[0]) == best[1:]
    level = taxonomy.levels[int(taxonomy.lowest(np.array([lo], np.int32), np.array([hi], np.int32))[0])]
    assert (level.lo[lo], level.hi[lo]) == best[1:]
    expected = (best[2] - best[1]) / max(taxonomy.size - 1, 1)
    assert taxonomy.loss(low, high)[0] == pytest.approx(expected)
    assert taxonomy.lost(np.array([lo], np.int32), np.array([hi], np.int32))[0] == taxonomy.loss(low, high)[0]


@given(cases())
def test_children_are_the_largest_nodes_below(case: tuple[Taxonomy, list[Set]]) -> None:
    taxonomy, nodes = case
    known = {interval(taxonomy, node) for node in nodes}
    for lo, hi in known:
        inside = {(a, b) for a, b in known if lo <= a and b <= hi and (a, b) != (lo, hi)}
        largest = {(a, b) for a, b in inside if not any(c <= a and b <= d and (a, b) != (c, d) for c, d in inside)}
        assert taxonomy.children(lo, hi) == sorted(largest)


@given(cases(), st.data())
def test_the_join_of_cuts_takes_the_larger_node_on_every_path(
    case: tuple[Taxonomy, list[Set]], data: st.DataObject
) -> None:
    taxonomy, _ = case

    def descend(lo: int, hi: int) -> list[tuple[int, int]]:
        below = taxonomy.children(lo, hi)
        return (
            [(lo, hi)] if not below or data.draw(st.booleans()) else [leaf for node in below for leaf in descend(*node)]
        )

    drawn = [descend(0, taxonomy.size - 1) for _ in range(data.draw(st.integers(1, 3)))]
    cuts = [np.concatenate([np.full(hi - lo + 1, lo, np.int32) for lo, hi in cut]) for cut in drawn]
    joined = Taxonomy.join(cuts)
    for leaf in range(taxonomy.size):
        own = [next((lo, hi) for lo, hi in cut if lo <= leaf <= hi) for cut in drawn]
        widest = max(own, key=lambda node: node[1] - node[0])
        assert (joined[leaf], Taxonomy.ends(joined)[leaf]) == widest


@given(cases())
def test_a_level_is_a_cut(case: tuple[Taxonomy, list[Set]]) -> None:
    taxonomy, _ = case
    for number, level in enumerate(taxonomy.levels):
        cut = taxonomy.cut(number)
        assert cut.tolist() == level.lo.tolist()
        assert Taxonomy.ends(cut).tolist() == level.hi.tolist()


def test_runs_of_numbers_are_published_as_they_are() -> None:
    taxonomy = coding(Hierarchy("ranges", ranges=(5.0, 10.0)), [1, 3, 4, 7, 12]).taxonomy
    bounds = np.array([0, 1, 0, 2], np.int32), np.array([0, 2, 2, 4], np.int32)
    assert taxonomy.text(*taxonomy.snap(*bounds)) == ["1", "[0, 4]", "[0, 4]", ROOT], "only nodes, by default"
    taxonomy = replace(taxonomy, runs=True)
    low, high = taxonomy.snap(*bounds)
    assert taxonomy.text(low, high) == ["1", "[3, 4]", "[0, 4]", "[4, 12]"]
    assert taxonomy.text(np.array([0], np.int32), np.array([4], np.int32)) == [ROOT]
    assert taxonomy.loss(low, high).tolist() == [0, 1 / 11, 3 / 11, 8 / 11] == taxonomy.lost(*bounds).tolist()


def test_what_is_lost_is_the_same_in_a_large_domain() -> None:
    taxonomy = coding(Hierarchy("ranges", ranges=(5.0, 100.0)), list(range(1000))).taxonomy
    bounds = np.array([0, 3, 998, 0], np.int32), np.array([0, 4, 999, 999], np.int32)
    assert taxonomy.lost(*bounds).tolist() == [0, 4 / 999, 4 / 999, 1]


def test_numbers_together_with_missing_are_the_root() -> None:
    taxonomy = coding(Hierarchy("ranges", ranges=(5.0,)), [1, 3, 4, None]).taxonomy
    low, high = taxonomy.snap(np.array([1, 3, 0], np.int32), np.array([3, 3, 2], np.int32))
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [(0, 3), (3, 3), (0, 2)]
    assert taxonomy.text(low, high) == [ROOT, None, "[0, 4]"]
    assert taxonomy.loss(low, high)[0] == 1


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_missing_weighs_like_one_value_on_every_scale(scale: float) -> None:
    taxonomy = coding(Hierarchy("auto"), [scale * number for number in range(11)] + [None]).taxonomy
    loss = taxonomy.loss(np.array([0, 0], np.int32), np.array([10, 11], np.int32))
    assert loss.tolist() == pytest.approx([10 / 11, 1])


def test_one_leaf_has_nothing_to_lose() -> None:
    taxonomy = coding(Hierarchy("flat"), ["only"]).taxonomy
    nothing = np.zeros(1, np.int32)
    assert taxonomy.loss(nothing, nothing).tolist() == [0]
    assert taxonomy.text(nothing, nothing) == ["only"]
    assert taxonomy.children(0, 0) == []
    assert taxonomy.height == 1
