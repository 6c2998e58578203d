"""What everyone can have by their groups and by how values change: sets of values, before any way is written down.

Most ways of people to be in groups are closed by that alone; those are never held in memory. O(pairs of a person and a
group) for each release and round.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Ints
from reissue.counting.segments import different
from reissue.solver.elimination.chains_of_steps import SetsOfValues, Words, bits_of
from reissue.solver.observations import Observation, ways

__all__ = ["PossibleValues", "possible_values"]

_PIECE = 1 << 20
"""Ways that are looked up at a time."""


@dataclass(frozen=True, eq=False)
class PossibleValues:
    """What each person of a release can have, as bits."""

    people: Ints
    """Sorted."""
    sets: Words

    def open_ways(self, seen: Observation) -> tuple[Ints, Ints]:
        """The ways of a release to values that are possible: person and slot."""
        person, slot = ways(seen)
        place = np.zeros(int(self.people.max(initial=-1)) + 1, np.int64)
        place[self.people] = np.arange(len(self.people))
        of_slot, possible = bits_of(seen.slot_value, self.sets.shape[1]), np.zeros(len(slot), np.bool_)
        for begin in range(0, len(slot), _PIECE):
            some = slice(begin, begin + _PIECE)
            at, to = place[person[some]], slot[some]
            for word in range(self.sets.shape[1]):
                possible[some] |= (self.sets[:, word][at] & of_slot[:, word][to]) > 0
        return person[possible], slot[possible]


def possible_values(series: Sequence[Observation], steps: SetsOfValues) -> tuple[list[PossibleValues], Ints]:
    """Release to what everyone can have in it; and who can have nothing in some release."""
    own = [_by_groups(seen, steps.words) for seen in series]
    people = [seen.people for seen in series]
    left = steps.through(people, own)
    lost = [who[~one.any(axis=1)] for who, one in zip(people, left, strict=True)]
    made = [PossibleValues(who, one) for who, one in zip(people, left, strict=True)]
    return made, different(np.concatenate([np.empty(0, np.int64), *lost]))


def _by_groups(seen: Observation, words: int) -> Words:
    """What the groups show that each person of a release fits; anything of people who may be in none."""
    shown = _joined(bits_of(seen.slot_value, words), seen.group_starts[:-1], np.diff(seen.group_starts))
    first = np.flatnonzero(np.diff(seen.person, prepend=-1))
    fits = _joined(shown[seen.group], first, np.diff(np.append(first, len(seen.person))))
    people, here = seen.people, seen.person[first]
    if len(seen.impossible):
        taken = np.bitwise_or.reduce(bits_of(seen.impossible, words), axis=0)
        fits[np.isin(here, seen.unoccupied, invert=True)] &= ~taken
    made = np.zeros((len(people), words), np.uint64)
    made[np.searchsorted(people, here)] = fits
    made[np.searchsorted(people, seen.absent)] = ~np.uint64(0)
    if len(seen.known_person):
        # Somebody may know the value of people who are not in this release.
        known = np.isin(seen.known_person, people)
        made[np.searchsorted(people, seen.known_person[known])] &= bits_of(seen.known_value[known], words)
    return made


def _joined(sets: Words, starts: Ints, lengths: Ints) -> Words:
    """The union of each range of sets; nothing of empty ones."""
    if not len(starts):
        return np.zeros((0, sets.shape[1]), np.uint64)
    nothing = np.zeros((1, sets.shape[1]), np.uint64)
    joined = np.bitwise_or.reduceat(np.concatenate([sets, nothing]), starts, axis=0)
    return np.where(lengths[:, np.newaxis] > 0, joined, np.uint64(0))
