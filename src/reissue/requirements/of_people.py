"""Requirements asked of people who have several values each, where groups are counted by sets of values."""

from dataclasses import dataclass
from typing import ClassVar

from reissue._arrays import Bools, Floats
from reissue.counting.cells import Counts
from reissue.counting.people import ValueSets
from reissue.errors import InternalError
from reissue.requirements._base import All, Requirement

__all__ = ["of_people"]


@dataclass(frozen=True, eq=False)
class _OfPeople(Requirement):
    """A requirement asked of people who have sets of values, where groups are counted by the numbers of the sets."""

    name: ClassVar[str] = "people"
    asked: Requirement
    sets: ValueSets

    @property
    def sensitive(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.sensitive

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As what is asked: groups that are united have no person in common."""
        return self.asked.monotone

    @property
    def growing(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.growing

    @property
    def relative(self) -> bool:  # type: ignore[override]
        """As what is asked."""
        return self.asked.relative

    @property
    def least(self) -> int:
        """The fewest people of a group."""
        return self.asked.least_people

    def holds(self, counts: Counts) -> Bools:
        """Which groups meet it."""
        return self.asked.holds(self.sets.expand(counts))

    def fitness(self, counts: Counts) -> Floats:
        """How far each group is above it or below."""
        return self.asked.fitness(self.sets.expand(counts))

    @classmethod
    def parse(cls, argument: str) -> "Requirement":
        """Nobody writes it."""
        del argument
        raise InternalError("A requirement of people is made of another one, and never read. Please report this.")

    def __str__(self) -> str:
        """As what is asked."""
        return str(self.asked)


def of_people(requirement: Requirement, sets: ValueSets) -> Requirement:
    """The requirement, asked of people whose values are sets; what looks at no value needs no sets."""
    parts = [_OfPeople(part, sets) if part.sensitive else part for part in requirement.parts()]
    return parts[0] if len(parts) == 1 else All(tuple(parts))
