"""Small components solved exactly: all worlds of a few people whom nothing links to the others.

A component is people and groups that hang together through what is still open. Where few people are left, the weight
of every joint choice of ways (a slot each, or none) fits into a table with one axis a person; it is carried from
release to release along its axes and emptied where counts do not fit. So posteriors there are exact, what holds in
every world is certain, and it is seen who must have the same value as whom. O(releases x table x people).

Where values stay, a release in which the same people have the same values open takes nobody on: counts empty the table,
and everyone's posterior is that of the next release. Which worlds fit is found once for groups that look alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Floats, Ints
from reissue.solver.iterative_scaling import Chains
from reissue.solver.observations import Layer
from reissue.solver.small_worlds.worlds_that_fit import Fitting, PersonAxis, Worlds, axes_of
from reissue.solver.transitions import Model

__all__ = ["ALL", "MOST", "ExactPosteriors", "component_labels", "solve_small"]

_LARGEST = 20_000
"""Cells of a table at most."""
MOST, ALL = 400, 100_000
"""Components that are all solved; where there are more, as many as make few presences. With ALL as many as that."""
_SHARE = 400
"""Where there are more components than that, one presence in so many is solved, in the smallest ones."""
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
    for axes in small.axes(chosen, given.beginnings):
        if _table(axes) <= largest:
            _solve(axes, given, solved)
            solved.components += 1
    solved.left = len(small.numbers) - len(chosen)
    return solved


@dataclass(frozen=True, eq=False)
class _Given:
    """What all components share."""

    beginnings: list[Floats]
    """Release to the prior weight of each entry, 1 where nobody begins."""
    counts: list[Fitting]
    """Release to what its groups leave room for."""
    model: Model
    when: Sequence[int]

    @classmethod
    def of(cls, chains: Chains, model: Model, times: Sequence[int] | None) -> "_Given":
        places, known = range(len(chains.layers)), dict[tuple[object, ...], Worlds]()
        beginnings = [chains.beginnings(place) for place in places]
        return cls(beginnings, [Fitting.of(layer, known) for layer in chains.layers], model, times or places)


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
            bad[label[layer.person]] |= bool(layer.strangers or (layer.counts_fakes and layer.nobody.any()))
        found = np.flatnonzero((size > 0) & ~bad & (cost <= np.log(largest)))
        found = found[np.lexsort((cost[found], size[found], groups[found] == 1))]
        return cls(layers, opened, label, found, size[found])

    def smallest(self, most: int) -> Ints:
        """All of them if they are not more than so many; else the smallest, one presence in some hundred."""
        if len(self.numbers) <= most:
            return self.numbers
        room = max(sum(int(one.sum()) for one in self.opened) // _SHARE, most)
        return self.numbers[: int(np.searchsorted(np.cumsum(self.presences), room, side="right"))]

    def axes(self, components: Ints, beginnings: Sequence[Floats]) -> Iterator[list[list[PersonAxis]]]:
        """Of some components the open axes of every layer."""
        of_layer = [self._of_layer(place, components, beginnings[place]) for place in range(len(self.layers))]
        for place in range(len(components)):
            yield [rows[starts[place] : starts[place + 1]] for rows, starts in of_layer]

    def _of_layer(self, place: int, components: Ints, beginnings: Floats) -> tuple[list[PersonAxis], list[int]]:
        """The axes of a layer, component by component, and where each begins.

        All at once: to look through all rows for each component would take their product.
        """
        layer = self.layers[place]
        number = np.full(int(self.label.max(initial=-1)) + 1, -1)
        number[components] = np.arange(len(components))
        mine = number[self.label[layer.person]]
        rows = np.flatnonzero(mine >= 0)
        rows = rows[np.argsort(mine[rows], kind="stable")]
        starts = np.searchsorted(mine[rows], np.arange(len(components) + 1))
        return axes_of(layer, rows, self.opened[place], beginnings), starts.tolist()


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
        if layer.counts_fakes:
            # How many records of a value are nobody's is an equation of all groups that hold some.
            holding = first + np.flatnonzero(layer.free)
            links.append((holding, np.full(len(holding), first + len(layer.free))))
        first += len(layer.free) + 1
    one, other = (np.concatenate([pair[side] for pair in links], dtype=np.int32) for side in (0, 1))
    graph = sparse.coo_array((np.ones(len(one), np.int8), (one, other)), shape=(first, first))
    return np.asarray(connected_components(graph, directed=False)[1][:people])


def _table(axes: list[list[PersonAxis]]) -> int:
    """Cells of the largest table: people who are away keep the axis that they had."""
    width: dict[int, int] = {}
    most = 1
    for here in axes:
        width |= {axis.person: len(axis.slot) for axis in here}
        most = max(most, prod(width.values()))
    return most


def _solve(axes: list[list[PersonAxis]], given: _Given, solved: ExactPosteriors) -> None:
    """Forward and backward through the releases, and what every cell of every table weighs."""
    people = sorted({axis.person for here in axes for axis in here})
    order = {person: at for at, person in enumerate(people)}
    last: dict[int, tuple[int, PersonAxis]] = {}
    table = np.ones((1,) * len(order))
    passed: list[_Passed] = []
    for place in (place for place, here in enumerate(axes) if here):
        moved: dict[int, Floats] = {}
        for axis in axes[place]:
            step = _step(last.get(axis.person), place, axis, given)
            last[axis.person] = (place, axis)
            if step is not None:
                moved[axis.person] = step
                table = _along(table, order[axis.person], step)
        fits = given.counts[place].worlds(axes[place], order)
        again = bool(passed) and not moved and fits.again(passed[-1].fits)
        table = table if again else _comparable(table * fits.weight)
        passed.append(_Passed(place, table, moved, fits, again))
    if not passed or not float(table.max()):
        return
    if given.model.steps is None and len(order) <= _PAIRS:
        solved.equal += _equal(table, people, {person: axis.value for person, (_, axis) in last.items()})
    back, shares = np.ones_like(table), _Shares(order)
    for one in reversed(passed):
        shares.read(one, back, axes[one.place], solved)
        shares.forget(one.moved)
        if one.again:
            continue  # the release before empties the same cells
        back = back * one.fits.weight
        for person, step in one.moved.items():
            back = _along(back, order[person], step.T)
        back = _comparable(back)


@dataclass(frozen=True, eq=False)
class _Passed:
    """A release that was passed on the way forward."""

    place: int
    table: Floats
    moved: dict[int, Floats]
    """Person whose axis changed to the step."""
    fits: Worlds
    again: bool
    """Whether it says what the release before it says, about the same axes."""


def _comparable(table: Floats) -> Floats:
    return np.asarray(table / max(float(table.max()), 1e-300))


def _step(last: tuple[int, PersonAxis] | None, place: int, axis: PersonAxis, given: _Given) -> Floats | None:
    """From a person's ways when it was last there to those now; None where each leads to itself alone."""
    if last is None:
        return np.array([axis.begins])
    before, old = last
    stays = given.model.steps is None and old.value == axis.value and axis.different
    if stays and all(one == 1 for one in axis.begins):
        return None
    gap = given.when[place] - given.when[before]
    return np.array([axis.begins]) * given.model.after(gap)[np.ix_(old.value, axis.value)]


def _along(table: Floats, axis: int, step: Floats) -> Floats:
    """One axis taken on by a step: what is summed is the axis before. By shapes alone, since tables are tiny."""
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    flat = table.reshape(prod(before), table.shape[axis], prod(after))
    return np.asarray(np.matmul(step.T, flat).reshape(*before, step.shape[1], *after))


@dataclass(frozen=True, eq=False)
class _Shares:
    """How likely each way of a person is, as long as the person's axis stays what it is."""

    order: dict[int, int]
    known: dict[int, Floats] = field(default_factory=dict)

    def read(self, one: _Passed, back: Floats, here: list[PersonAxis], solved: ExactPosteriors) -> None:
        """Everyone's posterior in a release: what every cell weighs, summed over all others."""
        new = [axis.person for axis in here if axis.person not in self.known]
        weight = one.table * back if new else back
        for person in new:
            at = self.order[person]
            share = weight.sum(axis=tuple(other for other in range(len(self.order)) if other != at))
            self.known[person] = share / share.sum()
        for axis in here:
            entries, chance = axis.entry, self.known[axis.person]
            if not axis.different:
                entries, of_way = np.unique(axis.entry, return_inverse=True)
                summed = np.bincount(of_way.reshape(-1), chance, len(entries))
                chance = np.asarray(summed / summed.sum(), np.float64)  # what is certain is 1, not nearly so
            solved.entry[one.place].append(entries)
            solved.chance[one.place].append(chance)

    def forget(self, people: Iterable[int]) -> None:
        """Their axes change."""
        for person in people:
            self.known.pop(person, None)


def _equal(weight: Floats, people: Sequence[int], values: dict[int, tuple[int, ...]]) -> list[tuple[int, int]]:
    """Pairs of people who have the same value in every world, though it is not known which; values that stay only."""
    worlds = np.stack([np.array(values[one])[way] for one, way in zip(people, np.nonzero(weight), strict=True)])
    varies = (worlds != worlds[:, :1]).any(axis=1)
    same = (worlds[:, np.newaxis] == worlds).all(axis=2)
    return [
        (people[first], people[second])
        for first, second in combinations(np.flatnonzero(varies).tolist(), 2)
        if same[first, second]
    ]
