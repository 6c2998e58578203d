"""Findings: verdicts, the gate, the JSON contract; how attacks register and what they may not do."""

import json
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from reissue.attacks import CannotRunError, Knowledge, Series, find, registered, registry
from reissue.attacks import attack as register
from reissue.attacks.findings import Finding, Findings, Status, Verdict, not_run
from reissue.attacks.run import as_published
from reissue.errors import InputError, RiskError, Why
from reissue.outcome.findings import gravity, growth_of, line_of, tried, withstood
from reissue.publishing.attack import attack
from reissue.schema import Schema

GOOD = Finding("a", Status.WITHSTOOD, "Nobody is worse off.", (1, 2), population=8)
BAD = Finding("b", Status.EXPOSED, "Somebody is.", (1, 2), people=1, population=8, measure="m", worst=1, limit=2)
OPEN = not_run("c", (1, 2), "it needs members.", why=Why.NEEDS_INPUT, needs=["members"])
APART = not_run("d", (1, 2), "it does not apply.")
KEYS = {
    "attack",
    "decides",
    "compares",
    "status",
    "reason",
    "why",
    "needs",
    "releases",
    "people",
    "population",
    "measure",
    "worst",
    "limit",
    "at_least",
    "sentence",
    "details",
}


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ((GOOD,), "withstood"),
        ((GOOD, OPEN), "incomplete"),
        ((GOOD, APART), "withstood"),
        ((APART,), "incomplete"),
        ((OPEN, BAD, GOOD), "exposed"),
        ((), "incomplete"),
    ],
)
def test_the_verdict(findings: tuple[Finding, ...], verdict: str) -> None:
    assert Findings(findings).verdict == verdict
    assert Findings(findings).as_dict()["verdict"] == verdict


def test_the_json_is_the_contract() -> None:
    read = json.loads(Findings((GOOD, BAD, OPEN, APART)).to_json())
    assert set(read) == {"verdict", "findings"}
    assert all(set(finding) == KEYS for finding in read["findings"])
    assert [finding["status"] for finding in read["findings"]] == ["withstood", "exposed", "not_run", "not_run"]
    assert read["findings"][2]["reason"] == "it needs members."
    assert [finding["why"] for finding in read["findings"]] == [None, None, "needs_input", "does_not_apply"]
    assert [finding["needs"] for finding in read["findings"]] == [[], [], ["members"], []]
    assert read["findings"][0]["reason"] is None
    assert read["findings"][1]["releases"] == [1, 2]


def test_the_words_of_older_ledgers_are_read() -> None:
    assert [Status("succeeded"), Status("failed")] == [Status.EXPOSED, Status.WITHSTOOD]
    old: dict[str, Any] = {
        "attack": "a",
        "status": "succeeded",
        "sentence": "Somebody is.",
        "releases": [1],
        "people": 1,
    }
    assert Finding(**old).as_dict()["status"] == "exposed"
    with pytest.raises(ValueError, match="perhaps"):
        Status("perhaps")


def test_the_verdict_comes_first_and_says_what_was_tried() -> None:
    joint = Finding("joint", Status.WITHSTOOD, "Nobody is.", (1, 2), details={"knowledge": "register"})
    assert sorted([OPEN, GOOD, BAD, joint], key=gravity) == [joint, BAD, GOOD, OPEN]
    assert tried(Findings((OPEN, GOOD, joint))) == "joint (with a register of people) and a"


FIVE = pl.DataFrame({"id": range(5), "age": [40] * 5, "ill": ["flu"] * 3 + ["HIV"] * 2})


@pytest.mark.parametrize("asked", ["nothing", "limits", "policy"])
def test_a_paper_s_measure_does_not_condemn_what_everyone_at_once_shows_to_be_harmless(asked: str) -> None:
    """The same five people twice: 0.6 is the truth, and 0.69 what groups as independent evidence come to."""
    policy: dict[str, Any] = {"require": "k=5 & confidence=0.65", "method": "pool", "limit": 0.65}
    policy |= {"attacks": ["updates", "joint"] if asked == "policy" else ["joint"]}
    schema = replace(Schema.of_columns(identifier="id", quasi=["age"], sensitive=["ill"]), policy=policy)
    limits = {"updates": 0.65} if asked == "limits" else None
    findings = attack([FIVE, FIVE], schema, only=["joint", "updates"], limits=limits)
    assert findings["updates"].status == Status.EXPOSED
    assert findings["updates"].worst == pytest.approx(9 / 13)
    assert findings["joint"].worst == pytest.approx(0.6)
    decides = asked != "nothing"
    assert findings["updates"].decides == decides
    assert findings.verdict == (Verdict.EXPOSED if decides else Verdict.WITHSTOOD)
    assert findings.people == (findings["updates"].people if decides else 0)
    if not decides:
        findings.raise_for_risk()
        assert findings["updates"].mark == "unsure"
        assert line_of(findings["updates"]).outcome == "not counted"
        told = attack([FIVE, FIVE], schema, only=["joint", "updates"], timeline=True)
        chart = growth_of(told)
        assert chart is not None
        assert [line.attack for line in chart.lines] == ["joint", "updates (not counted)"]
        assert attack([FIVE, FIVE], schema, only="updates").verdict == Verdict.EXPOSED, "nothing else was asked"


def test_the_gate() -> None:
    Findings((GOOD,)).raise_for_risk()
    with pytest.raises(RiskError, match="b: Somebody is"):
        Findings((GOOD, BAD)).raise_for_risk(allow_not_run=True)
    with pytest.raises(RiskError, match="c: Not run"):
        Findings((GOOD, OPEN)).raise_for_risk()
    with pytest.raises(RiskError):
        Findings((GOOD, OPEN)).raise_for_risk(allow_not_run=["a"])
    Findings((GOOD, OPEN)).raise_for_risk(allow_not_run=["c"])
    Findings((GOOD, OPEN)).raise_for_risk(allow_not_run=True)


def test_findings_are_a_collection() -> None:
    findings = Findings((GOOD, BAD))
    assert list(findings) == [GOOD, BAD]
    assert len(findings) == 2
    assert findings["b"] is BAD
    with pytest.raises(InputError, match="No attack 'z'"):
        findings["z"]
    assert findings.of(Status.EXPOSED) == (BAD,)
    assert Findings().verdict == Verdict.INCOMPLETE, "nothing was run"


def test_a_reason_belongs_to_what_was_not_run() -> None:
    with pytest.raises(InputError, match="reason"):
        Finding("a", Status.NOT_RUN, "?", (1,))
    with pytest.raises(InputError, match="reason"):
        Finding("a", Status.WITHSTOOD, "?", (1,), reason="none")


def test_a_users_attack_registers_like_a_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", registered())

    @register("counting", "Counts releases.")
    def counting(series: Series, knowledge: Knowledge) -> Finding:
        if len(series) > 2:
            raise CannotRunError("there are too many.")
        return Finding("counting", Status.WITHSTOOD, "Counted.", series.numbers, worst=len(series))

    assert "counting" in registered()
    frame, schema = pl.DataFrame({"q": ["a"], "s": ["x"]}), Schema.of_columns(quasi=["q"], sensitive=["s"])
    assert attack([frame, frame], schema, only=["counting"])["counting"].worst == 2
    finding = attack([frame] * 3, schema, only="counting")["counting"]
    assert (finding.status, finding.reason) == (Status.NOT_RUN, "there are too many.")
    assert attack([frame] * 3, schema, only="counting", knowledge=Knowledge(holds=(1, 3))).findings[0].releases == (
        1,
        3,
    )


def test_a_bug_in_an_attack_is_never_taken_for_withstood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", registered())

    @register("broken", "Breaks.")
    def broken(series: Series, knowledge: Knowledge) -> Finding:
        raise ZeroDivisionError

    frame, schema = pl.DataFrame({"q": ["a"]}), Schema.of_columns(quasi=["q"])
    with pytest.raises(ZeroDivisionError):
        attack([frame], schema, only="broken")


def test_every_attack_has_a_name_and_a_sentence() -> None:
    for name, its in registered().items():
        assert find(name).name == name
        assert its.summary.endswith(".")


def test_attacks_that_judge_a_release_by_itself_say_so() -> None:
    alone = {name for name, its in registered().items() if its.per_release}
    assert alone == {"coalition", "definetti", "disclosure", "mechanism", "minimality", "shilling"}


def test_attacks_are_listed_by_name_whatever_was_imported_first() -> None:
    find("updates")
    assert list(registered()) == sorted(registered())


def test_what_takes_randomized_values_for_true_is_not_said_to_be_withstood() -> None:
    other = Finding("joint", Status.WITHSTOOD, "Nobody.", (1,))
    drawn = as_published(other, Schema.of_columns(quasi=["age"], sensitive=["disease"]))
    judged = Finding("posterior", Status.WITHSTOOD, "Nobody.", (1,))
    assert withstood(Findings((judged, drawn))) == " It withstands posterior."
    assert "No attack was run" in withstood(Findings((drawn,)))
