"""Charts: from the numbers of a view to places on paper, which templates draw."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reissue.attacks.stories import Bars, IntervalCounts
from reissue.outcome.findings import RiskGrowth
from reissue.outcome.plan import PlanFrontier
from reissue.outcome.series import SeriesLoss, SeriesRisk
from reissue.outcome.utility import EstimateIntervals
from reissue.utility import Estimate

__all__ = [
    "Axis",
    "bars",
    "fit",
    "frontier_chart",
    "growth_chart",
    "histogram",
    "interval_chart",
    "loss_chart",
    "risk_chart",
]

WIDTH, HEIGHT, TALL, STRIP = 480, 240, 280, 108
LEFT, RIGHT, TOP, BOTTOM = 72, 12, 16, 48
"""Margins around the area that is drawn on."""
BROAD, _NAMES, _ROW, _LETTERS = 640, 200, 30, 28
"""Of charts with a name in front of each row: their width, where names end, the height of a row, letters of a name."""
_MOST = 30
"""This many rows a chart shows; the table has all."""
MARKS = ("circle", "square", "triangle", "diamond", "cross", "ring", "bar")
"""Each line and method has its own mark, so that colours are not needed to tell them apart."""
Ticks = Sequence[tuple[float, str]]
"""Places on an axis and what is written there."""


@dataclass(frozen=True)
class Axis:
    """A line of numbers between two places."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Where a number stands."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.stop - self.start), 1)

    def ticks(self, about: int = 4) -> list[tuple[float, str]]:
        """Places and texts of round numbers."""
        step = _step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(self(count * step), f"{count * step:,.{digits}f}") for count in range(first, last + 1)]


def fit(low: float, high: float, start: float, stop: float, *, whole: bool = False) -> Axis:
    """An axis that begins and ends at round numbers around what is to be shown."""
    high = high if high > low else low + 1
    step = _step((high - low) / 4)
    step = max(step, 1.0) if whole else step
    return Axis(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, stop)


def _step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, not below."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))


def frame(x_ticks: Ticks, y_ticks: Ticks, height: float = HEIGHT) -> dict[str, Any]:
    """Return the area that a chart is drawn on, with its axes."""
    edges = {"left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "bottom": height - BOTTOM}
    return {"width": WIDTH, "height": height, **edges, "x_ticks": x_ticks, "y_ticks": y_ticks}


def histogram(picture: IntervalCounts) -> dict[str, Any]:
    """One column for each interval; those above the limit are marked."""
    edges, counts, limit = list(picture["edges"]), list(picture["counts"]), picture.get("limit")
    across = Axis(edges[0], edges[-1], LEFT, WIDTH - RIGHT)
    up = fit(0, max([*counts, 4]), HEIGHT - BOTTOM, TOP, whole=True)
    columns = [
        {
            "x": across(low) + 0.5,
            "width": max(round(across(high) - across(low) - 1, 1), 0.5),
            "y": up(count),
            "height": round(HEIGHT - BOTTOM - up(count), 1),
            "above": limit is not None and (low + high) / 2 > limit,
            "title": f"{low:.3g} to {high:.3g}: {count:,}",
        }
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
    above = sum(count for low, high, count in zip(edges, edges[1:], counts, strict=False) if _above(low, high, limit))
    of, unit = picture.get("of", "people"), picture.get("unit", "")
    said = f"How {unit} is spread over {sum(counts):,} {of}."
    if limit is not None:
        said += f" {f'{above:,} lie' if above else 'None lie'} above the limit of {limit:.3g}."
    return {
        **frame(across.ticks(5), up.ticks()),
        "columns": columns,
        "limit": None if limit is None or not edges[0] <= limit <= edges[-1] else (across(limit), f"{limit:.3g}"),
        "unit": unit,
        "of": of,
        "sentence": said,
        "table": [
            (f"{low:.3g} to {high:.3g}", count) for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ],
    }


def _above(low: float, high: float, limit: float | None) -> bool:
    return limit is not None and (low + high) / 2 > limit


def bars(picture: Bars) -> dict[str, Any]:
    """Groups of columns, one for each label; series are told apart by colour and filling."""
    labels, series = [str(label) for label in picture["labels"]], dict(picture["series"])
    most = max((value for values in series.values() for value in values if value is not None), default=0)
    up = fit(0, most or 1, HEIGHT - BOTTOM, TOP)
    width = (WIDTH - RIGHT - LEFT) / max(len(labels), 1)
    wide = width * 0.8 / max(len(series), 1)
    columns = [
        {
            "x": round(LEFT + width * (place + 0.1) + wide * number, 1),
            "width": round(wide * 0.92, 1),
            "y": up(value),
            "height": round(HEIGHT - BOTTOM - up(value), 1),
            "series": number,
            "title": f"{labels[place]}, {name}: {value:.3g}",
        }
        for number, (name, values) in enumerate(series.items())
        for place, value in enumerate(values)
        if value is not None
    ]
    skip = -(-len(labels) // 12)
    ticks = [
        (round(LEFT + width * (place + 0.5), 1), label.removeprefix("release "))
        for place, label in enumerate(labels)
        if place % skip == 0
    ]
    return {
        **frame(ticks, up.ticks()),
        "columns": columns,
        "names": list(series),
        "unit": picture.get("unit", ""),
        "across": picture.get("across", "release"),
        "sentence": picture.get("sentence") or f"{' and '.join(series)}, for {len(labels)} releases.",
        "table": [(label, [values[place] for values in series.values()]) for place, label in enumerate(labels)],
    }


def growth_chart(growth: RiskGrowth) -> dict[str, Any]:
    """Draw a line for each attack: people exposed by release."""
    releases = growth.releases
    most = max(people for line in growth.lines for _, people in line.points)
    across = Axis(releases[0], releases[-1], LEFT, WIDTH - RIGHT)
    up = fit(0, max(most, 4), HEIGHT - BOTTOM, TOP, whole=True)
    lines = [
        {
            "attack": line.attack,
            "place": place % len(MARKS),
            "mark": MARKS[place % len(MARKS)],
            "points": [(across(release), up(people)) for release, people in line.points],
            "joined": line.joined,
        }
        for place, line in enumerate(growth.lines)
    ]
    return {**frame([(across(one), str(one)) for one in releases], up.ticks()), "lines": lines}


def frontier_chart(frontier: PlanFrontier) -> dict[str, Any]:
    """Draw the error of queries across and probability up; a mark for each method, filled on the frontier."""
    across = fit(0, max(*(one.error for one in frontier.points), 0.05), LEFT, WIDTH - RIGHT)
    up = Axis(0.0, 1.0, TALL - BOTTOM, TOP)
    methods = list(dict.fromkeys(one.method for one in frontier.points))
    place = {name: number % len(MARKS) for number, name in enumerate(methods)}
    points = [
        {
            "x": across(one.error),
            "y": up(min(one.probability, 1.0)),
            "mark": MARKS[place[one.method]],
            "place": place[one.method],
            "hollow": not one.frontier,
            "best": one.recommended,
            "title": one.title,
        }
        for one in frontier.points
    ]
    return {
        **frame(across.ticks(5), up.ticks(4), TALL),
        "limit": up(frontier.limit),
        "limit_text": f"{frontier.limit:g}",
        "methods": [(name, MARKS[place[name]], place[name]) for name in methods],
        "points": points,
        "sentence": frontier.sentence,
    }


def risk_chart(series: SeriesRisk) -> dict[str, Any]:
    """Draw a line for each attack: the highest probability by release, against the limit."""
    across, up = _time(series.total), Axis(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    lines = [
        {
            "attack": name,
            "place": place % len(MARKS),
            "mark": MARKS[place % len(MARKS)],
            "points": [(across(number), up(worst)) for number, worst in points],
        }
        for place, (name, points) in enumerate(series.lines)
    ]
    return {
        **frame(_releases(across, series.total), up.ticks(4)),
        "limit": None if series.limit is None else up(series.limit),
        "changes": [(round(across(since - 0.5), 1), since) for since in series.changes],
        "lines": lines,
        "sentence": series.sentence,
    }


def loss_chart(series: SeriesLoss) -> dict[str, Any]:
    """Draw a column for each release: what it lost, on the same line of time."""
    across = _time(series.total)
    up = fit(0.0, max(loss for _, loss in series.points), STRIP - BOTTOM, TOP)
    wide = min(22.0, (WIDTH - RIGHT - LEFT) / series.total * 0.6)
    columns = [
        {
            "x": round(across(number) - wide / 2, 1),
            "y": up(loss),
            "width": round(wide, 1),
            "height": round(STRIP - BOTTOM - up(loss), 1),
            "title": f"Release {number}: {loss:.1%} lost",
        }
        for number, loss in series.points
    ]
    ticks = [(y, f"{float(text):.0%}") for y, text in up.ticks(2)]
    return {**frame(_releases(across, series.total), ticks, STRIP), "columns": columns, "sentence": series.sentence}


def _time(releases: int) -> Axis:
    """The line of time, with half a column's width at its ends."""
    return Axis(0.5, releases + 0.5, LEFT, WIDTH - RIGHT)


def _releases(across: Axis, many: int) -> Ticks:
    return [(across(number), str(number)) for number in range(1, many + 1, max(1, -(-many // 12)))]


def interval_chart(found: EstimateIntervals) -> dict[str, Any]:
    """Draw a row for each estimate: the true number above the published one, each with its interval."""
    shown = found.rows[:_MOST]
    both = [one for row in found.rows for one in (row.true, row.published) if one is not None]
    low, high = min(one.low for one in both), max(one.high for one in both)
    across = (
        fit(low, high, _NAMES, BROAD - RIGHT)
        if found.fixed is None
        else Axis(-found.fixed, found.fixed, _NAMES, BROAD - RIGHT)
    )
    bottom = TOP + _ROW * len(shown)
    rows = [
        {
            "name": row.name if len(row.name) <= _LETTERS else f"{row.name[: _LETTERS - 1]}…",
            "y": TOP + _ROW * (place + 0.5),
            "true": _placed(row.true, across),
            "published": None if row.published is None else _placed(row.published, across),
        }
        for place, row in enumerate(shown)
    ]
    more = len(found.rows) - len(shown)
    return {
        **frame(across.ticks(6), (), bottom + BOTTOM),
        "width": BROAD,
        "left": _NAMES,
        "right": BROAD - RIGHT,
        "rows": rows,
        "unit": found.unit,
        "reach": found.reach,
        "sentence": found.sentence + (f" {more} more are in the table." if more else ""),
    }


def _placed(one: Estimate, across: Axis) -> dict[str, float]:
    """Places on the paper, at the edge where they would lie beyond it."""
    ends = {"value": one.value, "low": one.low, "high": one.high}
    return {name: across(min(max(end, across.low), across.high)) for name, end in ends.items()}
