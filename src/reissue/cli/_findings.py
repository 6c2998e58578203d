"""How findings look in a terminal: a table where it fits, what was found in words, and what was not run and why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reissue.cli import _render
from reissue.language import text
from reissue.words import number

if TYPE_CHECKING:
    from reissue.attacks.findings import Finding, Findings
    from reissue.outcome.findings import FindingsView, FindingView

__all__ = ["show_findings", "show_lines", "show_not_run", "show_ran"]

_MOST = 24
"""Releases that are shown one by one."""
_NARROW = 60
"""A narrower terminal shows no table: the sentences say the same."""


def show_findings(findings: "Findings") -> None:
    """Show the tables, the sentences and the verdict; the worst first."""
    from rich.console import Console

    from reissue.outcome.findings import INPUTS, view_of

    view = view_of(findings)
    if Console().width >= _NARROW:
        _show_releases(view)
        if view.ran:
            _render.show_table(view.summary)
    show_ran(view)
    show_not_run(view)
    _render.say(*filter(None, [view.waiting]))
    top = view.headline
    options = f" (`{'` or `'.join(INPUTS[need].option for need in top.needs)}`)" if top.needs else ""
    said = [f"{top.word}: {top.sentence}", *([f"{top.next.rstrip('.')}{options}."] if top.next else [])]
    _render.say("", *said, style=f"bold {_render.STYLES[top.mark]}")


def _show_releases(view: "FindingsView") -> None:
    if view.releases.rows:
        _render.show_table(view.releases, most=_MOST)
    if len(view.releases.rows) > _MOST:
        more = number(len(view.releases.rows) - _MOST)
        _render.say(text("(and {count} releases more: --json has them all)", count=more))


def show_ran(view: "FindingsView") -> None:
    """Show what the attacks that ran have found."""
    for one in view.ran:
        _render.say(f"{one.attack} {_outcome(one)}: {one.sentence}", style=_render.STYLES[one.mark])
        _render.say(*(f"    {note}" for note in one.notes))


def show_not_run(view: "FindingsView", *, needs: bool = True) -> None:
    """Show why attacks were not run: a line for those that need more, one for those that do not apply."""
    from reissue.outcome.findings import INPUTS

    lacking = [one for one in view.lacking if one.needs and view.ran and needs]
    if lacking:
        options = {name: its.option for name, its in INPUTS.items()}
        said = [f"{one.attack} ({' or '.join(options.get(need, need) for need in one.needs)})" for one in lacking]
        more = "Not run, because more is needed: {attacks}. What was not run has shown nothing."
        _render.say(text(more, attacks=", ".join(said)))
    for one in (*view.lacking, *(() if view.ran else view.apart)):
        if one not in lacking:
            more = f" {text('It needs {inputs}.', inputs=one.needed)}" if one.needed and needs else ""
            _render.say(
                f"{one.attack}: {text('Not run: {reason}', reason=one.sentence)}{more}", style=_render.STYLES[one.mark]
            )
    if view.apart and view.ran:
        names = ", ".join(one.attack for one in view.apart)
        _render.say(f"{text('Not about releases like these:')} {names}. ({text('--json and the report say why.')})")


def show_lines(findings: "Sequence[Finding] | Findings") -> None:
    """Show a line for each finding of a release that was published: attack, outcome, and what it says."""
    from reissue.outcome.findings import line_of
    from reissue.outcome.view import table

    lines = [line_of(one) for one in findings]
    headings = [text(one) for one in ("attack", "outcome", "in words")]
    if lines:
        _render.show_table(table(headings, [(f.attack, f.outcome, f.sentence) for f in lines]))


def _outcome(line: "FindingView") -> str:
    return line.outcome.upper() if line.mark == "bad" else line.outcome
