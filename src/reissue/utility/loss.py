"""Information loss, errors of published margins, and group sizes.

**A cell** (Wong, Fu, Wang, Pei 2009: paper 5, definition 7) costs (leaves below it - 1) / (leaves - 1): 0 if exact, 1
for the root. For numbers and dates it is the covered part of the span, which is the same for whole numbers without
gaps. The normalized certainty penalty (Xu et al. 2006) is the same measure.

**A record** costs the weighted mean of its quasi-identifiers' cells. Where sensitive values belong to a group and not
to a row (permuted, or in a second table), there are two readings, and the cheaper one counts:

- its value with the box around all rows of its group, as if the group had been generalized;
- its own cells with any value of its group. The value then costs the probability that two rows of the group have
  different values, relative to that of two rows of the table (1 - Goodman and Kruskal's tau): 0 where all are the same,
  1 where the group is as mixed as the table. Together 1 - (1 - cells) (1 - value).

**A table** costs the mean over its records and all counterfeits. A suppressed person, a counterfeit and a changed value
cost 1 each. So a more informative release never costs more. O(boxes).

**Margins.** For a categorical or sensitive column: the largest error of the share of people with any set of values
(total variation). For numbers and dates: that of the share with at most so much (Kolmogorov and Smirnov). A recipient
takes rows to be uniform over their published range and subtracts counterfeits group by group. O(boxes + leaves).

**Group sizes.** Discernibility (Bayardo and Agrawal 2005): a row costs the size of its group, a suppressed one the size
of the table. The normalized average (LeFevre, DeWitt, Ramakrishnan 2006) is published rows / groups / k; 1 is best.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.errors import SchemaError, nearest
from reissue.taxonomy.tree import Taxonomy
from reissue.utility.published import Published

__all__ = [
    "attribute_losses",
    "average_group_size",
    "changed_values",
    "column_margin",
    "discernibility",
    "information_loss",
    "margins_of",
    "record_losses",
    "shares_of",
    "table_loss",
    "value_losses",
]


def attribute_losses(taxonomies: Sequence[Taxonomy], lo: Codes, hi: Codes, rows: Floats, suppressed: int = 0) -> Floats:
    """The mean loss of each quasi-identifier: published boxes (quasi-identifiers x boxes) with their row counts."""
    total = max(float(rows.sum()) + suppressed, 1.0)
    # Not `@`: the threads of a dense product busy-wait.
    lost = [float((taxonomy.loss(*ends) * rows).sum()) for taxonomy, *ends in zip(taxonomies, lo, hi, strict=True)]
    return (np.array(lost, np.float64) + suppressed) / total


def information_loss(losses: Floats, shares: Floats) -> float:
    """The weighted sum of the losses of attributes."""
    return float(losses @ shares)


def table_loss(published: Published, shares: Floats, suppressed: int, added: int) -> float:
    """The loss of a table: the mean over its records and all counterfeits."""
    rows = published.table.records
    kept = rows - suppressed
    weight = float(published.rows.sum())
    each = float(record_losses(published, shares) @ published.rows) / weight if weight else 0.0
    changed = min(changed_values(published, added), kept)
    return ((kept - changed) * each + changed + suppressed + added) / max(rows + added, 1)


def record_losses(published: Published, shares: Floats) -> Floats:
    """The loss of each record, by box."""
    cells = _cells(published.table.taxonomies, published.lo, published.hi, shares)
    if not published.apart:
        return cells
    around = _cells(published.table.taxonomies, *published.hulls, shares)[published.group]
    own = 1 - (1 - cells) * (1 - value_losses(published)[published.group])
    return np.asarray(np.minimum(around, own))


def value_losses(published: Published) -> Floats:
    """The loss of the sensitive values of each group's rows; 0 where rows show them."""
    if not published.apart or published.values is None:
        return np.zeros(len(published.sizes))
    totals = published.table.domain.totals
    mixed = 1 - float(np.square(totals / max(totals.sum(), 1)).sum())
    return np.asarray(np.clip(published.values.mixture / mixed, 0, 1)) if mixed > 0 else np.zeros(len(published.sizes))


def changed_values(published: Published, added: int) -> int:
    """The minimum number of changed sensitive values: those in excess, beyond counterfeits."""
    if published.values is None:
        return 0
    surplus = np.maximum(published.values.published - published.table.domain.totals, 0).sum()
    return max(int(surplus) + published.values.strange - added, 0)


def _cells(taxonomies: Sequence[Taxonomy], lo: Codes, hi: Codes, shares: Floats) -> Floats:
    """The weighted mean loss of boxes."""
    losses = [taxonomy.loss(*ends) for taxonomy, *ends in zip(taxonomies, lo, hi, strict=True)]
    return np.asarray(shares @ np.array(losses))


def shares_of(names: Sequence[str], weights: Mapping[str, float] | None = None) -> Floats:
    """Weights that sum to 1, so that losses stay between 0 and 1; a column that is not named has weight 1."""
    weights = weights or {}
    for name, weight in weights.items():
        if name not in names:
            raise SchemaError(f"There is a weight for '{name}', which is no quasi-identifier." + nearest(name, names))
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise SchemaError(f"The weight of '{name}' must be a number, at least 0.")
    given = np.array([float(weights.get(name, 1.0)) for name in names])
    if not given.sum():
        raise SchemaError("At least one weight must be above 0.")
    return given / float(given.sum())


def margins_of(published: Published) -> dict[str, float]:
    """The error of the published shares of each column; sensitive columns only if they were published."""
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
    """The largest error of a share, from true counts by leaf and published intervals with their rows."""
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
    """Rows by leaf, from ranges on a line: whole numbers and days count one each, other numbers by length.

    What lies between two leaves counts to the upper one, so that the shares up to each leaf are right.
    """
    found = np.zeros(taxonomy.size)
    line = taxonomy.positions[: last + 1]
    whole = bool(np.all(line == np.floor(line)))
    line = line / 2 - line[0] / 2  # halves, so that the distance between the largest floats does not overflow
    span = float(line[-1]) or 1.0
    line, unit = line / span, 0.5 / span if whole else 0.0
    if taxonomy.missing:
        # Beside numbers, only the root contains the missing value: one leaf among all.
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
    """The largest error of a share of people; `ordered` are the leaves on a line, the others lie beside it."""
    if not seen.sum():
        return 1.0
    total = float(seen.sum())
    error = seen / total - true / max(float(true.sum()), 1.0)
    if ordered is None:
        return float(np.abs(error).sum() / 2)
    return float(max(np.abs(np.cumsum(error[ordered])).max(initial=0), np.abs(error[~ordered]).max(initial=0)))


def discernibility(sizes: Ints, suppressed: int, rows: int) -> int:
    """The sum of squared group sizes, plus the size of the table for each suppressed row. O(groups)."""
    return int(sizes @ sizes) + suppressed * rows


def average_group_size(sizes: Ints, k: int | None = None) -> float:
    """Rows per published group, in multiples of k if given. O(groups)."""
    return float(sizes.sum()) / max(len(sizes), 1) / (k or 1)
