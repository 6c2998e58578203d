"""Elimination: which values nobody can have any more, by counting; what is left of one value is certain.

Three rules, until nothing changes; each takes away only what no world allows:
- a value that no chain of possible steps leads through is out;
- where as many members must fill a slot as it has records, nobody else can;
- where no more can fill a slot than it has records, those who can do.
People whose releases contradict each other (a record linked wrongly) are set aside: their records are strangers'.
O(ways) for each round; few rounds are needed, and stopping early is safe. Chains are followed again only of those who
lost a value by counting: nothing changed for anyone else. Of many people some are linked at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.segments import ranges
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
        layers, lost = _eliminate([layer_of(seen, model.values) for seen in series], model, times)
        if not len(lost) or len(aside) + len(lost) > most:
            aside = np.union1d(aside, lost)
            return Narrowed(tuple(series), tuple(layers), aside)
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


def _kept(layer: Layer, ways: Bools) -> Layer:
    """The layer with some of its ways, and without entries that have none."""
    if ways.all():
        return layer
    alive = layer.absent[layer.row] if layer.absent.any() else np.zeros(layer.entries, np.bool_)
    alive[layer.triple_entry[ways]] = True
    before = np.append(0, np.cumsum(alive))
    return replace(
        layer,
        starts=before[layer.starts],
        value=layer.value[alive],
        triple_entry=before[layer.triple_entry[ways]],
        triple_slot=layer.triple_slot[ways],
    )


def _eliminate(layers: list[Layer], model: Model, times: Sequence[int] | None) -> tuple[list[Layer], Ints]:
    """Close ways until nothing changes. Also who has none left in some release, if anybody."""
    people = max((int(layer.person.max(initial=-1)) + 1 for layer in layers), default=0)
    touched, lost = np.ones(people, np.bool_), np.empty(0, np.int64)
    counted: list[Layer | None] = [None] * len(layers)
    for turn in range(_ROUNDS + 1):
        layers, lost = _reached(layers, model, times, touched)
        if len(lost) or turn == _ROUNDS:
            break
        touched = np.zeros(people, np.bool_)
        for place, layer in enumerate(layers):
            if layer is counted[place]:
                continue  # nothing has changed in it since
            ways = _counted(layer)
            touched[layer.person[layer.triple_row[~ways]]] = True
            layers[place] = _kept(layer, ways)
            counted[place] = layer
        if not touched.any():
            break
    return layers, lost


def _reached(
    layers: Sequence[Layer], model: Model, times: Sequence[int] | None, touched: Bools
) -> tuple[list[Layer], Ints]:
    """Without values that no chain of steps of the touched people leads through; also who has none left."""
    dead: list[list[Ints]] = [[] for _ in layers]
    lost = [np.empty(0, np.int64)]
    for some in _batches(layers, touched):
        parts = [_chains_of(layer, some) for layer in layers]
        chains = [part for part, _ in parts]
        for place, reached in enumerate(_reach(chains, link(chains, model, times))):
            part, entries = parts[place]
            dead[place].append(entries[~reached])
            lost.append(part.person[part.sums(reached.astype(np.float64)) == 0])
    kept = [_closed(layer, np.concatenate(some)) for layer, some in zip(layers, dead, strict=True)]
    return kept, np.unique(np.concatenate(lost))


def _closed(layer: Layer, entries: Ints) -> Layer:
    """The layer without the ways of some entries."""
    if not len(entries):
        return layer
    alive = np.ones(layer.entries, np.bool_)
    alive[entries] = False
    return _kept(layer, alive[layer.triple_entry])


def _batches(layers: Sequence[Layer], touched: Bools) -> Iterator[Bools]:
    """Whom to follow at a time, about so many entries: people of numbers that follow each other."""
    total = sum(int(np.diff(layer.starts)[touched[layer.person]].sum()) for layer in layers)
    ends = np.linspace(0, len(touched), max(-(-total // ENTRIES), 1) + 1).astype(np.int64).tolist()
    for first, after in pairwise(ends):
        some = np.zeros_like(touched)
        some[first:after] = touched[first:after]
        yield some


def _chains_of(layer: Layer, people: Bools) -> tuple[Layer, Ints]:
    """Some people's values in a layer, without the slots that they fill; and where their entries are."""
    mine = people[layer.person]
    if mine.all():
        return layer, np.arange(layer.entries)
    rows = np.flatnonzero(mine)
    widths = np.diff(layer.starts)[rows]
    entries = ranges(layer.starts[rows], widths)
    part = replace(
        layer,
        person=layer.person[rows],
        starts=np.append(0, np.cumsum(widths)),
        value=layer.value[entries],
        triple_entry=layer.triple_entry[:0],
        triple_slot=layer.triple_slot[:0],
        absent=layer.absent[rows],
        nobody=layer.nobody[rows],
    )
    return part, entries


def _reach(layers: Sequence[Layer], links: Sequence[Links]) -> list[Bools]:
    """Entry to whether a chain of steps leads through it, in each layer."""
    ends = np.append(0, np.cumsum([layer.entries for layer in layers]))
    ahead = np.ones(int(ends[-1]))
    for place, one in enumerate(links):
        ahead[ends[place] : ends[place + 1]][one.targets] = one.forward(ahead[one.sources]) > 0
    back = np.ones(len(ahead))
    for place in range(len(layers) - 1, -1, -1):
        one, mine = links[place], slice(ends[place], ends[place + 1])
        ahead[mine] *= back[mine] > 0
        back[one.sources] = one.backward(ahead[mine][one.targets])
    return [ahead[begin:end] > 0 for begin, end in pairwise(ends.tolist())]


def _counted(layer: Layer) -> Bools:
    """The ways that the published counts leave room for."""
    slots, room = len(layer.count), layer.count.astype(np.int64)
    row, slot = layer.triple_row, layer.triple_slot
    number = np.bincount(row, minlength=len(layer.person))
    forced = ((number == 1) & ~layer.absent)[row]
    must = np.bincount(slot[forced], minlength=slots)
    left = forced | (must != room)[slot]
    free = layer.free[layer.slot_group] * (layer.chance > 0)
    needed = (np.bincount(slot[left], minlength=slots) + free + layer.strangers) == room
    fills = needed[slot] & left
    bound = np.zeros(len(layer.person), np.bool_)
    bound[row[fills]] = True
    return np.asarray(fills | (left & ~bound[row]))
