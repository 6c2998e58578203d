"""The history graph of a bucket, and the cuts and equivalence attacks in it (He, Barman, Naughton 2011).

A node for each release in which the bucket changed, an end node for "still there", and for every record an edge from
the release where it arrived to the one where it was gone. An attack is an integer potential X on the nodes: the records
of an edge count X(gone) - X(arrived) times, for or against, and all of them together must cancel. It shows two sets of
e people to have the same values, 2e being the sum of |X(gone) - X(arrived)| over records. So an attack costs at least
the minimum cut between any two nodes that it tells apart (theorem 2).

**What must be looked at.** Potentials with X(new) = X(end) are those of the release before, with the same cost and the
same balance. So only cuts, or attacks, that tell the new node from the end are new: `cut` and `attack`.

**What need not be kept.** An edge that does not end at the end node never changes. Nodes that such edges connect by
`limit` or more are told apart by no cut and no attack below the limit, ever: `contract` makes them one.

**When a cut is an attack.** If all releases of a bucket have a multiple of `size` records, what a cut counts for, less
what it counts against, is such a multiple. So a cut below `size` balances: it is an attack, and none costs less.

**Which nodes no attack below a limit tells apart.** Let W records lead from one of two nodes to the other. If they
count at all, they count alike: for or against, at least W. What counts for and what counts against cancel, so each is
half the cost at most: with W above that they do not count, and both nodes have the same potential. The same if those in
both directions together are more than the cost, or if that many records have to be cut through to part the nodes at
all. Nodes with the same potential become one, which adds up records between others, and so on until nothing changes.
Mostly next to nothing is left.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import rustworkx as rx
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from reissue._arrays import Bools, Ints

__all__ = ["END", "OLD", "History", "attacks", "tied_nodes"]


def tied_nodes(between: Ints, limit: int) -> Ints:
    """Node to its class, where so many records lead from one node to another: attacks that cost less than the limit."""
    classes = np.arange(len(between))
    while True:
        same = (between > (limit - 1) // 2) | (between + between.T >= limit)
        merged = _tied_by(same) if same.any() else _joined_by_many(between + between.T, limit)
        if int(merged.max(initial=0)) + 1 == len(between):
            return classes
        belongs = np.eye(int(merged.max()) + 1, dtype=np.int64)[merged]
        between, classes = belongs.T @ between @ belongs, merged[classes]
        np.fill_diagonal(between, 0)


def _tied_by(same: Bools) -> Ints:
    """Node to its class, from a symmetric or one-sided relation; a few dozen nodes, so plain arrays are fastest."""
    near = same | same.T | np.eye(len(same), dtype=np.bool_)
    label = np.arange(len(same))
    while True:
        least = np.where(near, label, len(same)).min(axis=1)
        least = least[least]
        if (least == label).all():
            return np.unique(label, return_inverse=True)[1].reshape(-1)
        label = least


def _joined_by_many(weight: Ints, least: int) -> Ints:
    """Node to its class: nodes that no cut below `least` tells apart; found by cutting at smaller ones."""
    merged, waiting, number = np.zeros(len(weight), np.int64), [np.arange(len(weight))], 0
    while waiting:
        nodes = waiting.pop()
        part = weight[np.ix_(nodes, nodes)]
        label = _tied_by(part > 0)
        if label.any():
            waiting.extend(nodes[label == one] for one in range(int(label.max()) + 1))
            continue
        value, side = _least_cut(part)
        if len(nodes) == 1 or value >= least:
            merged[nodes], number = number, number + 1
        else:
            waiting.extend([nodes[side], nodes[~side]])
    return merged


def _least_cut(weight: Ints) -> tuple[int, Bools]:
    """The minimum cut of a connected graph, and the nodes on one side; none of a single node."""
    graph: rx.PyGraph[int, int] = rx.PyGraph()
    graph.add_nodes_from(range(len(weight)))
    one, other = np.nonzero(np.triu(weight))
    graph.add_edges_from(list(zip(one.tolist(), other.tolist(), weight[one, other].tolist(), strict=True)))
    found = rx.stoer_wagner_min_cut(graph, weight_fn=float)
    side = np.zeros(len(weight), np.bool_)
    if found is None:
        return 0, side
    side[list(found[1])] = True
    return round(found[0]), side


END = 0
"""The node of what has not ended; releases are numbered from 1."""
OLD = -1
"""The node of all releases that are not named: what was before a bucket's history had more than one node."""
Edges = Mapping[tuple[int, int], int]
_FAILED = 4
"""What the solver says where its presolving made a mess of a small program, which it solves without."""


@dataclass(frozen=True)
class History:
    """One bucket's releases: how many records arrived at one node and were gone at another."""

    edges: Edges = field(default_factory=dict)
    """(node where they arrived, node where they were gone) to the number of records."""
    nodes: Mapping[int, int] = field(default_factory=dict)
    """Release to its node, where that is not `OLD`; contracted releases share one."""

    def step(self, release: int, left: Mapping[int, int], arrived: int) -> "History":
        """The history after a release: `left` says how many left, by the release in which they had come."""
        edges = defaultdict(int, self.edges)
        for since, number in left.items():
            node = self.nodes.get(since, OLD)
            edges[node, END] -= number
            edges[node, release] += number
        edges[release, END] += arrived
        return History({ends: number for ends, number in edges.items() if number}, {**self.nodes, release: release})

    def raised(self, release: int, more: int) -> "History":
        """With more records that arrived in this release."""
        return self.step(release, {}, more)

    @property
    def plain(self) -> bool:
        """Whether all there is to know is how many records of one node are still there."""
        return not self.edges or (len(self.edges) == 1 and END in next(iter(self.edges)))

    def cut(self, release: int, limit: int) -> int:
        """The minimum cut between a release and the end, or `limit` if that is smaller.

        Also `limit` where nothing connects them: potentials can then be shifted to be equal there, and so are old ones.
        """
        weight = _between(self.edges)
        direct, here, there = weight.get((END, release), 0), _neighbours(weight, release), _neighbours(weight, END)
        # Paths over one node each share no edge, so the cut is at least this; and it is at most what leaves either end.
        least = direct + sum(min(number, there.get(node, 0)) for node, number in here.items() if node != END)
        most = min(sum(here.values()), sum(there.values()), limit)
        return (most if least >= most else min(_flow(weight, release, END), limit)) or limit

    def attack(self, release: int, limit: int) -> int | None:
        """The least |W.S| below `limit` of a balanced attack that tells a release from the end; None if there is none.

        An integer program over the nodes that something below the limit may tell apart, mostly none. Where the solver
        gives up, the answer is 1: there may be an attack.
        """
        merged = _relabel(self.edges, _inseparable(self.edges, limit))
        new, end = merged.label(release), merged.label(END)
        connected = any(new in part and end in part for part in map(_nodes, _components(merged.edges)))
        if new == end or not connected:
            return None
        if _nodes(merged.edges) == {new, end}:
            return _opposite(merged.edges, new, end, limit)
        return _cheapest(merged.edges, new, end, limit)

    def contract(self, limit: int, *, thorough: bool = True, balanced: bool = False) -> "History":
        """The same history with one node for all that no cut or attack below the limit tells apart.

        Nodes with a heavy edge between them are joined; if `thorough`, also those that many light edges connect. If
        `balanced`, only attacks count, not cuts: then half the weight is heavy enough.
        """
        merged = _Merged(self.edges, {})
        while classes := (_uncrossed if balanced else _heavy)(_lasting(merged.edges), limit):
            merged = merged.then(classes)
        while thorough and (classes := _connected(_lasting(merged.edges), limit, balanced=balanced)):
            merged = merged.then(classes)
        if not thorough and not merged.labels:
            return self
        # A release's node matters only while somebody who arrived there may still leave.
        alive = {arrived for arrived, gone in merged.edges if gone == END} - {OLD}
        nodes = {release: merged.label(node) for release, node in self.nodes.items()}
        return History(merged.edges, {release: node for release, node in nodes.items() if node in alive})


@dataclass(frozen=True)
class _Merged:
    """Edges after some nodes became one, and which."""

    edges: Edges
    labels: Mapping[int, int]

    def label(self, node: int) -> int:
        return self.labels.get(node, node)

    def then(self, classes: Iterable[Iterable[int]]) -> "_Merged":
        further = _relabel(self.edges, classes)
        labels = {node: further.label(label) for node, label in self.labels.items()}
        return _Merged(further.edges, {**further.labels, **labels})


def _relabel(edges: Edges, classes: Iterable[Iterable[int]]) -> _Merged:
    """One node for each class, its smallest; edges inside a class are gone. The end node keeps its name."""
    labels = {node: min(members) for members in map(set, classes) for node in members}
    merged: dict[tuple[int, int], int] = defaultdict(int)
    for (arrived, gone), number in edges.items():
        a, b = labels.get(arrived, arrived), labels.get(gone, gone)
        if a != b:
            merged[a, b] += number
    return _Merged(merged, labels)


def _lasting(edges: Edges) -> Edges:
    """The edges that never change any more."""
    return {ends: number for ends, number in edges.items() if END not in ends}


def _between(edges: Edges) -> dict[tuple[int, int], int]:
    """The records between any two nodes, in whatever direction; the smaller node comes first."""
    weight: dict[tuple[int, int], int] = defaultdict(int)
    for (arrived, gone), number in edges.items():
        weight[(arrived, gone) if arrived < gone else (gone, arrived)] += number
    return weight


def _nodes(edges: Edges) -> set[int]:
    """The nodes that have edges."""
    return {node for ends in edges for node in ends}


def _neighbours(weight: Edges, node: int) -> dict[int, int]:
    """The nodes beside a node, and the weight between."""
    return {a if b == node else b: number for (a, b), number in weight.items() if node in {a, b}}


def _flow(weight: Edges, one: int, other: int) -> int:
    """The minimum cut between two nodes."""
    places = {node: place for place, node in enumerate(sorted(_nodes(weight)))}
    rows, columns = np.array([(places[a], places[b]) for a, b in weight], np.int32).T
    capacity = np.array(list(weight.values()), np.int32)
    both = csr_array(
        (np.tile(capacity, 2), (np.concatenate([rows, columns]), np.concatenate([columns, rows]))),
        shape=(len(places), len(places)),
    )
    return int(maximum_flow(both, places[one], places[other]).flow_value)


def _heavy(edges: Edges, limit: int) -> list[set[int]]:
    """Classes of nodes that single edges of `limit` or more connect."""
    weight = _between(edges)
    classes: dict[int, set[int]] = {}
    for (a, b), number in weight.items():
        if number >= limit:
            both = classes.get(a, {a}) | classes.get(b, {b})
            classes.update(dict.fromkeys(both, both))
    return list({id(members): members for members in classes.values()}.values())


def _uncrossed(edges: Edges, limit: int) -> list[set[int]]:
    """Classes of nodes that no attack below the limit tells apart.

    What counts for and what counts against cancel, so no edge of more than half the cost can be crossed.
    """
    return _heavy({ends: 1 for ends, number in edges.items() if number > (limit - 1) // 2}, 1)


def _inseparable(edges: Edges, limit: int) -> list[set[int]]:
    """The same, as far as `tied_nodes` can tell: all that edges of the whole graph together tie to each other."""
    names = sorted(_nodes(edges))
    if not names:
        return []
    place = {node: number for number, node in enumerate(names)}
    between = np.zeros((len(names), len(names)), np.int64)
    for (arrived, gone), number in edges.items():
        between[place[arrived], place[gone]] = number
    classes = tied_nodes(between, limit)
    return [{names[node] for node in np.flatnonzero(classes == one)} for one in range(int(classes.max(initial=-1)) + 1)]


def attacks(edges: Edges, limit: int) -> dict[tuple[int, int], int]:
    """For each edge the least |W.S| below `limit` of a balanced attack that crosses it; 1 where the solver gave up."""
    merged = _relabel(edges, _uncrossed(edges, limit))
    ends = {(arrived, gone): (merged.label(arrived), merged.label(gone)) for arrived, gone in edges}
    costs = {pair: _cheapest(merged.edges, *pair, limit) for pair in set(ends.values()) if pair[0] != pair[1]}
    return {edge: costs[pair] or 0 for edge, pair in ends.items() if costs.get(pair)}


def _components(edges: Edges) -> list[dict[tuple[int, int], int]]:
    """The edges of each connected component."""
    classes = _heavy(dict.fromkeys(edges, 1), 1)
    of_node = {node: number for number, members in enumerate(classes) for node in members}
    parts: list[dict[tuple[int, int], int]] = [{} for _ in classes]
    for ends, number in edges.items():
        parts[of_node[ends[0]]][ends] = number
    return parts


def _connected(edges: Edges, limit: int, *, balanced: bool) -> list[set[int]]:
    """Classes of nodes that no cut (if `balanced`, no attack) below the limit tells apart, though not all there may be.

    Paths from one node to another that have at most one node between share no edge. Each costs a cut 1 or more, and an
    attack too. If they all lead the way of time, they count for or against together, and as much must cancel them.
    """
    names = sorted(_nodes(edges))
    place = {node: number for number, node in enumerate(names)}
    ahead = np.zeros((len(names), len(names)), np.int64)
    for (arrived, gone), number in edges.items():
        ahead[place[arrived], place[gone]] = number
    firm = _paths(ahead + ahead.T) >= limit
    if balanced:
        firm |= 2 * _paths(ahead) >= limit
    pairs = {(names[a], names[b]): 1 for a, b in np.argwhere(firm).tolist() if a != b}
    # The first two nodes are where a class may begin: from there on, short paths over it are enough.
    if not pairs and len(names) > 1 and (ahead + ahead.T)[:2].sum(axis=1).min() >= limit:
        pairs = {(names[0], names[1]): 1} if _flow(_between(edges), names[0], names[1]) >= limit else {}
    return _heavy(pairs, 1)


def _paths(weight: Ints) -> Ints:
    """From any node to any other: how many paths there are with at most one node between, none sharing an edge."""
    paths = weight.copy()
    for before, after in zip(weight.T, weight, strict=True):
        paths += np.minimum.outer(before, after)
    return paths


def _opposite(edges: Edges, new: int, end: int, limit: int) -> int | None:
    """The same with these two nodes alone: as many records must lead one way as the other."""
    ahead, back = edges.get((new, end), 0), edges.get((end, new), 0)
    return ahead + back if ahead == back and ahead + back < limit else None


def _cheapest(edges: Edges, new: int, end: int, limit: int) -> int | None:
    """Minimize the sum of weight |X(gone) - X(arrived)| over balanced integer potentials with X(new) > X(end) = 0."""
    names = sorted(_nodes(edges))
    place = {node: number for number, node in enumerate(names)}
    arrived, gone = (np.array([place[ends[side]] for ends in edges], np.int64) for side in (0, 1))
    weight = np.array(list(edges.values()), np.int64)
    count, links = len(names), len(weight)
    drops = np.zeros((links, count))
    drops[np.arange(links), gone] += 1
    drops[np.arange(links), arrived] -= 1
    # Within a connected component an attack below the limit moves no potential further than that from its first node.
    low, high = np.full(count, 1.0 - limit), np.full(count, limit - 1.0)
    for part in _components(edges):
        nodes = _nodes(part)
        first = place[end if end in nodes else min(nodes)]
        low[first] = high[first] = 0
    low[place[new]] = max(low[place[new]], 1)
    each = np.eye(links)
    solve = partial(
        milp,
        np.concatenate([np.zeros(count), weight]),
        constraints=[
            LinearConstraint(np.hstack([weight @ drops, np.zeros(links)]), 0, 0),
            LinearConstraint(np.hstack([-drops, each]), 0, np.inf),
            LinearConstraint(np.hstack([drops, each]), 0, np.inf),
        ],
        integrality=np.concatenate([np.ones(count), np.zeros(links)]),
        bounds=Bounds(np.concatenate([low, np.zeros(links)]), np.concatenate([high, np.full(links, 2.0 * limit)])),
    )
    found = solve()
    if found.status == _FAILED:
        found = solve(options={"presolve": False})
    if found.status == 2:
        return None
    return _recheck(found.x, weight, arrived, gone, limit) if found.status == 0 else 1


def _recheck(solution: object, weight: Ints, arrived: Ints, gone: Ints, limit: int) -> int | None:
    """The solution's cost in whole numbers; 1 if the rounded solution is none."""
    potential = np.rint(np.asarray(solution)[: max(int(arrived.max()), int(gone.max())) + 1]).astype(np.int64)
    drop = potential[gone] - potential[arrived]
    if int((weight * drop).sum()) != 0:
        return 1
    cost = int((weight * np.abs(drop)).sum())
    return cost if cost < limit else None
