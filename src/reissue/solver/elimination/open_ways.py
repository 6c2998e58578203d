"""The ways of one release that are still open: who can fill which slot, by the published counts."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.keys import stable_order
from reissue.counting.segments import different, ranges
from reissue.solver.observations import Layer

__all__ = ["OpenWays"]

_MANY = 40
"""Where one in so many is named, all are counted: one by one takes longer."""


@dataclass(frozen=True, eq=False)
class OpenWays:
    """What is open, kept up to date as ways are closed."""

    layer: Layer
    open: Bools
    """Way to whether it is open."""
    first: Ints
    """Row to its first way, and the number of ways at the end."""
    number: Ints
    """Row to how many of its ways are open."""
    left: Ints
    """Entry to how many of its ways are open."""
    by_slot: Ints
    """Ways sorted by slot, and where each slot begins."""
    slot_first: Ints
    fillers: Ints
    """Slot to how many of its ways are open."""
    must: Ints
    """Slot to how many have no other way."""
    room: Ints
    """Slot to how many records it has, and how many of them nobody else than those who can fill it may have."""
    needing: Ints
    changed: Bools
    """Slot to whether it was not looked at since a way to it was closed, or became somebody's only one."""

    @classmethod
    def of(cls, layer: Layer) -> "OpenWays":
        """With all ways open."""
        left, slots = np.bincount(layer.triple_entry, minlength=layer.entries), len(layer.count)
        first = np.append(0, np.cumsum(left))[layer.starts]
        number, fillers = np.diff(first), np.bincount(layer.triple_slot, minlength=slots)
        alone = first[:-1][(number == 1) & ~layer.absent]
        room = layer.count.astype(np.int64)
        free = (layer.free[layer.slot_group] * (layer.chance > 0)).astype(np.int64) + int(layer.strangers)
        return cls(
            layer,
            np.ones(len(layer.triple_slot), np.bool_),
            first,
            number,
            left.astype(np.int32),
            stable_order(layer.triple_slot, slots).astype(np.int32),
            np.append(0, np.cumsum(fillers)),
            fillers,
            np.bincount(layer.triple_slot[alone], minlength=slots),
            room,
            room - free,
            np.ones(slots, np.bool_),
        )

    def rows_of(self, ways: Ints) -> Ints:
        """The rows of some ways; those of all of them are not kept."""
        return np.asarray(self.layer.row[self.layer.triple_entry[ways]])

    def of_rows(self, rows: Ints) -> Ints:
        """The open ways of some rows."""
        ways = ranges(self.first[rows], self.first[rows + 1] - self.first[rows])
        return np.asarray(ways[self.open[ways]])

    def close(self, ways: Ints) -> None:
        """Close open ways."""
        layer = self.layer
        entry, slot = layer.triple_entry[ways], layer.triple_slot[ways]
        row = layer.row[entry]
        self.open[ways] = False
        for counts, places in ((self.number, row), (self.fillers, slot), (self.left, entry)):
            _take_away(counts, places)
        alone = self.of_rows(different(row[(self.number[row] == 1) & ~layer.absent[row]], len(self.number)))
        np.add.at(self.must, layer.triple_slot[alone], 1)
        self.changed[slot] = self.changed[layer.triple_slot[alone]] = True

    def counted(self) -> Ints:
        """Close the ways that the published counts leave no room for; the people whom that concerns."""
        layer, slots = self.layer, np.flatnonzero(self.changed)
        self.changed[slots] = False
        ways = self._to(slots[self.must[slots] == self.room[slots]])
        row = self.rows_of(ways)
        full = ways[(self.number[row] > 1) | layer.absent[row]]
        self.close(full)
        rows = self.rows_of(self._to(slots[self.fillers[slots] == self.needing[slots]]))
        bound = self.of_rows(different(rows, len(self.number)))
        slot = layer.triple_slot[bound]
        elsewhere = bound[self.fillers[slot] != self.needing[slot]]
        self.close(elsewhere)
        return np.asarray(layer.person[self.rows_of(np.append(full, elsewhere))])

    def _to(self, slots: Ints) -> Ints:
        """The open ways to some slots."""
        ways = self.by_slot[ranges(self.slot_first[slots], self.slot_first[slots + 1] - self.slot_first[slots])]
        return np.asarray(ways[self.open[ways]])


def _take_away(counts: Ints, places: Ints) -> None:
    """One less at each place, as often as it is named."""
    if len(places) * _MANY > len(counts):
        counts -= np.bincount(places, minlength=len(counts)).astype(counts.dtype, copy=False)
    else:
        np.subtract.at(counts, places, 1)
