"""Published values back into intervals of leaf codes: `[20, 34]`, `20-34`, node names, `{a, b}`, `53***`, `*`.

Works on what any tool published: with the holder's own coding, or, where only published files are at hand, with a
coding built from the end points and names that occur in them (`coding_of`). A text that is a node's name means that
node; only other texts are read as ranges, sets or prefixes. Whole numbers are compared as integers, however large.
"""

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes
from reissue.errors import CannotRunError, TaxonomyError
from reissue.taxonomy.codings import Coding, Hierarchy, prepare
from reissue.taxonomy.ranges import (
    Number,
    Span,
    calendar_span,
    ends_of,
    is_dated,
    is_range,
    line_of,
    number_of,
    span_of,
)
from reissue.taxonomy.tree import ROOT, assemble

__all__ = ["Intervals", "coding_of", "parse_column", "span_of", "words_beside_ranges"]

_EMPTY = (1, 0, True)
_ELSEWHERE = "\ue000"
"""A leaf (or, in codes, characters) for everything that a general text covers beyond the values that occur."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """A published column as intervals of leaf codes, one per row."""

    lo: Codes
    hi: Codes
    exact: Bools
    """False where the text meant a set of values that is not an interval; the interval is then its hull."""


class _Reader:
    """Looks up published texts in a taxonomy."""

    def __init__(self, coding: Coding) -> None:
        self.taxonomy = coding.taxonomy
        self.dates = coding.leaves.dtype == pl.Date
        self.prefixed = coding.hierarchy.kind == "prefix"
        self.heads = [name or "" for name in coding.taxonomy.names[: len(coding.leaves)]]

    @cached_property
    def nodes(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for level in self.taxonomy.levels:
            starts = level.first.tolist()
            for name, start, after in zip(level.names, starts, starts[1:], strict=False):
                if name is not None:
                    found.setdefault(name, (start, after - 1))
        found.setdefault(self.taxonomy.root, (0, self.taxonomy.size - 1))
        return found

    @cached_property
    def commas(self) -> int:
        """Maximum number of commas in a member of a set: in a name, or the one in a range."""
        return max(1, *(name.count(",") for name in self.nodes))

    @cached_property
    def line(self) -> list[Number]:
        """The exact numbers or days of the leaves; empty for other leaves."""
        names = self.heads
        if any(self.taxonomy.open_ends):
            names = [name.removeprefix("<=").removeprefix(">=") for name in names]
        spans = [calendar_span(name) if self.dates else number_of(name) for name in names]
        ends = [span.low if isinstance(span, Span) else span for span in spans]
        return [end for end in ends if end is not None] if None not in ends else []

    def read(self, text: str | None) -> tuple[int, int, bool] | None:
        if text is None:
            last = self.taxonomy.size - 1
            return (last, last, True) if self.taxonomy.missing else None
        return self._as_it_is(text) or self._as_it_is(text.strip()) or self._as_notation(text.strip())

    def speaks(self, text: str | None) -> bool:
        """Whether a text states by itself which values it means: a code, a range, a missing value."""
        if text is None or self.prefixed:
            return True
        return bool(self.line) and span_of(text.strip(), dates=self.dates) is not None

    def _as_it_is(self, text: str) -> tuple[int, int, bool] | None:
        if _is_root(text):
            return 0, self.taxonomy.size - 1, True
        if self.prefixed and text.endswith(ROOT):
            return self._prefix(text.rstrip(ROOT))
        return (*self.nodes[text], True) if text in self.nodes else None

    def _as_notation(self, text: str) -> tuple[int, int, bool] | None:
        if text.startswith("{") and text.endswith("}"):
            return self._set(text[1:-1].split(","))
        if self.taxonomy.ordered:
            return self._run(text) or self._range(text)
        whole = re.fullmatch(r"(-?\d+)\.0", text)
        return self._as_it_is(whole[1]) if whole else None

    def _run(self, text: str) -> tuple[int, int, bool] | None:
        """Read `[a, b]` between two leaves by name."""
        low, comma, high = text[1:-1].partition(", ")
        ends = self.nodes.get(low), self.nodes.get(high)
        if not (comma and text[0] == "[" and text[-1] == "]" and ends[0] and ends[1]):
            return None
        return (ends[0][0], ends[1][1], True) if ends[0][0] <= ends[1][1] else None

    def _range(self, text: str) -> tuple[int, int, bool] | None:
        span = span_of(text, dates=self.dates)
        if span is None or not self.line:
            return None
        lo = bisect_left(self.line, span.low)
        hi = (bisect_left if span.open else bisect_right)(self.line, span.high) - 1
        # Numbers beyond open ends belong to the first or the last leaf.
        below, beyond = self.taxonomy.open_ends
        lo, hi = min(lo, len(self.line) - 1) if beyond else lo, max(hi, 0) if below else hi
        return (lo, hi, True) if lo <= hi else None

    def _prefix(self, head: str) -> tuple[int, int, bool] | None:
        lo, hi = bisect_left(self.heads, head), bisect_right(self.heads, head + "\U0010ffff") - 1
        return (lo, hi, True) if lo <= hi else None

    def _set(self, parts: Sequence[str]) -> tuple[int, int, bool] | None:
        """The hull of a set; longer names are tried first, so that names with commas are found."""
        found = []
        while parts:
            sizes = range(min(len(parts), self.commas + 1), 0, -1)
            tries = ((size, self.read(",".join(parts[:size]).strip())) for size in sizes)
            size, part = next(((size, part) for size, part in tries if part is not None), (0, None))
            if part is None:
                return None
            found.append(part)
            parts = parts[size:]
        found.sort()
        reach = list(itertools.accumulate((hi for _, hi, _ in found), max))
        whole = all(end + 1 >= lo for end, (lo, *_) in zip(reach, found[1:], strict=False))
        return found[0][0], reach[-1], whole and all(exact for *_, exact in found)


def parse_column(column: pl.Series, coding: Coding, *, partial: bool = False, strange: bool = False) -> Intervals:
    """Return a published column as intervals of leaf codes.

    Parameters
    ----------
    column
        The published texts.
    coding
        The taxonomy in which they are looked up.
    partial
        Whether the taxonomy has the values of some people only. A range or prefix that covers none of them is then an
        empty interval, whose `hi` is below its `lo`, instead of an error; an unknown name stays an error, since nobody
        knows whom it includes.
    strange
        Whether anything unknown to the taxonomy is an empty interval.

    Raises
    ------
    TaxonomyError
        If the taxonomy does not know some texts; the message counts rows.

    """
    if column.dtype == pl.Datetime and coding.leaves.dtype == pl.Date:
        column = column.dt.date()
    texts, place = _texts(column)
    reader = _Reader(coding)
    read = [reader.read(text) or (_EMPTY if strange or (partial and reader.speaks(text)) else None) for text in texts]
    bad = np.array([interval is None for interval in read], np.bool_)
    if bad.any():
        rows = np.flatnonzero(bad[place])
        raise TaxonomyError(
            f"Column '{column.name}' has {len(rows)} published values that its taxonomy does not know "
            f"(first rows: {', '.join(str(row + 1) for row in rows[:5])})."
        )
    known = np.array([interval for interval in read if interval is not None], np.int32).reshape(-1, 3)
    return Intervals(known[place, 0], known[place, 1], known[place, 2].astype(np.bool_))


def _texts(column: pl.Series) -> tuple[list[str | None], Codes]:
    """The distinct texts of a column, and the one of each row."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if not isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String).cast(pl.Categorical(pl.Categories.random()))
    distinct = column.unique()
    codes, known = column.to_physical(), distinct.to_physical()
    beyond = int(_signed(known).max(initial=-1)) + 1
    table = np.empty(beyond + 1, np.int32)
    table[_signed(known)] = np.arange(len(distinct), dtype=np.int32)
    return distinct.cast(pl.String).to_list(), table[_signed(codes)]


def _signed(codes: pl.Series) -> Codes:
    """Category numbers; -1, the last place of any table, for a missing one."""
    return codes.cast(pl.Int32).fill_null(-1).to_numpy()


def coding_of(columns: Iterable[pl.Series], hierarchy: Hierarchy) -> Coding:
    """Build a coding from published columns alone; its leaves are the end points and names that occur in them.

    Two published texts nest, overlap or are equal in it exactly as they do in words. The root is more than all other
    texts together. Ranges beside texts with digits that cannot be read raise CannotRunError: as names, none of them
    would contain another.
    """
    columns = list(columns)
    hierarchy = replace(hierarchy, bottom=None, top=None)
    texts = {text for column in columns for text in _texts(column)[0]}
    names = sorted(text for text in texts if text is not None and not _is_root(text))
    open_ended = any(text is not None and _is_root(text) for text in texts)
    parts = [part for name in names for part in _members(name)]
    if hierarchy.kind in {"file", "tree"}:
        values = _beyond_the_list(parts, hierarchy)
    elif hierarchy.kind == "prefix":
        values, hierarchy = _codes(parts, hierarchy)
        values += [_ELSEWHERE] * open_ended
    else:
        words = words_beside_ranges(parts) if hierarchy.kind == "auto" else {}
        line = _on_a_line([part for part in parts if part not in words], hierarchy, open_ended)
        if line is not None:
            return _with_words(_coding(*line, missing=None in texts), words)
        if hierarchy.kind == "auto" and any(map(is_range, parts)):
            raise _unreadable(columns[0].name)
        values = parts + [_ELSEWHERE] * open_ended
        hierarchy = hierarchy if parts else Hierarchy("flat")  # only roots: there is no number or date
    return _coding(pl.Series("values", values, dtype=pl.String), hierarchy, missing=None in texts)


def _coding(values: pl.Series, hierarchy: Hierarchy, *, missing: bool) -> Coding:
    if missing:
        values = values.extend_constant(None, 1)
    return Coding.build(hierarchy, prepare(values, hierarchy), published=False)


def _is_root(text: str) -> bool:
    return bool(text.strip()) and not text.strip().strip(ROOT)


def _members(name: str) -> list[str]:
    """The members of a set, or the text itself."""
    bare = name.strip()
    return [part.strip() for part in bare[1:-1].split(",")] if bare[:1] == "{" and bare[-1:] == "}" else [name]


def _beyond_the_list(names: Sequence[str], hierarchy: Hierarchy) -> list[str]:
    """Values that a file or tree lacks, which the schema places under the root."""
    if hierarchy.unlisted == "error":
        return []
    reader = _Reader(_coding(pl.Series("values", [], dtype=pl.String), hierarchy, missing=False))
    return [name for name in names if reader.read(name) is None]


def _codes(names: Sequence[str], hierarchy: Hierarchy) -> tuple[list[str], Hierarchy]:
    """The codes themselves, and one for all other codes under each prefix."""
    heads = {name: name.rstrip(ROOT) for name in names}
    lengths = {len(head) for name, head in heads.items() if head != name}
    keep = tuple(sorted({*hierarchy.prefix, *lengths} - {0}, reverse=True))
    values = [head + _ELSEWHERE * (len(name) - len(head)) for name, head in heads.items()]
    return values, replace(hierarchy, prefix=keep)


def words_beside_ranges(names: Sequence[str]) -> dict[str, None]:
    """Return texts without a digit, such as `unknown`; none unless there is a range that might contain them."""
    words = dict.fromkeys(name for name in names if not re.search(r"\d", name))
    others = [name for name in names if name not in words] if words else []
    dated = any(map(is_dated, others))
    spans = (span_of(name, dates=dated) for name in others)
    return words if any(span is not None and span.low < span.high for span in spans) else {}


def _unreadable(column: str) -> CannotRunError:
    return CannotRunError(
        f"column '{column}' shows ranges beside texts with digits that cannot be read as ranges, so that nobody can "
        "tell which of its texts hold which others. Ranges are read as [20, 34], 20-34, >=60 or 60+, all of them "
        f"numbers or all days. Correct the other texts, or name the column's taxonomy under [taxonomy.{column}] in the "
        "schema (`flat = true` if they are names).",
        needs=["taxonomy"],
    )


def _with_words(coding: Coding, words: Collection[str]) -> Coding:
    """Add words as leaves of their own after the numbers or days, as the missing value is."""
    if not words:
        return coding
    names = [*(name or "" for name in coding.taxonomy.names[: len(coding.leaves)]), *words]
    places = np.arange(len(names), dtype=np.float64)
    return replace(coding, taxonomy=assemble(names, [], places, ordered=True, missing=coding.taxonomy.missing))


def _on_a_line(names: Sequence[str], hierarchy: Hierarchy, open_ended: bool) -> tuple[pl.Series, Hierarchy] | None:
    """End points of ranges as numbers or days, if that is what the texts are."""
    if hierarchy.kind == "flat" or not names:
        return None
    dated = hierarchy.kind == "dates" or (hierarchy.kind == "auto" and any(is_dated(name) for name in names))
    spans = [span_of(name, dates=dated) for name in names]
    if hierarchy.kind == "auto" and None in spans:
        return None
    known = [span for span in spans if span is not None]
    line = line_of(known, dated=dated)
    ends = ends_of(known, line, rooted=open_ended)
    if dated:
        return pl.Series("values", ends, dtype=pl.Int32).cast(pl.Date), replace(hierarchy, kind="dates")
    return pl.Series("values", ends, dtype=pl.Int64 if line.whole else pl.Float64), replace(hierarchy, kind="ranges")
