"""Requirements asked of people who have several values each, where groups are counted by sets of values."""

from dataclasses import dataclass

from reissue._arrays import Bools, Floats
from reissue.counting.cells import Counts
from reissue.counting.people import ValueSets
from reissue.requirements._base import All, Asking, Requirement

__all__ = ["of_people"]


@dataclass(frozen=True, eq=False)
class _OfPeople(Asking):
    """A requirement asked of people who have sets of values, where groups are counted by the numbers of the sets.

    Groups that are united have no person in common, so it is as monotone as what is asked.
    """

    sets: ValueSets

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


def of_people(requirement: Requirement, sets: ValueSets) -> Requirement:
    """The requirement, asked of people whose values are sets; what looks at no value needs no sets."""
    parts = [_OfPeople(part, sets) if part.sensitive else part for part in requirement.parts()]
    return parts[0] if len(parts) == 1 else All(tuple(parts))
