"""The report's own sentences and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reissue.findings import FIRST, Finding, Findings, Status, Verdict, Why, tried
from reissue.utility import Utility

__all__ = ["Told", "compared", "costs", "figures", "number", "outcome", "people", "plural", "title", "verdict"]


@dataclass(frozen=True)
class Told:
    """A verdict: how it is marked, one word, one sentence."""

    mark: str
    """`bad`, `good` or `unsure`: how it looks."""
    word: str
    sentence: str


def plural(count: int, noun: str) -> str:
    """`1 release`, `12 releases`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def number(value: float | None) -> str:
    """A number as people read it."""
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.1%}" if value < 0.001 else f"{value:,.3g}"
    return f"{int(value):,}"


def people(finding: Finding) -> str:
    """How many people of how many."""
    return "–" if finding.status == Status.NOT_RUN else f"{finding.people:,} of {finding.population:,}"


def outcome(finding: Finding) -> str:
    """How an attack ended, in a word or two."""
    return {Status.EXPOSED: "exposed", Status.WITHSTOOD: "withstood", Status.NOT_RUN: "not run"}[finding.status]


def title(findings: Findings) -> str:
    """What the page is about."""
    if len(findings.releases) == 1:
        return "What this release gives away"
    return "What these releases give away together"


def verdict(findings: Findings, refused: int | None) -> Told:
    """The first sentence that anybody reads."""
    if refused is not None:
        return Told("bad", "Refused", f"Release {refused} was refused: nothing was published, nothing was recorded.")
    ran = len(findings) - len(findings.of(Status.NOT_RUN))
    held = _held(findings)
    if findings.verdict == Verdict.EXPOSED:
        worst = min(findings.of(Status.EXPOSED), key=lambda finding: (finding.attack != FIRST, -finding.people))
        if not worst.people:
            return Told("bad", "Exposed", f"{held[0].upper()}{held[1:]} {_verb(findings, 'give')} away too much.")
        return Told(
            "bad",
            "Exposed",
            f"{held[0].upper()}{held[1:]} {_verb(findings, 'expose')} {worst.people:,} of {worst.population:,} people.",
        )
    if findings.verdict == Verdict.WITHSTOOD:
        nobody = f"{held[0].upper()}{held[1:]} {_verb(findings, 'expose')} nobody."
        return Told("good", "Withstood", f"{nobody} Tried: {tried(findings)}.")
    if not ran:
        nothing = f"No attack could be run on {held.removesuffix(',')}, so nothing was shown."
        return Told("unsure", "Nothing shown", nothing)
    lacking = sum(one.why != Why.DOES_NOT_APPLY for one in findings.of(Status.NOT_RUN))
    return Told(
        "unsure",
        "Incomplete",
        f"{held[0].upper()}{held[1:]} {_verb(findings, 'expose')} nobody as far as was tried: {tried(findings)}; "
        f"{plural(lacking, 'other attack')} could not be run and {_has(lacking)} shown nothing.",
    )


def _held(findings: Findings) -> str:
    many = len(findings.releases)
    return "this release" if many == 1 else f"these {many:,} releases, put together," if many else "these releases"


def _verb(findings: Findings, verb: str) -> str:
    return f"{verb}s" if len(findings.releases) == 1 else verb


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def figures(findings: Findings) -> list[tuple[str, str]]:
    """The few numbers beside the verdict: what, how much."""
    shown = []
    exposing, not_run = findings.of(Status.EXPOSED), findings.of(Status.NOT_RUN)
    if len(findings):
        ended = [f"{len(exposing)} of {len(findings) - len(not_run)} expose people"]
        ended += [f"{len(not_run)} not run"] if not_run else []
        shown.append(("Attacks", ", ".join(ended)))
    certain = max((int(one.details.get("sure", 0)) for one in findings), default=0)
    sure = [one.worst for one in findings if one.worst is not None and (one.measure or "").startswith("posterior")]
    if certain:
        shown.append(("Of whom a value is known for sure", "1 person" if certain == 1 else f"{certain:,} people"))
    elif sure:
        shown.append(("Surest link of a person to a value", f"{max(sure):.0%}"))
    if findings.releases:
        rows = sum(one.rows for one in findings.releases)
        shown.append(("Read", f"{plural(len(findings.releases), 'release')}, {plural(rows, 'row')}"))
        smallest = min(one.smallest for one in findings.releases)
        shown.append(("Smallest group in any release", plural(smallest, "row")))
    return shown


def costs(some: Mapping[str, Sequence[Utility]]) -> list[str]:
    """What protection cost on average, a sentence for each way of publishing."""
    lines = []
    for name, utilities in some.items():
        told = f"{name}: a published value covers {_mean([one.loss for one in utilities]):.1%} of its column on average"
        errors = [one.queries.median for one in utilities if one.queries is not None]
        if errors:
            told += f"; half of the count queries are off by {_mean(errors):.1%} or less"
        lost, added = sum(one.suppressed for one in utilities), sum(one.added for one in utilities)
        told += f"; {plural(lost, 'row')} left out" if lost else "; no row left out"
        lines.append(f"{told}, {plural(added, 'counterfeit')} added." if added else f"{told}.")
    return lines


def compared(some: Mapping[str, Sequence[Utility]]) -> list[tuple[str, list[str]]]:
    """A line for each release: loss and query error of every way of publishing."""
    longest = max((len(utilities) for utilities in some.values()), default=0)
    lines = []
    for place in range(longest):
        cells = []
        for utilities in some.values():
            one = utilities[place] if place < len(utilities) else None
            error = None if one is None or one.queries is None else one.queries.median
            cells += ["–" if one is None else f"{one.loss:.1%}", "–" if error is None else f"{error:.1%}"]
        lines.append((str(place + 1), cells))
    return lines


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
