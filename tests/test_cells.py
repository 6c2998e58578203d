"""Packed keys against tuples, counts against a Counter."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.counting import Counts, Domain, cells_of, distinct_keys, pack, rank
from tests.effort import examples


@st.composite
def matrices(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Columns of codes below their sizes; some sizes so large that their product passes 63 bits."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 7, 1000, 2**20, 2**31 - 1]), min_size=1, max_size=6))
    rows = draw(st.integers(0, 12))
    columns = [
        draw(st.lists(st.integers(0, size - 1) | st.just(size - 1) | st.just(0), min_size=rows, max_size=rows))
        for size in sizes
    ]
    return columns, sizes


@given(matrices())
def test_keys_are_equal_and_ordered_like_tuples(matrix: tuple[list[list[int]], list[int]]) -> None:
    columns, sizes = matrix
    keys, bound = pack([np.array(column, np.int32) for column in columns], sizes)
    assert keys.dtype == np.int64
    assert bound <= 2**63 - 1
    assert all(0 <= key < bound for key in keys.tolist())
    rows = list(zip(*columns, strict=True))
    for one, key in zip(rows, keys.tolist(), strict=True):
        for other, another in zip(rows, keys.tolist(), strict=True):
            assert (one < other) == (key < another)
            assert (one == other) == (key == another)


def test_a_product_beyond_63_bits_is_ranked_on_the_way() -> None:
    columns = [np.array([0, 2**31 - 2, 5], np.int32)] * 5
    keys, bound = pack(columns, [2**31 - 1] * 5)
    assert keys.argsort().tolist() == [0, 2, 1]
    assert (2**31 - 1) ** 5 > 2**63 > bound


def test_packing_leaves_its_input_alone() -> None:
    first = np.array([3, 4], np.int64)
    pack([first, np.array([1, 1], np.int32)], [5, 2])
    assert first.tolist() == [3, 4]


@given(st.lists(st.integers(0, 50), max_size=40), st.sampled_from([51, 10**6]))
def test_ranks_and_distinct_keys(keys: list[int], bound: int) -> None:
    array = np.array(keys, np.int64)
    expected = sorted(set(keys))
    distinct, place = distinct_keys(array, bound)
    assert distinct.tolist() == expected
    assert [expected[at] for at in place.tolist()] == keys
    dense, number = rank(array)
    assert dense.tolist() == place.tolist()
    assert number == max(len(expected), 1)


@examples(200)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 3)), max_size=30),
    st.booleans(),
    st.sampled_from([6, 2000]),
    st.integers(0, 3),
)
def test_counts_are_those_of_a_counter(
    rows: list[tuple[int, int, int]], weighted: bool, values: int, more: int
) -> None:
    groups, sensitive, weights = (np.array([row[place] for row in rows], np.int32) for place in range(3))
    expected: Counter[tuple[int, int]] = Counter()
    sizes: Counter[int] = Counter()
    for group, value, weight in rows:
        expected[group, value] += weight if weighted else 1
        sizes[group] += weight if weighted else 1
    total = max((row[0] for row in rows), default=-1) + 1 + more
    domain = Domain(np.bincount(sensitive, minlength=values))
    counts = Counts(groups, sensitive, domain, total, weights.astype(np.int64) if weighted else None)
    triples = list(zip(counts.group.tolist(), counts.value.tolist(), counts.count.tolist(), strict=True))
    assert triples == sorted((group, value, number) for (group, value), number in expected.items() if number)
    assert counts.sizes.tolist() == [sizes[group] for group in range(total)]
    for group in range(total):
        own = [number for (of, _), number in expected.items() if of == group and number]
        assert counts.distinct[group] == len(own)
        assert counts.largest[group] == max(own, default=0)
    assert counts.sum(counts.count.astype(np.float64)).tolist() == [float(size) for size in counts.sizes]


def test_the_number_of_groups_follows_from_the_groups() -> None:
    counts = Counts(np.array([2, 0], np.int32), np.array([0, 0], np.int32), Domain(np.array([2])))
    assert counts.total == 3
    assert counts.sizes.tolist() == [1, 0, 1]


def test_shares_of_a_domain() -> None:
    assert Domain(np.array([1, 3])).shares.tolist() == [0.25, 0.75]
    assert Domain(np.array([0, 0])).shares.tolist() == [0.0, 0.0]
    assert Domain(np.array([1, 3, 0])).positions.tolist() == [0.0, 1.0, 2.0]


@given(matrices())
def test_cells_are_the_distinct_combinations(matrix: tuple[list[list[int]], list[int]]) -> None:
    columns, sizes = matrix
    codes = np.array(columns, np.int32).reshape(len(sizes), -1)
    cells = cells_of(codes, sizes)
    rows = list(zip(*columns, strict=True))
    counted = Counter(rows)
    found = [tuple(cell) for cell in cells.codes.T.tolist()]
    assert found == sorted(counted)
    assert cells.sizes.tolist() == [counted[cell] for cell in found]
    assert [found[at] for at in cells.of_row.tolist()] == rows


@pytest.mark.parametrize("size", [0, 1])
def test_an_attribute_with_one_value_or_none(size: int) -> None:
    keys, bound = pack([np.zeros(3, np.int32)] * 2, [size, size])
    assert keys.tolist() == [0, 0, 0]
    assert bound == 1
