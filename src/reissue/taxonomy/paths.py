"""Taxonomies from lists of paths (ARX hierarchy files and nested tables), and back to groups of values and files.

A path is leaf, parent, ..., top. Leaves are put in an order that keeps every node's leaves together: numeric order
where all leaves are numbers and the tree allows it, else the order in which they are listed.
"""

import csv
import datetime as dt
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from reissue._arrays import Codes, Floats
from reissue.errors import TaxonomyError
from reissue.files.places import read_whole
from reissue.taxonomy.tree import ROOT, Taxonomy, assemble
from reissue.words import plural

__all__ = [
    "Paths",
    "arx_lines",
    "from_paths",
    "groups_in_file",
    "groups_of",
    "moved",
    "read_hierarchy",
    "tree_of",
    "tree_paths",
    "with_unlisted",
]

Paths: TypeAlias = list[tuple[str, ...]]
_DELIMITERS = ";,\t|"
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


def read_hierarchy(path: Path, delimiter: str | None = None, *, header: bool = False) -> Paths:
    """Read the rows of an ARX hierarchy file: leaf, level 1, ..., root.

    Without `header`, a header is recognized by its last cell, which is not the root.
    """
    try:
        text = read_whole(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise TaxonomyError(f"The hierarchy file '{path}' does not exist.") from None
    except (OSError, UnicodeDecodeError):
        raise TaxonomyError(
            f"The hierarchy file '{path}' cannot be read: it must be a regular file of UTF-8 text."
        ) from None
    rows = _split(text, path, delimiter)
    lines = range(1, len(rows) + 1)
    if header or _has_header(rows):
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise TaxonomyError(f"The hierarchy file '{path}' has no rows.")
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(rows[0]):
            raise TaxonomyError(
                f"The hierarchy file '{path}' has {len(rows[0])} columns in its first row, but another number in row "
                f"{line}. Every row must be  leaf;level1;...;{ROOT}  with one delimiter throughout."
            )
        if "" in row[1:]:
            raise TaxonomyError(
                f"The hierarchy file '{path}' has an empty cell in row {line}. Every node needs a name."
            )
    return rows


def _split(text: str, path: Path, delimiter: str | None) -> Paths:
    """The cells of each non-blank line, split by the given or best delimiter."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise TaxonomyError("`delimiter` must be one single character.")
    tried = [_rows(text, mark) for mark in (_DELIMITERS if delimiter is None else delimiter)]
    best = max((rows for rows in tried if rows is not None), key=_regularity, default=[])
    if None in tried and _regularity(best)[1] < 2:
        raise TaxonomyError(f"The hierarchy file '{path}' has unbalanced quotes.")
    return best


def _rows(text: str, delimiter: str) -> Paths | None:
    try:
        cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return [tuple(cell.strip() for cell in row) for row in cells if any(row)]


def _regularity(rows: Paths) -> tuple[bool, int]:
    """How regular a split is: whether all rows have the same number of cells, and how many."""
    widths = {len(row) for row in rows}
    widest = max(widths, default=0)
    return len(widths) == 1 and widest > 1, widest


def _has_header(rows: Paths) -> bool:
    """Whether all rows but the first end in the root's name."""
    return len(rows) > 1 and rows[0][-1] != ROOT and all(row[-1] == ROOT for row in rows[1:])


def tree_paths(tree: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of a nested table, below the root. The name of an empty list or table is a leaf."""
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            empty = isinstance(below, Mapping | list | tuple) and not below
            yield from [(str(name), *above)] if empty else tree_paths(below, (str(name), *above))
    elif isinstance(tree, list | tuple):
        for leaf in tree:
            yield from tree_paths(leaf, above) if isinstance(leaf, Mapping) else [(_leaf(leaf), *above)]
    else:
        raise TaxonomyError("A `tree` must be made of tables and lists of values.")


def _leaf(value: Any) -> str:
    """A leaf as a column of its type prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float | dt.date | dt.time):
        return str(value)
    raise TaxonomyError("A `tree` must be made of tables and lists of values.")


def with_unlisted(paths: Paths, texts: Sequence[str]) -> Paths:
    """Add a path directly under the root for each text that is not a leaf."""
    paths = _even(paths)
    known = {path[0] for path in paths}
    tops = {path[-1] for path in paths}
    height = len(paths[0]) if paths else 1
    root = tops if len(tops) == 1 and height > 1 else set()
    return paths + [(text,) * (height - len(root)) + tuple(root) for text in texts if text not in known]


def from_paths(paths: Paths, column: str, *, ordered: bool | None, missing: bool) -> tuple[Taxonomy, list[str]]:
    """Build a taxonomy from paths; return it with its leaves in code order."""
    paths = _even(paths)
    _check_leaves([path[0] for path in paths], column)
    order, positions = _order(paths, column, ordered)
    paths = [paths[leaf] for leaf in order]
    if not _contiguous(paths):
        raise TaxonomyError(
            f"The taxonomy of column '{column}' is no tree: a name stands under two parents. {_ONE_PARENT}"
        )
    groupings = [runs([path[level] for path in paths]) for level in range(1, len(paths[0]))]
    root = ROOT
    while groupings and len(groupings[-1][1]) == 1:
        _, (top,) = groupings.pop()
        root = top if root == ROOT else root
    leaves = [path[0] for path in paths]
    line = np.arange(len(leaves), dtype=np.float64) if positions is None else positions
    on_a_line = positions is not None
    return assemble(leaves, groupings, line, ordered=on_a_line, missing=missing, root=root), leaves


_ONE_PARENT = (
    "A value has one parent: choose the grouping that matters, or give the other one a column of its own, a copy with "
    "its own taxonomy."
)


def _check_leaves(leaves: Sequence[str], column: str) -> None:
    if not leaves:
        raise TaxonomyError(f"The taxonomy of column '{column}' lists no value.")
    first = {leaf: place for place, leaf in reversed(list(enumerate(leaves)))}
    twice = [str(place + 1) for place, leaf in enumerate(leaves) if first[leaf] != place]
    if twice:
        raise TaxonomyError(
            f"The taxonomy of column '{column}' lists {plural(len(twice), 'value')} again (entries "
            f"{', '.join(twice[:5])}). {_ONE_PARENT}"
        )


def _even(paths: Paths) -> Paths:
    """The paths, all as long as the longest, by repeating the leaf."""
    longest = max((len(path) for path in paths), default=1)
    return [(path[0],) * (longest - len(path)) + path for path in paths]


def _order(paths: Paths, column: str, ordered: bool | None) -> tuple[list[int], Floats | None]:
    """The order of the leaves, and their positions on a line if ranges of them may be published."""
    leaves = [path[0] for path in paths]
    if all(_NUMBER.fullmatch(leaf) for leaf in leaves):
        numbers = [float(leaf) for leaf in leaves]
        order = sorted(range(len(leaves)), key=numbers.__getitem__)
        distinct = all(numbers[a] < numbers[b] for a, b in itertools.pairwise(order))
        if ordered is not False and distinct and _contiguous([paths[leaf] for leaf in order]):
            return order, np.array([numbers[leaf] for leaf in order])
        if ordered:
            raise TaxonomyError(
                f"The taxonomy of column '{column}' says  ordered = true,  but its nodes do not hold neighbours."
            )
    order = _depth_first(paths)
    if not ordered:
        return order, None
    if order != list(range(len(paths))) or any(", " in leaf for leaf in leaves):
        raise TaxonomyError(
            f"The taxonomy of column '{column}' says  ordered = true,  so it must list its leaves from low to high, "
            "each node's leaves together, and no leaf may contain a comma and a space."
        )
    return order, np.arange(len(paths), dtype=np.float64)


def _depth_first(paths: Paths) -> list[int]:
    """An order that keeps the leaves of each node together; siblings stay in the order of their first appearance."""
    seen: dict[tuple[str, ...], int] = {}
    keys = [tuple(seen.setdefault(path[level:], len(seen)) for level in range(len(path))[::-1]) for path in paths]
    return sorted(range(len(paths)), key=keys.__getitem__)


def _contiguous(paths: Paths) -> bool:
    """Whether the names of every level stand together and the levels nest."""
    for level in range(1, len(paths[0]) if paths else 0):
        _, distinct = runs([path[level] for path in paths])
        _, chains = runs([path[level:] for path in paths])
        if len(set(distinct)) < len(distinct) or len(chains) > len(distinct):
            return False
    return True


def runs(keys: Sequence[Any]) -> tuple[Codes, list[Any]]:
    """Number consecutive equal keys; return the number of each key, and the distinct keys."""
    node = np.empty(len(keys), np.int32)
    distinct: list[Any] = []
    for leaf, key in enumerate(keys):
        if not distinct or distinct[-1] != key:
            distinct.append(key)
        node[leaf] = len(distinct) - 1
    return node, distinct


def tree_of(groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Build the tree in which each value lies in its groups, named from the widest to the narrowest.

    A value in no group lies directly under the root.
    """
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
    """A group that contains only values as a list, one that contains groups as a table."""
    if any(tree.values()):
        return {name: _short(below) for name, below in tree.items()}
    return list(tree)


def groups_of(tree: Any) -> dict[str, tuple[str, ...]]:
    """Return each value of a tree with its groups, from the widest to the narrowest."""
    return {path[0]: path[:0:-1] for path in tree_paths(tree)}


def groups_in_file(path: Path) -> dict[str, tuple[str, ...]]:
    """Return each value of an ARX hierarchy with its groups; levels on which a value stands for itself are skipped."""
    found = {}
    for leaf, *above in read_hierarchy(path):
        names = [name for name, _ in groupby(above) if name not in {leaf, ROOT}]
        found[leaf] = tuple(reversed(names))
    tree_of(found)  # refuses groups that form no tree
    return found


def moved(groups: Mapping[str, str], values: Iterable[str], into: str) -> dict[str, str]:
    """Move some values into a group, or out of any group if `into` is empty."""
    return {**groups, **dict.fromkeys(values, into.strip())}


def arx_lines(tree: Any) -> str:
    """Write a tree as an ARX hierarchy: `leaf;level 1;...;*`, one line per value."""
    paths = list(tree_paths(tree))
    height = max((len(path) for path in paths), default=1)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", lineterminator="\n")
    for leaf, *above in paths:
        # A value in fewer groups than others stands for itself on the missing levels.
        writer.writerow([leaf, *[leaf] * (height - 1 - len(above)), *above, ROOT])
    return out.getvalue()
