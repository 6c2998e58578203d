"""Ranges as people write them, and the leaves that a column of published ranges needs.

Reads `[20, 34]`, `[20, 35)`, `[20, 35[`, `20-34`, `>= 60`, `60+`, `2024-03`, `2024-Q1` and the like. Whole numbers stay
whole numbers, so that large ones are not merged; dates become days since 1970.

Where only published files are available, the leaves of a column are the end points of its ranges, and points that stand
for everything beside them: two ranges then nest, overlap or are equal exactly as they do in words. Days run from year 1
to 9999, whole numbers over 64 bits, other numbers over the floats. O(n log n) for sorting.
"""

import calendar
import datetime as dt
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "CALENDAR",
    "Number",
    "PointRange",
    "Span",
    "above",
    "below",
    "calendar_span",
    "ends_of",
    "is_dated",
    "is_range",
    "last",
    "line_of",
    "number_of",
    "span_of",
]

Number: TypeAlias = int | float

_EPOCH = dt.date(1970, 1, 1)
CALENDAR = (dt.date.min - _EPOCH).days, (dt.date.max - _EPOCH).days
"""The first and the last day that can be written, in the years 1 and 9999."""
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_DATE = r"\d{4}-\d{2}-\d{2}"
_PERIOD = rf"{_DATE}|\d{{4}}-?Q[1-4]|\d{{4}}-\d{{2}}|\d{{4}}"
_TO = r"\s*(?:-|–|\.\.|to)\s*"
_BRACKETS = re.compile(r"([\[(\]])\s*([^,;\s]+)\s*[,;]\s*([^,;\s]+?)\s*([\])\[])")
_DASH = re.compile(rf"({_DATE}|{_NUMBER}){_TO}({_DATE}|{_NUMBER})")
_PERIODS = re.compile(rf"({_PERIOD}){_TO}({_PERIOD})")
_ONE_SIDED = re.compile(r"(<=?|>=?|≤|≥)\s*(\S+)")
_AND_MORE = re.compile(r"(\S+?)\s*\+")
_SPELT = re.compile(r"[^\s.]\S*?\s*(?:\.\.|to)\s*\S+")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_QUARTER = re.compile(r"(\d{4})-?Q([1-4])")


@dataclass(frozen=True)
class Span:
    """A range between two positions on a line; if `open`, without its upper end."""

    low: Number
    high: Number
    open: bool = False
    days: bool = False
    """Whether the positions are days instead of numbers."""


def span_of(text: str, *, dates: bool = False) -> Span | None:
    """Return the range of numbers or days that a text denotes, or None.

    With `dates` every end is a day, month, quarter or year; without, a four-digit number is a number.
    """
    text = text.strip()
    end = _end(text, dates)
    if end is not None:
        return end
    brackets, one_sided, more = (one.fullmatch(text) for one in (_BRACKETS, _ONE_SIDED, _AND_MORE))
    if brackets:
        left, low, high, right = brackets.groups()
        return _between(_end(low, dates), _end(high, dates), left != "[", right != "]")
    if one_sided:
        return _beyond(one_sided[1], _end(one_sided[2], dates))
    if more:
        return _beyond(">=", _end(more[1], dates))
    dash = (_PERIODS if dates else _DASH).fullmatch(text)
    span = _between(_end(dash[1], dates), _end(dash[2], dates)) if dash else None
    return span if span or dates else calendar_span(text)


def is_dated(text: str) -> bool:
    """Whether a text can only denote dates."""
    span = span_of(text) or _as_range(text)
    return span is not None and span.days


def is_range(text: str) -> bool:
    """Whether a text can only denote a range of several numbers or days; `12-4` may be a code."""
    span = _as_range(text)
    return span is not None and span.low < span.high


def number_of(text: str) -> Number | None:
    """Return the number that a text denotes; None if it exceeds a float."""
    if re.fullmatch(r"[-+]?\d{1,300}", text):
        return int(text)
    if text in {"inf", "-inf"} or (re.fullmatch(_NUMBER, text) and math.isfinite(float(text))):
        return float(text)
    return None


def calendar_span(text: str) -> Span | None:
    """Return a day, month (2024-03), quarter (2024-Q1) or year as a range of days."""
    if re.fullmatch(_DATE, text):
        day = _day(text)
        return None if day is None else Span(day, day, days=True)
    month, quarter = _MONTH.fullmatch(text), _QUARTER.fullmatch(text)
    if month:
        return _months(int(month[1]), int(month[2]), 1)
    if quarter:
        return _months(int(quarter[1]), 3 * int(quarter[2]) - 2, 3)
    return _months(int(text), 1, 12) if re.fullmatch(r"\d{4}", text) else None


def below(number: Number, *, days: bool = False) -> Number:
    """The last point before another: the day before, or the next smaller number."""
    if (days or abs(number) >= 2**53) and number - 1 < number:
        return number - 1
    return math.nextafter(number, -math.inf)


def above(number: Number, *, days: bool = False) -> Number:
    """The first point after another."""
    return -below(-number, days=days)


def last(span: Span) -> Number:
    """The last point of a range."""
    return below(span.high, days=span.days) if span.open and math.isfinite(span.high) else span.high


def _as_range(text: str) -> Span | None:
    """What a text denotes if it is in a notation that only ranges have, of numbers or else of days."""
    marks = (_BRACKETS, _ONE_SIDED, _AND_MORE, _SPELT)
    ranged = any(mark.fullmatch(text.strip()) for mark in marks)
    return (span_of(text) or span_of(text, dates=True)) if ranged else None


def _end(text: str, dates: bool) -> Span | None:
    """One end of a range, as the points that it stands for."""
    if text in {"inf", "-inf"}:
        return Span(float(text), float(text), days=dates)
    if dates or re.fullmatch(_DATE, text):
        return calendar_span(text)
    number = number_of(text)
    return None if number is None else Span(number, number)


def _between(low: Span | None, high: Span | None, after: bool = False, before: bool = False) -> Span | None:
    if low is None or high is None:
        return None
    days = low.days or high.days
    if days and not all(end.days or math.isinf(end.low) for end in (low, high)):
        return None
    start = above(low.high, days=days) if after else low.low
    end = high.low if before else high.high
    return Span(start, end, before, days) if start < end or (start == end and not before) else None


def _beyond(sign: str, end: Span | None) -> Span | None:
    if end is None:
        return None
    if sign in {"<", "<=", "≤"}:
        return Span(-math.inf, end.low if sign == "<" else end.high, sign == "<", end.days)
    return Span(above(end.high, days=end.days) if sign == ">" else end.low, math.inf, days=end.days)


def _day(text: str) -> int | None:
    try:
        return (dt.date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        return None


def _months(year: int, first: int, count: int) -> Span | None:
    """Consecutive months of one year, as a range of days."""
    start, month = _day(f"{year:04}-{first:02}-01"), first + count - 1
    if start is None:
        return None
    end = dt.date(year, month, calendar.monthrange(year, month)[1])
    return Span(start, (end - _EPOCH).days, days=True)


_LARGEST = 2**63 - 1
"""The largest 64-bit integer."""


@dataclass(frozen=True)
class PointRange:
    """The possible points: days, whole numbers or any numbers."""

    first: Number
    last: Number
    whole: bool = True

    def has(self, point: Number) -> bool:
        """Whether the point is possible."""
        return self.first <= point <= self.last


_DAYS = PointRange(*CALENDAR)
_WHOLE = PointRange(-_LARGEST, _LARGEST)
_REAL = PointRange(-sys.float_info.max, sys.float_info.max, whole=False)


def line_of(spans: Sequence[Span], *, dated: bool) -> PointRange:
    """The possible points of some ranges."""
    if dated:
        return _DAYS
    whole = all(float(end).is_integer() and _WHOLE.has(end) for end in _points(spans))
    return _WHOLE if whole else _REAL


def ends_of(spans: Sequence[Span], line: PointRange, *, rooted: bool) -> list[Number]:
    """The first and last point of every range, a point outside for unbounded ranges, and one for the root alone."""
    kind = int if line.whole else float
    ends: set[Number] = {kind(end) for end in _points(spans) if line.has(end)}
    spread = min(ends, default=0), max(ends, default=0)
    if any(span.low == -math.inf for span in spans):
        ends.add(below(spread[0], days=True))
    if any(span.high == math.inf for span in spans):
        ends.add(above(spread[1], days=True))
    if rooted:
        ends.update(_outside(spans, line))
    return sorted(end for end in ends if line.has(end))


def _points(spans: Sequence[Span]) -> set[Number]:
    return {end for span in spans for end in (span.low, last(span)) if math.isfinite(end)}


def _outside(spans: Sequence[Span], line: PointRange) -> list[Number]:
    """A point outside all ranges: above, below, or between two of them; none if they cover everything."""
    kind = int if line.whole else float
    inside = [(max(span.low, line.first), min(last(span), line.last)) for span in spans]
    held = sorted((kind(low), kind(high)) for low, high in inside if low <= high)
    if not held:
        return [0]
    reach, tries = held[0][1], []
    for low, high in held:
        # Among whole numbers the middle of neighbours is the lower one; among floats it is rounded to one of them.
        middle = (reach + low) // 2 if line.whole else reach / 2 + low / 2
        tries += [middle] if reach < middle < low else []
        reach = max(reach, high)
    tries = [above(reach, days=True), below(held[0][0], days=True), *tries]
    return [point for point in tries if line.has(point)][:1]
