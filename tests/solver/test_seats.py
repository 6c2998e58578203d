"""The lemma of cohorts, against all worlds: seats that are published together are alike, whoever is in them."""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from reissue._arrays import Floats
from reissue.solver import Model, Observation, solve
from reissue.solver.learned_prior import arrivals_in
from reissue.solver.observation import of_people
from reissue.solver.posterior import Problem, of_occupants
from tests.solver.seat_worlds import occupations, posterior
from tests.solver.worlds import observed

MODELS = {
    "values stay": np.eye(3),
    "slow": np.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.0, 0.1, 0.9]]),
    "one way": np.array([[0.6, 0.3, 0.1], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]]),
    "restless": np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0.3, 0.4, 0.3]]),
}
LIVES = {
    "everyone stays": ["abc", "abc", "abc"],
    "one leaves": ["abc", "ab", "ab"],
    "two leave": ["abc", "ab", "b"],
    "a newcomer takes a seat": ["abc", "abd", "abd"],
    "two newcomers, who took whose seat is open": ["abc", "ade", "ade"],
    "someone is back": ["abc", "ab", "abc"],
    "back, left again, refilled": ["abc", "ac", "abc"],
}
PRIOR = np.array([0.5, 0.3, 0.2])


def drawn(seed: int, steps: Floats, seats: int, releases: int, lives: list[int]) -> list[dict[int, int]]:
    """What a cohort shows whose seats follow the model."""
    rng = np.random.default_rng(seed)
    values = rng.choice(3, seats, p=PRIOR)
    shown = []
    for time in range(releases):
        there = [int(value) for value, life in zip(values, lives, strict=True) if time < life]
        shown.append({value: there.count(value) for value in set(there)})
        values = np.array([rng.choice(3, p=steps[value]) for value in values])
    return shown


@pytest.mark.parametrize("lives", LIVES)
@pytest.mark.parametrize("model", MODELS)
def test_everyone_is_linked_to_a_value_by_its_share(model: str, lives: str) -> None:
    presence, steps = LIVES[lives], MODELS[model]
    for seed in range(3):
        shown = drawn(seed, steps, 3, 3, [3, 3, 3])
        found = posterior(occupations(presence, 3), shown, [3, 3, 3], PRIOR, steps)
        for time, here in enumerate(presence):
            for person, value in product(here, range(3)):
                assert found.get((person, time, value), 0.0) == pytest.approx(shown[time].get(value, 0) / 3)


@pytest.mark.parametrize("model", MODELS)
def test_seats_that_go_together_are_alike_and_so_are_those_that_stay(model: str) -> None:
    steps, lives = MODELS[model], [2, 2, 1, 1]
    # Slots 2 and 3 are let go after the first release; c and d had them, and nobody knows who had which.
    places = [[{"a": 0, "b": 1, "c": c, "d": d}, {"a": 0, "b": 1}] for c, d in ((2, 3), (3, 2))]
    for seed in range(3):
        shown = drawn(seed, steps, 4, 2, lives)
        found = posterior(places, shown, lives, PRIOR, steps)
        for value in range(3):
            assert found.get(("c", 0, value), 0.0) == pytest.approx(found.get(("d", 0, value), 0.0))
            assert found.get(("a", 0, value), 0.0) == pytest.approx(found.get(("b", 0, value), 0.0))
            assert found.get(("a", 1, value), 0.0) == pytest.approx(shown[1].get(value, 0) / 2)


@pytest.mark.parametrize("model", MODELS)
def test_after_a_split_the_seats_of_each_part_are_alike_in_every_release(model: str) -> None:
    """Slots 0 to 3 are shown together, then 0 and 1 apart from 2 and 3: straight from the definition of a world."""
    steps, parts = MODELS[model], ((0, 1), (2, 3))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        path = rng.choice(3, 4, p=PRIOR)
        after = np.array([rng.choice(3, p=steps[value]) for value in path])
        chances = np.zeros((2, 4, 3))
        for first, later in product(product(range(3), repeat=4), repeat=2):
            shown = sorted(first) == sorted(path) and all(
                sorted(later[seat] for seat in part) == sorted(after[seat] for seat in part) for part in parts
            )
            if shown:
                weight = np.prod([PRIOR[one] * steps[one, other] for one, other in zip(first, later, strict=True)])
                for time, values in enumerate((first, later)):
                    chances[time, np.arange(4), values] += weight
        assert chances.sum() > 0
        for one, other in parts:
            np.testing.assert_allclose(chances[:, one], chances[:, other])


def test_what_goes_is_its_own_histogram_where_values_stay() -> None:
    shown = [{0: 2, 1: 1, 2: 1}, {0: 1, 1: 1}]
    places = [[{"a": 0, "b": 1, "c": 2, "d": 3}, {"a": 0, "b": 1}]]
    found = posterior(places, shown, [2, 2, 1, 1], PRIOR, np.eye(3))
    assert found["c", 0, 0] == found["c", 0, 2] == pytest.approx(0.5)
    assert found["a", 0, 0] == found["a", 1, 1] == pytest.approx(0.5)


def seats_of(shown: list[dict[int, int]], occupants: list[list[int]]) -> list[Observation]:
    """Each release as the attack sees it: seats 0, 1, ... in one group, and who is in them (-1: nobody)."""
    made = []
    for counts, inside in zip(shown, occupants, strict=True):
        one = observed([(range(len(inside)), counts, 0)])
        made.append(Observation(**{**vars(one), "occupant": np.array(inside)}))
    return made


@pytest.mark.parametrize("model", MODELS)
def test_the_attack_says_the_share_of_people_in_seats(model: str) -> None:
    steps = MODELS[model]
    inside = [[10, 11, 12, 13, 14], [10, 11, 12, -1, -1], [10, 15, 12, -1, 14]]  # 15 is new, 14 is back
    for seed in range(5):
        shown = drawn(seed, steps, 5, 3, [3] * 5)
        series = seats_of(shown, inside)
        solved = solve(series, Model(3, steps), prior=np.tile(PRIOR, (16, 1)))
        found = of_occupants(solved, series)
        for time, here in enumerate(inside):
            release = found.releases[time]
            assert release.person.tolist() == sorted(one for one in here if one >= 0)
            for row in range(len(release.person)):
                mine = slice(release.starts[row], release.starts[row + 1])
                share = [shown[time].get(int(value), 0) / 5 for value in release.value[mine]]
                assert found.chance[time][mine] == pytest.approx(share, abs=1e-6)


def test_a_release_of_people_has_counterfeits_where_nobody_is_in_a_seat() -> None:
    (seen,) = seats_of([{0: 2, 1: 1}], [[7, -1, 5]])
    people = of_people(seen)
    assert people.person.tolist() == [5, 7]
    assert people.free.tolist() == [1]
    assert not len(people.occupant)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_known_of_those_who_take_a_seat_weighs_on_its_value_then(model: str) -> None:
    """Against all worlds: founders by their prior, a newcomer by how much likelier the seat's value makes them."""
    steps, rng = MODELS[model], np.random.default_rng(3)
    inside = [[10, 11, 12], [10, -1, 12], [10, 13, 12]]  # 13 takes the seat that 11 left
    weights = rng.random((14, 3))
    lives = list(product(range(3), repeat=3))
    for seed in range(5):
        shown = drawn(seed, steps, 3, 3, [3] * 3)
        series = seats_of(shown, inside)
        arrivals = arrivals_in(series, 14)
        assert arrivals is not None
        assert [one[:3].tolist() for one in arrivals] == [[10, 11, 12], [-1, -1, -1], [-1, 13, -1]]
        begun = solve(series, Model(3, steps), prior=np.ones((14, 3)))
        problem = Problem.of(series, begun.releases, Model(3, steps), None, None, arrivals, most=400, refined=False)
        solved = problem.solved(weights)
        wanted = np.zeros((3, 3, 3))
        for world in product(lives, repeat=3):
            if all(Counter(life[time] for life in world) == Counter(shown[time]) for time in range(3)):
                began = [weights[10 + seat, life[0]] for seat, life in enumerate(world)]
                moved = [steps[life[0], life[1]] * steps[life[1], life[2]] for life in world]
                weight = np.prod([*began, *moved, weights[13, world[1][2]]])
                for seat, time in product(range(3), range(3)):
                    wanted[seat, time, world[seat][time]] += weight
        wanted /= wanted.sum(axis=2, keepdims=True)
        for time, (release, chance) in enumerate(zip(solved.releases, solved.chance, strict=True)):
            assert chance == pytest.approx(wanted[release.person[release.row], time, release.value], abs=1e-9)


def published(lives: Sequence[tuple[int, ...]], inside: list[list[int]]) -> list[list[Counter[int]]]:
    """Of each release what two cohorts of three seats show, and the values of seats that nobody is in."""
    return [
        [
            Counter(life[time] for life in lives[:3]),
            Counter(life[time] for life in lives[3:]),
            Counter(life[time] for life, who in zip(lives, inside[time], strict=True) if who < 0),
        ]
        for time in range(2)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_true_totals_of_people_in_seats_are_close_to_all_worlds(seed: int) -> None:
    """As close as counts in expectation are in groups of three: too modest rather than too sure."""
    rng, steps = np.random.default_rng(seed), np.array([[0.8, 0.2], [0.3, 0.7]])
    lives = list(product(range(2), repeat=2))
    truth = [lives[rng.integers(4)] for _ in range(6)]
    inside, series, wanted = [[10, 11, 12, 13, 14, 15], [10, 11, -1, 13, 14, -1]], [], np.zeros((6, 2, 2))
    for here, (first, second, fakes) in zip(inside, published(truth, inside), strict=True):
        seen = observed([(range(3), first, 0), (range(3, 6), second, 0)])
        invented = np.array([fakes[0], fakes[1]])
        series.append(Observation(**{**vars(seen), "occupant": np.array(here), "counterfeits": invented}))
    for world in product(lives, repeat=6):
        if published(world, inside) == published(truth, inside):
            weight = np.prod([steps[life[0], life[1]] for life in world])
            for seat, time in product(range(6), range(2)):
                wanted[seat, time, world[seat][time]] += weight
    wanted /= wanted.sum(axis=2, keepdims=True)
    solved = solve(series, Model(2, steps))
    for time, (release, chance) in enumerate(zip(solved.releases, solved.chance, strict=True)):
        true = wanted[release.person[release.row], time, release.value]
        assert np.abs(chance - true).mean() < 0.1
        assert (chance - true)[chance > 0.5].max(initial=0.0) < 0.1
