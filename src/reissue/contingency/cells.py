"""The cells of a table of counts: a published text as the interval in which the true count lies.

A number is itself, or what was rounded to it. `<5`, `1-4` and `100+` say their bounds. A mark such as `*`, `..`, `[c]`
or a negative code hides the count: unless somebody says what it stands for it may be anything, from 1 where the table
shows zeros. O(different texts).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.errors import InputError, nearest

__all__ = [
    "AS_SHOWN",
    "MARKS",
    "UNBOUNDED",
    "CountCells",
    "CountRules",
    "Kind",
    "read_cell",
    "read_cells",
    "rounding_base",
    "rules_from",
]

UNBOUNDED = 1 << 40
"""Stands for no upper bound: more people than there are."""
_BASES = (100, 50, 25, 20, 10, 5, 3)
"""Bases to which tables are rounded, the largest first."""
_CHANCE = 1e-6
"""Probability at most with which numbers that were not rounded would all be multiples of a base."""
_RANDOM_BASE = 3
"""Tables with this base are rounded at random: that is how Statistics Canada and Stats NZ publish."""

MARKS = re.compile(
    r"[\[(<]?\s*(?:\*+|\.{1,3}|:|[-–—~/]+|#+|[xcszdpu]|n/?[ad]|n\.a\.|nil|low|suppressed|redacted|withheld|"
    r"confidential|protected|masked|hidden|geheim|supprim[eé]e?|confidencial|disclosive|"
    r"not (?:shown|published|available))\s*[\])>]?",
    re.IGNORECASE,
)
"""How cells are marked that hide a count."""
_NUMBER = r"\d+(?:\.0+)?|\d{1,3}(?:[ ,'\u00a0\u202f]\d{3})+"
_WHOLE = re.compile(rf"({_NUMBER})\s*(?:\[[a-z]\]|\([a-z]\)|[a-zA-Z†‡*])?")
"""A count, with a footnote perhaps."""
_SHARE = re.compile(r"(.+?)\s*\(\s*(?:[<>]?\s*\d+(?:[.,]\d+)?\s*%|\d+[.,]\d+|[-–*.]+\s*%?)\s*\)")
"""A count and its percentage in one cell: 12 (5.3%)."""
_POINTS = re.compile(r"\d{1,3}(?:\.\d{3})+")
"""A number with points between thousands, if no number of its column has other decimals."""
_BELOW = re.compile(
    r"(<|≤|<=|under|below|less than|fewer than|up to|unter|weniger als|moins de|menos de|meno di|minder dan)\s*(\d+)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(\d+)\s*(?:-|–|—|to|bis|à|a|\.\.)\s*(\d+)", re.IGNORECASE)
_ABOVE = re.compile(r"(>|≥|>=|over|more than|at least)\s*(\d+)|(\d+)\s*\+", re.IGNORECASE)
_CODE = re.compile(r"-\d+(\.0+)?")
"""Negative numbers, which count nobody."""
_INCLUSIVE = {"≤", "<=", "≥", ">=", "up to", "at least"}


class Kind(IntEnum):
    """What a cell says."""

    BLANK = 0
    NUMBER = 1
    RANGE = 2
    MARK = 3
    OTHER = 4


@dataclass(frozen=True)
class CountRules:
    """How the counts of a table were protected, as far as somebody says so.

    Examples
    --------
    Counts that were rounded to multiples of 5, with cells below 8 hidden first:

    >>> import reissue as ri
    >>> rules = ri.CountRules(rounding=5, suppressed=(0, 7))
    >>> rules.rounding
    5
    """

    rounding: int | None = None
    """The base; 1: none; None: as the numbers show."""
    random: bool | None = None
    """Whether numbers were rounded up or down at random, to either neighbour; None: for base 3."""
    noise: int = 0
    """The most that perturbation adds to a count, or takes from it."""
    suppressed: tuple[int, int] | None = None
    """What a hidden count may be."""
    repeated: bool | None = None
    """Whether each date of a column of dates counts the same people again, as running totals and lists of whoever is
    there do; None: as the numbers show."""

    def __post_init__(self) -> None:
        if (self.rounding is not None and self.rounding < 1) or self.noise < 0:
            raise InputError("A rounding base is a whole number from 1, and noise from 0.")
        if self.suppressed is not None and not 0 <= self.suppressed[0] <= self.suppressed[1]:
            raise InputError("A suppressed count is between two numbers, such as 1-4.")

    def widths(self, base: int) -> tuple[int, int]:
        """How far below and above a published number the true count may be."""
        if base <= 1:
            return self.noise, self.noise
        by_lot = base == _RANDOM_BASE if self.random is None else self.random
        below = above = base - 1 if by_lot else base // 2
        return below + self.noise, above + self.noise


AS_SHOWN = CountRules()
"""Where nobody says anything."""


def rules_from(options: Mapping[str, Any]) -> CountRules:
    """Read rules from named values: `rounding`, `random`, `noise`, `repeated`, and `suppressed` as 1-4."""
    known = {"rounding": int, "random": bool, "noise": int, "suppressed": str, "repeated": bool}
    for name, value in options.items():
        if name not in known:
            raise InputError("Nothing of that name is known of counts." + nearest(name, list(known)))
        if not isinstance(value, known[name]) or (known[name] is int and isinstance(value, bool)):
            raise InputError(f"Write {name} as in: rounding=5, random=true, noise=2, suppressed=1-4, repeated=true.")
    given = dict(options)
    if "suppressed" in given:
        ends = _BETWEEN.fullmatch(given["suppressed"])
        if ends is None:
            raise InputError("What a suppressed count may be is written as two numbers: suppressed=1-4.")
        given["suppressed"] = int(ends[1]), int(ends[2])
    return CountRules(**given)


@dataclass(frozen=True, eq=False)
class CountCells:
    """A column of published cells."""

    kind: Ints
    """What each says, as a `Kind`."""
    low: Ints
    high: Ints

    @property
    def counts(self) -> bool:
        """Whether all cells are counts, marks or blank, and half of those that are filled are counts."""
        filled = int((self.kind != Kind.BLANK).sum())
        shown = int(((self.kind == Kind.NUMBER) | (self.kind == Kind.RANGE)).sum())
        return bool(shown and (self.kind != Kind.OTHER).all() and 4 * shown >= filled)

    @property
    def exact(self) -> Bools:
        """Whether each shows a number."""
        return np.asarray(self.kind == Kind.NUMBER)

    def protected(self, rules: CountRules, base: int, *, zeros: bool) -> "CountCells":
        """The intervals in which true counts lie; `zeros` says whether the table shows zeros as they are."""
        below, above = rules.widths(base)
        low, high = self.low.copy(), self.high.copy()
        shown, least = self.exact, int(zeros)
        spread = shown & ~((self.low == 0) & (rules.noise > 0) & (base <= 1))  # perturbation keeps zeros
        low[spread] = np.maximum(low[spread] - below, 0)
        high[spread] += above
        hidden = (self.kind == Kind.MARK) | (self.kind == Kind.BLANK)
        said = (least, UNBOUNDED) if rules.suppressed is None else rules.suppressed
        low[hidden], high[hidden] = said
        low[self.kind == Kind.BLANK] = 0
        below_mark = (self.kind == Kind.RANGE) & (self.low < 0)
        low[below_mark] = least
        return CountCells(self.kind, low, high)


def read_cells(column: pl.Series) -> CountCells:
    """What the cells of a column say; ranges without a lower bound have -1 there."""
    texts = column.cast(pl.String).fill_null("").str.strip_chars()
    different = texts.unique()
    pointed = {text for text in different if "." in text and text[:1].isdigit()}
    if not (pointed and len(pointed) < len(different) and all(map(_POINTS.fullmatch, pointed))):
        pointed = set()
    read = [read_cell(text.replace(".", "") if text in pointed else text) for text in different]
    place = texts.cast(pl.Enum(different)).to_physical().to_numpy()
    table = np.array(read, np.int64).reshape(-1, 3)[place]
    return CountCells(table[:, 0], table[:, 1], table[:, 2])


_DIGITS = 18
"""Maximum number of digits of a count; more do not fit, and Python refuses to read thousands."""
_TOO_LONG = re.compile(rf"\d{{{_DIGITS + 1}}}")


def read_cell(text: str) -> tuple[int, int, int]:
    """The kind of a cell, and its bounds; -1 for a lower bound that it does not say."""
    if not text or text.lower() in {"null", "nan", "none"}:
        return Kind.BLANK, 0, UNBOUNDED
    if found := _WHOLE.fullmatch(text):
        digits = re.sub(r"\D", "", re.sub(r"\.0+$", "", found[1])).lstrip("0")
        number = int(digits or 0) if len(digits) <= _DIGITS else UNBOUNDED
        return (Kind.NUMBER, number, number) if number < UNBOUNDED else (Kind.OTHER, 0, 0)
    ends = _range(text.strip("[]() "))
    if ends is not None:
        return Kind.RANGE, *ends
    if found := _SHARE.fullmatch(text):
        return read_cell(found[1])
    hides = MARKS.fullmatch(text) or _CODE.fullmatch(text)
    return (Kind.MARK, 0, UNBOUNDED) if hides else (Kind.OTHER, 0, 0)


def _range(text: str) -> tuple[int, int] | None:
    """The bounds that a text says; -1 where it says no lower one."""
    if _TOO_LONG.search(text):
        return None
    if found := _BELOW.fullmatch(text):
        return -1, int(found[2]) - (found[1].lower() not in _INCLUSIVE)
    if found := _BETWEEN.fullmatch(text):
        return (int(found[1]), int(found[2])) if int(found[1]) <= int(found[2]) else None
    if found := _ABOVE.fullmatch(text):
        strict = found[1] is not None and found[1].lower() not in _INCLUSIVE
        return int(found[2] or found[3]) + strict, UNBOUNDED
    return None


def rounding_base(columns: Sequence[CountCells]) -> int:
    """The largest base of which all numbers are multiples, if that is no chance; else 1."""
    numbers = np.concatenate([np.empty(0, np.int64), *(one.low[one.exact] for one in columns)])
    numbers = numbers[numbers > 0]
    for base in _BASES:
        if len(numbers) and not (numbers % base).any() and float(base) ** -len(np.unique(numbers)) < _CHANCE:
            return base
    return 1
