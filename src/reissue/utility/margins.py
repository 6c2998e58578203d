"""Margins: how far the published shares of one column are off, at worst.

Of categories, and of every sensitive column, it is the largest error of the share of people with any set of values
(total variation); of numbers and dates that of the share with at most so much (Kolmogorov and Smirnov). A reader takes
rows for spread evenly over their published range, and counts counterfeits out group by group. O(boxes + leaves).
"""

import numpy as np

from reissue._arrays import Bools, Codes, Floats
from reissue.taxonomy.tree import Taxonomy
from reissue.utility.published import Published

__all__ = ["column_margin", "margins_of"]


def margins_of(published: Published) -> dict[str, float]:
    """Column to how far its published shares are off; sensitive columns only if they were published."""
    table = published.table
    found = {}
    for name, codes, taxonomy, lo, hi in zip(
        table.schema.quasi, table.codes, table.taxonomies, published.lo, published.hi, strict=True
    ):
        true = np.bincount(codes, table.times, taxonomy.size).astype(np.float64)
        found[name] = column_margin(true, taxonomy, lo, hi, published.rows)
    if published.values is not None:
        for name, coding, codes in zip(table.schema.sensitive, table.secrets, table.joint, strict=True):
            size = coding.taxonomy.size
            true = np.bincount(codes, table.domain.totals, size).astype(np.float64)
            seen = np.bincount(codes, published.values.weighted, size)
            found[name] = _largest(np.append(true, 0.0), np.append(seen, published.values.strange), None)
    return found


def column_margin(true: Floats, taxonomy: Taxonomy, lo: Codes, hi: Codes, rows: Floats) -> float:
    """The largest error of a share: true counts by leaf, against published intervals with their rows."""
    seen = np.zeros(taxonomy.size + 1)
    point, last = lo == hi, taxonomy.size - 1 - taxonomy.missing
    np.add.at(seen, lo[point], rows[point])
    spread = ~point
    if taxonomy.ordered:
        seen[: taxonomy.size] += _along(taxonomy, last, lo[spread], hi[spread], rows[spread])
        return _largest(true, seen[:-1], np.arange(taxonomy.size) <= last)
    steps = np.zeros(taxonomy.size + 1)
    each = rows[spread] / (hi[spread] - lo[spread] + 1)
    np.add.at(steps, lo[spread], each)
    np.add.at(steps, hi[spread] + 1, -each)
    return _largest(true, (seen + np.cumsum(steps))[:-1], None)


def _along(taxonomy: Taxonomy, last: int, lo: Codes, hi: Codes, rows: Floats) -> Floats:
    """Rows by leaf, from ranges on a line: whole numbers and days count as one each, other numbers by length.

    What lies between two leaves counts to the upper one, so that the shares up to each leaf are right.
    """
    found = np.zeros(taxonomy.size)
    line = taxonomy.positions[: last + 1]
    whole = bool(np.all(line == np.floor(line)))
    line = line / 2 - line[0] / 2  # halves, so that the distance of the largest numbers is a number too
    span = float(line[-1]) or 1.0
    line, unit = line / span, 0.5 / span if whole else 0.0
    if taxonomy.missing:
        # Only the root holds the missing value beside numbers: one leaf among all.
        found[-1] = float(rows[hi > last].sum()) / taxonomy.size
        rows = np.where(hi > last, rows * (taxonomy.size - 1) / taxonomy.size, rows)
    hi = np.minimum(hi, last)
    slope = rows / np.maximum(line[hi] - line[lo] + unit, 1e-300)
    starts, ends = np.zeros((2, 2, last + 2))
    np.add.at(starts[0], lo, slope)
    np.add.at(starts[1], lo, slope * (line[lo] - unit))
    np.add.at(ends[0], hi + 1, slope)
    np.add.at(ends[1], hi + 1, slope * line[hi])
    (a, b), (c, d) = starts.cumsum(axis=1)[:, :-1], ends.cumsum(axis=1)[:, :-1]
    found[: last + 1] = np.diff((a * line - b) - (c * line - d), prepend=0.0)
    return found


def _largest(true: Floats, seen: Floats, ordered: Bools | None) -> float:
    """The largest error of a share of people; `ordered` are the leaves that lie on a line, the others lie beside it."""
    if not seen.sum():
        return 1.0
    total = float(seen.sum())
    error = seen / total - true / max(float(true.sum()), 1.0)
    if ordered is None:
        return float(np.abs(error).sum() / 2)
    return float(max(np.abs(np.cumsum(error[ordered])).max(initial=0), np.abs(error[~ordered]).max(initial=0)))
