"""Small invented tables for contracts: every kind of column, many ties, missing values; the seed decides everything."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from reissue.schema import Schema
from reissue.taxonomy.codings import Hierarchy

__all__ = ["TREE", "small_tables"]

TREE = {"lung": {"infection": ["flu", "cold"], "embolism": []}, "stomach": ["ulcer", "gastritis"], "none": []}
"""Sensitive values: leaves at different depths."""
_LEAVES = ("flu", "cold", "embolism", "ulcer", "gastritis", "none")
_KINDS: dict[str, tuple[tuple[Any, ...], Hierarchy, Any]] = {
    "tree": (("aa", "ab", "b", "ca"), Hierarchy("tree", tree={"a": ["aa", "ab"], "b": {}, "c": ["ca"]}), pl.String),
    "number": ((-3, 0, 1, 2, 5, 12), Hierarchy("ranges", ranges=(2.0, 4.0)), pl.Int64),
    "decimal": ((0.0, 0.25, 0.5, 2.25), Hierarchy("ranges", ranges=(0.5, 1.0)), pl.Float64),
    "prefix": (("112", "113", "121", "21"), Hierarchy("prefix", prefix=(2, 1)), pl.String),
    "flat": (("p", "q", "r"), Hierarchy("flat"), pl.String),
}
_SENSITIVE: dict[str, tuple[tuple[Any, ...], Hierarchy, Any]] = {
    "tree": (_LEAVES, Hierarchy("tree", tree=TREE), pl.String),
    "number": ((1, 2, 4, 5, 9, 20), Hierarchy("auto"), pl.Int64),
}


def small_tables(count: int, seed: int = 0) -> Iterator[tuple[pl.DataFrame, Schema]]:
    """Tables of 1 to 24 rows with their schemas."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        kinds = rng.choice(list(_KINDS), size=int(rng.integers(1, 4)))
        named = {f"q{place}": _KINDS[str(kind)] for place, kind in enumerate(kinds)}
        named["secret"] = _SENSITIVE["tree" if number % 2 else "number"]
        rows = int(rng.integers(1, 25))
        columns = [_column(name, *its[::2], rows, rng) for name, its in named.items()]
        hierarchies = {name: its[1] for name, its in named.items()}
        quasi = [name for name in named if name != "secret"]
        yield pl.DataFrame(columns), Schema.of_columns(quasi=quasi, sensitive=["secret"], taxonomies=hierarchies)


def _column(name: str, values: tuple[Any, ...], kind: Any, rows: int, rng: np.random.Generator) -> pl.Series:
    """The first row always has a value: of a column without any nothing is known."""
    chosen = [values[place] for place in rng.integers(len(values), size=rows)]
    missing = (rng.random(rows) < 0.1) & (np.arange(rows) > 0)
    return pl.Series(name, [None if gone else value for value, gone in zip(chosen, missing, strict=True)], dtype=kind)
