"""`reissue attack`: what published files give away together."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._options import DelimiterOption, ForceOption, JsonOption, SchemaOption, delimiter_of, options_of
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.findings import Finding, Findings
    from reissue.report import Costs
    from reissue.schema import Schema

_STYLES = {"succeeded": "red", "failed": "green", "not_run": "yellow"}
_WORDS = {"succeeded": "SUCCEEDED", "failed": "failed", "not_run": "not run"}
_VERDICTS = {
    "exposed": "Exposed: at least one attack succeeded.",
    "withstood": "Withstood: every attack ran and failed.",
    "incomplete": "Incomplete: no attack succeeded, but what was not run has shown nothing.",
}


@app.command()
def attack(
    published: Annotated[
        list[Path],
        typer.Argument(
            metavar="PUBLISHED",
            help="Published tables, in the order of their publication; anyone's. A folder is one table, with a file "
            "for each provider.",
        ),
    ],
    schema: SchemaOption,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ATTACK", help="Run this attack only; may be repeated. Default: all.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", metavar="", help="Take the slower, exact way of attacks that have one.")
    ] = False,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ATTACK=NUMBER", help="What an attack must stay at or above, or at or below; may be repeated."
        ),
    ] = None,
    knows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="What the adversary knows; may be repeated: population=FILE (everyone's quasi-identifiers, or the "
            "original), members=FOLDER (who is in each release, a table each), algorithm=METHOD, "
            "requirement=REQUIREMENT, values=VALUES (the sensitive ones).",
        ),
    ] = None,
    providers: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that names each record's provider, in the holder's copies."),
    ] = None,
    m: Annotated[
        int | None, typer.Option(min=0, help="How many providers may collude, whichever they are. Default: 1.")
    ] = None,
    coalition: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Providers who take their own records out before they run every attack."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a report that people understand: one HTML file.")
    ] = None,
    originals: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="The holder's own tables, one for each release: the report tells what was lost."
        ),
    ] = None,
    force: ForceOption = False,
    strict: Annotated[
        bool, typer.Option("--strict", metavar="", help="End with code 1 also if an attack could not be run.")
    ] = False,
    delimiter: DelimiterOption = ",",
    as_json: JsonOption = False,
) -> None:
    """Say what published tables give away together, attacking them the way someone who holds them would."""
    from reissue.attack import attack as run
    from reissue.cli._knows import insiders, knowledge_of
    from reissue.files import refuse_existing
    from reissue.findings import Verdict
    from reissue.schema import Schema

    limits = {name: _number(value) for name, value in options_of(limit or []).items()}
    plan, knowledge = Schema.load(schema), insiders(knowledge_of(knows or []), m, coalition)
    plan = plan if providers is None else plan.with_roles({providers: "provider"})
    if report is not None:
        refuse_existing(report, force=force, table=False)
    costs = {} if originals is None else _costs(originals, published, plan, delimiter_of(delimiter))
    with _render.watching("Attacking") as progress:
        findings = run(
            published,
            plan,
            only=only or None,
            exact=exact,
            knowledge=knowledge,
            limits=limits,
            delimiter=delimiter_of(delimiter),
            timeline=report is not None,
            progress=progress,
        )
    if report is not None:
        from reissue.report import write_report

        write_report(findings, report, utility=costs, force=force)
    if as_json:
        _render.show_json(findings.as_dict())
    else:
        _show(findings)
        if report is not None:
            _render.say(f"Written: {report}")
    if findings.verdict == Verdict.EXPOSED or (strict and findings.verdict == Verdict.INCOMPLETE):
        raise typer.Exit(NOT_MET)


def _costs(originals: Path, published: list[Path], schema: "Schema", delimiter: str) -> "Costs":
    """What was lost against the originals."""
    from reissue.report import costs_of

    if not originals.is_dir():
        raise InputError("--originals must be a folder with the original tables, one for each release.")
    return {"these releases": costs_of(originals, published, schema, delimiter=delimiter)}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("A limit is written  --limit attack=number, for example --limit correspondence=5.")
    return value


def _show(findings: "Findings") -> None:
    """A line for each attack, then what was found, in words."""
    rows = [
        [finding.attack, _WORDS[finding.status], _people(finding), _told(finding.worst), _told(finding.limit)]
        for finding in findings
    ]
    _render.show_table(["attack", "outcome", "people", "worst", "limit"], rows)
    for finding in findings:
        _render.say(f"{finding.attack}: {finding.sentence}", style=_STYLES[finding.status])
    _render.say("", _VERDICTS[findings.verdict], style="bold")


def _people(finding: "Finding") -> str:
    return "-" if finding.status == "not_run" else f"{finding.people:,} of {finding.population:,}"


def _told(number: float | None) -> str:
    return "-" if number is None else f"{number:,.4g}" if isinstance(number, float) else f"{number:,}"
