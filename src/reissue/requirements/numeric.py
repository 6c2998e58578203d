"""(k,e)-anonymity (Zhang et al. 2007): a group has at least k different numbers, spread over a range of at least e.

Paper 004 asks for k rows instead of k different values; this is Zhang's definition, which implies it. Dates count in
days. A missing value is no number: it adds neither to the count nor to the range. Linear in the triples.
"""

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.errors import RequirementError
from reissue.requirements._base import Remaining, Requirement, arguments, number, register
from reissue.requirements._values import plain

__all__ = ["KE"]

_SLACK = 2.0**-50
"""Differences of decimal numbers round in the last digits: a range of exactly e must pass, and nothing narrower."""


@register
@dataclass(frozen=True)
class KE(Requirement):
    """Require at least k different sensitive numbers in every group, with a range of at least e ((k,e)-anonymity).

    Parameters
    ----------
    k
        The smallest allowed number of different values.
    e
        The smallest allowed difference between the largest and the smallest.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.KE(3, 1000))
    'k-e=3,1000'
    """

    name: ClassVar[str] = "k-e"
    example: ClassVar[str] = "k-e=3,5000"
    growing: ClassVar[bool] = True
    k: int
    e: float

    def __post_init__(self) -> None:
        number(type(self), str(self.k), int, 1)
        number(type(self), repr(float(self.e)), float, 0)

    @property
    def least(self) -> int:
        """At least as many rows as values."""
        return self.k

    def holds(self, counts: Counts) -> Bools:
        """Groups of at least k different numbers with a range of at least e."""
        distinct, low, high = _numbers(counts)
        return (distinct >= self.k) & self._far(low, high)

    def fitness(self, counts: Counts) -> Floats:
        """The mean of different numbers over k and range over e."""
        distinct, low, high = _numbers(counts)
        # What is more than 2**64 times e counts as that, so that the quotient is a number too.
        reach = np.minimum(_distance(low, high), self.e * 2**64) / self.e if self.e else np.ones(counts.total)
        return (distinct / self.k + reach) / 2

    def remaining(self, values: Ints, domain: Domain) -> Remaining:
        """At least k numbers; and not only those of a window narrower than e, one for each that may be the smallest."""
        known = values < domain.size - (domain.taxonomy is not None and domain.taxonomy.missing)
        place = domain.positions[values[known]]
        low = place[:, np.newaxis]
        outside = (place < low) | self._far(low, place)
        np.fill_diagonal(outside, val=False)
        return Remaining(known, self.k, outside[: len(outside) if self.e > 0 else 0])

    def _far(self, low: Floats, high: Floats) -> Bools:
        """Whether numbers are e apart, or more."""
        reach, slack = _distance(low, high), _SLACK * np.maximum(np.abs(low), np.abs(high))
        return np.asarray((reach >= self.e - slack) & ((reach > 0) | (self.e == 0)))

    def fits(self, domain: Domain) -> None:
        """Refuse what is no number."""
        if domain.taxonomy is None or not domain.taxonomy.ordered:
            raise RequirementError("The requirement 'k-e' needs one sensitive column, of numbers or dates.")

    @classmethod
    def parse(cls, argument: str) -> "KE":
        """From `3,5000`: k, then e."""
        k, e = arguments(cls, argument, 2)
        return cls(int(number(cls, k, int, 1)), number(cls, e, float, 0))

    def why(self, whole: Counts) -> str:
        """How many numbers there are, and how far they reach."""
        distinct, low, high = _numbers(whole)
        return f" (it has {int(distinct[0])} different numbers over a range of {_distance(low, high)[0]:g})"

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"k-e={self.k},{plain(self.e)}"


def _distance(low: Floats, high: Floats) -> Floats:
    """From one number to another; that of the largest ones is as far as numbers go."""
    with np.errstate(over="ignore"):
        return np.clip(high - low, -sys.float_info.max, sys.float_info.max)


def _numbers(counts: Counts) -> tuple[Ints, Floats, Floats]:
    """How many different numbers each group has, the smallest and the largest (both 0 where there is none)."""
    missing = counts.domain.taxonomy is not None and counts.domain.taxonomy.missing
    known = counts.value < counts.domain.size - missing
    group, place = counts.group[known], counts.domain.positions[counts.value[known]]
    distinct = np.bincount(group, minlength=counts.total)
    # Codes follow the numbers, so the first triple of a group is its smallest number and the last its largest.
    last = np.cumsum(distinct) - 1
    low, high = np.zeros(counts.total), np.zeros(counts.total)
    some = distinct > 0
    low[some], high[some] = place[(last - distinct + 1)[some]], place[last[some]]
    return distinct, low, high
