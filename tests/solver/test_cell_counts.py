"""Exact counts of cells against all ways to choose who fills them, and what they do for a large group."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.solver import Model
from reissue.solver import posterior as solving
from reissue.solver.belief_propagation import count_messages, without_one
from reissue.solver.states import states_of
from tests.effort import examples
from tests.solver import worlds
from tests.solver.worlds import observed


@examples(60)
@given(st.tuples(st.integers(1, 4), st.integers(1, 4)), st.integers(5, 9), st.integers(0, 2**32 - 1))
def test_without_one_is_all_ways_of_the_others(counts: tuple[int, int], members: int, seed: int) -> None:
    odds = np.random.default_rng(seed).random((2, members)) * 9
    found = without_one(odds, np.array(counts))
    for cell, count in enumerate(counts):
        for member in range(members):
            rest = np.delete(odds[cell], member)
            fewer, full = (sum(np.prod(some) for some in combinations(rest, size)) for size in (count - 1, count))
            assert found[cell, member] == pytest.approx(fewer / full)


def test_nobody_at_the_end_of_a_row_changes_nothing() -> None:
    odds = np.array([[0.5, 2.0, 0.1]])
    padded = np.append(odds, [[0.0, 0.0]], axis=1)
    two = np.array([2])
    assert without_one(padded, two)[:, :3] == pytest.approx(without_one(odds, two))


def test_who_alone_can_fill_a_cell_is_taken_for_nearly_sure() -> None:
    assert without_one(np.array([[1.0, 1.0]]), np.array([2])).min() > 1e9


def test_free_members_may_fill_a_cell_too() -> None:
    """Two people and a counterfeit, {a, a, b}: by the count of b alone each has b with one in three."""
    release = states_of(observed([([0, 1], {0: 2, 1: 1}, 1)]), 2)
    ways, everything = np.ones(4), np.ones(4, np.bool_)
    said = count_messages(release, everything, np.ones(4), ways, np.ones(2))
    assert said[1] / (said[0] + said[1]) == pytest.approx(1 / 5)
    assert said == pytest.approx([2, 0.5, 2, 0.5])


def test_a_free_member_that_has_no_other_cell_fills_it() -> None:
    """Three people and a counterfeit that must have b, {a, a, b, b}: one b is left, each has it with one in three.

    The counterfeit's odds were beyond what floats hold, and what people were left with was certain, and wrong.
    """
    release = replace(states_of(observed([([0, 1, 2], {0: 2, 1: 2}, 1)]), 2), chance=np.array([0.0, 1.0]))
    ways, everything = np.ones(6), np.ones(6, np.bool_)
    said = count_messages(release, everything, np.ones(6), ways, np.ones(2)).reshape(3, 2)
    assert said[:, 1] == pytest.approx(1 / 2)
    assert (said > 0).all()


def test_a_register_is_refined_too() -> None:
    """Two may be in either group, and one of them is known by the next release: the counts are whole numbers."""
    first = observed([([0, 1, 2, 3, 4], {0: 2, 1: 1, 2: 1}, 0), ([3, 4, 5], {0: 1, 2: 1}, 0)])
    second = observed([([0, 1], {1: 1, 3: 1}, 0), ([2, 3], {0: 1, 4: 1}, 0)])
    steps = np.eye(5) * 0.8 + 0.04
    truth, off = worlds.posterior([first, second], 5, steps), []
    releases = [states_of(seen, 5) for seen in (first, second)]
    for refined in (False, True):
        problem = solving.Problem.of([first, second], releases, Model(5, steps), refined=refined)
        found = problem.solved(None)
        release = found.releases[0]
        keys = zip(release.person[release.row].tolist(), release.value.tolist(), strict=True)
        exact = np.array([truth.get((person, 0, value), 0.0) for person, value in keys])
        off.append(float(np.abs(found.chance[0] - exact).mean()))
    assert off[1] < off[0]


def test_where_nobody_stands_out_nothing_changes() -> None:
    release = states_of(observed([(list(range(24)), dict.fromkeys(range(12), 2), 0)]), 12)
    ways, everything = np.ones(24 * 12), np.ones(24 * 12, np.bool_)
    assert count_messages(release, everything, ways, ways, np.ones(12)) == pytest.approx(ways)
