"""How values change, by the groups of one release and the true values of the next: against loops and the truth."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import Floats, Ints
from reissue.solver.transition_regression import Followed, Moments
from tests.effort import examples

VALUES = 3
PEOPLE = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, VALUES - 1), st.integers(0, VALUES - 1), st.booleans()),
    min_size=1,
    max_size=12,
)
Person = tuple[int, int, int, bool]


def followed(people: Sequence[Person]) -> Followed:
    """Of people with a group, a value in it, a value in the next release, and whether they are in that."""
    slots: dict[tuple[int, int], int] = {}
    for group, before, _, _ in people:
        slots[group, before] = slots.get((group, before), 0) + 1
    keys = sorted(slots)
    there = [(group, now) for group, _, now, stays in people if stays]
    columns = [[key[0] for key in keys], [key[1] for key in keys], [slots[key] for key in keys]]
    followed = [[one[place] for one in there] for place in (0, 1)]
    return Followed(*(np.array(one, np.int64) for one in (*followed, *columns)))


@given(PEOPLE, PEOPLE)
@examples(200)
def test_the_sums_are_what_loops_give(first: list[Person], second: list[Person]) -> None:
    before, after, changed = np.zeros((VALUES, VALUES)), np.zeros((VALUES, VALUES)), 0
    for people in (first, second):
        for group in {one[0] for one in people}:
            mine = [one for one in people if one[0] == group]
            share = np.array([sum(one[1] == value for one in mine) for value in range(VALUES)]) / len(mine)
            for _, _, now, stays in mine:
                if stays:
                    before += np.outer(share, share)
                    after[:, now] += share
            for value in range(VALUES):
                there = sum(one[3] and one[2] == value for one in mine)
                changed += max(there - sum(one[1] == value for one in mine), 0)
    made = Moments.none().more(followed(first), VALUES).more(followed(second), VALUES)
    assert np.allclose(made.before, before)
    assert np.allclose(made.after, after)
    assert made.changed == changed <= sum(one[3] and one[1] != one[2] for one in (*first, *second))
    steps = made.steps()
    assert (steps is None) == (changed == 0)
    if steps is not None:
        assert (steps > 0).all()
        assert np.allclose(steps.sum(axis=1), 1)


def panel(people: int, size: int, truth: Floats, seed: int) -> Followed:
    """Groups of a size with any values, and what they became."""
    rng = np.random.default_rng(seed)
    before = rng.choice(len(truth), people, p=np.arange(1, len(truth) + 1) / np.arange(1, len(truth) + 1).sum())
    now = np.array([rng.choice(len(truth), p=truth[value]) for value in before])
    group = np.arange(people) // size
    keys, counts = np.unique(np.stack([group, before]), axis=1, return_counts=True)
    return Followed(group, now, keys[0], keys[1], counts)


TRUTH = np.array([[0.7, 0.2, 0.1, 0.0], [0.0, 0.9, 0.05, 0.05], [0.1, 0.0, 0.6, 0.3], [0.02, 0.03, 0.05, 0.9]])


def far(seen: Sequence[Followed]) -> float:
    """Half of L1 between rows, at worst."""
    moments = Moments.none()
    for one in seen:
        moments = moments.more(one, len(TRUTH))
    steps = moments.steps()
    assert steps is not None
    return float(np.abs(steps - TRUTH).sum(axis=1).max() / 2)


def test_of_people_alone_steps_are_counted() -> None:
    """Groups of one: the sums are the counts, and the estimate is theirs, held by a few people."""
    seen = panel(4000, 1, TRUTH, 1)
    moments = Moments.none().more(seen, 4)
    counts = np.zeros((4, 4))
    np.add.at(counts, (seen.cell_value, seen.now), 1)
    assert np.array_equal(moments.after, counts)
    assert np.array_equal(moments.before, np.diag(counts.sum(axis=1)))
    assert moments.changed == counts.sum() - np.trace(counts)
    steps = moments.steps()
    assert steps is not None
    assert np.abs(steps - counts / counts.sum(axis=1, keepdims=True)).max() < 0.01


@pytest.mark.parametrize(("size", "most"), [(5, 0.12), (10, 0.2)])
def test_the_estimate_comes_near_the_truth_and_nearer_with_each_release(size: int, most: float) -> None:
    few, many = (far([panel(3000, size, TRUTH, seed) for seed in range(number)]) for number in (1, 8))
    assert few < most
    assert many < min(few, most / 2)


def test_values_that_stay_are_seen_to_stay() -> None:
    assert Moments.none().more(panel(500, 5, np.eye(4), 2), 4).steps() is None
    some: Ints = np.zeros(0, np.int64)
    assert not Moments.none().more(Followed(some, some, some, some, some), 2).people


def test_values_get_other_numbers_and_more_room() -> None:
    moments = Moments.none().more(panel(300, 3, TRUTH, 3), 4)
    turned = moments.renumbered(np.array([3, 2, 1, -1]), 5)
    assert turned.after[3, 2] == moments.after[0, 1]
    assert not turned.after[0].any()
    assert turned.changed == moments.changed
    assert np.array_equal(moments.grown(6).before[:4, :4], moments.before)
