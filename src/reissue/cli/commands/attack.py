"""`reissue attack`: what published files give away together."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, UNTESTED, app
from reissue.cli._options import (
    CountsOption,
    EngineOption,
    ForceOption,
    GivenSchemaOption,
    IdentifierOption,
    JsonOption,
    QuasiOption,
    ReadOption,
    RecordOption,
    SensitiveOption,
    count_rules_of,
    dialect_of,
    names_of,
    options_of,
    record_outputs,
    say_assumed,
    say_reading,
    source_of,
)
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.attacks.findings import Findings
    from reissue.contingency.cells import CountRules
    from reissue.files.dialect import Dialect
    from reissue.people.knowledge import Knowledge
    from reissue.proposing.from_releases import ColumnHints, GuessedSchema
    from reissue.report import Costs
    from reissue.report.evidence import Record
    from reissue.schema import Schema


@app.command()
def attack(
    published: Annotated[
        list[Any],
        typer.Argument(
            parser=source_of,
            metavar="PUBLISHED",
            help="Published tables, in the order of their publication; anyone's. A folder is one table, with a file "
            "for each provider.",
        ),
    ],
    schema: GivenSchemaOption = None,
    sensitive: SensitiveOption = None,
    quasi: QuasiOption = None,
    identifier: IdentifierOption = None,
    save_schema: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Write down the schema that was guessed, to correct it.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ATTACK",
            help="Run this attack only; may be repeated. Default: all but the slow `mechanism` and `shilling`, and "
            "what the policy names.",
        ),
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
    knowledge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="What the adversary knows; may be repeated: population=FILE (everyone's quasi-identifiers, or the "
            "original), members=FOLDER (who is in each release, a table each), totals=FILE (how many people "
            "have each value), leaving=FILE (how soon those who have it leave), algorithm=METHOD, "
            "requirement=REQUIREMENT, values=VALUES (the sensitive ones).",
        ),
    ] = None,
    population: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A table of people and their quasi-identifiers, or the original table."),
    ] = None,
    members: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Tables of the people in each release, with an identifier: one for each release."
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
    private: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write each person's risks: of the true value, of every value, and in equivalence attacks. Private, "
            "and readable by you alone; it needs releases that kept the identifier, or members.",
        ),
    ] = None,
    record: RecordOption = None,
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
    counts: CountsOption = None,
    engine: EngineOption = "memory",
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what published tables give away together, attacking them the way someone who holds them would."""
    from dataclasses import replace

    from reissue.cli._knows import insiders, knowledge_of
    from reissue.proposing.from_releases import ColumnHints, given_or_guessed
    from reissue.published import order_hint, releases_among
    from reissue.publishing.attack import asked_for
    from reissue.publishing.attack import attack as run

    limits = {name: _number(value) for name, value in options_of(limit or []).items()}
    dialect, tables = dialect_of(reading), releases_among(published)
    say_reading(tables, dialect, quiet=as_json)
    known = insiders(knowledge_of(knowledge or [], population, members), m, coalition)
    files = {"--report": report, "--private": private, "--save-schema": save_schema}
    _plan_outputs(files, record, [*published, originals], schema, known, force=force)
    columns = ColumnHints(sensitive, names_of(quasi), identifier, None if schema is not None else providers)
    beside = {"members": known.members, "population": known.population}
    rules, order = count_rules_of(counts), order_hint(tables)
    tables = _counts_opened(tables, schema, columns, rules, dialect) if engine == "memory" else tables
    guessed = given_or_guessed(schema, columns, tables, **beside, dialect=dialect)
    plan = _schema_of(guessed, providers, save_schema)
    hints = [*guessed.assumed, *filter(None, [order])]
    say_assumed([] if as_json else hints)
    asked: dict[str, Any] = {"only": only or None, "exact": exact, "knowledge": known, "limits": limits}
    asked |= {"dialect": dialect, "engine": engine, "counts": rules}
    costs = {} if originals is None else _costs(originals, tables, plan, dialect)
    with _render.watching("Attacking", only or asked_for(plan)) as progress:
        findings = run(
            guessed.tables or tables,
            plan,
            **asked,
            timeline=report is not None,
            progress=progress,
        )
    findings = replace(findings, assumptions=tuple(dict.fromkeys([*hints, *findings.assumptions])))
    read = guessed.tables or tables
    evidence = None if record is None else _record(findings, read, plan, originals, dialect)
    theirs = None if private is None else (private, _private(read, plan, known, limits, dialect))
    _write(findings, costs, guessed, report, save_schema, record, evidence, theirs, force=force)
    _end(findings, report, private, strict=strict, as_json=as_json)


def _schema_of(guessed: "GuessedSchema", providers: str | None, save_schema: Path | None) -> "Schema":
    """The schema, with the column of providers."""
    if save_schema is not None and not guessed.assumed:
        raise InputError("--save-schema writes down a schema that was guessed, and --schema gives one.")
    return guessed.schema if providers is None else guessed.schema.with_roles({providers: "provider"})


def _private(
    tables: Sequence[Any], schema: "Schema", knowledge: "Knowledge", limits: dict[str, float], dialect: "Dialect"
) -> bytes:
    """Everybody's risks, as CSV."""
    from reissue.files.tables import csv_bytes
    from reissue.publishing.personal import personal_risks

    return csv_bytes(personal_risks(tables, schema, knowledge=knowledge, limits=limits, dialect=dialect).frame)


def _counts_opened(
    tables: list[Any], schema: Path | None, columns: "ColumnHints", rules: "CountRules | None", dialect: "Dialect"
) -> list[Any]:
    """The tables, of which those that count people are opened as such."""
    from reissue.published import open_counts
    from reissue.schema import Schema

    named = None if schema is None else Schema.load(schema)
    return open_counts(tables, named, named=columns.roles, rules=rules, dialect=dialect)


def _record(
    findings: "Findings", tables: Sequence[Any], schema: "Schema", originals: Path | None, dialect: "Dialect"
) -> "Record":
    from reissue.report.evidence import attack_record

    return attack_record(findings, tables, schema, originals, dialect)


def _write(
    findings: "Findings",
    costs: "Costs",
    guessed: "GuessedSchema",
    report: Path | None,
    save_schema: Path | None,
    kept: Path | None,
    record: "Record | None",
    private: tuple[Path, bytes] | None,
    *,
    force: bool,
) -> None:
    """The report, the guessed schema and the record, all or none."""
    from reissue.files.staging import Staging

    with Staging() as staging:
        if report is not None:
            from reissue.report import report_html

            staging.add_bytes(report, report_html(findings, utility=costs).encode(), replaces=force)
        if kept is not None and record is not None:
            from reissue.report.evidence import stage_record

            stage_record(record, record_outputs(kept, report), staging, force=force)
        if private is not None:
            staging.add_bytes(private[0], private[1], replaces=force, private=True)
        if save_schema is not None:
            staging.add_bytes(save_schema, guessed.as_toml().encode(), replaces=force)
        staging.place()


def _end(findings: "Findings", report: Path | None, private: Path | None, *, strict: bool, as_json: bool) -> None:
    """Show what was found, and end with the code that says it."""
    from reissue.attacks.findings import Verdict
    from reissue.cli._findings import show_findings

    if as_json:
        _render.show_json(findings.as_dict())
    else:
        show_findings(findings)
        if report is not None:
            _render.say(f"Written: {report}")
        if private is not None:
            from reissue.papers.personal import PRIVATE

            _render.say(f"Written: {private}", PRIVATE)
    if findings.verdict == Verdict.EXPOSED:
        raise typer.Exit(NOT_MET)
    if not findings.tested:
        raise typer.Exit(UNTESTED)
    if strict and findings.verdict == Verdict.INCOMPLETE:
        raise typer.Exit(NOT_MET)


def _plan_outputs(
    written: dict[str, Path | None],
    record: Path | None,
    tables: list[Path | None],
    schema: Path | None,
    knowledge: "Knowledge",
    *,
    force: bool,
) -> None:
    """Refuse, before anything is read, what could not be written at the end."""
    from reissue.data.outputs import Output, Outputs, schema_inputs, table_inputs
    from reissue.schema import Schema

    files = [Output(option, place) for option, place in written.items() if place is not None]
    files += record_outputs(record, written["--report"])
    people = [Path(one) for one in (knowledge.population, *(knowledge.members or ())) if isinstance(one, str | Path)]
    named = schema_inputs(schema, None if schema is None else Schema.load(schema))
    read = (*table_inputs("a published table", tables), *table_inputs("a table of people", people), *named)
    Outputs(tuple(files), read, force=force)


def _costs(originals: Path, published: list[Any], schema: "Schema", dialect: "Dialect") -> "Costs":
    """What was lost against the originals."""
    from reissue.report import costs_of

    if not originals.is_dir():
        raise InputError("--originals must be a folder with the original tables, one for each release.")
    return {"these releases": costs_of(originals, published, schema, dialect=dialect)}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("A limit is written  --limit attack=number, for example --limit correspondence=5.")
    return value
