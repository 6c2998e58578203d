"""Exact messages against all permutations."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.solver.observation import assignments
from reissue.solver.permanents import exact_messages, others, ruled_out, small_groups
from reissue.solver.states import states_of
from tests.effort import examples
from tests.solver.worlds import observed


@examples(60)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_others_are_the_permanents_of_the_rest(multiplicities: list[int], seed: int) -> None:
    counts = np.array(sorted(multiplicities, reverse=True))
    weights = np.random.default_rng(seed).random((2, int(counts.sum()), len(counts)))
    found = others(weights, counts)
    cells = np.repeat(np.arange(len(counts)), counts)
    for group in range(2):
        for member in range(len(cells)):
            plain = np.zeros(len(counts))
            for order in set(permutations(cells.tolist())):
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


def test_what_rounding_makes_0_is_not_ruled_out() -> None:
    """A person and three counterfeits, {a, a, a, b}: where these hardly ever have a, the person may still have b."""
    release = replace(states_of(observed([([0], {0: 3, 1: 1}, 3)]), 2), chance=np.array([1e-200, 1.0]))
    (small,) = small_groups([release])
    assert (exact_messages(small, np.ones(2), release.chance) == 0).tolist() == [False, True]
    assert not ruled_out([small], np.ones(2, np.bool_), release.chance).any()


def test_what_leaves_no_way_to_the_others_is_ruled_out() -> None:
    """{a, b, c}: the first two can have a and b only, so the third has c, though all three fit the third."""
    release = states_of(observed([([0, 1, 2], {0: 1, 1: 1, 2: 1}, 0)]), 3, (np.array([0, 0, 1, 1, 2, 2, 2]), PLACES))
    asked = np.ones(7, np.bool_)
    assert ruled_out(small_groups([release]), asked, release.chance).tolist() == [False] * 4 + [True, True, False]
    asked[4] = False
    assert ruled_out(small_groups([release]), asked, release.chance).tolist() == [False] * 5 + [True, False]


@pytest.mark.parametrize("seed", range(20))
def test_only_groups_that_are_asked_for_are_looked_at(seed: int) -> None:
    """Of several groups of one kind, some values open at random: as if all had been asked for."""
    rng = np.random.default_rng(seed)
    seen = observed([([3 * one, 3 * one + 1, 3 * one + 2], {0: 1, 1: 1, 2: 1}, 0) for one in range(6)])
    person, cell = assignments(seen)
    kept = (rng.random(len(person)) < 0.6) | (cell % 3 == person % 3)  # one way for all is left
    release = states_of(seen, 3, (person[kept], cell[kept]))
    small, asked = small_groups([release]), rng.random(release.states) < 0.15
    everything = ruled_out(small, np.ones(release.states, np.bool_), release.chance)
    assert ruled_out(small, asked, release.chance).tolist() == (everything & asked).tolist()


PLACES = np.array([0, 1, 0, 1, 0, 1, 2])
