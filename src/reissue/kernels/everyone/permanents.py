"""Exact messages of small groups: what a group says about each member, given what else is known of the others.

A group of members with weights w(i, v) shows each value v exactly n(v) times. For a member i and a value v the message
is the weight of all ways to give the other members the remaining values: a permanent, summed over how many of each
value are used up so far (states), from the left and from the right. O(values x states) for each group, where the states
are the product of n(v) + 1; groups of one histogram are computed together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.keys import stable_order
from reissue.kernels.everyone.observations import TINY, Layer

__all__ = ["SmallGroups", "exact_messages", "others", "small_groups"]

LARGEST = 2_048
"""Groups of more states than this, numbers of 16 bits, are left to iterative scaling: close where groups are large."""
_SEVERAL = 24
"""So many groups are computed beside each other, fewer one after the other."""
_FEW = 512
_CELLS = 4_000_000
"""How many numbers are held at a time."""


def others(weights: Floats, counts: Ints) -> Floats:
    """Groups x members x values: the weight of all ways to place the other members, one of the value taken away.

    Every group has the same counts, which sum to the number of members.
    """
    levels = _levels(tuple(counts.tolist()))
    if len(weights) >= _SEVERAL:
        return _beside(np.ascontiguousarray(weights.transpose(1, 2, 0)), levels).transpose(2, 0, 1)
    left = _placed(weights, levels)
    right = _placed(weights[:, ::-1], levels)
    out = np.empty_like(weights)
    for member, level in enumerate(levels[:-1]):
        # What is left for those behind this member: all, less what those before it used, less its own value.
        rest = right[len(levels) - 2 - member][:, level.rest]
        out[:, member] = np.einsum("gs,gsv->gv", left[member][:, :-1], rest)
    return out


@dataclass(frozen=True, eq=False)
class _Level:
    """The states in which this many members are placed, and the ways between neighbouring levels."""

    before: npt.NDArray[np.int16]
    """State x value: the state one level down that one more of the value leads from; the last place if none."""
    rest: npt.NDArray[np.int16]
    """State x value: what is left when one more of the value is taken, as a state of the level of the others."""
    states: int


def _placed(weights: Floats, levels: list[_Level]) -> list[Floats]:
    """For each number of members, from the first on: state to the weight of all ways to get there; a zero behind."""
    made = [np.tile([1.0, 0.0], (len(weights), 1))]
    for member, level in enumerate(levels[1:]):
        reached = np.zeros((len(weights), level.states + 1))
        np.einsum("gsv,gv->gs", made[-1][:, level.before], weights[:, member], out=reached[:, :-1])
        made.append(_comparable(reached))
    return made


def _beside(weights: Floats, levels: list[_Level]) -> Floats:
    """The same for many groups, which lie beside each other: members x values x groups."""
    left, right, out = _placed_beside(weights, levels), _placed_beside(weights[::-1], levels), np.empty_like(weights)
    for member, level in enumerate(levels[:-1]):
        before, behind = left[member][:-1], right[len(levels) - 2 - member]
        for value in range(weights.shape[1]):
            out[member, value] = np.einsum("sg,sg->g", before, behind[level.rest[:, value]])
    return out


def _placed_beside(weights: Floats, levels: list[_Level]) -> list[Floats]:
    made = [np.repeat([[1.0], [0.0]], weights.shape[2], axis=1)]
    for member, level in enumerate(levels[1:]):
        reached = np.zeros((level.states + 1, weights.shape[2]))
        for value in range(weights.shape[1]):
            reached[:-1] += made[-1][level.before[:, value]] * weights[member, value]
        made.append(reached / np.maximum(reached.max(axis=0), TINY))
    return made


def _levels(histogram: tuple[int, ...]) -> list[_Level]:
    """The states by how many members are placed; kept for many small histograms and few large ones."""
    return (_few if prod(one + 1 for one in histogram) <= _FEW else _many)(histogram)


def _made_levels(histogram: tuple[int, ...]) -> list[_Level]:
    counts = np.array(histogram)
    states, strides = _states(counts)
    total, members = states.sum(axis=1), int(counts.sum())
    number = np.bincount(total, minlength=members + 1)
    order = np.argsort(total, kind="stable")
    place = np.empty(len(states), np.int64)
    place[order] = np.arange(len(states)) - np.append(0, np.cumsum(number))[total[order]]
    made = []
    for level in range(members + 1):
        mine = np.flatnonzero(total == level)
        below = np.where(states[mine] > 0, mine[:, np.newaxis] - strides, -1)
        before = np.where(below >= 0, place[below], number[level - 1] if level else 0)
        ahead = np.where(states[mine] < counts, len(states) - 1 - mine[:, np.newaxis] - strides, -1)
        rest = np.where(ahead >= 0, place[ahead], number[members - 1 - level] if level < members else 0)
        made.append(_Level(before.astype(np.int16), rest.astype(np.int16), len(mine)))
    return made


_few, _many = lru_cache(maxsize=2048)(_made_levels), lru_cache(maxsize=256)(_made_levels)


def _states(counts: Ints) -> tuple[Ints, Ints]:
    """How many of each value are used up, in every state; and how far one more of a value moves the state."""
    strides = np.append(np.cumprod((counts + 1)[::-1])[::-1][1:], 1)
    numbers = np.arange(int(np.prod(counts + 1)))
    return (numbers[:, np.newaxis] // strides) % (counts + 1), strides


def _comparable(weights: Floats) -> Floats:
    return np.asarray(weights / np.maximum(weights.max(axis=1, keepdims=True), TINY))


@dataclass(frozen=True, eq=False)
class SmallGroups:
    """Groups of one histogram that are small enough, and where their members' entries are."""

    counts: Ints
    """Of each value, the largest first."""
    members: int
    entry: Ints
    """Entry to its group here, member and value, as one number of a dense table groups x members x values."""
    cell: Ints
    groups: int
    known: Ints
    """Group to how many of its members are known; the others are free."""
    chance: Floats
    """Groups x values: how likely a free member has each value, up to a factor."""


def small_groups(layer: Layer, largest: int = LARGEST) -> list[SmallGroups]:
    """The groups of a release whose members are all known to be in them, by histogram."""
    chosen = _settled(layer)
    groups = np.flatnonzero(chosen)
    if not len(groups):
        return []
    kinds = list(_by_histogram(layer, groups, largest))
    sorted_by_kind = _Kinds.of(layer, [some for _, some in kinds])
    made = [_collected(layer, sorted_by_kind, number, histogram) for number, (histogram, _) in enumerate(kinds)]
    return [one for one in made if len(one.entry)]


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Ways and slots of groups, sorted once by the kind of group that they are of."""

    place: Ints
    """Group to its place among those of its kind."""
    sizes: Ints
    """Kind to the number of its groups."""
    rank: Ints
    """Slot to its place in its group, the largest count first."""
    ways: Ints
    """Ways sorted by kind, and where each kind begins."""
    way_starts: Ints
    slots: Ints
    slot_starts: Ints

    @classmethod
    def of(cls, layer: Layer, kinds: Sequence[Ints]) -> "_Kinds":
        kind, place = np.full(len(layer.free), -1), np.zeros(len(layer.free), np.int64)
        for number, some in enumerate(kinds):
            kind[some], place[some] = number, np.arange(len(some))
        of_slot = kind[layer.slot_group]
        ways, slots = (stable_order(one + 1, len(kinds) + 1) for one in (of_slot[layer.triple_slot], of_slot))
        bounds = np.arange(len(kinds) + 1)
        way_starts = np.searchsorted(of_slot[layer.triple_slot][ways], bounds)
        sizes = np.array([len(some) for some in kinds], np.int64)
        return cls(place, sizes, _ranks(layer), ways, way_starts, slots, np.searchsorted(of_slot[slots], bounds))


def _settled(layer: Layer) -> Bools:
    """Group to whether all who may be in it can be nowhere else, and fill it together with its free members."""
    group = layer.slot_group[layer.triple_slot]
    row = layer.triple_row
    some = np.full(len(layer.person), len(layer.free))
    some[row] = group
    astray = layer.absent.copy()
    astray[row[some[row] != group]] = True
    mixed = np.zeros(len(layer.free), np.bool_)
    mixed[group[astray[row]]] = True
    members = np.bincount(some[~astray & (some < len(layer.free))], minlength=len(layer.free))
    sizes = np.add.reduceat(np.append(layer.count, 0.0), layer.group_starts[:-1])
    return np.asarray(~mixed & (members > 0) & (members + layer.free == sizes) & (layer.strangers == 0))


def _ranks(layer: Layer) -> Ints:
    """Slot to its place in its group, the largest count first."""
    order = np.lexsort((layer.slot_value, -layer.count, layer.slot_group))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - layer.group_starts[layer.slot_group[order]]
    return rank


def _by_histogram(layer: Layer, groups: Ints, largest: int) -> Iterator[tuple[Ints, Ints]]:
    """Groups of the same counts, largest first, that are not 0; only those with few enough states."""
    order = np.lexsort((-layer.count, layer.slot_group))
    sorted_counts = layer.count[order].astype(np.int64)
    states = np.multiply.reduceat(np.append(layer.count + 1, 1.0), layer.group_starts[:-1])
    found: dict[bytes, list[int]] = {}
    shown = np.add.reduceat(np.append(layer.count > 0, 0).astype(np.int64), layer.group_starts[:-1])
    for group in groups[states[groups] <= largest]:
        first = layer.group_starts[group]
        found.setdefault(sorted_counts[first : first + shown[group]].tobytes(), []).append(int(group))
    for counts_bytes, some in found.items():
        yield np.frombuffer(counts_bytes, np.int64), np.array(some)


def _collected(layer: Layer, kinds: _Kinds, number: int, counts: Ints) -> SmallGroups:
    ways = kinds.ways[kinds.way_starts[number] : kinds.way_starts[number + 1]]
    slot, entry, groups = layer.triple_slot[ways], layer.triple_entry[ways], int(kinds.sizes[number])
    here, row = kinds.place[layer.slot_group[slot]], layer.row[entry]
    order = np.lexsort((row, here))
    changed = np.flatnonzero(np.diff(row[order], prepend=-1))
    member_of = np.repeat(np.arange(len(changed)), np.diff(np.append(changed, len(order))))
    first = np.searchsorted(here[order][changed], np.arange(groups))
    member = np.empty(len(order), np.int64)
    member[order] = member_of - first[here[order]]
    total = int(counts.sum())
    cell = (here * total + member) * len(counts) + kinds.rank[slot]
    known = np.bincount(here[order][changed], minlength=groups)
    chance = np.empty((groups, len(counts)))
    mine = kinds.slots[kinds.slot_starts[number] : kinds.slot_starts[number + 1]]
    mine = mine[layer.count[mine] > 0]
    chance[kinds.place[layer.slot_group[mine]], kinds.rank[mine]] = layer.chance[mine]
    return SmallGroups(counts, total, entry, cell, groups, known, chance)


def exact_messages(same: Sequence[tuple[SmallGroups, Floats]]) -> list[Floats]:
    """Entry of small groups to what its group says about it, given the others' cavities.

    All groups are of one histogram, of however many releases.
    """
    first, _ = same[0]
    table = np.concatenate([_weights(*one) for one in same])
    size = max(1, _CELLS // (2 * (first.members + 1) * int(np.prod(first.counts + 1))))
    found = np.concatenate([others(table[at : at + size], first.counts) for at in range(0, len(table), size)])
    ends = np.cumsum([small.groups for small, _ in same])
    return [part.reshape(-1)[small.cell] for part, (small, _) in zip(np.split(found, ends[:-1]), same, strict=True)]


def _weights(small: SmallGroups, cavity: Floats) -> Floats:
    """Groups x members x values."""
    shape = (small.groups, small.members, len(small.counts))
    weights = np.zeros(int(np.prod(shape)))
    weights[small.cell] = cavity[small.entry]
    table = weights.reshape(shape)
    group, member = np.nonzero(np.arange(small.members) >= small.known[:, np.newaxis])
    table[group, member] = small.chance[group]
    return table
