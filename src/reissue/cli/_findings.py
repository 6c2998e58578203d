"""How findings look in a terminal: a table where it fits, what was found in words, and what was not run and why."""

import math
from typing import TYPE_CHECKING

from reissue.cli import _render
from reissue.words import percent

if TYPE_CHECKING:
    from reissue.attacks.findings import Finding, Findings

__all__ = ["INPUTS", "show_findings", "show_not_run", "show_ran"]

_STYLES = {"bad": "red", "good": "green", "unsure": "yellow"}
_ASIDE = "The verdict is joint's, which solves for everyone at once; `--limit {name}={limit:g}` would make this count."
_WORDS = {"exposed": "EXPOSED", "withstood": "withstood", "not_run": "not run"}
_SHARES = ("posterior", "credibility", "accuracy")
"""Measures that are shares or probabilities, by their first word."""
_MOST = 24
"""Releases that are shown one by one."""
INPUTS = {
    "people": "--people FILE",
    "members": "--members FOLDER",
    "requirement": "--knows requirement=...",
    "algorithm": "--knows algorithm=METHOD",
    "providers": "--providers COLUMN",
    "identifier": "--identifier COLUMN",
    "updates": "[updates] in a schema",
    "values": "--knows values=...",
    "taxonomy": "[taxonomy] in a schema, for a column cannot be read; --json says which",
}
"""What an attack needs, as it is given."""
_NARROW = 60
"""A narrower terminal shows no table: the sentences say the same."""


def show_findings(findings: "Findings") -> None:
    """The table, the sentences, the verdict; the worst first."""
    from rich.console import Console

    from reissue.attacks import registered
    from reissue.attacks.cases import listed
    from reissue.attacks.findings import HINT, gravity, verdict

    _show_releases(findings)
    ran = [one for one in findings if one.reason is None]
    if ran and Console().width >= _NARROW:
        rows = [[one.attack, _outcome(one), _people(one), *_numbers(one)] for one in sorted(ran, key=gravity)]
        _render.show_table(["attack", "outcome", "people exposed", "worst", "must be"], rows)
    show_ran(findings)
    show_not_run(findings)
    known = registered()
    fewest = {one.attack: known[one.attack].fewest for one in findings if one.attack in known}
    waiting = [one.attack for one in findings if one.reason is not None and fewest.get(one.attack, 1) > 1]
    if len(findings.releases) == 1 and waiting:
        _render.say(f"There is one release only: {listed(waiting)} could only be run on two or more.")
    text = verdict(findings, None)
    said = text.sentence.replace(HINT, f"{HINT} Give it with `--people` or `--members`.")
    _render.say("", f"{text.word}: {said}", style=f"bold {_STYLES[text.mark]}")


def _show_releases(findings: "Findings") -> None:
    """What a reader counts in each release."""
    from rich.console import Console

    if Console().width < _NARROW or not findings.releases:
        return
    rows = [
        [
            one.name,
            *(f"{number:,}" for number in (one.rows, one.groups, one.smallest, one.unique)),
            _shown(one.share, share=True),
        ]
        for one in findings.releases[:_MOST]
    ]
    _render.show_table(["release", "rows", "groups", "smallest", "unique rows", "largest share of a value"], rows)
    if len(findings.releases) > _MOST:
        _render.say(f"(and {len(findings.releases) - _MOST:,} releases more: --json has them all)")


def show_ran(findings: "Findings") -> None:
    """What the attacks that ran have found."""
    from reissue.attacks.findings import gravity

    for one in sorted(findings, key=gravity):
        if one.reason is None:
            _render.say(f"{one.attack} {_outcome(one)}: {one.sentence}", style=_STYLES[one.mark])
            if one.details.get("place"):
                _render.say(f"    {one.details['place']}")
            if one.measure and one.worst is not None and one.limit is not None:
                worst, limit = _numbers(one)
                _render.say(f"    {_plain(one.measure)}: {worst} at worst; it must be {limit}.")
            if not one.decides:
                _render.say(f"    {_ASIDE.format(name=one.attack, limit=one.limit)}")


def show_not_run(findings: "Findings", *, needs: bool = True) -> None:
    """A line for each attack that could be run: why it was not, what it needs; one for all that do not apply."""
    from reissue.attacks import registered

    known = registered()
    some = any(one.reason is None for one in findings)
    apart = [one.attack for one in findings if one.why == "does_not_apply" and some]
    lacking = [one for one in findings if one.why == "needs_input" and some and needs]
    if lacking:
        said = [f"{one.attack} ({' or '.join(INPUTS.get(need, need) for need in one.needs)})" for one in lacking]
        _render.say(f"Not run, for each needs more than was given: {', '.join(said)}. They have shown nothing.")
    for one in findings:
        if one.reason is not None and one.attack not in apart and one not in lacking:
            wanted = known[one.attack].needs if needs and one.attack in known else ""
            more = f" It needs {wanted}." if wanted else ""
            _render.say(f"{one.attack}: {one.sentence}{more}", style=_STYLES["unsure"])
    if apart:
        _render.say(f"Not about releases like these: {', '.join(apart)}. (--json and the report say why.)")


def _outcome(finding: "Finding") -> str:
    from reissue.attacks.findings import outcome

    return _WORDS[finding.status] if finding.decides else outcome(finding)


def _people(finding: "Finding") -> str:
    return "-" if finding.status == "not_run" else f"{finding.people:,} of {finding.population:,}"


def _plain(measure: str) -> str:
    """A measure without its technical name: `posterior: how surely ...`."""
    words = measure.partition(": ")[2] or measure
    return words[0].upper() + words[1:]


def _numbers(finding: "Finding") -> tuple[str, str]:
    share = (finding.measure or "").startswith(_SHARES)
    side = "at least" if finding.at_least else "at most"
    return _shown(finding.worst, share=share), f"{side} {_shown(finding.limit, share=share)}"


def _shown(number: float | None, *, share: bool) -> str:
    if number is None or not math.isfinite(number):
        return "-"
    if share:
        return percent(number)
    return f"{number:,.4g}" if isinstance(number, float) else f"{number:,}"
