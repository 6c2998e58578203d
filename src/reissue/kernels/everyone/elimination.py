"""Elimination: which values nobody can have any more, by counting; what is left of one value is certain.

Three rules, until nothing changes; each takes away only what no world allows:
- a value that no chain of possible steps leads through is out;
- where as many members must fill a slot as it has records, nobody else can;
- where no more can fill a slot than it has records, those who can do.
People whose releases contradict each other (a record linked wrongly) are set aside: their records are strangers'.
O(ways) for each round; few rounds are needed, and stopping early is safe. Of many people some are linked at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from reissue._arrays import Ints
from reissue.kernels.everyone.observations import Layer, Observation, layer_of
from reissue.kernels.everyone.transitions import Links, Model, link

__all__ = ["Narrowed", "narrow", "unnarrowed", "without"]

_ROUNDS = 40
ENTRIES = 20_000_000
"""Entries that are linked at once, at most: links take several times their memory."""


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
        open_ways = [np.arange(len(layer.triple_slot)) for layer in layers]
        lost = _eliminate(layers, _Linking(model, times), open_ways)
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


@dataclass(frozen=True, eq=False)
class _Linking:
    """How the releases are linked: all people at once where that is little, else some at a time, linked anew."""

    model: Model
    times: Sequence[int] | None
    kept: list[list[Links]] = field(default_factory=list)

    def reach(self, layers: Sequence[Layer], ways: list[Ints]) -> Ints:
        """Close ways whose value no chain of steps leads through; who has none left."""
        batches = _batches(layers)
        if len(batches) == 1:
            if not self.kept:
                self.kept.append(link(layers, self.model, self.times))
            return _reach(layers, self.kept[0], ways)
        found, left = [np.empty(0, np.int64)], [[np.empty(0, np.int64)] for _ in layers]
        for first, after in batches:
            parts = [_SomePeople.of(layer, first, after) for layer in layers]
            mine = [part.inside(one) for part, one in zip(parts, ways, strict=True)]
            some = [part.layer for part in parts]
            found.append(_reach(some, link(some, self.model, self.times), mine))
            for place, (part, one) in enumerate(zip(parts, mine, strict=True)):
                left[place].append(one + part.first)
        ways[:] = [np.concatenate(one) for one in left]
        return np.unique(np.concatenate(found))


@dataclass(frozen=True, eq=False)
class _SomePeople:
    """A layer of some people who follow each other, and where their ways begin in the whole."""

    layer: Layer
    first: int
    after: int

    @classmethod
    def of(cls, layer: Layer, first: int, after: int) -> "_SomePeople":
        """Of the people numbered from `first` on, up to `after`."""
        low, high = np.searchsorted(layer.person, [first, after])
        entry, end = layer.starts[low], layer.starts[high]
        begin, stop = np.searchsorted(layer.triple_entry, [entry, end])
        made = replace(
            layer,
            person=layer.person[low:high],
            starts=layer.starts[low : high + 1] - entry,
            value=layer.value[entry:end],
            triple_entry=layer.triple_entry[begin:stop] - entry,
            triple_slot=layer.triple_slot[begin:stop],
            absent=layer.absent[low:high],
            nobody=layer.nobody[low:high],
        )
        return cls(made, int(begin), int(stop))

    def inside(self, ways: Ints) -> Ints:
        """The open ways of these people, numbered in the part; `ways` are sorted."""
        low, high = np.searchsorted(ways, [self.first, self.after])
        return np.asarray(ways[low:high] - self.first)


def _batches(layers: Sequence[Layer]) -> list[tuple[int, int]]:
    """Numbers of people that follow each other, about so many entries in each batch."""
    people = max((int(layer.person.max(initial=-1)) + 1 for layer in layers), default=0)
    number = max(-(-sum(layer.entries for layer in layers) // ENTRIES), 1)
    ends = np.linspace(0, people, number + 1).astype(np.int64).tolist()
    return list(pairwise(ends))


def _eliminate(layers: Sequence[Layer], linking: _Linking, ways: list[Ints]) -> Ints:
    """Close ways until nothing changes: `ways` are those still open. Who has none left in some release, if anybody."""
    for _ in range(_ROUNDS):
        before = [len(one) for one in ways]
        lost = linking.reach(layers, ways)
        if len(lost):
            return lost
        ways[:] = [_counted(*one) for one in zip(layers, ways, strict=True)]
        if before == [len(one) for one in ways]:
            break
    return linking.reach(layers, ways)


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
