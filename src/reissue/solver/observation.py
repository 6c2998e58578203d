"""Observations: one release as the adversary sees it, by numbers for people, groups and values."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.keys import stable_order
from reissue.counting.segments import different, ranges

__all__ = ["MANY", "Observation", "assignments", "fits_many", "made_by_value", "of_people", "pair_order", "people_in"]


MANY = 20
"""Groups of a release that people fit on average, beyond which nothing is certain and exact counts say nothing."""


def _no_ints() -> Ints:
    return np.empty(0, np.int64)


def _no_floats() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Observation:
    """One release: the groups that each person may be in, and the histogram of each group.

    A *cell* is a value that a group shows, with its count. Cells and pairs of a person and a group are columns, and
    the solver names cells by their number.
    """

    person: Ints
    """Person of each pair of a person and a group that the person fits; sorted by person, then group."""
    group: Ints
    cell_group: Ints
    """Group of each cell; cells are sorted by group, then value."""
    cell_value: Ints
    cell_count: Ints
    free: Ints
    """Members of each group about whom nothing is known, with any value: counterfeits, records of strangers."""
    strangers: int = 0
    """Records of unknown people that may be in any group."""
    absent: Ints = field(default_factory=_no_ints)
    """People, sorted, who may be in no group at all."""
    known_person: Ints = field(default_factory=_no_ints)
    """People, sorted, whose value the adversary knows, and these values."""
    known_value: Ints = field(default_factory=_no_ints)
    shares: Floats = field(default_factory=_no_floats)
    """Prior share of each value among free members and strangers; empty: all values alike."""
    occupant: Ints = field(default_factory=_no_ints)
    """Of each pair, where persons are seats of cohorts: who sits there, -1 nobody; empty: persons are people."""
    counterfeits: Ints = field(default_factory=_no_ints)
    """Number of counterfeit records of each value, where the adversary knows true totals; empty: not known."""
    label: Ints = field(default_factory=_no_ints)
    """Of a panel, sorted: the published numbers of its seats, which last, with their groups and values.

    Which person (a seat with occupants) has which label is not known: they meet in groups only."""
    label_group: Ints = field(default_factory=_no_ints)
    label_value: Ints = field(default_factory=_no_ints)
    cell_least: Ints = field(default_factory=_no_ints)
    """Of a table of counts, the least that each cell may be, and `cell_count` the most; empty: counts are exact."""
    size: Ints = field(default_factory=_no_ints)
    """People whom each person of the pairs stands for: no release tells them apart; empty: one each."""

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.free)

    @cached_property
    def intervals(self) -> bool:
        """Whether the count of some cell is not known exactly."""
        return bool(len(self.cell_least)) and bool((self.cell_least < self.cell_count).any())

    @cached_property
    def likely_count(self) -> Floats:
        """About how many records each cell has: of intervals as fits the members of the group best."""
        if not self.intervals:
            return self.cell_count.astype(np.float64)
        width = (self.cell_count - self.cell_least).astype(np.float64)
        members = np.bincount(self.group, self.size if len(self.size) else None, self.groups) + self.free
        left = members - np.bincount(self.cell_group, self.cell_least, self.groups)
        room = np.bincount(self.cell_group, width, self.groups)
        share = np.clip(left / np.maximum(room, 1.0), 0.0, 1.0)
        return np.asarray(self.cell_least + width * share[self.cell_group])

    @cached_property
    def people(self) -> Ints:
        """Everyone who is or may be in the release, sorted."""
        return different(np.concatenate([self.person, self.absent]))

    @cached_property
    def vacant(self) -> Ints:
        """Seats without an occupant, sorted."""
        return self.person[np.flatnonzero(self.occupant < 0)]

    @cached_property
    def impossible(self) -> Ints:
        """Values that no person has, because all their records are counterfeit."""
        if not len(self.counterfeits):
            return _no_ints()
        shown = np.bincount(self.cell_value, self.cell_count, len(self.counterfeits))
        return np.flatnonzero((shown > 0) & (shown <= self.counterfeits[: len(shown)]))

    @property
    def assignments(self) -> int:
        """Number of pairs of a person and a cell of a group that the person fits."""
        return int(np.diff(self.group_starts)[self.group].sum())

    @cached_property
    def group_starts(self) -> Ints:
        """First cell of each group, and the number of cells at the end."""
        return np.searchsorted(self.cell_group, np.arange(self.groups + 1))


def assignments(seen: Observation) -> tuple[Ints, Ints]:
    """Every person and cell that the person may fill; of people whose value is known only those that agree."""
    widths = np.diff(seen.group_starts)[seen.group]
    cell = ranges(seen.group_starts[seen.group], widths)
    person = np.repeat(seen.person, widths)
    if len(seen.impossible):
        seated = np.isin(person, seen.vacant, invert=True)
        possible = ~(seated & np.isin(seen.cell_value[cell], seen.impossible))
        person, cell = person[possible], cell[possible]
    agrees = agrees_with_known(seen, person, seen.cell_value[cell])
    return person[agrees], cell[agrees]


def agrees_with_known(seen: Observation, person: Ints, value: Ints) -> np.ndarray:
    """Whether pairs of a person and a value are possible by the values that the adversary knows."""
    if not len(seen.known_person):
        return np.ones(len(person), np.bool_)
    at = np.minimum(np.searchsorted(seen.known_person, person), len(seen.known_person) - 1)
    return np.asarray((seen.known_person[at] != person) | (seen.known_value[at] == value))


def pair_order(first: Ints, second: Ints) -> Ints:
    """The order that sorts pairs of small numbers by the first, then the second."""
    order = stable_order(second, int(second.max(initial=-1)) + 1)
    return order[stable_order(first[order], int(first.max(initial=-1)) + 1)]


def people_in(series: Sequence[Observation]) -> Ints:
    """Everyone in some release, and the seats, sorted."""
    found = [one.people for one in series] + [one.occupant[one.occupant >= 0] for one in series]
    return different(np.concatenate(found))


def of_people(seen: Observation) -> Observation:
    """The release with people instead of seats; vacant seats hold counterfeits."""
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
        known_value=np.array([values[seat] for seat in seen.person[order][known].tolist()], np.int64),
        occupant=seen.occupant[:0],
    )


def fits_many(series: Sequence[Observation]) -> bool:
    """Whether people fit so many groups that certain facts are not worth looking for."""
    return sum(len(seen.group) for seen in series) > MANY * sum(len(seen.people) for seen in series)


def made_by_value(series: Sequence[Observation]) -> bool:
    """Whether every group of every release shows each of its values equally often."""
    return all(_even(seen) for seen in series)


def _even(seen: Observation) -> bool:
    first = seen.cell_count[np.minimum(seen.group_starts[:-1], max(len(seen.cell_count) - 1, 0))]
    return bool((seen.cell_count == first[seen.cell_group]).all())
