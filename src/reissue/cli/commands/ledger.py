"""`reissue ledger`: recall what was published, check that nothing was changed since, take earlier releases in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import FINE, NOT_MET, NOT_PROVABLE, CommandGroup, app
from reissue.cli._findings import show_lines
from reissue.cli._options import ForceOption, JsonOption, ReadOption, SchemaOption, dialect_of, source_of
from reissue.errors import InputError
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.ledger import Ledger, Recorded

books = typer.Typer(
    cls=CommandGroup,
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


@contextmanager
def _reading(ledger: str, key: Path | None) -> "Iterator[Ledger]":
    """A ledger for those who only read; what is missing to prove it is said on standard error."""
    from reissue.ledger import Ledger

    with Ledger.open(ledger, key=key) as book:
        yield book
        _render.say(*(f"Warning: Not provable: {line}" for line in book.trust().missing), error=True)


def _say_unwritten(failed: str) -> None:
    """That an entry was recorded, and not a head, or the witness was not told."""
    _render.say(*([f"Warning: {failed}"] if failed else []), error=True)


@books.command("list")
def list_releases(ledger: PlaceArgument, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """List all releases."""
    from reissue.outcome.series import releases_table

    with _reading(ledger, key) as book:
        releases, head = book.releases, book.entries()[-1].hash
    if as_json:
        kept = ("time", "date", "rows", "loss", "method", "requirement", "recipients", "contributed", "adopted")
        rows = [
            {"release": one.number, **{name: getattr(one.record, name) for name in kept}, "withdrawn": one.withdrawn}
            for one in releases
        ]
        _render.show_json({"releases": rows, "head": head})
        return
    _render.show_table(releases_table(releases))
    _render.say(f"The last entry is {head}")


@books.command()
def show(ledger: PlaceArgument, number: NumberArgument, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """Show what is known about one release: how it was made, and what every attack found."""
    from reissue.outcome.series import figures_of_record, withdrawn_words

    with _reading(ledger, key) as book:
        one = book.release(number)
    if as_json:
        hidden = {"files", "request", "promises", "csv"}
        shown = {name: value for name, value in one.record.as_json().items() if name not in hidden}
        _render.show_json({"release": number, "hash": one.entry.hash, **shown, "withdrawn": one.withdrawn})
        return
    _render.say(f"Release {number}", *(f"  {what}: {value}" for what, value in figures_of_record(one)))
    if one.withdrawn is not None:
        _render.say(withdrawn_words(one.withdrawn))
    show_lines(one.findings)
    _render.warn(*one.record.warnings)


@books.command()
def recipients(ledger: PlaceArgument, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """Say who has which releases; what everyone got, everyone has."""
    from reissue.ledger.recorded import holders

    with _reading(ledger, key) as book:
        found = holders(book.releases)
    if as_json:
        _render.show_json({name or "everyone": list(numbers) for name, numbers in found.items()})
        return
    rows = [[name or "everyone", ", ".join(map(str, numbers)) or "-"] for name, numbers in found.items()]
    _render.show_rows(["recipient", "releases"], rows)


@books.command()
def providers(
    ledger: PlaceArgument,
    table: Annotated[
        Any, typer.Option(parser=source_of, metavar="DATA", help="Today's table: look at its release, record nothing.")
    ] = None,
    tables: Annotated[
        str,
        typer.Option(
            metavar="DATA",
            help="The original tables of all releases, a folder or files between commas: what would be seen in the "
            "whole series. One more is taken for the next release.",
        ),
    ] = "",
    coalition: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="With --table or --tables: only this coalition, its providers between commas."
        ),
    ] = "",
    key: KeyOption = None,
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say who contributed what, what coalitions of providers would see, and what each may be told."""
    from reissue.papers.coalition.views import view_of_release
    from reissue.publishing.publish import tried_release

    names = [name.strip() for name in coalition.split(",") if name.strip()]
    if table is not None and tables:
        raise InputError("Give --table for one release or --tables for the whole series, not both.")
    with _reading(ledger, key) as book:
        if tables:
            _say_over_series(book, tables, names, reading, as_json=as_json)
            return
        if table is None:
            _say_recorded(book.releases, as_json=as_json)
            return
        release, number = tried_release(table, book, dialect=dialect_of(reading))
        view = view_of_release(release, names, m=book.policy.m, number=number)
    if as_json:
        _render.show_json(view.as_dict())
        return
    _render.show_rows(["provider", "records"], [[name, f"{many:,}"] for name, many in view.contributed.items()])
    _render.say(*(one.sentence for one in view.coalitions))
    if names:
        _render.say(*(step for one in view.coalitions for step in one.steps))
    _render.say("Every provider may be told:", *view.told)


def _say_over_series(book: "Ledger", tables: str, names: list[str], reading: Any, *, as_json: bool) -> None:
    """What coalitions would see in all releases together."""
    from reissue.cli._knows import tables_of
    from reissue.publishing.publish import attack_by_providers

    view = attack_by_providers(book, tables_of(tables), names, dialect=dialect_of(reading))
    if as_json:
        _render.show_json(view.as_dict())
        return
    _render.say(
        f"Releases {', '.join(map(str, view.releases))} together; nobody may be linked beyond {view.limit:.3g}."
    )
    _render.show_rows(["provider", "records"], [[name, f"{many:,}"] for name, many in view.contributed.items()])
    _render.say(*(one.sentence for one in (view.outsider, *view.coalitions)))


def _say_recorded(releases: "Sequence[Recorded]", *, as_json: bool) -> None:
    """Who contributed what to each release, and how many of them may collude."""
    some = [one for one in releases if one.record.contributed]
    withstands = [None if one.colluding is None else int(one.colluding.worst or 0) for one in some]
    if as_json:
        rows = [
            {"release": one.number, "contributed": one.record.contributed, "withstands": m, "told": list(one.told)}
            for one, m in zip(some, withstands, strict=True)
        ]
        _render.show_json({"releases": rows})
        return
    names = list(dict.fromkeys(name for one in some for name in one.record.contributed))
    table = [
        [
            str(one.number),
            *(f"{one.record.contributed.get(name, 0):,}" for name in names),
            "not looked at" if m is None else str(m),
        ]
        for one, m in zip(some, withstands, strict=True)
    ]
    _render.show_rows(["release", *names, "may collude"], table)
    if some:
        _render.say("Every provider may be told of the last one:", *some[-1].told)


@books.command()
def export(
    ledger: PlaceArgument,
    number: NumberArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where it goes: .csv, .csv.gz or .parquet; a folder without an ending for a release in parts.",
        ),
    ],
    key: KeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a release again, byte for byte as it was."""
    from reissue.data.outputs import Output, Outputs, ledger_inputs

    output = Output("--out", out, table=bool(out.suffix), repeats=True)
    Outputs((output,), tuple(ledger_inputs(ledger, key)), force=force)
    with _reading(ledger, key) as book:
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
    """Say whether it is proven that nothing was changed or cut off, with exit code 5 where that cannot be proven."""
    from reissue.ledger import Ledger
    from reissue.ledger.trust import TrustOutcome
    from reissue.outcome.series import trust_headline

    with Ledger.open(ledger, key=key) as book:
        trust, entries = book.examine(head), book.store.found()
    last = entries[-1].hash
    if as_json:
        said = {"problems": list(trust.problems), "missing": list(trust.missing), "head": last}
        _render.show_json({"outcome": trust.outcome, "whole": trust.outcome == TrustOutcome.PROVEN, **said})
    else:
        top = trust_headline(trust, len(entries))
        style = _render.STYLES[top.mark] if trust.problems else ""
        _render.say(f"{top.word}: {top.sentence}", *trust.problems, *trust.missing, style=style)
        _render.say(f"The last entry is {last}")
    unproven = NOT_MET if trust.problems else NOT_PROVABLE
    raise typer.Exit(FINE if trust.outcome == TrustOutcome.PROVEN else unproven)


@books.command()
def accept(
    ledger: PlaceArgument,
    why: Annotated[
        str, typer.Option("--why", metavar="WHY", help="Why no release is missing in it: recorded as you say it.")
    ],
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a ledger that was restored from a backup, or was brought to this machine, though heads say otherwise.

    What was changed, or was not written with the key, is not accepted.
    """
    from reissue.ledger import Ledger

    with Ledger.open(ledger, key=key) as book:
        trust = book.accept(why)
        _say_unwritten(book.unwritten)
    if as_json:
        _render.show_json({"accepted": [*trust.problems, *trust.missing], "why": why})
    else:
        _render.say("Recorded, and the heads are written anew. Accepted was:", *trust.problems, *trust.missing)


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
    from reissue.publishing.turn import ledger_at
    from reissue.schema import Schema

    plan = None if schema is None else Schema.load(schema)
    with ledger_at(ledger, plan, key=key) as book:
        total = take(book, published, recipients=recipient or (), dialect=dialect_of(reading), schema=plan)
        _say_unwritten(book.unwritten)
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
        _say_unwritten(book.unwritten)
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
    """Record that a release was never sent: the next ones are made and attacked without it. This cannot be undone."""
    from reissue.ledger import Ledger

    with Ledger.open(ledger, key=key) as book:
        book.withdraw(number, never_sent)
        _say_unwritten(book.unwritten)
    if as_json:
        _render.show_json({"withdrawn": number, "why": never_sent})
    else:
        _render.say(
            f"Release {number} is withdrawn: the next ones are made as if nobody had it. Delete its files; its number "
            "is not used again."
        )
