"""Taxonomies side by side answer as each of them alone, and bound what is saved below a node."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reissue import Table
from reissue.taxonomy import Forest, Taxonomy, forest
from tests.effort import examples
from tests.strategies import Case, tables


def _intervals(trees: tuple[Taxonomy, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every interval of every attribute."""
    found = [(p, lo, hi) for p, tree in enumerate(trees) for lo in range(tree.size) for hi in range(lo, tree.size)]
    place, lo, hi = np.array(found).T
    return place, lo.astype(np.int32), hi.astype(np.int32)


def _cut(tree: Taxonomy, median: int, lo: int, hi: int) -> int:
    """From the definition: the first leaf of the median's child, or of the next child if that is the first."""
    if tree.runs:
        if tree.missing and hi == tree.size - 1 and lo < hi:
            return hi
        return median if median > lo else median + 1
    apart = [level for level in tree.levels if level.node[lo] != level.node[hi]]
    level = apart[-1] if apart else tree.levels[0]
    start = int(level.lo[median])
    return start if start > lo else int(level.hi[median]) + 1


@examples(100)
@given(case=tables(max_rows=12), tight=st.booleans(), small=st.booleans())
def test_answers_are_those_of_each_alone(case: Case, tight: bool, small: bool) -> None:
    trees = Table.read(case.frame, case.schema).with_boxes(tight=tight).taxonomies
    place, lo, hi = _intervals(trees)
    kept, forest._SMALL = forest._SMALL, 512 if small else 0
    try:
        together = Forest.of(trees)
        lowest, lost = together.lowest(place, lo, hi), together.lost(place, lo, hi)
        cuts = [together.cut_near(place, median, lo, hi).tolist() for median in (lo, (lo + hi) // 2, hi)]
    finally:
        forest._SMALL = kept
    for number, (at, low, high) in enumerate(zip(place.tolist(), lo.tolist(), hi.tolist(), strict=True)):
        one, other = lo[number : number + 1], hi[number : number + 1]
        assert lowest[number] == trees[at].lowest(one, other)[0]
        assert lost[number] == trees[at].lost(one, other)[0]
        medians = (low, (low + high) // 2, high)
        assert [cut[number] for cut in cuts] == [_cut(trees[at], median, low, high) for median in medians]


@examples(100)
@given(case=tables(max_rows=12))
def test_no_node_below_another_saves_more(case: Case) -> None:
    """From the definition: a node saves, at most, its loss without that of the child that loses least."""
    for tree in Table.read(case.frame, case.schema).with_boxes(tight=False).taxonomies:
        together = Forest.of([tree])
        for number, above in enumerate(tree.levels):
            for node, (first, after) in enumerate(zip(above.first[:-1], above.first[1:], strict=True)):
                leaves = np.arange(first, after)
                found = [0.0]
                for below, level in enumerate(tree.levels[1 : number + 1]):
                    children = tree.levels[below]
                    for one in np.unique(level.node[leaves]):
                        mine = np.unique(children.node[level.node == one])
                        each = [float(_loss(tree, children.first[child], children.first[child + 1])) for child in mine]
                        found.append(float(_loss(tree, level.first[one], level.first[one + 1])) - min(each))
                assert together.node_saves[number * tree.size + node] == max(found)


def _loss(tree: Taxonomy, first: int, after: int) -> float:
    return float(tree.loss(np.array([first], np.int32), np.array([after - 1], np.int32))[0])
