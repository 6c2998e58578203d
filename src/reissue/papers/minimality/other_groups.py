"""What is known of a class beside one of its groups: values published as they are, and people in other groups."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import gammaln

from reissue._arrays import Bools, Floats, Ints
from reissue.papers.minimality.linkage import Linkage

__all__ = ["Beside"]


@dataclass(frozen=True, eq=False)
class Beside:
    """Looks up the rest of a class."""

    linkage: Linkage

    @cached_property
    def _seen(self) -> tuple[Ints, Ints, Ints]:
        """Values that were published as they are, with their class and count, by class."""
        link, counts = self.linkage, self.linkage.counts
        plain = np.flatnonzero(link.plain[link.grp])
        owner = np.full(link.groups, -1)
        owner[link.grp[plain]] = link.cls[plain]
        of_triple = owner[counts.group]
        order = np.argsort(of_triple, kind="stable")[int((of_triple < 0).sum()) :]
        return of_triple[order], counts.value[order], counts.count[order]

    @cached_property
    def _elsewhere(self) -> tuple[Ints, Ints]:
        """The links to generalized groups, by class: class of each, and its number."""
        link = self.linkage
        numbers = np.flatnonzero(~link.plain[link.grp])
        order = np.argsort(link.cls[numbers], kind="stable")
        return link.cls[numbers][order], numbers[order]

    def seen(self, classes: Ints) -> tuple[Ints, Ints, Ints]:
        """Values of the given classes that are known: place of the class in the list, value, count."""
        of_class, value, count = self._seen
        place, at = _ranges(of_class, classes)
        return place, value[at], count[at]

    def away(self, classes: Ints, group: int) -> Ints:
        """How many people each class has in other generalized groups."""
        link = self.linkage
        of_class, numbers = self._elsewhere
        place, at = _ranges(of_class, classes)
        other = link.grp[numbers[at]] != group
        return np.bincount(place[other], link.num[numbers[at]][other], len(classes)).astype(np.int64)

    def chances(self, one: int, group: int, mask: Bools) -> Floats:
        """By 0, 1, ...: the chance that a class has this many values of a set in the other groups, in random worlds."""
        link = self.linkage
        of_class, numbers = self._elsewhere
        _, at = _ranges(of_class, np.array([one]))
        chances = np.ones(1)
        for number in numbers[at].tolist():
            there = int(link.grp[number])
            if there != group:
                people = int(link.counts.sizes[there])
                hits = self._holding(there, mask)
                taken = min(int(link.num[number]), people)
                chances = np.convolve(chances, _random(people, hits, taken))
        return chances

    def _holding(self, group: int, mask: Bools) -> int:
        value, count = self.histogram(group)
        return int(count[mask[value]].sum())

    @cached_property
    def _starts(self) -> Ints:
        return np.searchsorted(self.linkage.counts.group, np.arange(self.linkage.groups + 1))

    def histogram(self, group: int) -> tuple[Ints, Ints]:
        """A group's values and their counts."""
        counts = self.linkage.counts
        triples = slice(int(self._starts[group]), int(self._starts[group + 1]))
        return counts.value[triples], counts.count[triples]


@lru_cache(maxsize=4096)
def _random(people: int, hits: int, taken: int) -> Floats:
    """By 0, ..., taken: the chance that this many of those taken at random are hits."""
    j = np.arange(taken + 1)
    fits = (j <= hits) & (taken - j <= people - hits)
    logs = _choose(hits, j[fits]) + _choose(people - hits, taken - j[fits]) - _choose(people, np.array([taken]))
    chances = np.zeros(taken + 1)
    chances[fits] = np.exp(logs)
    return chances


def _choose(n: int, j: Ints) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1), np.float64)


def _ranges(keys: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Where sorted keys equal the wanted ones: place in `wanted`, and position in `keys`."""
    start, stop = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    number = stop - start
    place = np.repeat(np.arange(len(wanted)), number)
    return place, np.arange(len(place)) - np.repeat(np.cumsum(number) - number, number) + start[place]
