"""Calibration: how often claims of each size are right, where the truth is known.

People are sorted by claim; monotone regression gives the share that is right at each size of claim, in blocks of at
least thirty people; of each block the lower confidence bound counts. So claims that are too modest, because the
mathematics is, do not make a series look safer than it is.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from reissue._arrays import Bools, Floats, Ints

__all__ = ["Calibration", "calibrate", "tenths"]

_BLOCK = 30
_DIGITS = 6
_DOUBT = 0.05
"""A block's true share is below its bound with this probability at most."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Steps: from each claim on, the share that is surely right."""

    claim: Floats
    """Where each block begins; sorted."""
    right: Floats
    """The lower bound of the share of right guesses in the block."""

    def of(self, claims: Floats) -> Floats:
        """What claims of these sizes are worth; 0 below the first block."""
        at = np.searchsorted(self.claim, _rounded(claims), side="right") - 1
        return np.where(at >= 0, self.right[np.maximum(at, 0)], 0.0) if len(self.claim) else np.zeros(len(claims))


def calibrate(claims: Floats, right: Bools) -> Calibration:
    """Learn it from claims whose truth is known."""
    from scipy.optimize import isotonic_regression

    if len(claims) < _BLOCK:
        return Calibration(np.empty(0), np.empty(0))
    claims = _rounded(claims)
    order = np.argsort(claims, kind="stable")
    blocks = np.asarray(isotonic_regression(right[order].astype(np.float64)).blocks)
    starts = _large(_untied(claims[order], blocks), len(order))
    ends = np.append(starts[1:], len(order))
    number, hits = ends - starts, np.add.reduceat(right[order].astype(np.int64), starts)
    bound = np.where(hits > 0, betaincinv(np.maximum(hits, 1), number - hits + 1, _DOUBT), 0.0)
    return Calibration(claims[order][starts], np.maximum.accumulate(bound))


def _rounded(claims: Floats) -> Floats:
    """Claims that differ only by the order in which they were computed are equal."""
    return np.round(claims, _DIGITS)


def _untied(claims: Floats, blocks: Ints) -> Ints:
    """Beginnings of blocks, moved so that equal claims are in one."""
    return np.unique(np.searchsorted(claims, claims[blocks[:-1]], side="left"))


def _large(starts: Ints, total: int) -> Ints:
    """Blocks of thirty people at least: the surest people stay together at the end."""
    kept, end = [], total
    for start in starts[::-1]:
        if end - start >= _BLOCK:
            kept.append(int(start))
            end = int(start)
    if kept and kept[-1] != 0:
        kept[-1] = 0
    return np.array(kept[::-1] or [0], np.int64)


def tenths(claims: Floats, right: Floats) -> list[dict[str, float]]:
    """For claims in tenths: people, mean claim, share that is right; `right` is how likely each one is."""
    band = np.minimum((claims * 10).astype(np.int64), 9)
    return [
        {
            "from": tenth / 10,
            "people": int((band == tenth).sum()),
            "claim": float(claims[band == tenth].mean()),
            "right": float(right[band == tenth].mean()),
        }
        for tenth in range(10)
        if (band == tenth).any()
    ]
