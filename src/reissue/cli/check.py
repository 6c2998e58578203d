"""`reissue check`: what published columns satisfy."""

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._options import DelimiterOption, JsonOption, SchemaOption, delimiter_of


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
    delimiter: DelimiterOption = ",",
    as_json: JsonOption = False,
) -> None:
    """Say what a published table satisfies: k, l of every kind, t and more. Anyone's file will do."""
    from reissue.check import check as judge
    from reissue.schema import Schema

    outcome = judge(published, Schema.load(schema), require, delimiter=delimiter_of(delimiter))
    if as_json:
        _render.show_json(outcome.as_dict())
    else:
        _render.show_check(outcome)
    if not outcome.met:
        raise typer.Exit(NOT_MET)
