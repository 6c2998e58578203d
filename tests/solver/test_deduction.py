"""Proofs against all worlds: what is proved holds in every one, and the groups named are enough for it."""

from typing import Any

import numpy as np
import pytest

from reissue.solver import Model
from reissue.solver.deduction import Neighbourhood, Proof, Rule, prove, refute
from tests.solver import worlds
from tests.solver.series import KINDS, tiny
from tests.solver.worlds import observed


def proof_of(series: list[Any], person: int, values: int, steps: Any = None) -> Proof | None:
    return prove(Neighbourhood(series, Model(values, steps), range(len(series))), person, 10_000)


def test_a_subtraction_takes_two_groups() -> None:
    """R1 {A, B, C} = {a, a, b}, R2 {A, B} = {a, b}: C has a."""
    series = [observed([([0, 1, 2], {0: 2, 1: 1}, 0)]), observed([([0, 1], {0: 1, 1: 1}, 0)])]
    assert proof_of(series, 2, 2) is None, "counting alone does not show it: small components are solved whole"
    series = [observed([([0, 1, 2], {0: 2, 2: 1}, 0)]), observed([([0, 1], {0: 1, 1: 1}, 0)])]
    steps = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    proof = proof_of(series, 2, 3, steps)
    assert proof is not None
    assert (proof.place, proof.value, proof.equations) == (0, 2, ((0, 0), (1, 0)))
    assert [step.rule for step in proof.steps] == [Rule.CHAIN, Rule.CHAIN, Rule.FULL]
    assert proof.joint


def test_a_group_of_one_value_is_a_proof_without_steps() -> None:
    series = [observed([([0, 1], {1: 2}, 0)]), observed([([0, 1], {0: 1, 1: 1}, 0)])]
    proof = proof_of(series, 0, 2, np.full((2, 2), 0.5))
    assert proof is not None
    assert (proof.equations, proof.steps, proof.joint) == (((0, 0),), (), False)


def test_too_many_ways_are_not_looked_at() -> None:
    series = [observed([([0, 1], {1: 2}, 0)])]
    assert prove(Neighbourhood(series, Model(2), [0]), 0, 1) is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_proved_holds_in_every_world_of_the_groups_named(kind: str) -> None:
    proved = 0
    for seed in range(60):
        case = tiny(np.random.default_rng([seed, 7]), **KINDS[kind])
        truth = worlds.posterior(case.series, case.values, case.steps)
        for person in range(4):
            proof = proof_of(case.series, person, case.values, case.steps)
            if proof is not None:
                proved += 1
                assert truth[person, proof.place, proof.value] == pytest.approx(1.0)
    assert proved > 20


def test_of_two_groups_the_one_that_is_not_needed_is_left_out() -> None:
    """Nobody else can have the value; the release in between says nothing more."""
    series = [
        observed([([0, 1], {0: 1, 1: 1}, 0)]),
        observed([([0, 1, 2], {0: 1, 1: 1, 2: 1}, 0)]),
        observed([([0, 2], {0: 1, 2: 1}, 0)]),
    ]
    proof = proof_of(series, 0, 3)
    assert proof is not None
    assert proof.value == 0
    assert set(proof.equations) == {(0, 0), (2, 0)}


def test_where_counting_does_not_show_it_other_values_are_supposed() -> None:
    """R1 {A, B, C} = {a, a, b}, R2 {A, B} = {a, b}: were C's value b, both A and B had a, and R2 shows one a."""
    series = [observed([([0, 1, 2], {0: 2, 1: 1}, 0)]), observed([([0, 1], {0: 1, 1: 1}, 0)])]
    around = Neighbourhood(series, Model(2), range(2))
    proof = refute(around, 2, 0, 0, 10_000)
    assert proof is not None
    assert (proof.value, proof.equations, proof.supposes) == (0, ((0, 0), (1, 0)), True)
    rules = [step.rule for step in proof.steps]
    assert (rules[0], rules[1]) == (Rule.SUPPOSED, Rule.NEEDED)
    assert rules[-1] in {Rule.TOO_MANY, Rule.TOO_FEW}
    assert refute(around, 2, 0, 1, 10_000) is None, "what is true is never refuted"
    assert refute(around, 2, 0, 0, 5) is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refuted_is_in_no_world(kind: str) -> None:
    for seed in range(40):
        case = tiny(np.random.default_rng([seed, 3]), **KINDS[kind])
        around = Neighbourhood(case.series, Model(case.values, case.steps), range(len(case.series)))
        truth = worlds.posterior(case.series, case.values, case.steps)
        for person, place, value in {key for key, chance in truth.items() if chance}:
            if refute(around, person, place, value, 10_000) is not None:
                assert truth[person, place, value] == pytest.approx(1)
