"""Columns: how values are spread, and how releases compare."""

from typing import Any

from reissue.attacks.pictures import Bars, IntervalCounts
from reissue.report.scale import Axis, fit

__all__ = ["bars", "histogram"]

WIDTH, HEIGHT = 480, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 12, 16, 48
_FRAME = {"width": WIDTH, "height": HEIGHT, "left": _LEFT, "right": WIDTH - _RIGHT, "top": _TOP}


def histogram(picture: IntervalCounts) -> dict[str, Any]:
    """One column for each interval; those above the limit are marked."""
    edges, counts, limit = list(picture["edges"]), list(picture["counts"]), picture.get("limit")
    across = Axis(edges[0], edges[-1], _LEFT, WIDTH - _RIGHT)
    up = fit(0, max([*counts, 4]), HEIGHT - _BOTTOM, _TOP, whole=True)
    columns = [
        {
            "x": across(low) + 0.5,
            "width": max(round(across(high) - across(low) - 1, 1), 0.5),
            "y": up(count),
            "height": round(HEIGHT - _BOTTOM - up(count), 1),
            "above": limit is not None and (low + high) / 2 > limit,
            "title": f"{low:.3g} to {high:.3g}: {count:,}",
        }
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
    above = sum(count for low, high, count in zip(edges, edges[1:], counts, strict=False) if _above(low, high, limit))
    of, unit = picture.get("of", "people"), picture.get("unit", "")
    said = f"How {unit} is spread over {sum(counts):,} {of}."
    if limit is not None:
        said += f" {above:,} lie above the limit of {limit:.3g}."
    return {
        **_FRAME,
        "bottom": HEIGHT - _BOTTOM,
        "columns": columns,
        "x_ticks": across.ticks(5),
        "y_ticks": up.ticks(),
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
    up = fit(0, most or 1, HEIGHT - _BOTTOM, _TOP)
    room = (WIDTH - _RIGHT - _LEFT) / max(len(labels), 1)
    wide = room * 0.8 / max(len(series), 1)
    columns = [
        {
            "x": round(_LEFT + room * (place + 0.1) + wide * number, 1),
            "width": round(wide * 0.92, 1),
            "y": up(value),
            "height": round(HEIGHT - _BOTTOM - up(value), 1),
            "series": number,
            "title": f"{labels[place]}, {name}: {value:.3g}",
        }
        for number, (name, values) in enumerate(series.items())
        for place, value in enumerate(values)
        if value is not None
    ]
    skip = -(-len(labels) // 12)
    return {
        **_FRAME,
        "bottom": HEIGHT - _BOTTOM,
        "columns": columns,
        "names": list(series),
        "x_ticks": [
            (round(_LEFT + room * (place + 0.5), 1), label.removeprefix("release "))
            for place, label in enumerate(labels)
            if place % skip == 0
        ],
        "y_ticks": up.ticks(),
        "unit": picture.get("unit", ""),
        "across": picture.get("across", "release"),
        "sentence": picture.get("sentence") or f"{' and '.join(series)}, for {len(labels)} releases.",
        "table": [(label, [values[place] for values in series.values()]) for place, label in enumerate(labels)],
    }
