"""Lots: parts of what is open that nothing links to each other, solved one after the other.

What is solved for in one has no bearing on the others, so that to solve them apart gives the same, and only one at a
time is computed in memory; how a lot is linked is kept for the next time that it is solved. A lot ends when it is sure
of its own counts, however long others take. What newcomers have is learnt in each by itself: it has people enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.solver.iterative_scaling import Scaled, first_multipliers
from reissue.solver.observations import Layer, as_small
from reissue.solver.settled import Lot, Unsettled
from reissue.solver.small_worlds import component_labels

__all__ = ["ENTRIES", "ScaledLot", "joined", "lots"]

ENTRIES = 4_000_000
"""Entries of a lot from which on the next one begins; a component may have more."""


def lots(part: Unsettled, most: int | None = None) -> Iterator[Lot]:
    """The smallest components first; one lot where records of people whom nobody knows link all groups."""
    most = ENTRIES if most is None else most
    if part.entries <= most or any(layer.strangers or len(layer.fakes) for layer in part.layers):
        entries = [np.arange(layer.entries) for layer in part.layers]
        slots = [np.arange(len(layer.count)) for layer in part.layers]
        yield Lot(part, tuple(entries), tuple(slots), 1.0)
    elif part.parted:
        yield from (lot.of(part) for lot in part.parted)
    else:
        of_person, made = _numbers(part.layers, most), []
        for number in range(int(of_person.max(initial=-1)) + 1):
            rows = [of_person[layer.person] == number for layer in part.layers]
            groups = [_groups(*one, alone=not number) for one in zip(part.layers, rows, strict=True)]
            made.append(_lot(part, rows, groups))
            yield made[-1]
        part.parted.extend(made)  # all of them, or none


@dataclass(frozen=True, eq=False)
class ScaledLot:
    """How a lot was scaled: what is kept of it."""

    slot: tuple[Ints, ...]
    records: float
    scaled: Scaled


def joined(made: Sequence[ScaledLot], layers: Sequence[Layer]) -> Scaled:
    """How all lots were scaled together."""
    if len(made) == 1:
        return made[0].scaled
    multipliers = [first_multipliers(layer) for layer in layers]
    for lot in made:
        for full, slot, own in zip(multipliers, lot.slot, lot.scaled.multipliers, strict=True):
            full[slot] = own
    records = sum(lot.records for lot in made)
    return Scaled(
        tuple(multipliers),
        max(lot.scaled.worst for lot in made),
        sum(lot.scaled.elsewhere * lot.records for lot in made) / max(records, 1.0),
        max(lot.scaled.sweeps for lot in made),
        all(lot.scaled.converged for lot in made),
        made[0].scaled.tilts,
        sum((lot.scaled.rates * (lot.records / max(records, 1.0)) for lot in made), np.zeros(1)),
    )


def _numbers(layers: Sequence[Layer], most: int) -> Ints:
    """Stretch to its lot."""
    label = component_labels(layers, [np.ones(len(layer.person), np.bool_) for layer in layers])
    size = np.zeros(int(label.max(initial=-1)) + 1, np.int64)
    for layer in layers:
        size += np.bincount(label[layer.person], np.diff(layer.starts), len(size)).astype(np.int64)
    order = np.argsort(size, kind="stable")
    number = np.empty(len(size), np.int64)
    number[order] = np.maximum(np.cumsum(size[order]) - 1, 0) // most
    return np.unique(number, return_inverse=True)[1].reshape(-1)[label]


def _groups(layer: Layer, rows: Bools, *, alone: bool) -> Bools:
    """Group to whether somebody of a lot may be in it; those that nobody may be in are in the first lot."""
    group = layer.slot_group[layer.triple_slot]
    chosen = np.zeros(len(layer.free), np.bool_)
    if alone:
        chosen[:] = True
        chosen[group] = False
    chosen[group[rows[layer.triple_row]]] = True
    return chosen


def _lot(part: Unsettled, rows: Sequence[Bools], groups: Sequence[Bools]) -> Lot:
    entries = [some[layer.row] for layer, some in zip(part.layers, rows, strict=True)]
    slots = [some[layer.slot_group] for layer, some in zip(part.layers, groups, strict=True)]
    layers = tuple(_of(*one) for one in zip(part.layers, rows, entries, groups, slots, strict=True))
    share = float(np.concatenate(rows).mean())
    own = replace(
        part,
        layers=layers,
        entry=tuple(one[mine] for one, mine in zip(part.entry, entries, strict=True)),
        stepped=(),  # as is what is expected, it is in what is known
        beginning=tuple(one[mine] for one, mine in zip(part.beginning, entries, strict=True)),
        known=tuple(one[mine] for one, mine in zip(part.known, entries, strict=True)),
        leaving=(),
        linked=[],
        grouped=[],
        parted=[],
        newcomers=part.newcomers and part.newcomers.share(share),
    )
    return Lot(own, _places(entries), _places(slots), share)


def _places(chosen: Sequence[Bools]) -> tuple[Ints, ...]:
    return tuple(as_small(np.flatnonzero(one)) for one in chosen)


def _of(layer: Layer, rows: Bools, entries: Bools, groups: Bools, slots: Bools) -> Layer:
    """Some rows and groups of a layer."""
    entry, slot, group = (np.cumsum(one) - 1 for one in (entries, slots, groups))
    ways = entries[layer.triple_entry]
    return replace(
        layer,
        person=layer.person[rows],
        starts=np.append(0, np.cumsum(np.diff(layer.starts)[rows])),
        value=layer.value[entries],
        triple_entry=as_small(entry[layer.triple_entry[ways]]),
        triple_slot=as_small(slot[layer.triple_slot[ways]]),
        count=layer.count[slots],
        slot_value=layer.slot_value[slots],
        slot_group=group[layer.slot_group[slots]],
        group_starts=np.append(0, np.cumsum(np.diff(layer.group_starts)[groups])),
        free=layer.free[groups],
        chance=layer.chance[slots],
        absent=layer.absent[rows],
        nobody=layer.nobody[rows],
        settled=int(layer.settled * rows.mean()) if len(rows) else 0,
    )
