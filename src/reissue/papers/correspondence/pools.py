"""Items in groups that only ever split: each group's items stand together, so a split touches nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.counting.keys import stable_order
from reissue.counting.segments import ranges

__all__ = ["Pool", "SplitGroups"]


@dataclass(frozen=True, eq=False)
class SplitGroups:
    """Some groups, each split into as many parts (some perhaps empty) as the attribute's node has children."""

    groups: Ints
    width: int
    items: Ints
    """All items of these groups, group by group."""
    part: Ints
    """Item to its part: place of the group times width, plus child."""

    @property
    def parts(self) -> int:
        """How many parts there are, empty ones included."""
        return len(self.groups) * self.width


class Pool:
    """Items with a leaf on each attribute, in groups."""

    def __init__(self, leaves: Sequence[Codes], lengths: Ints | None = None) -> None:
        """`leaves` holds one array per attribute; at first the items are in groups of these lengths, or all in one."""
        self._leaves = [column.astype(_small(column)) for column in leaves]
        self._order = np.arange(len(leaves[0]))
        self._length = np.full(1, len(leaves[0])) if lengths is None else lengths
        self._start = np.cumsum(self._length) - self._length

    def items(self, groups: Ints) -> Ints:
        """The items of some groups, group by group."""
        return self._order[ranges(self._start[groups], self._length[groups])]

    def starts(self, groups: Ints) -> Ints:
        """Where each group's items start in the order of all items."""
        return self._start[groups]

    def lengths(self, groups: Ints) -> Ints:
        """How many items each group has."""
        return self._length[groups]

    def split(self, groups: Ints, attribute: int, child: Ints, width: int) -> SplitGroups:
        """Groups split by the child that each item's leaf lies under; nothing is changed yet."""
        items = self.items(groups)
        base = np.repeat(np.arange(len(groups)) * width, self._length[groups])
        return SplitGroups(groups, width, items, base + child[self._leaves[attribute][items]])

    def commit(self, split: SplitGroups) -> Ints:
        """Carry a split out: the new group of each part, -1 for empty ones. The old groups have no items any more."""
        lengths = np.bincount(split.part, minlength=split.parts)
        within = lengths.reshape(-1, split.width)
        starts = (self._start[split.groups][:, None] + np.cumsum(within, axis=1) - within).ravel()
        place = ranges(self._start[split.groups], self._length[split.groups])
        self._order[place] = split.items[stable_order(split.part, split.parts)]
        filled = np.flatnonzero(lengths)
        number = np.full(split.parts, -1)
        number[filled] = len(self._start) + np.arange(len(filled))
        self._start = np.append(self._start, starts[filled])
        self._length = np.append(self._length, lengths[filled])
        self._length[split.groups] = 0
        return number


def _small(column: Codes) -> type[np.unsignedinteger]:
    """The smallest type that holds these codes: what is gathered again and again should fit the cache."""
    largest = int(column.max(initial=0))
    return np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.uint32
