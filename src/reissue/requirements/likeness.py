"""How far a value's share in a group may be from that in the table: beta-likeness and delta-disclosure privacy.

With p the share of a value in a group and q that in the whole table:
- beta-likeness (Cao, Karras 2012): (p - q) / q <= beta. Enhanced, the bound is min(beta, -ln q): frequent values may
  gain less. Only gains count, so it is an upper bound to each value's share: q (1 + bound).
- delta-disclosure privacy (Brickell, Shmatikov 2008): |ln(p / q)| < delta for every value of the table, so each group
  must have all of them.

Both are bounds to shares, and shares of a union lie between those of its parts: monotone, not growing. Linear in the
triples.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.errors import RequirementError
from reissue.requirements._base import BELOW, Loss, Requirement, number, over, register
from reissue.requirements._subsets import Subsets, singles
from reissue.requirements._values import plain

__all__ = ["BetaLikeness", "DeltaDisclosure"]

_SLACK = 1e-12
"""Quotients round: a share of exactly the bound must pass."""
_ENHANCED = "enhanced"


@register
@dataclass(frozen=True)
class BetaLikeness(Requirement):
    """beta-likeness: no value's share in a group exceeds that in the table by more than beta times."""

    name: ClassVar[str] = "beta"
    example: ClassVar[str] = "beta=1 or beta=1:enhanced"
    relative: ClassVar[bool] = True
    beta: float
    enhanced: bool = False

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.beta)), float, 0)

    def bounds(self, domain: Domain) -> Floats:
        """Value to the largest share that it may have of a group."""
        q = domain.shares
        gain = np.full(len(q), float(self.beta))
        if self.enhanced:
            gain = np.minimum(gain, -np.log(np.maximum(q, 1e-300)))
        return np.asarray(q * (1 + gain), np.float64)

    def holds(self, counts: Counts) -> Bools:
        """Groups in which no value has a larger share than its bound."""
        excess = counts.count / counts.sizes[counts.group] - self.bounds(counts.domain)[counts.value]
        return np.asarray(counts.sum((excess > _SLACK).astype(np.float64)) == 0, np.bool_)

    def fitness(self, counts: Counts) -> Floats:
        """The bound over the share, of the value that is nearest to its own."""
        least = np.full(counts.total, np.inf)
        share = counts.count / counts.sizes[counts.group]
        np.minimum.at(least, counts.group, self.bounds(counts.domain)[counts.value] / share)
        return over(1.0, 1 / np.maximum(least, 1e-12))

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """No share is larger than its whole value's rows over those that remain at least."""
        remaining = np.maximum(whole.sizes - loss.taken, 1)
        excess = whole.count / remaining[whole.group] > self.bounds(whole.domain)[whole.value]
        return np.asarray(whole.sum(excess.astype(np.float64)) == 0, np.bool_)

    def worst_sets(self, values: Ints, domain: Domain) -> Bools:
        """The share of a value is largest with all its records and as few others as can be."""
        del domain
        return singles(len(values))

    def share_bounds(self, values: Ints, domain: Domain) -> tuple[Ints, Floats]:
        """Each value on its own."""
        return singles(len(values)).astype(np.int64), self.bounds(domain)[values]

    @classmethod
    def parse(cls, argument: str) -> "BetaLikeness":
        """From `1` or `1:enhanced`."""
        beta, _, kind = (piece.strip() for piece in argument.partition(":"))
        if kind not in {"", _ENHANCED}:
            raise RequirementError(f"After the colon of 'beta' only '{_ENHANCED}' can stand: {cls.example}.")
        return cls(number(cls, beta, float, 0), kind == _ENHANCED)

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"beta={plain(self.beta)}" + (f":{_ENHANCED}" if self.enhanced else "")


@register
@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """delta-disclosure privacy: every value of the table is in each group, at nearly the table's share."""

    name: ClassVar[str] = "delta-disclosure"
    example: ClassVar[str] = "delta-disclosure=1.5"
    relative: ClassVar[bool] = True
    delta: float

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.delta)), float, 1e-9)

    def holds(self, counts: Counts) -> Bools:
        """Groups with all values, each with a share of more than q / e^delta and less than q e^delta."""
        return _farthest(counts) < self.delta

    def fitness(self, counts: Counts) -> Floats:
        """Delta over the largest ratio; where values are lacking, the share of those that are there."""
        far, needed = _farthest(counts), max(int(np.count_nonzero(counts.domain.totals)), 1)
        lacking = np.minimum(counts.distinct / needed, BELOW)
        return np.where(np.isinf(far), lacking, over(self.delta, np.where(np.isinf(far), 1.0, far)))

    def holds_between(self, subsets: Subsets) -> bool | None:
        """Shares between bounds form a convex cone: vertices are worst."""
        return subsets.vertices(self.holds)

    @classmethod
    def parse(cls, argument: str) -> "DeltaDisclosure":
        """From `1.5`."""
        return cls(number(cls, argument, float, 1e-9))

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"delta-disclosure={plain(self.delta)}"


def _farthest(counts: Counts) -> Floats:
    """Group to its largest |ln(p / q)|; infinite where it lacks a value of the table."""
    q = counts.domain.shares[counts.value]
    ratio = np.abs(np.log(counts.count) - np.log(counts.sizes[counts.group]) - np.log(q))
    most = np.zeros(counts.total)
    np.maximum.at(most, counts.group, ratio)
    return np.where(counts.distinct < np.count_nonzero(counts.domain.totals), np.inf, most)
