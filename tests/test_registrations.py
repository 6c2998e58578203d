"""What registrations say of themselves names only what is there."""

import pytest

from reissue import attacks, methods, requirements
from reissue.methods.registry import BUILT_IN
from reissue.proposing import QUESTIONS, propose_policy


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_methods_name_attacks_and_requirements_that_are_there(name: str) -> None:
    method = methods.find(name)
    assert set(method.remedies) <= set(attacks.registered())
    assert not method.m_requirement or method.m_requirement in requirements.registered()
    if method.suggestion is not None:
        requirements.parse(method.suggestion.require)
        assert set(method.suggestion.unminded) <= set(method.suggestion.attacks) <= set(attacks.registered())


def test_attacks_name_questions_that_are_asked() -> None:
    assert {its.asked_if for its in attacks.registered().values()} - {""} <= set(QUESTIONS)


@pytest.mark.parametrize("answer", range(16))
def test_some_method_suits_every_answer(answer: int) -> None:
    answers = {name: bool(answer >> place & 1) for place, name in enumerate(QUESTIONS)}
    proposal = propose_policy(answers)
    assert any(attacks.find(name).compares for name in proposal.attacks)
    for name, its in attacks.registered().items():
        assert not answers.get(its.asked_if) or name in proposal.attacks


def test_a_method_is_looked_up_without_trouble() -> None:
    assert methods.registry.look_up("mask") is methods.find("mask")
    assert methods.registry.look_up("somebody's own") is None
    assert methods.registry.look_up(len) is None


def test_what_a_name_stands_for() -> None:
    asked = requirements.parse("k=4 & simple-l=2 & alpha-k=0.4,7 & k=3")
    assert (asked.group_size, asked.least, asked.share_limit, asked.fewest_values) == (4, 7, 0.4, 2)
    assert requirements.parse("l=3").group_size is None
    assert requirements.parse("t=0.2").share_limit is None
