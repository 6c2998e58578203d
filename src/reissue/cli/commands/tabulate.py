"""`reissue tabulate`: tables of counts from a register, protected, and published through a ledger."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._options import ForceOption, JsonOption, count_rules_of, names_of, source_of
from reissue.errors import DataError, InputError

if TYPE_CHECKING:
    import polars as pl

    from reissue.publishing.tables import TablePublication
    from reissue.schema import Schema


@app.command()
def tabulate(
    register: Annotated[
        list[Any],
        typer.Argument(parser=source_of, metavar="REGISTER", help="A table of people; several waves with --compare."),
    ],
    by: Annotated[
        list[str],
        typer.Option("--by", metavar="A,B", help="Columns to classify by; may be repeated, for a table each."),
    ],
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", "-l", metavar="PLACE", help="Judge with all that this ledger published, and record."),
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="The ledger's secret key.")] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", metavar="FILE.toml", help="The schema, where there is no ledger.")
    ] = None,
    protect: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD=NUMBER",
            help="round=5 (to the nearest), random=3 (to either neighbour), cellkey=2 (noise of at most 2, the same "
            "for the same people), threshold=5 (hide smaller cells, and further ones that totals would give away), "
            "dp=0.5 (differentially private, with this budget for the release; needs the extra dp).",
        ),
    ] = None,
    totals: Annotated[bool, typer.Option("--totals", metavar="", help="Add totals over every column.")] = False,
    compare: Annotated[
        bool, typer.Option("--compare", metavar="", help="Compare protections over these waves: error and exposure.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Where the table is written.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", metavar="", help="Judge it without recording it.")] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Count a register's people by some columns, and publish the table, safe with everything published before."""
    from reissue.publishing.tables import tabulated
    from reissue.publishing.turn import ledger_at
    from reissue.schema import Schema

    groups = [list(names_of(one)) for one in by]
    if compare:
        _compare(register, schema, groups, totals=totals, as_json=as_json)
        return
    if len(register) > 1:
        raise InputError("Give one register, or several waves with --compare.")
    given = None if schema is None else Schema.load(schema)
    if ledger is None:
        if given is None:
            raise InputError("Say what the columns are: --schema FILE.toml, or --ledger PLACE.")
        _, frame = tabulated(register[0], given, groups, protection=protect, totals=totals)
        _written(frame, out, force=force, as_json=as_json)
        return
    with ledger_at(ledger, given, key=key, dry_run=dry_run) as opened:
        found = (opened, register[0], groups, protect)
        made = _published(*found, totals=totals, dry_run=dry_run, as_json=as_json)
    _shown(made, as_json=as_json)
    if out is not None:
        _written(made.frame, out, force=force, as_json=as_json)


def _published(
    ledger: Any, register: Any, by: list[list[str]], protect: str | None, *, totals: bool, dry_run: bool, as_json: bool
) -> "TablePublication":
    from reissue.publishing.tables import publish_table, tabulated

    tables, frame = tabulated(register, ledger.schema, by, protection=protect, totals=totals, key=ledger.key)
    return refusing(
        lambda: publish_table(tables, ledger, register=register, dry_run=dry_run, shown=frame, protection=protect),
        as_json=as_json,
    )


def published_counts(
    data: Any,
    place: tuple[str, Path | None],
    schema: "Schema | None",
    register: Any,
    counts: list[str] | None,
    asked: Mapping[str, Any],
    *,
    as_json: bool,
) -> bool:
    """Publish a table of counts as it is given; False where rows are people."""
    from reissue.contingency.cells import AS_SHOWN
    from reissue.published import open_counts
    from reissue.publishing.tables import publish_table
    from reissue.publishing.turn import ledger_at

    rules = count_rules_of(counts) or (None if register is None else AS_SHOWN)
    try:
        people = open_counts([data], schema, rules=rules)[0] is data
    except DataError:
        people = rules is None  # a table that a schema's `[clean]` section makes readable, or whose reader says more
        if not people:
            raise
    if people:
        if register is not None:
            raise InputError("--register belongs to a table of counts, and this is none that was recognized.")
        return False
    more = {"recipients": asked["recipients"], "date": asked["date"], "dry_run": asked["dry_run"]}
    with ledger_at(place[0], schema, key=place[1], dry_run=asked["dry_run"]) as book:
        _shown(
            refusing(
                lambda: publish_table(data, book, register=register, rules=rules, schema=schema, **more),
                as_json=as_json,
            ),
            as_json=as_json,
        )
    return True


def refusing(publish: "Callable[[], TablePublication]", *, as_json: bool) -> "TablePublication":
    """Explain a refusal, and end with its exit code."""
    from reissue.publishing.refusal import RefusedError
    from reissue.words import visible

    try:
        return publish()
    except RefusedError as refused:
        if as_json:
            _render.show_json(refused.report.as_dict())
        else:
            _render.say(*map(visible, refused.report.text.splitlines()))
        raise typer.Exit(NOT_MET) from None


def _shown(made: "TablePublication", *, as_json: bool) -> None:
    said = {"release": made.number, "cells": made.cells, "hidden": made.hidden, "recorded": made.recorded}
    if as_json:
        _render.show_json({**said, **made.findings.as_dict()})
        return
    what = "recorded" if made.recorded else "would be recorded"
    _render.say(f"Release {made.number}: a table of {made.cells:,} cells, {made.hidden:,} of them hidden; {what}.")
    _render.say(*(f"- {one.attack}: {one.sentence}" for one in made.findings), *made.warnings)


def _written(frame: "pl.DataFrame", out: Path | None, *, force: bool, as_json: bool) -> None:
    from reissue.files.tables import csv_bytes, write_file

    if out is not None:
        write_file(frame, out, force=force)
        if not as_json:
            _render.say(f"Written: {out}")
    elif as_json:
        _render.show_json({"cells": frame.rows(named=True)})
    else:
        _render.say(*csv_bytes(frame).decode().splitlines())


def _compare(waves: list[Any], schema: Path | None, by: list[list[str]], *, totals: bool, as_json: bool) -> None:
    from reissue.publishing.tables import compare_protections
    from reissue.schema import Schema

    if schema is None:
        raise InputError("A comparison needs --schema FILE.toml.")
    found = compare_protections(waves, Schema.load(schema), by, totals=totals)
    if as_json:
        _render.show_json({"protections": [one.as_dict() for one in found]})
        return
    _render.say("protection     people exposed   mean error of a cell   hidden cells")
    for one in found:
        _render.say(
            f"{one.protection:<14} {one.people:>6,} of {one.population:<6,} {one.error:>14.2f} {one.hidden:>18,}"
        )
