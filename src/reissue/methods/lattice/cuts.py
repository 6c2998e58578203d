"""Global cuts from the roots down, and the groups that they make: for methods that specialize top-down.

A node of a taxonomy is an interval of leaf codes, so, with the entries of each attribute once sorted by code, those
under a node are a slice: splitting a node touches what lies under it and nothing else. Since each entry lies under one
node of every level, trying every node once costs O(entries x heights), whatever the number of nodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Cuts", "NewGroups", "Node", "SizedGroups", "SpecializedGroups"]

_CHUNK = 1 << 17
"""Entries that are counted at a time: what is larger than a cache, or comes anew from the system, takes longer."""


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a cut that has children."""

    attribute: int
    starts: Codes
    """The first leaf of each child, and the one after the last child."""


@dataclass(frozen=True, eq=False)
class NewGroups:
    """Groups that specializing a node would make of those that it touches."""

    node: Node
    keys: Ints
    """New group to a number for the group that it is a part of and the child; in order."""

    @property
    def parent(self) -> Ints:
        """New group to the group that it is a part of; parts of one group stand together."""
        return self.keys // (len(self.node.starts) - 1)

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class SizedGroups(NewGroups):
    """How large they would be."""

    rows: Ints


@dataclass(frozen=True, eq=False)
class SpecializedGroups(NewGroups):
    """Who would be in them."""

    members: Ints
    """The entries under the node, without suppressed ones."""
    child: Ints
    """Member to the number of its child."""
    part: Ints
    """Member to the number of its new group, 0 <= number < total."""


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some of the entries under a node, without suppressed ones."""

    members: Ints
    child: Ints
    key: Ints
    weights: NDArray[np.integer] | None


class Cuts:
    """One cut per attribute, all roots at first, and the group of every entry; entries may be suppressed."""

    def __init__(self, codes: Sequence[Codes], taxonomies: Sequence[Taxonomy], weights: Ints | None = None) -> None:
        """`codes` are the entries' leaf codes, one array per attribute; `weights` their rows, None: one each."""
        self.taxonomies = taxonomies
        self.cuts: list[Codes] = [np.zeros(taxonomy.size, np.int32) for taxonomy in taxonomies]
        """Leaf to the first leaf of its node, by attribute."""
        self.groups = np.zeros(len(codes[0]), np.int32)
        """Entry to group number, -1 if suppressed; numbers of suppressed groups are not used again."""
        self.total = 1
        """A number above all group numbers."""
        self._order = [_order(column, taxonomy.size) for column, taxonomy in zip(codes, taxonomies, strict=True)]
        rows = [np.bincount(column, minlength=tax.size) for column, tax in zip(codes, taxonomies, strict=True)]
        self._from = [np.append(0, np.cumsum(number)) for number in rows]
        # In the order of each attribute: to look them up all over the table would take as long as to count.
        small = None if weights is None else weights.astype(np.min_scalar_type(int(weights.max(initial=0))))
        self._weights = [None if small is None else small[order] for order in self._order]
        self.whole = True
        """Whether nothing has been suppressed."""

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

    def sizes(self, node: Node) -> SizedGroups:
        """How large the groups are that specializing a node would make: less than to say who is in which."""
        entries, bound = self._under(node)
        if _sparse(entries, bound):
            (piece,) = self._pieces(node, entries)
            keys, part = np.unique(piece.key, return_inverse=True)
            return SizedGroups(node, keys, np.bincount(part, piece.weights, len(keys)).astype(np.int64))
        rows = np.zeros(bound)
        for piece in self._pieces(node, max(_CHUNK, bound)):
            rows += np.bincount(piece.key, piece.weights, bound)
        keys = np.flatnonzero(rows)
        return SizedGroups(node, keys, rows[keys].astype(np.int64))

    def split(self, node: Node) -> SpecializedGroups:
        """What specializing a node would do; nothing changes yet."""
        entries, bound = self._under(node)
        (piece,) = self._pieces(node, entries)
        keys, part = _numbers(piece.key, bound)
        return SpecializedGroups(node, keys, piece.members, piece.child, part)

    def _under(self, node: Node) -> tuple[int, int]:
        """How many entries lie under a node, and a number above all keys of theirs."""
        start, *_, end = self._from[node.attribute][node.starts].tolist()
        return end - start, self.total * (len(node.starts) - 1)

    def _pieces(self, node: Node, step: int) -> Iterator[_Piece]:
        """The entries under a node, so many at a time; one piece at least."""
        bounds, weights = self._from[node.attribute][node.starts], self._weights[node.attribute]
        width = len(bounds) - 1
        for start in range(int(bounds[0]), max(int(bounds[-1]), int(bounds[0]) + 1), max(step, 1)):
            ends = np.clip(bounds, start, start + step)
            some = slice(ends[0], ends[-1])
            members, child = self._order[node.attribute][some], np.repeat(np.arange(width), np.diff(ends))
            groups, own = self.groups[members], None if weights is None else weights[some]
            if not self.whole:
                present = groups >= 0
                members, child, groups = members[present], child[present], groups[present]
                own = None if own is None else own[present]
            yield _Piece(members, child, groups * np.int64(width) + child, own)

    def apply(self, new: NewGroups, bad: Bools | None = None) -> list[Node]:
        """Specialize a node, suppress the new groups that are `bad`, and return its children that have children."""
        parent, (entries, bound) = new.parent, self._under(new.node)
        first = np.append(True, parent[1:] != parent[:-1])[: new.total]
        number = parent.astype(np.int32)
        fresh = int(new.total - first.sum())
        number[~first] = np.arange(self.total, self.total + fresh)
        if bad is not None:
            number[bad] = -1
        place = None if _sparse(entries, bound) else _places(new.keys, bound)
        for piece in self._pieces(new.node, _CHUNK):
            part = np.searchsorted(new.keys, piece.key) if place is None else place[piece.key]
            self.groups[piece.members] = number[part]
        self.total += fresh
        self.whole &= bad is None or not bad.any()
        starts = new.node.starts
        self.cuts[new.node.attribute][starts[0] : starts[-1]] = np.repeat(starts[:-1], np.diff(starts))
        wide = np.flatnonzero(np.diff(starts) > 1).tolist()
        nodes = [self._node(new.node.attribute, int(starts[c]), int(starts[c + 1]) - 1) for c in wide]
        return [node for node in nodes if node is not None]


def _order(column: Codes, size: int) -> Ints:
    """Entries by code; small codes sort in linear time as 16-bit integers."""
    small = column.astype(np.uint16) if size <= 2**16 else column
    return np.argsort(small, kind="stable")


def _numbers(keys: Ints, bound: int) -> tuple[Ints, Ints]:
    """The distinct keys in order, and each key's place among them."""
    if _sparse(len(keys), bound):
        return np.unique(keys, return_inverse=True)
    seen = np.zeros(bound, np.bool_)
    seen[keys] = True
    distinct = np.flatnonzero(seen)
    return distinct, _places(distinct, bound)[keys]


def _places(keys: Ints, bound: int) -> Ints:
    """Key to its place among these."""
    place = np.zeros(bound, np.int64)
    place[keys] = np.arange(len(keys))
    return place


def _sparse(keys: int, bound: int) -> bool:
    """Whether so many keys below a bound are better sorted than put into an array of all."""
    return bound > 4 * keys + 1024
