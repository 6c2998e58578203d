"""Differentially private counts: discrete Laplace noise by OpenDP, an extra.

One person who is added or left out changes one cell of every margin by one. With a budget of epsilon for a release the
noise of its cells has a scale of margins / epsilon; the same person counted in several releases spends the sum of
their budgets (sequential composition). What is known of a noisy count is an interval that misses the true one with a
probability of at most 1e-6. The categories themselves are those of the register, and are not protected.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reissue.contingency.table import CountTable
from reissue.errors import InternalError
from reissue.files.extras import import_optional

__all__ = ["private_counts"]

_MISSED = 1e-6
"""Probability that a true count is outside its interval, at most."""
_SLACK = 1e-9
"""Relative rounding of floats in OpenDP's account."""


def private_counts(tables: Sequence[CountTable], epsilon: float) -> tuple[CountTable, ...]:
    """Tables with noise that is fresh each time, for a budget of `epsilon` a person for all of them together.

    Raises
    ------
    InputError
        If OpenDP is not installed.

    """
    dp = import_optional("opendp.prelude", "dp", "Differentially private counts are asked for")
    dp.enable_features("contrib")
    margins = sum(1 for one in tables for _ in one.margins())
    scale = margins / epsilon
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measure = dp.m.make_laplace(*space, scale=scale)
    if measure.map(d_in=margins) > epsilon * (1 + _SLACK):
        raise InternalError("OpenDP accounts more for these tables than their budget.")
    width = int(np.ceil(scale * np.log(2 / _MISSED)))
    made = []
    for one in tables:
        noisy = np.array(measure(one.low.tolist()), np.int64)
        shown = np.maximum(noisy, 0)
        low, high = np.maximum(noisy - width, 0), np.maximum(noisy + width, 0)
        made.append(replace(one, low=low, high=high, shown=shown))
    return tuple(made)
