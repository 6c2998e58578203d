"""Graphs: a person's possible values through the releases, and who shares a history with whom."""

from collections.abc import Mapping, Sequence
from typing import Any

from reissue.attacks.pictures import CutHistory, HistoryEdge, PathColumn, PathNode, Paths

__all__ = ["history", "paths", "sure"]

_COLUMN, _NODE, _ROW, _TALL, _HEAD = 168, 128, 40, 30, 34
_LETTERS = 17


def paths(picture: Paths) -> dict[str, Any]:
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


def history(picture: CutHistory) -> dict[str, Any]:
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
