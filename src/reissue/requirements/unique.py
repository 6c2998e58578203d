"""m-uniqueness (Xiao, Tao 2007; He, Barman, Naughton 2011): at least m rows, and no sensitive value twice.

Not monotone: two groups that share a value have a union that does not meet it. Linear in the triples.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Counts, Domain
from reissue.requirements._base import Requirement, number, register

__all__ = ["MUnique"]


@register
@dataclass(frozen=True)
class MUnique(Requirement):
    """m-uniqueness: every group has at least m rows, all with different sensitive values."""

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
