"""Pictures of a worst case: from an attack's plain description to geometry that a template draws.

A picture is a dictionary whose `kind` names one of `KINDS`; docs/reference/attacks.md says what each holds. What is
drawn as a table or with boxes of text needs no geometry and goes through as it is.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reissue.attacks.pictures import (
    Candidates,
    EquationGroup,
    EquationRow,
    Equations,
    Matrix,
    Paths,
    Picture,
    Shown,
)
from reissue.errors import InternalError
from reissue.report.charts import bars, histogram
from reissue.report.graphs import history, paths, sure

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
    drawn = paths(picture)
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


KINDS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "candidates": _candidates,
    "paths": _paths,
    "history": history,
    "matrix": _matrix,
    "histogram": histogram,
    "bars": bars,
    "equations": _equations,
}
"""Kinds of pictures, and what makes them."""
