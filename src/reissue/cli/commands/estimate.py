"""`reissue estimate`: what a release of randomized values says, with standard errors."""

from pathlib import Path
from typing import Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import JsonOption, ReadOption, dialect_of, say_reading, source_of
from reissue.errors import InputError


@app.command()
def estimate(
    release: Annotated[
        Any, typer.Argument(parser=source_of, metavar="RELEASE", help="A release with randomized values.")
    ],
    side: Annotated[Path, typer.Option("--side", metavar="FILE", help="The side table that was published beside it.")],
    count: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="People by the values of a column; may be repeated."),
    ] = None,
    cross: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN,COLUMN", help="People by two columns; may be repeated.")
    ] = None,
    means: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMULA",
            help='Means, or shares of values, by the groups of a column: "disease[flu] ~ sex"; may be repeated.',
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMULA",
            help='A linear regression, such as "disease[flu|cold] ~ age + sex" or "cost ~ disease"; may be repeated.',
        ),
    ] = None,
    logistic: Annotated[
        list[str] | None, typer.Option(metavar="FORMULA", help="A logistic regression; may be repeated.")
    ] = None,
    these_people: Annotated[
        bool,
        typer.Option(
            "--these-people",
            metavar="",
            help="Intervals of means and regressions are for the true values of these very people, not for a "
            "population of which they are a sample.",
        ),
    ] = False,
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate counts, means and regressions from a release of randomized values and its side table."""
    from reissue.outcome.estimation import view_of
    from reissue.utility import estimate as estimated

    say_reading([release, side], dialect_of(reading), quiet=as_json)
    found = estimated(
        release,
        side,
        counts=count or (),
        crosses=[_pair(text) for text in cross or ()],
        means=means or (),
        models=model or (),
        logistic=logistic or (),
        these_people=these_people,
        dialect=dialect_of(reading),
    )
    if as_json:
        _render.show_json(found.as_dict())
        return
    view = view_of(found)
    _render.say(*view.sentences)
    for one in view.tables:
        _render.show_table(one, one.caption)


def _pair(text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise InputError("`--cross` names two columns with a comma between them, for example sex,disease.")
    return parts[0], parts[1]
