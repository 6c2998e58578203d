"""`reissue publish`: the next release of a series, recorded in its ledger."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from os.path import lexists
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._findings import show_lines
from reissue.cli._larger import streams
from reissue.cli._larger_ledger import UNDATED, plan_folder, publish_larger
from reissue.cli._options import (
    TABLES,
    EngineOption,
    ForceOption,
    JsonOption,
    LookalikesOption,
    NewcomersOption,
    OutOption,
    ReadOption,
    UnchangedOption,
    WriteOption,
    dialect_of,
    released_dialect,
    say_reading,
    source_of,
    target_beside,
)
from reissue.cli._record import RecordOption, record_outputs
from reissue.data.outputs import Input, Output, Outputs, ledger_inputs, schema_inputs, table_inputs
from reissue.errors import InputError, NotWrittenError
from reissue.words import visible

if TYPE_CHECKING:
    from reissue.files.dialect import Dialect
    from reissue.files.staging import Staging
    from reissue.ledger import Ledger
    from reissue.publishing.refusal import RefusedError
    from reissue.publishing.turn import PublicationInMemory
    from reissue.schema import Schema

LedgerOption = Annotated[
    str, typer.Option("--ledger", "-l", metavar="PLACE", help="The ledger: a folder, or postgresql://user@host/name.")
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The ledger's secret key. Default: REISSUE_KEY, else PLACE.key."),
]


@app.command()
def publish(
    data: Annotated[Any, typer.Argument(parser=source_of, metavar="DATA", help=f"Today's table: {TABLES}")],
    ledger: LedgerOption,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", metavar="FILE.toml", help="Schema and policy; needed to begin a ledger."),
    ] = None,
    date: Annotated[
        str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="The day that the table shows.")
    ] = None,
    recipient: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who gets it; may be repeated. Default: everyone.")
    ] = None,
    newcomers: NewcomersOption = False,
    unchanged: UnchangedOption = False,
    lookalikes: LookalikesOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", metavar="", help="Make and attack the release, show all, record nothing.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Only to replay; keep it to yourself. Default: from the key, the ledger and the table."
        ),
    ] = None,
    out: OutOption = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where a refusal is explained; a name that ends in .html gets a page, of a release that was published "
            "too. Default: DATA.refused.txt beside DATA.",
        ),
    ] = None,
    record: RecordOption = None,
    key: KeyOption = None,
    force: ForceOption = False,
    reading: ReadOption = None,
    writing: WriteOption = None,
    engine: EngineOption = "memory",
    as_json: JsonOption = False,
) -> None:
    """Make the next release, attack it together with all earlier ones, and record it; or refuse it and say why."""
    from reissue.files.staging import Staging
    from reissue.publishing.publish import publish_next
    from reissue.publishing.turn import ledger_at
    from reissue.schema import Schema

    plan = None if schema is None else Schema.load(schema)
    asked: dict[str, Any] = {"dry_run": dry_run, "seed": seed, "recipients": recipient or (), "date": date}
    asked |= {"newcomers": newcomers, "unchanged": unchanged, "lookalikes": lookalikes}
    inputs = (*table_inputs("the data", [data]), *schema_inputs(schema, plan), *ledger_inputs(ledger, key))
    if streams(engine, data):
        others = {"--report": report, "--record": record, "--read": reading, "--write": writing, "--force": force}
        plan_folder(out, inputs, others, dry_run=dry_run)
        _larger(data, (ledger, plan, key), out, {**asked, "engine": engine}, as_json=as_json)
        return
    target = out or target_beside(data)
    _plan_outputs(None if dry_run else target, report, record, inputs, force=force)
    say_reading([data], dialect_of(reading), quiet=as_json)
    paths: list[str] = []
    places, released = (None if dry_run else target, report, record), released_dialect(data, reading, writing)
    with (
        ledger_at(ledger, plan, key=key, dry_run=dry_run) as book,
        Staging() as staging,
        _render.watching("Publishing") as progress,
        _refusing(report, data, force=force, as_json=as_json),
    ):
        made = publish_next(
            data,
            book,
            **asked,
            dialect=dialect_of(reading),
            schema=plan,
            before_record=partial(_stage, staging, book, places, paths, force=force, dialect=released),
            progress=progress,
        )
        made = made if date or made.again else replace(made, warnings=(*made.warnings, UNDATED))
        _place(staging, made, ledger, target)
        head = book.entries()[-1].hash
    _show(made, paths, head, report if _is_page(report) else None, (ledger, key), as_json=as_json)


def _first_words(publication: "PublicationInMemory", ledger: str, key: Path | None) -> list[str]:
    """What is new beside a first release, and how it goes on."""
    if not publication.recorded or publication.number > 1 or publication.again or "://" in ledger:
        return []
    file = key or Path(f"{ledger.rstrip('/')}.key")
    made = f"Its secret key is {file}: keep it safe and apart from the ledger. " if file.is_file() else ""
    return [
        f"The ledger {ledger} remembers the series. {made}Without the key nothing can follow.",
        f"The next release, when its table is there: reissue publish NEXT --ledger {quote(ledger)}",
    ]


def _larger(
    data: Any, place: "tuple[str, Schema | None, Path | None]", out: Any, asked: dict[str, Any], *, as_json: bool
) -> None:
    """The same of a table larger than memory, to a folder; `place` is the ledger, its schema and its key."""
    from reissue.publishing.turn import ledger_at

    ledger, plan, key = place
    with (
        _refusing(None, data, force=False, as_json=as_json),
        ledger_at(ledger, plan, key=key, dry_run=asked["dry_run"]) as book,
    ):
        publish_larger(data, book, {**asked, "schema": plan}, out, ledger, as_json=as_json)


def _plan_outputs(
    target: Any, report: Path | None, record: Path | None, inputs: Iterable[Input], *, force: bool
) -> None:
    """Refuse, before anything is made, what could not be written at the end."""
    tables = [Output("--out", target, table=True)] if isinstance(target, Path) else []
    pages = [] if report is None else [Output("--report", report)]
    Outputs((*tables, *pages, *record_outputs(record)), tuple(inputs), force=force)


def _stage(
    staging: "Staging",
    book: "Ledger",
    places: tuple[Any, Path | None, Path | None],
    paths: list[str],
    made: "PublicationInMemory",
    *,
    force: bool,
    dialect: "Dialect",
) -> None:
    """Write tables, page and record beside their places, before the release is recorded; `paths` gets the tables'."""
    target, report, record = places
    if target is not None:
        paths.extend(_stage_tables(made, book, target, staging, force=force, dialect=dialect))
    if _is_page(report):
        from reissue.report import publication_html

        staging.add_bytes(report, publication_html(made).encode(), replaces=force)
    if record is not None:
        from reissue.report.evidence import publish_record, stage_record

        stage_record(publish_record(made, book.policy), record, staging, force=force)


def _stage_tables(
    made: "PublicationInMemory", book: "Ledger", target: Any, staging: "Staging", *, force: bool, dialect: "Dialect"
) -> list[str]:
    """Write the tables beside their places, before the release is recorded."""
    from reissue.ledger.pack import hand_out

    if made.again and isinstance(target, Path):
        return book.stage(made.number, target, staging, force=force, dialect=dialect)
    return hand_out(made.release, target, staging, force=force, dialect=dialect)


def _place(staging: "Staging", made: "PublicationInMemory", ledger: str, target: Path) -> None:
    """Move the files to their places; the release is recorded already."""
    try:
        staging.place()
    except InputError as problem:
        if not made.recorded:
            raise
        place = "LEDGER" if "://" in ledger else quote(ledger)  # a URL may hold a password
        raise NotWrittenError(
            f"Release {made.number} is recorded, but its files are not where they should be: {problem} This gives "
            f"them: reissue ledger export {place} {made.number} --out {quote(str(target))}"
        ) from None


@contextmanager
def _refusing(report: Path | None, data: Any, *, force: bool, as_json: bool) -> Iterator[None]:
    """Explain a refusal, and end with its exit code."""
    from reissue.publishing.refusal import RefusedError

    try:
        yield
    except RefusedError as refused:
        _show_refusal(refused, report, data, force=force, as_json=as_json)
        raise typer.Exit(NOT_MET) from None


def _show_refusal(refused: "RefusedError", report: Path | None, data: Any, *, force: bool, as_json: bool) -> None:
    """Explain a refusal, on the screen and in a file; that nothing goes out does not depend on the file."""
    from reissue.files.tables import write_text
    from reissue.report import report_html

    said = refused.report
    text = (
        report_html(said.findings, refusal=said)
        if _is_page(report)
        else "\n".join(map(visible, said.text.splitlines())) + "\n"
    )
    try:
        place = data if isinstance(data, Path) else Path(data.name)
        path = report or _free(place.with_name(f"{data.name}.refused.txt"))
        write_text(text, path, force=force and report is not None)
        written = f"Written: {path}"
    except InputError as problem:
        path, written = None, f"The explanation is not in a file. {problem}"
    if as_json:
        _render.show_json({**said.as_dict(), "report": path})
    else:
        _render.say(*said.text.rstrip().splitlines(), written, error=True)


def _free(path: Path) -> Path:
    """A name that nobody uses: an explanation never replaces another one."""
    names = (path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(1))
    return next(name for name in names if not lexists(name))


def _is_page(path: Path | None) -> TypeGuard[Path]:
    return path is not None and path.suffix.lower() in {".html", ".htm"}


def _show(
    made: "PublicationInMemory",
    paths: list[str],
    head: str,
    page: Path | None,
    kept: tuple[str, Path | None],
    *,
    as_json: bool,
) -> None:
    from reissue.outcome.findings import withstood
    from reissue.outcome.series import outcome_of

    release = made.release
    if as_json:
        _render.show_json(
            {
                "release": made.number,
                "recorded": made.recorded,
                "again": made.again,
                "method": release.method,
                "requirement": str(release.requirement),
                "rows": release.table.rows,
                "suppressed": release.suppressed,
                "groups": release.groups,
                "counterfeits": release.counterfeits,
                **made.findings.as_dict(),
                "warnings": list(made.warnings),
                "files": paths,
                "head": head,
                **({} if page is None else {"report": page}),
            }
        )
        return
    show_lines(made.findings)
    _render.say(
        f"Release {made.number}: {outcome_of(release)}",
        f"It meets {release.requirement}.{withstood(made.findings)}",
    )
    _render.warn(*made.warnings)
    if made.again:
        _render.say("This table had been published before: it is the same release, not another one.")
    dry = ["A dry run: nothing was recorded, no release was written."]
    _render.say(*([f"Written: {', '.join(paths)}", f"Recorded as {head}"] if paths else dry))
    _render.say(*([] if page is None else [f"Report: {page}"]), *_first_words(made, *kept))
