"""Slots: the places of cohorts, which live on when the people in them leave, and what is remembered of them."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.release.memory import MethodState

__all__ = ["CohortState", "Departed", "Slots", "nothing_shown"]

_REMEMBERED = 12
"""Of this many releases it is remembered what a slot showed."""


def nothing_shown(slots: int) -> Codes:
    """The history of new slots."""
    return np.full((slots, _REMEMBERED), -1, np.int32)


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of all cohorts in one release."""

    name: Ints
    """A number that lasts: the slot's own, whoever is in it."""
    cohort: Ints
    """Cohorts are 0, 1, ...; every one of them has slots."""
    value: Codes
    """The sensitive code that the slot shows."""
    row: Ints
    """The row of the table that is in it, -1: nobody, a counterfeit carries it on."""
    history: Codes
    """Slots x releases: the sensitive codes that it showed before, the last one first; then -1."""
    family: Ints
    """The number of the cohort that it was founded in, which may have been split since."""
    rested: Ints
    """For how many releases its cohort was not published, because nobody of it was there."""
    owner: Ints
    """The provider whose people may be in it, by a number that lasts; 0 where nobody asks."""

    @classmethod
    def none(cls) -> "Slots":
        """No slots."""
        empty, codes = np.empty(0, np.int64), np.empty(0, np.int32)
        return cls(empty, empty, codes, empty, nothing_shown(0), empty, empty, empty)

    @property
    def before(self) -> Codes:
        """The sensitive code that it showed last, -1 for a new one."""
        return self.history[:, 0]

    @property
    def filled(self) -> Bools:
        """Whether somebody is in it."""
        return self.row >= 0

    @property
    def cohorts(self) -> int:
        """How many cohorts there are."""
        return int(self.cohort.max(initial=-1)) + 1

    def people(self) -> Ints:
        """Cohort to how many people are in it."""
        return np.bincount(self.cohort[self.filled], minlength=self.cohorts)

    def some(self, chosen: Bools) -> "Slots":
        """Some of them; cohorts are numbered anew."""
        cohort = np.unique(self.cohort[chosen], return_inverse=True)[1].reshape(-1)
        return Slots(
            self.name[chosen],
            cohort,
            self.value[chosen],
            self.row[chosen],
            self.history[chosen],
            self.family[chosen],
            self.rested[chosen],
            self.owner[chosen],
        )

    def inhabited(self) -> "Slots":
        """Only cohorts that somebody is in."""
        return self.some((self.people() > 0)[self.cohort])

    def resting(self, longest: int) -> "Slots":
        """The others: they rest, and end when they have rested for too long."""
        return self.some((self.people() == 0)[self.cohort] & (self.rested < longest))

    def filling(self, places: Ints, rows: Ints) -> "Slots":
        """With people in some empty slots, whose value is their own."""
        row = self.row.copy()
        row[places] = rows
        return replace(self, row=row)

    def shown(self) -> "Slots":
        """After they were published."""
        history = np.hstack([self.value[:, np.newaxis], self.history[:, :-1]])
        return replace(self, history=history, rested=np.zeros_like(self.rested))

    def beside(self, others: "Slots") -> "Slots":
        """With other cohorts."""
        return Slots(
            np.concatenate([self.name, others.name]),
            np.concatenate([self.cohort, others.cohort + self.cohorts]),
            np.concatenate([self.value, others.value]),
            np.concatenate([self.row, others.row]),
            np.concatenate([self.history, others.history]),
            np.concatenate([self.family, others.family]),
            np.concatenate([self.rested, others.rested]),
            np.concatenate([self.owner, others.owner]),
        )


@dataclass(frozen=True, eq=False)
class Departed:
    """People who were published once and are not there now, sorted by number."""

    people: Ints
    slot: Ints
    """The name of the slot that each of them had."""
    release: Ints
    """The last release of each."""
    family: Ints
    """The cohort that each of them was in."""
    owner: Ints
    """The provider that each slot belongs to."""

    def find(self, people: Ints) -> Ints:
        """The place of each, -1 for those who are not here."""
        at = np.minimum(np.searchsorted(self.people, people), max(len(self.people) - 1, 0))
        return np.where(self.people[at] == people, at, -1) if len(self.people) else np.full(len(people), -1)


@dataclass(frozen=True, eq=False)
class CohortState(MethodState):
    """What is left for the next release; people are numbers, values are lasting numbers."""

    VERSION: ClassVar[int] = 4

    slots: Slots
    """Their rows are places in `inside`."""
    inside: Ints
    """Who is in the filled slots; sorted."""
    departed: Departed
    changes: Ints
    """From, to and number (3 x changes): what values became from release to release, as the tables showed."""
    release: int
    names: int
    """How many numbers slots and cohorts have used up."""
    panel: bool = False
    """Whether the releases showed the numbers of slots."""

    @classmethod
    def none(cls) -> "CohortState":
        """Before the first release."""
        none = np.empty(0, np.int64)
        return cls(Slots.none(), none, Departed(none, none, none, none, none), np.empty((3, 0), np.int64), 0, 0)

    @property
    def people(self) -> Ints:
        """The numbers of the people in the last release."""
        return self.inside
