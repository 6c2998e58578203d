"""The ways of one release that are still open: who can fill which slot, by the published counts."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.keys import stable_order
from reissue.counting.segments import different, ranges
from reissue.kernels.everyone.observations import Layer

__all__ = ["OpenWays"]


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
    changed: Bools
    """Slot to whether it was not looked at since a way to it was closed, or became somebody's only one."""

    @classmethod
    def of(cls, layer: Layer) -> "OpenWays":
        """With all ways open."""
        left, slots = np.bincount(layer.triple_entry, minlength=layer.entries), len(layer.count)
        first = np.append(0, np.cumsum(left))[layer.starts]
        number, fillers = np.diff(first), np.bincount(layer.triple_slot, minlength=slots)
        alone = first[:-1][(number == 1) & ~layer.absent]
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
        np.subtract.at(self.number, row, 1)
        np.subtract.at(self.fillers, slot, 1)
        np.subtract.at(self.left, entry, 1)
        alone = self.of_rows(different(row[(self.number[row] == 1) & ~layer.absent[row]], len(self.number)))
        np.add.at(self.must, layer.triple_slot[alone], 1)
        self.changed[slot] = self.changed[layer.triple_slot[alone]] = True

    def counted(self) -> Ints:
        """Close the ways that the published counts leave no room for; the people whom that concerns."""
        layer = self.layer
        room = layer.count.astype(np.int64)
        slots = np.flatnonzero(self.changed)
        self.changed[:] = False
        ways = self._to(slots[self.must[slots] == room[slots]])
        row = self.rows_of(ways)
        full = ways[(self.number[row] > 1) | layer.absent[row]]
        self.close(full)
        free = layer.free[layer.slot_group] * (layer.chance > 0)
        needed = self.fillers + free + layer.strangers == room
        rows = self.rows_of(self._to(slots[needed[slots]]))
        bound = self.of_rows(different(rows, len(self.number)))
        elsewhere = bound[~needed[layer.triple_slot[bound]]]
        self.close(elsewhere)
        return np.asarray(layer.person[self.rows_of(np.append(full, elsewhere))])

    def _to(self, slots: Ints) -> Ints:
        """The open ways to some slots."""
        ways = self.by_slot[ranges(self.slot_first[slots], self.slot_first[slots + 1] - self.slot_first[slots])]
        return np.asarray(ways[self.open[ways]])
