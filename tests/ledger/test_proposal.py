"""From answers to a policy: what `reissue init` proposes can be read and published with."""

import itertools
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue import synth
from reissue.attacks import find
from reissue.errors import InputError
from reissue.ledger import Ledger
from reissue.ledger.key import ENVIRONMENT
from reissue.policy import Policy
from reissue.proposing import QUESTIONS, propose_policy, read_answers
from reissue.publishing.publish import publish
from reissue.publishing.refusal import RefusedError
from reissue.schema import Schema

COLUMNS = '[columns]\np = "identifier"\nage = "quasi"\nill = "sensitive"\n'


@pytest.mark.parametrize("answers", list(itertools.product([False, True], repeat=5)))
def test_every_answer_leads_to_a_policy(answers: tuple[bool, ...]) -> None:
    said = dict(zip(QUESTIONS, answers, strict=True))
    proposal = propose_policy(said)
    text = proposal.as_toml(said)
    policy = Policy.of(Schema.loads(COLUMNS + text))
    assert policy.method == proposal.method
    assert not policy.alone
    assert policy.draws == proposal.randomized == (said["untrue"] and (said["removed"] or said["changes"]))
    if not proposal.randomized:
        assert any(find(name).compares for name in proposal.attacks)
        assert "is refused" in text
        assert ("coalition" in proposal.attacks) == said["providers"]
        assert ("minimality" in proposal.attacks) == said["known"]
    assert all(f"# {question} {'Yes' if said[name] else 'No'}." in text for name, question in QUESTIONS.items())
    assert f"# So the method is {proposal.method}: " in text


def _newcomer(before: pl.DataFrame, after: pl.DataFrame, people: int) -> set[str]:
    """The values that someone may have who came to these people, whose values stay: counted from two releases."""
    first, second = (Counter(frame["ill"].to_list()) for frame in (before, after))
    return {
        one for one in second if sum(min(first[value], second[value] - (value == one)) for value in second) >= people
    }


@pytest.mark.parametrize("providers", [False, True])
@pytest.mark.parametrize("answers", list(itertools.product([False, True], repeat=4)))
def test_a_newcomers_value_does_not_go_out(answers: tuple[bool, ...], providers: bool, tmp_path: Path) -> None:
    """Twelve people of one age, then the same and one more: the difference of two releases would be a value."""
    said = dict(zip(QUESTIONS, (*answers, False), strict=True))
    ill = ["flu", "asthma", "gout", "HIV", "cancer", "anxiety"] * 2 + ["gout"]
    people = pl.DataFrame({"p": range(13), "age": [40] * 13, "ill": ill, "clinic": ["a", "b"] * 6 + ["a"]})
    columns = COLUMNS + ('clinic = "provider"\n' if providers else "")
    plan = Schema.loads(columns + "[updates]\nnone = true\n" * said["changes"] + propose_policy(said).as_toml(said))
    with Ledger.create(tmp_path / "x.ledger", plan) as ledger:
        try:
            first = publish(people.head(12), ledger)
            second = publish(people, ledger)
        except (RefusedError, InputError):
            assert len(ledger.releases) < 2
            return
        assert len(_newcomer(first.frame, second.frame, 12)) > 1


@pytest.mark.parametrize(
    ("answers", "method"),
    [
        ([], "correspondence"),
        (["removed"], "equivalence"),
        (["removed", "changes"], "cohorts"),
        (["providers"], "providers"),
        (["providers", "removed"], "equivalence"),
        (["known"], "equivalence"),
        (["untrue"], "correspondence"),
        (["untrue", "removed", "changes"], "pool"),
    ],
)
def test_what_is_proposed(answers: list[str], method: str) -> None:
    assert propose_policy({name: name in answers for name in QUESTIONS}).method == method


def test_what_is_proposed_for_values_that_change_lasts_a_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one key, which decides what is random; `python -m benchmarks cohorts --only keys` tries many.

    Not for ever: how soon people leave is learnt better and better, and few of those who left come near the limit.
    """
    months = 12
    monkeypatch.setenv(ENVIRONMENT, sha256(b"a year of a thousand people").hexdigest())
    said = {name: name in {"removed", "changes"} for name in QUESTIONS}
    synth.updates().write_csv(tmp_path / "updates.csv")
    text = f'{synth.schema().dumps()}\n{propose_policy(said).as_toml(said)}\n[updates]\nfile = "updates.csv"\n'
    with Ledger.create(tmp_path / "x.ledger", Schema.loads(text, tmp_path)) as ledger:
        for month in synth.Population(seed=4, people=1_000).months(months):
            publish(month, ledger)
        assert [one.record.findings["verdict"] for one in ledger.releases] == ["withstood"] * months


def test_values_that_change_need_no_update_model(tmp_path: Path) -> None:
    """What was seen to change counts as possible; nothing has to be begun anew."""
    said = {name: name in {"removed", "changes"} for name in QUESTIONS}
    plan = Schema.loads(f"{synth.schema().dumps()}\n{propose_policy(said).as_toml(said)}", tmp_path)
    months = list(synth.Population(seed=4, people=1_000).months(3))
    both = months[0].join(months[1], on="patient").filter(pl.col("disease") != pl.col("disease_right"))
    assert both.height > 10
    with Ledger.create(tmp_path / "x.ledger", plan) as ledger:
        for month in months:
            publish(month, ledger)
        assert [one.record.findings["verdict"] for one in ledger.releases] == ["withstood"] * 3


def test_a_refusal_says_that_rows_may_be_left_out_and_then_they_are(tmp_path: Path) -> None:
    synth.updates().write_csv(tmp_path / "updates.csv")
    risky: dict[str, Any] = {
        "require": "m-unique=3",
        "method": "distinct",
        "attacks": ["updates"],
        "limits": {"updates": 0.7},
    }
    risky |= {
        "options": {"risk": 0.7, "ineligible": "counterfeits"},
        "sensitive_values": ["none of these"],
        "counterfeits": 1,
    }
    plan = replace(synth.schema(), updates={"file": "updates.csv"}, folder=tmp_path, policy=risky)
    months = list(synth.Population(seed=4, people=3_000).months(3))
    with Ledger.create(tmp_path / "x.ledger", plan) as ledger:
        for month in months[:2]:
            publish(month, ledger)
        with pytest.raises(RefusedError, match=r"Suppress up to 3% of the records instead of 0%"):
            publish(months[2], ledger)
        assert ledger.amend(replace(plan, policy={**risky, "suppress": 0.02}))
        release = publish(months[2], ledger)
        assert 0 < release.suppressed <= 0.02 * months[2].height
        again = publish(months[2], ledger)
        assert again.frame.equals(release.frame)


def test_a_policy_is_one_that_its_columns_are_enough_for(tmp_path: Path) -> None:
    ill = ["flu", "asthma", "gout", "cancer"] * 30
    whole = pl.DataFrame({"patient_id": range(120), "age": [20 + n * n % 37 for n in range(120)], "diagnosis": ill})
    methods: list[str] = []
    for names in ([], ["patient_id"], ["diagnosis"], ["patient_id", "diagnosis"]):
        proposal = ri.propose(whole.drop(names))
        release = ri.publish(whole.drop(names), tmp_path / f"{len(methods)}.ledger", proposal.schema)
        assert release.frame.height >= 120
        assert ", assumed." in proposal.text
        methods.append(proposal.schema.policy["method"])
    assert methods == ["pool", "correspondence", "pool", "correspondence"]
    assert not ri.propose(whole.select("patient_id")).schema.policy


def test_answers_are_read() -> None:
    assert read_answers(["removed=yes", "known = No"]) == {"removed": True, "known": False}
    with pytest.raises(InputError, match="Did you mean 'removed'"):
        read_answers(["remove=yes"])
    with pytest.raises(InputError, match="yes or no"):
        read_answers(["removed=perhaps"])


def test_several_providers_whose_people_s_values_change_have_a_way_through(tmp_path: Path) -> None:
    said = {"removed": True, "changes": True, "providers": True, "known": False, "untrue": False}
    proposal = propose_policy(said)
    assert "apart = true" in proposal.as_toml(said)
    assert "ignores" not in proposal.as_toml(said), "the method minds all of its attacks"
    schema = Schema.loads(synth.schema().dumps() + proposal.as_toml(said))
    with Ledger.create(tmp_path / "x.ledger", schema) as ledger:
        for frame in synth.Population(seed=5, people=500, hospitals=2).months(3):
            publish(frame, ledger)
        assert len(ledger.releases) == 3


@pytest.mark.parametrize("income", [[1000.5 + 17.25 * n for n in range(120)], [1000 + 17 * n for n in range(120)]])
def test_amounts_are_not_randomized(income: list[float]) -> None:
    frame = pl.DataFrame(
        {"patient_id": range(120), "age": [20 + n % 37 for n in range(120)], "diagnosis": ["a", "b", "c"] * 40}
    )
    assert ri.propose(frame).schema.policy["values"] == "randomized"
    told = ri.propose(frame.with_columns(diagnosis=pl.Series(income)))
    assert "values" not in told.schema.policy
