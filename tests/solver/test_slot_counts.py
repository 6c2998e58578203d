"""Exact counts of slots against all ways to choose who fills them, and what they do for a large group."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.solver.iterative_scaling import Chains, messages_of, posterior, scale
from reissue.solver.observations import layer_of
from reissue.solver.sharpening import sharpened
from reissue.solver.slot_counts import count_messages, without_one
from reissue.solver.transitions import Model
from tests.effort import examples
from tests.solver import worlds
from tests.solver.worlds import observed


@examples(60)
@given(st.tuples(st.integers(1, 4), st.integers(1, 4)), st.integers(5, 9), st.integers(0, 2**32 - 1))
def test_without_one_is_all_ways_of_the_others(counts: tuple[int, int], members: int, seed: int) -> None:
    odds = np.random.default_rng(seed).random((2, members)) * 9
    found = without_one(odds, np.array(counts))
    for slot, count in enumerate(counts):
        for member in range(members):
            rest = np.delete(odds[slot], member)
            fewer, full = (sum(np.prod(some) for some in combinations(rest, size)) for size in (count - 1, count))
            assert found[slot, member] == pytest.approx(fewer / full)


def test_nobody_at_the_end_of_a_row_changes_nothing() -> None:
    odds = np.array([[0.5, 2.0, 0.1]])
    padded = np.append(odds, [[0.0, 0.0]], axis=1)
    two = np.array([2])
    assert without_one(padded, two)[:, :3] == pytest.approx(without_one(odds, two))


def test_who_alone_can_fill_a_slot_is_taken_for_nearly_sure() -> None:
    assert without_one(np.array([[1.0, 1.0]]), np.array([2])).min() > 1e9


def test_free_members_may_fill_a_slot_too() -> None:
    """Two people and a counterfeit, {a, a, b}: by the count of b alone each has b with one in three."""
    layer = layer_of(observed([([0, 1], {0: 2, 1: 1}, 1)]), 2)
    ways, everything = np.ones(4), np.ones(4, np.bool_)
    said = count_messages(layer, everything, np.ones(4), ways, np.ones(2))
    assert said[1] / (said[0] + said[1]) == pytest.approx(1 / 5)
    assert said == pytest.approx([2, 0.5, 2, 0.5])


def test_a_free_member_that_has_no_other_slot_fills_it() -> None:
    """Three people and a counterfeit that must have b, {a, a, b, b}: one b is left, each has it with one in three.

    The counterfeit's odds were beyond what floats hold, and what people were left with was certain, and wrong.
    """
    layer = replace(layer_of(observed([([0, 1, 2], {0: 2, 1: 2}, 1)]), 2), chance=np.array([0.0, 1.0]))
    ways, everything = np.ones(6), np.ones(6, np.bool_)
    said = count_messages(layer, everything, np.ones(6), ways, np.ones(2)).reshape(3, 2)
    assert said[:, 1] == pytest.approx(1 / 2)
    assert (said > 0).all()


def test_a_register_is_sharpened_too() -> None:
    """Two may be in either group, and one of them is known by the next release: the counts are whole numbers."""
    first = observed([([0, 1, 2, 3, 4], {0: 2, 1: 1, 2: 1}, 0), ([3, 4, 5], {0: 1, 2: 1}, 0)])
    second = observed([([0, 1], {1: 1, 3: 1}, 0), ([2, 3], {0: 1, 4: 1}, 0)])
    steps = np.eye(5) * 0.8 + 0.04
    model = Model(5, steps)
    truth = worlds.posterior([first, second], 5, steps)
    chains = Chains.of([layer_of(seen, 5) for seen in (first, second)], model)
    scaled = scale(chains)
    messages = messages_of(chains, scaled)
    off = []
    for chance in (posterior(chains, messages), sharpened(chains, messages, multipliers=scaled.multipliers)[0]):
        layer = chains.layers[0]
        keys = zip(layer.person[layer.row].tolist(), layer.value.tolist(), strict=True)
        exact = np.array([truth.get((person, 0, value), 0.0) for person, value in keys])
        off.append(float(np.abs(chance[0] - exact).mean()))
    assert off[1] < off[0]


def test_where_nobody_stands_out_nothing_changes() -> None:
    layer = layer_of(observed([(list(range(24)), dict.fromkeys(range(12), 2), 0)]), 12)
    ways, everything = np.ones(24 * 12), np.ones(24 * 12, np.bool_)
    assert count_messages(layer, everything, ways, ways, np.ones(12)) == pytest.approx(ways)
