"""Information loss (Wong, Fu, Wang, Pei 2009: paper 5, definition 7): how much of its domain a published value covers.

A value costs (leaves under it - 1) / (leaves - 1): 0 if exact, 1 for the root. On numbers and dates it is the covered
part of the span, which is the same for whole numbers without gaps. A row costs the weighted sum over its
quasi-identifiers, a table the average over its rows; a suppressed row is lost altogether. The normalized certainty
penalty (Xu et al. 2006) is the same measure. With equal weights it is the average loss per cell. O(groups).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from reissue._arrays import Codes, Floats
from reissue.errors import SchemaError, nearest
from reissue.taxonomy.tree import Taxonomy

__all__ = ["attribute_losses", "information_loss", "shares_of"]


def attribute_losses(taxonomies: Sequence[Taxonomy], lo: Codes, hi: Codes, rows: Floats, suppressed: int = 0) -> Floats:
    """The average loss on each quasi-identifier: published boxes (quasi-identifiers x boxes) with their row counts."""
    total = max(float(rows.sum()) + suppressed, 1.0)
    lost = [float(taxonomy.loss(*ends) @ rows) for taxonomy, *ends in zip(taxonomies, lo, hi, strict=True)]
    return (np.array(lost, np.float64) + suppressed) / total


def information_loss(losses: Floats, shares: Floats) -> float:
    """The weighted sum of the losses per attribute."""
    return float(losses @ shares)


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
