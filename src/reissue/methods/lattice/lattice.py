"""The lattice of full-domain generalizations: one level per attribute, and counts that roll up from node to node."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Codes, Floats, Ints
from reissue.counting.keys import pack
from reissue.data.table import Table
from reissue.methods.entries import Entries
from reissue.taxonomy.tree import Level, Taxonomy

__all__ = ["Ladder", "Levels", "Rolled", "roll", "whole"]

Levels = tuple[int, ...]
"""A node of the lattice: the rung of each attribute's ladder."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one attribute from leaves to root, without those that change nothing."""

    numbers: tuple[int, ...]
    """Which of the taxonomy's levels they are."""
    levels: tuple[Level, ...]
    losses: tuple[Floats, ...]
    """The information loss of each level's nodes."""

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> "Ladder":
        """The ladder of a taxonomy; levels nest, so one with as many nodes as the level below is the same."""
        counts = [len(level.names) for level in taxonomy.levels]
        numbers = [n for n, count in enumerate(counts) if n == 0 or count < counts[n - 1]]
        levels = [taxonomy.levels[number] for number in numbers]
        losses = [taxonomy.loss(level.first[:-1], level.first[1:] - np.int32(1)) for level in levels]
        return cls(tuple(numbers), tuple(levels), tuple(losses))

    def __len__(self) -> int:
        """How many rungs."""
        return len(self.levels)

    def size(self, rung: int) -> int:
        """How many nodes a rung has."""
        return len(self.levels[rung].names)

    def lift(self, nodes: Codes, low: int, high: int) -> Codes:
        """Nodes of one rung as nodes of a higher one; the root's take no memory."""
        if low == high:
            return nodes
        if self.size(high) == 1:
            return np.broadcast_to(np.int32(0), nodes.shape)
        return self.levels[high].node[self.levels[low].first[:-1]][nodes]


@dataclass(frozen=True, eq=False)
class Rolled:
    """Distinct combinations at one node of the lattice, with their counts by sensitive value."""

    levels: Levels
    nodes: tuple[Codes, ...]
    """The node of each entry, by attribute."""
    groups: Ints
    """Entry to group number; entries of a group stand together."""
    total: int
    entries: Entries

    @property
    def weights(self) -> Ints:
        """Rows of each entry."""
        return self.entries.rows


def whole(table: Table, *, sensitive: bool) -> Rolled:
    """The table's distinct combinations on the lowest rungs, told apart by sensitive value only if asked."""
    codes, entries, _ = Entries.distinct(table, sensitive=sensitive)
    groups = _runs(pack(list(codes), table.sizes)[0])
    return Rolled((0,) * len(codes), tuple(codes), groups, int(groups[-1]) + 1, entries)


def roll(base: Rolled, ladders: Sequence[Ladder], levels: Levels) -> Rolled:
    """The counts at a higher node, from those at a lower one."""
    steps = zip(ladders, base.nodes, base.levels, levels, strict=True)
    nodes = [ladder.lift(below, low, high) for ladder, below, low, high in steps]
    sizes = [ladder.size(high) for ladder, high in zip(ladders, levels, strict=True)]
    said = [place for place, size in enumerate(sizes) if size > 1]
    values, people = base.entries.values, base.entries.people
    width = int(values.max()) + 1
    if people is None:
        last: Codes | Ints = values
    else:
        last, width = people * width + values, (int(people.max()) + 1) * width
    keys, bound = pack([*(nodes[place] for place in said), last], [*(sizes[place] for place in said), width])
    distinct, chosen, weights = _merge(keys, bound, base.weights)
    # `pack` adds the last column by multiplying, whatever it did before, so the rest of the key is in front of it.
    groups = _runs(distinct // width)
    whose = None if people is None else people[chosen]
    entries = Entries(values[chosen], base.entries.domain, weights, whose)
    return Rolled(levels, tuple(column[chosen] for column in nodes), groups, int(groups[-1]) + 1, entries)


def _merge(keys: Ints, bound: int, weights: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct keys in order, for each an entry that has it, and the rows that have it."""
    if bound <= 8 * len(keys) + 4096:
        number = np.bincount(keys, weights, bound).astype(np.int64)
        distinct = np.flatnonzero(number)
        place = np.empty(bound, np.int64)
        place[keys] = np.arange(len(keys))
        return distinct, place[distinct], number[distinct]
    distinct, first, of = np.unique(keys, return_index=True, return_inverse=True)
    return distinct, first, np.bincount(of, weights).astype(np.int64)


def _runs(ordered: Ints) -> Ints:
    """Numbers 0, 1, ... for keys in order."""
    new = np.zeros(len(ordered), np.int64)
    new[1:] = ordered[1:] != ordered[:-1]
    return np.cumsum(new, out=new)
