"""k-anonymity (Samarati, Sweeney): every group has at least k rows; k^m-anonymity: any m columns leave k rows.

k^m-anonymity (Terrovitis, Mamoulis, Kalnis 2008, of sets of items) is asked of a release as a whole here: for any m
quasi-identifiers, at least k rows show the same values on them as any row does. Groups of k rows are enough for it, and
all that a method makes that does not know it. Checking takes O(sets of m columns x groups).
"""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts
from reissue.counting.keys import pack
from reissue.requirements._base import Requirement, arguments, number, register

__all__ = ["KM", "KAnonymity"]


@register
@dataclass(frozen=True)
class KAnonymity(Requirement):
    """Require at least k records in every group (k-anonymity, Sweeney 2002).

    Parameters
    ----------
    k
        The smallest allowed number of records, or of people where people have repeated records.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.KAnonymity(5) & ri.LDiversity(3))
    'k=5 & l=3'
    """

    name: ClassVar[str] = "k"
    example: ClassVar[str] = "k=5"
    sensitive: ClassVar[bool] = False
    growing: ClassVar[bool] = True
    by_size: ClassVar[bool] = True
    by_people: ClassVar[bool] = True
    k: int

    def __post_init__(self) -> None:
        number(type(self), str(self.k), int, 1)

    @property
    def least(self) -> int:
        """At least k rows."""
        return self.k

    def holds(self, counts: Counts) -> Bools:
        """Groups of at least k rows."""
        return counts.sizes >= self.k

    def fitness(self, counts: Counts) -> Floats:
        """Rows over k."""
        return counts.sizes / self.k

    @classmethod
    def parse(cls, argument: str) -> "KAnonymity":
        """From `5`."""
        return cls(int(number(cls, argument, int, 1)))

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"k={self.k}"


@register
@dataclass(frozen=True)
class KM(Requirement):
    """Require k^m-anonymity: someone who knows any m of the quasi-identifiers finds at least k records.

    Parameters
    ----------
    k
        The smallest allowed number of records that agree on any m quasi-identifiers.
    m
        How many quasi-identifiers the adversary knows.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.KM(5, 2))
    'k-m=5,2'
    """

    name: ClassVar[str] = "k-m"
    example: ClassVar[str] = "k-m=5,2"
    sensitive: ClassVar[bool] = False
    growing: ClassVar[bool] = True
    by_size: ClassVar[bool] = True
    across: ClassVar[bool] = True
    k: int
    m: int

    def __post_init__(self) -> None:
        number(type(self), str(self.k), int, 1)
        number(type(self), str(self.m), int, 1)

    @property
    def least(self) -> int:
        """At least k rows, where groups are judged by themselves."""
        return self.k

    def holds(self, counts: Counts) -> Bools:
        """Groups of at least k rows: they are fine whatever the others show."""
        return counts.sizes >= self.k

    def holds_across(self, shown: Ints, sizes: Ints) -> Bools:
        """Groups whose values on any m columns at least k rows show."""
        fine = np.ones(len(sizes), np.bool_)
        columns = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in shown]
        for chosen in combinations(range(len(columns)), min(self.m, len(columns))):
            keys, _ = pack([columns[place] for place in chosen], [int(columns[place].max()) + 1 for place in chosen])
            same = np.unique(keys, return_inverse=True)[1].reshape(-1)
            fine &= np.bincount(same, sizes)[same] >= self.k
        return fine

    def fitness(self, counts: Counts) -> Floats:
        """Rows over k."""
        return counts.sizes / self.k

    @classmethod
    def parse(cls, argument: str) -> "KM":
        """From `5,2`."""
        k, m = arguments(cls, argument, 2)
        return cls(int(number(cls, k, int, 1)), int(number(cls, m, int, 1)))

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"k-m={self.k},{self.m}"
