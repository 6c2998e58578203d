"""How a table larger than memory goes into a ledger from a command line, and what is shown of it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from reissue.cli import _render
from reissue.cli._findings import show_lines
from reissue.data.outputs import Input, Output, Outputs
from reissue.errors import InputError, NotWrittenError
from reissue.files.places import refuse_existing
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.ledger import Ledger
    from reissue.publishing.turn import Publication

__all__ = ["UNDATED", "plan_folder", "publish_larger"]

UNDATED = (
    "The table has no date, so one of a wrong month is noticed only if it was published before. Say which day it "
    "shows: --date YYYY-MM-DD."
)


def plan_folder(out: Any, inputs: tuple[Input, ...], others: Mapping[str, object], *, dry_run: bool) -> None:
    """Refuse, before anything is made, what could not be written at the end; `others` must be left out."""
    named = [name for name, value in others.items() if value]
    if named:
        raise InputError(f"{', '.join(named)}: only with --engine memory.")
    if not dry_run and not isinstance(out, Path):
        raise InputError("A release larger than memory goes to a folder: name it with --out.")
    if isinstance(out, Path):
        Outputs((Output("--out", out, table=bool(out.suffix), repeats=True),), inputs)


def publish_larger(
    data: Any, book: "Ledger", asked: Mapping[str, Any], out: Any, ledger: str, *, as_json: bool
) -> None:
    """Publish it as `asked`, write it to a folder unless it is a dry run, and show what was done."""
    from reissue.publishing.publish_folder import publish_folder

    def refuse() -> None:
        if isinstance(out, Path):
            refuse_existing(out, force=False, table=False)

    if isinstance(out, Path) and not (book.releases and book.is_exported(len(book.releases), out)):
        refuse()
    with _render.watching("Publishing") as progress:
        made = publish_folder(data, book, before_record=refuse, progress=progress, **asked)
    made = made if asked["date"] or made.again else replace(made, warnings=(*made.warnings, UNDATED))
    paths = _written(made, book, out, ledger) if made.recorded and not asked["dry_run"] else []
    head = book.entries()[-1].hash
    if as_json:
        _render.show_json(_as_dict(made, paths, head))
        return
    show_lines(made.findings)
    _render.say(f"Release {made.number}: {plural(made.rows, 'row')} in {plural(made.groups, 'group')}, kept in parts.")
    _render.warn(*made.warnings)
    if made.again:
        _render.say("This table had been published before: it is the same release, not another one.")
    _render.say(
        *(
            [f"Written: {', '.join(paths)}, a folder of Parquet with a manifest.", f"Recorded as {head}"]
            if paths
            else []
        ),
        *([] if paths else ["A dry run: nothing was recorded, no release was written."]),
    )


def _written(made: "Publication", book: "Ledger", out: Any, ledger: str) -> list[str]:
    """Write the release, which is recorded already."""
    try:
        return book.export(made.number, out)
    except InputError as problem:
        place = "LEDGER" if "://" in ledger else quote(ledger)  # a URL may hold a password
        raise NotWrittenError(
            f"Release {made.number} is recorded, but its files are not where they should be: {problem} This gives "
            f"them: reissue ledger export {place} {made.number} --out {quote(str(out))}"
        ) from None


def _as_dict(made: "Publication", paths: list[str], head: str) -> dict[str, Any]:
    return {
        "release": made.number,
        "recorded": made.recorded,
        "again": made.again,
        "method": made.method,
        "requirement": made.requirement,
        "rows": made.rows,
        "groups": made.groups,
        **made.findings.as_dict(),
        "warnings": list(made.warnings),
        "files": paths,
        "head": head,
    }
