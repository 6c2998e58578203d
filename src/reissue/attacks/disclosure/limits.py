"""How surely a person may be linked to each value: the one place where disclosure takes its limits from."""

from collections.abc import Sequence

import numpy as np

from reissue._arrays import Floats
from reissue.attacks.findings import ALONE
from reissue.attacks.joint.finding import limit_of
from reissue.counting.texts import MISSING, SEPARATOR
from reissue.published.series import Series

__all__ = ["limit_by_value", "plain_limit"]


def plain_limit(series: Series) -> float:
    """The limit of values that have none of their own: the caller's, else that of the joint attack and the policy."""
    own = series.limit(ALONE)
    return limit_of(series) if own is None else float(own)


def limit_by_value(series: Series, columns: Sequence[str], values: Sequence[str]) -> Floats:
    """The largest posterior that each value of some sensitive columns may have, infinite for those that expose nobody.

    `values` are texts as `joined_texts` makes them. A missing cell is no value, nor is a combination that lacks a part:
    what the other columns show is judged with them.
    """
    del columns  # every column has the same limit
    missing = [MISSING in value.split(SEPARATOR) for value in values]
    return np.where(missing, np.inf, plain_limit(series))
