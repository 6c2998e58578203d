"""`reissue check`: what published columns satisfy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._options import (
    EngineOption,
    ForceOption,
    GivenSchemaOption,
    IdentifierOption,
    JsonOption,
    QuasiOption,
    ReadOption,
    RecordOption,
    SensitiveOption,
    dialect_of,
    names_of,
    record_outputs,
    say_assumed,
    say_reading,
    source_of,
)
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.files.dialect import Dialect
    from reissue.proposing.from_releases import ColumnHints, GuessedSchema
    from reissue.report.evidence import Record
    from reissue.schema import Schema


@app.command()
def check(
    published: Annotated[
        list[Any],
        typer.Argument(
            parser=source_of,
            metavar="PUBLISHED",
            help="A published table, or the two tables of a release with groups and counts.",
        ),
    ],
    schema: GivenSchemaOption = None,
    sensitive: SensitiveOption = None,
    quasi: QuasiOption = None,
    identifier: IdentifierOption = None,
    require: Annotated[
        str | None,
        typer.Option("--require", "-r", metavar="REQUIREMENT", help="What it should meet, for example 'k=5 & l=3'."),
    ] = None,
    series: Annotated[
        bool,
        typer.Option(
            "--series",
            metavar="",
            help="The files are releases of a series, in order, that kept the identifier (the holder's copies): say "
            "whether they are m-Distinct together, and what the re-publication risk is.",
        ),
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A threshold to keep to, as regulators write it: 0.09, cell-11, cell-5 ..."),
    ] = None,
    population: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A register of the population: exact quasi-identifiers, a row a person."),
    ] = None,
    sampling: Annotated[
        float | None, typer.Option(metavar="SHARE", help="The share of the population that is in the table, at random.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that says how many people each record stands for.")
    ] = None,
    household: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that names each record's household.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="RISK", help="Count records whose risk is above this. Default: 0.2.")
    ] = None,
    known: Annotated[
        int | None,
        typer.Option(metavar="M", help="How many quasi-identifiers someone knows, any of them. Default: 2."),
    ] = None,
    record: RecordOption = None,
    original: Annotated[
        Any, typer.Option(parser=source_of, metavar="FILE", help="The original table: the record tells its risk too.")
    ] = None,
    force: ForceOption = False,
    everything: Annotated[
        bool, typer.Option("--all", metavar="", help="Show every measure in words, also beside what was asked for.")
    ] = False,
    engine: EngineOption = "auto",
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a published table satisfies: k, l of every kind, t, risk of re-identification. Anyone's file will do."""
    from reissue.proposing.from_releases import ColumnHints
    from reissue.published import read_published
    from reissue.release.release import EXACT
    from reissue.verify.check import check as judge
    from reissue.verify.check import read_for_check

    risk: dict[str, Any] = {"preset": preset, "population": population, "sampling": sampling, "weights": weights}
    risk |= {"household": household, "threshold": threshold, "known": known}
    if series and any(value is not None for value in (*risk.values(), record)):
        raise InputError("Risk is measured one release at a time: leave out --series.")
    dialect = dialect_of(reading)
    say_reading(published, dialect, quiet=as_json or series)
    hints = ColumnHints(sensitive, names_of(quasi), identifier)
    guessed = _guessed(published, schema, hints, dialect, engine, series=series, quiet=as_json)
    if series:
        _check_series(published, guessed, require, dialect, as_json=as_json)
        return
    plan = guessed.schema
    _plan_outputs(record, [*published, original, population], schema, plan, force=force)
    release = read_for_check(published, plan, dialect=dialect, engine=engine)
    if record is not None and release.tables.times is not None:
        raise InputError("--record looks at every row: use --engine memory.")
    outcome = judge(release, plan, require, **risk)
    exact = (read_published(published, plan, dialect=dialect) if release.tables.times is None else release).exact
    warnings = [EXACT] if exact else []
    if record is not None:
        asked = {"requirement": require, **risk}
        from reissue.report.evidence import check_record

        made = check_record(published, plan, outcome, original, asked, dialect, guessed.assumed)
        _write_record(record, made, force, quiet=as_json)
    if as_json:
        _render.show_json({**outcome.as_dict(), "warnings": warnings, **_assumed(guessed)})
    else:
        _render.show_check(outcome, everything=everything)
        _render.warn(*warnings)
    if not outcome.met:
        raise typer.Exit(NOT_MET)


def _guessed(
    published: list[Any],
    schema: Path | None,
    hints: "ColumnHints",
    dialect: "Dialect",
    engine: str,
    *,
    series: bool,
    quiet: bool,
) -> "GuessedSchema":
    """The schema given, or the one that the tables show; what was assumed is said."""
    from reissue.engines.registry import AUTO, MEMORY
    from reissue.proposing.from_releases import given_or_guessed

    if schema is None and engine not in {AUTO, MEMORY}:
        raise InputError("A schema is guessed from tables in memory: a release that an engine counts needs --schema.")
    releases = published if series or len(published) == 1 else [published]
    guessed = given_or_guessed(schema, hints, releases, dialect=dialect)
    if not quiet:
        say_assumed(guessed.assumed)
    return guessed


def _assumed(guessed: "GuessedSchema") -> dict[str, list[str]]:
    return {"assumed": list(guessed.assumed)} if guessed.assumed else {}


def _plan_outputs(record: Path | None, tables: list[Any], schema: Path | None, plan: "Schema", *, force: bool) -> None:
    """Refuse, before anything is counted, what could not be written at the end."""
    from reissue.data.outputs import Outputs, schema_inputs, table_inputs

    Outputs(
        tuple(record_outputs(record)),
        (*table_inputs("a table", tables), *schema_inputs(schema, plan)),
        force=force,
    )


def _write_record(path: Path, record: "Record", force: bool, *, quiet: bool) -> None:
    from reissue.files.staging import Staging
    from reissue.report.evidence import stage_record

    with Staging() as staging:
        written = stage_record(record, record_outputs(path), staging, force=force)
        staging.place()
    if not quiet:
        _render.say(f"Written: {', '.join(written)}")


def _check_series(
    published: list[Any], guessed: "GuessedSchema", require: str | None, dialect: "Dialect", *, as_json: bool
) -> None:
    from reissue.papers.series_check import check_series

    if require is not None:
        raise InputError("Check the releases of a series one by one against a requirement: --require without --series.")
    outcome = check_series(published, guessed.schema, dialect=dialect)
    if as_json:
        _render.show_json({**outcome.as_dict(), **_assumed(guessed)})
    else:
        _render.say(*outcome.sentences)
