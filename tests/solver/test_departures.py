"""Who leaves: as all worlds say where it is known how soon, learnt near the truth where it is not."""

from dataclasses import replace

import numpy as np
import pytest

from reissue._arrays import Floats, Ints
from reissue.solver import Departures, Model, Observation, Posterior, solve
from reissue.solver.estimation import joined
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
    fates = Departures.of([first, second, third], 4).fates
    assert [one.tolist() for one in fates] == [[0, 1, 2, 2], [1, 2, 2, 0], [2, 2, 2, 2]]


def test_fates_of_slots_are_those_of_who_is_in_them() -> None:
    """Person 5 leaves slot 0, and its counterfeit stays; person 6 stays in slot 1."""
    first = replace(observed([([0, 1], {0: 1, 1: 1}, 0)]), occupant=np.array([5, 6]))
    second = replace(first, occupant=np.array([-1, 6]))
    fates = Departures.of([first, second, second], 7).fates
    assert [one[:2].tolist() for one in fates] == [[1, 0], [2, 0], [2, 2]]


def test_it_comes_near_how_soon_people_leave_and_claims_are_righter() -> None:
    series, truth = hospital(np.random.default_rng(3), LEAVING)
    prior = np.full((len(truth[0]), 3), 1 / 3)
    without, learned = solve(series, Model(3, STEPS), prior=prior), estimated(series, prior)
    assert without.departures is None
    assert learned.departures is not None
    assert learned.departures.rates == pytest.approx(LEAVING, abs=0.06)
    assert surprise(learned, truth) < 0.95 * surprise(without, truth)


def test_of_groups_made_otherwise_expected_counts_teach_as_well() -> None:
    series, truth = hospital(np.random.default_rng(4), LEAVING, together=4)
    learned = estimated(series, np.full((len(truth[0]), 3), 1 / 3))
    assert learned.departures is not None
    assert learned.departures.rates == pytest.approx(LEAVING, abs=0.06)


def test_where_values_do_not_differ_nothing_is_learnt() -> None:
    """Beyond chance: to the last digit it is as if nobody had looked."""
    for seed in range(5):
        series, truth = hospital(np.random.default_rng([seed, 1]), np.full(3, 0.2))
        prior = np.full((len(truth[0]), 3), 1 / 3)
        found = estimated(series, prior)
        assert not found.departures_differ
        without = solve(series, Model(3, STEPS), prior=prior)
        assert all(np.array_equal(*pair) for pair in zip(found.chance, without.chance, strict=True))


def test_few_people_teach_nothing() -> None:
    one = observed([([0, 1, 2], {0: 2, 1: 1}, 0)])
    other = observed([([0, 1], {0: 1, 1: 1}, 0)])
    series = [one, other]
    assert not solve(series, Model(2), departures=Departures.of(series, 3)).departures_differ


def test_groups_made_by_value_say_nothing_about_values_that_stay() -> None:
    """The lemma of m-invariance: whoever leaves, everyone has each value with one half (promise page)."""
    pairs = [([2 * pair, 2 * pair + 1], {0: 1, 1: 1}, 0) for pair in range(200)]
    fewer = [([2 * pair, 2 * pair + 1], {0: 1, 1: 1}, 0) for pair in range(0, 200, 2)]
    series = [observed(pairs), observed(fewer)]
    found = solve(series, Model(2), departures=Departures.of(series, 400))
    assert found.departures is None
    assert all(one == pytest.approx(0.5) for one in found.chance)


def test_what_was_learnt_before_is_where_it_begins() -> None:
    """With the same releases nothing moves any more, and it is solved once."""
    series, truth = hospital(np.random.default_rng(3), LEAVING)
    prior = np.full((len(truth[0]), 3), 1 / 3)
    learned = estimated(series, prior)
    assert learned.departures is not None
    again = estimated(series, prior, learned.departures.rates)
    assert again.departures is not None
    assert again.departures.rates == pytest.approx(learned.departures.rates, rel=0.05)
    for one, other in zip(again.chance, learned.chance, strict=True):
        assert np.abs(one - other).max() < 0.02


def test_blocks_are_joined() -> None:
    series = [observed([([0, 1], {0: 1, 1: 1}, 0)])] * 2
    one, other = Departures.of(series, 2, np.array([0.1, 0.2])), Departures.of(series, 2)
    both = joined([one, other])
    assert both is not None
    assert len(both.fates) == 4
    assert both.rates.tolist() == [0.1, 0.2]
    assert joined([one, None]) is None


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


def estimated(series: list[Observation], prior: Floats, rates: Floats | None = None) -> Posterior:
    return solve(series, Model(3, STEPS), prior=prior, departures=Departures.of(series, len(prior), rates))


def surprise(found: Posterior, truth: list[Ints]) -> float:
    """The mean of minus the logarithm of what is claimed for the true value."""
    claimed = [
        release.sums(chance * (release.value == true[release.person[release.row]]))
        for release, chance, true in zip(found.releases, found.chance, truth, strict=True)
    ]
    return float(-np.log(np.maximum(np.concatenate(claimed), 1e-6)).mean())


def _solved(series: list[Observation], model: Model, rates: Floats) -> dict[tuple[int, int, int], float]:
    people = max(int(seen.people.max()) for seen in series) + 1
    found = solve(series, model, departures=Departures.of(series, people, rates, known=True))
    return {
        (int(release.person[row]), place, int(value)): float(chance)
        for place, (release, chances) in enumerate(zip(found.releases, found.chance, strict=True))
        for row, value, chance in zip(release.row, release.value, chances, strict=True)
    }
