"""`reissue check-output`: what an output checker asks of one table, and of it together with earlier ones."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._options import CountsOption, JsonOption, ReadOption, count_rules_of, dialect_of, names_of, source_of
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.publishing.check_output import OutputCheck

_SHOWN = 20


@app.command("check-output")
def check_output(
    output: Annotated[
        Any,
        typer.Argument(parser=source_of, metavar="FILE", help="A table of counts; with --measure the records of one."),
    ],
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", "-l", metavar="PLACE", help="Compare with the tables that this ledger published."),
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="The ledger's secret key.")] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", metavar="FILE.toml", help="Which column is sensitive.")
    ] = None,
    threshold: Annotated[int, typer.Option(min=1, help="People of a cell, at least.")] = 10,
    measure: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Check the table of its sums: FILE has the records.")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="A,B", help="The columns of that table.")] = None,
    dominance: Annotated[
        str, typer.Option(metavar="N,SHARE", help="Share of a cell that its N largest may make up, at most.")
    ] = "1,0.5",
    percent: Annotated[
        float, typer.Option("--p", metavar="P", help="How closely the largest may be estimated, in percent.")
    ] = 10.0,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE.json", help="Write down what was checked, for the file.")
    ] = None,
    counts: CountsOption = None,
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a table before it leaves: thresholds, dominance, class disclosure, and differences from earlier tables."""
    from reissue.ledger import Ledger
    from reissue.publishing import check_output as checks
    from reissue.schema import Schema

    many, _, share = dominance.partition(",")
    try:
        rules = checks.OutputRules(threshold, int(many), float(share), percent)
    except ValueError:
        raise InputError("Write --dominance as a number and a share: 1,0.5") from None
    plan = None if schema is None else Schema.load(schema)
    with ExitStack() as stack:
        opened = None if ledger is None else stack.enter_context(Ledger.open(ledger, key=key))
        plan = opened.schema if plan is None and opened is not None else plan
        if measure is not None:
            if plan is None or by is None:
                raise InputError("A table of sums is checked with --schema (or --ledger) and --by.")
            found = checks.check_magnitudes(output, plan, names_of(by), measure, rules)
        else:
            more: dict[str, Any] = {"counts": count_rules_of(counts), "dialect": dialect_of(reading)}
            found = checks.check_output(output, plan, ledger=opened, rules=rules, **more)
    if record is not None:
        _write(found, record)
    _show(found, as_json=as_json)
    if not found.passed:
        raise typer.Exit(NOT_MET)


def _write(found: "OutputCheck", record: Path) -> None:
    import json

    from reissue.files.tables import write_text

    write_text(json.dumps(found.as_dict(), indent=2, ensure_ascii=False) + "\n", record)


def _show(found: "OutputCheck", *, as_json: bool) -> None:
    from reissue.words import plural, visible

    if as_json:
        _render.show_json(found.as_dict())
        return
    _render.say(f"{plural(found.cells, 'cell')} checked: {', '.join(found.checked)}.")
    for one in found.problems[:_SHOWN]:
        where = f" (releases {', '.join(map(str, one.releases))})" if one.releases else ""
        _render.say(visible(f"- {one.rule}: {one.population}: {one.measured:g}, limit {one.limit:g}{where}"))
    if len(found.problems) > _SHOWN:
        _render.say(f"... and {len(found.problems) - _SHOWN:,} more (--json has all).")
    _render.say(*(f"Not checked. {one}" for one in found.not_checked))
    _render.say("Nothing breaks a rule." if found.passed else f"{plural(len(found.problems), 'problem')} found.")
