"""`reissue clean`: what is wrong with a table as people keep it, and a repaired copy."""

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import TABLES, ForceOption, JsonOption, ReadOption, dialect_of, names_of, source_of
from reissue.errors import InputError
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.cleaning import Defect
    from reissue.proposing.clean import CleanedTable, Cleaning

_ALL = "all"


@app.command()
def clean(
    data: Annotated[Any, typer.Argument(parser=source_of, metavar="DATA", help=f"The table as it is kept. {TABLES}")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where the repaired copy goes; else nothing is written."),
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option(
            "--apply",
            metavar="all|NAME,...",
            help="Which repairs are made: all that are recommended, or those named, such as totals,spelling:diagnosis. "
            "On a terminal you are asked; elsewhere all recommended ones are made.",
        ),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(
            "--recipe", metavar="FILE.toml", help="Make the repairs of the section [clean] of this schema or recipe."
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE.toml", help="Write down the repairs, for --recipe.")
    ] = None,
    identifier: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that names people, if its name does not say so.")
    ] = None,
    show_values: Annotated[
        bool, typer.Option("--show-values", metavar="", help="Show values that are meant, on this screen only.")
    ] = False,
    force: ForceOption = False,
    reading: ReadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find totals, doubled rows, variants of codes, odd cells and notes in a table, and write a repaired copy.

    Nothing is changed silently: each defect is shown with its count, its rows and the repair, and the file itself stays
    as it is. `reissue init` writes the same repairs into the schema, so that they are made each time a table is read.
    """
    from reissue.data.outputs import Output, Outputs, table_inputs
    from reissue.files.tables import write_file, write_text
    from reissue.proposing.clean import clean as find
    from reissue.proposing.clean import recipe_in

    if apply is not None and recipe is not None:
        raise InputError("Give --apply or --recipe, not both: a recipe says which repairs are made.")
    outputs = [Output(name, path) for name, path in (("--out", out), ("--save", save)) if path is not None]
    Outputs(tuple(outputs), tuple(table_inputs("the data", [data])), force=force)
    found = find(data, identifier=identifier, dialect=dialect_of(reading))
    if not as_json:
        show_defects(found, show_values=show_values)
    made = (
        found.replay(recipe_in(recipe))
        if recipe is not None
        else _chosen(found, apply, ask=bool(outputs) and not as_json)
    )
    if made is not None and out is not None:
        write_file(made.frame, out, force=force)
    if made is not None and save is not None:
        write_text(made.toml, save, force=force)
    if as_json:
        done = [one.as_dict() for one in made.done] if made is not None and outputs else []
        _render.show_json({**found.as_dict(show_values=show_values), "out": out, "recipe": save, "done": done})
    elif made is not None:
        _show_done(found, made, data, out, save)


def show_defects(found: "Cleaning", *, show_values: bool = False) -> None:
    """What is wrong, a line each; values only for the holder's own eyes."""
    _render.say(f"{found.name}: {found.sentence}" if found.name else found.sentence)
    for one in found.defects:
        _render.say(f"  {_line(one)}")
        if show_values and one.examples:
            _render.say(f"    {', '.join(map(repr, one.examples))}")
    if found.sheet.others:
        names = ", ".join(f"'{name}'" for name in found.sheet.others)
        _render.say(f"Further sheets with tables: {names}. Read one with --read sheet=NAME.")


def _line(defect: "Defect") -> str:
    if defect.recommended:
        return f"{defect.name}: {defect.sentence}"
    place = f"{defect.name}:{defect.column}" if defect.column else defect.name
    return f"hint: {defect.sentence[:-1]} (--apply {place})."


def _chosen(found: "Cleaning", apply: str | None, *, ask: bool) -> "CleanedTable | None":
    """The table with the repairs that were asked for; None if somebody at the terminal wants none."""
    if apply is not None and apply != _ALL:
        return found.apply(names_of(apply))
    asked = apply is None and ask and bool(found.recommended) and sys.stdin.isatty() and sys.stdout.isatty()
    if asked and not typer.confirm(f"Make {plural(len(found.recommended), 'repair')} in a copy?", default=True):
        _render.say("Nothing was written. Name the repairs that you want: --apply NAME,NAME.")
        return None
    return found.apply()


def _show_done(found: "Cleaning", made: "CleanedTable", data: Any, out: Path | None, save: Path | None) -> None:
    place = quote(str(data)) if isinstance(data, Path) else "DATA"
    if out is None and save is None:
        if found.recommended:
            _render.say(
                f"Repair it each time it is read: reissue init {place}",
                f"Or write a repaired copy: reissue clean {place} --out FILE.csv",
            )
        return
    if save is not None:
        again = f"reissue clean FILE --recipe {quote(str(save))} --out FILE.csv"
        _render.say(f"Written: {save}. The same for the next table: {again}")
    if out is not None:
        repairs = plural(len(made.done), "repair")
        _render.say(f"Written: {out}, {repairs} made, {plural(made.frame.height, 'row')}.")
        _render.say(f"Go on with it: reissue init {quote(str(out))}")
