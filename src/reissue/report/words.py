"""The report's own sentences and numbers."""

from collections.abc import Mapping, Sequence

from reissue.attacks.findings import FIRST, Findings, Status
from reissue.errors import Why
from reissue.utility import Utility
from reissue.words import percent, plural

__all__ = ["compared", "costs", "figures", "price", "title"]


def title(findings: Findings) -> str:
    """What the page is about."""
    if len(findings.releases) == 1:
        return "What this release gives away"
    return "What these releases give away together"


def figures(findings: Findings) -> list[tuple[str, str]]:
    """The few numbers beside the verdict: what, how much."""
    shown = []
    exposing, not_run = findings.exposing, findings.of(Status.NOT_RUN)
    if len(findings):
        ended = [f"{len(exposing)} of {len(findings) - len(not_run)} expose people"]
        lacking = sum(one.why != Why.DOES_NOT_APPLY for one in not_run)
        ended += [f"{lacking} could not be run"] if lacking else []
        shown.append(("Attacks", ", ".join(ended)))
    certain = max((int(one.details.get("sure", 0)) for one in findings), default=0)
    sure = _surest(findings)
    if certain:
        shown.append(("Of whom a value is known for sure", "1 person" if certain == 1 else f"{certain:,} people"))
    elif sure is not None:
        shown.append(("Surest link of a person to a value", percent(sure)))
    if findings.releases:
        rows = sum(one.rows for one in findings.releases)
        shown.append(("Read", f"{plural(len(findings.releases), 'release')}, {plural(rows, 'row')}"))
        smallest = min(one.smallest for one in findings.releases)
        shown.append(("Smallest group in any release", plural(smallest, "row")))
    return shown


def _surest(findings: Findings) -> float | None:
    """How surely anybody is linked to a value: by the attack that is the verdict, or else by any that says so."""
    said = [one for one in findings if one.worst is not None and (one.measure or "").startswith("posterior")]
    said = [one for one in said if one.attack == FIRST] or said
    return max((one.worst or 0.0 for one in said), default=None)


def costs(some: Mapping[str, Sequence[Utility]]) -> list[str]:
    """What protection cost on average, a sentence for each way of publishing."""
    lines = []
    for name, utilities in some.items():
        said = f"{name}: of what the tables said {_mean([one.loss for one in utilities]):.1%} is lost"
        errors = [one.queries.median for one in utilities if one.queries is not None]
        if errors:
            said += f"; half of the count queries are off by {_mean(errors):.1%} or less"
        margins = [max(one.margins.values()) for one in utilities if one.margins]
        if margins:
            said += f"; shares of people by one column are off by {_mean(margins):.1%} at most"
        lost, added = sum(one.suppressed for one in utilities), sum(one.added for one in utilities)
        said += f"; {plural(lost, 'row')} left out" if lost else "; no row left out"
        lines.append(f"{said}, {plural(added, 'counterfeit')} added." if added else f"{said}.")
    return lines


def price(some: Mapping[str, Sequence[Utility]]) -> str:
    """What the second way of publishing costs beside the first, in a sentence; nothing where there is one way only."""
    if len(some) < 2:
        return ""
    (first, before), (second, after) = [(name, _mean([one.loss for one in some[name]])) for name in list(some)[:2]]
    if not before or abs(after - before) < 0.005:
        return f"{second} costs as much as {first}." if before else ""
    ratio = max(after, before) / min(after, before) if after else 0.0
    more = "more" if after > before else "less"
    times = f", {ratio:.1f} times {'as much' if after > before else 'less'}" if ratio >= 1.05 else ""
    lost = f"{after:.1%} of what the tables said is lost instead of {before:.1%}"
    return f"{second} costs {more} than {first}: {lost}{times}."


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
