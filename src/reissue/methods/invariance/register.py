"""Who has been published, with which signature: the private memory of methods that follow people through a series.

People are numbers (keyed hashes of their identifiers), kept sorted. Those in the last release and those who have left
are kept apart, so a release costs as much as the table and its updates, not as much as the whole past.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.errors import DataError, InternalError
from reissue.release.memory import MethodState

__all__ = ["People", "Recall", "Register", "RegisterState"]

_COLUMNS = ("people", "signature", "value", "since")


@dataclass(frozen=True, eq=False)
class People:
    """Some people, sorted by number."""

    people: Ints
    signature: Codes
    value: Codes
    """The sensitive value, as a number that lasts over the series."""
    since: Codes
    """The release in which each of them arrived (arrived back)."""

    @classmethod
    def none(cls) -> "People":
        """Nobody."""
        return cls(np.empty(0, np.int64), *(np.empty(0, np.int32) for _ in range(3)))

    def pick(self, chosen: Bools | Ints) -> "People":
        """Some of them, in the given order."""
        return People(self.people[chosen], self.signature[chosen], self.value[chosen], self.since[chosen])

    def merge(self, others: "People") -> "People":
        """Both together; nobody may be in both."""
        place = np.searchsorted(self.people, others.people) + np.arange(len(others.people))
        mine = np.ones(len(self.people) + len(others.people), np.bool_)
        mine[place] = False
        columns = []
        for name in _COLUMNS:
            both = np.empty(len(mine), getattr(self, name).dtype)
            both[mine], both[place] = getattr(self, name), getattr(others, name)
            columns.append(both)
        return People(*columns)

    def find(self, people: Ints) -> Ints:
        """The place of each of the sorted numbers, -1 for those who are not here."""
        place = np.searchsorted(self.people, people)
        place[place == len(self.people)] = -1
        if len(self.people):
            place[self.people[place] != people] = -1
        return place


@dataclass(frozen=True, eq=False)
class Recall:
    """What is known about the rows of a new table; row -1 never occurs."""

    signature: Codes
    """Row to the signature it had, -1 for somebody new."""
    since: Codes
    """Row to the release in which it arrived; for the returned and the new this one."""
    returned: Bools
    """Row to whether it had left and is back."""
    order: Ints
    """The rows sorted by person."""
    left: People
    """Who was in the last release and is not in this one."""
    value: Codes
    """Row to the sensitive value it had, -1 for somebody new."""


@dataclass(frozen=True, eq=False)
class Register:
    """Everyone who was ever published."""

    live: People
    gone: People
    release: int = 0
    """How many releases there have been."""

    @classmethod
    def none(cls) -> "Register":
        """Before the first release."""
        return cls(People.none(), People.none())

    def recall(self, people: Ints, values: Codes, *, changing: bool = False) -> Recall:
        """What is known about the people of a new table; refuses a sensitive value that changed, unless it may."""
        order = np.argsort(people)
        seen = people[order]
        if (seen[1:] == seen[:-1]).any():
            raise InternalError("Two people got the same number. Begin the series anew, and please report this.")
        place = self.live.find(seen)
        signature, since = np.full(len(people), -1, np.int32), np.full(len(people), self.release + 1, np.int32)
        stays = place >= 0
        back = np.flatnonzero(~stays)
        former = self.gone.find(seen[back])
        back, former = back[former >= 0], former[former >= 0]
        signature[order[stays]] = self.live.signature[place[stays]]
        since[order[stays]] = self.live.since[place[stays]]
        signature[order[back]] = self.gone.signature[former]
        value = np.full(len(people), -1, np.int32)
        value[order[stays]] = self.live.value[place[stays]]
        value[order[back]] = self.gone.value[former]
        changed = np.flatnonzero((value >= 0) & (value != values))
        if len(changed) and not changing:
            _refuse_changed(changed)
        returned = np.zeros(len(people), np.bool_)
        returned[order[back]] = True
        absent = np.ones(len(self.live.people), np.bool_)
        absent[place[stays]] = False
        return Recall(signature, since, returned, order, self.live.pick(absent), value)

    def publish(self, people: Ints, signature: Codes, values: Codes, recall: Recall) -> "Register":
        """The register after a release of these people."""
        live = People(people, signature, values.astype(np.int32), recall.since).pick(recall.order)
        gone = self.gone
        if recall.returned.any():
            kept = np.ones(len(gone.people), np.bool_)
            kept[gone.find(np.sort(people[recall.returned]))] = False
            gone = gone.pick(kept)
        return Register(live, gone.merge(recall.left), self.release + 1)


@dataclass(frozen=True, eq=False)
class RegisterState(MethodState):
    """What m-invariance leaves for the next release."""

    register: Register
    signatures: np.ndarray
    """One line for each; m-invariance: value to whether it has the value."""
    m: int

    @property
    def people(self) -> Ints:
        """The numbers of the people in the last release."""
        return self.register.live.people


def _refuse_changed(rows: Ints) -> None:
    first = ", ".join(str(row + 1) for row in np.sort(rows)[:5].tolist())
    raise DataError(
        f"{len(rows)} people have another sensitive value than in earlier releases (first rows: {first}). This method "
        "is for values that last as long as the record does. Values that change are for the method 'distinct': see "
        "'Values that change' in docs/concepts/updates.md. If it is a correction, the person needs a new identifier."
    )
