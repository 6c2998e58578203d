"""`reissue init`: look at a file and propose its schema."""

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import DelimiterOption, ForceOption, JsonOption, delimiter_of


@app.command()
def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The table: CSV, gzipped CSV or Parquet.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.toml", help="Where the schema goes.")] = Path(
        "schema.toml"
    ),
    force: ForceOption = False,
    delimiter: DelimiterOption = ",",
    as_json: JsonOption = False,
) -> None:
    """Look at a table and write a commented schema for you to correct."""
    from reissue.files import refuse_existing, write_text
    from reissue.propose import as_toml, describe, propose_file

    refuse_existing(out, force=force, table=False)
    frame, guesses = propose_file(data, delimiter=delimiter_of(delimiter))
    title = f"Schema for {data.name} ({_render.plural(frame.height, 'row')}), proposed by `reissue init`."
    write_text(as_toml(guesses, title), out, force=force)
    if as_json:
        columns = [
            {"name": g.column, "role": g.role, "confirm": g.confirm, "generalized": describe(g.hierarchy), "why": g.why}
            for g in guesses
        ]
        _render.show_json({"schema": out, "rows": frame.height, "columns": columns})
        return
    rows = [[g.column, f"{g.role}?" if g.confirm else str(g.role), describe(g.hierarchy), g.why] for g in guesses]
    _render.show_table(["column", "role", "generalized by", "why"], rows)
    _render.say(f"Written: {out}. These are guesses: read the file and correct it.")
    if any(guess.confirm for guess in guesses):
        _render.say("What has a question mark stands there as a comment: confirm it, or it is left out.")
