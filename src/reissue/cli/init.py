"""`reissue init`: look at a file and propose its schema; ask about the series and propose its policy."""

import sys
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
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=yes|no",
            help="What you would be asked on a terminal: removed, changes, providers, known. May be repeated.",
        ),
    ] = None,
    force: ForceOption = False,
    delimiter: DelimiterOption = ",",
    as_json: JsonOption = False,
) -> None:
    """Look at a table and write a commented schema for you to correct; with answers a policy too."""
    from reissue.data.outputs import Output, Outputs, table_inputs
    from reissue.files.tables import write_text
    from reissue.proposing.propose import as_toml, describe, propose_file

    Outputs((Output("--out", out),), tuple(table_inputs("the data", [data])), force=force)
    frame, guesses = propose_file(data, delimiter=delimiter_of(delimiter))
    title = f"Schema for {data.name} ({_render.plural(frame.height, 'row')}), proposed by `reissue init`."
    policy = _policy(answer or [], ask=not as_json)
    write_text(as_toml(guesses, title) + policy, out, force=force)
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
    if policy:
        _render.say("The policy at its end follows from your answers; `reissue publish` goes by it.")


def _policy(given: list[str], *, ask: bool) -> str:
    """The policy that the answers lead to; nobody is asked where nobody sits. Without any answer there is none."""
    from reissue.proposing.policy_questions import QUESTIONS, propose_policy, read_answers

    answers = read_answers(given)
    if ask and sys.stdin.isatty() and sys.stdout.isatty():
        answers |= {name: typer.confirm(text) for name, text in QUESTIONS.items() if name not in answers}
    if not answers:
        return ""
    answers = {name: answers.get(name, False) for name in QUESTIONS}
    return "\n" + propose_policy(answers).as_toml(answers)
