"""A start for local recoding that is peeled off the generalization lattice, node by node.

The nodes of the lattice are visited in the order of what they lose. Rows that meet the requirement at a node, in groups
of equal generalized values, stay there if they are a fair share of the rows that are left; the others go on to the next
node. So frequent rows are generalized little and rare ones much. Top-down partitioning, which must generalize a whole
branch for its rarest row, loses more where groups are large.

Nodes are tried on distinct combinations of values: O(nodes x combinations left x attributes). For growing requirements
most nodes need no trial, because a coarser one was tried where too few rows stand. The lattice is thinned where there
would be too many: the longest ladders lose rungs in their middle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts
from reissue.counting.keys import distinct_keys, pack
from reissue.methods.entries import Entries
from reissue.methods.lattice.lattice import Ladder
from reissue.methods.registry import Job
from reissue.requirements import Requirement
from reissue.taxonomy.tree import Taxonomy

__all__ = ["peeled"]

_FAIR = 0.01
"""The share of the rows left that must stay at a node; smaller shares make many nodes with few groups each."""
_WORK = 5 * 10**8
"""Nodes times combinations, at most: a few CPU seconds, since most nodes are tried on few combinations."""
_GLANCE = 4_096
"""Nodes that are looked at together for the next one to try."""
_HALVINGS = 5
"""Bins of a number that may be published as any range: 2, 4, ... 32 with about as many rows each."""

Node: TypeAlias = tuple[int, ...]
"""A node of the lattice: the rung of each attribute."""


@dataclass(frozen=True, eq=False)
class _Rungs:
    """One attribute's levels, from fine to coarse: the node of each entry, and what an entry loses there on average."""

    nodes: tuple[Ints, ...]
    lost: tuple[float, ...]

    @classmethod
    def of(cls, taxonomy: Taxonomy, codes: Codes, rows: Ints) -> "_Rungs":
        """Of a taxonomy's levels, or of bins where any range may be published."""
        if taxonomy.runs:
            return cls._of_bins(taxonomy, codes, rows)
        ladder = Ladder.of(taxonomy)
        nodes = [level.node[codes].astype(np.int64) for level in ladder.levels]
        losses = zip(ladder.losses, nodes, strict=True)
        return cls(tuple(nodes), tuple(float(np.average(loss.take(node), weights=rows)) for loss, node in losses))

    @classmethod
    def _of_bins(cls, taxonomy: Taxonomy, codes: Codes, rows: Ints) -> "_Rungs":
        below = np.cumsum(np.bincount(codes, rows, taxonomy.size))
        nodes, lost = [codes.astype(np.int64)], [0.0]
        for bins in (2**power for power in range(_HALVINGS, -1, -1)):
            of_leaf = np.minimum(((below - 1) * bins / below[-1]).astype(np.int64), bins - 1)
            if taxonomy.missing and bins > 1:
                of_leaf[-1] = bins
            node = of_leaf[codes]
            lo, hi = np.full(bins + 1, taxonomy.size - 1, np.int32), np.zeros(bins + 1, np.int32)
            np.minimum.at(lo, node, codes)
            np.maximum.at(hi, node, codes)
            nodes.append(node)
            lost.append(float(np.average(taxonomy.lost(lo[node], hi[node]), weights=rows)))
        return cls(tuple(nodes), tuple(lost))

    def __len__(self) -> int:
        return len(self.nodes)

    def without_middle(self) -> "_Rungs":
        """Without its middle rung."""
        middle = len(self) // 2
        nodes, lost = self.nodes, self.lost
        return _Rungs(nodes[:middle] + nodes[middle + 1 :], lost[:middle] + lost[middle + 1 :])

    def only(self, chosen: Bools) -> "_Rungs":
        """Of some entries."""
        return _Rungs(tuple(node[chosen] for node in self.nodes), self.lost)


def peeled(job: Job, most: float = np.inf) -> Codes | None:
    """Row to group, such that every group meets the requirement; None where the lattice cannot be thinned enough.

    It gives up, too, as soon as rows lose more than `most` together if those that are left lose what rows lose on
    average at the next node. The requirement judges groups by themselves, and there is one row for each person.
    """
    table, requirement = job.table, job.requirement
    codes, entries, of_row = Entries.distinct(table, sensitive=requirement.sensitive)
    rungs = [_Rungs.of(tree, one, entries.rows) for tree, one in zip(table.taxonomies, codes, strict=True)]
    while prod(map(len, rungs)) * len(entries.values) > _WORK:
        longest = max(range(len(rungs)), key=lambda place: len(rungs[place]))
        if len(rungs[longest]) <= 2:
            return None
        rungs[longest] = rungs[longest].without_middle()
    group = _peel(rungs, entries, requirement, most)
    return None if group is None else group[of_row].astype(np.int32)


class _Lattice:
    """The nodes of a lattice, and how many rows of those left may still stand at each of them.

    Where a requirement is growing, a node where few rows stand bounds all finer nodes: whoever stands at one of them
    stands here too. That stays true while rows leave, since a group leaves as a whole.
    """

    def __init__(self, rungs: Sequence[_Rungs], rows: int) -> None:
        """Of each attribute's rungs."""
        losses = np.zeros([1] * len(rungs))
        for place, one in enumerate(rungs):
            losses = losses + np.array(one.lost).reshape([-1 if at == place else 1 for at in range(len(rungs))])
        self._order = np.argsort(losses, axis=None, kind="stable")
        self._losses = losses
        self._most = np.full(losses.shape, rows)

    def following(self, first: int, needed: float) -> int | None:
        """The first place, in order of loss, from which on so many rows may stand at a node; None for none."""
        most = self._most.reshape(-1)
        for start in range(first, len(self._order), _GLANCE):
            enough = most[self._order[start : start + _GLANCE]] >= needed
            if enough.any():
                return start + int(enough.argmax())
        return None

    def node(self, place: int) -> Node:
        """The node at a place in the order of loss."""
        return tuple(int(rung) for rung in np.unravel_index(self._order[place], self._losses.shape))

    def lost(self, node: Node) -> float:
        """What a row loses at a node on average."""
        return float(self._losses[node])

    def bound(self, node: Node, rows: int) -> None:
        """At this node so many rows stand."""
        finer = self._most[tuple(slice(rung + 1) for rung in node)]
        np.minimum(finer, rows, out=finer)

    def above(self, node: Node) -> list[Node]:
        """From a node to the top: always the next rung that loses least."""
        chain, top = [], tuple(size - 1 for size in self._losses.shape)
        while node != top:
            higher = [(*node[:at], rung + 1, *node[at + 1 :]) for at, rung in enumerate(node) if rung < top[at]]
            node = min(higher, key=lambda one: float(self._losses[one]))
            chain.append(node)
        return chain


def _peel(rungs: Sequence[_Rungs], entries: Entries, requirement: Requirement, most: float) -> Ints | None:
    """Entry to group."""
    lost, number_left = 0.0, int(entries.rows.sum())
    lattice = _Lattice(rungs, int(entries.rows.sum()))
    group, rest, made = np.full(len(entries.values), -1), np.arange(len(entries.values)), 0
    left = list(rungs)
    while len(rest):
        before, place = len(rest), lattice.following(0, _needed(entries, rest))
        while place is not None and len(rest):
            node = lattice.node(place)
            each = lattice.lost(node)
            if lost + each * number_left > most:
                return None
            standing = _Standing.at(node, left, entries, rest, requirement)
            if standing.number >= _needed(entries, rest):
                group[rest[standing.rows]] = made + standing.label
                made += int(standing.label.max()) + 1
                lost, number_left = lost + each * standing.number, number_left - standing.number
                rest, left = rest[~standing.rows], [one.only(~standing.rows) for one in left]
                if requirement.growing:
                    lattice.bound(node, 0)
            elif requirement.growing:
                lattice.bound(node, standing.number)
                _bound_above(lattice, node, left, entries, rest, requirement)
            place = lattice.following(place + 1, _needed(entries, rest))
        if len(rest) == before:
            return _with_rest(group, entries, requirement, made)
    return group


def _needed(entries: Entries, rest: Ints) -> float:
    """How many rows must stand at a node."""
    return max(_FAIR * float(entries.rows[rest].sum()), 1.0)


def _bound_above(
    lattice: _Lattice, node: Node, left: Sequence[_Rungs], entries: Entries, rest: Ints, requirement: Requirement
) -> None:
    """Find, above a node where too few rows stand, the last one where that is so: it bounds many others."""
    chain, needed = lattice.above(node), _needed(entries, rest)
    low, high = -1, len(chain)
    while high - low > 1:
        middle = (low + high) // 2
        number = _Standing.at(chain[middle], left, entries, rest, requirement).number
        if number >= needed:
            high = middle
        else:
            low = middle
            lattice.bound(chain[middle], number)


def _key(columns: Sequence[Ints]) -> Ints:
    """Entries of the same nodes have the same number 0, 1, ..."""
    key, bound = pack(columns, [int(column.max()) + 1 for column in columns])
    return np.asarray(distinct_keys(key, bound)[1], np.int64)


@dataclass(frozen=True, eq=False)
class _Standing:
    """Which of the entries that are left stand at a node."""

    rows: Bools
    """Entry to whether it stands."""
    holds: Bools
    key: Ints
    number: int
    """How many rows stand."""

    @classmethod
    def at(
        cls, node: Node, left: Sequence[_Rungs], entries: Entries, rest: Ints, requirement: Requirement
    ) -> "_Standing":
        """At a node, whose rungs are those of the entries that are left."""
        key = _key([one.nodes[rung] for one, rung in zip(left, node, strict=True)])
        rows, total = entries.rows[rest], int(key.max()) + 1
        holds = requirement.holds(Counts(key, entries.values[rest], entries.domain, total, rows))
        stands = np.asarray(holds[key], np.bool_)
        return cls(stands, holds, key, int(rows[stands].sum()))

    @property
    def label(self) -> Ints:
        """The groups 0, 1, ... of those that stand."""
        return np.asarray((np.cumsum(self.holds) - 1)[self.key[self.rows]], np.int64)


def _with_rest(group: Ints, entries: Entries, requirement: Requirement, made: int) -> Ints | None:
    """Rows that are left join the last groups, which lose most, as few as make the requirement hold."""
    last = np.where(group < 0, made, group)
    for first in range(made - 1, -1, -1):
        joined = np.minimum(last, first)
        of_last = joined == first
        counts = Counts(
            np.zeros(int(of_last.sum()), np.int64), entries.values[of_last], entries.domain, 1, entries.rows[of_last]
        )
        if bool(requirement.holds(counts)[0]):
            return joined
    return None
