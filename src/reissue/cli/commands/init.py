"""`reissue init`: look at files and propose their schema; plan their series, or ask about it, and propose a policy."""

import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import TABLES, ForceOption, JsonOption, ReadOption, dialect_of, say_reading, source_of
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.cleaning import CleanRecipe
    from reissue.proposing.clean import Cleaning
    from reissue.publishing.plan import Beginning

_REPAIR = "Shall the schema repair this each time a table is read?"
_HARDER = "Shall the policy take the harder case: people come and go, and their values change?"
_ANSWERED = "The policy at its end follows from your answers; `reissue publish` goes by it."
_ASSUMED = (
    "The policy at its end takes the harder case: people come and go, and their values change. For the easier one add "
    "--answer removed=no --answer changes=no --force to this command; with a second wave, `reissue plan` knows better."
)
_UNTRUE = (
    "Published sensitive values will be true with a chosen probability only; estimates with the side table correct "
    "for that. Where every published value must be true, add --answer untrue=no: that costs more, and lasts less long. "
    "Someone who knows how soon people with each value leave may be surer: with two waves `reissue plan` covers that."
)
_NOBODY = (
    "No column says who is who, so the policy at its end is for a table to which records are only added. If a column "
    "does, such as a patient's number, make it the identifier; it is never published."
)
WAVES = "The table, or the waves of a series in order of time."


@app.command()
def init(
    data: Annotated[
        list[Any],
        typer.Argument(parser=source_of, metavar="DATA...", help=f"{WAVES} {TABLES}"),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.toml", help="Where the schema goes.")] = Path(
        "schema.toml"
    ),
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="What nobody should learn about a person; then a policy is planned. May be repeated.",
        ),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=yes|no",
            help="Of one table, what you would be asked on a terminal: removed, changes, providers, known. What is not "
            "answered counts as the harder case.",
        ),
    ] = None,
    as_it_is: Annotated[
        bool,
        typer.Option(
            "--as-it-is", metavar="", help="Repair nothing. Else the schema says what is repaired on reading."
        ),
    ] = False,
    budget: Annotated[str, typer.Option(metavar="TIME", help="CPU time of a plan, at most, such as 60s or 5m.")] = "2m",
    force: ForceOption = False,
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at tables and write a commented schema for you to correct; with several waves plan their policy, too."""
    from reissue.cli.commands.plan import watching
    from reissue.data.outputs import Output, Outputs, table_inputs
    from reissue.files.places import refuse_absent
    from reissue.files.tables import write_text
    from reissue.proposing.clean import clean
    from reissue.proposing.policy_questions import policy_for
    from reissue.publishing.plan import begin_series, seconds_of

    if answer and len(data) > 1:
        raise InputError("--answer is for one table. Several waves show who comes and goes, and what changes.")
    for table in data:
        if isinstance(table, Path):
            refuse_absent(table)
    Outputs((Output("--out", out),), tuple(table_inputs("the data", data)), force=force)
    dialect = dialect_of(reading)
    say_reading(data, dialect, quiet=as_json)
    found = [clean(one, dialect=dialect) for one in data]
    recipe = _repairs(found, as_it_is=as_it_is, quiet=as_json)
    with watching() as progress:
        made = begin_series(
            data,
            title=_title(data),
            sensitive=sensitive or (),
            planned=not answer,
            folder=out.parent,
            dialect=dialect,
            cleanings=found,
            recipe=recipe,
            budget=seconds_of(budget),
            progress=progress,
        )
    asked = len(data) == 1 and not made.policy and made.plan is None
    answers = _answers(answer or [], ask=asked and not as_json)
    if asked:
        made = replace(made, policy=policy_for(made.guesses, answers))
    write_text(made.text, out, force=force)
    if as_json:
        _show_json(made, out)
    else:
        _show(made, data, out, answered=len(answers.keys() - {"untrue"}) if asked and made.policy else None)


def _title(data: list[Any]) -> str:
    named = data[0].name if len(data) == 1 else f"{data[0].name} to {data[-1].name}"
    return f"Schema for {named}, proposed by `reissue init`."


def _repairs(found: "list[Cleaning]", *, as_it_is: bool, quiet: bool) -> "CleanRecipe":
    """What the schema repairs each time a table is read: what is recommended, unless somebody does not want it."""
    from reissue.cleaning import CleanRecipe
    from reissue.cli.commands.clean import show_defects
    from reissue.proposing.clean import common_recipe

    wrong = [one for one in found if one.defects]
    for one in [] if quiet else wrong:
        show_defects(one)
    if as_it_is or not any(one.recommended for one in wrong):
        return CleanRecipe()
    asked = not quiet and sys.stdin.isatty() and sys.stdout.isatty()
    if asked and not typer.confirm(_REPAIR, default=True):
        return CleanRecipe()
    if not quiet:
        _render.say("The schema repairs this each time a table is read, and says so: see [clean] in it.", "")
    return common_recipe(found)


def _show_json(made: "Beginning", out: Path) -> None:
    from reissue.proposing.from_table import describe

    columns = [
        {"name": g.column, "role": g.role, "confirm": g.confirm, "generalized": describe(g.hierarchy), "why": g.why}
        for g in made.guesses
    ]
    wrong = {"defects": [one.as_dict() for one in made.defects], "clean": made.recipe.as_section()}
    planned = {} if made.plan is None else {"plan": made.plan.as_dict()}
    _render.show_json(
        {"schema": out, "rows": made.rows, "columns": columns, "advice": list(made.advice), **planned, **wrong}
    )


def _show(made: "Beginning", data: list[Any], out: Path, *, answered: int | None) -> None:
    from reissue.cli.commands.plan import show_plan
    from reissue.files.places import default_output
    from reissue.proposing.from_table import describe
    from reissue.schema import Role

    rows = [[g.column, f"{g.role}?" if g.confirm else str(g.role), describe(g.hierarchy), g.why] for g in made.guesses]
    _render.show_rows(["column", "role", "generalized by", "why"], rows)
    if made.plan is not None:
        show_plan(made.plan)
    _render.say(f"Written: {out}. These are guesses: read the file and correct it.")
    if any(guess.confirm for guess in made.guesses):
        _render.say("What has a question mark stands there as a comment: confirm it, or the column is dropped.")
    place, schema = quote(str(data[0])) if isinstance(data[0], Path) else "DATA", quote(str(out))
    ledger = quote(f"{data[0].name.partition('.')[0]}.ledger") if isinstance(data[0], Path) else "NAME.ledger"
    _render.say("What a word means: reissue explain quasi, or any other.")
    if len(data) == 1 and any(guess.role == Role.QUASI for guess in made.guesses):
        _render.say(f"One release of it: reissue anonymize {place} --schema {schema} --require k=5")
    if made.policy:
        first = f" --out {quote(str(default_output(data[0], 'first')))}" if isinstance(data[0], Path) else ""
        _render.say(
            f"The first release of a series: reissue publish {place} --schema {schema} --ledger {ledger}{first}"
        )
    if answered is None:
        shown = () if made.plan is None else made.plan.sentences
        _render.say(*(line for line in made.advice if line not in shown))
        return
    followed = any(guess.role == Role.IDENTIFIER for guess in made.guesses)
    if 'values = "randomized"' in made.policy:
        _render.say(_UNTRUE)
    _render.say((_ANSWERED if answered else _ASSUMED) if followed else _NOBODY)


def _answers(given: list[str], *, ask: bool) -> dict[str, bool]:
    """What was answered; nobody is asked where nobody sits, and randomized values need no more answers."""
    from reissue.proposing.policy_questions import ASSUMED, QUESTIONS, read_answers

    answers = read_answers(given)
    if not (ask and sys.stdin.isatty() and sys.stdout.isatty()):
        return answers
    if "untrue" not in answers:
        answers["untrue"] = typer.confirm(QUESTIONS["untrue"], default=ASSUMED["untrue"])
    if given or not (answers["untrue"] or typer.confirm(_HARDER, default=True)):
        left = {name: text for name, text in QUESTIONS.items() if name not in answers}
        answers |= {name: typer.confirm(text, default=ASSUMED[name]) for name, text in left.items()}
    return answers
