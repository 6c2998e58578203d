"""`reissue doctor`: what is there on this machine, and what to do where something is missing."""

from typing import Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import JsonOption


@app.command()
def doctor(
    start_spark: Annotated[
        bool, typer.Option("--start-spark", metavar="", help="Start Spark once, on this machine, to see that it runs.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is there on this machine beyond Reissue itself, what it is for, and how to get what is missing."""
    from reissue.installation import doctor as look

    found = look(start_spark=start_spark)
    if as_json:
        _render.show_json(found.as_dict())
        return
    _render.say(found.first)
    for part in found.parts:
        _render.say(f"{'yes' if part.there else 'no ':<3}  {part.name}", style="bold" if part.there else "yellow")
        _render.say(f"     {part.sentence}")
