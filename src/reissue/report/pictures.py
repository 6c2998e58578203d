"""Pictures of a worst case: from an attack's plain description to geometry that a template draws.

A picture is a dictionary whose `kind` names one of `KINDS`; docs/reference/attacks.md says what each holds. What is
drawn as a table or with boxes of text needs no geometry and goes through as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reissue.attacks.stories import (
    Candidates,
    CutHistory,
    EquationGroup,
    EquationRow,
    Equations,
    HistoryEdge,
    Matrix,
    PathColumn,
    PathNode,
    Paths,
    Picture,
    Shown,
)
from reissue.errors import InternalError
from reissue.report.charts import bars, histogram

__all__ = ["KINDS", "drawing"]

_DOTS = 60
"""Up to this many candidates each gets a dot."""


def drawing(picture: Picture) -> dict[str, Any]:
    """What the template of this kind needs."""
    kind = str(picture.get("kind"))
    if kind not in KINDS:
        raise InternalError(f"There is no picture '{kind}'. There are: {', '.join(KINDS)}.")
    return {"kind": kind, **KINDS[kind](picture)}


def _candidates(picture: Candidates) -> dict[str, Any]:
    bars_shown = [
        {
            **bar,
            "published": _texts(bar.get("published") or {}),
            "dots": _dots(bar["size"], bar["left"]),
            "share": round(100 * bar["left"] / max(bar["size"], 1), 1),
        }
        for bar in picture["bars"]
    ]
    return {"bars": bars_shown, "limit": picture.get("limit"), "unit": picture.get("unit", "records")}


def _dots(size: int, left: int) -> list[dict[str, Any]] | None:
    if size > _DOTS:
        return None
    return [{"x": 9 + 16 * (dot % 20), "y": 9 + 16 * (dot // 20), "kept": dot < left} for dot in range(size)]


def _matrix(picture: Matrix) -> dict[str, Any]:
    values = sorted({value for row in picture["values"] for value in row if value})
    rows = [
        {"name": name, "cells": [{"value": value, "level": _level(value, values)} for value in row]}
        for name, row in zip(picture["rows"], picture["values"], strict=True)
    ]
    return {"columns": list(picture["columns"]), "rows": rows, "unit": picture.get("unit", "people exposed")}


def _level(value: float | None, values: list[float]) -> int:
    """How strongly a cell is coloured, from 0 (nobody) to 4 (the most): by rank, so that near values differ too."""
    return 0 if not value else 4 - 3 * (len(values) - 1 - values.index(value)) // max(len(values) - 1, 1)


def _texts(published: Shown) -> list[tuple[str, str]]:
    return [(name, "missing" if value is None else str(value)) for name, value in published.items()]


def _paths(picture: Paths) -> dict[str, Any]:
    drawn = _path_graph(picture)
    shown = [
        {"label": str(column["label"]), "published": _texts(column.get("published") or {})}
        for column in picture["columns"]
    ]
    return {**drawn, "shown": [one for one in shown if one["published"]], "limit": picture.get("limit")}


_SQUARES = 12
"""Up to this many records of a value each gets a square."""


def _equations(picture: Equations) -> dict[str, Any]:
    groups = [
        {
            **group,
            "published": _texts(group.get("published") or {}),
            "members": _members(group),
            "rows": [_row(row) for row in group["rows"]],
            "own": any(row["chance"] is not None for row in group["rows"]),
        }
        for group in picture["groups"]
    ]
    return {"groups": groups, "more": picture["total"] - len(groups), "limit": picture.get("limit")}


def _members(group: EquationGroup) -> str:
    """Who is in a group, in words."""
    others = [
        (group.get("others", 0), "", ""),
        (group["before"], "who was here before", "who were here before"),
        (group["new"], "who is new", "who are new"),
        (group["unknown"], "whom nobody knows", "whom nobody knows"),
    ]
    said = [str(one) for one in group["people"]]
    said += [
        f"{count:,} {'other' if count == 1 else 'others'} {one if count == 1 else many}".rstrip()
        for count, one, many in others
        if count
    ]
    return ", ".join(said)


def _row(row: EquationRow) -> dict[str, Any]:
    """One value: a square for each record, the known ones with the letter of who has it."""
    letters = ["●" if name == "this person" else str(name) for name in row["people"]]
    squares = None
    if row["records"] <= _SQUARES:
        marks = [*letters, *[""] * (row["records"] - len(letters))][: row["records"]]
        squares = [{"x": 1 + 19 * place, "mark": mark, "mine": mark == "●"} for place, mark in enumerate(marks)]
    chance = row["chance"]
    return {
        **row,
        "squares": squares,
        "sure": "" if chance is None else sure(float(chance)),
        "out": chance == 0,
        "fill": 0 if chance is None else round(100 * chance, 1),
        "text": "missing" if row["value"] is None else str(row["value"]),
    }


# --- graphs ----------------------------------------------------------------------------------------------------------

_COLUMN, _NODE, _ROW, _TALL, _HEAD = 168, 128, 40, 30, 34
_LETTERS = 17


def _path_graph(picture: Paths) -> dict[str, Any]:
    """One column for each release, one box for each value, lines for what can have become of it."""
    columns = [list(column["nodes"]) for column in picture["columns"]]
    deepest = max((len(nodes) for nodes in columns), default=0)
    nodes, place = [], {}
    for number, some in enumerate(columns):
        top = _HEAD + (deepest - len(some)) * _ROW / 2
        for row, node in enumerate(some):
            place[number, row] = (10 + number * _COLUMN, top + row * _ROW)
            nodes.append(_box(node, *place[number, row]))
    edges = [
        {
            "x1": place[edge["column"], edge["from"]][0] + _NODE,
            "y1": place[edge["column"], edge["from"]][1] + _TALL / 2,
            "x2": place[edge["column"] + 1, edge["to"]][0],
            "y2": place[edge["column"] + 1, edge["to"]][1] + _TALL / 2,
            "possible": bool(edge["possible"]),
        }
        for edge in picture["edges"]
    ]
    heads = [
        {"x": 10 + number * _COLUMN, "text": str(column["label"])} for number, column in enumerate(picture["columns"])
    ]
    return {
        "width": 20 + _NODE + _COLUMN * (max(len(columns), 1) - 1),
        "height": _HEAD + deepest * _ROW + 4,
        "nodes": nodes,
        "edges": sorted(edges, key=lambda edge: edge["possible"]),
        "heads": heads,
        "node_width": _NODE,
        "node_height": _TALL,
        "sentence": _sentence(picture["columns"]),
    }


def _box(node: PathNode, x: float, y: float) -> dict[str, Any]:
    text, share = _text(node["value"]), float(node["posterior"])
    return {
        "x": x,
        "y": y,
        "text": _cut(text),
        "full": f"{text}: {node['share']:.0%} of the group, {sure(share)} with all releases",
        "sure": sure(share),
        "fill": round(_NODE * share, 1),
        "possible": share > 0,
    }


def sure(share: float) -> str:
    """A share that is not quite 0 or 1 is not shown as if it were."""
    return f"{share:.0%}" if share in {0, 1} or 0.005 <= share < 0.995 else "<1%" if share < 0.5 else ">99%"


def _sentence(columns: Sequence[PathColumn]) -> str:
    said = []
    for column in columns:
        left = [node for node in column["nodes"] if node["posterior"] > 0]
        values = ", ".join(f"{_text(node['value'])} {sure(float(node['posterior']))}" for node in left)
        said.append(f"{column['label']}: {len(column['nodes'])} values in the group, left {values or 'none'}")
    return "; ".join(said) + "."


def _history(picture: CutHistory) -> dict[str, Any]:
    """Two sides of a cut: what the attack subtracts lies between them."""
    given = list(picture["nodes"])
    sides = [[place for place, node in enumerate(given) if node.get("side", 0) == side] for side in (0, 1)]
    wide, tall, gap = 176, 44, 110
    spot, boxes = {}, []
    for side, members in enumerate(sides):
        for row, place in enumerate(members):
            x, y = 46 + side * (wide + gap), 8 + row * (tall + 12)
            spot[place] = (x, y, side)
            node = given[place]
            label = _text(node["label"])
            boxes.append({"x": x, "y": y, "text": _cut(label, 25), "full": label, "people": node["people"]})
    edges = [_edge(edge, spot, wide, tall) for edge in picture["edges"]]
    cut = sum(int(edge["weight"]) for edge in picture["edges"] if edge["cut"])
    rows = max(len(members) for members in sides)
    return {
        "width": 2 * wide + gap + 92,
        "height": 12 + rows * (tall + 12),
        "nodes": boxes,
        "edges": sorted(edges, key=lambda edge: edge["cut"]),
        "node_width": wide,
        "node_height": tall,
        "cut_x": 46 + wide + gap / 2 if sides[1] else None,
        "limit": picture.get("limit"),
        "sentence": f"{len(given)} sets of people and {len(edges)} links between them; the cut goes through {cut:,}.",
    }


def _edge(edge: HistoryEdge, spot: Mapping[int, tuple[float, float, int]], wide: int, tall: int) -> dict[str, Any]:
    """A straight line between the sides, a bow within one."""
    one, other = spot[edge["from"]], spot[edge["to"]]
    y1, y2 = one[1] + tall / 2, other[1] + tall / 2
    if one[2] != other[2]:
        one, other, y1, y2 = (one, other, y1, y2) if one[2] == 0 else (other, one, y2, y1)
        x1, x2 = one[0] + wide, other[0]
        return {
            "d": f"M{x1},{y1} L{x2},{y2}",
            "x": (x1 + x2) / 2,
            "y": (y1 + y2) / 2 - 3,
            "weight": edge["weight"],
            "cut": bool(edge["cut"]),
        }
    x = one[0] if one[2] == 0 else one[0] + wide
    out = x - 34 if one[2] == 0 else x + 34
    return {
        "d": f"M{x},{y1} C{out},{y1} {out},{y2} {x},{y2}",
        "x": out + (8 if one[2] == 0 else -8),
        "y": (y1 + y2) / 2 + 4,
        "weight": edge["weight"],
        "cut": bool(edge["cut"]),
    }


def _text(value: Any) -> str:
    return "missing" if value is None else str(value)


def _cut(text: str, most: int = _LETTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


KINDS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "candidates": _candidates,
    "paths": _paths,
    "history": _history,
    "matrix": _matrix,
    "histogram": histogram,
    "bars": bars,
    "equations": _equations,
}
"""Kinds of pictures, and what makes them."""
