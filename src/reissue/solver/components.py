"""Small connected components, solved exactly over all of their worlds.

A component is people and groups that hang together through what is still open. Where few people are left, the weights
of all joint assignments fit into a table with one axis for each person. It is carried from release to release along its
axes, and set to 0 where counts do not fit: a forward-backward pass over the whole component. So posteriors there are
exact, what holds in every world is certain, and pairs of people with the same value in every world are found.
O(releases x table x people).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import factorial, prod

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Floats, Ints
from reissue.solver.scaling import Chains
from reissue.solver.states import ReleaseStates
from reissue.solver.transitions import Model

__all__ = ["MOST", "ExactPosteriors", "solve_components"]

_LARGEST = 20_000
"""Cells of a table at most: a few milliseconds a component."""
MOST = 400
"""Components that are solved at most, the smallest first: about half a second of a year of releases. They hardly move
the number of people above a limit, but are what makes facts certain that elimination does not find."""


@dataclass(eq=False)
class ExactPosteriors:
    """Exact posteriors of states, by release, and pairs of people who have the same value in every world."""

    state: list[list[Ints]]
    chance: list[list[Floats]]
    equal: list[tuple[int, int]] = field(default_factory=list)
    """Of values that never change: two people who have the same one, whichever it is."""
    components: int = 0
    left: int = 0
    """Components that are small enough and were not solved, because there are too many."""

    def put(self, chance: Sequence[Floats]) -> None:
        """Write them over approximate ones."""
        for mine, states, found in zip(chance, self.state, self.chance, strict=True):
            if states:
                mine[np.concatenate(states)] = np.concatenate(found)


def solve_components(
    chains: Chains, model: Model, times: Sequence[int] | None = None, most: int = MOST
) -> ExactPosteriors:
    """Solve the smallest components exactly, `most` of them; those of several groups first."""
    solved = ExactPosteriors([[] for _ in chains.releases], [[] for _ in chains.releases])
    if not most:
        return solved
    opened = [release.undecided for release in chains.releases]
    label = _labels(chains.releases, opened)
    small = _small(chains.releases, opened, label)
    chosen = small[:most]
    solved.left = len(small) - len(chosen)
    given = _Given(chains, model, range(len(opened)) if times is None else times)
    axes = [_axes(chains, place, label, opened[place], chosen) for place in range(len(opened))]
    for number in range(len(chosen)):
        mine = [here[number] for here in axes]
        if _table_size(mine) <= _LARGEST:
            _solve(mine, given, solved)
            solved.components += 1
    return solved


# --- which components ------------------------------------------------------------------------------------------------


def _labels(releases: Sequence[ReleaseStates], opened: Sequence[Bools]) -> Ints:
    """Component of each person."""
    people = max((int(one.person.max(initial=-1)) + 1 for one in releases), default=0)
    links, first = [], people
    for release, loose in zip(releases, opened, strict=True):
        row, group = release.assignment_row, release.cell_group[release.assignment_cell]
        mine = np.flatnonzero(loose[row])
        links.append((release.person[row[mine]], first + group[mine]))
        if len(release.counterfeits):
            # The number of counterfeits with a value is an equation about all groups that hold counterfeits.
            holding = first + np.flatnonzero(release.free)
            links.append((holding, np.full(len(holding), first + len(release.free))))
        first += len(release.free) + 1
    one, other = (np.concatenate([pair[side] for pair in links], dtype=np.int32) for side in (0, 1))
    graph = sparse.coo_array((np.ones(len(one), np.int8), (one, other)), shape=(first, first))
    return np.asarray(connected_components(graph, directed=False)[1][:people])


def _small(releases: Sequence[ReleaseStates], opened: Sequence[Bools], label: Ints) -> Ints:
    """Components whose tables may be small enough; the smallest first, those of a single group last."""
    total = int(label.max(initial=-1)) + 1
    cost, bad, size, groups = np.zeros(total), np.zeros(total, np.bool_), np.zeros(total), np.zeros(total)
    for release, loose in zip(releases, opened, strict=True):
        choices = np.bincount(release.assignment_row, minlength=len(release.person))
        choices = choices + np.where(release.absent, np.diff(release.starts), 0)
        mine = label[release.person[loose]]
        cost = np.maximum(cost, np.bincount(mine, np.log(np.maximum(choices[loose], 1)), total))
        size += np.bincount(mine, minlength=total)
        rows = loose[release.assignment_row]
        of_group = np.full(len(release.free), -1)
        member = label[release.person[release.assignment_row[rows]]]
        of_group[release.cell_group[release.assignment_cell[rows]]] = member
        groups += np.bincount(of_group[of_group >= 0], minlength=total)
        # Seats are no free members whose values could be counted.
        bad[label[release.person]] |= bool(release.strangers or (len(release.counterfeits) and release.vacant.any()))
        # Neither are rows of several people one axis; and free members beside intervals are not placed.
        unclear = bool(len(release.least)) and bool(release.free.any())
        bad[label[release.person[(release.people > 1) | unclear]]] = True
    found = np.flatnonzero((size > 0) & ~bad & (cost <= np.log(_LARGEST)))
    return found[np.lexsort((cost[found], size[found], groups[found] == 1))]


# --- axes of a table --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Axis:
    """One person in one release: the assignments that are open, and their values."""

    person: int
    state: Ints
    cell: tuple[int, ...]
    """Cell of each assignment, -1: in no group, or not open."""
    value: Ints
    weight: Floats
    """Prior weight of each assignment's state."""


def _axes(chains: Chains, place: int, label: Ints, loose: Bools, components: Ints) -> list[list[_Axis]]:
    """The axes of some components in one release; rows that are not open are axes, too, for transitions matter."""
    release, weights = chains.releases[place], chains.weights(place)
    made: list[list[_Axis]] = [[] for _ in components]
    number = np.full(int(label.max(initial=-1)) + 1, -1)
    number[components] = np.arange(len(components))
    mine = number[label[release.person]]
    rows = np.flatnonzero(mine >= 0)
    first, after = (np.searchsorted(release.assignment_state, release.starts[rows + one]) for one in (0, 1))
    for row, low, high in zip(rows.tolist(), first.tolist(), after.tolist(), strict=True):
        state, cell = release.assignment_state[low:high].astype(np.int64), release.assignment_cell[low:high]
        if release.absent[row]:
            away = np.arange(release.starts[row], release.starts[row + 1])
            state, cell = np.append(state, away), np.append(cell, np.full(len(away), -1))
        cells = tuple(cell.tolist()) if loose[row] else (-1,) * len(cell)
        axis = _Axis(int(release.person[row]), state, cells, release.value[state], weights[state])
        made[mine[row]].append(axis)
    return made


def _table_size(axes: Sequence[Sequence[_Axis]]) -> int:
    """Cells of the largest table: people who are away keep the axis that they had."""
    width: dict[int, int] = {}
    most = 1
    for here in axes:
        width |= {axis.person: len(axis.cell) for axis in here}
        most = max(most, prod(width.values()))
    return most


# --- all worlds of a component ----------------------------------------------------------------------------------------


class _Given:
    """What all components share."""

    def __init__(self, chains: Chains, model: Model, when: Sequence[int]) -> None:
        self.releases, self.model, self.when = chains.releases, model, when
        self.room = [_room(release) for release in chains.releases]
        self.slack = [(release.count - release.lowest).astype(np.int64) for release in chains.releases]
        self._powers: dict[int, Floats] = {}

    def step(self, before: tuple[int, _Axis] | None, place: int, axis: _Axis) -> Floats:
        """From a person's assignments in the last release that the person was in to those now."""
        if before is None:
            return axis.weight[np.newaxis]
        gap = self.when[place] - self.when[before[0]]
        if gap not in self._powers:
            self._powers[gap] = self.model.after(gap)
        return axis.weight * self._powers[gap][np.ix_(before[1].value, axis.value)]


def _room(release: ReleaseStates) -> Ints:
    """Records of each cell without those of people who have one assignment only."""
    fixed = ~release.undecided[release.assignment_row]
    taken = np.bincount(release.assignment_cell[fixed], minlength=len(release.count))
    return release.count.astype(np.int64) - taken


def _solve(axes: Sequence[Sequence[_Axis]], given: _Given, solved: ExactPosteriors) -> None:
    """Forward and backward through the releases, with the weight of every cell of every table."""
    order = {person: at for at, person in enumerate(sorted({axis.person for here in axes for axis in here}))}
    last: dict[int, tuple[int, _Axis]] = {}
    table: Floats = np.ones((1,) * len(order))
    passed: list[tuple[int, Floats, dict[int, Floats], Floats]] = []
    for place, here in enumerate(axes):
        if not here:
            continue
        steps = {order[axis.person]: given.step(last.get(axis.person), place, axis) for axis in here}
        last |= {axis.person: (place, axis) for axis in here}
        for at, step in steps.items():
            table = _along(table, at, step)
        ways = {order[axis.person]: axis.cell for axis in here}
        fits = _fits(given.releases[place], given.room[place], given.slack[place], ways, len(order))
        table = _comparable(table * fits)
        passed.append((place, table, steps, fits))
    if not passed or not float(table.max()):
        return
    if given.model.steps is None:
        solved.equal += _equal(table, [*order], [last[person][1].value for person in order])
    back: Floats = np.ones_like(table)
    for place, reached, steps, fits in reversed(passed):
        weight = reached * back
        for axis in axes[place]:
            others = tuple(at for at in range(len(order)) if at != order[axis.person])
            states, of_way = np.unique(axis.state, return_inverse=True)
            found = np.bincount(of_way.reshape(-1), weight.sum(axis=others), len(states))
            solved.state[place].append(states)
            solved.chance[place].append(np.asarray(found / found.sum(), np.float64))
        back = back * fits
        for at, step in steps.items():
            back = _along(back, at, step.T)
        back = _comparable(back)


def _comparable(table: Floats) -> Floats:
    return np.asarray(table / max(float(table.max()), 1e-300))


def _along(table: Floats, axis: int, step: Floats) -> Floats:
    """One axis taken on by a step, which sums over the axis before."""
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    flat = table.reshape(prod(before), table.shape[axis], prod(after))
    return np.asarray(np.matmul(step.T, flat).reshape(*before, step.shape[1], *after))


def _fits(release: ReleaseStates, room: Ints, slack: Ints, ways: Mapping[int, Sequence[int]], axes: int) -> Floats:
    """1 where every cell gets the records that it has room for, less its slack at most, else 0.

    With free members, the ways to place them.

    `ways` are the cells that the assignments of each axis fill.
    """
    cells = sorted({cell for own in ways.values() for cell in own if cell >= 0})
    groups = sorted(set(release.cell_group[cells].tolist())) if cells else []
    weight: Floats = np.ones((1,) * axes)
    invented: dict[int, Ints] = {}
    for group in groups:
        free = int(release.free[group])
        unfilled: Ints = np.zeros((1,) * axes, np.int64)
        for cell in range(*release.group_starts[group : group + 2].tolist()):
            rest = room[cell] - _filled(ways, axes, cell)
            alone = (rest >= 0) & (rest <= slack[cell])
            weight = weight * (_placements(rest, float(release.chance[cell])) if free else alone)
            unfilled = unfilled + rest
            value = int(release.cell_value[cell])
            invented[value] = rest + invented.get(value, 0)
        if not slack[slice(*release.group_starts[group : group + 2].tolist())].any():
            weight = weight * (unfilled == free)
    if len(release.counterfeits) and groups:
        outside = room * ~np.isin(release.cell_group, groups)
        others = np.bincount(release.cell_value, outside, len(release.counterfeits))
        for value in np.flatnonzero((release.counterfeits > 0) | (others > 0)).tolist():
            weight = weight * (invented.get(value, 0) + others[value] == release.counterfeits[value])
    return weight


def _placements(rest: Ints, chance: float) -> Floats:
    """Weight of the ways in which free members are the rest of a cell; 0 of negative rests."""
    ways = np.array([chance**number / factorial(number) for number in range(min(int(rest.max()), 150) + 1)] or [1.0])
    return np.where(rest >= 0, ways[np.clip(rest, 0, len(ways) - 1)], 0.0)


def _filled(ways: Mapping[int, Sequence[int]], axes: int, cell: int) -> Ints:
    """How many people fill a cell, for each joint assignment."""
    total: Ints = np.zeros((1,) * axes, np.int64)
    for at, cells in ways.items():
        if cell in cells:
            shape = [1] * axes
            shape[at] = len(cells)
            total = total + np.array([one == cell for one in cells]).reshape(shape)
    return total


def _equal(weight: Floats, people: Sequence[int], values: Sequence[Ints]) -> list[tuple[int, int]]:
    """Pairs of people who have the same value in every world, though not always the same one."""
    worlds = np.stack([own[way] for own, way in zip(values, np.nonzero(weight), strict=True)])
    varies = (worlds != worlds[:, :1]).any(axis=1)
    same = (worlds[:, np.newaxis] == worlds).all(axis=2)
    return [
        (people[first], people[second])
        for first, second in combinations(np.flatnonzero(varies).tolist(), 2)
        if same[first, second]
    ]
