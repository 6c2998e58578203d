"""Tiny random tables of groups and sensitive values: numbers, trees, with and without missing values."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from hypothesis import strategies as st

from reissue import Hierarchy, Table
from reissue.counting import Counts, Domain
from reissue.published import read_published
from reissue.schema import Schema
from reissue.taxonomy import Taxonomy
from reissue.verify import CheckedGroups, read_groups

__all__ = ["TREE", "Sample", "requirements", "samples"]

TREE = {"lung": {"infection": ["flu", "cold"], "embolism": []}, "stomach": ["ulcer", "gastritis"], "none": []}
_LEAVES = ("flu", "cold", "embolism", "ulcer", "gastritis", "none")
_NUMBERS = (1, 2, 4, 5, 9, 20)
_NAMED = ("flu", "infection", "lung", "{flu, ulcer}", "stomach, cold", "none")


@dataclass(frozen=True)
class Sample:
    """Rows with a group and a sensitive value each, seen from all sides."""

    rows: tuple[tuple[int, str | int | None], ...]

    @cached_property
    def frame(self) -> pl.DataFrame:
        return pl.DataFrame({"g": [g for g, _ in self.rows], "s": [s for _, s in self.rows]}, strict=False)

    @cached_property
    def schema(self) -> Schema:
        tree = Hierarchy(tree=TREE, kind="tree") if self.frame["s"].dtype == pl.String else Hierarchy()
        return Schema.of_columns(quasi=["g"], sensitive=["s"], taxonomies={"s": tree})

    @cached_property
    def table(self) -> Table:
        return Table.read(self.frame, self.schema)

    @property
    def domain(self) -> Domain:
        return self.table.domain

    @property
    def tree(self) -> Taxonomy:
        assert self.domain.taxonomy is not None
        return self.domain.taxonomy

    @cached_property
    def counts(self) -> Counts:
        _, groups = np.unique(self.frame["g"].to_numpy(), return_inverse=True)
        return Counts(groups.astype(np.int32), self.table.sensitive, self.domain)

    @cached_property
    def groups(self) -> list[list[int]]:
        """The leaf codes of each group."""
        codes = self.table.sensitive.tolist()
        names = sorted({g for g, _ in self.rows})
        return [[code for code, (g, _) in zip(codes, self.rows, strict=True) if g == name] for name in names]

    @property
    def everyone(self) -> list[int]:
        return [code for group in self.groups for code in group]

    @cached_property
    def published(self) -> CheckedGroups:
        return read_groups(read_published({"release": self.frame}, self.schema), secrets=self.table.secrets)


def samples(kind: str | None = None, *, most: int = 14, missing: bool = True) -> st.SearchStrategy[Sample]:
    """Tables with numbers or with a tree of values."""
    if kind is None:
        return st.one_of(samples("tree", most=most, missing=missing), samples("number", most=most, missing=missing))
    known: tuple[str | int, ...] = _LEAVES if kind == "tree" else _NUMBERS
    values = st.sampled_from((*known, None) if missing else known)
    rows = st.lists(st.tuples(st.integers(0, 3), values), min_size=1, max_size=most)
    known_rows = rows.filter(lambda rows: any(value is not None for _, value in rows))
    return known_rows.map(lambda rows: Sample(tuple(rows)))


def _shares() -> st.SearchStrategy[str]:
    return st.sampled_from(["0.2", "0.25", "0.3333333333333333", "0.4", "0.5", "0.6", "0.75", "0.9", "1"])


@st.composite
def requirements(draw: st.DrawFn, name: str, kind: str) -> str:
    """The text of a requirement, such as a user would write."""
    few, bound = draw(st.integers(1, 4)), draw(_shares())
    listed = f":{draw(st.sampled_from(_NAMED))}" if kind == "tree" and draw(st.booleans()) else ""
    guards = ("", ":lung", ":flu>infection", ":flu>lung, stomach", ":infection>lung", ":none, ulcer>stomach")
    guard = draw(st.sampled_from(guards)) if kind == "tree" else ""
    texts = {
        "k": f"k={few}",
        "k-m": f"k-m={few},{draw(st.integers(1, 3))}",
        "l": f"l={few}",
        "entropy-l": f"entropy-l={draw(st.sampled_from(['1', '1.5', '2', '2.7', '3']))}",
        "recursive": f"recursive={draw(st.sampled_from(['0.5', '1', '1.1', '2', '3']))},{few + 1}",
        "simple-l": f"simple-l={few}{listed}",
        "confidence": f"confidence={bound}{listed}",
        "alpha-k": f"alpha-k={bound},{few}{listed}",
        "t": f"t={bound}{draw(st.sampled_from(['', ':ordered', ':hierarchical']))}",
        "k-e": f"k-e={few},{draw(st.sampled_from(['0', '1', '2.5', '4', '18']))}",
        "c-k": f"c-k={draw(st.sampled_from(['0.3', '0.5', '0.6', '0.75', '0.9', '1']))},{draw(st.integers(0, 3))}",
        "beta": f"beta={draw(st.sampled_from(['0', '0.5', '1', '2.5']))}{draw(st.sampled_from(['', ':enhanced']))}",
        "delta-disclosure": f"delta-disclosure={draw(st.sampled_from(['0.3', '0.7', '1.5', '3']))}",
        "personalized": f"personalized={bound}{guard}",
        "m-unique": f"m-unique={few}",
    }
    return texts[name]
