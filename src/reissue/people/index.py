"""An index of everyone in a series so far: nearly all people of a release were in the one before.

Numbers of people are looked for among those of the last release first, and only the others among everyone. Neither is
ever sorted anew: new people go into the order that is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Codes, Ints

__all__ = ["PersonIndex", "lasting_values", "update"]


@dataclass(frozen=True, eq=False)
class PersonIndex:
    """All people so far."""

    people: Ints
    """Their numbers, in the order in which they arrived."""
    order: Codes
    """The places of all of them, sorted by number."""
    here: Codes
    """The places of those of the newest release, sorted by number."""

    @classmethod
    def none(cls) -> "PersonIndex":
        """Before the first release."""
        none = np.empty(0, np.int32)
        return cls(np.empty(0, np.int64), none, none)


def update(index: PersonIndex, arriving: Ints) -> tuple[PersonIndex, Codes]:
    """Add the people of one more release, each once; new ones come last. Also gives the place of each."""
    known = index.people
    turn = np.argsort(arriving)
    sought = arriving[turn]
    place, _ = _find(known, index.here, sought)
    absent = np.flatnonzero(place < 0)
    place[absent], between = _find(known, index.order, sought[absent])
    new = place[absent] < 0
    fresh = absent[new]
    place[fresh] = len(known) + np.arange(len(fresh))
    at = np.empty_like(place)
    at[turn] = place
    order = np.insert(index.order, between[new], place[fresh])
    return PersonIndex(np.concatenate([known, sought[fresh]]), order, place), at


def lasting_values(known: Sequence[str | None], shown: Sequence[str | None]) -> tuple[list[str | None], Ints]:
    """Append the values that are new to those known; also gives the number of each one shown."""
    number = {name: place for place, name in enumerate(known)}
    for name in shown:
        number.setdefault(name, len(number))
    return list(number), np.array([number[name] for name in shown], np.int64)


def _find(known: Ints, places: Codes, sought: Ints) -> tuple[Codes, Ints]:
    """Find the place of each number, -1 if it is at none of the places; and before which of them it belongs.

    Both the places and what is sought are sorted by number.
    """
    numbers = known[places]
    before: Ints = np.searchsorted(numbers, sought).astype(np.int64)
    found = np.full(len(sought), -1, np.int32)
    if len(places):
        near = np.minimum(before, len(places) - 1)
        same = numbers[near] == sought
        found[same] = places[near[same]]
    return found, before
