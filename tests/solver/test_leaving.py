"""Who leaves: as all worlds say where it is known how soon, learnt near the truth where it is not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reissue._arrays import Floats, Ints
from reissue.attacks.joint.base_rates import made_by_value
from reissue.attacks.joint.solving.beliefs import Unsolved
from reissue.attacks.joint.solving.believe import believe, solve
from reissue.solver.elimination import narrow
from reissue.solver.learning.leaving import Leaving, together
from reissue.solver.observations import Observation
from reissue.solver.settled import unsettled
from reissue.solver.transitions import Model
from tests.solver import worlds
from tests.solver.series import KINDS, tiny
from tests.solver.worlds import observed

RATES = np.array([0.9, 0.3, 0.05])
STEPS = np.array([[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.02, 0.08, 0.9]])
LEAVING = np.array([0.5, 0.05, 0.02])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "totals" not in kind])
def test_where_it_is_known_how_soon_people_leave_it_is_solved_as_all_worlds_say(kind: str) -> None:
    """All worlds, each weighed by how likely those who leave would leave, and those who stay would stay."""
    differ = 0
    for seed in range(30):
        case = tiny(np.random.default_rng([seed, 5, len(kind)]), **KINDS[kind])
        model = Model(case.values, case.steps)
        truth = worlds.posterior(case.series, case.values, case.steps, leaving=RATES)
        found = _solved(case.series, model, RATES)
        for (person, place, value), chance in found.items():
            assert chance == pytest.approx(truth.get((person, place, value), 0.0), abs=1e-9)
        alike = worlds.posterior(case.series, case.values, case.steps)
        differ += any(abs(alike[key] - truth[key]) > 0.01 for key in alike)
    assert differ >= 3


def test_fates() -> None:
    first = observed([([0, 1, 2], {0: 2, 1: 1}, 0)])
    second = observed([([0, 3], {0: 2}, 0)], absent=[2])
    third = observed([([3], {0: 1}, 0)])
    fates = Leaving.of([first, second, third], 4).fates
    assert [one.tolist() for one in fates] == [[0, 1, 2, 2], [1, 2, 2, 0], [2, 2, 2, 2]]


def test_fates_of_slots_are_those_of_who_is_in_them() -> None:
    """Person 5 leaves slot 0, and its counterfeit stays; person 6 stays in slot 1."""
    first = replace(observed([([0, 1], {0: 1, 1: 1}, 0)]), occupant=np.array([5, 6]))
    second = replace(first, occupant=np.array([-1, 6]))
    fates = Leaving.of([first, second, second], 7).fates
    assert [one[:2].tolist() for one in fates] == [[1, 0], [2, 0], [2, 2]]


def test_it_comes_near_how_soon_people_leave_and_claims_are_righter() -> None:
    series, truth = hospital(np.random.default_rng(3), LEAVING)
    prior = np.full((len(truth[0]), 3), 1 / 3)
    without = believe(series, Model(3, STEPS), prior=prior, sees_leaving=False)
    learnt = believe(series, Model(3, STEPS), prior=prior)
    assert without.leaving is None
    assert learnt.leaving is not None
    assert learnt.leaving.rates == pytest.approx(LEAVING, abs=0.06)
    assert surprise(learnt.layers, learnt.chance, truth) < 0.95 * surprise(without.layers, without.chance, truth)


def test_of_groups_made_otherwise_rough_solutions_teach_as_well() -> None:
    """Whoever asks for exact learns from solutions that are sharpened and fitted to the end."""
    series, truth = hospital(np.random.default_rng(4), LEAVING, together=4)
    prior = np.full((len(truth[0]), 3), 1 / 3)
    assert not made_by_value(series)
    roughly, exactly = (believe(series, Model(3, STEPS), prior=prior, exact=exact) for exact in (False, True))
    assert roughly.leaving is not None
    assert exactly.leaving is not None
    assert roughly.leaving.rates == pytest.approx(exactly.leaving.rates, abs=0.02)
    assert roughly.leaving.rates == pytest.approx(LEAVING, abs=0.06)
    pair = (surprise(one.layers, one.chance, truth) for one in (roughly, exactly))
    assert next(pair) == pytest.approx(next(pair), rel=0.01)


def test_where_values_do_not_differ_nothing_is_learnt() -> None:
    """Beyond chance: to the last digit it is as if nobody had looked."""
    for seed in range(5):
        series, truth = hospital(np.random.default_rng([seed, 1]), np.full(3, 0.2))
        prior = np.full((len(truth[0]), 3), 1 / 3)
        found = believe(series, Model(3, STEPS), prior=prior)
        assert not found.leaving_learnt
        without = believe(series, Model(3, STEPS), prior=prior, sees_leaving=False)
        assert all(np.array_equal(*pair) for pair in zip(found.chance, without.chance, strict=True))


def test_few_people_teach_nothing() -> None:
    one = observed([([0, 1, 2], {0: 2, 1: 1}, 0)])
    other = observed([([0, 1], {0: 1, 1: 1}, 0)])
    assert not believe([one, other], Model(2), prior=np.full((3, 2), 0.5)).leaving_learnt


def test_groups_made_by_value_say_nothing_about_values_that_stay() -> None:
    """The lemma of m-invariance: whoever leaves, everyone has each value with one half (promise page)."""
    pairs = [([2 * pair, 2 * pair + 1], {0: 1, 1: 1}, 0) for pair in range(200)]
    fewer = [([2 * pair, 2 * pair + 1], {0: 1, 1: 1}, 0) for pair in range(0, 200, 2)]
    found = believe([observed(pairs), observed(fewer)], Model(2), prior=np.full((400, 2), 0.5))
    assert found.leaving is None
    assert all(one == pytest.approx(0.5) for one in found.chance)


def test_what_was_learnt_before_is_where_it_begins() -> None:
    """With the same releases nothing moves any more, and it is solved once."""
    series, truth = hospital(np.random.default_rng(3), LEAVING)
    prior = np.full((len(truth[0]), 3), 1 / 3)
    learnt = believe(series, Model(3, STEPS), prior=prior)
    assert learnt.leaving is not None
    again = believe(series, Model(3, STEPS), prior=prior, leaving=learnt.leaving.rates)
    assert again.leaving is not None
    assert again.leaving.rates == pytest.approx(learnt.leaving.rates, rel=0.05)
    for one, other in zip(again.chance, learnt.chance, strict=True):
        assert np.abs(one - other).max() < 0.02


def test_blocks_are_joined() -> None:
    series = [observed([([0, 1], {0: 1, 1: 1}, 0)])] * 2
    one, other = Leaving.of(series, 2, np.array([0.1, 0.2])), Leaving.of(series, 2)
    joined = together(one, other)
    assert joined is not None
    assert len(joined.fates) == 4
    assert joined.rates.tolist() == [0.1, 0.2]
    assert together(one, None) is None


def hospital(rng: np.random.Generator, leaving: Floats, together: int = 2) -> tuple[list[Observation], list[Ints]]:
    """Six releases of 600 people in groups of so many, drawn anew each time; whoever leaves is replaced."""
    people = 600
    value, person, series, truth = rng.integers(0, 3, people), np.arange(people), [], []
    for _ in range(6):
        order = rng.permutation(people)
        groups = [(person[some].tolist(), _shown(value[some].tolist()), 0) for some in order.reshape(-1, together)]
        series.append(observed(groups))
        truth.append((person.copy(), value.copy()))
        gone = rng.random(people) < leaving[value]
        value = np.array([rng.choice(3, p=STEPS[one]) for one in value])
        value[gone], person[gone] = rng.integers(0, 3, gone.sum()), person.max() + 1 + np.arange(gone.sum())
    everyone = max(int(one.max()) for one, _ in truth) + 1
    made = []
    for who, has in truth:
        made.append(np.full(everyone, -1))
        made[-1][who] = has
    return series, made


def _shown(values: list[int]) -> dict[int, int]:
    return {value: values.count(value) for value in values}


def surprise(layers: Any, chance: Any, truth: list[Ints]) -> float:
    """The mean of minus the logarithm of what is claimed for the true value."""
    found = []
    for layer, one, true in zip(layers, chance, truth, strict=True):
        found.append(layer.sums(one * (layer.value == true[layer.person[layer.row]])))
    return float(-np.log(np.maximum(np.concatenate(found), 1e-6)).mean())


def _solved(series: list[Observation], model: Model, rates: Floats) -> dict[tuple[int, int, int], float]:
    narrowed = narrow(series, model)
    people = max(int(seen.people.max()) for seen in series) + 1
    unsolved = Unsolved.of(
        series, narrowed.layers, unsettled(narrowed.layers, model), narrowed.contradicted, thin=False
    )
    leaving = Leaving.of(series, people, rates)
    found = solve(unsolved.with_leaving(leaving).expecting(np.ones((people, model.values))), model)
    return {
        (int(layer.person[row]), place, int(value)): float(chance)
        for place, (layer, chances) in enumerate(zip(found.layers, found.chance, strict=True))
        for row, value, chance in zip(layer.row, layer.value, chances, strict=True)
    }
