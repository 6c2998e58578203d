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
