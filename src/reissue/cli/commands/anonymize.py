"""`reissue anonymize`: one table, one release."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import (
    TABLES,
    ForceOption,
    JsonOption,
    NewcomersOption,
    OutOption,
    ReadOption,
    SchemaOption,
    WriteOption,
    dialect_of,
    options_of,
    released_dialect,
    say_reading,
    source_of,
    streams,
    target_beside,
)
from reissue.data.outputs import Input, Output, Outputs, schema_inputs, table_inputs
from reissue.errors import InputError, TaxonomyError
from reissue.words import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reissue.data.table import Table
    from reissue.files.dialect import Dialect
    from reissue.publishing.series import Written
    from reissue.release.release import Release
    from reissue.requirements import Requirement
    from reissue.schema import Schema
    from reissue.utility import Utility


@app.command()
def anonymize(
    data: Annotated[
        Any,
        typer.Argument(
            parser=source_of,
            metavar="DATA",
            help=f"The table: {TABLES} A folder of files for methods that follow people, or with one file for each "
            "provider.",
        ),
    ],
    schema: SchemaOption,
    require: Annotated[
        str | None,
        typer.Option(
            "--require", "-r", metavar="REQUIREMENT", help="For example 'k=5 & l=3'; see `reissue requirements`."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How groups are formed; `reissue methods` lists them, the default first."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the method; may be repeated.")
    ] = None,
    m: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many providers may collude, for the method providers. Instead of --require, for the methods "
            "invariance, equivalence and distinct. The same as --option m=N, for the method mask.",
        ),
    ] = None,
    e: Annotated[int | None, typer.Option(min=1, help="The same as --option e=N, for the method equivalence.")] = None,
    star: Annotated[
        bool, typer.Option("--star", metavar="", help="The same as --option star=true, for the method distinct.")
    ] = False,
    risk: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The same as --option risk=SHARE, for the method distinct: 0.3, say."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="The same as --option form=WORD: generalized, permuted, 'two tables'; panel, for the method cohorts.",
        ),
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="The same as k=N in the requirement.")] = None,
    sensitive_values: Annotated[
        str | None,
        typer.Option(metavar="VALUES", help="The same as --option values=..., for the method mask: HIV, {flu, cold}."),
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What a method that follows people remembers; begun if it is not there."),
    ] = None,
    newcomers: NewcomersOption = False,
    after: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="An earlier release as it was published, for the method correspondence; repeated for each, in order.",
        ),
    ] = None,
    boxes: Annotated[
        str,
        typer.Option(
            metavar="WORD",
            help="nodes: values are nodes of the taxonomies. tight: numbers and dates are ranges from the smallest to "
            "the largest value of a group, which loses less and shows extreme values.",
        ),
    ] = "nodes",
    values: Annotated[
        str,
        typer.Option(
            metavar="WORD",
            help="exact: sensitive values are published as they are. randomized: each is true with a chosen "
            "probability; a side table beside the release serves estimates.",
        ),
    ] = "exact",
    suppress: Annotated[
        float, typer.Option(metavar="SHARE", help="Maximum share of suppressed records, such as 0.05.")
    ] = 0.0,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="For the same release again. Keep it to yourself: it tells the order of rows. Default: a secret.",
        ),
    ] = None,
    out: OutOption = None,
    private: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The release with the identifier of each row, to be checked by people where they have several rows. "
            "It stays with you.",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="memory; stream (Parquet larger than memory) or spark, into a folder (--out); or auto, which goes by "
            "the file's size.",
        ),
    ] = "memory",
    force: ForceOption = False,
    reading: ReadOption = None,
    writing: WriteOption = None,
    show_values: Annotated[
        bool, typer.Option("--show-values", metavar="", help="Show values that a taxonomy lacks, on screen only.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a release of a table that meets a requirement."""
    from reissue.methods import find
    from reissue.publishing.recipe import DEFAULT_METHOD
    from reissue.schema import Schema

    method, plan = method or DEFAULT_METHOD, Schema.load(schema)
    short = {"e": e, "risk": risk, "star": star or None, "sensitive_values": sensitive_values, "after": after or None}
    short |= {"form": form}
    options = options_of(option or []) | {name: value for name, value in short.items() if value is not None}
    if m is not None and "m" in find(method).options:
        options, m = options | {"m": m}, None
    require = require if k is None else f"k={k}" + (f" & {require}" if require else "")
    requirement = _requirement(require, m, method)
    find(method).settle(options)
    asked: dict[str, Any] = {"method": method, "seed": seed, "boxes": boxes}
    if streams(engine, data):
        others: dict[str, object] = {"--private": private, "--force": force, "--read": reading, "--write": writing}
        others |= {"--values": values if values != "exact" else ""}
        asked |= {"engine": engine, "suppress": suppress, "memory": memory, "newcomers": newcomers, **options}
        _make_folder(data, plan, requirement, out, asked, others, as_json=as_json)
        return
    say_reading([data], dialect_of(reading), quiet=as_json)
    if find(method).stateful:
        if private is not None or values != "exact":
            raise InputError("--private and --values randomized are for methods that make releases one at a time.")
        asked |= {"options": options, "newcomers": newcomers, "memory": memory, "out": out, "force": force}
        _make_series(data, plan, requirement, schema, dialect_of(reading), asked, as_json=as_json)
        return
    _refuse_series(data, plan, method, memory, private)
    read = [*schema_inputs(schema, plan), *table_inputs("--after", after or [])]
    target = _target(data, out, private, read, force=force)
    table = _read(data, plan, dialect_of(reading), show_values=show_values)
    release, utility = _make(table, plan, requirement, {**asked, "suppress": suppress, "values": values, **options})
    dialect = released_dialect(data, reading, writing)
    written = _write(release, target, private, force=force, dialect=dialect)
    _show(release, utility, written, as_json=as_json)
    if not as_json and isinstance(data, Path) and isinstance(target, Path):
        _show_next(data, target, schema, str(release.requirement))


def _show_next(data: Path, target: Path, schema: Path, requirement: str) -> None:
    """What can be asked of the release."""
    table, release, by = quote(str(data)), quote(str(target)), f"--schema {quote(str(schema))}"
    _render.say(
        f"What it shows of people: reissue check {release} {by} --require {quote(requirement)}",
        f"What was lost, as a page: reissue measure {table} {release} {by} --report lost.html",
        f"What other k and methods would lose: reissue compare-settings {table} {by}",
    )


def _refuse_series(data: Any, plan: "Schema", method: str, memory: Path | None, private: Path | None) -> None:
    """Stop where several tables are given to a method that makes releases one at a time."""
    if memory is not None or (isinstance(data, Path) and data.is_dir() and plan.provider is None):
        raise InputError(f"The method '{method}' makes releases one at a time: give one file, and no --memory.")
    if private is not None and plan.identifier is None:
        raise InputError("--private needs an identifier in the schema, which says whose each row is.")


def _make_series(
    data: Any,
    plan: "Schema",
    requirement: "Requirement",
    schema: Path,
    dialect: "Dialect",
    asked: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    from reissue.publishing.series import write_series

    if not isinstance(data, Path):
        raise InputError("Methods that follow people read files, or a folder of them. Use `reissue publish`.")
    inputs = schema_inputs(schema, plan)
    with _render.watching("Anonymizing") as progress:
        written = write_series(data, plan, requirement, inputs=inputs, dialect=dialect, progress=progress, **asked)
    _show_series(written, asked["memory"], as_json=as_json)


def _show_series(written: "Written", memory: Path | None, *, as_json: bool) -> None:
    """What was made, and where the memory is."""
    from reissue.publishing.series import AGAIN

    first, pairs = written.releases[0], list(zip(written.releases, written.files, strict=True))
    if as_json:
        rows = [
            {"rows": one.table.rows, "groups": one.groups, "counterfeits": one.counterfeits, "files": files}
            for one, files in pairs
        ]
        common = {"method": first.method, "requirement": str(first.requirement), "warnings": list(first.warnings)}
        _render.show_json({**common, "again": written.again, "releases": rows})
        return
    for release, files in pairs:
        _render.say(
            f"{plural(release.table.rows, 'row')} published in {plural(release.groups, 'group')}, with "
            f"{plural(release.counterfeits, 'counterfeit')}. Written: {', '.join(files)}"
        )
    _render.say(f"Every release meets {first.requirement}: counted again from the published columns.")
    _render.warn(*first.warnings)
    _render.say(*([AGAIN] if written.again else []))
    if memory is not None:
        _render.say(f"The memory of the series is in {memory}. Keep it private, and for the next release.")


def _make_folder(
    data: Any,
    schema: "Schema",
    requirement: "Requirement",
    out: Any,
    asked: dict[str, Any],
    others: "Mapping[str, object]",
    *,
    as_json: bool,
) -> None:
    """Make it, into a folder, by an `asked` method and engine; `others` are options that must be left out."""
    from reissue.files.places import SECOND_TABLES, beside_folder
    from reissue.methods import find
    from reissue.publishing.folder import anonymize_folder

    named = [name for name, value in others.items() if value]
    if named:
        raise InputError(f"{', '.join(named)}: only with --engine memory.")
    if out is None:
        raise InputError("A release larger than memory goes to a folder: name it with --out.")
    if find(asked["method"]).stateful and asked["memory"] is None:
        raise InputError(
            f"The method '{asked['method']}' follows people from release to release: give --memory FILE to keep."
        )
    with _render.watching("Anonymizing") as progress:
        made = anonymize_folder(data, schema, requirement, out, progress=progress, **asked)
    if as_json:
        numbers = {"rows": made.rows, "groups": made.groups, "regions": made.regions, "folder": str(made.folder)}
        said = {"method": made.method, "requirement": str(made.requirement), "warnings": list(made.warnings)}
        _render.show_json({**said, **numbers})
        return
    beside = [beside_folder(made.folder, name) for name in SECOND_TABLES]
    folders = [made.folder, *(one for one in beside if one.is_dir())]
    regions = f", made in {plural(made.regions, 'region')}" if made.regions > 1 else ""
    _render.say(
        f"{plural(made.rows, 'row')} published in {plural(made.groups, 'group')}{regions}.",
        f"The release meets {made.requirement}: counted again from the published columns.",
        *(f"Written: {one}, a folder of Parquet." for one in folders),
    )
    _render.warn(*made.warnings)


def _target(data: Any, out: Any, private: Path | None, inputs: list[Input], *, force: bool) -> Any:
    """Where the release goes, if it can be written there."""
    target = out or target_beside(data)
    files = [Output("--out", target, table=True)] if isinstance(target, Path) else []
    files += [] if private is None else [Output("--private", private, table=True)]
    Outputs(tuple(files), (*table_inputs("the data", [data]), *inputs), force=force)
    return target


def _write(release: "Release", target: Any, private: Path | None, *, force: bool, dialect: "Dialect") -> list[str]:
    """The release, and the private copy with it: both or none."""
    from reissue.files.staging import Staging
    from reissue.files.tables import stage_tables

    with Staging() as staging:
        written = release.stage(staging, target, force=force, dialect=dialect)
        if private is not None:
            stage_tables(staging, [(release.private_copy, private)], force=force, dialect=dialect)
            written.append(str(private))
        staging.place()
    return written


def _make(
    table: "Table", plan: "Schema", requirement: "Requirement", asked: dict[str, Any]
) -> "tuple[Release, Utility]":
    from reissue.publishing.anonymize import anonymize as make
    from reissue.utility import measure

    with _render.watching("Anonymizing") as progress:
        release = make(table, plan, requirement, progress=progress, **asked)
        return release, measure(release)


def _requirement(require: str | None, m: int | None, method: str) -> "Requirement":
    """The requirement as --require says it, or --m for the methods that have one."""
    from reissue.methods import find, registered
    from reissue.requirements import parse

    if require is not None and m is None:
        return parse(require)
    if require is not None:
        raise InputError("Give --require or --m, not both.")
    if m is None:
        raise InputError("Say what the release must meet: --require 'k=5 & l=3', for example.")
    name = find(method).m_requirement
    if not name:
        able = [name for name, its in sorted(registered().items()) if its.m_requirement or "m" in its.options]
        raise InputError(f"--m is for the methods {', '.join(able)}. Use --require.")
    if m < 2:
        raise InputError(f"--m of the method '{method}' must be at least 2.")
    return parse(f"{name}={m}")


def _read(data: Any, schema: "Schema", dialect: "Dialect", *, show_values: bool) -> "Table":
    from reissue.data.table import Table, unlisted_values

    try:
        return Table.read(data, schema, dialect=dialect)
    except TaxonomyError:
        if show_values:
            _render.show_values(unlisted_values(data, schema, dialect=dialect))
        raise


def _show(release: "Release", utility: "Utility", paths: list[str], *, as_json: bool) -> None:
    sizes = release.group_people
    if as_json:
        _render.show_json(
            {
                "method": release.method,
                "requirement": str(release.requirement),
                "rows": release.table.rows,
                "suppressed": release.suppressed,
                "groups": release.groups,
                "smallest_group": sizes.min() if len(sizes) else None,
                "utility": utility.as_dict(),
                "files": paths,
                "warnings": list(release.warnings),
                **_distortion(release),
            }
        )
        return
    published = release.table.rows - release.suppressed
    smallest = f", the smallest of {_size(release, int(sizes.min()))}" if len(sizes) else ""
    _render.say(
        f"{plural(published, 'row')} published in {plural(release.groups, 'group')}{smallest}; "
        f"{plural(release.suppressed, 'record')} suppressed.",
        f"The release meets {release.requirement}: counted again from the published columns.",
        *utility.sentences,
        *(
            f"{plural(found['changed'], 'sensitive value')} changed: a distortion of {found['distortion']:.2%}."
            for found in [_distortion(release)]
            if found
        ),
        f"Written: {', '.join(paths)}",
    )
    _render.warn(*release.warnings)


def _size(release: "Release", number: int) -> str:
    """A group's size in words: people, where they have several rows."""
    return plural(number, "row") if release.table.people is None else f"{number:,} different people"


def _distortion(release: "Release") -> dict[str, Any]:
    """Of a method that changes sensitive values: how many, and how far."""
    return {name: release.draft.notes[name] for name in ("changed", "distortion") if name in release.draft.notes}
