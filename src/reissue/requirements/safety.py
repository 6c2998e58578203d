"""(c,k)-safety (Martin et al. 2007): nobody's value becomes surer than c, even for someone who knows k implications.

The adversary knows any k facts "if these people have these values, then one of those people has one of those values",
about anyone in the table, and all assignments within groups are equally likely. For a target fact A (a person has a
value), they are best spent on implications A_i -> A: worlds with A all survive, worlds without A only if no A_i holds.
So the disclosure of A is 1 / (1 + Pr(not A, no A_i) / Pr(A)). Within one group of n rows, with N_j the rows of its j
most frequent values, the least probability that none of m facts holds is

    f(m) = min over m = j_0 + j_1 + ... (j_0 >= j_1 >= ...)  of  prod_i (1 - N_{j_i} / (n - i))

(person i is denied the j_i most frequent values; the more denied go first), and A is best a most frequent value, with
Pr(A) = P = N_1 / n. A group's own people are safe from facts about that group if f(k+1) / P > (1-c) / c.

**Facts about other groups help too**, since probabilities of different groups multiply: the true maximum is over all
ways to spread k + 1 facts over the groups, so it is no matter of one group at a time. A predicate on groups must
choose how much each group may contribute. Let q solve q^(k+1) / (1-q) = (1-c)/c. `holds` asks of every group

    f(k+1) / P > (1-c) / c     and     f(m) >= q^m for m = 2, ..., k.

That is enough for the whole table. f(k+1) <= (1-P)^(k+1), so the first part gives P < 1-q, that is f(1) > q; and m
facts in the target's group with m', m'', ... in others leave f(m)/P * f(m') * f(m'') ... > q^(k+1) / (1-q) = (1-c)/c.
For k = 0 and k = 1 it is exactly (c,k)-safety. For k >= 2 it may refuse a group that would be harmless beside the
table's other groups, and never accepts a table that is not safe (`reissue check` computes the exact maximum of a whole
table). Merging groups never raises the disclosure (Martin et al. prove it; a property test here), so it is monotone.

Below c is strict, and all values count, as Martin et al. have it. Paper 004's table XIV (a) calls a group with HIV once
in three rows (0.6,2)-safe: there only HIV is a value, and even so two implications make it certain, one makes it 1/2.

One vector operation per partition of a number up to k + 1: 3 for k = 1, 11 for k = 3, 194 for k = 10.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats
from reissue.counting.cells import Counts
from reissue.requirements._base import Requirement, arguments, number, register
from reissue.requirements._values import plain
from reissue.requirements.diversity import most_frequent

__all__ = ["CKSafety"]

_MOST = 12
"""Martin et al. go as far; the work grows with the number of partitions."""
_SLACK = 1e-9
"""Products of quotients round: when in doubt a group is not safe."""


@register
@dataclass(frozen=True)
class CKSafety(Requirement):
    """Require (c,k)-safety: even with any k implications known, no value is inferred with probability c or more.

    Parameters
    ----------
    c
        The probability that must not be reached.
    k
        How many implications the adversary knows, such as "if she has this, so does he".

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.CKSafety(0.8, 1))
    'c-k=0.8,1'
    """

    name: ClassVar[str] = "c-k"
    example: ClassVar[str] = "c-k=0.5,2"
    any_value: ClassVar[bool] = True
    c: float
    k: int

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.c)), float, 1e-6, 1)
        number(type(self), str(self.k), int, 0, _MOST)

    @property
    def share_limit(self) -> float:
        """Below c."""
        return self.c

    def holds(self, counts: Counts) -> Bools:
        """Groups whose people stay below c, and that lend facts about others no more than their share of weight."""
        least = _least(counts, self.k + 1)
        odds = (1 - self.c) / self.c
        share = counts.largest / np.maximum(counts.sizes, 1)
        met = least[self.k + 1] > odds * share * (1 + _SLACK)
        weight = _weight(odds, self.k)
        for facts in range(2, self.k + 1):
            met &= least[facts] >= weight**facts * (1 + _SLACK)
        return np.asarray(met, np.bool_)

    @classmethod
    def parse(cls, argument: str) -> "CKSafety":
        """From `0.5,2`: c, then k."""
        c, k = arguments(cls, argument, 2)
        return cls(number(cls, c, float, 1e-6, 1), int(number(cls, k, int, 0, _MOST)))

    def why(self, whole: Counts) -> str:
        """What would be disclosed."""
        ratio = _least(whole, self.k + 1)[self.k + 1][0] * whole.sizes[0] / whole.largest[0]
        return f" (with {self.k} implications known a value could be inferred with probability {1 / (1 + ratio):.3g})"

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"c-k={plain(self.c)},{self.k}"


def _weight(odds: float, k: int) -> float:
    """The q with q^(k+1) / (1-q) = odds, by bisection from above."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if middle ** (k + 1) > odds * (1 - middle) else (middle, high)
    return high if odds else 0.0


def _least(counts: Counts, facts: int) -> list[Floats]:
    """f(0), f(1), ..., f(facts) of each group."""
    tops = most_frequent(counts, facts)
    least = [np.ones(counts.total) for _ in range(facts + 1)]

    def deny(person: int, spent: int, most: int, product: Floats) -> Iterator[tuple[int, Floats]]:
        people = np.maximum(counts.sizes - person, 1)
        for values in range(1, min(most, facts - spent) + 1):
            left = product * np.maximum(people - tops[values], 0) / people
            yield spent + values, left
            yield from deny(person + 1, spent + values, values, left)

    for spent, left in deny(0, 0, facts, np.ones(counts.total)):
        np.minimum(least[spent], left, out=least[spent])
    return least
