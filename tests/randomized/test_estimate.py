"""Estimates by simulation: they are right on average, and 95% intervals hold the truth 95% of the time."""

from collections.abc import Callable

import numpy as np
import pytest

from reissue._arrays import Floats, Ints
from reissue.errors import InputError
from reissue.randomized import Adversary, ProtectedEvents, TrueValues, mechanism, publish
from reissue.randomized.estimate import Inference, counts, mean, regression
from reissue.randomized.side import SideTable, side_table
from tests.randomized.worlds import changes, shares

PEOPLE, TIMES = 1_500, 300
MONEY = np.array([10.0, 20.0, 60.0, 15.0])
RARE = np.array([0.0, 0.0, 1.0, 0.0])


class World:
    """People with an age, classes by age, values that depend on age; what is drawn differs from time to time."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.age = rng.random(PEOPLE) * 2 - 1
        self.classes = (self.age > 0).astype(np.int64)
        odds = np.exp(np.outer(self.age, [0.0, 0.5, 1.0, -1.0]) + np.array([0, -0.3, -0.6, 0.2]))
        chances = odds / odds.sum(1, keepdims=True)
        self.values = (rng.random(PEOPLE)[:, None] > chances.cumsum(1)).sum(1)
        self.cost = MONEY[self.values] + rng.normal(size=PEOPLE) * 5
        chance = 1 / (1 + np.exp(0.5 - RARE[self.values] - 0.5 * self.age))
        self.visit = (rng.random(PEOPLE) < chance).astype(np.float64)
        prior = np.stack([np.bincount(self.values[self.classes == one], minlength=4) for one in (0, 1)])
        wrong = 0.5 * prior / prior.sum(1, keepdims=True) + 0.125  # estimates must not inherit it
        known = Adversary("class", wrong, np.eye(4))
        self.made = mechanism([known], ProtectedEvents.of_values(4, 0.7), changes=False)

    def drawn(self, time: int) -> tuple[SideTable, Ints]:
        key = time.to_bytes(16, "little")
        one = publish(self.made, None, 0, TrueValues(np.arange(PEOPLE), self.values, self.classes), key=key)
        return side_table(one.published, one.belief(), one.prior(), self.classes, 2), one.published


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def drawn(world: World) -> list[Floats]:
    """Weights of many draws."""
    found = []
    for time in range(TIMES):
        table, published = world.drawn(time)
        found.append(table.weights(world.classes, published))
    return found


def both(weights: Floats, age: Floats) -> Floats:
    """Covariates: one, age, and whether the value is the rare one."""
    every = np.broadcast_to(RARE, weights.shape)
    return np.stack([np.ones_like(every), np.broadcast_to(age[:, None], weights.shape), every], axis=-1)


ANALYSES: dict[str, Callable[[World, Floats], Inference]] = {
    "counts": lambda world, w: counts(w),
    "cross table": lambda world, w: counts(w, (world.age > 0.5).astype(np.int64), 2, share=True),
    "mean": lambda world, w: mean(w, MONEY, these_people=True),
    "slope of the value on age": lambda world, w: regression(
        w, np.stack([np.ones(PEOPLE), world.age], 1), np.broadcast_to(RARE, w.shape), these_people=True
    ),
    "log odds of the value by age": lambda world, w: regression(
        w,
        np.stack([np.ones(PEOPLE), world.age], 1),
        np.broadcast_to(RARE, w.shape),
        family="logistic",
        these_people=True,
    ),
    "cost by the value and age": lambda world, w: regression(w, both(w, world.age), world.cost, these_people=True),
    "log odds of a visit by the value and age": lambda world, w: regression(
        w, both(w, world.age), world.visit, family="logistic", these_people=True
    ),
}


@pytest.mark.parametrize("name", ANALYSES)
def test_estimates_are_unbiased_and_intervals_cover(name: str, world: World, drawn: list[Floats]) -> None:
    truth = ANALYSES[name](world, np.eye(4)[world.values]).value
    found = [ANALYSES[name](world, weights) for weights in drawn]
    values = np.stack([one.value for one in found])
    spread = values.std(0)
    assert (np.abs(values.mean(0) - truth) < 4 * spread / np.sqrt(TIMES) + 0.1 * spread).all()
    low, high = (np.stack(ends) for ends in zip(*(one.interval() for one in found), strict=True))
    covered = ((low <= truth) & (truth <= high)).mean(0)
    assert (covered >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / TIMES)).all()
    assert covered.mean() == pytest.approx(0.95, abs=0.03)


def test_intervals_for_a_population_cover_its_coefficients() -> None:
    rng = np.random.default_rng(4)
    matrix = 0.6 * np.eye(2) + 0.4 * np.array([0.7, 0.3])
    inverse, inside = np.linalg.inv(matrix), 0
    for _ in range(300):
        age = rng.random(400)
        value = (rng.random(400) < 0.2 + 0.5 * age).astype(int)
        shown = np.where(rng.random(400) < matrix[value, 0], 0, 1)
        one = regression(
            np.asarray(inverse[shown], np.float64),
            np.stack([np.ones(400), age], 1),
            np.broadcast_to([0.0, 1.0], (400, 2)),
        )
        low, high = one.interval()
        inside += int(low[1] <= 0.5 <= high[1])
    assert inside / 300 == pytest.approx(0.95, abs=0.04)


def test_as_published_slopes_are_attenuated_and_expected_weights_count_right(world: World, drawn: list[Floats]) -> None:
    table, published = world.drawn(0)
    x = np.stack([np.ones(PEOPLE), world.age], 1)
    true = regression(np.eye(4)[world.values], x, np.broadcast_to(RARE, (PEOPLE, 4))).value[1]
    raw = regression(np.eye(4)[published], x, np.broadcast_to(RARE, (PEOPLE, 4))).value[1]
    assert raw < 0.95 * true
    expected = counts(table.weights(world.classes, published, "expected")).value[0]
    error = counts(drawn[0]).error[0]
    assert (np.abs(expected - np.bincount(world.values, minlength=4)) < 4 * error).all()


def test_side_table_of_a_first_release_is_the_mechanism() -> None:
    rng = np.random.default_rng(9)
    prior = shares(rng, 1, 3)
    made = mechanism([Adversary("alike", prior, changes(rng, 3))], ProtectedEvents.of_values(3, 0.9))
    values = rng.choice(3, 200_000, p=prior[0])
    zero = np.zeros(len(values), np.int64)
    one = publish(made, None, 0, TrueValues(np.arange(len(values)), values, zero), key=b"sixteen bytes...")
    table = side_table(one.published, one.belief(), one.prior(), zero, 1)
    np.testing.assert_allclose(table.unbiased[0].T @ made.first[0].T, np.eye(3), atol=0.05)
    np.testing.assert_allclose(table.unbiased.sum(2), 1)


def test_what_is_not_determined_is_refused() -> None:
    with pytest.raises(InputError, match="determine"):
        regression(np.eye(2)[[0, 1, 0]], np.ones((3, 2)), np.ones(3))
