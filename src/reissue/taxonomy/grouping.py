"""Grouping: a tree as a group for each value, the way people move values about, and as the lines of an ARX file."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from reissue.errors import TaxonomyError
from reissue.taxonomy.paths import read_hierarchy, tree_paths
from reissue.taxonomy.tree import ROOT

__all__ = ["arx_lines", "groups_in_file", "groups_of", "moved", "tree_of"]


def tree_of(groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The tree in which each value is in its groups, named from the widest to the nearest; in none: under the root."""
    tree: dict[str, Any] = {}
    for value, names in groups.items():
        below = tree
        for name in names:
            below = below.setdefault(name, {})
        if below.setdefault(value, {}):
            raise TaxonomyError("A group has the same name as a value beside it. Give the group another name.")
    for value, names in groups.items():
        if _below(tree, (*names, value)):
            raise TaxonomyError("A group has the same name as a value beside it. Give the group another name.")
    return {name: _short(below) for name, below in tree.items()}


def _below(tree: Mapping[str, Any], names: Sequence[str]) -> Any:
    for name in names:
        tree = tree[name]
    return tree


def _short(tree: Mapping[str, Any]) -> Any:
    """A group of values alone is a list of them; one that has groups in it a table."""
    if any(tree.values()):
        return {name: _short(below) for name, below in tree.items()}
    return list(tree)


def groups_of(tree: Any) -> dict[str, tuple[str, ...]]:
    """The other way round: each value with its groups, from the widest to the nearest."""
    return {path[0]: path[:0:-1] for path in tree_paths(tree)}


def groups_in_file(path: Path) -> dict[str, tuple[str, ...]]:
    """An ARX hierarchy as each value with its groups; a level on which a value stands for itself is none of them."""
    found = {}
    for leaf, *above in read_hierarchy(path):
        names = [name for name, _ in groupby(above) if name not in {leaf, ROOT}]
        found[leaf] = tuple(reversed(names))
    tree_of(found)  # what is no tree of groups is refused
    return found


def moved(groups: Mapping[str, str], values: Iterable[str], into: str) -> dict[str, str]:
    """Some values moved into a group; none: they stand by themselves again."""
    return {**groups, **dict.fromkeys(values, into.strip())}


def arx_lines(tree: Any) -> str:
    """The tree as ARX writes a hierarchy: `leaf;level 1;...;*`, a line for each value."""
    paths = list(tree_paths(tree))
    height = max((len(path) for path in paths), default=1)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", lineterminator="\n")
    for leaf, *above in paths:
        # A value with fewer groups than others stands for itself on the levels that it lacks.
        writer.writerow([leaf, *[leaf] * (height - 1 - len(above)), *above, ROOT])
    return out.getvalue()
