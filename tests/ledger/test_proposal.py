"""From answers to a policy: what `reissue init` proposes can be read and published with."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reissue import synth
from reissue.errors import InputError
from reissue.ledger import Ledger, RefusedError
from reissue.ledger.proposal import QUESTIONS, propose_policy, read_answers
from reissue.policy import Policy
from reissue.publish import publish
from reissue.schema import Schema

COLUMNS = '[columns]\np = "identifier"\nage = "quasi"\nill = "sensitive"\n'


@pytest.mark.parametrize("answers", list(itertools.product([False, True], repeat=4)))
def test_every_answer_leads_to_a_policy(answers: tuple[bool, ...]) -> None:
    said = dict(zip(QUESTIONS, answers, strict=True))
    proposal = propose_policy(said)
    text = proposal.as_toml(said)
    policy = Policy.of(Schema.loads(COLUMNS + text))
    assert policy.method == proposal.method
    assert ("coalition" in proposal.attacks) == said["providers"]
    assert ("minimality" in proposal.attacks) == said["known"]
    assert all(f"# {question} {'Yes' if said[name] else 'No'}." in text for name, question in QUESTIONS.items())
    assert f"# So the method is {proposal.method}: " in text


@pytest.mark.parametrize(
    ("answers", "method"),
    [
        ([], "correspondence"),
        (["removed"], "equivalence"),
        (["removed", "changes"], "distinct"),
        (["providers"], "providers"),
        (["known"], "mask"),
    ],
)
def test_what_is_proposed(answers: list[str], method: str) -> None:
    assert propose_policy({name: name in answers for name in QUESTIONS}).method == method


@pytest.mark.parametrize("months", [12, pytest.param(120, marks=pytest.mark.slow)])
def test_what_is_proposed_for_values_that_change_lasts(months: int, tmp_path: Path) -> None:
    said = {name: name in {"removed", "changes"} for name in QUESTIONS}
    synth.updates().write_csv(tmp_path / "updates.csv")
    text = f'{synth.schema().dumps()}\n{propose_policy(said).as_toml(said)}\n[updates]\nfile = "updates.csv"\n'
    with Ledger.create(tmp_path / "x.ledger", Schema.loads(text, tmp_path)) as ledger:
        for month in synth.Population(seed=4, people=1_000).months(months):
            publish(month, ledger)
        assert [one.content["findings"]["verdict"] for one in ledger.releases] == ["withstood"] * months


def test_a_refusal_says_that_rows_may_be_left_out_and_then_they_are(tmp_path: Path) -> None:
    synth.updates().write_csv(tmp_path / "updates.csv")
    risky: dict[str, Any] = {"require": "m-unique=3", "method": "distinct", "attacks": ["updates"], "risk": 0.7}
    risky["options"] = {"risk": 0.7, "ineligible": "counterfeits"}
    plan = replace(synth.schema(), updates={"file": "updates.csv"}, folder=tmp_path, policy=risky)
    months = list(synth.Population(seed=4, people=3_000).months(3))
    with Ledger.create(tmp_path / "x.ledger", plan) as ledger:
        for month in months[:2]:
            publish(month, ledger)
        with pytest.raises(RefusedError, match=r"`suppress` in the policy, 0 now"):
            publish(months[2], ledger)
        assert ledger.amend(replace(plan, policy={**risky, "suppress": 0.02}))
        release = publish(months[2], ledger)
        assert 0 < release.suppressed <= 0.02 * months[2].height
        again = publish(months[2], ledger)
        assert again.frame.equals(release.frame)


def test_answers_are_read() -> None:
    assert read_answers(["removed=yes", "known = No"]) == {"removed": True, "known": False}
    with pytest.raises(InputError, match="Did you mean 'removed'"):
        read_answers(["remove=yes"])
    with pytest.raises(InputError, match="yes or no"):
        read_answers(["removed=perhaps"])
