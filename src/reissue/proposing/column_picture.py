"""A column at a glance, for its holder's own eyes: how many values, which, and how often."""

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from reissue.files.tables import nested

__all__ = ["ColumnPicture", "picture_of"]

_BARS = 10
_LISTED = 80
"""A column of more different values is not listed."""


@dataclass(frozen=True)
class ColumnPicture:
    """What a holder sees of a column."""

    name: str
    missing: int
    distinct: int
    bars: tuple[tuple[str, int], ...]
    """Values or ranges, and how many records have them; none where every record has its own."""
    values: tuple[str, ...] = ()
    """All different ones, if there are not too many."""

    def as_dict(self) -> dict[str, Any]:
        """As plain texts and numbers."""
        return asdict(self)


def picture_of(column: pl.Series) -> ColumnPicture:
    """Numbers in ranges of equal width, everything else by the most frequent values."""
    if nested(column.dtype):
        return ColumnPicture(column.name, column.null_count(), 0, ())
    known = column.drop_nulls()
    distinct = known.n_unique()
    texts = known.cast(pl.String)
    listed = tuple(texts.unique().sort()) if distinct <= _LISTED else ()
    numbers = column.dtype.is_numeric() and distinct > _BARS
    dates = column.dtype in {pl.Date, pl.Datetime} and distinct > _BARS
    own = distinct == len(known) > _BARS and not dates
    bars = () if own else _years(known) if dates else _spread(known) if numbers else _most(texts)
    return ColumnPicture(column.name, column.null_count(), distinct, bars, listed)


def _most(texts: pl.Series) -> tuple[tuple[str, int], ...]:
    counts = texts.alias("value").value_counts().sort(["count", "value"], descending=[True, False])
    shown = [(str(value), int(count)) for value, count in counts.head(_BARS).iter_rows()]
    rest = len(texts) - sum(count for _, count in shown)
    return (*shown, *([("all others", rest)] if rest else []))


def _years(dates: pl.Series) -> tuple[tuple[str, int], ...]:
    """Dates by year, by ten years or by a hundred: as fine as a few bars allow."""
    years = dates.dt.year().cast(pl.Int64)
    step = next((step for step in (1, 10) if (years // step).n_unique() <= _BARS + 2), 100)
    counts = (years // step * step).alias("year").value_counts().sort("year")
    return tuple(
        (str(year) if step == 1 else f"{year} to {year + step - 1}", int(count)) for year, count in counts.iter_rows()
    )


def _spread(numbers: pl.Series) -> tuple[tuple[str, int], ...]:
    values = numbers.cast(pl.Float64)
    values = values.filter(values.is_finite())
    counts = values.hist(bin_count=_BARS)
    ends = [float(str(values.min())), *counts["breakpoint"].to_list()]
    return tuple(
        (f"{low:.4g} to {high:.4g}", int(count))
        for low, high, count in zip(ends[:-1], ends[1:], counts["count"].to_list(), strict=True)
    )
