"""What a coalition of providers can look at: the subsets of a group that remain when it takes records of its own out.

It may take out *any* of its records, so it can look at every x with `rest <= x <= whole`, value by value: `rest` is
what the others gave, `whole` the published group. A requirement says which of them are worst; where it says nothing,
all are tried, up to 2^12 of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Counts, Domain

__all__ = ["MANY", "Subsets", "combined", "singles"]

MANY = 1 << 12
"""Maximum number of subsets that are tried one by one."""
Verdict = Callable[[Counts], Bools]
"""The `holds` method of a requirement."""


@dataclass(frozen=True, eq=False)
class Subsets:
    """All histograms between two given ones."""

    rest: Ints
    """The records of the other providers, by value."""
    whole: Ints
    values: Ints
    """The sensitive code of each column."""
    domain: Domain
    """The domain of the published table."""

    def met(self, holds: Verdict, remaining: Ints) -> Bools:
        """Which rows of a matrix (histograms over the values) meet a requirement; empty ones do."""
        row, column = np.nonzero(remaining)
        counts = Counts(row, self.values[column], self.domain, len(remaining), remaining[row, column])
        return np.asarray(holds(counts) | (remaining.sum(axis=1) == 0), np.bool_)

    def smallest(self, holds: Verdict) -> bool:
        """Whether the records of the other providers alone meet it."""
        return bool(self.met(holds, self.rest[np.newaxis])[0])

    def raised(self, holds: Verdict, sets: Bools) -> bool:
        """Whether it is met with all records inside each of some sets, and only the others' outside."""
        return bool(self.met(holds, np.where(sets, self.whole, self.rest)).all())

    def vertices(self, holds: Verdict) -> bool | None:
        """Whether it is met with all or none of the coalition's records of each value; None if these are too many."""
        free = np.flatnonzero(self.rest < self.whole)
        if 1 << len(free) > MANY:
            return None
        number = np.arange(1 << len(free))
        inside = np.zeros((len(number), len(self.rest)), np.bool_)
        inside[:, free] = number[:, np.newaxis] >> np.arange(len(free)) & 1
        return self.raised(holds, inside)

    def every(self, holds: Verdict) -> bool | None:
        """Whether every histogram meets it; None if there are too many."""
        total = 1
        for extra in (self.whole - self.rest).tolist():
            total *= extra + 1
            if total > MANY:
                return None
        choices = [range(few, many + 1) for few, many in zip(self.rest.tolist(), self.whole.tolist(), strict=True)]
        return bool(self.met(holds, np.array(list(product(*choices)), np.int64)).all())


def singles(total: int) -> Bools:
    """Each value as a set of its own."""
    return np.eye(total, dtype=np.bool_)


def combined(total: int, size: int) -> Bools | None:
    """All sets of a given size (or the full set, if that is smaller) as a matrix; None if there are too many."""
    sets: list[tuple[int, ...]] = []
    for chosen in combinations(range(total), min(size, total)):
        sets.append(chosen)
        if len(sets) > MANY:
            return None
    inside = np.zeros((len(sets), total), np.bool_)
    for row, chosen in enumerate(sets):
        inside[row, list(chosen)] = True
    return inside
