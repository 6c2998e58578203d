"""How outcomes look: results on standard output, everything else on standard error.

With `--json` standard output holds exactly one JSON object, for errors too.
"""

import json
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from reissue.words import visible

if TYPE_CHECKING:
    from rich.text import Text

    from reissue.outcome.view import TableView
    from reissue.verify.check import Check

__all__ = [
    "STYLES",
    "say",
    "show_bug",
    "show_check",
    "show_error",
    "show_json",
    "show_rows",
    "show_table",
    "show_usage_error",
    "show_values",
    "warn",
    "watching",
]

STYLES = {"bad": "red", "good": "green", "unsure": "yellow"}
"""Mark to colour."""


def say(*lines: str, error: bool = False, style: str = "") -> None:
    """Plain lines of text; a terminal folds them at words, a file gets them whole."""
    from rich.console import Console

    console = Console(stderr=error, highlight=False)
    for line in lines:
        console.print(_text(line, style, marked=console.is_terminal), soft_wrap=not console.is_terminal)


def _text(line: str, style: str = "", *, marked: bool) -> "Text":
    """A line whose code is bold on a terminal, and between backticks in a file."""
    from rich.text import Text

    parts = visible(line).split("`")
    if not marked or len(parts) % 2 == 0:
        return Text(visible(line), style=style)
    return Text.assemble(*((part, "bold") if place % 2 else part for place, part in enumerate(parts)), style=style)


def warn(*lines: str) -> None:
    """What somebody should know before going on."""
    say(*(f"Warning: {line}" for line in lines), style="yellow")


def show_table(table: "TableView", title: str = "", most: int | None = None) -> None:
    """Show a table, or its first rows; wide enough for its content where nobody watches."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    shown = Table(title=title or None, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for heading, numeric in zip(table.headings, table.numeric, strict=True):
        shown.add_column(heading, justify="right" if numeric else "left")
    for row in table.rows[:most]:
        shown.add_row(*(_text(cell, marked=console.is_terminal) for cell in row))
    console.print(shown)


def show_rows(headings: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Show rows under their headings."""
    from reissue.outcome.view import table

    show_table(table(headings, rows), title)


def show_check(outcome: "Check", *, everything: bool = False) -> None:
    """Show what was asked for and the risk; every measure in words, if nothing was asked or all is."""
    from reissue.outcome.check import view_of

    view = view_of(outcome)
    say(view.first)
    for one in view.requirements:
        say(f"{one.outcome:<7}  {one.sentence}", style=STYLES[one.mark])
    if everything or not view.requirements:
        show_table(view.measures)
    say(*view.by_column)
    if view.risk:
        say("Risk that a record is linked to its person:", *(f"  {sentence}" for sentence in view.risk))
    if view.requirements and not everything:
        say(f"Also measured: {view.also} (--all says it in words).")


def show_json(answer: Mapping[str, Any]) -> None:
    """The one JSON object of a command."""
    typer.echo(json.dumps(_plain(answer), indent=2))


def _plain(value: Any) -> Any:
    """What JSON knows: numbers that are no numbers become null, NumPy's numbers become Python's."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def show_error(problem: Exception, *, as_json: bool) -> None:
    """What was wrong, as the library says it, but with options instead of arguments."""
    _show_problem(type(problem).__name__, as_options(str(problem)), as_json=as_json)


def as_options(text: str) -> str:
    """Advice for Python as advice for a command line: force=True is --force."""
    text = text.replace("publish(data, ledger, schema)", "`reissue publish --schema FILE.toml`")
    text = re.sub(r"dialect=Dialect\((\w+)='([^']*)'\)", r"--read \1=\2", text)
    return re.sub(r"\b(force|newcomers|unchanged|lookalikes)=True\b", r"--\1", text)


def show_usage_error(problem: typer.TyperException, *, as_json: bool) -> None:
    """A command line that cannot be read."""
    context = getattr(problem, "ctx", None)
    command = context.command_path if context is not None else "reissue"
    words = problem.format_message().rstrip(".")
    words += "" if words.endswith("?") else "."
    _show_problem("UsageError", f"{words} See `{command} --help`.", as_json=as_json)


def show_bug(problem: BaseException, message: str, *, as_json: bool) -> None:
    """Our own mistake: where it happened, but not what the library said, for that may quote the data."""
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if "reissue" in frame.filename]
    places = [f"{frame.filename.rpartition('reissue')[2].lstrip('/')}:{frame.lineno}" for frame in ours[-4:]]
    where = f"{type(problem).__name__} at {' > '.join(places)}"
    text = f"This is a bug in Reissue, not a mistake of yours. {message}".rstrip()
    _show_problem("InternalError", f"{text} Please report it with this line: {where}", as_json=as_json)


def _show_problem(kind: str, message: str, *, as_json: bool) -> None:
    if as_json:
        show_json({"error": {"type": kind, "message": message}})
    else:
        say(f"Error: {message}", error=True, style="red" if sys.stderr.isatty() else "")


def show_values(values: Mapping[str, Sequence[str | None]]) -> None:
    """Values that a taxonomy lacks, for the holder's own eyes: on screen only, never in JSON or a file."""
    most = 50
    for column, lacking in values.items():
        say(f"Values of '{column}' that its taxonomy lacks:", error=True)
        say(*(f"  {value!r}" for value in lacking[:most]), error=True)
        if len(lacking) > most:
            say(f"  and {len(lacking) - most:,} more", error=True)


@contextmanager
def watching(title: str, steps: Sequence[str] = ()) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error while work goes on, if it is a terminal; gives the function to report to.

    `steps` are the names of equal shares of the work: the bar shows the one that is under way.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(_step(title, steps, 0.0), total=1.0)
        yield lambda share: bar.update(task, completed=share, description=_step(title, steps, share))


def _step(title: str, steps: Sequence[str], share: float) -> str:
    # A share is a quotient: two sevenths times seven may be a little less than two.
    return f"{title}: {steps[min(int(share * len(steps) + 1e-6), len(steps) - 1)]}" if steps else title
