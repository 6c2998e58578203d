"""What registrations say of themselves names only what is there."""

import subprocess
import sys

import pytest

from reissue import attacks, methods, requirements
from reissue.attacks import Runs
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


def test_attacks_are_chosen_without_being_imported() -> None:
    code = (
        "import sys\n"
        "from reissue.attacks import by_default, find, names\n"
        "from reissue.attacks.registry import on_counts\n"
        "assert {'joint', 'coalition'} <= {*by_default()} < {*names()} and on_counts() == ['differencing']\n"
        "find('disclosure')\n"
        "print(*(name for name in sys.modules if name.startswith(('reissue.papers', 'reissue.attacks.joint'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert not done.stdout.split()


def test_where_an_attack_runs_is_said_in_one_place() -> None:
    assert set(attacks.registry.NOT_ALWAYS) <= set(attacks.registry.BUILT_IN)
    assert attacks.find("mechanism").runs == Runs.ON_REQUEST
    assert attacks.look_up("somebody's own") is None
