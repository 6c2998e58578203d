"""Which worlds of a few people fit the counts of their groups: a table with one axis a person, one cell a world.

Most groups look alike, so that a look is asked for once. Ways, slots and values of a few people are tuples, not arrays:
for ten numbers that is several times as fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import factorial
from typing import NamedTuple

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.segments import ranges
from reissue.solver.observations import Layer

__all__ = ["Fitting", "PersonAxis", "Worlds", "axes_of"]

_ALIKE = 1_000
"""Of so many looks of groups, at most, it is kept which worlds fit."""
_FACTORIALS = np.array([1.0 / factorial(number) for number in range(151)])
"""One over the ways to exchange this many free members of one value."""


class PersonAxis(NamedTuple):
    """One person in one release: the ways that are open, and the values that they have."""

    person: int
    entry: Ints
    """Way to its entry."""
    slot: tuple[int, ...]
    """Way to its slot, -1: in no group."""
    value: tuple[int, ...]
    begins: tuple[float, ...]
    """Way to what it weighs by what is expected of who begins there."""

    @property
    def different(self) -> bool:
        """Whether every way has another value, and so another entry: then these are in order."""
        return len(set(self.value)) == len(self.value)


def axes_of(layer: Layer, rows: Ints, loose: Bools, beginnings: Floats) -> list[PersonAxis]:
    """Some rows of a release, open or not: steps between releases matter for all."""
    first, after = (np.searchsorted(layer.triple_entry, layer.starts[rows + one]) for one in (0, 1))
    ways, away = ranges(first, after - first), np.where(layer.absent[rows], np.diff(layer.starts)[rows], 0)
    at = np.repeat(np.arange(len(rows)), after - first), np.repeat(np.arange(len(rows)), away)
    order = np.argsort(np.concatenate(at), kind="stable")
    entry = np.concatenate([layer.triple_entry[ways], ranges(layer.starts[rows], away)])[order].astype(np.int64)
    slot = np.concatenate([layer.triple_slot[ways], np.full(len(at[1]), -1)])[order]
    slot[~loose[layer.row[entry]]] = -1
    ends = np.cumsum(after - first + away).tolist()
    slots, values, begins = (tuple(one.tolist()) for one in (slot, layer.value[entry], beginnings[entry]))
    return [
        PersonAxis(person, entry[low:high], slots[low:high], values[low:high], begins[low:high])
        for person, low, high in zip(layer.person[rows].tolist(), [0, *ends], ends, strict=False)
    ]


@dataclass(frozen=True, eq=False)
class Worlds:
    """Cell to 1 where every slot gets what it has room for, else 0; with free members the ways to place them."""

    weight: Floats
    plain: bool
    """Whether there are no free members."""

    def again(self, before: "Worlds") -> bool:
        """Whether they leave everything as it is where these fitted before."""
        return self is before and self.plain


@dataclass(frozen=True, eq=False)
class Fitting:
    """What the groups of one release leave room for."""

    layer: Layer
    room: Ints
    """Slot to its records that those leave who have one way only."""
    known: dict[tuple[object, ...], Worlds]
    """Groups, and the ways that people may be in them, to the worlds that fit: many look alike."""

    @classmethod
    def of(cls, layer: Layer, known: dict[tuple[object, ...], Worlds]) -> "Fitting":
        """Of a release; what is known is shared by releases."""
        row = layer.triple_row
        number = np.bincount(row, minlength=len(layer.person))
        fixed = ((number == 1) & ~layer.absent)[row]
        taken = np.bincount(layer.triple_slot[fixed], minlength=len(layer.count))
        return cls(layer, layer.count.astype(np.int64) - taken, known)

    def worlds(self, here: Sequence[PersonAxis], order: Mapping[int, int]) -> Worlds:
        """The worlds of some people that fit, from groups that look alike if there were some; `order` are the axes."""
        chosen = sorted({slot for axis in here for slot in axis.slot if slot >= 0})
        groups = sorted(set(self.layer.slot_group[chosen].tolist())) if chosen else []
        if self.layer.counts_fakes:
            return self._found(here, order, groups)
        key = self._look(here, order, groups)
        found = self.known.get(key)
        if found is None:
            found = self._found(here, order, groups)
            if len(self.known) < _ALIKE:
                self.known[key] = found
        return found

    def _look(self, here: Sequence[PersonAxis], order: Mapping[int, int], groups: Sequence[int]) -> tuple[object, ...]:
        """What it depends on which worlds fit: slots by their place in these groups, and what the groups hold."""
        layer, number, looks, total = self.layer, {-1: -1}, [], 0
        for group in groups:
            first, after = layer.group_starts[group : group + 2].tolist()
            free = float(layer.free[group])
            chance = layer.chance[first:after].tobytes() if free else b""
            looks.append((self.room[first:after].tobytes(), free, chance))
            number |= dict(zip(range(first, after), range(total, total + after - first), strict=True))
            total += after - first
        ways = tuple((order[axis.person], *(number[slot] for slot in axis.slot)) for axis in here)
        return len(order), ways, tuple(looks)

    def _found(self, here: Sequence[PersonAxis], order: Mapping[int, int], groups: Sequence[int]) -> Worlds:
        """Group by group: each has a say in those only who may be in it."""
        weight: Floats = np.ones((1,) * len(order))
        plain = not self.layer.counts_fakes
        for group in groups:
            first, after = self.layer.group_starts[group : group + 2].tolist()
            mine = [axis for axis in here if any(first <= slot < after for slot in axis.slot)]
            mine.sort(key=lambda axis: order[axis.person])  # stretches are not numbered as rows are
            shape = [1] * len(order)
            for axis in mine:
                shape[order[axis.person]] = len(axis.slot)
            own = self._of_group(group, range(first, after), [axis.slot for axis in mine])
            weight, plain = weight * own.weight.reshape(shape), plain and own.plain
        if self.layer.counts_fakes and groups:
            weight = weight * self._as_known(self._nobodys(here, order, groups), groups)
        return Worlds(weight, plain)

    def _of_group(self, group: int, slots: range, people: Sequence[Sequence[int]]) -> Worlds:
        """The worlds of those who may be in a group, by the slots that they may fill."""
        room, free = self.room[slots.start : slots.stop], float(self.layer.free[group])
        chance = self.layer.chance[slots.start : slots.stop].tobytes() if free else b""
        ways = tuple(tuple(slot - slots.start if slot in slots else -1 for slot in one) for one in people)
        key = (ways, room.tobytes(), free, chance)
        found = self.known.get(key)
        if found is None:
            weight: Floats = np.ones((1,) * len(ways))
            left: Ints = np.zeros((1,) * len(ways), np.int64)
            for place, slot in enumerate(slots):
                rest = room[place] - _chosen(dict(enumerate(ways)), len(ways), place)
                weight, left = weight * self._ways(rest, slot), left + rest
            found = Worlds(weight * (left == free), not free)
            if len(self.known) < _ALIKE:
                self.known[key] = found
        return found

    def _nobodys(self, here: Sequence[PersonAxis], order: Mapping[int, int], groups: Sequence[int]) -> dict[int, Ints]:
        """Value to how many records of it nobody of these people has, in some groups, for every cell."""
        ways, fakes = {order[axis.person]: axis.slot for axis in here}, dict[int, Ints]()
        for group in groups:
            for slot in range(*self.layer.group_starts[group : group + 2].tolist()):
                value = int(self.layer.slot_value[slot])
                fakes[value] = self.room[slot] - _chosen(ways, len(order), slot) + fakes.get(value, 0)
        return fakes

    def _ways(self, rest: Ints, slot: int) -> Floats:
        """Cell to the ways of free members to be the rest of a slot; of none there is one way to be nobody."""
        if not self.layer.free[self.layer.slot_group[slot]]:
            return np.asarray(rest == 0, np.float64)
        most = np.minimum(np.maximum(rest, 0), len(_FACTORIALS) - 1)
        ways = _FACTORIALS[most] * self.layer.chance[slot] ** np.maximum(rest, 0)
        return np.where(rest >= 0, ways, 0.0)

    def _as_known(self, fakes: Mapping[int, Ints], groups: Sequence[int]) -> Floats:
        """Cell to 1 where as many records of each value are nobody's as the reader knows; other groups are settled."""
        layer, settled = self.layer, np.ones(len(self.layer.free), np.bool_)
        settled[groups] = False
        outside = np.bincount(layer.slot_value, self.room * settled[layer.slot_group], len(layer.fakes))
        same: Floats = np.ones(())
        for value in np.flatnonzero((layer.fakes > 0) | (outside > 0)).tolist():
            same = same * (fakes.get(value, 0) + outside[value] == layer.fakes[value])
        return same


def _chosen(ways: Mapping[int, Sequence[int]], axes: int, slot: int) -> Ints:
    """Cell to how many are in a slot; `ways` are axes to the slots of their ways."""
    total: Ints = np.zeros((1,) * axes, np.int64)
    for at, slots in ways.items():
        if slot in slots:
            shape = [1] * axes
            shape[at] = len(slots)
            total = total + np.array([one == slot for one in slots]).reshape(shape)
    return total
