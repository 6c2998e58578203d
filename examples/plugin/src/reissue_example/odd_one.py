"""No odd one out: every sensitive value of a group occurs at least n times there.

A value that occurs once points at one person as soon as the others of the group are known. Not growing: a record with
a new value breaks it. Unions keep it: counts add up.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools
from reissue.counting.cells import Counts
from reissue.errors import RequirementError
from reissue.requirements import Requirement, register


@register
@dataclass(frozen=True)
class OddOne(Requirement):
    """No odd one out: every sensitive value of a group occurs at least n times there."""

    name: ClassVar[str] = "odd-one"
    example: ClassVar[str] = "odd-one=2"
    n: int

    @property
    def least(self) -> int:
        """One value, n times."""
        return self.n

    def holds(self, counts: Counts) -> Bools:
        """Groups whose rarest value occurs often enough."""
        rare = counts.sum((counts.count < self.n).astype(np.float64))
        return np.asarray(rare == 0, np.bool_)

    @classmethod
    def parse(cls, argument: str) -> "OddOne":
        """From `2`."""
        if not argument.isdigit() or int(argument) < 1:
            raise RequirementError("The value of 'odd-one' must be a whole number, 1 or more.")
        return cls(int(argument))

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"odd-one={self.n}"
