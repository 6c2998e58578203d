"""`reissue plan`: which method and setting protect a series at the least cost."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, UNTESTED, app
from reissue.cli._options import (
    ForceOption,
    JsonOption,
    NewcomersOption,
    ReadOption,
    SchemaOption,
    dialect_of,
    say_reading,
    source_of,
)

if TYPE_CHECKING:
    from reissue.publishing.plan import Plan, Progress

_SHARE = {"min": 0.0, "max": 1.0}


@app.command()
def plan(
    waves: Annotated[
        list[Any],
        typer.Argument(
            parser=source_of, metavar="WAVE...", help="The tables of the series, in order of time; one will do."
        ),
    ],
    schema: SchemaOption,
    limit: Annotated[
        float, typer.Option(help="The highest probability of a value that is allowed, above 0 and below 1.")
    ] = 0.75,
    suppress: Annotated[float, typer.Option(min=0.0, max=1.0, help="Maximum share of suppressed records.")] = 0.02,
    counterfeits: Annotated[float, typer.Option(min=0.0, max=1.0, help="Maximum share of counterfeit records.")] = 0.1,
    knowledge: Annotated[
        str,
        typer.Option(
            metavar="form|groups",
            help="What the adversary knows: what the form shows, or everyone's groups.",
        ),
    ] = "form",
    prior: Annotated[
        str,
        typer.Option(
            metavar="common|leaving|learned",
            help="The adversary's prior: how common values are, also how soon people with each value leave, or also "
            "what is learned from the releases about people who are alike.",
        ),
    ] = "leaving",
    values: Annotated[
        str | None,
        typer.Option(
            metavar="exact|randomized",
            help="Whether every published value must be true, or values may be randomized (true with a chosen "
            "probability; estimates correct for it). By default both are tried.",
        ),
    ] = None,
    average: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="The share of people whose surest guess may be right; by default any."),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="How much CPU time it may take, such as 60s or 5m; 0 for as much as it takes."
        ),
    ] = "5m",
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="SETTING", help="Try this only, such as 'pool k=10 & l=3'; may be repeated."),
    ] = None,
    come: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Of one wave only: the share of people who come each time.")
    ] = None,
    go: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Of one wave only: the share of people who go each time.")
    ] = None,
    change: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Of one wave only: the share of values that change.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Where the recommended policy goes, with its reason.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", metavar="", help="Write the recommended policy into the schema file itself.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Where a page with the frontier goes.")
    ] = None,
    newcomers: NewcomersOption = False,
    force: ForceOption = False,
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try every sensible method and setting on the waves of a series; recommend the cheapest that withstands."""
    from reissue.data.outputs import Output, Outputs, schema_inputs, table_inputs
    from reissue.publishing.plan import plan as planned
    from reissue.publishing.plan import policy_toml, seconds_of, with_policy
    from reissue.schema import Schema

    read, seconds = Schema.load(schema), seconds_of(budget)
    outputs = [Output(name, path) for name, path in (("--policy", policy), ("--report", report)) if path is not None]
    Outputs(tuple(outputs), (*table_inputs("a wave", waves), *schema_inputs(schema, read)), force=force)
    if write:
        with_policy(schema.read_text(encoding="utf-8"), "", force=force, updates=False)
    say_reading(waves, dialect_of(reading), quiet=as_json)
    with watching() as progress:
        made = planned(
            waves,
            read,
            limit=limit,
            suppress=suppress,
            counterfeits=counterfeits,
            knowledge=knowledge,
            prior=prior,
            values=values,
            average=average,
            come=come,
            go=go,
            change=change,
            settings=setting or None,
            budget=seconds,
            newcomers=newcomers,
            dialect=dialect_of(reading),
            progress=progress,
        )
    written = _write(made, policy, schema if write else None, report, force=force)
    if as_json:
        names = [str(path) for path in written]
        _render.show_json({**made.as_dict(), "policy": policy_toml(made), "written": names})
    else:
        show_plan(made)
        _render.say(*(f"Written: {path}" for path in written))
    if made.recommended is None:
        raise typer.Exit(NOT_MET if made.tested else UNTESTED)


def _write(made: "Plan", policy: Path | None, schema: Path | None, report: Path | None, *, force: bool) -> list[Path]:
    """The policy to a file of its own, or into the schema's, and the page; the files that were written."""
    from reissue.files.tables import write_text
    from reissue.publishing.plan import policy_toml, with_policy
    from reissue.report import plan_html

    text, written = policy_toml(made), []
    if policy is not None and text is not None:
        write_text(text, policy, force=force)
        written.append(policy)
    if schema is not None and text is not None:
        whole = with_policy(schema.read_text(encoding="utf-8"), text, force=force, updates=bool(made.updates))
        write_text(whole, schema, force=True)
        written.append(schema)
    if report is not None:
        write_text(plan_html(made), report, force=force)
        written.append(report)
    return written


@contextmanager
def watching() -> "Iterator[Callable[[Progress], None]]":
    """A bar on standard error with the setting under way and the time left, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}  (Ctrl-C: stop here)"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Planning", total=1.0, left="")

        def show(now: "Progress") -> None:
            left = "" if now.left is None else f"about {max(now.left, 1):.0f} s left"
            said = f"Setting {min(now.done + 1, now.settings)} of {now.settings}: {now.now}"
            bar.update(task, completed=now.done / max(now.settings, 1), description=said, left=left)

        yield show


def show_plan(made: "Plan") -> None:
    """Show the situation, the settings as a table, and the recommendation in words."""
    from reissue.outcome.plan import view_of

    view = view_of(made)
    _render.say(*view.situation)
    _render.show_table(view.summary, view.summary.caption)
    _render.say(*view.legend, *view.reasons)
    _render.show_table(view.worlds, view.worlds.caption)
    _render.say(*view.sentences)
