"""Exact counts of single slots: what a slot of a large or open group says about each who may fill it.

Where a group is too large for permanents, or people fit several groups, every slot still has a whole number of
records. For those who may fill it, with odds r, the message to one is the weight of all ways in which the others fill
all but one, over that in which they fill all: a ratio of elementary symmetric polynomials without that one. They are
multiplied up a tree of halves, and what is outside of each half is carried down it, so that few and long operations do
and nothing is subtracted. O(candidates x count) for each slot; slots of many records are left as they are, for there
the expected count says nearly the same.
"""

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.keys import stable_order
from reissue.counting.segments import different, ranges
from reissue.solver.observations import TINY, Layer

__all__ = ["count_messages", "without_one"]

LARGEST = 12
"""Slots with more records open than this are left to iterative scaling."""
_SURE = 1 - 1e-9
_LEAST = 0.1
"""Where nobody is more likely than this to fill a slot, the exact count says no more than the expected one."""
_CELLS = 4_000_000
_MOST = 1e12
"""A member without whom a slot cannot be filled is taken for that many times as likely."""


def count_messages(layer: Layer, chosen: Bools, cavity: Floats, ways: Floats, multipliers: Floats) -> Floats:
    """Way to what its slot says about it; `chosen` are the ways to look at, `ways` is what was said before."""
    row, slot = layer.triple_row, layer.triple_slot
    weight = cavity[layer.triple_entry] * ways
    total = np.bincount(row, weight, len(layer.person)) + layer.sums(cavity * layer.away)
    share = weight / np.maximum(total, TINY)[row]
    sure, free = share >= _SURE, multipliers * layer.chance
    others = np.add.reduceat(np.append(free, 0.0), layer.group_starts[:-1])[layer.slot_group] - free
    filled = (free > 0) & (others <= (1 - _SURE) * free)  # free members of the group have no other slot
    room = layer.count.astype(np.int64) - np.bincount(slot[sure], minlength=len(layer.count))
    room -= (layer.free[layer.slot_group] * filled).astype(np.int64)
    telling = np.bincount(slot[chosen & ~sure & (share > _LEAST)], minlength=len(room)) > 0
    at = np.flatnonzero(chosen & ~sure & (telling & (room >= 1) & (room <= LARGEST))[slot])
    odds = cavity[layer.triple_entry[at]] / np.maximum((total[row] - weight)[at], TINY)
    some = different(slot[at], len(room))
    some = some[~filled[some]]
    again = np.repeat(some, layer.free[layer.slot_group[some]].astype(np.int64))
    said = ways.copy()
    free_odds = (layer.chance / np.maximum(others, TINY))[again]
    said[at] = _ratios(np.append(slot[at], again), np.append(odds, free_odds), room)[: len(at)]
    return said


def without_one(odds: Floats, count: Ints) -> Floats:
    """Slots x members: ways of the others to be count - 1, over their ways to be count; odds of 0 are nobody."""
    unit = np.maximum(odds.max(axis=1), TINY)
    members, most = odds.shape[1], int(count.max())
    weights = np.zeros((1 << (members - 1).bit_length(), len(odds)))
    weights[:members] = (odds / unit[:, np.newaxis]).T  # slots last, so that every operation is a long one
    halves = [np.stack([np.ones_like(weights), weights])]
    while halves[-1].shape[1] > 1:
        halves.append(_product(halves[-1][:, 0::2], halves[-1][:, 1::2], most))
    outside = np.zeros((most + 1, 1, len(odds)))
    outside[count, 0, np.arange(len(odds))] = 1.0
    for inside in reversed(halves[:-1]):
        below = np.empty_like(inside)
        _beside(outside, inside[:, 1::2], below[:, 0::2])
        _beside(outside, inside[:, 0::2], below[:, 1::2])
        outside = below
    full, less = outside[:2, :members]
    return np.ascontiguousarray((less / np.maximum(full, less / _MOST + TINY) / unit).T)


def _product(left: Floats, right: Floats, most: int) -> Floats:
    """Ways to be 0, 1, ... of two halves together, no more than the most that is needed (counts x halves x slots)."""
    made = np.zeros((min(2 * len(left) - 1, most + 1), *left.shape[1:]))
    for number, ways in enumerate(left[: len(made)]):
        some = min(len(right), len(made) - number)
        made[number : number + some] += ways * right[:some]
    return made


def _beside(outside: Floats, sibling: Floats, below: Floats) -> None:
    """Ways to be count, count - 1, ... of all who are not in a half: outside of both halves, and in the other one."""
    below[:] = 0.0
    for number, ways in enumerate(sibling[: len(outside)]):
        some = min(len(below), len(outside) - number)
        below[:some] += ways * outside[number : number + some]


def _ratios(slot: Ints, odds: Floats, room: Ints) -> Floats:
    """Candidate to the ratio of its slot without it; slots of about the same room and as many candidates at once."""
    order = stable_order(slot, max(len(room), 1))
    first = np.flatnonzero(np.diff(slot[order], prepend=-1))
    slots, number = slot[order[first]], np.diff(np.append(first, len(order)))
    out = np.empty(len(slot))
    kind = _doublings(room[slots]) * 64 + _doublings(number)
    for one in np.unique(kind):
        some = np.flatnonzero(kind == one)
        width = int(number[some].max())
        size = max(1, _CELLS // (width * int(room[slots[some]].max() + 1)))
        for begin in range(0, len(some), size):
            part = some[begin : begin + size]
            at = order[ranges(first[part], number[part])]
            table, cell = _table(odds[at], number[part], width)
            out[at] = without_one(table, room[slots[part]]).reshape(-1)[cell]
    return out


def _doublings(numbers: Ints) -> Ints:
    """How often 1 is doubled to reach each."""
    return np.ceil(np.log2(numbers)).astype(np.int64)


def _table(odds: Floats, number: Ints, width: int) -> tuple[Floats, Ints]:
    """Slots x candidates, nobody at the end of short rows; and the cell of each candidate."""
    cell = ranges(np.arange(len(number)) * width, number)
    table = np.zeros(len(number) * width)
    table[cell] = odds
    return table.reshape(-1, width), cell
