"""`reissue ledger`: recall what was published, check that nothing was changed since, take earlier releases in."""

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import FINE, NOT_MET, app
from reissue.cli._options import ForceOption, JsonOption, ReadOption, SchemaOption, dialect_of
from reissue.words import plural

books = typer.Typer(
    help="Recall releases, verify that nothing was changed, adopt what was published before. Each takes --json.",
    no_args_is_help=True,
)
app.add_typer(books, name="ledger")

PlaceArgument = Annotated[
    str, typer.Argument(metavar="LEDGER", help="The ledger: a folder, or postgresql://user@host/name.")
]
NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", help="The release: 1 is the first.")]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The ledger's secret key. Default: REISSUE_KEY, else LEDGER.key."),
]


@books.command("list")
def list_releases(ledger: PlaceArgument, as_json: JsonOption = False) -> None:
    """List all releases."""
    from reissue.ledger import Ledger

    with Ledger.open(ledger) as book:
        releases, head = book.releases, book.entries()[-1].hash
    if as_json:
        kept = ("time", "date", "rows", "method", "requirement", "recipients", "adopted")
        rows = [
            {"release": one.number, **{name: getattr(one.record, name) for name in kept}, "withdrawn": one.withdrawn}
            for one in releases
        ]
        _render.show_json({"releases": rows, "head": head})
        return
    said = [
        [
            str(one.number),
            one.record.time,
            one.date or "-",
            f"{one.record.rows:,}",
            "adopted" if one.record.adopted else one.record.method,
            ", ".join(one.recipients) or "everyone",
            "withdrawn" if one.withdrawn is not None else one.record.verdict or "-",
        ]
        for one in releases
    ]
    _render.show_table(["release", "recorded", "date", "rows", "method", "recipients", "attacks"], said)
    _render.say(f"The last entry is {head}")


@books.command()
def show(ledger: PlaceArgument, number: NumberArgument, as_json: JsonOption = False) -> None:
    """Show what is known about one release: how it was made, and what every attack found."""
    from reissue.ledger import Ledger

    with Ledger.open(ledger) as book:
        one = book.release(number)
    if as_json:
        hidden = {"files", "request", "promises", "csv"}
        shown = {name: value for name, value in one.record.as_json().items() if name not in hidden}
        _render.show_json({"release": number, "hash": one.entry.hash, **shown, "withdrawn": one.withdrawn})
        return
    record = one.record
    how = "adopted" if record.adopted else f"made by '{record.method}' to meet {record.requirement}"
    _render.say(
        f"Release {number}, recorded {record.time}: {plural(record.rows, 'row')}, {how}.",
        f"Recipients: {', '.join(one.recipients) or 'everyone'}.",
    )
    if one.withdrawn is not None:
        _render.say(f"It was withdrawn, for it never left the house: {one.withdrawn}")
    found = [[f["attack"], f["status"].replace("_", " "), f["sentence"]] for f in record.findings["findings"]]
    if found:
        _render.show_table(["attack", "outcome", "in words"], found)
    _render.warn(*record.warnings)


@books.command()
def export(
    ledger: PlaceArgument,
    number: NumberArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where it goes: .csv, .csv.gz or .parquet.")],
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a release again, byte for byte as it was."""
    from reissue.data.outputs import Output, Outputs, ledger_inputs
    from reissue.ledger import Ledger

    Outputs((Output("--out", out, table=True),), tuple(ledger_inputs(ledger, None)), force=force)
    with Ledger.open(ledger) as book:
        paths = book.export(number, out, force=force)
    if as_json:
        _render.show_json({"release": number, "files": paths})
    else:
        _render.say(f"Written: {', '.join(paths)}")


@books.command()
def verify(
    ledger: PlaceArgument,
    head: Annotated[
        str | None, typer.Option(metavar="HASH", help="The hash of an entry that you noted; it must still be there.")
    ] = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether any row or file was changed since it was written, or the last ones cut off."""
    from reissue.ledger import Ledger

    with Ledger.open(ledger, key=key) as book:
        problems, entries, unknown = book.verify(head), book.store.found(), book.unknown
    if as_json:
        last = entries[-1].hash
        _render.show_json({"whole": not problems, "problems": problems, "warnings": list(unknown), "head": last})
        raise typer.Exit(NOT_MET if problems else FINE)
    if problems:
        _render.say(*problems, style="red")
    else:
        _render.say(f"Nothing was changed: {len(entries):,} entries, the last is {entries[-1].hash}")
    _render.warn(*unknown)
    if problems:
        raise typer.Exit(NOT_MET)


@books.command()
def adopt(
    ledger: PlaceArgument,
    published: Annotated[
        list[Path], typer.Argument(metavar="PUBLISHED", help="Releases as they went out, in the order published.")
    ],
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", metavar="FILE.toml", help="Schema and policy, to begin the ledger with."),
    ] = None,
    recipient: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who got them; may be repeated. Default: everyone.")
    ] = None,
    key: KeyOption = None,
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in releases that were published before, so that the next one is safe with them."""
    from reissue.publishing.adopt import adopt as take
    from reissue.publishing.begin import ledger_at
    from reissue.schema import Schema

    plan = None if schema is None else Schema.load(schema)
    with ledger_at(ledger, plan, key=key) as book:
        total = take(book, published, recipients=recipient or (), dialect=dialect_of(reading), schema=plan)
    if as_json:
        _render.show_json({"adopted": len(published), "releases": total})
    else:
        _render.say(f"{plural(len(published), 'release')} adopted; the ledger has {total:,} now.")


@books.command()
def amend(ledger: PlaceArgument, schema: SchemaOption, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """Record a changed policy or taxonomy for the releases to come. The columns of a series stay what they are."""
    from reissue.ledger import Ledger
    from reissue.schema import Schema

    with Ledger.open(ledger, key=key) as book:
        changed = book.amend(Schema.load(schema))
    if as_json:
        _render.show_json({"changed": changed})
    else:
        _render.say("Recorded: the next release goes by it." if changed else "Nothing has changed.")


@books.command()
def withdraw(
    ledger: PlaceArgument,
    number: NumberArgument,
    never_sent: Annotated[
        str, typer.Option("--never-sent", metavar="WHY", help="Why nobody outside has it: recorded as you say it.")
    ],
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record that a release never left the house: the next ones are made and attacked without it. It stays so."""
    from reissue.ledger import Ledger

    with Ledger.open(ledger, key=key) as book:
        book.withdraw(number, never_sent)
    if as_json:
        _render.show_json({"withdrawn": number, "why": never_sent})
    else:
        _render.say(
            f"Release {number} is withdrawn: the next ones are made as if nobody had it. Delete its files; its number "
            "is not used again."
        )
