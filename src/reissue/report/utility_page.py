"""The page of a comparison: what a published table still says, and what an analyst computes from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reissue._version import __version__
from reissue.report.charts import Axis, fit
from reissue.report.page import template
from reissue.utility import Comparison, Estimate, Line, Transition, Transitions, Utility

__all__ = ["model_chart", "utility_html"]

_WIDTH, _ROW, _TOP, _BOTTOM = 640, 30, 10, 44
_LEFT, _RIGHT, _LETTERS = 200, 16, 28
_FAR = 4.0
"""Coefficients further off than this many half-widths of the true interval stand at the edge."""
_MOST = 30
"""This many rows a chart shows; the table has all."""
_HALVES = "distance from the true coefficient; 1 is where its 95% interval ends"


def utility_html(
    utility: Utility, transitions: Transitions | None = None, title: str = "What does the published table still say?"
) -> str:
    """The comparison as one HTML page; nothing is loaded, no script runs."""
    computed = [*((one, model_chart(one)) for one in utility.models), *((one, _of_means(one)) for one in utility.means)]
    return template("utility.html").render(
        title=title,
        version=__version__,
        utility=utility,
        columns={**utility.losses, **utility.margins},
        computed=computed,
        moves=transitions,
        moved=None if transitions is None else _of_transitions(transitions),
    )


@dataclass(frozen=True)
class _Bar:
    """One row of a chart: two numbers with their intervals; None where one cannot be computed."""

    name: str
    true: Estimate
    published: Estimate | None


def model_chart(found: Comparison) -> dict[str, Any] | None:
    """A regression. Coefficients are in different units: each is drawn in half-widths of its true interval."""
    bars = [_Bar(line.name, _scaled(line, line.true), _shown(line)) for line in found.lines if line.true is not None]
    said = f"{found.sentence} Where the published mark lies between -1 and 1, it is within the true interval."
    return _chart(bars, Axis(-_FAR, _FAR, _LEFT, _WIDTH - _RIGHT), _HALVES, said)


def _shown(line: Line) -> Estimate | None:
    return None if line.published is None else _scaled(line, line.published)


def _scaled(line: Line, estimate: Estimate) -> Estimate:
    """An estimate as it lies to the true one."""
    true = line.true or estimate
    half = max((true.high - true.low) / 2, 1e-12)
    low, value, high = ((one - true.value) / half for one in (estimate.low, estimate.value, estimate.high))
    return Estimate(value, low, high)


def _of_means(found: Comparison) -> dict[str, Any] | None:
    bars = [_Bar(line.name, line.true, line.published) for line in found.lines if line.true is not None]
    return _chart(bars, _around(bars), found.asked, found.sentence)


def _of_transitions(moves: Transitions) -> dict[str, Any] | None:
    bars = [_moved(f"{one.before} → {one.after}", one) for one in moves.each]
    bars = [_moved("value kept", moves.stay), *bars]
    return _chart(bars, _around(bars), "share of people in both tables", moves.sentence)


def _moved(name: str, one: Transition) -> _Bar:
    return _Bar(
        name, Estimate(one.true, max(one.low, 0.0), min(one.high, 1.0)), Estimate(one.published, one.least, one.most)
    )


def _around(bars: Sequence[_Bar]) -> Axis:
    """An axis with room for all of them."""
    ends = [end for bar in bars for one in (bar.true, bar.published) if one is not None for end in (one.low, one.high)]
    return fit(min(ends, default=0.0), max(ends, default=1.0), _LEFT, _WIDTH - _RIGHT)


def _chart(bars: Sequence[_Bar], across: Axis, unit: str, sentence: str) -> dict[str, Any] | None:
    if not bars:
        return None
    shown = bars[:_MOST]
    bottom = _TOP + _ROW * len(shown)
    rows = [
        {
            "name": bar.name if len(bar.name) <= _LETTERS else f"{bar.name[: _LETTERS - 1]}…",
            "y": _TOP + _ROW * (place + 0.5),
            "true": _placed(bar.true, across),
            "published": None if bar.published is None else _placed(bar.published, across),
        }
        for place, bar in enumerate(shown)
    ]
    more = len(bars) - len(shown)
    return {
        "width": _WIDTH,
        "height": bottom + _BOTTOM,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": bottom,
        "x_ticks": across.ticks(6),
        "rows": rows,
        "unit": unit,
        "sentence": sentence + (f" {more} more are in the table." if more else ""),
    }


def _placed(one: Estimate, across: Axis) -> dict[str, float]:
    """Places on the paper, at the edge where they would lie beyond it."""

    def place(value: float) -> float:
        return across(min(max(value, across.low), across.high))

    return {"value": place(one.value), "low": place(one.low), "high": place(one.high)}
