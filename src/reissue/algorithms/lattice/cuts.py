"""Global cuts from the roots down, and the groups that they make: for methods that specialize top-down.

A node of a taxonomy is an interval of leaf codes, so, with the entries of each attribute once sorted by code, those
under a node are a slice: splitting a node touches what lies under it and nothing else. Since each entry lies under one
node of every level, trying every node once costs O(entries x heights), whatever the number of nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Cuts", "GroupSizes", "Node", "SpecializedGroups"]

_CHUNK = 1 << 17
"""Entries that are counted at a time: what is larger than a cache, or comes anew from the system, takes longer."""


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a cut that has children."""

    attribute: int
    starts: Codes
    """The first leaf of each child, and the one after the last child."""


@dataclass(frozen=True, eq=False)
class GroupSizes:
    """How large groups would be that specializing a node makes."""

    parent: Ints
    """New group to the group that it is a part of; parts of one group stand together."""
    rows: Ints
    """Of each new group."""


@dataclass(frozen=True, eq=False)
class SpecializedGroups:
    """What specializing a node would make of the groups that it touches."""

    node: Node
    members: Ints
    """The entries under the node, without those left out."""
    child: Ints
    """Member to the number of its child."""
    part: Ints
    """Member to the number of its new group, 0 <= number < total."""
    parent: Ints
    """New group to the group that it is a part of; parts of one group stand together."""

    @property
    def total(self) -> int:
        """How many groups the touched ones would become."""
        return len(self.parent)


class Cuts:
    """One cut per attribute, all roots at first, and the group of every entry; entries may be left out."""

    def __init__(self, codes: Sequence[Codes], taxonomies: Sequence[Taxonomy], weights: Ints | None = None) -> None:
        """`codes` are the entries' leaf codes, one array per attribute; `weights` their rows, None: one each."""
        self.taxonomies = taxonomies
        self.cuts: list[Codes] = [np.zeros(taxonomy.size, np.int32) for taxonomy in taxonomies]
        """Leaf to the first leaf of its node, by attribute."""
        self.groups = np.zeros(len(codes[0]), np.int32)
        """Entry to group number, -1 if left out; numbers of groups that are left out are not used again."""
        self.total = 1
        """A number above all group numbers."""
        self._order = [_order(column, taxonomy.size) for column, taxonomy in zip(codes, taxonomies, strict=True)]
        rows = [np.bincount(column, minlength=tax.size) for column, tax in zip(codes, taxonomies, strict=True)]
        self._from = [np.append(0, np.cumsum(number)) for number in rows]
        # In the order of each attribute: to look them up all over the table would take as long as to count.
        small = None if weights is None else weights.astype(np.min_scalar_type(int(weights.max(initial=0))))
        self._weights = [None if small is None else small[order] for order in self._order]
        self.whole = True
        """Whether nothing has been left out."""

    def roots(self) -> list[Node]:
        """The nodes to start with."""
        whole = [self._node(place, 0, taxonomy.size - 1) for place, taxonomy in enumerate(self.taxonomies)]
        return [node for node in whole if node is not None]

    def _node(self, attribute: int, lo: int, hi: int) -> Node | None:
        children = self.taxonomies[attribute].children(lo, hi)
        return Node(attribute, np.array([*(low for low, _ in children), hi + 1], np.int32)) if children else None

    def losses(self, node: Node) -> Floats:
        """How much less of the domain each child covers than the node."""
        taxonomy, starts = self.taxonomies[node.attribute], node.starts
        ends = starts[1:] - np.int32(1)
        return taxonomy.loss(starts[:1], ends[-1:]) - taxonomy.loss(starts[:-1], ends)

    def sizes(self, node: Node) -> GroupSizes:
        """How large the groups are that specializing a node would make: less than to say who is in which."""
        bounds = self._from[node.attribute][node.starts]
        width, of_order = len(bounds) - 1, self._weights[node.attribute]
        rows = np.zeros(self.total * width)
        step = max(_CHUNK, len(rows))
        for start in range(int(bounds[0]), int(bounds[-1]), step):
            ends = np.clip(bounds, start, start + step)
            members = self._order[node.attribute][ends[0] : ends[-1]]
            child = np.repeat(np.arange(width), np.diff(ends))
            groups = self.groups[members]
            weights = None if of_order is None else of_order[ends[0] : ends[-1]]
            if not self.whole:
                present = groups >= 0
                child, groups = child[present], groups[present]
                weights = None if weights is None else weights[present]
            rows += np.bincount(groups * np.int64(width) + child, weights, len(rows))
        there = np.flatnonzero(rows)
        return GroupSizes(there // width, rows[there].astype(np.int64))

    def split(self, node: Node) -> SpecializedGroups:
        """What specializing a node would do; nothing changes yet."""
        bounds = self._from[node.attribute][node.starts]
        members: Ints = self._order[node.attribute][bounds[0] : bounds[-1]]
        child = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        groups = self.groups[members]
        if not self.whole:
            present = groups >= 0
            members, child, groups = members[present], child[present], groups[present]
        width = len(bounds) - 1
        distinct, part = _numbers(groups * np.int64(width) + child, self.total * width)
        return SpecializedGroups(node, members, child, part, distinct // width)

    def apply(self, split: SpecializedGroups, bad: Bools | None = None) -> list[Node]:
        """Specialize a node, leave out the new groups that are `bad`, and return its children that have children."""
        first = np.append(True, split.parent[1:] != split.parent[:-1])[: split.total]
        number = split.parent.copy()
        fresh = int(split.total - first.sum())
        number[~first] = np.arange(self.total, self.total + fresh)
        self.total += fresh
        if bad is not None and bad.any():
            number[bad] = -1
            self.whole = False
        self.groups[split.members] = number[split.part]
        starts = split.node.starts
        self.cuts[split.node.attribute][starts[0] : starts[-1]] = np.repeat(starts[:-1], np.diff(starts))
        wide = np.flatnonzero(np.diff(starts) > 1).tolist()
        nodes = [self._node(split.node.attribute, int(starts[c]), int(starts[c + 1]) - 1) for c in wide]
        return [node for node in nodes if node is not None]


def _order(column: Codes, size: int) -> Ints:
    """Entries by code; small codes sort in linear time as 16-bit integers."""
    small = column.astype(np.uint16) if size <= 2**16 else column
    return np.argsort(small, kind="stable")


def _numbers(keys: Ints, bound: int) -> tuple[Ints, Ints]:
    """The distinct keys in order, and each key's place among them."""
    if bound > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)
    seen = np.zeros(bound, np.bool_)
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[keys]
