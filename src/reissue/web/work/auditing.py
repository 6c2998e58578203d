"""Audits: attack what was uploaded, leave report and record."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reissue import methods
from reissue.attacks import by_default
from reissue.attacks.findings import Findings
from reissue.files.dialect import Dialect
from reissue.language import text
from reissue.outcome.findings import view_of
from reissue.outcome.view import Headline
from reissue.people.knowledge import Knowledge
from reissue.proposing.from_releases import ColumnHints, GuessedSchema, given_or_guessed
from reissue.published import open_counts, order_hint, releases_among
from reissue.publishing.attack import attack
from reissue.publishing.personal import personal_risks
from reissue.report import person_html, report_html
from reissue.report.evidence import attack_record, evidence_html
from reissue.requirements import parse
from reissue.requirements._values import read_sets
from reissue.schema import Role
from reissue.web.work import Tell

__all__ = ["audit", "person", "shown"]


def audit(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """Attack the files; the report, the record and its page lie in the folder."""
    tell(0.01, text("reading"))
    tables = releases_among([Path(one) for one in given["published"]])
    known, dialect = _knowledge(given), Dialect(given["delimiter"])
    # Tables of counts are told from tables of people by their content.
    opened = tables if given["schema"] else open_counts(tables, named=tuple(given["roles"]), dialect=dialect)
    guessed = _schema(given, opened, known)
    names = given["only"] or by_default()
    findings = attack(
        guessed.tables or opened,
        guessed.schema,
        only=given["only"] or (names if opened == tables else None),
        knowledge=known,
        dialect=dialect,
        timeline=True,
        progress=lambda share: tell(0.02 + 0.93 * share, names[min(int(share * len(names) + 1e-6), len(names) - 1)]),
    )
    hints = [*guessed.assumed, *filter(None, [order_hint(tables)])]
    findings = replace(findings, assumptions=tuple(hints))
    tell(0.96, text("writing the record"))
    report = report_html(findings)
    if opened == tables:
        record = attack_record(findings, guessed.tables or tables, guessed.schema, None, dialect)
        said, shows = record.to_json(), evidence_html(record)
    else:  # a record measures releases of people's records; of counts the findings are all there is
        said, shows = json.dumps(findings.as_dict(), indent=2, ensure_ascii=False), report
    (folder / "report.html").write_text(report, encoding="utf-8")
    (folder / "record.json").write_text(said, encoding="utf-8")
    (folder / "evidence.html").write_text(shows, encoding="utf-8")
    return {**shown(findings), "roles": {name: str(role) for name, role in guessed.schema.columns.items()}}


def person(given: Mapping[str, Any], folder: Path, tell: Tell) -> Mapping[str, Any]:
    """Write one person's case, which lies in the folder and names what the releases give away about that person."""
    tell(0.01, text("reading"))
    tables = releases_among([Path(one) for one in given["published"]])
    known, dialect = _knowledge(given), Dialect(given["delimiter"])
    guessed = _schema(given, tables, known)
    tell(0.2, text("looking for everybody's risks"))
    found = personal_risks(guessed.tables or tables, guessed.schema, knowledge=known, dialect=dialect)
    cases = [found.of(given["person"], column) for column in found.columns]
    (folder / "person.html").write_text(person_html(cases), encoding="utf-8")
    return {"audit": given["audit"]}


def _schema(given: Mapping[str, Any], tables: Sequence[Any], known: Knowledge) -> GuessedSchema:
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


def shown(findings: Findings, headline: Headline | None = None) -> dict[str, Any]:
    """Return the view of findings as a page keeps it: without the pictures, which the report shows."""
    view = view_of(findings, headline)
    brief = [replace(one, picture=None, calibration=None) for one in view.ran]
    return asdict(replace(view, ran=tuple(brief), growth=None, spread=None))
