"""The states that people may have in one release, and the cells that they may fill, as flat arrays.

A *row* is a person of the release, a *state* a value that the person may have there, and an *assignment* a cell that
fills the state. Where everyone's group is known, each state has one assignment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np
from scipy import sparse

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.keys import stable_order
from reissue.solver.observation import Observation, agrees_with_known, assignments

__all__ = ["HELD", "RARE", "TINY", "ReleaseStates", "as_small", "matrix_of", "picked", "split", "states_of"]

TINY = 1e-280
"""Smallest divisor: below every weight that matters, above the smallest normal float."""
RARE = 1e-6
"""Smallest prior share of a value: what was never published is not impossible."""
HELD = 4_000_000
"""Numbers that are held at a time where work is done piece by piece (32 MB)."""


def _none() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class ReleaseStates:
    """One release as arrays; states are sorted by person, then value."""

    person: Ints
    """Person of each row."""
    starts: Ints
    """First state of each row, and the number of states at the end."""
    value: Ints
    """Value of each state."""
    assignment_state: Ints
    """State and cell of each assignment; sorted by state."""
    assignment_cell: Ints
    count: Floats
    """Published count of each cell."""
    cell_value: Ints
    cell_group: Ints
    group_starts: Ints
    free: Floats
    strangers: float
    chance: Floats
    """Prior weight of each cell for a free member or a stranger."""
    absent: Bools
    """Whether the person of each row may be in no group."""
    vacant: Bools
    """Whether each row is a seat without an occupant."""
    counterfeits: Floats
    """Known number of counterfeits of each value; empty where it is not known."""
    tilt: Floats
    """Fitted weight of each value for counterfeits, so that they come out as known; empty as `counterfeits`."""
    least: Floats = field(default_factory=_none)
    """Least number of records of each cell; empty: as many as `count`."""
    size: Floats = field(default_factory=_none)
    """People whom each row stands for; empty: one each."""

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.value)

    @property
    def lowest(self) -> Floats:
        """Least number of records of each cell."""
        return self.least if len(self.least) else self.count

    @cached_property
    def people(self) -> Floats:
        """People whom each row stands for."""
        return self.size if len(self.size) else np.ones(len(self.person))

    @cached_property
    def row(self) -> Ints:
        """Row of each state."""
        return np.repeat(as_small(np.arange(len(self.person))), np.diff(self.starts))

    @cached_property
    def assignment_row(self) -> Ints:
        """Row of each assignment."""
        return self.row if self.single else self.row[self.assignment_state]

    @cached_property
    def undecided(self) -> Bools:
        """Whether more than one assignment is left to each row."""
        return np.asarray((np.bincount(self.assignment_row, minlength=len(self.person)) > 1) | self.absent)

    @cached_property
    def single(self) -> bool:
        """Whether every state has just one assignment: everyone's group is known."""
        return len(self.assignment_state) == self.states and not self.absent.any()

    @cached_property
    def _states_of_rows(self) -> sparse.csr_array:
        """Rows x states, with ones: products with it are sums by row, several times as fast as `reduceat`."""
        columns = as_small(np.arange(self.states))
        return matrix_of(np.ones(self.states), columns, self.starts, (len(self.person), self.states))

    def sums(self, weights: Floats) -> Floats:
        """Sum of the states' weights in each row."""
        return np.asarray(self._states_of_rows @ weights)

    def normalized(self, weights: Floats) -> Floats:
        """The states' weights, scaled so that every row sums to 1."""
        return weights * picked(1 / np.maximum(self.sums(weights), TINY), self.row)

    def message(self, multipliers: Floats) -> Floats:
        """What the release says about each state, by a multiplier for each cell."""
        if self.single:
            return picked(multipliers, self._wide_cell)
        said = np.asarray(self._cells_of_states @ multipliers)
        return said + self.away if self.absent.any() else said

    def weighed(self, states: Floats) -> sparse.csr_array:
        """Rows x cells: the weight of each assignment by the weights of states."""
        weights = states if self.single else picked(states, self.assignment_state)
        starts = self.starts if self.single else np.searchsorted(self.assignment_state, self.starts)
        return matrix_of(weights, self.assignment_cell, starts, (len(self.person), len(self.count)))

    def tilted(self, factor: Floats) -> "ReleaseStates":
        """The same with counterfeits that are likelier to have some values."""
        return replace(self, chance=self.chance * factor[self.cell_value], tilt=self.tilt * factor)

    def sharing(self, shares: Floats) -> "ReleaseStates":
        """The same with other prior shares of values among free members."""
        return replace(self, chance=shares[self.cell_value])

    def by_group(self, cells: Floats) -> Floats:
        """Sum over the cells of each group."""
        return np.asarray(np.add.reduceat(np.append(cells, 0.0), self.group_starts[:-1]))

    @cached_property
    def vacant_states(self) -> Ints:
        """The states of vacant seats."""
        return np.flatnonzero(self.vacant[self.row])

    @cached_property
    def away(self) -> Floats:
        """Weight of being in no group, for each state."""
        return self.absent[self.row].astype(np.float64)

    @cached_property
    def _wide_cell(self) -> Ints:
        """Cell of each assignment as a number of 64 bits: looked up in every sweep, in a third of the time."""
        return self.assignment_cell.astype(np.int64)

    @cached_property
    def _cells_of_states(self) -> sparse.csr_array:
        """States x cells, with ones."""
        starts = np.searchsorted(self.assignment_state, np.arange(self.states + 1))
        ones = np.ones(len(self.assignment_cell))
        return matrix_of(ones, self.assignment_cell, starts, (self.states, len(self.count)))


def picked(numbers: Floats, places: Ints) -> Floats:
    """The numbers at some places: with places of 64 bits in half the time that brackets take."""
    return np.take(numbers, places, mode="clip")


def as_small(numbers: Ints | Codes) -> Ints:
    """Positions as numbers of 32 bits, which take half the memory; widen them before multiplying."""
    return cast("Ints", numbers.astype(np.int32, copy=False))


def split(numbers: np.ndarray, releases: Sequence[ReleaseStates]) -> list[np.ndarray]:
    """Numbers of all releases' states as those of each release."""
    return np.split(numbers, np.cumsum([one.states for one in releases])[:-1])


def matrix_of(weights: Floats, columns: Ints, starts: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """A sparse matrix of weights, row after row, without copies where positions have 32 bits."""
    return sparse.csr_array((weights, as_small(columns), as_small(starts)), shape=shape, copy=False)


def states_of(seen: Observation, values: int, some: tuple[Ints, Ints] | None = None) -> ReleaseStates:
    """The arrays of one release; `some` are the assignments (person and cell) that are possible, if known."""
    person, cell = assignments(seen) if some is None else some
    first = np.diff(person, prepend=-1) > 0
    people, row = person[first], np.cumsum(first) - 1
    if len(seen.absent):
        known, people = people, np.union1d(people, seen.absent)
        row = np.searchsorted(people, known)[row]
    key = row * values + seen.cell_value[cell]
    absent = np.isin(people, seen.absent)
    if (key[1:] < key[:-1]).any():  # where everyone is in one group, its values are in order
        order = stable_order(key, len(people) * values)
        key, cell = key[order], cell[order]
    keys, place = _distinct(key, _any_value(seen, people, absent, values))
    counterfeits = np.empty(0)
    if len(seen.counterfeits) and (seen.strangers or seen.free.any() or len(seen.vacant)):
        counterfeits = np.append(seen.counterfeits, np.zeros(values - len(seen.counterfeits))).astype(np.float64)
    tilt = (counterfeits > 0).astype(np.float64)
    chance = seen.shares[seen.cell_value] if len(seen.shares) else np.ones(len(seen.cell_value))
    return ReleaseStates(
        people,
        np.searchsorted(keys, np.arange(len(people) + 1) * values),
        as_small(keys % values),
        as_small(place),
        as_small(cell),
        seen.cell_count.astype(np.float64),
        seen.cell_value,
        seen.cell_group,
        seen.group_starts,
        seen.free.astype(np.float64),
        float(seen.strangers),
        chance * tilt[seen.cell_value] if len(counterfeits) else chance,
        absent,
        np.isin(people, seen.vacant),
        counterfeits,
        tilt,
        least=seen.cell_least.astype(np.float64) if seen.intervals else np.empty(0),
        size=_sizes(seen, people) if len(seen.size) else np.empty(0),
    )


def _sizes(seen: Observation, people: Ints) -> Floats:
    """People whom each of some persons stands for."""
    return seen.size[np.searchsorted(seen.person, people)].astype(np.float64)


def _distinct(keys: Ints, more: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers of a sorted list and of another one, in order; and the place of each of the first list."""
    if not len(more):
        first = np.diff(keys, prepend=-1) > 0
        return keys[first], np.cumsum(first) - 1
    together, place = np.unique(np.concatenate([keys, more]), return_inverse=True)
    return together, place.reshape(-1)[: len(keys)]


def _any_value(seen: Observation, people: Ints, absent: Bools, values: int) -> Ints:
    """Keys of the states of people who may be absent: every value, or the one that is known."""
    keys = (np.flatnonzero(absent)[:, np.newaxis] * values + np.arange(values)).reshape(-1)
    return np.asarray(keys[agrees_with_known(seen, people[keys // values], keys % values)])
