"""Exact messages of small groups: what a group says about each member, given what else is known of the others.

A group of members with weights w(i, v) shows each value v exactly n(v) times. For a member i and a value v the message
is the weight of all ways to give the other members the remaining values: a permanent, summed over how many of each
value are used up so far (states), from the left and from the right. O(values x states) for each group, where the states
are the product of n(v) + 1; groups of one histogram are computed together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.keys import pack, stable_order
from reissue.solver.observations import TINY, Layer

__all__ = ["SmallGroups", "exact_messages", "others", "ruled_out", "small_groups"]

LARGEST = 2_048
"""Groups of more states than this, numbers of 16 bits, are left to iterative scaling: close where groups are large."""
_SEVERAL = 24
"""So many groups are computed beside each other, fewer one after the other."""
_FEW = 512
_CELLS = 4_000_000
"""How many numbers are held at a time."""
_WIDEST = (LARGEST - 1).bit_length()
"""Values that such a group shows, at most: every one of them doubles the states."""


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
    """Groups of one histogram that are small enough, of any releases, and where their members' entries are."""

    counts: Ints
    """Of each value, the largest first."""
    members: int
    entry: Ints
    """Entry, over all releases."""
    cell: Ints
    """Its group here, member and value, as one number of a dense table groups x members x values."""
    groups: int
    known: Ints
    """Group to how many of its members are known; the others are free."""
    chance: Floats
    """Groups x values: how likely a free member has each value, up to a factor."""


def small_groups(layers: Sequence[Layer], largest: int = LARGEST) -> list[SmallGroups]:
    """The groups of some releases whose members are all known to be in them, by histogram."""
    offsets = np.cumsum([0, *(layer.entries for layer in layers)])
    found = [_Candidates.of(layer, largest, offset) for layer, offset in zip(layers, offsets[:-1], strict=True)]
    counts = np.concatenate([np.empty((0, _WIDEST), np.int64), *(one.counts for one in found)])
    if not len(counts):
        return []
    key, _ = pack(list(counts.T), [largest] * _WIDEST)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return list(_by_kind(_Candidates.joined(found), kind.reshape(-1), counts[first]))


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Small groups, their slots and the ways to fill them."""

    counts: Ints
    """Groups x values: how often it shows each, the largest first, 0 in the end."""
    known: Ints
    slot_group: Ints
    """Slot that shows something to its group."""
    rank: Ints
    """Slot to its place in its group, the largest count first."""
    chance: Floats
    entry: Ints
    """Way to its entry, over all releases."""
    way_group: Ints
    member: Ints
    """Way to the number of its member in the group."""
    way_rank: Ints

    @classmethod
    def of(cls, layer: Layer, largest: int, offset: int) -> "_Candidates":
        """Of one release; its first entry has this number over all releases."""
        states = np.multiply.reduceat(np.append(layer.count + 1, 1.0), layer.group_starts[:-1])
        groups = np.flatnonzero(_settled(layer) & (states <= largest))
        number = np.full(len(layer.free), -1)
        number[groups] = np.arange(len(groups))
        rank, of_slot = _ranks(layer), number[layer.slot_group]
        slots = np.flatnonzero((of_slot >= 0) & (layer.count > 0))
        counts = np.zeros((len(groups), _WIDEST), np.int64)
        counts[of_slot[slots], rank[slots]] = layer.count[slots]
        ways = np.flatnonzero(of_slot[layer.triple_slot] >= 0)
        entry, slot = layer.triple_entry[ways], layer.triple_slot[ways]
        row, here = layer.row[entry], of_slot[slot]
        member, known = _members(row, here, len(layer.person), len(groups))
        own = of_slot[slots], rank[slots], layer.chance[slots]
        return cls(counts, known, *own, entry + offset, here, member[row], rank[slot])

    @classmethod
    def joined(cls, found: "Sequence[_Candidates]") -> "_Candidates":
        """Of all releases, their groups numbered one after the other."""
        first = np.cumsum([0, *(len(one.known) for one in found)])
        moved = [
            replace(one, slot_group=one.slot_group + more, way_group=one.way_group + more)
            for one, more in zip(found, first[:-1], strict=True)
        ]
        return cls(*(np.concatenate([getattr(one, part.name) for one in moved]) for part in fields(cls)))


def _by_kind(found: _Candidates, kind: Ints, counts: Ints) -> Iterator[SmallGroups]:
    """Groups, slots and ways sorted once by the kind of group that they are of."""
    kinds = len(counts)
    sizes, shown, total = np.bincount(kind, minlength=kinds), (counts > 0).sum(axis=1), counts.sum(axis=1)
    groups = stable_order(kind, kinds)
    place = np.empty(len(kind), np.int64)
    place[groups] = np.arange(len(kind)) - (np.cumsum(sizes) - sizes)[kind[groups]]
    of_slot, of_way = kind[found.slot_group], kind[found.way_group]
    slots, ways = stable_order(of_slot, kinds), stable_order(of_way, kinds)
    cell = (place[found.way_group] * total[of_way] + found.member) * shown[of_way] + found.way_rank
    at = place[found.slot_group] * shown[of_slot] + found.rank
    ends = [np.cumsum(np.bincount(one, minlength=kinds)) for one in (kind, of_slot, of_way)]
    splits = zip(*(np.split(one, end[:-1]) for one, end in zip((groups, slots, ways), ends, strict=True)), strict=True)
    for number, (group, slot, way) in enumerate(splits):
        width = int(shown[number])
        chance = np.empty(len(group) * width)
        chance[at[slot]] = found.chance[slot]
        yield SmallGroups(
            counts[number, :width],
            int(total[number]),
            found.entry[way],
            cell[way],
            len(group),
            found.known[group],
            chance.reshape(-1, width),
        )


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


def _members(row: Ints, group: Ints, rows: int, groups: int) -> tuple[Ints, Ints]:
    """Row to its number among those of its group; and how many each group has. No row is of two groups."""
    of_row = np.full(rows, -1)
    of_row[row] = group
    there = np.flatnonzero(of_row >= 0)
    known = np.bincount(of_row[there], minlength=groups)
    order = there[stable_order(of_row[there], max(groups, 1))]
    member = np.full(rows, -1)
    member[order] = np.arange(len(order)) - (np.cumsum(known) - known)[of_row[order]]
    return member, known


def _ranks(layer: Layer) -> Ints:
    """Slot to its place in its group, the largest count first."""
    order = np.lexsort((layer.slot_value, -layer.count, layer.slot_group))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - layer.group_starts[layer.slot_group[order]]
    return rank


def exact_messages(small: SmallGroups, cavity: Floats) -> Floats:
    """Entry of small groups to what its group says about it, given the cavities of all entries."""
    table = _weights(small, cavity)
    size = max(1, _CELLS // (2 * (small.members + 1) * int(np.prod(small.counts + 1))))
    found = np.concatenate([others(table[at : at + size], small.counts) for at in range(0, len(table), size)])
    return np.asarray(found.reshape(-1)[small.cell])


def ruled_out(small: Sequence[SmallGroups], asked: Bools) -> Bools:
    """Which of the entries asked for leave no way to the others of their small group, whatever is how likely.

    Ways are counted, so that nothing is taken for impossible that only rounding has made 0.
    """
    found, alike = np.zeros(len(asked), np.bool_), np.ones(len(asked))
    for kind in small:
        if asked[kind.entry].any():
            some = _only(kind, asked)
            found[some.entry] = exact_messages(replace(some, chance=(some.chance > 0).astype(np.float64)), alike) == 0
    return found & asked


def _only(small: SmallGroups, asked: Bools) -> SmallGroups:
    """The groups that have an entry which is asked for."""
    cells = small.members * len(small.counts)
    group = small.cell // cells
    chosen = np.zeros(small.groups, np.bool_)
    chosen[group[asked[small.entry]]] = True
    number, mine = np.cumsum(chosen) - 1, chosen[group]
    return replace(
        small,
        entry=small.entry[mine],
        cell=number[group[mine]] * cells + small.cell[mine] % cells,
        groups=int(chosen.sum()),
        known=small.known[chosen],
        chance=small.chance[chosen],
    )


def _weights(small: SmallGroups, cavity: Floats) -> Floats:
    """Groups x members x values."""
    shape = (small.groups, small.members, len(small.counts))
    weights = np.zeros(int(np.prod(shape)))
    weights[small.cell] = cavity[small.entry]
    table = weights.reshape(shape)
    group, member = np.nonzero(np.arange(small.members) >= small.known[:, np.newaxis])
    table[group, member] = small.chance[group]
    return table
