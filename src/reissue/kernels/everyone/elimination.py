"""Elimination: which values nobody can have any more, by counting; what is left of one value is certain.

Three rules, until nothing changes; each takes away only what no world allows:
- a value that no chain of possible steps leads through is out;
- where as many members must fill a slot as it has records, nobody else can;
- where no more can fill a slot than it has records, those who can do.
People whose releases contradict each other (a record linked wrongly) are set aside: their records are strangers'.
O(ways) for each round; few rounds are needed, and stopping early is safe.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Ints
from reissue.kernels.everyone.observations import Layer, Observation, layer_of
from reissue.kernels.everyone.transitions import Links, Model, link

__all__ = ["Narrowed", "narrow", "unnarrowed", "without"]

_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Narrowed:
    """Releases without what is impossible."""

    observations: tuple[Observation, ...]
    """Without people whose releases contradict each other."""
    layers: tuple[Layer, ...]
    contradicted: Ints
    """People who were set aside."""


def narrow(
    series: Sequence[Observation], model: Model, times: Sequence[int] | None = None, *, most: float = float("inf")
) -> Narrowed:
    """Take away what is impossible, in all releases together; not to the end where more than `most` contradict."""
    aside = np.empty(0, np.int64)
    while True:
        layers = [layer_of(seen, model.values) for seen in series]
        links = link(layers, model, times)
        open_ways = [np.arange(len(layer.triple_slot)) for layer in layers]
        lost = _eliminate(layers, links, open_ways)
        if not len(lost) or len(aside) + len(lost) > most:
            aside = np.union1d(aside, lost)
            return Narrowed(tuple(series), tuple(map(_kept, layers, open_ways)), aside)
        aside = np.union1d(aside, lost)
        series = [without(seen, lost) for seen in series]


def unnarrowed(series: Sequence[Observation], model: Model) -> Narrowed:
    """The same without looking for anything impossible."""
    return Narrowed(tuple(series), tuple(layer_of(seen, model.values) for seen in series), np.empty(0, np.int64))


def without(seen: Observation, people: Ints) -> Observation:
    """The same release with some people as strangers: of those who fit one group that group's, else anywhere."""
    mine = np.isin(seen.person, people)
    person, number = np.unique(seen.person[mine], return_counts=True)
    surely = np.isin(person, seen.absent, invert=True)
    single = np.isin(seen.person, person[(number == 1) & surely])
    free = seen.free + np.bincount(seen.group[single], minlength=seen.groups)
    return replace(
        seen,
        person=seen.person[~mine],
        group=seen.group[~mine],
        free=free,
        strangers=seen.strangers + int(((number > 1) & surely).sum()),
        absent=np.setdiff1d(seen.absent, people),
    )


def _kept(layer: Layer, ways: Ints) -> Layer:
    """The layer with some of its ways, and without entries that have none."""
    alive = layer.away > 0
    alive[layer.triple_entry[ways]] = True
    number = np.cumsum(alive) - 1
    widths = np.add.reduceat(np.append(alive.astype(np.int64), 0), layer.starts[:-1])
    return replace(
        layer,
        starts=np.append(0, np.cumsum(widths)),
        value=layer.value[alive],
        triple_entry=number[layer.triple_entry[ways]],
        triple_slot=layer.triple_slot[ways],
    )


def _eliminate(layers: Sequence[Layer], links: Sequence[Links], ways: list[Ints]) -> Ints:
    """Close ways until nothing changes: `ways` are those still open. Who has none left in some release, if anybody."""
    for _ in range(_ROUNDS):
        before = [len(one) for one in ways]
        lost = _reach(layers, links, ways)
        if len(lost):
            return lost
        ways[:] = [_counted(*one) for one in zip(layers, ways, strict=True)]
        if before == [len(one) for one in ways]:
            break
    return _reach(layers, links, ways)


def _reach(layers: Sequence[Layer], links: Sequence[Links], ways: list[Ints]) -> Ints:
    """Close ways whose value no chain of steps leads through; who has none left."""
    ends = np.append(0, np.cumsum([layer.entries for layer in layers]))
    ahead = np.zeros(int(ends[-1]))
    for place, (layer, one) in enumerate(zip(layers, links, strict=True)):
        alive = layer.away > 0
        alive[layer.triple_entry[ways[place]]] = True
        arrived = one.first.copy()
        arrived[one.targets] = one.forward(ahead[one.sources]) > 0
        ahead[ends[place] : ends[place + 1]] = alive & arrived
    back = np.ones(len(ahead))
    lost = []
    for place in range(len(layers) - 1, -1, -1):
        layer, one, mine = layers[place], links[place], slice(ends[place], ends[place + 1])
        alive = (ahead[mine] > 0) & (back[mine] > 0)
        back[one.sources] = one.backward(alive[one.targets].astype(np.float64))
        ways[place] = ways[place][alive[layer.triple_entry[ways[place]]]]
        lost.append(layer.person[layer.sums(alive.astype(np.float64)) == 0])
    return np.unique(np.concatenate(lost))


def _counted(layer: Layer, ways: Ints) -> Ints:
    """The ways that the published counts leave room for."""
    slots, room = len(layer.count), layer.count.astype(np.int64)
    row, slot = layer.triple_row[ways], layer.triple_slot[ways]
    number = np.bincount(row, minlength=len(layer.person))
    forced = ((number == 1) & ~layer.absent)[row]
    must = np.bincount(slot[forced], minlength=slots)
    left = np.flatnonzero(forced | (must != room)[slot])
    ways, row, slot = ways[left], row[left], slot[left]
    free = layer.free[layer.slot_group] * (layer.chance > 0)
    needed = (np.bincount(slot, minlength=slots) + free + layer.strangers) == room
    fills = needed[slot]
    bound = np.zeros(len(layer.person), np.bool_)
    bound[row[fills]] = True
    return np.asarray(ways[fills | ~bound[row]])
