"""Curves as one SVG: a small chart for each panel, where Altair and vl-convert are installed (the extra `bench`)."""

import re
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.papers.figure import Curves, Figure

__all__ = ["draw"]

NEEDLESS = re.compile(r' (?:class|role|aria-[a-z]+|pointer-events|opacity)="[^"]*"|<path aria-hidden[^>]*/>')
"""Attributes of every mark that a still picture does without: they are half of the file."""
COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d", "#72b7b2", "#e45756", "#9aa5b1"]
DASH = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [1, 0], [6, 3], [2, 2], [4, 4]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "circle", "square"]


def draw(figure: Figure, curves: Curves, path: Path) -> bool:
    """Write the picture; False where Altair is not installed."""
    try:
        import altair as alt
    except ModuleNotFoundError:
        return False
    shown = Curves(curves.frame.filter(pl.col("panel") != "checks"))
    across = 2 if len(shown.panels) in {2, 4} else 3
    panels = [_panel(alt, figure, shown, name) for name in shown.panels]
    rows = [alt.hconcat(*panels[start : start + across], spacing=30) for start in range(0, len(panels), across)]
    chart = alt.vconcat(*rows, spacing=24, background="white")
    chart = chart.configure_view(stroke=None).configure_axis(gridColor="#eeeeee", titleFontWeight="normal")
    chart.save(path)
    path.write_text(NEEDLESS.sub("", path.read_text(encoding="utf-8")), encoding="utf-8")
    return True


def _panel(alt: Any, figure: Figure, curves: Curves, name: str) -> Any:
    lines = curves.frame["line"].unique(maintain_order=True).to_list()
    legend = None if len(lines) == 1 else alt.Legend(orient="bottom", columns=4, title=None, labelLimit=260)

    def look(marks: list[Any]) -> dict[str, Any]:
        cycle = [marks[place % len(marks)] for place in range(len(lines))]
        return {"scale": alt.Scale(domain=lines, range=cycle), "legend": legend}

    kind = "log" if name in figure.logarithmic else "linear"
    return (
        alt.Chart(curves.frame.filter(pl.col("panel") == name))
        .mark_line(point={"size": 34}, strokeWidth=1.8)
        .encode(
            x=alt.X("x:Q", title=figure.axis(name), scale=alt.Scale(zero=False, nice=False, padding=8)),
            y=alt.Y("y:Q", title=None, scale=alt.Scale(type=kind)),
            color=alt.Color("line:N", **look(COLOURS)),
            strokeDash=alt.StrokeDash("line:N", **look(DASH)),
            shape=alt.Shape("line:N", **look(SHAPES)),
        )
        .properties(title=alt.Title(name, fontSize=12, anchor="start"), width=250, height=160)
    )
