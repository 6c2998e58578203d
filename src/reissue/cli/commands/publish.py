"""`reissue publish`: the next release of a series, recorded in its ledger."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from os.path import lexists
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._findings import show_lines
from reissue.cli._options import (
    TABLES,
    CountsOption,
    EngineOption,
    ForceOption,
    JsonOption,
    LookalikesOption,
    NewcomersOption,
    OutOption,
    ReadOption,
    RecordOption,
    UnchangedOption,
    WriteOption,
    dialect_of,
    record_outputs,
    released_dialect,
    say_reading,
    source_of,
    streams,
    target_beside,
)
from reissue.data.outputs import Input, Output, Outputs, ledger_inputs, schema_inputs, table_inputs
from reissue.errors import InputError, NotWrittenError
from reissue.files.places import refuse_existing
from reissue.words import visible

if TYPE_CHECKING:
    from reissue.files.dialect import Dialect
    from reissue.files.staging import Staging
    from reissue.ledger import Ledger
    from reissue.publishing.refusal import RefusedError
    from reissue.publishing.turn import Publication, PublicationInMemory

_UNDATED = (
    "The table has no date, so one of a wrong month is noticed only if it was published before. Say which day it "
    "shows: --date YYYY-MM-DD."
)
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
    max_loss: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The largest information loss, such as 0.5: refuse what loses more."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long to look for what costs less. Default: 10s on a terminal, else 0s."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Record without asking.")] = False,
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
    register: Annotated[
        Any,
        typer.Option(parser=source_of, metavar="FILE", help="Of a table of counts: the people whom it counts."),
    ] = None,
    counts: CountsOption = None,
    engine: EngineOption = "memory",
    as_json: JsonOption = False,
) -> None:
    """Make the next release, attack it together with all earlier ones, and record it; or refuse it and say why."""
    from reissue.cli.commands.tabulate import published_counts
    from reissue.publishing.price import PriceRequest
    from reissue.schema import Schema

    plan = None if schema is None else Schema.load(schema)
    asked: dict[str, Any] = {"dry_run": dry_run, "seed": seed, "recipients": recipient or (), "date": date}
    if engine == "memory" and published_counts(data, (ledger, key), plan, register, counts, asked, as_json=as_json):
        return
    asked |= {"newcomers": newcomers, "unchanged": unchanged, "lookalikes": lookalikes, "schema": plan}
    inputs = (*table_inputs("the data", [data]), *schema_inputs(schema, plan), *ledger_inputs(ledger, key))
    if streams(engine, data):
        asked["max_loss"] = max_loss
        files = {"--report": report, "--record": record, "--read": reading, "--write": writing}
        others = {**files, "--force": force, "--budget": budget}
        _plan_folder(out, inputs, others, dry_run=dry_run)
        _publish_folder(data, (ledger, key), out, {**asked, "engine": engine}, as_json=as_json)
        return
    target = out or target_beside(data)
    places = _Places(
        None if dry_run else target,
        report,
        record,
        tuple(recipient or ()),
        inputs,
        force,
        released_dialect(data, reading, writing),
    )
    if not places.may_repeat:
        places.plan()
    say_reading([data], dialect_of(reading), quiet=as_json)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (yes or dry_run or as_json)
    asked |= {"price": PriceRequest(max_loss, _seconds(budget, shown=not as_json and (asks or dry_run)))}
    asked |= {"dialect": dialect_of(reading)}
    _publish_in_memory(data, (ledger, key), target, places, asked, asks=asks, as_json=as_json)


def _publish_in_memory(
    data: Any,
    place: tuple[str, Path | None],
    target: Any,
    places: "_Places",
    asked: dict[str, Any],
    *,
    asks: bool,
    as_json: bool,
) -> None:
    """Publish a table in memory and write the release; `place` is the ledger and its key."""
    from reissue.files.staging import Staging
    from reissue.publishing.publish import publish_next
    from reissue.publishing.turn import ledger_at

    ledger, key = place
    report = places.report
    with (
        ledger_at(ledger, asked["schema"], key=key, dry_run=asked["dry_run"]) as book,
        Staging() as staging,
        _render.watching("Publishing") as progress,
        _refusing(report, data, force=places.force, as_json=as_json),
    ):
        staged = places.staged(book, staging)

        def before_record(made: "PublicationInMemory") -> None:
            if not as_json:
                _show_price(made, asks=asks)
            staged.stage(made)

        made = publish_next(data, book, **asked, before_record=before_record, progress=progress)
        made = made if asked["date"] or made.again else replace(made, warnings=(*made.warnings, _UNDATED))
        _place(staging, made, ledger, target)
        head = book.entries()[-1].hash
    page = report if _is_page(report) else None
    _show(made, staged.said, staged.paths, head, page, _first_words(made, ledger, key), as_json=as_json)


def _seconds(budget: str | None, *, shown: bool) -> float:
    """How long to look for what costs less."""
    from reissue.publishing.plan import seconds_of
    from reissue.publishing.price import BUDGET

    if budget is not None:
        return seconds_of(budget) or 0.0
    return BUDGET if shown else 0.0


def _show_price(made: "PublicationInMemory", *, asks: bool) -> None:
    """Show what the release costs; on a terminal ask whether to record it."""
    from reissue.outcome.price import view_of

    if made.price is None:
        return
    view = view_of(made.price)
    _render.show_table(view.columns)
    _render.say(view.headline.sentence, view.headline.next, *view.sentences)
    if view.cheaper:
        _render.say("What costs less, as it was tried:")
    for number, one in enumerate(view.cheaper, start=1):
        change = "" if one.change is None else one.change.text
        _render.say(
            f"{number}. {one.sentence} In the schema file:", *(f"     {line}" for line in change.splitlines() if line)
        )
    if asks and not typer.confirm(f"Record release {made.number}?", err=True):
        _render.say("Nothing was recorded.", error=True)
        raise typer.Exit(NOT_MET)


@dataclass(frozen=True)
class _Places:
    """Where a release in memory goes, and what is written with it."""

    target: Any
    """None in a dry run."""
    report: Path | None
    record: Path | None
    recipients: tuple[str, ...]
    inputs: tuple[Input, ...]
    force: bool
    dialect: "Dialect"

    @property
    def may_repeat(self) -> bool:
        """Whether something lies at the target, which may be the very release that would be written there."""
        return not self.force and isinstance(self.target, Path) and lexists(self.target)

    def plan(self) -> None:
        """Refuse, before anything is made, what could not be written at the end."""
        tables = [Output("--out", self.target, table=True)] if isinstance(self.target, Path) else []
        pages = [] if self.report is None else [Output("--report", self.report)]
        Outputs((*tables, *pages, *record_outputs(self.record, self.report)), self.inputs, force=self.force)

    def staged(self, book: "Ledger", staging: "Staging") -> "_Staged":
        """How it is written, once the ledger is open: not at all, where the last release lies at the target already."""
        last = len(book.releases)
        repeated = self.may_repeat and bool(last) and book.is_exported(last, self.target, self.dialect)
        if self.may_repeat and not repeated:
            self.plan()
        return _Staged(self, book, staging, repeated)


@dataclass(eq=False)
class _Staged:
    """Tables, page and record beside their places, before the release is recorded."""

    places: _Places
    book: "Ledger"
    staging: "Staging"
    repeated: bool
    """Whether the ledger's last release lies at the target."""
    paths: list[str] = field(default_factory=list)
    """Where the tables are."""

    @property
    def said(self) -> str:
        """What is said of the tables' paths."""
        return "There already, and left as it is" if self.repeated else "Written"

    def stage(self, made: "PublicationInMemory") -> None:
        """Write them; a release that lies there already is left as it is, with what was written beside it."""
        places = self.places
        if self.repeated and not made.again:
            places.plan()
        if places.target is not None:
            self.paths.extend(self._tables(made))
        if _is_page(places.report) and not self._is_kept(places.report):
            from reissue.report import publication_html

            self.staging.add_bytes(places.report, publication_html(made).encode(), replaces=places.force)
        if places.record is not None and not self._is_kept(places.record):
            from reissue.report.evidence import publish_record, stage_record

            kept = publish_record(made, self.book, places.recipients)
            files = record_outputs(places.record, places.report)
            stage_record(kept, files, self.staging, force=places.force)

    def _is_kept(self, path: Path) -> bool:
        return self.repeated and lexists(path)

    def _tables(self, made: "PublicationInMemory") -> list[str]:
        from reissue.ledger.pack import hand_out

        target, dialect, force = self.places.target, self.places.dialect, self.places.force
        if self.repeated:
            return [str(place) for place in made.release.places(target)]
        if made.again and isinstance(target, Path):
            return self.book.stage(made.number, target, self.staging, force=force, dialect=dialect)
        return hand_out(made.release, target, self.staging, force=force, dialect=dialect)


def _first_words(publication: "Publication", ledger: str, key: Path | None) -> list[str]:
    """What is new beside a first release, and how it goes on."""
    if not publication.recorded or publication.number > 1 or publication.again or "://" in ledger:
        return []
    file = key or Path(f"{ledger.rstrip('/')}.key")
    made = f"Its secret key is {file}: keep it safe and apart from the ledger. " if file.is_file() else ""
    return [
        f"The ledger {ledger} remembers the series. {made}Without the key nothing can follow.",
        f"The next release, when its table is there: reissue publish NEXT --ledger {quote(ledger)}",
    ]


def _plan_folder(out: Any, inputs: tuple[Input, ...], others: Mapping[str, object], *, dry_run: bool) -> None:
    """Refuse, before anything is made, what could not be written at the end; `others` must be left out."""
    named = [name for name, value in others.items() if value]
    if named:
        raise InputError(f"{', '.join(named)}: only with --engine memory.")
    if not dry_run and not isinstance(out, Path):
        raise InputError("A release larger than memory goes to a folder: name it with --out.")
    if isinstance(out, Path):
        Outputs((Output("--out", out, table=bool(out.suffix), repeats=True),), inputs)


def _publish_folder(
    data: Any, place: tuple[str, Path | None], out: Any, asked: dict[str, Any], *, as_json: bool
) -> None:
    """Publish a table larger than memory, and write the release to a folder; `place` is the ledger and its key."""
    from reissue.publishing.publish_folder import publish_folder
    from reissue.publishing.turn import ledger_at

    def refuse() -> None:
        if isinstance(out, Path):
            refuse_existing(out, force=False, table=False)

    ledger, key = place
    with (
        _refusing(None, data, force=False, as_json=as_json),
        ledger_at(ledger, asked["schema"], key=key, dry_run=asked["dry_run"]) as book,
    ):
        if isinstance(out, Path) and not (book.releases and book.is_exported(len(book.releases), out)):
            refuse()
        with _render.watching("Publishing") as progress:
            made = publish_folder(data, book, before_record=refuse, progress=progress, **asked)
        made = made if asked["date"] or made.again else replace(made, warnings=(*made.warnings, _UNDATED))
        paths = _exported(made, book, out, ledger) if made.recorded and not asked["dry_run"] else []
        head = book.entries()[-1].hash
    _show(made, "Written, a folder of Parquet with a manifest", paths, head, None, [], as_json=as_json)


def _exported(made: "Publication", book: "Ledger", out: Any, ledger: str) -> list[str]:
    """Write a release in parts, which is recorded already."""
    try:
        return book.export(made.number, out)
    except InputError as problem:
        raise _not_written(made, problem, ledger, out) from None


def _place(staging: "Staging", made: "Publication", ledger: str, target: Any) -> None:
    """Move the files to their places; the release is recorded already."""
    try:
        staging.place()
    except InputError as problem:
        if not made.recorded:
            raise
        raise _not_written(made, problem, ledger, target) from None


def _not_written(made: "Publication", problem: InputError, ledger: str, target: Any) -> NotWrittenError:
    place = "LEDGER" if "://" in ledger else quote(ledger)  # a URL may hold a password
    return NotWrittenError(
        f"Release {made.number} is recorded, but its files are not where they should be: {problem} This gives "
        f"them: reissue ledger export {place} {made.number} --out {quote(str(target))}"
    )


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
    made: "Publication",
    said: str,
    paths: list[str],
    head: str,
    page: Path | None,
    following: list[str],
    *,
    as_json: bool,
) -> None:
    """Show what was published; `said` is what became of the tables at their `paths`, `following` what comes next."""
    from reissue.outcome.findings import withstood
    from reissue.outcome.series import outcome_of

    if as_json:
        _render.show_json(
            {**_as_dict(made), "files": paths, "head": head, **({} if page is None else {"report": page})}
        )
        return
    show_lines(made.findings)
    _render.say(
        f"Release {made.number}: {outcome_of(made)}",
        f"It meets {made.requirement}.{withstood(made.findings)}",
    )
    _render.warn(*made.warnings)
    if made.again:
        _render.say("This table had been published before: it is the same release, not another one.")
    dry = ["A dry run: nothing was recorded, no release was written."]
    _render.say(*([f"{said}: {', '.join(paths)}", f"Recorded as {head}"] if paths else dry))
    _render.say(*([] if page is None else [f"Report: {page}"]), *following)


def _as_dict(made: "Publication") -> dict[str, Any]:
    from reissue.publishing.turn import PublicationInMemory

    return {
        "release": made.number,
        "recorded": made.recorded,
        "again": made.again,
        "method": made.method,
        "requirement": made.requirement,
        "rows": made.rows + (made.suppressed if isinstance(made, PublicationInMemory) else 0),
        "suppressed": made.suppressed,
        "groups": made.groups,
        "counterfeits": made.counterfeits,
        "price": None if made.price is None else made.price.as_dict(),
        **made.findings.as_dict(),
        "warnings": list(made.warnings),
    }
