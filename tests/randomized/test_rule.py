"""First matrices and change rules against brute force: no more truth is possible, and no limit is missed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue._arrays import Floats
from reissue.randomized.adversaries import Adversary, ProtectedEvents
from reissue.randomized.program import first_program, least_varying, requirements_of, total_variance
from reissue.randomized.series import Mechanism, mechanism
from tests.effort import examples
from tests.randomized.worlds import adversaries, changes, shares


def worth(made: Mechanism, matrices: Floats) -> Floats:
    """What the program maximizes, for matrices of the only class."""
    weight = np.sqrt(made.views[-1].adversary.prior[0])
    diagonal = np.einsum("mvv->mv", matrices)
    return np.asarray(diagonal @ (weight / weight.sum()) + 0.1 * diagonal.min(1))


def world(seed: int, size: int, first: str, limit: float = 0.8) -> Mechanism:
    rng = np.random.default_rng(seed)
    return mechanism(adversaries(rng, size, 1), ProtectedEvents.of_values(size, limit), first=first, odds=1e6)


def truest(made: Mechanism) -> Floats:
    """The matrix of the linear program, before it is mixed with the closed form."""
    return first_program(made.views, np.stack([view.adversary.prior for view in made.views]), made.odds)


def rows_of(made: Mechanism) -> Floats:
    return requirements_of(made.views, np.stack([view.adversary.prior[0] for view in made.views]))


@given(st.integers(0, 10_000), st.sampled_from(["closed form", "program"]))
@examples(100)
def test_first_matrices_are_distributions_and_meet_all_requirements(seed: int, first: str) -> None:
    made = world(seed, 2 + seed % 4, first)
    np.testing.assert_allclose(made.first.sum(2), 1)
    assert (made.first >= 0).all()
    assert (rows_of(made) @ made.first[0] < 1e-6).all()


@given(st.integers(0, 10_000))
@examples(50)
def test_no_matrix_of_two_values_is_truer_than_the_programs(seed: int) -> None:
    made = world(seed, 2, "program")
    a, b = np.meshgrid(*[np.linspace(0, 1, 201)] * 2)
    every = np.stack([np.stack([a, 1 - a], -1), np.stack([1 - b, b], -1)], -2).reshape(-1, 2, 2)
    allowed = (np.einsum("rv,mvy->mry", rows_of(made), every) <= 0).all((1, 2))
    assert worth(made, truest(made))[0] >= worth(made, every[allowed]).max(initial=0) - 1e-6


@given(st.integers(0, 10_000))
@examples(50)
def test_no_matrix_of_three_values_is_truer_than_the_programs(seed: int) -> None:
    made, rng = world(seed, 3, "program"), np.random.default_rng(seed)
    rows = rows_of(made)
    random = rng.dirichlet(np.full(3, 0.5), (2_000, 3))
    random = random * rng.random((2_000, 1, 1)) + truest(made) * (1 - rng.random((2_000, 1, 1)) ** 3)
    random = random / random.sum(2, keepdims=True)
    allowed = random[(np.einsum("rv,mvy->mry", rows, random) <= 0).all((1, 2))]
    assert worth(made, truest(made))[0] >= worth(made, allowed).max(initial=0) - 1e-6


@given(st.integers(0, 10_000))
@examples(50)
def test_total_variance_is_that_of_the_inverse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = 0.5 * np.eye(3) + 0.5 * rng.dirichlet(np.ones(3), 3)
    prior = rng.dirichlet(np.ones(3))
    weights, shown = np.linalg.inv(matrix), prior @ matrix  # of a square matrix these are the only unbiased weights
    variance = (shown @ weights**2 - (shown @ weights) ** 2).sum()
    np.testing.assert_allclose(total_variance(matrix, prior), variance, rtol=1e-5)


@given(st.integers(0, 10_000))
@examples(50)
def test_first_matrices_vary_no_more_than_program_and_closed_form(seed: int) -> None:
    size = 2 + seed % 4
    program, closed = world(seed, size, "program"), world(seed, size, "closed form")
    prior = program.views[-1].adversary.prior[0]
    mine = total_variance(program.first[0], prior)
    assert mine <= total_variance(closed.first[0], prior) * (1 + 1e-9)
    assert mine <= total_variance(truest(program)[0], prior) * (1 + 1e-9)


def test_a_singular_matrix_is_not_kept_where_the_closed_form_has_an_inverse() -> None:
    silent, prior = np.full((1, 3, 3), 1 / 3), np.array([[0.5, 0.3, 0.2]])
    assert least_varying(silent, np.eye(3)[np.newaxis], prior) == pytest.approx(np.eye(3)[np.newaxis])


@given(st.integers(0, 10_000))
@examples(50)
def test_the_closed_form_is_the_truest_of_its_family(seed: int) -> None:
    made = world(seed, 2, "closed form")
    truth, share = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
    r = np.stack([share, 1 - share], -1)[..., np.newaxis, :]
    every = (truth[..., np.newaxis, np.newaxis] * np.eye(2) + (1 - truth[..., np.newaxis, np.newaxis]) * r).reshape(
        -1, 2, 2
    )
    allowed = (np.einsum("rv,mvy->mry", rows_of(made), every) <= 0).all((1, 2))
    mine = made.first[0, 0, 0] - made.first[0, 1, 0]
    assert mine >= truth.ravel()[allowed].max(initial=0) - 1e-5


def test_one_adversary_and_one_limit_as_on_paper() -> None:
    """Of V equally likely values nobody may be surer than L: truth + (1 - truth) / V = L."""
    for size, limit in ((2, 0.75), (5, 0.6), (300, 0.75)):
        even = Adversary("alike", np.full((1, size), 1 / size), np.eye(size))
        made = mechanism([even], ProtectedEvents.of_values(size, limit), changes=False)
        np.testing.assert_allclose(made.first[0].diagonal(), limit, rtol=1e-6)


def test_a_margin_is_for_priors_that_are_off_by_so_much() -> None:
    rng = np.random.default_rng(6)
    step, prior = changes(rng, 4), shares(rng, 1, 4)
    made = mechanism([Adversary("alike", prior, step)], ProtectedEvents.of_values(4, 0.9, margin=1.5), changes=False)
    for value in range(4):
        other = prior[0].copy()
        other[value] *= 1.5
        posterior = other[:, np.newaxis] * made.first[0]
        assert (posterior[value] / posterior.sum(0)).max() <= 0.9 + 1e-6


def test_a_prior_within_the_margin_of_the_limit_is_still_limited() -> None:
    prior = np.array([[0.885, 0.115]])
    for first in ("closed form", "program"):
        protected = ProtectedEvents.of_values(2, 0.9, margin=1.25)
        made = mechanism([Adversary("alike", prior, np.eye(2))], protected, first=first, changes=False)
        assert made.entry.belief.max() <= 0.9 + 1e-6
        assert made.first[0, 0, 0] > made.first[0, 1, 0]


def test_odds_are_capped() -> None:
    rng = np.random.default_rng(3)
    known = adversaries(rng, 4, 3)
    for first in ("closed form", "program"):
        made = mechanism(known, ProtectedEvents.of_values(4, 0.95), first=first, odds=3.0, changes=False)
        assert (made.first.max(1) <= 3 * made.first.min(1) + 1e-6).all()


def test_gain_caps_the_posterior_odds_of_every_value() -> None:
    prior = shares(np.random.default_rng(1), 1, 4)
    for first in ("closed form", "program"):
        protected = ProtectedEvents.of_values(4, 1.0, gain=2.0)
        made = mechanism([Adversary("alike", prior, np.eye(4))], protected, first=first, changes=False)
        posterior = made.entry.belief[:, 0]
        odds, before = posterior / (1 - posterior), prior / (1 - prior)
        assert 1.5 < (odds / before).max() <= 2 + 1e-4


def test_events_of_several_columns_are_limited_each_and_together() -> None:
    codes = [(a, b) for a in range(3) for b in range(2)]
    protected = ProtectedEvents.of_columns(codes, 0.7)
    assert len(protected.member) == 6 + 3 + 2
    prior = np.full((1, 6), 1 / 6)
    made = mechanism([Adversary("alike", prior, np.eye(6))], protected, first="program", changes=False)
    for posterior in made.entry.belief[:, 0]:
        assert (protected.shares(posterior) <= 0.7 + 1e-7).all()
