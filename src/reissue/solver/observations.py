"""What a reader knows of a series: who may be in which group of which release, and what the groups show.

An Observation is one release as a reader has it. A Layer is the same as arrays for computing: *rows* are people, an
*entry* is a value that a person may have in the release, a *slot* is a value that a group shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
from scipy import sparse

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.keys import stable_order
from reissue.counting.segments import different, ranges

__all__ = [
    "Layer",
    "Observation",
    "as_small",
    "layer_of",
    "matrix_of",
    "of_people",
    "pair_order",
    "people_in",
    "picked",
    "ways",
]


TINY = 1e-280
"""Below every weight that matters; keeps divisions from failing."""
_FIRST_SUMS = 1 << 20
"""How many entries sums are prepared for at first."""


def _none() -> Ints:
    return np.empty(0, np.int64)


def _nothing() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Observation:
    """One release: the groups that each person may be in, and the slots of each group.

    Slots are a histogram's entries as columns: what is solved for is who fills which, and names slots by number.
    """

    person: Ints
    """Of each pair of a person and a group that the person fits; sorted by person, then group."""
    group: Ints
    slot_group: Ints
    """The histogram of the groups, sorted by group, then value."""
    slot_value: Ints
    slot_count: Ints
    free: Ints
    """Group to its members whom nobody knows, with any value: counterfeits, and records of strangers."""
    strangers: int = 0
    """Records of people whom nobody knows, in whichever group."""
    absent: Ints = field(default_factory=_none)
    """People, sorted, who may be in no group at all."""
    known_person: Ints = field(default_factory=_none)
    """People, sorted, whose value the reader knows, and their values."""
    known_value: Ints = field(default_factory=_none)
    shares: Floats = field(default_factory=_nothing)
    """Value to how likely a member has it of whom nothing is known; empty: all values alike."""
    occupant: Ints = field(default_factory=_none)
    """Of each pair, where persons are slots that live on: who is in it, -1 nobody; empty: persons are people."""
    fakes: Ints | Floats = field(default_factory=_none)
    """Value to how many records of it are nobody's, where the reader knows that; empty: nobody does."""
    roughly: bool = False
    """Whether that is only what is expected: nothing is impossible or certain by it."""
    label: Ints = field(default_factory=_none)
    """Of a panel, sorted: the published numbers of its slots, which last, with their groups and values.

    Which person, a slot with occupants, has which label is not known: labels and persons meet in groups only."""
    label_group: Ints = field(default_factory=_none)
    label_value: Ints = field(default_factory=_none)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.free)

    @cached_property
    def people(self) -> Ints:
        """Whoever is or may be in the release, sorted."""
        return different(np.concatenate([self.person, self.absent]))

    @cached_property
    def unoccupied(self) -> Ints:
        """Slots that nobody is in, sorted."""
        return self.person[np.flatnonzero(self.occupant < 0)]

    @cached_property
    def impossible(self) -> Ints:
        """Values that no person has: all their records are nobody's."""
        if self.roughly or not len(self.fakes):
            return _none()
        shown = np.bincount(self.slot_value, self.slot_count, len(self.fakes))
        return np.flatnonzero((shown > 0) & (shown <= self.fakes[: len(shown)]))

    @property
    def ways(self) -> int:
        """How many pairs of a person and a value of a group that the person fits there are."""
        return int(np.diff(self.group_starts)[self.group].sum())

    @cached_property
    def group_starts(self) -> Ints:
        """Group to its first slot, and the number of slots at the end."""
        return np.searchsorted(self.slot_group, np.arange(self.groups + 1))

    @cached_property
    def sizes(self) -> Ints:
        """Records of each group."""
        return np.bincount(self.slot_group, self.slot_count, self.groups).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Layer:
    """One release as arrays: entries are sorted by person, then value."""

    person: Ints
    """Row to person."""
    starts: Ints
    """Row to its first entry, and the number of entries at the end."""
    value: Ints
    """Entry to value."""
    triple_entry: Ints
    """Each way to be there: the entry, and the slot that it fills; sorted by entry."""
    triple_slot: Ints
    count: Floats
    """Slot to its published count."""
    slot_value: Ints
    slot_group: Ints
    group_starts: Ints
    free: Floats
    strangers: float
    chance: Floats
    """Slot to how likely a free member or a stranger has its value, up to a factor."""
    absent: Bools
    """Row to whether the person may be in no group."""
    nobody: Bools
    """Row to whether it is a slot that nobody is in."""
    fakes: Floats
    """Value to how many records of it are nobody's; empty: that is not known."""
    tilt: Floats
    """Value to how much likelier records that are nobody's have it for that; empty as `fakes` is."""
    roughly: bool = False
    """Whether `fakes` are only what is expected."""
    settled: int = 0
    """Records that were taken out of the counts: those who have them are certain, and no rows any more."""

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return len(self.value)

    @property
    def counts_fakes(self) -> bool:
        """Whether it is known exactly how many records of each value are nobody's."""
        return bool(len(self.fakes)) and not self.roughly

    @cached_property
    def row(self) -> Ints:
        """Entry to its row."""
        return np.repeat(as_small(np.arange(len(self.person))), np.diff(self.starts))

    @cached_property
    def triple_row(self) -> Ints:
        """Way to its row."""
        return self.row if self.single else self.row[self.triple_entry]

    @cached_property
    def _rows(self) -> sparse.csr_array:
        """Rows x entries: which entries are of a row. Sums by it take a fraction of what `reduceat` takes."""
        ones, numbers = _prepared(self.entries)
        return matrix_of(ones, numbers[:-1], self.starts, (len(self.person), self.entries))

    def sums(self, entries: Floats) -> Floats:
        """The sum of each row."""
        return np.asarray(self._rows @ entries)

    def normalized(self, entries: Floats) -> Floats:
        """The same with every row's sum at 1."""
        numbers = _prepared(self.entries)[1]
        by_row = matrix_of(entries, self.row, numbers, (self.entries, len(self.person)))
        return np.asarray(by_row @ (1 / np.maximum(self.sums(entries), TINY)))

    def said(self, multipliers: Floats) -> Floats:
        """Entry to what the release says about it, by a multiplier for each slot."""
        if self.single:
            return picked(multipliers, self._wide_slot)
        said = np.asarray(self.incidence @ multipliers)
        return said + self.away if self._some_absent else said

    def weighed(self, entries: Floats) -> sparse.csr_array:
        """Rows x slots: what every way weighs where entries weigh so much. Products with it are sums over ways."""
        weights = entries if self.single else picked(entries, self.triple_entry)
        return matrix_of(weights, self.triple_slot, self._way_starts, (len(self.person), len(self.count)))

    def tilted(self, factor: Floats) -> "Layer":
        """With records of nobody likelier to have some values."""
        return replace(self, chance=self.chance * factor[self.slot_value], tilt=self.tilt * factor)

    def sharing(self, shares: Floats) -> "Layer":
        """With records of nobody having values in these shares."""
        return replace(self, chance=shares[self.slot_value])

    @cached_property
    def fake_entries(self) -> Ints:
        """The entries of slots that nobody is in."""
        return np.flatnonzero(self.nobody[self.row])

    @cached_property
    def away(self) -> Floats:
        """Entry to what being in no group weighs."""
        return self.absent[self.row].astype(np.float64)

    @cached_property
    def _some_absent(self) -> bool:
        return bool(self.absent.any())

    @cached_property
    def single(self) -> bool:
        """Whether every entry fills just one slot: everyone's group is known."""
        return len(self.triple_entry) == self.entries and not self._some_absent

    @cached_property
    def _way_starts(self) -> Ints:
        """Row to its first way, and the number of ways at the end."""
        return as_small(self.starts if self.single else np.searchsorted(self.triple_entry, self.starts))

    @cached_property
    def _wide_slot(self) -> Ints:
        """Way to its slot, as numbers of 64 bits: looked up in every sweep, in a third of the time."""
        return self.triple_slot.astype(np.int64)

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """Entries x slots: which slots an entry may fill."""
        ones, _ = _prepared(len(self.triple_entry))
        at = np.searchsorted(self.triple_entry, np.arange(self.entries + 1))
        return matrix_of(ones, self.triple_slot, at, (self.entries, len(self.count)))


def picked(numbers: Floats, places: Ints) -> Floats:
    """The numbers at some places: where these are of 64 bits in half the time that brackets take."""
    return np.take(numbers, places, mode="clip")


def as_small(numbers: Ints | Codes) -> Ints:
    """Positions as numbers of 32 bits, which take half the memory; whoever multiplies them must widen them first."""
    return cast("Ints", numbers.astype(np.int32, copy=False))


def _prepared(size: int) -> tuple[Floats, Ints]:
    """So many ones, and the numbers from 0 to there: what sums of all layers share."""
    ones, numbers = _at_least(1 << max(size, _FIRST_SUMS - 1).bit_length())
    return ones[:size], numbers[: size + 1]


@lru_cache(maxsize=4)
def _at_least(size: int) -> tuple[Floats, Ints]:
    return np.ones(size), as_small(np.arange(size, dtype=np.int32))


def matrix_of(weights: Floats, columns: Ints, starts: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """Of weights, row after row; with places of 32 bits, so that nothing is copied."""
    return sparse.csr_array((weights, as_small(columns), as_small(starts)), shape=shape, copy=False)


def pair_order(first: Ints, second: Ints) -> Ints:
    """The order that sorts pairs of small numbers by the first, then the second."""
    order = stable_order(second, int(second.max(initial=-1)) + 1)
    return order[stable_order(first[order], int(first.max(initial=-1)) + 1)]


def layer_of(seen: Observation, values: int, some: tuple[Ints, Ints] | None = None) -> Layer:
    """The arrays of one release; `some` are those of its ways (see `ways`) that are open."""
    person, slot = ways(seen) if some is None else some
    first = np.diff(person, prepend=-1) > 0
    people, row = person[first], np.cumsum(first) - 1
    if len(seen.absent):
        known, people = people, np.union1d(people, seen.absent)
        row = np.searchsorted(people, known)[row]
    key = row * values + seen.slot_value[slot]
    maybe = np.isin(people, seen.absent)
    anything = _anything(seen, people, maybe, values)
    if (key[1:] < key[:-1]).any():  # not where everyone is in one group: its values are in order
        order = stable_order(key, len(people) * values)
        key, slot = key[order], slot[order]
    keys, place = _numbered(key, anything)
    starts = np.searchsorted(keys, np.arange(len(people) + 1) * values)
    chance = seen.shares[seen.slot_value] if len(seen.shares) else np.ones(len(seen.slot_value))
    fakes = _nothing()
    if len(seen.fakes) and (seen.strangers or seen.free.any() or len(seen.unoccupied)):  # else none is nobody's
        fakes = np.append(seen.fakes, np.zeros(values - len(seen.fakes))).astype(np.float64)
    tilt = (fakes > 0).astype(np.float64)
    return Layer(
        people,
        starts,
        as_small(keys % values),
        as_small(place),
        as_small(slot),
        seen.slot_count.astype(np.float64),
        seen.slot_value,
        seen.slot_group,
        seen.group_starts,
        seen.free.astype(np.float64),
        float(seen.strangers),
        chance * tilt[seen.slot_value] if len(fakes) else chance,
        maybe,
        np.isin(people, seen.unoccupied),
        fakes,
        tilt,
        seen.roughly,
    )


def _numbered(keys: Ints, more: Ints) -> tuple[Ints, Ints]:
    """The different keys of a sorted list, and others, in order; and where each one of the list is among them."""
    if not len(more):
        first = np.diff(keys, prepend=-1) > 0
        return keys[first], np.cumsum(first) - 1
    together, place = np.unique(np.concatenate([keys, more]), return_inverse=True)
    return together, place.reshape(-1)[: len(keys)]


def ways(seen: Observation) -> tuple[Ints, Ints]:
    """Every way to be in the release, person and slot; of people whose value is known only those that agree."""
    widths = np.diff(seen.group_starts)[seen.group]
    slot = ranges(seen.group_starts[seen.group], widths)
    person = np.repeat(seen.person, widths)
    if len(seen.impossible):
        someone = np.isin(person, seen.unoccupied, invert=True)
        open_ways = ~(someone & np.isin(seen.slot_value[slot], seen.impossible))
        person, slot = person[open_ways], slot[open_ways]
    if not len(seen.known_person):
        return person, slot
    at = np.minimum(np.searchsorted(seen.known_person, person), len(seen.known_person) - 1)
    agrees = (seen.known_person[at] != person) | (seen.known_value[at] == seen.slot_value[slot])
    return person[agrees], slot[agrees]


def _anything(seen: Observation, people: Ints, maybe: Bools, values: int) -> Ints:
    """Keys of the values that people have who may be absent: any, or the one that is known."""
    rows = np.flatnonzero(maybe)
    keys = (rows[:, np.newaxis] * values + np.arange(values)).reshape(-1)
    if not len(seen.known_person):
        return keys
    person = people[keys // values]
    at = np.minimum(np.searchsorted(seen.known_person, person), len(seen.known_person) - 1)
    return np.asarray(keys[(seen.known_person[at] != person) | (seen.known_value[at] == keys % values)])


def people_in(series: Sequence[Observation]) -> Ints:
    """Everyone in some release, and the slots, sorted."""
    found = [one.people for one in series] + [one.occupant[one.occupant >= 0] for one in series]
    return different(np.concatenate(found))


def of_people(seen: Observation) -> Observation:
    """The release with people instead of slots; those that nobody is in hold counterfeits."""
    if not len(seen.occupant):
        return seen
    real = seen.occupant >= 0
    free = seen.free + np.bincount(seen.group[~real], minlength=seen.groups)
    order = np.flatnonzero(real)[np.argsort(seen.occupant[real])]
    known = np.isin(seen.person[order], seen.known_person)
    values = dict(zip(seen.known_person.tolist(), seen.known_value.tolist(), strict=True))
    return replace(
        seen,
        person=seen.occupant[order],
        group=seen.group[order],
        free=free,
        known_person=seen.occupant[order][known],
        known_value=np.array([values[slot] for slot in seen.person[order][known].tolist()], np.int64),
        occupant=seen.occupant[:0],
    )
