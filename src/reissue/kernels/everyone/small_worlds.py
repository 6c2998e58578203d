"""Small components solved exactly: all worlds of a few people whom nothing links to the others.

A component is people and groups that hang together through what is still open. Where few people are left, the weight
of every joint choice of ways (a slot each, or none) fits into a table with one axis a person; it is carried from
release to release along its axes and emptied where counts do not fit. So posteriors there are exact, what holds in
every world is certain, and it is seen who must have the same value as whom. O(releases x table x people).

Where values stay, a release in which the same people have the same values open takes nobody on: counts empty the table,
and everyone's posterior is that of the next release. Which worlds fit is found once for groups that look alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import factorial, prod

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.segments import ranges
from reissue.kernels.everyone.iterative_scaling import Chains
from reissue.kernels.everyone.observations import Layer
from reissue.kernels.everyone.transitions import Model

__all__ = ["ALL", "MOST", "ExactPosteriors", "component_labels", "solve_small"]

_LARGEST = 20_000
"""Cells of a table at most."""
MOST, ALL = 400, 100_000
"""Components that are all solved; where there are more, as many as make few presences. With ALL as many as that."""
_SHARE = 400
"""Where there are more components than that, one presence in so many is solved, in the smallest ones."""
_ALIKE = 1_000
"""Of so many looks of groups, at most, it is kept which worlds fit."""
_PAIRS = 12
"""People of a component, at most, among whom pairs with the same value are looked for."""


@dataclass(eq=False)
class ExactPosteriors:
    """Exact posteriors of entries, by layer, and pairs of people who have the same value in every world."""

    entry: list[list[Ints]]
    chance: list[list[Floats]]
    equal: list[tuple[int, int]] = field(default_factory=list)
    """Of values that never change: two people who have the same one, whichever it is."""
    components: int = 0
    left: int = 0
    """Components that are small enough, and were not solved: there were too many."""


@dataclass(frozen=True, eq=False)
class _Axis:
    """One person in one release: the ways that are open, and the values that they have."""

    person: int
    entry: Ints
    """Way to its entry."""
    slot: Ints
    """Way to its slot, -1: in no group."""
    value: Ints


def solve_small(
    chains: Chains, model: Model, times: Sequence[int] | None = None, *, largest: int = _LARGEST, most: int = MOST
) -> ExactPosteriors:
    """Solve every component that is small enough; where they are more than `most` the smallest ones."""
    solved = ExactPosteriors([[] for _ in chains.layers], [[] for _ in chains.layers])
    if not most:
        return solved
    given = _Given.of(chains, model, times)
    small = _Small.of(chains.layers, largest)
    chosen = small.smallest(most)
    for axes in small.axes(chosen):
        if _table(axes) <= largest:
            _solve(axes, given, solved)
            solved.components += 1
    solved.left = len(small.numbers) - len(chosen)
    return solved


@dataclass(frozen=True, eq=False)
class _Given:
    """What all components share."""

    layers: tuple[Layer, ...]
    beginnings: list[Floats]
    """Release to the prior weight of each entry, 1 where nobody begins."""
    room: list[Ints]
    model: Model
    when: Sequence[int]
    fits: dict[tuple[object, ...], Floats] = field(default_factory=dict)
    """Groups, and the ways that people may be in them, to the worlds that fit: many look alike."""

    @classmethod
    def of(cls, chains: Chains, model: Model, times: Sequence[int] | None) -> "_Given":
        places = range(len(chains.layers))
        beginnings = [chains.beginnings(place) for place in places]
        return cls(chains.layers, beginnings, [_room(layer) for layer in chains.layers], model, times or places)


def _room(layer: Layer) -> Ints:
    """Slot to its records that those leave who have one way only."""
    row = layer.triple_row
    number = np.bincount(row, minlength=len(layer.person))
    fixed = ((number == 1) & ~layer.absent)[row]
    return layer.count.astype(np.int64) - np.bincount(layer.triple_slot[fixed], minlength=len(layer.count))


@dataclass(frozen=True, eq=False)
class _Small:
    """The components whose tables may be small enough."""

    layers: Sequence[Layer]
    opened: list[Bools]
    """Layer and row to whether more than one way is open."""
    label: Ints
    """Person to component."""
    numbers: Ints
    """The small components, those of the fewest presences first; last those of one group, which sharpening solves."""
    presences: Ints
    """How many presences each of these has."""

    @classmethod
    def of(cls, layers: Sequence[Layer], largest: int) -> "_Small":
        ways = [np.bincount(layer.triple_row, minlength=len(layer.person)) for layer in layers]
        opened = [(number > 1) | layer.absent for number, layer in zip(ways, layers, strict=True)]
        label = component_labels(layers, opened)
        cost = np.zeros(int(label.max(initial=-1)) + 1)
        bad, size, groups = np.zeros(len(cost), np.bool_), np.zeros(len(cost), np.int64), np.zeros(len(cost), np.int64)
        for layer, number, loose in zip(layers, ways, opened, strict=True):
            choices = number + np.where(layer.absent, np.diff(layer.starts), 0)
            mine = label[layer.person[loose]]
            cost = np.maximum(cost, np.bincount(mine, np.log(np.maximum(choices[loose], 1)), len(cost)))
            size += np.bincount(mine, minlength=len(cost))
            groups += _groups(layer, loose, label, len(cost))
            bad[label[layer.person]] |= bool(layer.strangers or (len(layer.fakes) and layer.nobody.any()))
        found = np.flatnonzero((size > 0) & ~bad & (cost <= np.log(largest)))
        found = found[np.lexsort((cost[found], size[found], groups[found] == 1))]
        return cls(layers, opened, label, found, size[found])

    def smallest(self, most: int) -> Ints:
        """All of them if they are not more than so many; else the smallest, one presence in some hundred."""
        if len(self.numbers) <= most:
            return self.numbers
        room = max(sum(int(one.sum()) for one in self.opened) // _SHARE, most)
        return self.numbers[: int(np.searchsorted(np.cumsum(self.presences), room, side="right"))]

    def axes(self, components: Ints) -> Iterator[list[list[_Axis]]]:
        """Of some components the open axes of every layer."""
        # Rows are sorted by component once: to look through all of them for each component would take their product.
        orders = [np.argsort(self.label[layer.person], kind="stable") for layer in self.layers]
        labels = [self.label[layer.person[order]] for layer, order in zip(self.layers, orders, strict=True)]
        for component in components:
            bounds = [np.searchsorted(one, [component, component + 1]) for one in labels]
            rows = [order[low:high] for order, (low, high) in zip(orders, bounds, strict=True)]
            yield [_axes(*one) for one in zip(self.layers, self.opened, rows, strict=True)]


def _groups(layer: Layer, loose: Bools, label: Ints, components: int) -> Ints:
    """Component to how many groups of a layer it has."""
    row = layer.triple_row
    mine = loose[row]
    component = np.full(len(layer.free), -1)
    component[layer.slot_group[layer.triple_slot[mine]]] = label[layer.person[row[mine]]]
    return np.bincount(component[component >= 0], minlength=components)


def component_labels(layers: Sequence[Layer], opened: Sequence[Bools]) -> Ints:
    """Person to a number of the component."""
    people = max((int(layer.person.max(initial=-1)) + 1 for layer in layers), default=0)
    links, first = [], people
    for layer, loose in zip(layers, opened, strict=True):
        row, group = layer.triple_row, layer.slot_group[layer.triple_slot]
        again = (np.diff(row, prepend=-1) == 0) & (np.diff(group, prepend=-1) == 0)
        mine = np.flatnonzero(loose[row] & ~again)
        links.append((layer.person[row[mine]], first + group[mine]))
        if len(layer.fakes):
            # How many records of a value are nobody's is an equation of all groups that hold some.
            holding = first + np.flatnonzero(layer.free)
            links.append((holding, np.full(len(holding), first + len(layer.free))))
        first += len(layer.free) + 1
    one, other = (np.concatenate([pair[side] for pair in links], dtype=np.int32) for side in (0, 1))
    graph = sparse.coo_array((np.ones(len(one), np.int8), (one, other)), shape=(first, first))
    return np.asarray(connected_components(graph, directed=False)[1][:people])


def _table(axes: list[list[_Axis]]) -> int:
    """Cells of the largest table: people who are away keep the axis that they had."""
    width: dict[int, int] = {}
    most = 1
    for here in axes:
        width |= {axis.person: len(axis.entry) for axis in here}
        most = max(most, prod(width.values()))
    return most


def _axes(layer: Layer, loose: Bools, rows: Ints) -> list[_Axis]:
    """Everyone of a component in a release, open or not: steps between releases matter for all."""
    made = []
    for row in rows:
        low, high = layer.starts[row], layer.starts[row + 1]
        some = slice(*np.searchsorted(layer.triple_entry, [low, high]))
        entry, slot = layer.triple_entry[some], layer.triple_slot[some]
        if layer.absent[row]:
            entry = np.append(entry, np.arange(low, high))
            slot = np.append(slot, np.full(high - low, -1))
        fixed = -1 if loose[row] else 0
        made.append(_Axis(int(layer.person[row]), entry, slot if fixed else np.full(len(slot), -1), layer.value[entry]))
    return made


def _solve(axes: list[list[_Axis]], given: _Given, solved: ExactPosteriors) -> None:
    """Forward and backward through the releases, and what every cell of every table weighs."""
    order: list[int] = sorted({axis.person for here in axes for axis in here})
    ahead: list[Floats] = []
    last: dict[int, tuple[int, _Axis]] = {}
    table = np.ones((1,) * len(order))
    moves: list[dict[int, Floats]] = []
    fits: list[Floats] = []
    there = [place for place, here in enumerate(axes) if here]
    for place in there:
        moved: dict[int, Floats] = {}
        for axis in axes[place]:
            step = _step(last.get(axis.person), place, axis, given)
            last[axis.person] = (place, axis)
            if step is not None:
                at = order.index(axis.person)
                moved[at] = step
                table = _along(table, at, step)
        fits.append(_fitting(axes[place], order, place, given))
        table = table * fits[-1]
        table = table / max(float(table.max()), 1e-300)
        ahead.append(table)
        moves.append(moved)
    if not ahead or not float(ahead[-1].max()):
        return
    if given.model.steps is None and len(order) <= _PAIRS:
        solved.equal += _equal(ahead[-1], order, {person: axis.value for person, (_, axis) in last.items()})
    back = np.ones_like(ahead[-1])
    shares: dict[int, Floats] = {}
    passed = zip(there, ahead, moves, fits, strict=True)
    for place, table, moved, fitting in reversed(list(passed)):
        _read(table * back, axes[place], order, place, solved, shares)
        if moved:
            shares = {}
        here_back = back * fitting
        for at, step in moved.items():
            here_back = _along(here_back, at, step.T)
        back = here_back / max(float(here_back.max()), 1e-300)


def _step(last: tuple[int, _Axis] | None, place: int, axis: _Axis, given: _Given) -> Floats | None:
    """From a person's ways when it was last there to those now; None where each leads to itself alone."""
    step = given.beginnings[place][axis.entry][np.newaxis]
    if last is None:
        return step
    before, old = last
    values = old.value.tolist()
    same = values == axis.value.tolist() and len(set(values)) == len(values)
    if same and given.model.steps is None and (step == 1).all():
        return None
    gap = given.when[place] - given.when[before]
    return step * given.model.after(gap)[np.ix_(old.value, axis.value)]


def _along(table: Floats, axis: int, step: Floats) -> Floats:
    """One axis taken on by a step: what is summed is the axis before. By shapes alone, since tables are tiny."""
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    flat = table.reshape(prod(before), table.shape[axis], prod(after))
    return np.asarray(np.matmul(step.T, flat).reshape(*before, step.shape[1], *after))


def _fitting(here: list[_Axis], order: list[int], place: int, given: _Given) -> Floats:
    """Cell to 1 where every slot gets what it has room for, from groups that look alike if there were some."""
    layer, room = given.layers[place], given.room[place]
    if len(layer.fakes):
        return _fits(here, order, layer, room)
    chosen = np.concatenate([axis.slot for axis in here])
    groups = np.unique(layer.slot_group[chosen[chosen >= 0]])
    starts = layer.group_starts[groups]
    widths = layer.group_starts[groups + 1] - starts
    slots = ranges(starts, widths)
    number = np.where(chosen < 0, -1, np.searchsorted(slots, chosen))
    ways = tuple((order.index(axis.person), len(axis.slot)) for axis in here)
    look: list[Ints | Floats] = [number, widths, room[slots], layer.free[groups]]
    if layer.free[groups].any():
        look.append(layer.chance[slots])
    key = (len(order), ways, *(one.tobytes() for one in look))
    found = given.fits.get(key)
    if found is None:
        found = _fits(here, order, layer, room)
        if len(given.fits) < _ALIKE:
            given.fits[key] = found
    return found


def _fits(here: list[_Axis], order: list[int], layer: Layer, room: Ints) -> Floats:
    """Cell to 1 where every slot gets what it has room for; with free members the ways to place them."""
    slots = np.unique(np.concatenate([axis.slot for axis in here]))
    groups = np.unique(layer.slot_group[slots[slots >= 0]])
    weight: Floats = np.ones((1,) * len(order))
    fakes: dict[int, Ints] = {}
    for group in groups:
        left: Ints = np.zeros((1,) * len(order), np.int64)
        for slot in range(layer.group_starts[group], layer.group_starts[group + 1]):
            rest, value = room[slot] - _chosen(here, order, slot), int(layer.slot_value[slot])
            ways = _FACTORIALS[np.clip(rest, 0, len(_FACTORIALS) - 1)] * layer.chance[slot] ** np.maximum(rest, 0)
            weight = weight * np.where(rest >= 0, ways, 0.0)
            left, fakes[value] = left + rest, rest + fakes.get(value, 0)
        weight = weight * (left == layer.free[group])
    return weight * _as_known(fakes, groups, layer, room) if len(layer.fakes) and len(groups) else weight


def _as_known(fakes: dict[int, Ints], groups: Ints, layer: Layer, room: Ints) -> Floats:
    """Cell to 1 where as many records of each value are nobody's as the reader knows; all other groups are settled."""
    settled = np.ones(len(layer.free), np.bool_)
    settled[groups] = False
    outside = np.bincount(layer.slot_value, room * settled[layer.slot_group], len(layer.fakes))
    same: Floats = np.ones(())
    for value in np.flatnonzero((layer.fakes > 0) | (outside > 0)).tolist():
        same = same * (fakes.get(value, 0) + outside[value] == layer.fakes[value])
    return same


def _chosen(here: list[_Axis], order: list[int], slot: int) -> Ints:
    total: Ints = np.zeros((1,) * len(order), np.int64)
    for axis in here:
        shape = [1] * len(order)
        shape[order.index(axis.person)] = len(axis.slot)
        total = total + (axis.slot == slot).reshape(shape)
    return total


_FACTORIALS = np.array([1.0 / factorial(number) for number in range(151)])
"""One over the ways to exchange this many free members of one value."""


def _read(
    weight: Floats,
    here: list[_Axis],
    order: list[int],
    place: int,
    solved: ExactPosteriors,
    shares: dict[int, Floats],
) -> None:
    """Everyone's posterior; `shares` are those of ways that are known from the next release."""
    for axis in here:
        if axis.person not in shares:
            at = order.index(axis.person)
            shares[axis.person] = weight.sum(axis=tuple(other for other in range(len(order)) if other != at))
        entries: Ints = axis.entry
        chance: Floats = shares[axis.person]
        if (entries[1:] <= entries[:-1]).any():
            entries, of_way = np.unique(axis.entry, return_inverse=True)
            chance = np.bincount(of_way.reshape(-1), shares[axis.person], len(entries)).astype(np.float64)
        solved.entry[place].append(entries)
        solved.chance[place].append(chance / chance.sum())


def _equal(weight: Floats, order: list[int], values: dict[int, Ints]) -> list[tuple[int, int]]:
    """Pairs of people who have the same value in every world, though it is not known which; values that stay only."""
    made = []
    for first, second in combinations(range(len(order)), 2):
        both = weight.sum(axis=tuple(other for other in range(len(order)) if other not in {first, second}))
        differs = values[order[first]][:, np.newaxis] != values[order[second]]
        if differs.any() and not both[differs].any() and _open(both, values[order[first]]):
            made.append((order[first], order[second]))
    return made


def _open(both: Floats, value: Ints) -> bool:
    """Whether more than one value is left."""
    return len(np.unique(value[both.sum(axis=1) > 0])) > 1
