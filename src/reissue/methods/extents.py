"""Sets of rows by what would be published of them: their boxes, and what is lost when these grow."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Codes, Floats, Ints
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Extent", "extent_of"]


@dataclass(frozen=True, eq=False)
class Extent:
    """The smallest and the largest code of some sets of rows on each quasi-identifier, and their numbers of people."""

    taxonomies: tuple[Taxonomy, ...]
    lo: Codes
    """Quasi-identifiers x sets."""
    hi: Codes
    people: Ints
    lost: Floats
    """Set to what each of its people loses: the mean over quasi-identifiers."""

    @property
    def total(self) -> float:
        """What all people lose together."""
        return float(self.lost @ self.people)

    def pick(self, sets: Ints) -> "Extent":
        """Some of them, in the given order and shape."""
        return Extent(self.taxonomies, self.lo[:, sets], self.hi[:, sets], self.people[sets], self.lost[sets])

    def cost(self, other: "Extent") -> Floats:
        """Pair by pair: what all people lose together in one box, beyond what they lose in two. Shapes may differ."""
        lo, hi = np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi)
        whole = _loss(self.taxonomies, lo, hi) * (self.people + other.people)
        return whole - self.lost * self.people - other.lost * other.people

    def merged(self, label: Codes | Ints, labels: int) -> "Extent":
        """Sets of the same label as one."""
        lo = np.full((len(self.lo), labels), np.iinfo(np.int32).max, np.int32)
        hi = np.full((len(self.lo), labels), -1, np.int32)
        for place in range(len(lo)):
            np.minimum.at(lo[place], label, self.lo[place])
            np.maximum.at(hi[place], label, self.hi[place])
        people = np.bincount(label, self.people, labels).astype(np.int64)
        return Extent(self.taxonomies, lo, hi, people, _loss(self.taxonomies, lo, hi))


def extent_of(taxonomies: tuple[Taxonomy, ...], codes: Codes) -> Extent:
    """Of single rows."""
    rows = codes.shape[1]
    return Extent(taxonomies, codes, codes, np.ones(rows, np.int64), np.zeros(rows))


def _loss(taxonomies: tuple[Taxonomy, ...], lo: Codes, hi: Codes) -> Floats:
    total = np.zeros(lo.shape[1:])
    for place, taxonomy in enumerate(taxonomies):
        total += taxonomy.lost(lo[place], hi[place])
    return total / max(len(taxonomies), 1)
