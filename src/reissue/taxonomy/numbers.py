"""Taxonomies over numbers, codes and dates, built from the values that occur.

What is printed is what is meant: a value lies in `[0.3, 0.4)` exactly when it does so by the printed ends. Whole
numbers are divided as integers, so large ones are never merged.
"""

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import polars as pl

from reissue._arrays import Codes, Floats, Ints
from reissue.errors import TaxonomyError
from reissue.taxonomy.paths import runs
from reissue.taxonomy.tree import Grouping, Taxonomy, assemble

__all__ = ["EXACT", "automatic_widths", "check_widths", "dates", "prefixes", "ranges", "texts"]

EXACT = 2**53
"""From here on, floats no longer distinguish neighbouring whole numbers."""


def texts(values: pl.Series) -> list[str]:
    """The values as they are printed."""
    return values.cast(pl.String).to_list()


def check_widths(widths: Sequence[float]) -> None:
    """Refuse widths that do not nest."""
    good = all(math.isfinite(width) and width > 0 for width in widths)
    pairs = itertools.pairwise(widths)
    if not good or any(b <= a or abs(b / a - round(b / a)) > 1e-9 for a, b in pairs):
        raise TaxonomyError("`ranges` must list positive widths, each a multiple of the one before, like [5, 10, 20].")


def automatic_widths(values: pl.Series) -> tuple[float, ...]:
    """Widths that start at a round number near a twentieth of the span, and double up to the span."""
    span = float(values[-1] - values[0])
    furthest = max(abs(float(values[0])), abs(float(values[-1])))
    rough = span / 20
    if not math.isfinite(span) or rough == 0 or (values.dtype.is_float() and rough <= 32 * furthest / EXACT):
        return ()
    scale = 10.0 ** math.floor(math.log10(rough))
    width = next(scale * step for step in (1, 2, 5, 10) if scale * step >= rough * 0.999)
    width = max(width, 1.0) if values.dtype.is_integer() else width
    widths = []
    while width < span:
        widths.append(width)
        width *= 2
    return tuple(widths)


def ranges(
    values: pl.Series, widths: Sequence[float], *, missing: bool, bottom: float | None = None, top: float | None = None
) -> Taxonomy:
    """A taxonomy of numbers in numeric order, with ranges of the given widths above them.

    The first number stands for everything below it if it is `bottom`, the last for everything above it if it is `top`.
    """
    names = texts(values)
    ends = bottom is not None and values[0] == bottom, top is not None and values[-1] == top
    codes = [f"<={names[0]}" if ends[0] else names[0], *names[1:-1], f">={names[-1]}" if ends[1] else names[-1]]
    codes = codes[: len(names)] if len(names) > 1 else codes[-1:] if ends[1] else codes[:1]
    if values.dtype.is_integer():
        whole = values.cast(pl.Int64).to_numpy()
        # Far from zero, distances from the first number are exact where the numbers themselves are not.
        far = max(abs(int(whole[0])), abs(int(whole[-1]))) >= EXACT and int(whole[-1]) - int(whole[0]) < 2**63
        positions = (whole - whole[0] if far else whole).astype(np.float64)
        if all(float(width).is_integer() for width in widths):
            groupings = _open([_whole_ranges(whole, int(width)) for width in widths], ends)
            return assemble(codes, groupings, positions, ordered=True, missing=missing, open_ends=ends)
        numbers = whole.astype(np.float64)
    else:
        # A 32-bit float counts as the number that it prints as, since that is what gets published.
        numbers = positions = np.array([float(name) for name in names])
    if widths and float(np.abs(numbers).max()) / widths[0] >= EXACT / 32:
        raise TaxonomyError(f"The ranges of column '{values.name}' are too narrow for numbers as large as it holds.")
    groupings = _open([_real_ranges(numbers, width) for width in _decimals(widths)], ends)
    return assemble(codes, groupings, positions, ordered=True, missing=missing, open_ends=ends)


def _open(groupings: Sequence[Grouping], ends: tuple[bool, bool]) -> list[Grouping]:
    """The ranges with bottom and top coding: those that contain such a number are named by their other end."""
    found: list[Grouping] = []
    for node, given in groupings:
        names = list(given)
        if all(ends) and len(names) == 1:
            continue  # it contains everything, as the root does
        low, high = names[-1].strip("[])").split(", ")[0], names[0].strip("[])").split(", ")[-1]
        if ends[0]:
            names[0] = f"<{high}" if names[0].endswith(")") else f"<={high}"
        if ends[1]:
            names[-1] = f">={low}"
        found.append((node, names))
    return found


def _whole_ranges(numbers: Ints, width: int) -> Grouping:
    bins = numbers // width if width < 2**63 else np.where(numbers < 0, -1, 0)
    starts, node = np.unique(bins, return_inverse=True)
    lows = [int(start) * width for start in starts]
    names = [f"[{low}, {low + width - 1}]" if width > 1 else str(low) for low in lows]
    return node.astype(np.int32), names


def _decimals(widths: Sequence[float]) -> list[Decimal]:
    """The widths as exact decimals, each an exact multiple of the one before."""
    exact = [Decimal(repr(float(width))) for width in widths[:1]]
    for below, above in itertools.pairwise(widths):
        exact.append(exact[-1] * round(above / below))
    return exact


def _real_ranges(numbers: Floats, width: Decimal) -> Grouping:
    """Half-open ranges. The bin of a number is found by comparing it with the printed ends of the bins."""
    rough = np.floor(numbers / float(width)).astype(np.int64)
    bins = np.unique(np.concatenate([rough - 1, rough, rough + 1, rough + 2]))
    edges = [_printed(width * int(number)) for number in bins]
    place = np.searchsorted(np.array([float(edge) for edge in edges]), numbers, "right") - 1
    used, node = np.unique(place, return_inverse=True)
    names = [f"[{edges[at]}, {_printed(width * int(bins[at] + 1))})" for at in used.tolist()]
    return node.astype(np.int32), names


def _printed(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") or "0" if "." in text else text


def prefixes(values: pl.Series, keep: Sequence[int], *, missing: bool) -> Taxonomy:
    """A taxonomy of codes by their first characters; the others are printed as asterisks."""
    names = texts(values)
    lengths = [len(name) for name in names]
    groupings = [_heads(names, lengths, count) for count in keep]
    return assemble(names, groupings, np.arange(len(names), dtype=np.float64), missing=missing)


def _heads(names: Sequence[str], lengths: Sequence[int], count: int) -> tuple[Codes, list[str]]:
    node, heads = runs([name[:count] for name in names])
    longest = np.zeros(len(heads), np.int64)
    np.maximum.at(longest, node, lengths)
    return node, [head + "*" * (length - len(head)) for head, length in zip(heads, longest.tolist(), strict=True)]


def dates(values: pl.Series, steps: Sequence[str], *, missing: bool) -> Taxonomy:
    """A taxonomy of days, with months, quarters, years, decades and centuries above them."""
    year = values.dt.year().cast(pl.String).str.zfill(4)
    names = {
        "month": values.dt.strftime("%Y-%m").to_list(),
        "quarter": (year + "-Q" + values.dt.quarter().cast(pl.String)).to_list(),
        "year": year.to_list(),
        "decade": _years(values, 10),
        "century": _years(values, 100),
    }
    days = values.to_physical().to_numpy().astype(np.float64)
    return assemble(texts(values), [runs(names[step]) for step in steps], days, ordered=True, missing=missing)


def _years(values: pl.Series, width: int) -> list[str]:
    """The decade or century of each day, by its first and last day."""
    starts = (values.dt.year() // width * width).to_list()
    return [f"[{max(year, 1):04}-01-01, {year + width - 1:04}-12-31]" for year in starts]
