"""Options that several commands share, and how their texts become values."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.data.outputs import Output
from reissue.errors import InputError
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.contingency.cells import CountRules
    from reissue.files.dialect import Dialect

TABLES = "CSV, Parquet, Arrow, Excel (book.xlsx#Sheet), SPSS, Stata, SAS, or a database's URL with ?table=NAME."
"""What may be read, in an option's help."""

__all__ = [
    "TABLES",
    "CountsOption",
    "EngineOption",
    "ForceOption",
    "GivenSchemaOption",
    "IdentifierOption",
    "JsonOption",
    "NewcomersOption",
    "OutOption",
    "QuasiOption",
    "ReadOption",
    "RecordOption",
    "SchemaOption",
    "SensitiveOption",
    "WriteOption",
    "count_rules_of",
    "dialect_of",
    "names_of",
    "options_of",
    "record_outputs",
    "released_dialect",
    "say_assumed",
    "say_reading",
    "source_of",
    "streams",
    "target_beside",
]


RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE.json",
        help="Write down for the file what was published, criteria, risk, tests and results; FILE.html beside it is "
        "the same as a page (FILE.record.html where --report has that name).",
    ),
]


def source_of(text: str) -> Any:
    """A table's place: a path, or the table of a database whose URL it is."""
    from reissue.files.databases import database_table, is_database_url

    return database_table(text) if is_database_url(text) else Path(text)


SchemaOption = Annotated[
    Path, typer.Option("--schema", "-s", metavar="FILE.toml", help="The schema file; `reissue init` proposes one.")
]
GivenSchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        "-s",
        metavar="FILE.toml",
        help="The schema file. Without one it is guessed from the tables, and what was assumed is shown.",
    ),
]
SensitiveOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Without a schema: the column that nobody should learn.")
]
QuasiOption = Annotated[
    str | None, typer.Option(metavar="A,B", help="Without a schema: the columns that others may know.")
]
IdentifierOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Without a schema: who it is, in private copies.")
]
ReadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        help="How files are read, where what is found is wrong: delimiter=; encoding=cp1252 decimal=, "
        "dates=dd.mm.yyyy missing=NA,-9 sheet=NAME header=3. May be repeated.",
    ),
]
OutOption = Annotated[
    Any,
    typer.Option(
        "--out",
        "-o",
        parser=source_of,
        metavar="FILE",
        help="Where the release goes, also a database's URL. Default: DATA.release.csv beside DATA, in DATA's format.",
    ),
]
WriteOption = Annotated[
    list[str] | None,
    typer.Option(
        "--write",
        metavar="NAME=VALUE",
        help="How CSV is written, if not as DATA was: delimiter, encoding, decimal, dates. May be repeated.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON object on standard output, nothing else.")
]
NewcomersOption = Annotated[
    bool,
    typer.Option(
        "--newcomers",
        metavar="",
        help="Hardly anybody of the last release is in this table, and that is right: identifiers have not changed.",
    ),
]
UnchangedOption = Annotated[
    bool,
    typer.Option("--unchanged", metavar="", help="The table is that of an earlier release: nothing has changed since."),
]
LookalikesOption = Annotated[
    bool,
    typer.Option(
        "--lookalikes",
        metavar="",
        help="Newcomers whose identifiers differ from others only in zeros, case or punctuation are other people.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", metavar="", help="Replace output files that exist.")]


EngineOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Who counts: memory, stream (Parquet larger than memory), spark, or auto, which goes by the file's size.",
    ),
]


CountsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--counts",
        metavar="NAME=VALUE",
        help="How counts in published tables were protected; may be repeated: rounding=5, random=true (to either "
        "neighbour), noise=2 (at most), suppressed=1-4 (what a hidden cell may be), repeated=true (each date of a "
        "column of dates counts the same people again). `--counts yes` only says that these files are such tables.",
    ),
]


def count_rules_of(texts: Sequence[str] | None) -> "CountRules | None":
    """What --counts says; None where it says nothing."""
    from reissue.contingency.cells import rules_from

    return rules_from(options_of([text for text in texts if text != "yes"])) if texts else None


def dialect_of(texts: Sequence[str] | None) -> "Dialect":
    """What --read says, or --write."""
    from reissue.files.dialect import dialect_from

    options = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError("Give a name and a value, joined by an equals sign: --read delimiter=;")
        options[name.strip()] = int(value) if name.strip() == "header" and value.isdecimal() else value
    return dialect_from(options)


def say_reading(tables: Sequence[Any], given: "Dialect", *, quiet: bool) -> None:
    """One line for each way in which files are read, where it is not the usual one."""
    from reissue.cli import _render
    from reissue.files.tables import detect_dialect

    files: dict[str, list[str]] = {}
    for table in tables:
        if isinstance(table, Path) and not quiet:
            files.setdefault(detect_dialect(table, given).sentence, []).append(table.name)
    for sentence, names in files.items():
        if sentence:
            _render.say(f"{names[0] if len(names) == 1 else plural(len(names), 'file')}: read with {sentence}.")


def released_dialect(data: Any, reading: Sequence[str] | None, writing: Sequence[str] | None) -> "Dialect":
    """How a release of a table goes out: as the table is written, but for what --write says."""
    from dataclasses import replace

    from reissue.files.dialect import PLAIN
    from reissue.files.tables import detect_dialect

    own = detect_dialect(data, dialect_of(reading)) if isinstance(data, Path) else PLAIN
    own = own if own.delimiter else PLAIN
    asked = dialect_of(writing)
    named = {name: getattr(asked, name) for name in ("delimiter", "encoding", "decimal", "dates")}
    return replace(own, **{name: value for name, value in named.items() if value is not None})


def target_beside(data: Any) -> Path:
    """Where a release goes if nobody says so: beside its table, in the same format."""
    from reissue.files.places import DATABASES, default_output, part_of

    if not isinstance(data, Path) or part_of(data)[0].suffix.lower() in DATABASES:
        raise InputError("Where shall the release go? The data is in a database: name a file or a table with --out.")
    return data.with_name(f"{data.name}.release.csv") if data.is_dir() else default_output(data, "release")


def options_of(texts: Sequence[str]) -> dict[str, Any]:
    """`name=value` texts as values: numbers, true, false and lists as in TOML, anything else as it stands."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError("Give a name and a value, joined by an equals sign: name=value.")
        options[name.strip()] = _value(value.strip())
    return options


def _value(text: str) -> Any:
    import tomllib

    text = text.lower() if text in {"True", "False"} else text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def names_of(text: str | None) -> tuple[str, ...]:
    """The names of an option A,B."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def say_assumed(hints: Sequence[str]) -> None:
    """What was taken for granted, on standard error."""
    from reissue.cli import _render

    if hints:
        _render.say("Nobody said it, so this is assumed:", *(f"- {hint}" for hint in hints), "", error=True)


def streams(engine: str, data: Any) -> bool:
    """Whether a table is not to be read into memory."""
    if engine == "memory":
        return False
    from reissue.engines.registry import MEMORY, choose

    return choose(engine, data).name != MEMORY


def record_outputs(path: Path | None, report: Path | None = None) -> list[Output]:
    """The two files of a record, the JSON first; the page gives way to a report of the same name."""
    if path is None:
        return []
    if path.suffix.lower() != ".json":
        raise InputError("The file of --record must end in .json; the page goes beside it.")
    page = path.with_suffix(".html")
    return [Output("--record", path), Output("--record", path.with_suffix(".record.html") if page == report else page)]
