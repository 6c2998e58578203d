"""Groups counted by people where a person may have several rows: visits, claims, tests.

A group's size is its number of different people, and the count of a value is the number of people who have it at least
once in the group. So counts of one group may sum to more than its size, and a share is a share of people.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain, Relabelling
from reissue.counting.histogram import Histogram, counted, starts_of
from reissue.counting.keys import pack
from reissue.counting.segments import ranges
from reissue.errors import InternalError

__all__ = ["PeopleCounts", "SharedCounts", "ValueSets", "value_sets"]


class PeopleCounts(Counts):
    """Groups of rows counted by their people, who may have several rows."""

    def __init__(
        self,
        groups: Codes | Ints,
        sensitive: Codes | Ints,
        people: Ints,
        domain: Domain,
        total: int,
        weights: Codes | Ints | None = None,
    ) -> None:
        """Store rows (or distinct ones, with weights) with their group, sensitive code and person."""
        super().__init__(groups, sensitive, domain, total, weights)
        self._people = people

    @property
    def by_people(self) -> bool:
        """True."""
        return True

    @cached_property
    def rows(self) -> Ints:
        """Rows of each group."""
        return np.bincount(self._groups, self._weights, self.total).astype(np.int64, copy=False)

    @cached_property
    def sizes(self) -> Ints:
        """Number of different people of each group."""
        return np.bincount(self._groups[self._first()], minlength=self.total).astype(np.int64, copy=False)

    @cached_property
    def histogram(self) -> Histogram:
        """The number of people of each group who have each value."""
        first = self._first(self._sensitive)
        return counted(self._groups[first], self._sensitive[first], self.total, self.domain.size)

    def relabelled(self, labels: Relabelling) -> "PeopleCounts":
        """The same groups with other values; a person whose values become one is counted once."""
        sensitive = labels.of_value[self._sensitive]
        return PeopleCounts(self._groups, sensitive, self._people, labels.domain, self.total, self._weights)

    def _as_counted(self, group: Ints, value: Ints, count: Ints, domain: Domain) -> Counts:
        return SharedCounts(group, value, count, self.sizes, domain)

    def _first(self, *columns: Codes | Ints) -> Ints:
        """One row per person and group, or per combination with further columns."""
        sizes = [self.total, int(self._people.max(initial=0)) + 1, *(self.domain.size for _ in columns)]
        keys, _ = pack([self._groups, self._people, *columns], sizes)
        return np.unique(keys, return_index=True)[1]

    def only(self, chosen: Bools) -> "PeopleCounts":
        """The same of the chosen groups, numbered anew."""
        inside = np.flatnonzero(chosen[self._groups])
        groups = (np.cumsum(chosen) - 1)[self._groups[inside]]
        weights = None if self._weights is None else self._weights[inside]
        people, total = self._people[inside], int(chosen.sum())
        return PeopleCounts(groups, self._sensitive[inside], people, self.domain, total, weights)


class SharedCounts(Counts):
    """Groups of people that were counted elsewhere: a person is counted once for each of their values."""

    def __init__(self, groups: Ints, values: Ints, counts: Ints, sizes: Ints, domain: Domain) -> None:
        """Store how many people of each group have each value, and how many people each group has."""
        super().__init__(groups, values, domain, len(sizes), counts)
        self.sizes = sizes

    @property
    def by_people(self) -> bool:
        """True."""
        return True

    def relabelled(self, labels: Relabelling) -> Counts:
        """Raise an error: how many people have values that become one is unknown."""
        del labels
        raise InternalError("People who were counted by value cannot be counted by another. Please report this.")

    def _as_counted(self, group: Ints, value: Ints, count: Ints, domain: Domain) -> Counts:
        return SharedCounts(group, value, count, self.sizes, domain)


class SetCounts(SharedCounts):
    """Groups of people for whom it is known how many have which set of values."""

    def __init__(self, counts: Counts, sets: "ValueSets") -> None:
        """Store people counted by the number of their value set."""
        lengths = sets.lengths[counts.value]
        values = sets.values[ranges(sets.starts[counts.value], lengths)]
        group, count = np.repeat(counts.group, lengths), np.repeat(counts.count, lengths)
        super().__init__(group, values, count, counts.sizes, sets.domain)
        self._sets, self._counts = sets, counts

    def relabelled(self, labels: Relabelling) -> Counts:
        """The same groups with other values; a person whose values become one is counted once."""
        return SetCounts(self._counts, _relabelled(self._sets, labels))


@dataclass(frozen=True, eq=False)
class ValueSets:
    """The distinct sets of values that people have, numbered 0, 1, ..."""

    starts: Ints
    """Where the values of each set start, followed by their number."""
    values: Ints
    of_person: Codes
    """The set number of each person."""
    domain: Domain
    """The domain of the values."""

    @property
    def number(self) -> int:
        """The number of distinct sets."""
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Ints:
        """The number of values of each set."""
        return np.diff(self.starts)

    def expand(self, counts: Counts) -> Counts:
        """Turn people counted by set into people counted by value."""
        return SetCounts(counts, self)


@lru_cache(maxsize=32)
def _relabelled(sets: ValueSets, labels: Relabelling) -> ValueSets:
    """The sets after their values are replaced."""
    width = max(labels.domain.size, 1)
    keys = np.unique(np.repeat(np.arange(sets.number), sets.lengths) * width + labels.of_value[sets.values])
    starts = np.searchsorted(keys, np.arange(sets.number + 1) * width)
    return ValueSets(starts, keys % width, sets.of_person, labels.domain)


def value_sets(people: Ints, sensitive: Codes, domain: Domain) -> ValueSets:
    """Find the set of values of each person 0, 1, ..., from the person and the value of each row."""
    total = int(people.max(initial=-1)) + 1
    pairs = np.unique(pack([people, sensitive], [total, domain.size])[0])
    person, value = pairs // domain.size, pairs % domain.size
    starts = starts_of(person, total)
    found: dict[bytes, int] = {}
    ends = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    codes = [found.setdefault(value[start:end].tobytes(), len(found)) for start, end in ends]
    sets = [np.frombuffer(one, np.int64) for one in found]
    lengths = np.array([len(one) for one in sets], np.int64)
    joined = np.concatenate(sets) if sets else np.empty(0, np.int64)
    return ValueSets(np.append(0, np.cumsum(lengths)), joined, np.array(codes, np.int32), domain)
