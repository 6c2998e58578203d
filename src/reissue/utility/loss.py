"""Information loss: how little of who has which value is still said, between 0 and 1.

**A cell** (Wong, Fu, Wang, Pei 2009: paper 5, definition 7) costs (leaves under it - 1) / (leaves - 1): 0 if exact, 1
for the root. On numbers and dates it is the covered part of the span, which is the same for whole numbers without gaps.
The normalized certainty penalty (Xu et al. 2006) is the same measure.

**A record** costs the weighted mean of its quasi-identifiers' cells. Where sensitive values belong to a group and not
to a row (permuted, or in a second table), there are two ways to read it, and it costs the cheaper one:

- its value with the box around all rows of its group: as if the group had been generalized;
- its own cells with any value of its group. The value then costs how likely two rows of the group have different
  values, by how likely two rows of the table have (1 - Goodman and Kruskal's tau): 0 where all are the same, 1 where
  the group is as mixed as the table. Together 1 - (1 - cells) (1 - value).

**A table** costs the mean over its records and all that were invented. A person left out, a counterfeit and a changed
value cost 1 each. So a release that says more never costs more. O(boxes).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from reissue._arrays import Codes, Floats
from reissue.errors import SchemaError, nearest
from reissue.taxonomy.tree import Taxonomy
from reissue.utility.published import Published

__all__ = [
    "attribute_losses",
    "changed_values",
    "information_loss",
    "record_losses",
    "shares_of",
    "table_loss",
    "value_losses",
]


def attribute_losses(taxonomies: Sequence[Taxonomy], lo: Codes, hi: Codes, rows: Floats, suppressed: int = 0) -> Floats:
    """The average loss on each quasi-identifier: published boxes (quasi-identifiers x boxes) with their row counts."""
    total = max(float(rows.sum()) + suppressed, 1.0)
    # Not `@`: threads of a dense product wait at full speed.
    lost = [float((taxonomy.loss(*ends) * rows).sum()) for taxonomy, *ends in zip(taxonomies, lo, hi, strict=True)]
    return (np.array(lost, np.float64) + suppressed) / total


def information_loss(losses: Floats, shares: Floats) -> float:
    """The weighted sum of the losses per attribute."""
    return float(losses @ shares)


def table_loss(published: Published, shares: Floats, suppressed: int, added: int) -> float:
    """The loss of a table: the mean over its records and all that were invented."""
    rows = published.table.records
    kept = rows - suppressed
    weight = float(published.rows.sum())
    each = float(record_losses(published, shares) @ published.rows) / weight if weight else 0.0
    changed = min(changed_values(published, added), kept)
    return ((kept - changed) * each + changed + suppressed + added) / max(rows + added, 1)


def record_losses(published: Published, shares: Floats) -> Floats:
    """Box to what each of its records loses."""
    cells = _cells(published.table.taxonomies, published.lo, published.hi, shares)
    if not published.apart:
        return cells
    around = _cells(published.table.taxonomies, *published.hulls, shares)[published.group]
    own = 1 - (1 - cells) * (1 - value_losses(published)[published.group])
    return np.asarray(np.minimum(around, own))


def value_losses(published: Published) -> Floats:
    """Group to what is lost of its rows' sensitive values: nothing where they stand in the rows."""
    if not published.apart or published.values is None:
        return np.zeros(len(published.sizes))
    totals = published.table.domain.totals
    mixed = 1 - float(np.square(totals / max(totals.sum(), 1)).sum())
    return np.asarray(np.clip(published.values.mixture / mixed, 0, 1)) if mixed > 0 else np.zeros(len(published.sizes))


def changed_values(published: Published, added: int) -> int:
    """How many sensitive values must have been changed: those that are too many, beside what was invented."""
    if published.values is None:
        return 0
    surplus = np.maximum(published.values.published - published.table.domain.totals, 0).sum()
    return max(int(surplus) + published.values.strange - added, 0)


def _cells(taxonomies: Sequence[Taxonomy], lo: Codes, hi: Codes, shares: Floats) -> Floats:
    """The weighted mean loss of boxes."""
    losses = [taxonomy.loss(*ends) for taxonomy, *ends in zip(taxonomies, lo, hi, strict=True)]
    return np.asarray(shares @ np.array(losses))


def shares_of(names: Sequence[str], weights: Mapping[str, float] | None = None) -> Floats:
    """Weights that add up to 1, so that losses stay between 0 and 1; a column that is not named counts 1."""
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
