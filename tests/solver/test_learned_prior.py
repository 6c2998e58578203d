"""A prior learnt from the posterior: what is there is learnt, what is not is not, and nobody judges themselves."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import Floats, Ints
from reissue.solver import Model
from reissue.solver.estimation import first_posterior
from reissue.solver.learned_prior import learn_prior
from reissue.solver.scaling import Chains, beginners, first_weights, marginals
from reissue.solver.states import states_of
from reissue.solver.transitions import pairings
from tests.solver.series import tiny


@pytest.mark.parametrize("seed", range(20))
def test_the_first_posterior_is_that_of_the_first_release_of_each_person(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = tiny(rng, people=5, releases=3, register=bool(seed % 2))
    steps = rng.random((case.values, case.values))
    releases = [states_of(seen, case.values) for seen in case.series]
    messages = [rng.random(release.states) for release in releases]
    prior = rng.random((5, case.values))
    pairs = pairings(releases)
    given = [first_weights(one, beginners(one, pair), prior) for one, pair in zip(releases, pairs, strict=True)]
    chains = Chains.of(releases, Model(case.values, steps / steps.sum(axis=1, keepdims=True)), given=given)
    whole = marginals(chains, messages)
    found = first_posterior(releases, pairs, None, whole, prior.shape)
    for person in np.unique(np.concatenate([release.person for release in releases])):
        release, chance = next((one, other) for one, other in zip(releases, whole, strict=True) if person in one.person)
        mine = release.person[release.row] == person
        assert found[person, release.value[mine]] == pytest.approx(chance[mine])
        assert found[person].sum() == pytest.approx(1.0)


def people(seed: int, number: int = 2000) -> tuple[Ints, Ints, Floats]:
    """A feature that goes with the value, one that does not, and a posterior that knows half of it."""
    rng = np.random.default_rng(seed)
    linked, noise = rng.integers(0, 4, number), rng.integers(0, 6, number)
    value = np.where(rng.random(number) < 0.7, linked % 3, rng.integers(0, 3, number))
    return linked, noise, (np.eye(3)[value] + np.full((number, 3), 1 / 3)) / 2


def test_what_goes_with_a_value_is_learnt_and_what_does_not_is_not() -> None:
    linked, noise, said = people(0)
    folds = np.arange(len(said)) % 5
    prior = learn_prior([noise, linked], said, folds)
    assert prior.sum(axis=1) == pytest.approx(1.0)
    for feature in range(4):
        wanted = said[linked == feature].mean(axis=0)
        assert prior[linked == feature].mean(axis=0) == pytest.approx(wanted, abs=0.03)
    nothing = learn_prior([noise], said, folds)
    assert nothing == pytest.approx(np.tile(said.mean(axis=0), (len(said), 1)))


def test_nobody_is_judged_by_what_they_say_of_themselves() -> None:
    """A feature that every fold has its own value of has nothing to say: all who share it are in the same fold."""
    _, _, said = people(1)
    folds = np.arange(len(said)) % 5
    own = folds * 3 + said.argmax(axis=1)
    assert learn_prior([own], said, folds) == pytest.approx(np.tile(said.mean(axis=0), (len(said), 1)))


def person_by_person(features: Sequence[Ints], posterior: Floats, folds: Ints) -> Floats:
    """The same as a plain formula, everyone's prior by itself."""
    common = np.maximum(posterior.mean(axis=0), 1e-6)
    common /= common.sum()
    prior = np.tile(common, (len(posterior), 1))
    for _ in range(40):
        tried = []
        for feature in features:
            lifts = np.empty_like(prior)
            for person, (fold, mine) in enumerate(zip(folds, feature, strict=True)):
                others = (folds != fold) & (feature == mine)
                lifts[person] = (posterior[others].sum(axis=0) + 20 * common) / (
                    prior[others].sum(axis=0) + 20 * common
                )
            for length in (1.0, 0.5, 0.25):
                scaled = prior * np.maximum(lifts, 1e-6) ** length
                scaled /= scaled.sum(axis=1, keepdims=True)
                tried.append((float((posterior * (np.log(scaled) - np.log(prior))).sum()), scaled))
        gain, best = max(tried, key=lambda one: one[0])
        if gain < 3.0:
            break
        prior = best
    return prior


@given(st.integers(0, 2**32), st.integers(2, 4))
def test_kinds_of_people_have_the_prior_of_everyone_in_them(seed: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    number = 150
    features = [rng.integers(0, size, number) for size in (2, 3, 4)]
    value = np.where(rng.random(number) < 0.6, (features[0] + features[2]) % values, rng.integers(0, values, number))
    said = np.eye(values)[value] + rng.random((number, values)) * 0.2
    said /= said.sum(axis=1, keepdims=True)
    folds = rng.integers(0, 3, number)
    assert learn_prior(features, said, folds) == pytest.approx(person_by_person(features, said, folds), abs=1e-6)
