"""Small random tables with schemas: ragged trees, ranges, prefixes, flat columns, missing values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from hypothesis import strategies as st

from reissue import Hierarchy
from reissue.schema import Role, Schema

__all__ = ["Case", "columns", "leaves_of", "tables", "trees"]


@dataclass(frozen=True)
class Case:
    """A table and its schema."""

    frame: pl.DataFrame
    schema: Schema

    def __repr__(self) -> str:
        """What Hypothesis prints when it found something."""
        return f"Case({self.frame.to_dict(as_series=False)}, {self.schema.hierarchies})"


@st.composite
def trees(draw: st.DrawFn, prefix: str = "", depth: int = 2) -> dict[str, Any]:
    """A ragged tree below the root: names to subtrees, or to nothing for a leaf."""
    width = draw(st.integers(1, 3))
    tree: dict[str, Any] = {}
    for number in range(width):
        name = f"{prefix}{'abc'[number]}"
        tree[name] = draw(trees(name, depth - 1)) if depth and draw(st.booleans()) else {}
    return tree


def leaves_of(tree: Mapping[str, Any]) -> list[str]:
    """The values at the ends of a tree."""
    return [leaf for name, below in tree.items() for leaf in (leaves_of(below) if below else [name])]


@st.composite
def columns(draw: st.DrawFn, kind: str) -> tuple[st.SearchStrategy[Any], Hierarchy, Any]:
    """Values to draw from, the hierarchy over them, and their type."""
    if kind == "tree":
        tree = draw(trees())
        return st.sampled_from(leaves_of(tree)), Hierarchy("tree", tree=tree), pl.String
    if kind == "ranges":
        widths = draw(st.sampled_from([(), (2.0,), (2.0, 4.0), (5.0, 10.0)]))
        return st.integers(-3, 12), Hierarchy("ranges" if widths else "auto", ranges=widths), pl.Int64
    if kind == "floats":
        return st.integers(0, 9).map(lambda tenths: tenths / 4), Hierarchy("ranges", ranges=(0.5, 1.0)), pl.Float64
    if kind == "prefix":
        return st.sampled_from(["112", "113", "121", "21", "211", "3"]), Hierarchy("prefix", prefix=(2, 1)), pl.String
    return st.sampled_from("pqrs"), Hierarchy("flat"), pl.String


_QUASI = ("tree", "ranges", "floats", "prefix", "flat")


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    min_rows: int = 1,
    max_rows: int = 24,
    max_quasi: int = 3,
    sensitive: str = "any",
    missing: bool = True,
) -> Case:
    """A small table: 1 to `max_quasi` quasi-identifiers, one sensitive column ("tree", "ranges", "flat" or "any")."""
    kinds = draw(st.lists(st.sampled_from(_QUASI), min_size=1, max_size=max_quasi))
    height = draw(st.integers(min_rows, max_rows))
    secret = draw(st.sampled_from(["tree", "ranges", "flat"])) if sensitive == "any" else sensitive
    names = [*(f"q{place}" for place in range(len(kinds))), "secret"]
    data, hierarchies = {}, {}
    for name, kind in zip(names, [*kinds, secret], strict=True):
        values, hierarchies[name], dtype = draw(columns(kind))
        if missing and name != "secret" and draw(st.booleans()):
            values = values | st.none()
        data[name] = pl.Series(name, draw(st.lists(values, min_size=height, max_size=height)), dtype=dtype)
    data["person"] = pl.Series("person", range(100, 100 + height))
    roles = dict.fromkeys(names, Role.QUASI) | {"secret": Role.SENSITIVE, "person": Role.IDENTIFIER}
    return Case(pl.DataFrame(data), Schema(roles, hierarchies))
