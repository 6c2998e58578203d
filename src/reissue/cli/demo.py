"""`reissue demo`: a synthetic hospital table, end to end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli import _render
from reissue.cli._app import app
from reissue.cli._options import ForceOption, JsonOption

if TYPE_CHECKING:
    import polars as pl

REQUIREMENT = "k=5 & l=3"
PEOPLE = 10_000


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the files go.")] = Path("demo-out"),
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Anonymize a synthetic hospital table, check it, and show what was lost."""
    from reissue.anonymize import anonymize
    from reissue.check import check
    from reissue.files import refuse_existing, write_file, write_text
    from reissue.synth import Population, schema
    from reissue.utility import compare

    data, plan, target = out / "patients.csv", out / "schema.toml", out / "release.csv"
    out.mkdir(parents=True, exist_ok=True)
    for path in (data, plan, target):
        refuse_existing(path, force=force, table=False)
    patients = next(Population(seed=1, people=PEOPLE).months(1))
    write_file(patients, data, force=force)
    write_text(schema().dumps(), plan, force=force)
    release = anonymize(data, schema(), REQUIREMENT, seed=1)
    release.write(str(target), force=force)
    before, after = check(data, schema(), REQUIREMENT), check(target, schema(), REQUIREMENT)
    utility = compare(data, target, schema())
    if as_json:
        files = [data, plan, target]
        _render.show_json(
            {"files": files, "before": before.as_dict(), "check": after.as_dict(), "utility": utility.as_dict()}
        )
        return
    _render.say(f"1. A hospital's register of {PEOPLE:,} patients, all of them invented: {data}", style="bold")
    _show_rows(patients)
    _render.say(before.measures[0].sentence, "")
    _render.say(f"2. Released so that it meets {REQUIREMENT}: {target}", style="bold")
    _show_rows(release.frame)
    _render.say("3. What a recipient finds in the published columns", style="bold")
    _render.show_check(after)
    _render.say("4. What was lost", style="bold")
    _render.say(*utility.sentences)
    _render.say(
        "",
        "One release meets what was asked for; that says nothing about the next one (docs/concepts/promise.md).",
    )


def _show_rows(frame: "pl.DataFrame") -> None:
    _render.show_table(frame.columns, [[str(cell) for cell in row] for row in frame.head(4).iter_rows()])
