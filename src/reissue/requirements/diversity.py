"""l-diversity (Machanavajjhala et al. 2006), distinct, entropy and recursive; and m-uniqueness.

m-uniqueness (Xiao, Tao 2007; He, Barman, Naughton 2011) asks for at least m rows and no sensitive value twice. It is
not monotone: the union of two groups that share a value violates it. All are linear in the (group, value, count)
triples.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.requirements._base import Loss, Requirement, arguments, number, register
from reissue.requirements._subsets import Subsets, combined, singles
from reissue.requirements._values import plain

__all__ = ["EntropyLDiversity", "LDiversity", "MUnique", "RecursiveLDiversity", "entropy_at_least", "most_frequent"]

_SLACK = 1e-12
"""Logarithms round: l equally frequent values must pass."""
_DOUBT = 1e-9
"""What a bound leaves closer than this is searched."""


@register
@dataclass(frozen=True)
class LDiversity(Requirement):
    """Require at least l different sensitive values in every group (distinct l-diversity).

    Parameters
    ----------
    l
        The smallest allowed number of different values.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.LDiversity(3))
    'l=3'
    """

    name: ClassVar[str] = "l"
    example: ClassVar[str] = "l=3"
    any_value: ClassVar[bool] = True
    growing: ClassVar[bool] = True
    by_values: ClassVar[bool] = True
    by_people: ClassVar[bool] = True
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        number(type(self), str(self.l), int, 1)

    @property
    def least(self) -> int:
        """At least as many rows as values."""
        return self.l

    @property
    def least_people(self) -> int:
        """One person has a value that everybody in the group has."""
        return min(self.l, 2)

    @property
    def fewest_values(self) -> int:
        """Its l."""
        return self.l

    def holds(self, counts: Counts) -> Bools:
        """Groups of at least l distinct values; by people also without a value that all of them have."""
        enough = counts.distinct >= self.l
        # With one value each, two different values say as much.
        return enough & (counts.largest < counts.sizes) if counts.by_people and self.l > 1 else enough

    def fitness(self, counts: Counts) -> Floats:
        """Different values over l."""
        return counts.distinct / self.l

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
    """Require that the entropy of every group is at least that of l equally frequent values.

    Parameters
    ----------
    l
        The number of equally frequent values to compare with; it may be a fraction.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.EntropyLDiversity(2.5))
    'entropy-l=2.5'
    """

    name: ClassVar[str] = "entropy-l"
    example: ClassVar[str] = "entropy-l=3"
    any_value: ClassVar[bool] = True
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

    def fitness(self, counts: Counts) -> Floats:
        """The effective number of values over l."""
        return np.asarray(np.exp(_entropy(counts)) / self.l, np.float64)

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """By the least entropy that may remain."""
        least = entropy_at_least(whole, loss.taken, loss.owned())
        return np.asarray(least >= np.log(self.l) + _DOUBT, np.bool_)

    def holds_between(self, subsets: Subsets) -> bool:
        """Groups of enough entropy form a convex cone: a worst subset has all or none of the coalition's of each value.

        Of those with s rows the worst has the largest sum of x log x: a knapsack over the rows left in, O(values x
        rows), exact however many values there are.
        """
        rest, whole = subsets.rest, subsets.whole
        best = np.full(int((whole - rest).sum()) + 1, -np.inf)
        best[0] = 0.0
        for few, many in zip(rest.tolist(), whole.tolist(), strict=True):
            low, high = (number * np.log(max(number, 1)) for number in (few, many))
            with_all = np.full(len(best), -np.inf)
            if many > few:
                with_all[many - few :] = best[: len(best) - (many - few)] + high
            best = np.maximum(best + low, with_all)
        rows = int(rest.sum()) + np.arange(len(best))
        return bool((np.log(rows) - best / rows >= np.log(self.l) - _SLACK).all())

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
    """Require recursive (c,l)-diversity in every group.

    The most frequent value must have fewer records than c times the records of all values but the l - 1 most
    frequent.

    Parameters
    ----------
    c
        The factor.
    l
        The rank from which values count.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.RecursiveLDiversity(2, 3))
    'recursive=2,3'
    """

    name: ClassVar[str] = "recursive"
    example: ClassVar[str] = "recursive=3,3"
    any_value: ClassVar[bool] = True
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

    def fitness(self, counts: Counts) -> Floats:
        """The tail, c times, over the most frequent value's rows."""
        return self.c * _tail(counts, self.l) / np.maximum(counts.largest, 1)

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """Nothing shortens the tail by more than what is taken."""
        tail = _tail(whole, self.l) - loss.taken
        return np.asarray((tail > 0) & (whole.largest / np.maximum(tail, 1) < self.c), np.bool_)

    def holds_between(self, subsets: Subsets) -> bool:
        """A worst subset has all records of one value: without records of others the tail is never longer."""
        return subsets.raised(self.holds, singles(len(subsets.values)))

    def worst_sets(self, values: Ints, domain: Domain) -> Bools | None:
        """The l - 1 values before the tail; None if there are too many such sets."""
        del domain
        return combined(len(values), self.l - 1)

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


def entropy_at_least(whole: Counts, taken: Ints, owned: Ints) -> Floats:
    """No more than the entropy of whatever is looked at; `owned` is the most of each triple that a coalition has.

    Of each value at least its rows less what its largest owners have stays. Entropy of s records is log s -
    sum(x log x) / s. x log x lies below its chord between these ends, so the sum is at most a fractional knapsack of s
    records, steepest chords first: a line on every piece of s, on which log s - (a + b s) / s is smallest at s = -a or
    at an end.
    """
    count = whole.count.astype(np.float64)
    low, own = count - owned, np.maximum(owned, 1e-9)
    gain = _weighed(count) - _weighed(low)
    order = np.lexsort((-gain / own, whole.group))
    group = whole.group[order]
    own, gain = own[order], gain[order]
    start = whole.sum(low)[group] + _before(own, whole.distinct, group)
    level = whole.sum(_weighed(low))[group] + _before(gain, whole.distinct, group)
    slope = gain / own
    constant = level - slope * start
    first = np.maximum(start, (whole.sizes - taken)[group])
    at = np.clip(-constant, first, np.maximum(start + own, 1))
    entropy = np.log(at) - constant / at - slope
    least = np.full(whole.total, np.inf)
    np.minimum.at(least, group, np.where(first <= start + own, entropy, np.inf))
    return least


def _weighed(number: Floats) -> Floats:
    return np.asarray(number * np.log(np.maximum(number, 1)), np.float64)


def _before(steps: Floats, distinct: Ints, group: Ints) -> Floats:
    """The sum of a group's earlier steps."""
    before = np.cumsum(steps) - steps
    return np.asarray(before - before[(np.cumsum(distinct) - distinct)[group]], np.float64)


@register
@dataclass(frozen=True)
class MUnique(Requirement):
    """Require at least m records in every group, all with different sensitive values (m-uniqueness).

    Parameters
    ----------
    m
        The smallest allowed number of records.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.MUnique(3))
    'm-unique=3'
    """

    name: ClassVar[str] = "m-unique"
    example: ClassVar[str] = "m-unique=2"
    any_value: ClassVar[bool] = True
    monotone: ClassVar[bool] = False
    by_people: ClassVar[bool] = True
    m: int

    def __post_init__(self) -> None:
        number(type(self), str(self.m), int, 1)

    @property
    def least(self) -> int:
        """At least m rows."""
        return self.m

    @property
    def invariant_m(self) -> int:
        """Its m."""
        return self.m

    @property
    def fewest_values(self) -> int:
        """As many as rows."""
        return self.m

    def holds(self, counts: Counts) -> Bools:
        """Groups of at least m rows with as many values as rows; by people: in which no two share a value."""
        apart = counts.largest <= 1 if counts.by_people else counts.distinct == counts.sizes
        return np.asarray((counts.sizes >= self.m) & apart, np.bool_)

    def worst_sets(self, values: Ints, domain: Domain) -> Bools:
        """What the others gave is smallest, the whole group has most duplicates."""
        del domain
        return np.repeat(np.array([[False], [True]]), len(values), axis=1)

    def possible(self, whole: Counts) -> bool:
        """A group needs m different values, so the table must have them."""
        return bool(whole.distinct[0] >= self.m)

    @classmethod
    def parse(cls, argument: str) -> "MUnique":
        """From `2`."""
        return cls(int(number(cls, argument, int, 1)))

    def why(self, whole: Counts) -> str:
        """How many values there are."""
        return f" have so many sensitive values (there are {int(whole.distinct[0])})"

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"m-unique={self.m}"
