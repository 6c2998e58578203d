"""Building taxonomies: ARX hierarchy files, nested trees, numeric ranges, prefixes, dates, flat.

A `Hierarchy` is what the schema says about a column; together with the values that occur it becomes a `Coding`: a
Taxonomy and the typed leaf values that turn a column into leaf codes.
"""

import csv
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Floats
from reissue.errors import TaxonomyError
from reissue.taxonomy import ROOT, Level, Taxonomy

__all__ = ["DATE_STEPS", "KINDS", "Coding", "Hierarchy", "automatic_widths", "prepare", "read_hierarchy"]

KINDS = ("auto", "flat", "ranges", "prefix", "dates", "file", "tree")
DATE_STEPS = ("month", "quarter", "year")


@dataclass(frozen=True)
class Hierarchy:
    """How the values of one column are generalized, as the schema says it."""

    kind: str = "auto"
    ranges: tuple[float, ...] = ()
    """Widths of the ranges, each a multiple of the one before."""
    prefix: tuple[int, ...] = ()
    """How many characters are kept, fewer and fewer."""
    dates: tuple[str, ...] = DATE_STEPS
    file: Path | None = None
    tree: Mapping[str, Any] = field(default_factory=dict)
    delimiter: str | None = None
    header: bool = False
    unlisted: str = "error"
    """What a value that the file or tree lacks means: "error", or "root" to hang it directly under the root."""
    ordered: bool | None = None
    """Whether ranges other than the file's own may be published; by default yes if all leaves are numbers."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TaxonomyError(f"A taxonomy's kind must be one of {', '.join(KINDS)}.")
        if self.unlisted not in {"error", "root"}:
            raise TaxonomyError('`unlisted` must be "error" or "root".')
        if self.kind == "ranges":
            _check_widths(self.ranges)
        if self.kind == "prefix" and (
            not self.prefix or min(self.prefix) < 1 or list(self.prefix) != sorted(set(self.prefix), reverse=True)
        ):
            raise TaxonomyError("`prefix` must list how many characters to keep, fewer each time, for example [3, 1].")
        unknown = [step for step in self.dates if step not in DATE_STEPS]
        if unknown or [s for s in DATE_STEPS if s in self.dates] != list(self.dates):
            raise TaxonomyError(f"`dates` must list some of {', '.join(DATE_STEPS)}, in this order.")


@dataclass(frozen=True, eq=False)
class Coding:
    """A taxonomy with the typed values of its leaves: turns a column into leaf codes."""

    hierarchy: Hierarchy
    taxonomy: Taxonomy
    leaves: pl.Series
    """The leaves' values in code order, without the missing one."""

    @classmethod
    def build(cls, hierarchy: Hierarchy, column: pl.Series) -> "Coding":
        """The coding for a prepared column (see `prepare`): its own values, and all that the hierarchy lists."""
        values = column.drop_nulls().unique().sort()
        missing = len(values) == 0 or column.null_count() > 0
        kind = _settle(hierarchy.kind, values)
        if kind in {"file", "tree"}:
            paths = _file_paths(hierarchy) if kind == "file" else list(_tree_paths(hierarchy.tree, ()))
            return cls(hierarchy, *_from_paths(paths, hierarchy, values, missing))
        if kind == "prefix":
            return cls(hierarchy, _prefixes(values, hierarchy.prefix, missing), values)
        if kind == "dates":
            return cls(hierarchy, _dates(values, hierarchy.dates, missing), values)
        if kind == "ranges":
            widths = hierarchy.ranges or automatic_widths(values)
            return cls(hierarchy, _ranges(values, widths, missing), values)
        return cls(hierarchy, _assemble(_texts(values), [], _line(len(values)), ordered=False, missing=missing), values)

    def decode(self, codes: Codes) -> pl.Series:
        """The typed values of leaf codes; the missing leaf is null."""
        known = self.leaves.extend_constant(None, 1) if self.taxonomy.missing else self.leaves
        return known.gather(codes)

    def encode(self, column: pl.Series) -> tuple[Codes, Codes]:
        """Leaf codes of a prepared column (-1 where the taxonomy lacks the value), and the row numbers of those."""
        column = _match(column, self.leaves)
        known = pl.DataFrame({"value": self.leaves, "code": np.arange(len(self.leaves), dtype=np.int32)})
        joined = column.alias("value").to_frame().join(known, on="value", how="left", maintain_order="left")
        codes = joined["code"].fill_null(-1).to_numpy().copy()
        if self.taxonomy.missing:
            codes[column.is_null().to_numpy()] = self.taxonomy.size - 1
        return codes, np.flatnonzero(codes < 0).astype(np.int32)


def prepare(column: pl.Series, hierarchy: Hierarchy) -> pl.Series:
    """The column in the type its hierarchy works on: text for prefixes, dates for dates, numbers for ranges."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Datetime:
        column = column.dt.date()
    if column.dtype == pl.Null:
        column = column.cast(pl.String)
    if hierarchy.kind == "prefix":
        return column.cast(pl.String)
    if hierarchy.kind == "dates" and column.dtype == pl.String:
        return _strictly(column, column.str.to_date(strict=False), "dates such as 2024-03-31")
    if hierarchy.kind == "ranges" and column.dtype == pl.String:
        whole = column.cast(pl.Int64, strict=False)
        if whole.null_count() == column.null_count():
            return whole
        return _strictly(column, column.cast(pl.Float64, strict=False), "numbers")
    return column


def _strictly(raw: pl.Series, parsed: pl.Series, expected: str) -> pl.Series:
    bad = np.flatnonzero((parsed.is_null() & raw.is_not_null()).to_numpy())
    if len(bad):
        rows = ", ".join(str(row + 1) for row in bad[:5])
        raise TaxonomyError(f"Column '{raw.name}' must hold {expected}; {len(bad)} values do not (first rows: {rows}).")
    return parsed


def _settle(kind: str, values: pl.Series) -> str:
    """What "auto" means for this column, and whether the kind fits it."""
    numeric, temporal = values.dtype.is_numeric(), values.dtype == pl.Date
    if kind == "auto":
        return "ranges" if numeric and len(values) else "dates" if temporal else "flat"
    if kind == "ranges" and not numeric and len(values):
        raise TaxonomyError(f"Column '{values.name}' has ranges in the schema, but holds no numbers.")
    if kind == "dates" and not temporal and len(values):
        raise TaxonomyError(f"Column '{values.name}' has dates in the schema, but holds no dates.")
    return kind if len(values) or kind in {"file", "tree"} else "flat"


def _match(column: pl.Series, leaves: pl.Series) -> pl.Series:
    """The column in the leaves' type."""
    return column if column.dtype == leaves.dtype else column.cast(leaves.dtype, strict=False)


def _texts(values: pl.Series) -> list[str]:
    return values.cast(pl.String).to_list()


def _line(count: int) -> Floats:
    return np.arange(count, dtype=np.float64)


def _assemble(
    leaves: Sequence[str],
    groupings: Sequence[tuple[Codes, Sequence[str]]],
    positions: Floats,
    *,
    ordered: bool,
    missing: bool,
) -> Taxonomy:
    """Levels from groupings of the leaves (node numbers never decrease), with the root and the missing leaf added."""
    size = len(leaves)
    levels = [(np.arange(size, dtype=np.int32), tuple(leaves)), *((node, tuple(names)) for node, names in groupings)]
    extra = np.array([0], np.int32)
    built = [
        Level(np.append(node, extra + len(names)), (*names, None)) if missing else Level(node, names)
        for node, names in levels
    ]
    if missing:
        positions = np.append(positions, positions[-1] + 1 if size else 0.0)
    built.append(Level(np.zeros(len(positions), np.int32), (ROOT,)))
    _check_names(built)
    return Taxonomy(tuple(built), positions, ordered=ordered, missing=missing)


def _check_names(levels: Sequence[Level]) -> None:
    """One text must mean one set of values, or published groups that differ would look the same."""
    meaning: dict[str | None, tuple[int, int]] = {}
    for number, level in enumerate(levels):
        bounds = zip(level.first[:-1].tolist(), level.first[1:].tolist(), strict=True)
        for name, bound in zip(level.names, bounds, strict=True):
            if meaning.setdefault(name, bound) != bound:
                raise TaxonomyError(
                    f"A taxonomy uses the same name for different sets of values (seen on level {number}). "
                    f"Give every node a name of its own; '{ROOT}' is the root's."
                )


def _runs(keys: Sequence[Any]) -> tuple[Codes, list[Any]]:
    """Node numbers for keys that stand together, and the distinct keys."""
    node = np.empty(len(keys), np.int32)
    distinct: list[Any] = []
    for leaf, key in enumerate(keys):
        if not distinct or distinct[-1] != key:
            distinct.append(key)
        node[leaf] = len(distinct) - 1
    return node, distinct


# --- files and trees -------------------------------------------------------------------------------------------------


def read_hierarchy(path: Path, delimiter: str | None = None, *, header: bool = False) -> list[tuple[str, ...]]:
    """The rows of an ARX hierarchy file: leaf, level 1, ..., root."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TaxonomyError(f"The hierarchy file '{path}' does not exist.") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise TaxonomyError(f"The hierarchy file '{path}' cannot be read as UTF-8 text.") from problem
    lines = text.splitlines()
    if delimiter is None:
        delimiter = max(";,\t|", key=lines[0].count) if lines else ";"
    rows = [tuple(cell.strip() for cell in row) for row in csv.reader(lines, delimiter=delimiter) if row]
    rows = rows[1:] if header else rows
    if not rows:
        raise TaxonomyError(f"The hierarchy file '{path}' has no rows.")
    uneven = [number for number, row in enumerate(rows, start=1 + header) if len(row) != len(rows[0])]
    if uneven:
        raise TaxonomyError(
            f"The hierarchy file '{path}' has {len(rows[0])} columns in its first row, but another number in row "
            f"{uneven[0]}. Every row must be leaf{delimiter}level1{delimiter}...{delimiter}{ROOT}"
        )
    return rows


def _file_paths(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    if hierarchy.file is None:
        raise TaxonomyError("A taxonomy of kind 'file' needs `file`.")
    return read_hierarchy(hierarchy.file, hierarchy.delimiter, header=hierarchy.header)


def _tree_paths(tree: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths leaf, parent, ..., below the root. An empty list or table makes its name a leaf."""
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            if below:
                yield from _tree_paths(below, (name, *above))
            else:
                yield (name, *above)
    elif isinstance(tree, list):
        for leaf in tree:
            if isinstance(leaf, Mapping):
                yield from _tree_paths(leaf, above)
            else:
                yield (str(leaf), *above)
    else:
        raise TaxonomyError("A `tree` must be made of tables and lists of values.")


def _from_paths(
    paths: list[tuple[str, ...]], hierarchy: Hierarchy, values: pl.Series, missing: bool
) -> tuple[Taxonomy, pl.Series]:
    """Leaves in depth-first order (numeric order where the tree allows it), each level a grouping of them."""
    paths = _level_paths(paths)
    leaves = pl.Series(values.name, [path[0] for path in paths], dtype=pl.String)
    if leaves.n_unique() < len(leaves):
        raise TaxonomyError(f"The taxonomy of column '{values.name}' lists a value twice.")
    paths, leaves = _with_unlisted(paths, leaves, hierarchy, values)
    numbers = leaves.cast(pl.Float64, strict=False)
    ordered = hierarchy.ordered is not False and numbers.null_count() == 0
    if ordered:
        order = numbers.arg_sort().to_list()
        ordered = _contiguous([paths[leaf] for leaf in order])
    if not ordered:
        order = _depth_first(paths)
    paths = [paths[leaf] for leaf in order]
    if not _contiguous(paths):
        raise TaxonomyError(f"The taxonomy of column '{values.name}' is no tree: a name stands under two parents.")
    groupings = [_runs([path[level] for path in paths]) for level in range(1, len(paths[0]))]
    if groupings and len(groupings[-1][1]) == 1:
        groupings.pop()
    positions = numbers.gather(order).to_numpy() if ordered else _line(len(paths))
    taxonomy = _assemble([path[0] for path in paths], groupings, positions, ordered=ordered, missing=missing)
    leaves = leaves.gather(order)
    if values.dtype.is_numeric():
        typed = leaves.cast(values.dtype, strict=False)
        if typed.null_count() == 0 and typed.n_unique() == len(typed):
            leaves = typed
    return taxonomy, leaves


def _level_paths(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """All paths made as long as the longest, by repeating the leaf."""
    longest = max((len(path) for path in paths), default=1)
    return [(path[0],) * (longest - len(path)) + path for path in paths]


def _with_unlisted(
    paths: list[tuple[str, ...]], leaves: pl.Series, hierarchy: Hierarchy, values: pl.Series
) -> tuple[list[tuple[str, ...]], pl.Series]:
    if hierarchy.unlisted == "error":
        return paths, leaves
    texts = values.cast(pl.String)
    extra = texts.filter(~texts.is_in(leaves.implode()))
    top = {path[-1] for path in paths}
    below_root = len(paths[0]) - (1 if len(top) == 1 else 0)
    paths = paths + [(text,) * below_root + paths[0][below_root:] for text in extra]
    return paths, leaves.extend(extra.alias(leaves.name))


def _depth_first(paths: list[tuple[str, ...]]) -> list[int]:
    """An order that keeps each node's leaves together; siblings stay in the order of their first appearance."""
    seen: dict[tuple[str, ...], int] = {}
    keys = [tuple(seen.setdefault(path[level:], len(seen)) for level in range(len(path))[::-1]) for path in paths]
    return sorted(range(len(paths)), key=keys.__getitem__)


def _contiguous(paths: list[tuple[str, ...]]) -> bool:
    """Whether every level's names stand together and the levels nest."""
    for level in range(1, len(paths[0]) if paths else 0):
        _, distinct = _runs([path[level] for path in paths])
        _, chains = _runs([path[level:] for path in paths])
        if len(set(distinct)) < len(distinct) or len(chains) > len(distinct):
            return False
    return True


# --- numbers, codes, dates -------------------------------------------------------------------------------------------


def _check_widths(widths: Sequence[float]) -> None:
    good = all(math.isfinite(width) and width > 0 for width in widths)
    pairs = itertools.pairwise(widths)
    if not good or any(b <= a or abs(b / a - round(b / a)) > 1e-9 for a, b in pairs):
        raise TaxonomyError("`ranges` must list positive widths, each a multiple of the one before, like [5, 10, 20].")


def automatic_widths(values: pl.Series) -> tuple[float, ...]:
    """A round width near a twentieth of the span, then doubled until one range would hold everything."""
    span = float(values[-1]) - float(values[0])
    if span == 0:
        return ()
    rough = span / 20
    scale = 10.0 ** math.floor(math.log10(rough))
    width = next(scale * step for step in (1, 2, 5, 10) if scale * step >= rough * 0.999)
    width = max(width, 1.0) if values.dtype.is_integer() else width
    widths = []
    while width < span:
        widths.append(width)
        width *= 2
    return tuple(widths)


def _ranges(values: pl.Series, widths: Sequence[float], missing: bool) -> Taxonomy:
    numbers = values.to_numpy().astype(np.float64)
    whole = values.dtype.is_integer() and all(float(width).is_integer() for width in widths)
    groupings = []
    for width in widths:
        bins = np.floor(numbers / width + 1e-12)
        starts, node = np.unique(bins, return_inverse=True)
        groupings.append((node.astype(np.int32), [_range_name(start, width, whole) for start in starts.tolist()]))
    return _assemble(_texts(values), groupings, numbers, ordered=True, missing=missing)


def _range_name(bin_number: float, width: float, whole: bool) -> str:
    low = bin_number * width
    if whole:
        return f"[{int(low)}, {int(low + width) - 1}]" if width > 1 else str(int(low))
    return f"[{low:.12g}, {low + width:.12g})"


def _prefixes(values: pl.Series, keep: Sequence[int], missing: bool) -> Taxonomy:
    texts = _texts(values)
    groupings = []
    for count in keep:
        node, heads = _runs([text[:count] for text in texts])
        length = np.zeros(len(heads), np.int64)
        np.maximum.at(length, node, [len(text) for text in texts])
        groupings.append((node, [h + "*" * int(n - len(h)) for h, n in zip(heads, length, strict=True)]))
    return _assemble(texts, groupings, _line(len(texts)), ordered=False, missing=missing)


def _dates(values: pl.Series, steps: Sequence[str], missing: bool) -> Taxonomy:
    year = values.dt.year().cast(pl.String)
    names = {
        "month": values.dt.strftime("%Y-%m").to_list(),
        "quarter": (year + "-Q" + values.dt.quarter().cast(pl.String)).to_list(),
        "year": year.to_list(),
    }
    groupings = [_runs(names[step]) for step in steps]
    positions = values.to_physical().to_numpy().astype(np.float64)
    return _assemble(_texts(values), groupings, positions, ordered=True, missing=missing)
