"""Hierarchies and codings: what the schema says about a column, and what becomes of it with the column's values.

A `Hierarchy` is what the schema says about a column; together with the values that occur it becomes a `Coding`: a
Taxonomy and the typed leaf values that turn a column into leaf codes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reissue._arrays import Codes, Floats
from reissue.errors import TaxonomyError
from reissue.files.cells import in_standard_writing, without_marks
from reissue.files.dialect import FOUND
from reissue.taxonomy.numbers import EXACT, automatic_widths, check_widths, dates, prefixes, ranges, texts
from reissue.taxonomy.paths import Paths, from_paths, read_hierarchy, tree_paths, with_unlisted
from reissue.taxonomy.tree import ROOT, Taxonomy, assemble, check_names

__all__ = [
    "DATE_STEPS",
    "KINDS",
    "Coding",
    "Hierarchy",
    "automatic_widths",
    "changed_labels",
    "leaf_numbers",
    "prepare",
    "read_hierarchy",
    "unrounded",
]

KINDS = ("auto", "flat", "ranges", "prefix", "dates", "file", "tree")
DATE_STEPS = ("month", "quarter", "year", "decade", "century")
_WIDE = (pl.Int128, pl.UInt128, pl.UInt64)
_FIT = (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean, pl.Date, pl.Datetime, pl.Time)


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """How the values of one column are generalized, as stated in the schema.

    Examples
    --------
    Ages in steps of 5, 10 and 20 years, and a tree of countries:

    >>> import reissue as ri
    >>> ages = ri.Hierarchy("ranges", ranges=(5, 10, 20))
    >>> countries = ri.Hierarchy("tree", tree={"Europe": ["UK", "France"], "Americas": ["US", "Canada"]})
    >>> schema = ri.Schema.of_columns(
    ...     quasi=["age", "country"], sensitive=["disease"], taxonomies={"age": ages, "country": countries}
    ... )
    >>> schema.hierarchies["age"].ranges
    (5, 10, 20)
    """

    kind: str = "auto"
    """One of KINDS; may be omitted where `ranges`, `prefix`, `file` or `tree` implies it."""
    ranges: tuple[float, ...] = ()
    """Widths of the ranges, each a multiple of the one before."""
    prefix: tuple[int, ...] = ()
    """Numbers of characters to keep, in decreasing order."""
    dates: tuple[str, ...] = DATE_STEPS
    file: Path | None = None
    tree: Mapping[str, Any] = field(default_factory=dict)
    delimiter: str | None = None
    header: bool = False
    unlisted: str = "error"
    """What to do with a value that the file or tree lacks: "error", or "root" to place it directly under the root."""
    ordered: bool | None = None
    """Whether ranges other than the file's own may be published; by default if all leaves are numbers."""
    bottom: float | None = None
    """With `ranges`: this number and all below it become one value, published as `<=18`."""
    top: float | None = None
    """With `ranges`: this number and all above it become one value, published as `>=90`."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TaxonomyError(f"A taxonomy's kind must be one of {', '.join(KINDS)}.")
        given = [kind for kind in ("ranges", "prefix", "file", "tree") if getattr(self, kind)]
        if self.kind == "auto" and len(given) == 1:
            object.__setattr__(self, "kind", given[0])
        if given not in ([], [self.kind]):
            raise TaxonomyError(f"A taxonomy of kind '{self.kind}' cannot have {' and '.join(given)} too.")
        if self.kind in {"file", "tree"} and not given:
            raise TaxonomyError(f"A taxonomy of kind '{self.kind}' needs `{self.kind}`, and not an empty one.")
        self._check_steps()
        self._check_options()

    def __repr__(self) -> str:
        """A short description, without the values of a tree."""
        steps: tuple[object, ...] = {"ranges": self.ranges, "prefix": self.prefix, "dates": self.dates}.get(
            self.kind, ()
        )
        said = ", ".join(str(step).removesuffix(".0") for step in steps)
        return f"Hierarchy by {self.kind} {said}".rstrip() + "."

    def labels(self) -> dict[str, frozenset[str]]:
        """Return every label in the file or tree with the leaves that it stands for; empty for other kinds."""
        if self.kind not in {"file", "tree"}:
            return {}
        below: dict[str, set[str]] = {}
        for leaf, *above in listed_paths(self):
            for label in (leaf, *above):
                below.setdefault(label, set()).add(leaf)
        return {label: frozenset(leaves) for label, leaves in below.items()}

    def _check_steps(self) -> None:
        check_widths(self.ranges)
        steps = list(self.prefix)
        if self.kind == "prefix" and (not steps or min(steps) < 1 or steps != sorted(set(steps), reverse=True)):
            raise TaxonomyError("`prefix` must list how many characters to keep, fewer each time, for example [3, 1].")
        if [step for step in DATE_STEPS if step in self.dates] != list(self.dates):
            raise TaxonomyError(f"`dates` must list some of {', '.join(DATE_STEPS)}, in this order.")

    def _check_options(self) -> None:
        if self.unlisted not in {"error", "root"}:
            raise TaxonomyError('`unlisted` must be "error" or "root".')
        if not isinstance(self.header, bool) or not isinstance(self.ordered, bool | None):
            raise TaxonomyError("`header` and `ordered` must be true or false.")
        if self.delimiter is not None and (not isinstance(self.delimiter, str) or len(self.delimiter) != 1):
            raise TaxonomyError("`delimiter` must be one single character.")
        listed = self.kind in {"file", "tree"}
        if not listed and (self.unlisted != "error" or self.ordered is not None):
            raise TaxonomyError(
                "`unlisted` and `ordered` are for taxonomies that list their values: `file` and `tree`."
            )
        self._check_ends()
        if self.kind != "file" and (self.header or self.delimiter is not None):
            raise TaxonomyError("`header` and `delimiter` are for taxonomies from a `file`.")

    def _check_ends(self) -> None:
        given = [end for end in (self.bottom, self.top) if end is not None]
        if any(isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end) for end in given):
            raise TaxonomyError("`bottom` and `top` must be numbers.")
        if given and self.kind != "ranges":
            raise TaxonomyError("`bottom` and `top` are for numbers: write them beside `ranges`.")
        if len(given) == 2 and given[0] >= given[1]:
            raise TaxonomyError("`bottom` must be below `top`.")


@dataclass(frozen=True, eq=False)
class Coding:
    """A taxonomy with the typed values of its leaves: it turns a column into leaf codes."""

    hierarchy: Hierarchy
    taxonomy: Taxonomy
    leaves: pl.Series
    """The values of the leaves in code order, without the missing one."""

    @classmethod
    def build(cls, hierarchy: Hierarchy, column: pl.Series, *, published: bool = True) -> "Coding":
        """Build the coding of a prepared column (see `prepare`) from its values and those that the hierarchy lists.

        With `published` the texts of the taxonomy are published, so each must have a single meaning.
        """
        values = _distinct(column)
        missing = len(values) == 0 or column.null_count() > 0
        taxonomy, leaves = _build(hierarchy, values, missing)
        if published:
            _check_leaves(taxonomy, hierarchy, column.name)
            check_names(taxonomy, column.name)
        return cls(hierarchy, taxonomy, leaves)

    def decode(self, codes: Codes) -> pl.Series:
        """Return the typed values of leaf codes; the missing leaf is null."""
        known = self.leaves.extend_constant(None, 1) if self.taxonomy.missing else self.leaves
        return known.gather(codes)

    def encode(self, column: pl.Series) -> tuple[Codes, Codes]:
        """Return the leaf codes of a prepared column (-1 for unknown values), and the rows of unknown values."""
        leaves = self.leaves
        if column.dtype == pl.String and (leaves.dtype.is_temporal() or leaves.dtype == pl.Boolean):
            # Values that were written to a text file come back as text.
            codes = _lookup(_time_text(column), _time_text(leaves.cast(pl.String)))
        else:
            codes = _lookup(_match(column, leaves), leaves)
        if self.taxonomy.missing and column.null_count():
            codes[column.is_null().to_numpy()] = self.taxonomy.size - 1
        lacking = np.flatnonzero(codes < 0) if codes.min(initial=0) < 0 else np.empty(0, np.int32)
        return codes, lacking.astype(np.int32)


def _build(hierarchy: Hierarchy, values: pl.Series, missing: bool) -> tuple[Taxonomy, pl.Series]:
    kind = _settle(hierarchy.kind, values)
    if kind == "prefix":
        return prefixes(values, hierarchy.prefix, missing=missing), values
    if kind == "dates":
        return dates(values, hierarchy.dates, missing=missing), values
    if kind == "ranges":
        widths = hierarchy.ranges or automatic_widths(values)
        return ranges(values, widths, missing=missing, bottom=hierarchy.bottom, top=hierarchy.top), values
    if kind == "flat":
        return assemble(texts(values), [], np.arange(len(values), dtype=np.float64), missing=missing), values
    paths = listed_paths(hierarchy)
    paths = with_unlisted(paths, texts(values)) if hierarchy.unlisted == "root" else paths
    taxonomy, listed = from_paths(paths, values.name, ordered=hierarchy.ordered, missing=missing)
    return taxonomy, _typed(pl.Series(values.name, listed, dtype=pl.String), values.dtype)


def listed_paths(hierarchy: Hierarchy) -> Paths:
    """Return the paths that the file or tree of a hierarchy lists."""
    if hierarchy.file is not None:
        return read_hierarchy(hierarchy.file, hierarchy.delimiter, header=hierarchy.header)
    return list(tree_paths(hierarchy.tree))


def leaf_numbers(coding: Coding) -> Floats | None:
    """The number of each leaf, NaN for the missing value; None where leaves are no numbers.

    Where the first or last leaf stands for all beyond it (bottom and top coding) it is that bound.
    """
    kind = coding.leaves.dtype
    if not (kind.is_numeric() or (coding.taxonomy.ordered and kind == pl.String)):
        return None
    numbers = coding.leaves.cast(pl.Float64, strict=False)
    if numbers.null_count() or not len(numbers):
        return None
    return np.append(numbers.to_numpy(), [np.nan] * coding.taxonomy.missing)


def changed_labels(before: Hierarchy, now: Hierarchy) -> list[str]:
    """Return the labels in both hierarchies that stand for different values, among the values that both list."""
    old, new = before.labels(), now.labels()
    both = frozenset().union(*old.values()) & frozenset().union(*new.values())
    return [label for label, leaves in new.items() if label in old and leaves & both != old[label] & both]


def _typed(leaves: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The listed leaves as numbers if the column is numeric and every leaf is a number."""
    if not dtype.is_numeric():
        return leaves
    typed = leaves.cast(dtype, strict=False)
    same = typed.null_count() == 0 and (typed.cast(pl.Float64) == leaves.cast(pl.Float64, strict=False)).all()
    return typed if same and typed.n_unique() == len(typed) else leaves


def _check_leaves(taxonomy: Taxonomy, hierarchy: Hierarchy, column: str) -> None:
    """Refuse values that a recipient of the release would take for something else."""
    stars = ROOT if hierarchy.kind == "prefix" else None
    bad = [
        name
        for name in taxonomy.names
        if name and (not name.strip(ROOT) or (name[0] == "{" and name[-1] == "}") or (stars and name.endswith(stars)))
    ]
    if bad:
        raise TaxonomyError(
            f"Column '{column}' has {len(bad)} different values that read like generalized ones, such as '{ROOT}', "
            "'{..., ...}' or a code that ends in asterisks; a release could not be told from them. Rename these values."
        )


def prepare(column: pl.Series, hierarchy: Hierarchy) -> pl.Series:
    """Convert a column to the type its hierarchy works on: text for prefixes, dates for dates, numbers for ranges.

    Values beyond `bottom` and `top` become these numbers.
    """
    typed = _typed_column(column, hierarchy)
    ends = [end for end in (hierarchy.bottom, hierarchy.top) if end is not None]
    if not ends or not typed.dtype.is_numeric():
        return typed
    whole = typed.dtype.is_integer()
    if whole and not all(float(end).is_integer() for end in ends):
        raise TaxonomyError(
            f"Column '{column.name}' holds whole numbers; `bottom` and `top` must be whole numbers too."
        )
    low, high = (None if end is None else int(end) if whole else end for end in (hierarchy.bottom, hierarchy.top))
    return typed.cast(pl.Int64 if whole else pl.Float64).clip(low, high)


def _typed_column(column: pl.Series, hierarchy: Hierarchy) -> pl.Series:
    """The column in the type its hierarchy works on, without bottom and top."""
    if not (column.dtype.is_numeric() or isinstance(column.dtype, _FIT)):
        raise TaxonomyError(
            f"Column '{column.name}' has a type ({column.dtype.base_type()}) that cannot be generalized. Make it text, "
            "numbers or dates, or leave it out."
        )
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if isinstance(column.dtype, pl.Categorical | pl.Enum | pl.Null):
        column = column.cast(pl.String)
    if column.dtype == pl.Datetime and hierarchy.kind != "flat":
        column = column.dt.date()
    if column.dtype.is_numeric():
        return _plain_numbers(column, hierarchy.kind)
    if hierarchy.kind == "prefix":
        return column.cast(pl.String)
    if column.dtype == pl.String and hierarchy.kind in {"dates", "ranges"}:
        return _parsed(column, hierarchy.kind)
    return column


def unrounded(hierarchy: Hierarchy, column: pl.Series) -> Hierarchy:
    """Return the hierarchy for a column that is published as it is: to the second, and without bottom and top."""
    if hierarchy.kind == "auto" and column.dtype == pl.Datetime:
        return Hierarchy("flat")
    return replace(hierarchy, bottom=None, top=None)


def _plain_numbers(column: pl.Series, kind: str) -> pl.Series:
    """Numbers as Int64 or smaller, or as floats, without loss; text where the kind needs text."""
    if column.dtype.is_float():
        # Many tools store whole numbers with gaps as floats; 31.0 is the age 31.
        whole = column.cast(pl.Int64, strict=False)
        column = whole if (whole.cast(column.dtype) == column).all() and _exact(column) else column
    if column.dtype.is_decimal() and kind in {"auto", "ranges"}:
        column = _undecimal(column)
    if isinstance(column.dtype, _WIDE):
        narrow = column.cast(pl.Int64, strict=False)
        column = narrow if narrow.null_count() == column.null_count() else column.cast(pl.String)
        if column.dtype == pl.String and kind == "ranges":
            raise TaxonomyError(f"Column '{column.name}' holds whole numbers beyond 64 bits: too large for ranges.")
    return column.cast(pl.String) if kind == "prefix" else column


def _exact(column: pl.Series) -> bool:
    """Whether floats of this size still distinguish neighbouring whole numbers."""
    largest: Any = column.abs().max() or 0
    return bool(largest < EXACT)


def _undecimal(column: pl.Series) -> pl.Series:
    """Decimals as whole numbers or floats, if these distinguish all of them."""
    scale = getattr(column.dtype, "scale", 0)
    if scale == 0:
        return column.cast(pl.Int128)
    largest: Any = column.abs().max() or 0
    if int(largest * 10**scale) >= EXACT:
        raise TaxonomyError(f"Column '{column.name}' holds decimals with more than 15 digits: too many for ranges.")
    return column.cast(pl.Float64)


def _parsed(column: pl.Series, kind: str) -> pl.Series:
    """Text as dates or numbers, also in local notation; marks for missing values are missing."""
    frame, _ = without_marks(column.to_frame(), FOUND)
    column = frame[column.name]
    if column.dtype != pl.String:
        return column
    bare = in_standard_writing(column.str.strip_chars(), FOUND)
    if kind == "dates":
        return _strictly(column, bare.str.to_date("%Y-%m-%d", strict=False), "dates such as 2024-03-31")
    whole = bare.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole
    real = _strictly(column, bare.cast(pl.Float64, strict=False).fill_nan(None), "numbers")
    if (real.abs() >= EXACT).any():
        raise TaxonomyError(
            f"Column '{column.name}' holds numbers of more than 15 digits as text: too long for ranges."
        )
    return real


def _strictly(raw: pl.Series, parsed: pl.Series, expected: str) -> pl.Series:
    bad = np.flatnonzero((parsed.is_null() & raw.is_not_null()).to_numpy())
    if len(bad):
        rows = ", ".join(str(row + 1) for row in bad[:5])
        raise TaxonomyError(
            f"Column '{raw.name}' must hold {expected}; {len(bad)} values do not (first rows: {rows}). `reissue clean` "
            "reads such cells as missing."
        )
    return parsed


def _settle(kind: str, values: pl.Series) -> str:
    """The kind that "auto" stands for, checked against the type of the values."""
    numeric, temporal = values.dtype.is_numeric(), values.dtype == pl.Date
    if kind == "auto":
        kind = "ranges" if numeric and len(values) else "dates" if temporal else "flat"
    if kind == "ranges" and not numeric and len(values):
        raise TaxonomyError(f"Column '{values.name}' has ranges in the schema, but holds no numbers.")
    if kind == "dates" and not temporal and len(values):
        raise TaxonomyError(f"Column '{values.name}' has dates in the schema, but holds no dates.")
    if kind == "dates" and len(values) and not values.dt.year().is_between(1, 9999).all():
        raise TaxonomyError(f"Column '{values.name}' holds days outside the years 1 to 9999. Make them missing.")
    if kind == "ranges" and len(values) and not (math.isfinite(values[0]) and math.isfinite(values[-1])):
        raise TaxonomyError(f"Column '{values.name}' holds infinite numbers. Make them missing, or large ones.")
    return kind if len(values) or kind in {"file", "tree"} else "flat"


# --- from values to codes: the hot path ------------------------------------------------------------------------------


def _countable(column: pl.Series) -> bool:
    return column.dtype.is_integer() or column.dtype in {pl.Date, pl.Boolean}


def _whole(column: pl.Series) -> pl.Series:
    """Integers, dates or booleans as plain integers."""
    return column.cast(pl.Int8) if column.dtype == pl.Boolean else column.to_physical()


def _narrow(low: Any, high: Any, rows: int) -> bool:
    """Whether a lookup table of all integers from low to high is worth its memory."""
    return low is not None and int(high) - int(low) < max(4 * rows, 2**16)


def _distinct(column: pl.Series) -> pl.Series:
    """The distinct values, sorted."""
    if column.dtype.is_integer():
        low, high = column.min(), column.max()
        if _narrow(low, high, len(column)):
            present = np.flatnonzero(np.bincount(_offsets(column.drop_nulls(), int(low)))) + int(low)  # type: ignore[arg-type]
            return pl.Series(column.name, present, dtype=column.dtype)
    return column.drop_nulls().unique().sort()


def _offsets(column: pl.Series, low: int) -> NDArray[np.signedinteger]:
    """The difference of each integer from `low`."""
    wide = np.int64 if column.dtype in {pl.Int64, pl.UInt32} else np.int32
    above: NDArray[np.signedinteger] = np.subtract(column.to_numpy(), low, dtype=wide)
    return above


def _match(column: pl.Series, leaves: pl.Series) -> pl.Series:
    """The column in the type of the leaves; null where that would change the value."""
    if column.dtype == leaves.dtype:
        return column
    try:
        matched = column.cast(leaves.dtype, strict=False)
        if not (column.dtype.is_numeric() and leaves.dtype.is_numeric()):
            return matched
        same = (matched.cast(column.dtype, strict=False) == column).fill_null(value=False)
    except pl.exceptions.PolarsError:
        return pl.Series(column.name, [None], dtype=leaves.dtype).new_from_index(0, len(column))
    return matched if same.all() else pl.select(pl.when(same).then(matched)).to_series()


def _time_text(column: pl.Series) -> pl.Series:
    """Dates and times as text in a single notation."""
    return column.str.replace("T", " ", literal=True).str.replace(r"\.0+$", "")


def _lookup(column: pl.Series, leaves: pl.Series) -> Codes:
    """The position of each value among the leaves; -1 for missing values and for values that are not leaves."""
    if len(leaves) == 0 or len(column) == 0:
        return np.full(len(column), -1, np.int32)
    if column.dtype == pl.String:
        found = column.cast(pl.Enum(leaves), strict=False).to_physical()
        return _signed(found)
    if _countable(column) and _narrow(_whole(leaves).min(), _whole(leaves).max(), len(column)):
        return _by_table(_whole(column), _whole(leaves))
    known = pl.DataFrame({"value": leaves, "code": np.arange(len(leaves), dtype=np.int32)})
    joined = column.alias("value").to_frame().join(known, on="value", how="left", maintain_order="left")
    return _signed(joined["code"])


def _signed(codes: pl.Series) -> Codes:
    return codes.cast(pl.Int32).fill_null(-1).to_numpy(writable=True)


def _by_table(column: pl.Series, leaves: pl.Series) -> Codes:
    """Codes from a lookup table of all integers between the smallest and the largest leaf."""
    low, high = int(leaves.min()), int(leaves.max())  # type: ignore[arg-type]
    table = np.full(high - low + 2, -1, np.int32)
    table[leaves.to_numpy().astype(np.int64) - low] = np.arange(len(leaves), dtype=np.int32)
    if column.null_count() or column.min() < low or column.max() > high:  # type: ignore[operator]
        inside = column.is_between(low, high).fill_null(value=False)
        # The last place of the table stands for everything that is not a leaf.
        column = pl.select(pl.when(inside).then(column.cast(pl.Int64)).otherwise(high + 1)).to_series()
    return np.take(table, _offsets(column, low))
