"""Places: parts of the space of quasi-identifiers where few values are left for whoever is in some releases.

Whoever has certain quasi-identifiers is in one of the boxes that hold them, and has one of the values of these boxes'
groups: in each release the union over all such boxes. Boxes of one release may overlap, so a part of space is cut until
what holds for all of it is known: the boxes that hold all of the part give the least that is left, those that reach
into it the most. Exact unless it takes more than `CUTS` cuts.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.attacks.composition.boxes import SeriesBoxes

__all__ = ["CUTS", "Part", "Place", "Undecided", "find_place", "people_there", "values_left"]

CUTS = 200
"""Parts of space that are examined for one place, at most."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of space: the first and the last code of each quasi-identifier."""

    lo: Codes
    hi: Codes

    def cut(self, lo: Codes, hi: Codes) -> tuple["Part", "Part"]:
        """Split into what lies outside a box in one quasi-identifier, and the rest; the box must not hold all of it."""
        below, above = np.flatnonzero(lo > self.lo), np.flatnonzero(hi < self.hi)
        if len(below):
            place = int(below[0])
            return self._until(place, int(lo[place]) - 1), self._since(place, int(lo[place]))
        place = int(above[0])
        return self._since(place, int(hi[place]) + 1), self._until(place, int(hi[place]))

    def _until(self, place: int, code: int) -> "Part":
        hi = self.hi.copy()
        hi[place] = code
        return Part(self.lo, hi)

    def _since(self, place: int, code: int) -> "Part":
        lo = self.lo.copy()
        lo[place] = code
        return Part(lo, self.hi)


@dataclass(frozen=True, eq=False)
class Place:
    """A part of space, the boxes of some releases that reach into it, and what is left for whoever is in them all."""

    part: Part
    releases: tuple[int, ...]
    boxes: Ints
    """Sorted by release."""
    values: Bools
    """Releases x values: what is left."""
    left: int
    """How many values are left in the release where fewest are, harmless ones by themselves aside."""


class Undecided(Exception):  # noqa: N818 - it is no error
    """The search has reached its bound."""


def values_left(sets: Bools, can: Bools | None) -> Bools:
    """From the values that are possible in each of some releases (releases x values), those that lead through all."""
    if can is None:
        return np.broadcast_to(sets.all(axis=0), sets.shape)
    left = sets.copy()
    for later in range(1, len(left)):
        left[later] &= can[left[later - 1]].any(axis=0)
    for earlier in range(len(left) - 2, -1, -1):
        left[earlier] &= can[:, left[earlier + 1]].any(axis=1)
    return left


def find_place(boxes: SeriesBoxes, part: Part, releases: tuple[int, ...], near: Ints, limit: int) -> Place | None:
    """Find a place in a part of space where fewer values than the limit are left; None if there is none.

    `near` are the boxes of these releases that reach into the part. Raises Undecided.
    """
    search = _Search(boxes, releases, near)
    waiting = [part]
    for _ in range(CUTS):
        if not waiting:
            return None
        here = waiting.pop()
        reach, hold = search.around(here)
        most = search.left(reach)
        fewest = boxes.fewest(most)
        if 0 < fewest < limit:
            return Place(here, releases, near[reach], most, fewest)
        least = search.union(hold)
        if int(values_left(least, boxes.can).sum(axis=1).min()) >= limit or not most[:, boxes.protected].any():
            continue
        adding = reach & ~hold & (search.holds & ~least[search.place]).any(axis=1)
        if adding.any():
            box = int(np.flatnonzero(adding)[0])
            outside, rest = here.cut(search.lo[:, box], search.hi[:, box])
            waiting += [rest, outside]
    if waiting:
        raise Undecided
    return None


def people_there(boxes: SeriesBoxes, place: Place) -> int:
    """The largest number of people who can be there in all releases of a place."""
    groups = boxes.groups
    counts = np.zeros(place.values.shape, np.int64)
    for number, release in enumerate(place.releases):
        for group in np.unique(boxes.group[place.boxes[boxes.release[place.boxes] == release]]).tolist():
            for value, count in groups.counts_of(group).items():
                counts[number, value] += count
    counts *= place.values
    return int(counts.min(axis=0).sum() if boxes.can is None else counts.sum(axis=1).min())


class _Search:
    """The boxes around a part of space."""

    def __init__(self, boxes: SeriesBoxes, releases: tuple[int, ...], near: Ints) -> None:
        self.lo, self.hi = boxes.bounds.lo[:, near], boxes.bounds.hi[:, near]
        self.place = np.searchsorted(np.array(releases), boxes.release[near])
        self.holds = boxes.members(boxes.group[near])
        self.can, self.many = boxes.can, len(releases)

    def around(self, part: Part) -> tuple[Bools, Bools]:
        """Which boxes reach into a part, and which hold all of it."""
        lo, hi = part.lo[:, np.newaxis], part.hi[:, np.newaxis]
        reach = (self.lo <= hi).all(axis=0) & (self.hi >= lo).all(axis=0)
        return np.asarray(reach), np.asarray((self.lo <= lo).all(axis=0) & (self.hi >= hi).all(axis=0))

    def union(self, some: Bools) -> Bools:
        """The values of some boxes, release by release."""
        sets = np.zeros((self.many, self.holds.shape[1]), np.bool_)
        np.logical_or.at(sets, self.place[some], self.holds[some])
        return sets

    def left(self, some: Bools) -> Bools:
        """The values that lead through all releases."""
        return values_left(self.union(some), self.can)
