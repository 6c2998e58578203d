"""`reissue check`: what published columns satisfy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._options import DelimiterOption, JsonOption, SchemaOption, delimiter_of
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.schema import Schema


@app.command()
def check(
    published: Annotated[
        list[Path],
        typer.Argument(
            metavar="PUBLISHED", help="A published table, or the two tables of a release with groups and counts."
        ),
    ],
    schema: SchemaOption,
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
    delimiter: DelimiterOption = ",",
    as_json: JsonOption = False,
) -> None:
    """Say what a published table satisfies: k, l of every kind, t and more. Anyone's file will do."""
    from reissue.published import read_published
    from reissue.release.release import EXACT
    from reissue.schema import Schema
    from reissue.verify.check import check as judge

    if series:
        _check_series(published, Schema.load(schema), require, delimiter_of(delimiter), as_json=as_json)
        return
    plan = Schema.load(schema)
    outcome = judge(published, plan, require, delimiter=delimiter_of(delimiter))
    exact = read_published(published, plan, delimiter=delimiter_of(delimiter)).exact
    warnings = [EXACT] if exact else []
    if as_json:
        _render.show_json({**outcome.as_dict(), "warnings": warnings})
    else:
        _render.show_check(outcome)
        _render.warn(*warnings)
    if not outcome.met:
        raise typer.Exit(NOT_MET)


def _check_series(
    published: list[Path], schema: "Schema", require: str | None, delimiter: str, *, as_json: bool
) -> None:
    from reissue.verify.series import check_series

    if require is not None:
        raise InputError("Check the releases of a series one by one against a requirement: --require without --series.")
    outcome = check_series(published, schema, delimiter=delimiter)
    if as_json:
        _render.show_json(outcome.as_dict())
    else:
        _render.say(*outcome.sentences)
