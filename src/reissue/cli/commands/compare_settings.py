"""`reissue compare-settings`: which k and which method, for one table."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import TABLES, JsonOption, ReadOption, SchemaOption, dialect_of, say_reading, source_of

if TYPE_CHECKING:
    from reissue.publishing.plan import Settings

_BAR = 24
"""Characters of the longest bar."""


@app.command("compare-settings")
def compare_settings(
    data: Annotated[Any, typer.Argument(parser=source_of, metavar="DATA", help=f"The table: {TABLES}")],
    schema: SchemaOption,
    require: Annotated[
        str, typer.Option("--require", "-r", metavar="REQUIREMENT", help="What must hold beside k: 'l=3', for example.")
    ] = "",
    method: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this one; may be repeated.")] = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long it may take, such as 60s or 5m.")] = "60s",
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what one release of a table would lose, with k from 2 to 50 and several methods; nothing is written."""
    from reissue.publishing.plan import compare_settings as compared
    from reissue.schema import Schema

    plan, dialect = Schema.load(schema), dialect_of(reading)
    say_reading([data], dialect, quiet=as_json)
    with _render.watching("Comparing") as progress:
        found = compared(
            data,
            plan,
            methods=method or (),
            require=require,
            budget=budget,
            dialect=dialect,
            progress=progress,
        )
    if as_json:
        _render.show_json(found.as_dict())
    else:
        _show(found)


def _show(found: "Settings") -> None:
    """Losses as a table, and those of the best method as bars."""
    rows = [[method, *(_share(loss) for loss in losses)] for method, losses in found.losses.items()]
    _render.show_rows(["lost", *(f"k={k}" for k in found.ks)], rows)
    best = [
        min((one for one in column if one is not None), default=None)
        for column in zip(*found.losses.values(), strict=True)
    ]
    for k, loss in zip(found.ks, best, strict=True):
        bar = "" if loss is None else "█" * max(round(loss * _BAR), 1)
        _render.say(f"k={k:<3} {bar} {_share(loss)}")
    _render.say(
        "Lost: the share of what the table says that the best method's release does not. –: no release can meet it."
    )
    if found.skipped:
        _render.say(f"Not tried, for time was over: {', '.join(found.skipped)}. More: --budget 5m.")


def _share(loss: float | None) -> str:
    return "–" if loss is None else f"{loss:.1%}"
