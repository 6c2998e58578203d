"""Expected transitions against all histories, and learning against the matrix that values were drawn from."""

from itertools import pairwise, product

import numpy as np
import pytest

from reissue._arrays import Floats
from reissue.solver import Model, Observation
from reissue.solver.propagation import propagate
from reissue.solver.scaling import Chains, scale
from reissue.solver.states import ReleaseStates, states_of
from reissue.solver.transition_learning import expected_transitions, learn_steps, smoothed, staying
from tests.solver.series import tiny
from tests.solver.worlds import observed


def plain(releases: list[ReleaseStates], upto: list[Floats], since: list[Floats], steps: Floats) -> Floats:
    """The same from the definition: every value in every release from one presence of a person to the next one."""
    total = np.zeros_like(steps)
    for person in np.unique(np.concatenate([release.person for release in releases])):
        first = {time: _said(release, one, person, len(steps)) for time, (release, one) in _zip(releases, upto)}
        second = {time: _said(release, one, person, len(steps)) for time, (release, one) in _zip(releases, since)}
        there = [time for time, one in first.items() if one.any()]
        for begin, end in pairwise(there):
            counts, weights = np.zeros_like(steps), 0.0
            for history in product(range(len(steps)), repeat=end - begin + 1):
                weight = np.prod([steps[pair] for pair in pairwise(history)])
                weight *= first[begin][history[0]] * second[end][history[-1]]
                weights += weight
                for pair in pairwise(history):
                    counts[pair] += weight
            total += counts / weights
    return total


def _zip(releases: list[ReleaseStates], messages: list[Floats]) -> list[tuple[int, tuple[ReleaseStates, Floats]]]:
    return list(enumerate(zip(releases, messages, strict=True)))


def _said(release: ReleaseStates, message: Floats, person: int, values: int) -> Floats:
    said = np.zeros(values)
    mine = release.person[release.row] == person
    said[release.value[mine]] = message[mine]
    return said


@pytest.mark.parametrize("seed", range(20))
def test_expected_transitions_are_those_of_all_histories(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = tiny(rng, people=4, releases=4, register=bool(seed % 2))
    steps = rng.random((case.values, case.values))
    steps /= steps.sum(axis=1, keepdims=True)
    releases = [states_of(seen, case.values) for seen in case.series]
    upto, since = ([rng.random(release.states) for release in releases] for _ in range(2))
    model = Model(case.values, steps)
    found = expected_transitions(Chains.of(releases, model), upto, since, model)
    assert found == pytest.approx(plain(releases, upto, since, steps))


def simulated(rng: np.random.Generator, steps: Floats, people: int, releases: int, size: int) -> list[Observation]:
    """Groups by chance, anew in each release, a tenth of the people absent."""
    true = rng.integers(0, len(steps), people)
    series = []
    for _ in range(releases):
        here = rng.permutation(np.flatnonzero(rng.random(people) < 0.9))
        groups = [here[begin : begin + size] for begin in range(0, len(here), size)]
        shown = [np.unique(true[group], return_counts=True) for group in groups]
        histograms = [dict(zip(value.tolist(), count.tolist(), strict=True)) for value, count in shown]
        series.append(observed([(group.tolist(), one, 0) for group, one in zip(groups, histograms, strict=True)]))
        true = np.array([rng.choice(len(steps), p=steps[value]) for value in true])
    return series


def test_a_matrix_is_learned_from_releases_alone() -> None:
    rng = np.random.default_rng(7)
    steps = smoothed(np.eye(8) * 30 + rng.integers(0, 12, (8, 8)) * (rng.random((8, 8)) < 0.3))
    releases = [states_of(seen, 8) for seen in simulated(rng, steps, 1_500, 6, 4)]
    often = np.full(8, 1 / 8)
    learned = learn_steps(releases, often)
    assert learned.sum(axis=1) == pytest.approx(1)
    assert np.abs(learned - steps).sum(axis=1).mean() / 2 < 0.11
    assert np.abs(staying(often, 0.05) - steps).sum(axis=1).mean() / 2 > 0.2


@pytest.mark.parametrize(("size", "people"), [(4, 800), (8, 1_200)])
@pytest.mark.parametrize("changes", [0.03, 0.15, 0.4])
def test_how_many_values_stay_is_learned_in_small_groups_and_in_large_ones(
    size: int, people: int, changes: float
) -> None:
    """Neither more restless than the truth nor calmer; in large groups, which say less, within a wider bound."""
    rng = np.random.default_rng(11)
    steps = staying(np.full(6, 1 / 6), changes)
    releases = [states_of(seen, 6) for seen in simulated(rng, steps, people, 5, size)]
    learned = learn_steps(releases, np.full(6, 1 / 6))
    assert np.diag(learned).mean() == pytest.approx(np.diag(steps).mean(), abs=0.03 if size == 4 else 0.05)


def test_multipliers_that_go_on_go_further() -> None:
    """Where counts can only be had in the limit, scaling creeps; without going further this took twenty sweeps."""
    steps = staying(np.full(6, 1 / 6), 0.05)
    model, series = Model(6, steps), simulated(np.random.default_rng(5), steps, 400, 6, 4)
    scaled = scale(Chains.of(propagate(series, model).releases, model))
    assert scaled.converged
    assert scaled.sweeps <= 16
