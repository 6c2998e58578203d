"""k-anonymity (Samarati, Sweeney): every group has at least k rows."""

from dataclasses import dataclass
from typing import ClassVar

from reissue._arrays import Bools, Floats
from reissue.counting.cells import Counts
from reissue.requirements._base import Requirement, number, register

__all__ = ["KAnonymity"]


@register
@dataclass(frozen=True)
class KAnonymity(Requirement):
    """Every group has at least k rows."""

    name: ClassVar[str] = "k"
    example: ClassVar[str] = "k=5"
    sensitive: ClassVar[bool] = False
    growing: ClassVar[bool] = True
    by_size: ClassVar[bool] = True
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
