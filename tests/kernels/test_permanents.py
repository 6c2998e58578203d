"""Exact messages against all permutations."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.kernels.everyone.permanents import others
from tests.effort import examples


@examples(60)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_others_are_the_permanents_of_the_rest(multiplicities: list[int], seed: int) -> None:
    counts = np.array(sorted(multiplicities, reverse=True))
    weights = np.random.default_rng(seed).random((2, int(counts.sum()), len(counts)))
    found = others(weights, counts)
    slots = np.repeat(np.arange(len(counts)), counts)
    for group in range(2):
        for member in range(len(slots)):
            plain = np.zeros(len(counts))
            for order in set(permutations(slots.tolist())):
                plain[order[member]] += np.prod(
                    [weights[group, other, value] for other, value in enumerate(order) if other != member]
                )
            assert found[group, member] / found[group, member].sum() == pytest.approx(plain / plain.sum())


@pytest.mark.parametrize("counts", [[1, 1, 1, 1], [3, 2, 1], [2, 2, 2, 1]])
def test_many_groups_beside_each_other_are_as_a_few(counts: list[int]) -> None:
    shown = np.array(counts)
    weights = np.random.default_rng(0).random((60, sum(counts), len(counts)))
    apart = np.concatenate([others(weights[at : at + 5], shown) for at in range(0, 60, 5)])
    assert others(weights, shown) == pytest.approx(apart, rel=1e-12)
