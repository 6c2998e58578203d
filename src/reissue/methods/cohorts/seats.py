"""Seats: the positions in cohorts, which continue when their occupants leave, and the state kept between releases.

With the option `apart` every seat belongs to one provider. Someone who changes providers would be known to two of them,
and is suppressed from then on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.hashing import siphash
from reissue.errors import DataError, InputError, InternalError, NotMetError, SchemaError
from reissue.methods.registry import Job
from reissue.release.memory import MethodState
from reissue.release.release import Draft

__all__ = ["CohortState", "Departed", "Seats", "nothing_shown", "owners_of", "without_movers"]


_REMEMBERED = 12
"""Number of releases for which the published values of each seat are remembered."""


def nothing_shown(seats: int) -> Codes:
    """Return the empty history of new seats."""
    return np.full((seats, _REMEMBERED), -1, np.int32)


@dataclass(frozen=True, eq=False)
class Seats:
    """The seats of all cohorts in one release."""

    name: Ints
    """The persistent number of the seat, whoever occupies it."""
    cohort: Ints
    """The cohort of each seat: 0, 1, ... without gaps."""
    value: Codes
    """The sensitive code that the seat shows in this release."""
    row: Ints
    """The row of the occupant; -1 if a counterfeit continues the seat."""
    history: Codes
    """Seats x releases: the sensitive codes shown before, latest first, padded with -1."""
    family: Ints
    """The number of the cohort in which the seat was formed; that cohort may have been split since."""
    rested: Ints
    """For how many releases the cohort has paused because none of its people were present."""
    owner: Ints
    """The persistent number of the provider whose people may occupy it; 0 if providers are not kept apart."""

    @classmethod
    def none(cls) -> "Seats":
        """Return an empty set of seats."""
        empty, codes = np.empty(0, np.int64), np.empty(0, np.int32)
        return cls(empty, empty, codes, empty, nothing_shown(0), empty, empty, empty)

    @property
    def before(self) -> Codes:
        """The sensitive code shown in the last release; -1 for a new seat."""
        return self.history[:, 0]

    @property
    def filled(self) -> Bools:
        """Whether the seat is occupied."""
        return self.row >= 0

    @property
    def cohorts(self) -> int:
        """The number of cohorts."""
        return int(self.cohort.max(initial=-1)) + 1

    def people(self) -> Ints:
        """Return the number of people in each cohort."""
        return np.bincount(self.cohort[self.filled], minlength=self.cohorts)

    def some(self, chosen: Bools) -> "Seats":
        """Return some of the seats, with cohorts renumbered."""
        cohort = np.unique(self.cohort[chosen], return_inverse=True)[1].reshape(-1)
        return Seats(
            self.name[chosen],
            cohort,
            self.value[chosen],
            self.row[chosen],
            self.history[chosen],
            self.family[chosen],
            self.rested[chosen],
            self.owner[chosen],
        )

    def inhabited(self) -> "Seats":
        """Return the seats of cohorts that have people."""
        return self.some((self.people() > 0)[self.cohort])

    def resting(self, longest: int) -> "Seats":
        """Return the seats of cohorts without people that have not paused for too long."""
        return self.some((self.people() == 0)[self.cohort] & (self.rested < longest))

    def filling(self, places: Ints, rows: Ints) -> "Seats":
        """Return the seats with people assigned to some empty ones."""
        row = self.row.copy()
        row[places] = rows
        return replace(self, row=row)

    def shown(self) -> "Seats":
        """Return the seats after publication, with their values added to the history."""
        history = np.hstack([self.value[:, np.newaxis], self.history[:, :-1]])
        return replace(self, history=history, rested=np.zeros_like(self.rested))

    def beside(self, others: "Seats") -> "Seats":
        """Append other cohorts."""
        return Seats(
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
    """People who were published before and are absent now, sorted by their number."""

    people: Ints
    slot: Ints
    """The number of the seat each of them had."""
    release: Ints
    """The last release that each was in."""
    family: Ints
    """The cohort (`family`) that each was in."""
    owner: Ints
    """The provider of each seat."""

    def find(self, people: Ints) -> Ints:
        """Return the position of each person; -1 for people who are not listed."""
        at = np.minimum(np.searchsorted(self.people, people), max(len(self.people) - 1, 0))
        return np.where(self.people[at] == people, at, -1) if len(self.people) else np.full(len(people), -1)


@dataclass(frozen=True, eq=False)
class CohortState(MethodState):
    """What the method keeps for the next release; people and values are persistent numbers."""

    VERSION: ClassVar[int] = 4

    slots: Seats
    """The seats; `row` is a position in `inside`."""
    inside: Ints
    """The people in occupied seats, sorted."""
    departed: Departed
    changes: Ints
    """3 x transitions: from, to and count, as observed in the tables."""
    release: int
    names: int
    """The next free number for seats and cohorts."""
    panel: bool = False
    """Whether the series is a panel: its releases show the numbers of seats."""

    @classmethod
    def none(cls) -> "CohortState":
        """Return the state before the first release."""
        none = np.empty(0, np.int64)
        return cls(Seats.none(), none, Departed(none, none, none, none, none), np.empty((3, 0), np.int64), 0, 0)

    @property
    def people(self) -> Ints:
        """The people in the last release."""
        return self.inside


_KEY = bytes(16)
"""The key that turns provider names into persistent numbers. Not a secret: the state stays with the holder."""


def owners_of(job: Job) -> Ints:
    """Return the provider number of each row; 0 for all if providers are not kept apart."""
    if not job.options["apart"]:
        return np.zeros(job.table.rows, np.int64)
    names = job.table.providers
    if names is None:
        raise SchemaError('To keep providers apart name their column in the schema, as  x = "provider".')
    if names.null_count():
        raise DataError(f"The provider is missing in {names.null_count()} rows.")
    return siphash(names.cast(pl.String), _KEY)


def without_movers(job: Job, memory: CohortState, make: Callable[[Job], Draft]) -> Draft:
    """Return a draft without the people who changed providers, as far as suppression is allowed."""
    moved = _moved(job, memory)
    number = int(moved.sum())
    if not number:
        return make(job)
    if number > job.spare:
        raise NotMetError(
            f"{'1 person has' if number == 1 else f'{number:,} people have'} changed providers since they were last "
            f"published, and cannot be shown where providers are kept apart. {job.spare:,} may be suppressed. Allow "
            "more (`suppress`), or give them new identifiers only if nobody can know that they were there before."
        )
    rows = np.flatnonzero(~moved)
    people = None if job.people is None else job.people[rows]
    share = (job.spare - number) / max(len(rows), 1)
    return _with_all_rows(make(replace(job, table=job.table.some(rows), people=people, suppress=share)), rows, moved)


def _moved(job: Job, memory: CohortState) -> Bools:
    """Return which rows are of people who occupied another provider's seat before."""
    if job.people is None:
        raise InternalError("A method that remembers was run without people. Please report this.")
    held, gone = memory.slots.filled, memory.departed
    if len(memory.slots.owner) and not memory.slots.owner.any():
        raise InputError("Providers are kept apart from the first release on, or not at all: begin a new series.")
    people = np.concatenate([memory.people[memory.slots.row[held]], gone.people])
    owner = np.concatenate([memory.slots.owner[held], gone.owner])
    order = np.argsort(people)
    at = np.minimum(np.searchsorted(people[order], job.people), max(len(people) - 1, 0))
    if not len(people):
        return np.zeros(job.table.rows, np.bool_)
    return np.asarray((people[order][at] == job.people) & (owner[order][at] != owners_of(job)))


def _with_all_rows(draft: Draft, rows: Ints, moved: Bools) -> Draft:
    """Extend the draft of some rows to all; the others are suppressed."""
    if draft.slots is None:
        raise InternalError("A draft of cohorts has no seats. Please report this.")
    groups, names = np.full(len(moved), -1, np.int32), np.full(len(moved), -1, np.int64)
    groups[rows], names[rows] = draft.groups, draft.slots[: len(rows)]
    notes = {**draft.notes, "left_out": draft.notes["left_out"] + int(moved.sum())}
    return replace(draft, groups=groups, slots=np.concatenate([names, draft.slots[len(rows) :]]), notes=notes)
