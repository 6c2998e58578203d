"""First matrices by linear program: as many true values as the limits of all adversaries at once allow.

Each column of M, the likelihoods of one published value, must satisfy the same linear requirements (`adversaries`);
rows sum to 1. No entry of a column is more than `odds` times another. The program maximizes the mean probability of
the truth, weighted by the square root of the prior: counts are estimated with errors of about that order, and weighted
by the prior itself nearly everybody would be published with the commonest value. A little weight is on the least
diagonal entry: it keeps columns apart, so that estimates have an inverse. Requirements are added as they are violated:
few ever bind.

Corners of such a program can be singular: nothing is lost by truth if two values are published alike. The closed form
meets the same requirements, so every mixture of the two does. Of these mixtures the one is taken by which estimated
counts vary least (`total_variance`); no weight has to be chosen.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from reissue._arrays import Bools, Floats
from reissue.errors import InternalError
from reissue.randomized.rule import View

__all__ = ["first_program", "least_varying", "requirements_of", "total_variance"]

_ROUNDS = 50
_ZERO = 1e-9
_MIXTURES = np.linspace(0, 1, 41)
"""Shares of the closed form that are tried."""
_TINY = 1e-9
"""Keeps matrices invertible."""
_WRONG = 1e-8
"""How far a requirement may be missed before it is added; what is left is mended afterwards."""
_APART = 0.1
"""What a least diagonal entry of 1 is worth, where a share of 1 of true values is worth 1."""


def requirements_of(views: list[View], priors: Floats) -> Floats:
    """Requirements x values: for each, its product with any column of M must not be above 0 (`priors` of one class)."""
    found = []
    for view, prior in zip(views, priors, strict=True):
        limits = view.protected.limits(prior)
        for seen in view.foreseen:
            mass = prior * seen.now
            for events in (view.protected.member * seen.now, (seen.path @ view.protected.member.T).T):
                rows = prior * events - limits[:, np.newaxis] * mass
                found.append(rows[rows.sum(1) < -_ZERO])
    rows = np.concatenate(found)
    rows = rows / np.abs(rows).max(1, keepdims=True)
    return np.unique(rows[(rows > _ZERO).any(1)], axis=0)


def first_program(views: list[View], priors: Floats, odds: float) -> Floats:
    """Classes x values x values: the most truthful M of every class (`priors` are adversaries x classes x values)."""
    return np.stack([_solved(requirements_of(views, one), one[-1], odds) for one in priors.swapaxes(0, 1)])


def least_varying(matrices: Floats, others: Floats, priors: Floats) -> Floats:
    """Of the mixtures of two first matrices of each class, the one by which estimated counts vary least."""
    found = []
    for one, other, prior in zip(matrices, others, priors, strict=True):
        mixtures = [(1 - share) * one + share * other for share in _MIXTURES]
        found.append(mixtures[int(np.argmin([total_variance(mixture, prior) for mixture in mixtures]))])
    return np.stack(found)


def total_variance(matrix: Floats, prior: Floats) -> float:
    """The variance of the best unbiased estimates of all shares of values, from one record.

    With m = prior M, the shares of published values, and J(u, v) = sum over y of M(y | u) M(y | v) / m(y), the
    estimates of generalized least squares have the covariance J^-1 - prior prior^T, which is the least of all.
    """
    shown = np.maximum(prior @ matrix, _TINY)
    information = (matrix / shown) @ matrix.T + _TINY * np.eye(len(prior))
    return float(np.trace(np.linalg.inv(information)) - prior @ prior)


def _solved(rows: Floats, prior: Floats, odds: float) -> Floats:
    size = len(prior)
    chosen = np.zeros((len(rows), size), np.bool_)
    for _ in range(_ROUNDS):
        matrix = _program(rows, chosen, prior, odds)
        wrong = rows @ matrix > _WRONG
        if not (wrong & ~chosen).any():
            return _repaired(rows, matrix)
        chosen |= wrong
    raise InternalError("The linear program for first values was not solved.")


def _program(rows: Floats, chosen: Bools, prior: Floats, odds: float) -> Floats:
    """Solve with the chosen (requirement, column) pairs.

    Variables are the entries of M, row by row, the least of every column, and the least diagonal entry.
    """
    size = len(prior)
    entries, identity = size * size, sparse.identity(size, format="csr")
    row, column = np.nonzero(chosen)
    at = np.arange(size)[np.newaxis, :] * size + column[:, np.newaxis]
    limits = sparse.csr_matrix((rows[row].ravel(), at.ravel(), np.arange(len(row) + 1) * size), (len(row), entries))
    every = sparse.identity(entries, format="csr")
    least = sparse.vstack([identity] * size)
    diagonal = np.arange(size) * (size + 1)
    blocks = [[limits, None, None], [-every, least, None], [-every[diagonal], None, np.ones((size, 1))]]
    if np.isfinite(odds):
        blocks.append([every, -odds * least, None])
    bounded = sparse.bmat([block for block in blocks if block[0].shape[0]], format="csr")
    sums = sparse.hstack([sparse.kron(identity, np.ones((1, size))), sparse.csr_matrix((size, size + 1))], format="csr")
    cost, weight = np.zeros(entries + size + 1), np.sqrt(prior)
    cost[diagonal], cost[-1] = -weight / weight.sum(), -_APART
    found = linprog(cost, bounded, np.zeros(bounded.shape[0]), sums, np.ones(size), bounds=(0, 1), method="highs")
    if found.x is None:
        raise InternalError(f"The linear program for first values has no solution (status {found.status}).")
    matrix = np.clip(found.x[:entries].reshape(size, size), 0, None)
    return np.asarray(matrix / matrix.sum(1, keepdims=True))


def _repaired(rows: Floats, matrix: Floats) -> Floats:
    """Mixed with columns that tell nothing, as far as rounding needs it; those satisfy all requirements."""
    shares = matrix.mean(0)
    over = (rows @ matrix).clip(0)
    silent = -rows.sum(1)[:, np.newaxis] * shares
    need = np.divide(over, over + silent, out=np.zeros_like(over), where=over > 0).max(initial=0.0)
    return np.asarray((1 - need) * matrix + need * shares)
