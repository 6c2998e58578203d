"""Audits: attack what was uploaded, leave report and record."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reissue import methods
from reissue.attacks import by_default, registered
from reissue.attacks.findings import HINT, Finding, Findings, gravity, outcome, people, verdict
from reissue.errors import Why
from reissue.files.dialect import Dialect
from reissue.people.knowledge import Knowledge
from reissue.proposing.guess import ColumnHints, Guessed, given_or_guessed
from reissue.published import order_hint, releases_among
from reissue.publishing.attack import attack
from reissue.report import report_html
from reissue.report.evidence import attack_record, evidence_html
from reissue.requirements import parse
from reissue.requirements._values import read_sets
from reissue.schema import Role
from reissue.web.work import Tell

__all__ = ["audit", "shown"]

_HINT = "Files alone do not say who is in them: a register or lists of members, given below, would say who it is."


def audit(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """Attack the files; the report, the record and its page lie in the folder."""
    tell(0.01, "reading")
    tables = releases_among([Path(one) for one in given["published"]])
    known, dialect = _knowledge(given), Dialect(given["delimiter"])
    guessed = _schema(given, tables, known)
    names = given["only"] or by_default()
    findings = attack(
        guessed.tables or tables,
        guessed.schema,
        only=names,
        knowledge=known,
        dialect=dialect,
        timeline=True,
        progress=lambda share: tell(0.02 + 0.93 * share, names[min(int(share * len(names) + 1e-6), len(names) - 1)]),
    )
    hints = [*guessed.assumed, *filter(None, [order_hint(tables)])]
    findings = replace(findings, assumptions=tuple(hints))
    tell(0.96, "writing the record")
    record = attack_record(findings, guessed.tables or tables, guessed.schema, None, dialect)
    (folder / "report.html").write_text(report_html(findings), encoding="utf-8")
    (folder / "record.json").write_text(record.to_json(), encoding="utf-8")
    (folder / "evidence.html").write_text(evidence_html(record), encoding="utf-8")
    return {**shown(findings), "roles": {name: str(role) for name, role in guessed.schema.columns.items()}}


def _schema(given: Mapping[str, Any], tables: Sequence[Path], known: Knowledge) -> Guessed:
    """The schema file, or what was said about columns with the rest guessed."""
    roles = {name: Role(role) for name, role in given["roles"].items()}
    named = {role: [name for name, its in roles.items() if its == role] for role in Role}
    single = {role: next(iter(named[role]), None) for role in (Role.SENSITIVE, Role.IDENTIFIER, Role.PROVIDER)}
    hints = ColumnHints(
        single[Role.SENSITIVE], tuple(named[Role.QUASI]), single[Role.IDENTIFIER], single[Role.PROVIDER]
    )
    path = Path(given["schema"]) if given["schema"] else None
    more = {"members": known.members, "population": known.population, "dialect": Dialect(given["delimiter"])}
    return given_or_guessed(path, hints if path is None else ColumnHints(), tables, **more)


def _knowledge(given: Mapping[str, Any]) -> Knowledge:
    """What the adversary has beside the files."""
    if given["algorithm"]:
        methods.find(given["algorithm"])
    return Knowledge(
        population=Path(given["people"]) if given["people"] else None,
        members=[Path(one) for one in given["members"]] or None,
        algorithm=given["algorithm"] or None,
        requirement=parse(given["requirement"]) if given["requirement"] else None,
        values=read_sets(given["values"]) if given["values"] else (),
    )


def shown(findings: Findings) -> dict[str, Any]:
    """Findings as a page lists them: the verdict, what ran, what more would be needed, what does not apply."""
    ordered, said = sorted(findings, key=gravity), verdict(findings, None)
    return {
        "verdict": asdict(replace(said, sentence=said.sentence.replace(HINT, _HINT))),
        "ran": [_row(one) for one in ordered if one.reason is None],
        "lacking": [_row(one) for one in ordered if one.why not in {None, Why.DOES_NOT_APPLY}],
        "apart": [one.attack for one in ordered if one.why == Why.DOES_NOT_APPLY],
        "assumed": list(findings.assumptions),
        "files": [asdict(one) for one in findings.releases],
    }


def _row(finding: Finding) -> dict[str, Any]:
    known = registered().get(finding.attack)
    return {
        "attack": finding.attack,
        "mark": finding.mark,
        "outcome": outcome(finding),
        "people": people(finding),
        "sentence": finding.reason or finding.sentence,
        "story": "" if known is None else known.story or known.summary,
        "needs": list(finding.needs),
    }
