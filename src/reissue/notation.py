"""Published values back into intervals of leaf codes: `[20, 34]`, `20-34`, node names, `{a, b}`, `53***`, `*`.

Works on what any tool published: with the holder's own coding, or, where only published files are at hand, with a
coding built from the end points and names that occur in them (`coding_of`).
"""

import datetime as dt
import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes
from reissue.errors import TaxonomyError
from reissue.hierarchies import Coding, Hierarchy, prepare
from reissue.taxonomy import ROOT

__all__ = ["Intervals", "coding_of", "parse_column", "span_of"]

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_DATE = r"\d{4}-\d{2}-\d{2}"
_END = rf"({_DATE}|{_NUMBER}|-?inf)"
_BRACKETS = re.compile(rf"^([\[(])\s*{_END}\s*[,;]\s*{_END}\s*([\])])$")
_DASH = re.compile(rf"^{_END}\s*(?:-|–|\.\.|to)\s*{_END}$")
_MONTH = re.compile(r"^(\d{4})-(\d{2})$")
_QUARTER = re.compile(r"^(\d{4})-?Q([1-4])$")


@dataclass(frozen=True, eq=False)
class Intervals:
    """A published column as intervals of leaf codes, one per row."""

    lo: Codes
    hi: Codes
    exact: Bools
    """False where the text meant a set of values that is no interval, and its hull is given instead."""


@dataclass(frozen=True)
class Span:
    """A range between two positions on a line; `open` says that the upper end is not part of it."""

    low: float
    high: float
    open: bool = False


def span_of(text: str) -> Span | None:
    """The range that a text denotes on the line of numbers or days, if it denotes one."""
    text = text.strip()
    match = _BRACKETS.match(text)
    if match:
        left, low, high, right = match.groups()
        return Span(
            np.nextafter(_position(low), np.inf) if left == "(" else _position(low), _position(high), right == ")"
        )
    if re.fullmatch(_END, text):
        return Span(_position(text), _position(text))
    match = _DASH.match(text)
    if match:
        return Span(_position(match[1]), _position(match[2]))
    return _calendar_span(text)


def _position(text: str) -> float:
    if re.fullmatch(_DATE, text):
        return float((dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days)
    return float(text)


def _calendar_span(text: str) -> Span | None:
    """A month (2024-03) or a quarter (2024-Q1) in days; a year alone reads as a number."""
    month, quarter = _MONTH.match(text), _QUARTER.match(text)
    if month and 1 <= int(month[2]) <= 12:
        return _months(int(month[1]), int(month[2]) - 1, 1)
    if quarter:
        return _months(int(quarter[1]), 3 * int(quarter[2]) - 3, 3)
    return None


def _months(year: int, first: int, count: int) -> Span:
    def day(month: int) -> float:
        return _position(dt.date(year + month // 12, month % 12 + 1, 1).isoformat())

    return Span(day(first), day(first + count) - 1)


class _Reader:
    """Looks texts up in one taxonomy."""

    def __init__(self, coding: Coding) -> None:
        self.taxonomy = coding.taxonomy
        self.dates = coding.leaves.dtype == pl.Date
        self.listed = len(coding.leaves)
        self.prefixed = coding.hierarchy.kind == "prefix"

    @cached_property
    def nodes(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for level in self.taxonomy.levels:
            starts = level.first.tolist()
            for name, start, after in zip(level.names, starts, starts[1:], strict=False):
                if name is not None:
                    found.setdefault(name, (start, after - 1))
        return found

    @cached_property
    def heads(self) -> list[str]:
        return [name or "" for name in self.taxonomy.names[: self.listed]]

    def read(self, text: str | None) -> tuple[int, int, bool] | None:
        last = self.taxonomy.size - 1
        if text is None:
            return (last, last, True) if self.taxonomy.missing else None
        text = text.strip()
        if text == ROOT:
            return 0, last, True
        if text in self.nodes:
            return *self.nodes[text], True
        if text.startswith("{") and text.endswith("}"):
            return self._set(text[1:-1])
        if self.prefixed and text.endswith("*"):
            return self._prefix(text.rstrip("*"))
        return self._range(text) if self.taxonomy.ordered else None

    def _range(self, text: str) -> tuple[int, int, bool] | None:
        span = span_of(text)
        if self.dates and re.fullmatch(r"\d{4}", text):
            span = _months(int(text), 0, 12)
        if span is None:
            return None
        line = self.taxonomy.positions[: self.listed]
        lo = int(np.searchsorted(line, span.low, "left"))
        hi = int(np.searchsorted(line, span.high, "left" if span.open else "right")) - 1
        return (lo, hi, True) if lo <= hi else None

    def _prefix(self, head: str) -> tuple[int, int, bool] | None:
        lo, hi = bisect_left(self.heads, head), bisect_right(self.heads, head + "\U0010ffff") - 1
        return (lo, hi, True) if lo <= hi else None

    def _set(self, inside: str) -> tuple[int, int, bool] | None:
        parts = [self.read(part) for part in inside.split(",")]
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            return None
        ends = sorted({(lo, hi) for lo, hi, _ in known})
        lo, hi = ends[0][0], max(hi for _, hi in ends)
        whole = all(a[1] + 1 >= b[0] for a, b in itertools.pairwise(ends))
        return lo, hi, whole and all(exact for *_, exact in known)


def parse_column(column: pl.Series, coding: Coding) -> Intervals:
    """A published column as intervals; a text that the taxonomy does not know is an error that counts rows."""
    texts = column.cast(pl.String)
    distinct = texts.unique(maintain_order=True)
    reader = _Reader(coding)
    read = [reader.read(text) for text in distinct]
    bad = {text for text, interval in zip(distinct, read, strict=True) if interval is None}
    if bad:
        rows = [row for row, text in enumerate(texts) if text in bad]
        raise TaxonomyError(
            f"Column '{column.name}' has {len(rows)} published values that its taxonomy does not know "
            f"(first rows: {', '.join(str(row + 1) for row in rows[:5])})."
        )
    known = np.array([(lo, hi, exact) for lo, hi, exact in filter(None, read)], np.int32).reshape(-1, 3)
    place = _places(texts, distinct)
    return Intervals(known[place, 0], known[place, 1], known[place, 2].astype(bool))


def _places(texts: pl.Series, distinct: pl.Series) -> Codes:
    table = pl.DataFrame({"text": distinct, "place": np.arange(len(distinct), dtype=np.int32)})
    joined = texts.alias("text").to_frame().join(table, on="text", how="left", nulls_equal=True, maintain_order="left")
    return joined["place"].to_numpy()


def coding_of(columns: Iterable[pl.Series], hierarchy: Hierarchy) -> Coding:
    """A coding for published columns alone: leaves are the end points and names that occur in them."""
    texts = pl.concat([column.cast(pl.String).alias("values") for column in columns]).unique().sort()
    missing = texts.null_count() > 0
    names = [text.strip() for text in texts.drop_nulls() if text.strip() != ROOT]
    names = [part.strip() for name in names for part in (name[1:-1].split(",") if name[:1] == "{" else [name])]
    if hierarchy.kind in {"file", "tree"}:
        values: pl.Series = pl.Series("values", [], dtype=pl.String)
    else:
        values, hierarchy = _leaf_values(names, hierarchy)
    if missing:
        values = values.extend(pl.Series("values", [None], dtype=values.dtype))
    return Coding.build(hierarchy, prepare(values, hierarchy))


def _leaf_values(names: list[str], hierarchy: Hierarchy) -> tuple[pl.Series, Hierarchy]:
    spans = [span_of(name) for name in names]
    on_a_line = hierarchy.kind in {"ranges", "dates"} or (hierarchy.kind == "auto" and names and all(spans))
    if not on_a_line:
        return pl.Series("values", names, dtype=pl.String), hierarchy
    dated = hierarchy.kind == "dates" or any(re.search(_DATE, name) for name in names)
    if dated:
        spans = [_months(int(n), 0, 12) if re.fullmatch(r"\d{4}", n) else s for n, s in zip(names, spans, strict=True)]
    ends = sorted({end for span in spans if span for end in (span.low, *([] if span.open else [span.high]))})
    ends = [end for end in ends if np.isfinite(end)]
    if dated:
        days = pl.Series("values", [int(end) for end in ends], dtype=pl.Int32).cast(pl.Date)
        return days, replace(hierarchy, kind="dates")
    whole = all(float(end).is_integer() for end in ends)
    return pl.Series("values", ends, dtype=pl.Int64 if whole else pl.Float64), replace(hierarchy, kind="ranges")
