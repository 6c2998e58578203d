"""`reissue publish`: the next release of a series, recorded in its ledger."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, TypeGuard

import typer

from reissue.cli import _render
from reissue.cli._app import NOT_MET, app
from reissue.cli._options import DelimiterOption, ForceOption, JsonOption, NewcomersOption, delimiter_of
from reissue.errors import InputError

if TYPE_CHECKING:
    from reissue.ledger import Ledger, RefusedError
    from reissue.publish import Publication

LedgerOption = Annotated[
    str, typer.Option("--ledger", "-l", metavar="PLACE", help="The ledger: a folder, or postgresql://user@host/name.")
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The ledger's secret key. Default: REISSUE_KEY, else PLACE.key."),
]


@app.command()
def publish(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Today's table: CSV, gzipped CSV or Parquet.")],
    ledger: LedgerOption,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", metavar="FILE.toml", help="Schema and policy; needed to begin a ledger."),
    ] = None,
    dated: Annotated[
        str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="The day that the table shows.")
    ] = None,
    recipient: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who gets it; may be repeated. Default: everyone.")
    ] = None,
    newcomers: NewcomersOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", metavar="", help="Make and attack the release, show all, record nothing.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Only to replay; keep it to yourself. Default: from the key, the ledger and the table."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where the release goes. Default: DATA.release.csv beside DATA."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where a refusal is explained; a name that ends in .html gets a page, of a release that was published "
            "too. Default: DATA.refused.txt beside DATA.",
        ),
    ] = None,
    key: KeyOption = None,
    force: ForceOption = False,
    delimiter: DelimiterOption = ",",
    as_json: JsonOption = False,
) -> None:
    """Make the next release, attack it together with all earlier ones, and record it; or refuse it and say why."""
    from reissue.files import refuse_existing
    from reissue.ledger import RefusedError
    from reissue.publish import publish_next

    target = out or _beside(data, "release")
    if target.exists() and data.exists() and target.samefile(data):
        raise InputError("The output would replace the data itself. Choose another name with --out.")
    if not dry_run:
        refuse_existing(target, force=force)
    with TemporaryDirectory(prefix="reissue.") as scratch:
        book = _open(ledger, schema, key, Path(scratch) / "dry" if dry_run else None)
        with book, _render.watching("Publishing") as progress:
            try:
                made = publish_next(
                    data,
                    book,
                    dry_run=dry_run,
                    seed=seed,
                    recipients=recipient or (),
                    dated=dated,
                    newcomers=newcomers,
                    delimiter=delimiter_of(delimiter),
                    progress=progress,
                )
            except RefusedError as refused:
                _show_refusal(refused, report or data.with_name(f"{data.name}.refused.txt"), as_json=as_json)
                raise typer.Exit(NOT_MET) from None
            paths = [] if dry_run else book.export(made.number, target, force=force)
            head = book.entries()[-1].hash
    page = _write_page(made, report) if _is_page(report) else None
    _show(made, paths, head, page, as_json=as_json)


def _beside(data: Path, name: str) -> Path:
    from reissue.files import second_path

    return data.with_name(f"{data.name}.{name}.csv") if data.is_dir() else Path(second_path(data, name))


def _open(place: str, schema: Path | None, key: Path | None, scratch: Path | None) -> "Ledger":
    """The ledger at a place; begun there if there is none, or for a dry run in a folder that goes away."""
    from reissue.ledger import Ledger
    from reissue.schema import Schema

    try:
        book = Ledger.open(place, key=key)
    except InputError as problem:
        if schema is None or "no ledger" not in str(problem):
            raise
        plan = Schema.load(schema)
        return Ledger.create(place, plan, key=key) if scratch is None else Ledger.create(scratch, plan)
    if schema is not None and not book.releases and scratch is None:
        book.amend(Schema.load(schema))  # nothing was published by the old one
    if schema is not None and book.differs(Schema.load(schema)):
        book.close()
        raise InputError(
            f"The schema file is not what the ledger '{book.name}' goes by. Leave --schema out to go on as before, or "
            "record the change first: reissue ledger amend."
        )
    return book


def _show_refusal(refused: "RefusedError", path: Path, *, as_json: bool) -> None:
    from reissue.files import write_text

    if _is_page(path):
        from reissue.report import write_report

        write_report(refused.report.findings, path, refusal=refused.report, force=True)
    else:
        write_text(refused.report.text, path, force=True)
    if as_json:
        _render.show_json({**refused.report.as_dict(), "report": path})
    else:
        _render.say(refused.report.text.rstrip(), f"Written: {path}", error=True)


def _is_page(path: Path | None) -> TypeGuard[Path]:
    return path is not None and path.suffix.lower() in {".html", ".htm"}


def _write_page(made: "Publication", path: Path) -> Path:
    """What the attacks found on a release that goes out, and what it cost."""
    from reissue.report import write_report
    from reissue.utility import measure

    title = f"Release {made.number}, attacked together with all earlier ones"
    utility = {"this release": [measure(made.release)]}
    return write_report(made.findings, path, title=title, utility=utility, warnings=made.warnings, force=True)


def _with_earlier(made: "Publication") -> str:
    """Whether releases were compared: not where the policy says that they never meet."""
    several = any(len(one.releases) > 1 and one.reason is None for one in made.findings)
    return " together with earlier releases" if several else ""


def _show(made: "Publication", paths: list[str], head: str, page: Path | None, *, as_json: bool) -> None:
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
    published = release.table.rows - release.suppressed
    _render.show_table(
        ["attack", "outcome", "in words"],
        [[f.attack, str(f.status).replace("_", " "), f.sentence] for f in made.findings],
    )
    _render.say(
        f"Release {made.number}: {_render.plural(published, 'row')} in {_render.plural(release.groups, 'group')}, "
        f"{_render.plural(release.suppressed, 'row')} left out, {_render.plural(release.counterfeits, 'counterfeit')}.",
        f"It meets {release.requirement}, and withstands the policy's attacks{_with_earlier(made)}.",
    )
    _render.warn(*made.warnings)
    if made.again:
        _render.say("This table had been published before: it is the same release, not another one.")
    if paths:
        _render.say(f"Written: {', '.join(paths)}", f"Recorded as {head}")
    else:
        _render.say("A dry run: nothing was recorded, no release was written.")
    if page is not None:
        _render.say(f"Report: {page}")
