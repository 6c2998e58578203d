"""A series as its ledger has it, in words: releases, policy, whether it is proven, and how risk and loss went."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reissue.attacks.findings import Finding, Findings, Point, Status
from reissue.language import counted, localized, text
from reissue.ledger.recorded import Recorded
from reissue.ledger.trust import Trust
from reissue.outcome.view import BAD, GOOD, UNSURE, Headline, TableView, table
from reissue.policy import Policy
from reissue.publishing.turn import Publication
from reissue.release.release import Release
from reissue.words import listed, number, percent, plural

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
    return ", ".join(names) or text("everyone")


def withdrawn_words(why: str) -> str:
    """Return that a release was withdrawn, and why."""
    return f"It was withdrawn, for it was never sent to anybody: {why}"


def figures_of_record(one: Recorded) -> tuple[tuple[str, str], ...]:
    """Return the numbers of a recorded release: what, how much."""
    record = one.record
    counts = (record.suppressed, record.groups, record.counterfeits)
    return (
        (text("recorded"), record.time[:16].replace("T", " ")),
        *([(text("of the day"), one.date)] if one.date else []),
        *_counts(record.rows, *counts),
        (text("made by"), _made_by(one)),
        *([] if record.adopted else [(text("meets"), record.requirement)]),
        (text("recipients"), recipients_words(one.recipients)),
    )


def _counts(rows: int, suppressed: int | None, groups: int | None, counterfeits: int | None) -> list[tuple[str, str]]:
    """What is known of the numbers of records and groups."""
    known = {
        text("rows"): rows,
        text("suppressed records"): suppressed,
        text("groups"): groups,
        text("counterfeits"): counterfeits,
    }
    return [(what, number(count)) for what, count in known.items() if count is not None]


def figures_of_release(release: Release) -> tuple[tuple[str, str], ...]:
    """Return the numbers of a release that waits to be published."""
    return (
        *_counts(release.table.rows - release.suppressed, release.suppressed, release.groups, release.counterfeits),
        (text("made by"), release.method),
        (text("meets"), str(release.requirement)),
    )


def outcome_of(made: Publication) -> str:
    """Return the same in a sentence."""
    return (
        f"{plural(made.rows, 'row')} in {plural(made.groups, 'group')}, "
        f"{plural(made.suppressed, 'record')} suppressed, {plural(made.counterfeits, 'counterfeit')}."
    )


def _made_by(one: Recorded) -> str:
    return text("adopted") if one.record.adopted else one.record.method


def policy_words(policy: Policy) -> dict[str, str]:
    """Return a policy as what is asked, and what it says."""
    attacks = text("all that are quick")
    if policy.attacks is not None:
        attacks = ", ".join(policy.attacks) or text("joint alone")
    return {
        text("every release must meet"): str(policy.require),
        text("method"): policy.method,
        text("highest probability allowed"): percent(_USUAL_LIMIT if policy.limit is None else policy.limit),
        text("attacks it must withstand"): attacks,
        text("suppressed records at most"): localized(f"{policy.suppress:.1%}"),
        text("counterfeits at most"): text("{share} of the people", share=localized(f"{policy.counterfeits:.1%}")),
        text("the adversary knows"): ", ".join(policy.knowledge) or text("what the form of a release shows"),
    }


def trust_headline(trust: Trust, entries: int) -> Headline:
    """Return whether it is proven that nothing was changed."""
    if trust.problems:
        return Headline(BAD, text("Broken"), text("Something was changed, cut off or written by somebody else."))
    if trust.missing:
        nothing = text("Nothing that was found speaks against the ledger, but something is missing to prove it.")
        return Headline(UNSURE, text("Not provable"), nothing)
    whole = counted(
        entries,
        "Nothing was changed or cut off: {count} entry and all files.",
        "Nothing was changed or cut off: {count} entries and all files.",
    )
    return Headline(GOOD, text("Proven"), whole)


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
        text(
            "{name}: {worst} at worst, in release {number}; the limit is {limit}",
            name=name,
            worst=percent(one.worst or 0.0),
            number=release_number,
            limit=percent(one.limit or 0.0),
        )
        for name, (release_number, one) in worst.items()
    ]
    since = tuple(one for one in changes if 1 < one <= len(releases))
    sentences = [text("The highest probability of anyone's value once the releases up to this one are out.")]
    sentences.append("; ".join(said) + ".")
    if len(since) == 1:
        sentences.append(text("The policy changed before release {number}.", number=since[0]))
    elif since:
        sentences.append(text("The policy changed before releases {numbers}.", numbers=listed(since)))
    lines = tuple((name, tuple((place, one.worst or 0.0) for place, one in points)) for name, points in found.items())
    return SeriesRisk(lines, min(limits, default=None), since, len(releases), " ".join(sentences))


def _is_share(finding: Finding) -> bool:
    """Whether its measure is a probability that must stay below a limit."""
    numbers = (finding.worst, finding.limit)
    return not finding.at_least and all(number is not None and 0 <= number <= 1 for number in numbers)


def loss_of(releases: Sequence[Recorded]) -> SeriesLoss | None:
    """Return what each release lost; None where nobody measured it."""
    points = [(one.number, one.record.loss) for one in releases if one.withdrawn is None]
    known = tuple((place, loss) for place, loss in points if loss is not None)
    if not known or len(releases) < 2:
        return None
    worst, most = max(known, key=lambda point: point[1])
    said = text(
        "What each release lost of what its table said: {mean} on average, {most} at most, in release {number}.",
        mean=localized(f"{sum(loss for _, loss in known) / len(known):.1%}"),
        most=localized(f"{most:.1%}"),
        number=worst,
    )
    return SeriesLoss(known, len(releases), said)


def findings_until(releases: Sequence[Recorded], number: int) -> Findings:
    """Return what attacks found in a release, with how the risk grew up to it."""
    grown: dict[str, list[Point]] = {}
    for earlier in releases[:number]:
        for one in earlier.findings:
            if one.status != Status.NOT_RUN and earlier.withdrawn is None:
                grown.setdefault(one.attack, []).append(Point(earlier.number, one.people, one.population, one.worst))
    exposing: Any = {name: tuple(points) for name, points in grown.items() if any(point.people for point in points)}
    return replace(releases[number - 1].findings, timeline=exposing)
