"""A ledger's series as pictures: how surely anybody could be linked, release by release, and each release's report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reissue.attacks.findings import Finding, Point, Status
from reissue.ledger.recorded import Recorded
from reissue.report.charts import HEIGHT, MARKS, WIDTH, Axis, fit
from reissue.report.page import report_html

__all__ = ["loss_chart", "release_html", "series_chart"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 12, 14, 44
_LOSS = 104
"""Height of the strip below that shows what each release lost."""


def loss_chart(releases: Sequence[Recorded]) -> dict[str, Any] | None:
    """A column for each release: what it lost, on the same line of time; None where nobody measured it."""
    known = [one for one in releases if one.record.loss is not None and one.withdrawn is None]
    if not known or len(releases) < 2:
        return None
    across = _across(releases)
    up = fit(0.0, max(one.record.loss or 0.0 for one in known), _LOSS - _BOTTOM, _TOP)
    wide = min(22.0, (WIDTH - _RIGHT - _LEFT) / len(releases) * 0.6)
    lost = [one.record.loss or 0.0 for one in known]
    worst = max(known, key=lambda one: one.record.loss or 0.0)
    return {
        "width": WIDTH,
        "height": _LOSS,
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": _LOSS - _BOTTOM,
        "x_ticks": [(across(number), str(number)) for number in _ticks(len(releases))],
        "y_ticks": [(y, f"{float(text):.0%}") for y, text in up.ticks(2)],
        "columns": [
            {
                "x": round(across(one.number) - wide / 2, 1),
                "y": up(one.record.loss or 0.0),
                "width": round(wide, 1),
                "height": round(_LOSS - _BOTTOM - up(one.record.loss or 0.0), 1),
                "title": f"Release {one.number}: {one.record.loss:.1%} lost",
            }
            for one in known
        ],
        "sentence": f"What each release lost of what its table said: {sum(lost) / len(lost):.1%} on average, "
        f"{worst.record.loss:.1%} at most, in release {worst.number}.",
    }


def series_chart(releases: Sequence[Recorded], changes: Sequence[int] = ()) -> dict[str, Any] | None:
    """The surest link of each attack that measures one, by release, against its limit; None if there is nothing yet.

    `changes` are the releases since which there was another policy.
    """
    lines = _lines([one for one in releases if one.withdrawn is None])
    if not lines or len(releases) < 2:
        return None
    across, up = _across(releases), Axis(0.0, 1.0, HEIGHT - _BOTTOM, _TOP)
    limits = [one.limit for points in lines.values() for _, one in points if one.limit is not None]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": HEIGHT - _BOTTOM,
        "x_ticks": [(across(number), str(number)) for number in _ticks(len(releases))],
        "y_ticks": up.ticks(4),
        "limit": up(min(limits)) if limits else None,
        "changes": [(round(across(since - 0.5), 1), since) for since in changes if 1 < since <= len(releases)],
        "lines": [
            {
                "attack": name,
                "place": place % len(MARKS),
                "mark": MARKS[place % len(MARKS)],
                "points": [(across(number), up(one.worst or 0.0)) for number, one in points],
            }
            for place, (name, points) in enumerate(lines.items())
        ],
        "sentence": _sentence(lines),
    }


def _lines(releases: Sequence[Recorded]) -> Mapping[str, list[tuple[int, Finding]]]:
    found: dict[str, list[tuple[int, Finding]]] = {}
    for release in releases:
        for one in release.findings:
            if one.status != Status.NOT_RUN and _is_share(one):
                found.setdefault(one.attack, []).append((release.number, one))
    return found


def _is_share(finding: Finding) -> bool:
    """Whether its measure is a probability that must stay below a limit."""
    numbers = (finding.worst, finding.limit)
    return not finding.at_least and all(number is not None and 0 <= number <= 1 for number in numbers)


def _across(releases: Sequence[Recorded]) -> Axis:
    """The line of time, the same for both charts, with room for half a column at its ends."""
    return Axis(0.5, len(releases) + 0.5, _LEFT, WIDTH - _RIGHT)


def _ticks(many: int) -> list[int]:
    step = max(1, -(-many // 12))
    return list(range(1, many + 1, step))


def _sentence(lines: Mapping[str, list[tuple[int, Finding]]]) -> str:
    """What the picture says, for those who do not see it."""
    worst = {name: max(points, key=lambda point: point[1].worst or 0.0) for name, points in lines.items()}
    said = [
        f"{name}: at worst {one.worst or 0:.2f}, in release {number}; it must be at most {one.limit or 0:.2f}"
        for name, (number, one) in worst.items()
    ]
    return "; ".join(said) + "."


def release_html(releases: Sequence[Recorded], number: int) -> str:
    """The report of one release as its ledger has it, with how the risk grew up to it."""
    release = releases[number - 1]
    grown: dict[str, list[Point]] = {}
    for earlier in releases[:number]:
        for one in earlier.findings:
            if one.status != Status.NOT_RUN and earlier.withdrawn is None:
                grown.setdefault(one.attack, []).append(Point(earlier.number, one.people, one.population, one.worst))
    exposing = {name: tuple(points) for name, points in grown.items() if any(point.people for point in points)}
    findings = replace(release.findings, timeline=exposing)
    title = f"Release {number}, as it was recorded on {release.record.time[:10]}"
    return report_html(findings, title=title, warnings=release.record.warnings)
