"""A series as its ledger has it, in words: releases, policy, whether it is proven, and how risk and loss went."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reissue.attacks.findings import Finding, Findings, Point, Status
from reissue.ledger.recorded import Recorded
from reissue.ledger.trust import Trust
from reissue.outcome.view import BAD, GOOD, UNSURE, Headline, TableView, table
from reissue.policy import Policy
from reissue.publishing.turn import Publication
from reissue.release.release import Release
from reissue.words import listed, percent, plural

__all__ = [
    "SeriesLoss",
    "SeriesRisk",
    "figures_of_record",
    "figures_of_release",
    "findings_until",
    "loss_of",
    "mark_of",
    "outcome_of",
    "policy_words",
    "recipients_words",
    "releases_table",
    "risk_of",
    "trust_headline",
    "withdrawn_words",
]

_USUAL_LIMIT = 0.75
_MARKS = {"withstood": GOOD, "exposed": BAD}


# --- releases --------------------------------------------------------------------------------------------------------


def releases_table(releases: Sequence[Recorded]) -> TableView:
    """Return a line for each release."""
    rows = [
        (
            f"{one.number}",
            one.record.time,
            one.date or "–",
            f"{one.record.rows:,}",
            "–" if one.record.loss is None else f"{one.record.loss:.1%}",
            _made_by(one),
            recipients_words(one.recipients),
            one.outcome,
        )
        for one in releases
    ]
    return table(("release#", "recorded", "date", "rows#", "lost#", "method", "recipients", "attacks"), rows)


def mark_of(one: Recorded) -> str:
    """Return how a release looks: by what its attacks said together."""
    return UNSURE if one.withdrawn is not None else _MARKS.get(one.record.verdict or "", UNSURE)


def recipients_words(names: Sequence[str]) -> str:
    """Return who gets a release; nobody in particular means that it is public."""
    return ", ".join(names) or "everyone"


def withdrawn_words(why: str) -> str:
    """Return that a release was withdrawn, and why."""
    return f"It was withdrawn, for it was never sent to anybody: {why}"


def figures_of_record(one: Recorded) -> tuple[tuple[str, str], ...]:
    """Return the numbers of a recorded release: what, how much."""
    record = one.record
    counts = {"groups": record.groups, "suppressed records": record.suppressed, "counterfeits": record.counterfeits}
    return (
        ("recorded", record.time[:16].replace("T", " ")),
        *([("of the day", one.date)] if one.date else []),
        ("rows", f"{record.rows:,}"),
        *((what, f"{count:,}") for what, count in counts.items() if count is not None),
        ("made by", _made_by(one)),
        *([] if record.adopted else [("to meet", record.requirement)]),
        ("recipients", recipients_words(one.recipients)),
    )


def figures_of_release(release: Release) -> tuple[tuple[str, str], ...]:
    """Return the numbers of a release that waits to be published."""
    return (
        ("rows", f"{release.table.rows - release.suppressed:,}"),
        ("suppressed records", f"{release.suppressed:,}"),
        ("groups", f"{release.groups:,}"),
        ("counterfeits", f"{release.counterfeits:,}"),
        ("made by", release.method),
        ("meets", str(release.requirement)),
    )


def outcome_of(made: Publication) -> str:
    """Return the same in a sentence."""
    return (
        f"{plural(made.rows, 'row')} in {plural(made.groups, 'group')}, "
        f"{plural(made.suppressed, 'record')} suppressed, {plural(made.counterfeits, 'counterfeit')}."
    )


def _made_by(one: Recorded) -> str:
    return "adopted" if one.record.adopted else one.record.method


def policy_words(policy: Policy) -> dict[str, str]:
    """Return a policy as what is asked, and what it says."""
    attacks = "all that are quick" if policy.attacks is None else ", ".join(policy.attacks) or "joint alone"
    return {
        "every release must meet": str(policy.require),
        "method": policy.method,
        "highest probability allowed": percent(_USUAL_LIMIT if policy.limit is None else policy.limit),
        "attacks it must withstand": attacks,
        "suppressed records at most": f"{policy.suppress:.1%}",
        "counterfeits at most": f"{policy.counterfeits:.1%} of the people",
        "the adversary knows": ", ".join(policy.knowledge) or "what the form of a release shows",
    }


def trust_headline(trust: Trust, entries: int) -> Headline:
    """Return whether it is proven that nothing was changed."""
    if trust.problems:
        return Headline(BAD, "Broken", "Something was changed, cut off or written by somebody else.")
    if trust.missing:
        nothing = "Nothing that was found speaks against the ledger, but something is missing to prove it."
        return Headline(UNSURE, "Not provable", nothing)
    return Headline(
        GOOD, "Proven", f"Nothing was changed or cut off: {plural(entries, 'entry', 'entries')} and all files."
    )


# --- how risk and loss went ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeriesRisk:
    """The highest probability that each attack found, release by release."""

    lines: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]
    """Attack to its releases and probabilities."""
    limit: float | None
    changes: tuple[int, ...]
    """The releases since which there was another policy."""
    total: int
    sentence: str


@dataclass(frozen=True)
class SeriesLoss:
    """What each release lost of what its table said."""

    points: tuple[tuple[int, float], ...]
    total: int
    sentence: str


def risk_of(releases: Sequence[Recorded], changes: Sequence[int] = ()) -> SeriesRisk | None:
    """Return the probabilities of a series; None if there is nothing to compare yet."""
    found: dict[str, list[tuple[int, Finding]]] = {}
    for release in (one for one in releases if one.withdrawn is None):
        for one in release.findings:
            if one.status != Status.NOT_RUN and _is_share(one):
                found.setdefault(one.attack, []).append((release.number, one))
    if not found or len(releases) < 2:
        return None
    limits = [one.limit for points in found.values() for _, one in points if one.limit is not None]
    worst = {name: max(points, key=lambda point: point[1].worst or 0.0) for name, points in found.items()}
    said = [
        f"{name}: {percent(one.worst or 0.0)} at worst, in release {number}; the limit is {percent(one.limit or 0.0)}"
        for name, (number, one) in worst.items()
    ]
    since = tuple(one for one in changes if 1 < one <= len(releases))
    sentences = ["The highest probability of anyone's value once the releases up to this one are out."]
    sentences.append("; ".join(said) + ".")
    sentences += [f"The policy changed before release{'s' * (len(since) > 1)} {listed(since)}."] if since else []
    lines = tuple((name, tuple((number, one.worst or 0.0) for number, one in points)) for name, points in found.items())
    return SeriesRisk(lines, min(limits, default=None), since, len(releases), " ".join(sentences))


def _is_share(finding: Finding) -> bool:
    """Whether its measure is a probability that must stay below a limit."""
    numbers = (finding.worst, finding.limit)
    return not finding.at_least and all(number is not None and 0 <= number <= 1 for number in numbers)


def loss_of(releases: Sequence[Recorded]) -> SeriesLoss | None:
    """Return what each release lost; None where nobody measured it."""
    points = [(one.number, one.record.loss) for one in releases if one.withdrawn is None]
    known = tuple((number, loss) for number, loss in points if loss is not None)
    if not known or len(releases) < 2:
        return None
    number, most = max(known, key=lambda point: point[1])
    mean = sum(loss for _, loss in known) / len(known)
    said = f"{mean:.1%} on average, {most:.1%} at most, in release {number}"
    return SeriesLoss(known, len(releases), f"What each release lost of what its table said: {said}.")


def findings_until(releases: Sequence[Recorded], number: int) -> Findings:
    """Return what attacks found in a release, with how the risk grew up to it."""
    grown: dict[str, list[Point]] = {}
    for earlier in releases[:number]:
        for one in earlier.findings:
            if one.status != Status.NOT_RUN and earlier.withdrawn is None:
                grown.setdefault(one.attack, []).append(Point(earlier.number, one.people, one.population, one.worst))
    exposing: Any = {name: tuple(points) for name, points in grown.items() if any(point.people for point in points)}
    return replace(releases[number - 1].findings, timeline=exposing)
