"""The page of a plan: the recommendation in words, the frontier as a chart and a table."""

from collections.abc import Sequence
from typing import Any

from reissue._version import __version__
from reissue.publishing.plan import Outcome, Plan, policy_toml
from reissue.report.charts import Axis, fit
from reissue.report.page import template

__all__ = ["plan_html"]

_WIDTH, _HEIGHT = 480, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 16, 16, 48
_MARKS = ("circle", "square", "triangle", "diamond", "cross", "ring", "bar")


def plan_html(plan: Plan, title: str = "Which protection does this series need?") -> str:
    """The plan as one HTML page; nothing is loaded, no script runs."""
    return template("plan.html").render(
        title=title,
        version=__version__,
        plan=plan,
        best=plan.recommended,
        frontier={one.setting.name for one in plan.frontier},
        chart=frontier_chart(plan),
        policy=policy_toml(plan),
    )


def frontier_chart(plan: Plan) -> dict[str, Any] | None:
    """Loss across, how surely anybody is linked to a value up; a mark for each method, filled on the frontier."""
    shown = [one for one in plan.outcomes if one.steps]
    if not shown:
        return None
    across = fit(0, max(*(one.loss or 0.0 for one in shown), 0.05), _LEFT, _WIDTH - _RIGHT)
    up = Axis(0.0, 1.0, _HEIGHT - _BOTTOM, _TOP)
    methods = list(dict.fromkeys(one.setting.method for one in shown))
    frontier = {one.setting.name for one in plan.frontier}
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": _HEIGHT - _BOTTOM,
        "x_ticks": across.ticks(5),
        "y_ticks": up.ticks(4),
        "limit": up(plan.limits.limit),
        "methods": [(name, _MARKS[place % len(_MARKS)], place % len(_MARKS)) for place, name in enumerate(methods)],
        "points": [_point(one, across, up, methods, frontier, plan.recommended) for one in shown],
        "sentence": _sentence(shown, plan),
    }


def _point(
    one: Outcome, across: Axis, up: Axis, methods: Sequence[str], frontier: set[str], best: Outcome | None
) -> dict[str, Any]:
    place = methods.index(one.setting.method) % len(_MARKS)
    return {
        "x": across(one.loss or 0.0),
        "y": up(min(one.risk or 0.0, 1.0)),
        "mark": _MARKS[place],
        "place": place,
        "hollow": one.setting.name not in frontier,
        "best": best is not None and one.setting.name == best.setting.name,
        "title": f"{one.setting.name}: {one.verdict}, loss {one.loss or 0:.1%}, surest {one.risk or 0:.2f}",
    }


def _sentence(shown: Sequence[Outcome], plan: Plan) -> str:
    fine = sum(one.verdict == "withstood" for one in shown)
    return (
        f"{len(shown)} settings: what they lose, and how surely anybody is linked to a value at worst. {fine} of them "
        f"stay below the limit of {plan.limits.limit:g} in all {plan.waves} releases."
    )
