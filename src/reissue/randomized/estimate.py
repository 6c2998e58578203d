"""Estimates from a randomized release and its public side table, with standard errors.

Published values are not all true, so counts and slopes of them are attenuated. For each class the side table has two
weights for every pair of a published value y and a true value v:

- `expected`: how likely v is the true value of a row that shows y.
- `unbiased`: the inverse of the probabilities Q(y | v). Over what may be drawn, its mean for a row is 1 at the true
  value and 0 elsewhere, whatever the true value is. Weights can be negative.

Either way an analysis is the same: put each row into the table once for every true value, with that weight, and compute
weighted counts, means, cross tables or regressions. Sums of terms for a row and a value are then unbiased, for
regressions those of the estimating equations: sensitive values may be outcomes or covariates.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.errors import InputError

__all__ = ["Inference", "counts", "mean", "regression"]

_STEPS = 500
"""Rounds of Newton's method at most."""


@dataclass(frozen=True, eq=False)
class Inference:
    """Estimates with standard errors."""

    value: Floats
    error: Floats
    covariance: Floats | None = None

    def interval(self, deviations: float = 1.96) -> tuple[Floats, Floats]:
        """From so many standard errors below to as many above; 1.96 for 95%."""
        return self.value - deviations * self.error, self.value + deviations * self.error


def counts(weights: Floats, groups: Ints | None = None, number: int = 1, *, share: bool = False) -> Inference:
    """Count people by true value, or by group and true value; or their share of each group.

    Standard errors are those of these people's true counts: what randomizing adds. Boundaries of groups must not depend
    on the sensitive value.
    """
    groups = np.zeros(len(weights), np.int64) if groups is None else groups
    value, spread = np.zeros((number, weights.shape[1])), np.zeros((number, weights.shape[1]))
    np.add.at(value, groups, weights)
    np.add.at(spread, groups, weights**2 - weights)  # the mean of w^2 - w is the variance of w
    people = np.bincount(groups, minlength=number)[:, np.newaxis] if share else 1
    return Inference(value / people, np.sqrt(np.maximum(spread, 0)) / people)


def mean(weights: Floats, amount: Floats, *, these_people: bool = False) -> Inference:
    """The mean over people of an amount that depends on the true value (values, or rows x values)."""
    one = np.ones((len(weights), 1))
    return regression(weights, one, np.broadcast_to(amount, weights.shape), these_people=these_people)


def regression(
    weights: Floats,
    covariates: Floats,
    outcome: Floats,
    *,
    family: Literal["linear", "logistic"] = "linear",
    these_people: bool = False,
) -> Inference:
    """Fit a linear or logistic regression.

    Parameters
    ----------
    weights
        Rows x true values.
    covariates
        Rows x covariates, or rows x values x covariates where they depend on the true value; with a column of ones.
    outcome
        Rows, or rows x values where it depends on the true value.
    family
        `linear` (least squares) or `logistic` (outcomes between 0 and 1).
    these_people
        Standard errors as to the coefficients that the true values of these people would give. Else as to those of a
        population that they are a sample of, which includes sampling; robust to unequal variances.

    Raises
    ------
    InputError
        If the coefficients are not determined, or do not converge.
    """
    x = covariates[:, np.newaxis, :] if covariates.ndim == 2 else covariates
    y = np.broadcast_to(outcome[:, np.newaxis] if outcome.ndim == 1 else outcome, weights.shape)
    beta = np.zeros(x.shape[2])
    for _ in range(_STEPS):
        fitted = x @ beta
        fitted = 1 / (1 + np.exp(-np.clip(fitted, -30, 30))) if family == "logistic" else fitted
        slope = fitted * (1 - fitted) if family == "logistic" else np.ones_like(fitted)
        residual = y - fitted
        information = _crossed(weights * slope, x, x)
        if not np.linalg.cond(information) < 1e12:
            raise InputError("The covariates do not determine the coefficients: leave one out, or take fewer groups.")
        step = np.linalg.solve(information, ((weights * residual)[..., np.newaxis] * x).sum((0, 1)))
        if family == "logistic":  # negative weights: no concave likelihood keeps a whole Newton step from overshooting
            step = step * min(1.0, 1 / max(float(np.abs(x @ step).max()), 1e-9))
        beta = beta + step
        if np.abs(step).max() < 1e-10 * (1 + np.abs(beta).max()):
            break
    else:
        raise InputError("The regression did not converge: too few people for that many covariates.")
    row = ((weights * residual)[..., np.newaxis] * x).sum(1)
    noise = row.T @ row
    if these_people:
        noise = noise - _crossed(weights * residual**2, x, x)
    inverse = np.linalg.inv(information)
    covariance = inverse @ noise @ inverse
    return Inference(beta, np.sqrt(np.maximum(covariance.diagonal(), 0)), covariance)


def _crossed(weights: Floats, x: Floats, z: Floats) -> Floats:
    """Covariates x covariates: the weighted sum of products."""
    if x.shape[1] == 1:
        return np.asarray((x[:, 0] * weights.sum(1)[:, np.newaxis]).T @ z[:, 0], np.float64)
    return np.asarray(np.einsum("nv,nvp,nvq->pq", weights, x, z), np.float64)
