"""`reissue measure`: how much a published table still says."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import (
    EngineOption,
    ForceOption,
    JsonOption,
    ReadOption,
    SchemaOption,
    dialect_of,
    options_of,
    say_reading,
    source_of,
    streams,
)
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.schema import Schema
    from reissue.utility import Transitions, Utility

_MOST = 15
"""How many transitions are shown; JSON has all of them."""


@app.command()
def measure(
    original: Annotated[Any, typer.Argument(parser=source_of, metavar="ORIGINAL", help="The table as it was.")],
    published: Annotated[
        list[Any],
        typer.Argument(
            parser=source_of,
            metavar="PUBLISHED",
            help="What was published of it: one table, or two with groups and counts.",
        ),
    ],
    schema: SchemaOption,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMULA",
            help='A regression on both tables, such as "wage ~ age + south" or "disease[flu] ~ age"; may be repeated.',
        ),
    ] = None,
    means: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMULA",
            help='Means, or shares of values, by the groups of a column: "wage ~ south"; may be repeated.',
        ),
    ] = None,
    predict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="How often a classifier trained on the published table predicts a column right; may be repeated.",
        ),
    ] = None,
    cross: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN,COLUMN", help="People by two columns, in both tables; may be repeated."),
    ] = None,
    spread: Annotated[
        bool, typer.Option("--spread", metavar="", help="People by the values of each column, in both tables.")
    ] = False,
    before: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="ORIGINAL PUBLISHED",
            help="The table and the release before these: who goes from which sensitive value to which?",
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A published column that tells who is the same in both releases."),
    ] = None,
    workload: Annotated[
        str, typer.Option(metavar="NAME", help="Which count queries: ranges, or one of the papers' own workloads.")
    ] = "ranges",
    queries: Annotated[
        int | None, typer.Option(min=0, help="How many random count queries; 0 for none. Default: the workload's own.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which random queries.")] = 0,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=NUMBER", help="How much a column's loss counts, 1 if not given; may be repeated."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Group sizes are also shown in multiples of this k.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Where a page goes: all of it, true beside published, with charts."),
    ] = None,
    engine: EngineOption = "memory",
    force: ForceOption = False,
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what a published table lost: information by column, group sizes, counts, and what an analyst computes."""
    from reissue.files.tables import write_text
    from reissue.report import utility_html
    from reissue.schema import Schema
    from reissue.utility import measure as measured
    from reissue.utility import transitions

    if link is not None and before is None:
        raise InputError("`--link` says how two releases belong together: give the earlier one with `--before`.")
    plan, lying = Schema.load(schema), _lying(engine, original, before, reading)
    _refuse_report(report, [original, *published, *(before or ())], schema, plan, force=force)
    say_reading([] if lying else [original, *published], dialect_of(reading), quiet=as_json)
    outcome = measured(
        original,
        published,
        plan,
        k=k,
        weights=options_of(weight or []),
        queries=0 if lying and queries is None else queries,
        workload=workload,
        seed=seed,
        models=model or (),
        means=means or (),
        predict=predict or (),
        spread=spread,
        crosses=[_pair(text) for text in cross or ()],
        dialect=dialect_of(reading),
        engine=lying or "memory",
    )
    moves = None
    if before is not None:
        moves = transitions(before, (original, published), plan, link=link, dialect=dialect_of(reading))
    if report is not None:
        write_text(utility_html(outcome, moves), report, force=force)
    if as_json:
        more = {} if moves is None else {"transitions": moves.as_dict()}
        _render.show_json(outcome.as_dict() | more)
        return
    _show_all(outcome, moves)
    if report is not None:
        _render.say(f"Written: {report}")


def _lying(engine: str, original: Any, *others: object) -> str:
    """The engine that counts the tables where they lie; none where they are read into memory."""
    if not streams(engine, original):
        return ""
    if any(others):
        raise InputError("--before and --read: only with --engine memory.")
    from reissue.engines.registry import choose

    return choose(engine, original).name


def _show_all(outcome: "Utility", moves: "Transitions | None") -> None:
    """Show the sentences, then what was asked for beside them."""
    from reissue.outcome.utility import view_of

    view = view_of(outcome, moves)
    _render.say(*view.sentences)
    for one in view.computed:
        _render.show_table(one.table, one.title)
    for each in (*view.distributions, *view.crosses):
        _render.show_table(each, each.caption)
    if view.transitions is not None:
        _render.say(view.transitions.sentence)
        _render.show_table(view.transitions.table, view.transitions.title, most=_MOST)


def _pair(text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise InputError("`--cross` names two columns with a comma between them, for example age,disease.")
    return parts[0], parts[1]


def _refuse_report(report: Path | None, tables: list[Any], schema: Path, read: "Schema", *, force: bool) -> None:
    """Stop before anything is computed if the page cannot go there."""
    from reissue.data.outputs import Output, Outputs, schema_inputs, table_inputs

    outputs = () if report is None else (Output("--report", report),)
    Outputs(outputs, (*table_inputs("a table", tables), *schema_inputs(schema, read)), force=force)
