"""l-diversity (Machanavajjhala et al. 2006): distinct, entropy and recursive. All linear in the triples.

Write r_1 >= r_2 >= ... for the counts of a group's values. Distinct: there are at least l of them. Entropy: the entropy
of the r_i is at least log l. Recursive (c,l): r_1 < c (r_l + r_{l+1} + ...): the most frequent value stays rare even
for someone who has ruled out the l - 2 values that follow it. The tail r_l + ... of a union is at least the sum of
the two tails, and r_1 at most the sum of the two, so merging groups breaks none of the three.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts
from reissue.requirements._base import Requirement, arguments, number, register
from reissue.requirements._values import plain

__all__ = ["EntropyLDiversity", "LDiversity", "RecursiveLDiversity", "most_frequent"]

_SLACK = 1e-12
"""Logarithms round: l equally frequent values must pass."""


@register
@dataclass(frozen=True)
class LDiversity(Requirement):
    """Distinct l-diversity: every group has at least l different sensitive values."""

    name: ClassVar[str] = "l"
    example: ClassVar[str] = "l=3"
    growing: ClassVar[bool] = True
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        number(type(self), str(self.l), int, 1)

    @property
    def least(self) -> int:
        """At least as many rows as values."""
        return self.l

    def holds(self, counts: Counts) -> Bools:
        """Groups of at least l distinct values."""
        return counts.distinct >= self.l

    @classmethod
    def parse(cls, argument: str) -> "LDiversity":
        """From `3`."""
        return cls(int(number(cls, argument, int, 1)))

    def why(self, whole: Counts) -> str:
        """How many values there are."""
        return f" (it has {int(whole.distinct[0])} distinct sensitive values)"

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"l={self.l}"


@register
@dataclass(frozen=True)
class EntropyLDiversity(Requirement):
    """Entropy l-diversity: every group's entropy is at least that of l equally frequent values."""

    name: ClassVar[str] = "entropy-l"
    example: ClassVar[str] = "entropy-l=3"
    l: float  # noqa: E741

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.l)), float, 1)

    @property
    def least(self) -> int:
        """The entropy of n rows is at most log n."""
        return int(np.ceil(self.l - 1e-6))

    def holds(self, counts: Counts) -> Bools:
        """Groups with entropy log n - sum(c log c) / n of at least log l."""
        return np.asarray(_entropy(counts) >= np.log(self.l) - _SLACK, np.bool_)

    @classmethod
    def parse(cls, argument: str) -> "EntropyLDiversity":
        """From `3` or `2.5`."""
        return cls(number(cls, argument, float, 1))

    def why(self, whole: Counts) -> str:
        """The effective number of values."""
        return f" (its entropy is that of {np.exp(_entropy(whole)[0]):.3g} equally frequent values)"

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"entropy-l={plain(self.l)}"


@register
@dataclass(frozen=True)
class RecursiveLDiversity(Requirement):
    """Recursive (c,l)-diversity: the most frequent value has fewer rows than c times those beyond the l - 1 first."""

    name: ClassVar[str] = "recursive"
    example: ClassVar[str] = "recursive=3,3"
    c: float
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.c)), float, 0)
        number(type(self), str(self.l), int, 2)

    @property
    def least(self) -> int:
        """The tail begins at the l-th value."""
        return self.l

    def holds(self, counts: Counts) -> Bools:
        """Groups with r_1 < c (r_l + ... + r_m)."""
        tail = _tail(counts, self.l)
        # Divided, not multiplied: quotients of counts and decimal numbers round alike, so equality stays equality.
        return np.asarray((tail > 0) & (counts.largest / np.maximum(tail, 1) < self.c), np.bool_)

    @classmethod
    def parse(cls, argument: str) -> "RecursiveLDiversity":
        """From `3,3`: c, then l."""
        c, size = arguments(cls, argument, 2)
        return cls(number(cls, c, float, 0), int(number(cls, size, int, 2)))

    def why(self, whole: Counts) -> str:
        """The counts that were compared."""
        return f" ({int(whole.largest[0]):,} rows against {int(_tail(whole, self.l)[0]):,} in the tail)"

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"recursive={plain(self.c)},{self.l}"


def most_frequent(counts: Counts, ranks: int) -> list[Ints]:
    """The rows of each group's 0, 1, 2, ..., `ranks` most frequent values."""
    if ranks <= 1:
        return [np.zeros(counts.total, np.int64), counts.largest][: ranks + 1]
    width = int(counts.count.max(initial=0)) + 1
    order = np.sort(counts.group * width + (width - 1 - counts.count))
    count = np.append(width - 1 - order % width, 0)
    starts = np.cumsum(counts.distinct) - counts.distinct
    sums = [np.zeros(counts.total, np.int64)]
    for rank in range(ranks):
        sums.append(sums[-1] + count[np.where(rank < counts.distinct, starts + rank, -1)])
    return sums


def _entropy(counts: Counts) -> Floats:
    sizes = np.maximum(counts.sizes, 1)
    number = counts.count.astype(np.float64)
    return np.asarray(np.log(sizes) - counts.sum(number * np.log(number)) / sizes, np.float64)


def _tail(counts: Counts, rank: int) -> Ints:
    """The rows of each group's values from the given rank on, the most frequent value being the first."""
    return counts.sizes - most_frequent(counts, rank - 1)[-1]
