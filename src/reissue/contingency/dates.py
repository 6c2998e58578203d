"""Tables that count people at several dates: one table for each, and whether they count the same people again.

A column, or the header of a cross table, may hold dates. Running totals count everyone again at each date, and so does
whoever is there: these tables are subtracted from each other. What happened on each day counts somebody once, and there
is nothing to subtract. Running totals never fall: numbers that hardly ever do, and rise more often than chance would
have it, are taken for such. O(cells).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl

from reissue.contingency.table import CountTable

__all__ = ["by_date", "dated", "day_of", "never_falls"]

_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[ T].*)?|(\d{4})(\d{2})(\d{2})")
_OTHER = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[ T].*)?")
_QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])", re.IGNORECASE)
_CHANCE = 1e-3
"""Probability at most with which numbers that rise and fall alike would fall so seldom."""
_FALLS = 0.1
"""Share of the changes that may be falls: published totals are revised."""


def day_of(text: str) -> tuple[int, int, int] | None:
    """Year, month and day that a text denotes, 0 where it has none; a month first where it is open, as in 1/2/20."""
    text = text.strip()
    if found := _ISO.fullmatch(text):
        year, month, day = (int(one or 0) for one in (found.groups()[:3] if found[1] else found.groups()[3:]))
    elif found := _QUARTER.fullmatch(text):
        year, month, day = int(found[1]), 3 * int(found[2]) - 2, 0
    elif found := _OTHER.fullmatch(text):
        one, other, year = int(found[1]), int(found[3]), int(found[4])
        month, day = (one, other) if one <= 12 and found[2] != "." else (other, one)
        year += 2000 * (year < 100)
    else:
        return None
    try:
        date(year, month, day or 1)
    except ValueError:
        return None
    return year, month, day


def dated(table: CountTable) -> str | None:
    """The dimension of a table that holds dates, two at least."""
    for name in table.dimensions:
        texts = table.categories[name].drop_nulls().unique().to_list()
        if len(texts) > 1 and all(day_of(text) is not None for text in texts):
            return name
    return None


def by_date(table: CountTable, column: str) -> list[tuple[str, CountTable]]:
    """The table of each date, in their order; what is summed over all dates is left out."""
    dates = table.categories[column]
    texts = _ordered(dates.drop_nulls().unique().to_list())
    place = {text: at for at, text in enumerate(texts)}
    number = np.array([place.get(text, -1) for text in dates.to_list()])
    categories, made = table.categories.drop(column), []
    for at, text in enumerate(texts):
        rows = np.flatnonzero(number == at)
        low, high = table.low[rows], table.high[rows]
        part = replace(table, categories=categories[rows], low=low, high=high, hidden=int((low < high).sum()))
        made.append((text, part))
    return made


def _ordered(texts: Sequence[str]) -> list[str]:
    """Dates in their order; days come first in all of them if one of them says so."""
    found = {text: _OTHER.fullmatch(text.strip()) for text in texts}
    days_first = any(one and one[2] != "." and int(one[1]) > 12 for one in found.values())

    def key(text: str) -> tuple[int, int, int]:
        one = found[text]
        if days_first and one:
            return int(one[4]), int(one[3]), int(one[1])
        return day_of(text) or (0, 0, 0)

    return sorted(texts, key=key)


def never_falls(tables: Sequence[CountTable]) -> bool:
    """Whether the cells of tables of successive dates hardly ever fall, and rise more often than by chance."""
    from scipy import stats

    names = list(tables[0].dimensions)
    parts = [
        one.categories.with_columns(
            pl.Series("\0at", np.full(one.cells, at)), pl.Series("\0low", one.low), pl.Series("\0high", one.high)
        )
        for at, one in enumerate(tables)
    ]
    cells = pl.concat(parts)
    order = cells.sort("\0at", maintain_order=True)
    before = [pl.col(end).shift(1).over(names) if names else pl.col(end).shift(1) for end in ("\0low", "\0high")]
    rises = order.select(
        (pl.col("\0low") > before[1]).sum().alias("rises"), (pl.col("\0high") < before[0]).sum().alias("falls")
    )
    up, down = rises.row(0)
    return bool(up + down and down <= _FALLS * (up + down) and stats.binom.cdf(down, up + down, 0.5) < _CHANCE)
