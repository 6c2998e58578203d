"""What was not run is never counted as withstood: every sentence that anybody is shown is looked at."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from reissue import check, synth
from reissue.attacks.findings import AttackedRelease, Finding, Findings, Point, Status, not_run
from reissue.cli._findings import show_findings
from reissue.errors import Why
from reissue.outcome.findings import headline_of
from reissue.report import report_html
from reissue.report.evidence import evidence_html, record_of
from reissue.web.work.auditing import shown
from tests.cli.conftest import Reissue

CLAIM = re.compile(r"withst|nobody|no one|Tried:|expos\w+ anybody", re.IGNORECASE)
SAID = re.compile(r"not run|could not|needs? ", re.IGNORECASE)
BLANKET = re.compile(
    r"polic\w*'s attacks|\ball (the )?attacks\b|every attack|them all\b|any attack|no attack", re.IGNORECASE
)
RAN = Finding("minimality", Status.WITHSTOOD, "Two values or more are left.", (1, 2), population=8)
NEEDY = not_run("updates", (1, 2), "members are missing.", why=Why.NEEDS_INPUT, needs=["members"])
APART = not_run("correspondence", (1, 2), "a later release lacks records.")
TWO = (AttackedRelease(1, "a", 8, 2, 4), AttackedRelease(2, "b", 8, 2, 4))
CASES = {
    "apart": Findings((RAN, APART), TWO),
    "needy": Findings((RAN, NEEDY, APART), TWO),
    "by itself": Findings((replace(RAN, compares=False), APART), TWO),
    "nothing": Findings((NEEDY, APART), TWO),
    "none at all": Findings((), TWO),
    "timeline": Findings((RAN, NEEDY), TWO, {"minimality": (Point(1, 0, 8, 0.5), Point(2, 0, 8, 0.5))}),
}
FRAME = pl.DataFrame({"age": ["1", "1"], "ill": ["flu", "gout"]})


def sentences(text: str) -> list[str]:
    """The sentences and cells of a page or a terminal."""
    plain = unescape(re.sub(r"<(style|svg|title)\b.*?</\1>|<[^>]*>", "\n", text, flags=re.DOTALL))
    joined = re.sub(r"[ \t]+", " ", plain)
    return [one.strip() for one in re.split(r"(?<=[.;:])\s+(?=[A-Z])|\n+|;", joined) if one.strip()]


def honest(text: str, idle: tuple[str, ...]) -> None:
    """No sentence that claims something names what was not run, or speaks of all attacks."""
    for sentence in sentences(text):
        if CLAIM.search(sentence) and not SAID.search(sentence):
            assert not BLANKET.search(sentence), sentence
            assert not [name for name in idle if re.search(rf"\b{name}\b", sentence)], sentence


def evidence(findings: Findings) -> str:
    schema = synth.schema().__class__.of_columns(quasi=["age"], sensitive=["ill"])
    return evidence_html(record_of("attack", {"a": FRAME}, schema, [check(FRAME, schema)], findings=findings))


RENDERERS: dict[str, Callable[[Findings], str]] = {
    "verdict": lambda findings: headline_of(findings).sentence,
    "text": str,
    "repr": repr,
    "notebook": lambda findings: findings._repr_html_(),
    "report": report_html,
    "page": lambda findings: str(shown(findings)["headline"]["sentence"]),
    "evidence": evidence,
}


@pytest.mark.parametrize("renderer", sorted(RENDERERS))
@pytest.mark.parametrize("case", sorted(CASES))
def test_no_sentence_counts_what_was_not_run(case: str, renderer: str) -> None:
    findings = CASES[case]
    honest(RENDERERS[renderer](findings), tuple(one.attack for one in findings.of(Status.NOT_RUN)))


@pytest.mark.parametrize("case", sorted(CASES))
def test_nor_does_the_terminal(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_findings(CASES[case])
    text = capsys.readouterr().out
    honest(text, tuple(one.attack for one in CASES[case].of(Status.NOT_RUN)))
    assert ("Withstood:" in text) == (case == "apart")
    assert ("Not run: correspondence" in text) == (case == "apart")


def test_releases_that_nothing_compared_have_not_withstood_together() -> None:
    said = headline_of(CASES["by itself"])
    assert said.mark == "unsure"
    assert "releases together" not in said.sentence
    assert "Nothing compared the releases" in said.sentence
    assert headline_of(CASES["none at all"]).word == "Nothing shown"


@pytest.mark.usefixtures("hospital")
def test_a_publication_says_what_it_withstood_and_what_was_not_run(reissue: Reissue, tmp_path: Path) -> None:
    policy = '\n[policy]\nrequire = "k=5 & l=3"\nmethod = "cohorts"\nattacks = ["correspondence"]\n'
    policy += 'not_run = "allow"\nlimit = 0.99\n'
    (tmp_path / "policy.toml").write_text((tmp_path / "schema.toml").read_text() + policy)
    pl.read_csv(tmp_path / "patients.csv").head(300).write_csv(tmp_path / "fewer.csv")
    first = reissue("publish", "patients.csv", "--schema", "policy.toml", "--ledger", "x.ledger", "--out", "1.csv")
    second = reissue("publish", "fewer.csv", "--ledger", "x.ledger", "--out", "2.csv", "--report", "2.html")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    said = " ".join(second.out.split())
    assert "It withstands joint" in said
    assert "together with earlier releases. Not run: correspondence, which has shown nothing." in said
    listed = reissue("ledger", "list", "x.ledger")
    assert "1 not run" in " ".join(listed.out.split())
    told = reissue("ledger", "show", "x.ledger", "2")
    for text in (first.out, second.out, listed.out, told.out, (tmp_path / "2.html").read_text()):
        honest(text, ("correspondence",))
