"""Nodes of a history graph that no attack below a limit can tell apart (see history_graph).

Let W records lead from one of two nodes to the other. If they count at all, they count alike: for or against, at least
W. What counts for and what counts against cancel, so each is half the cost at most: with W above that they do not
count, and both nodes have the same potential. The same if those in both directions together are more than the cost, or
if that many records have to be cut through to part the nodes at all. Nodes with the same potential become one, which
adds up records between others, and so on until nothing changes. Mostly next to nothing is left.
"""

import numpy as np
import rustworkx as rx

from reissue._arrays import Bools, Ints

__all__ = ["tied_nodes"]


def tied_nodes(between: Ints, limit: int) -> Ints:
    """Node to its class, where so many records lead from one node to another: attacks that cost less than the limit."""
    classes = np.arange(len(between))
    while True:
        same = (between > (limit - 1) // 2) | (between + between.T >= limit)
        merged = _connected(same) if same.any() else _joined_by_many(between + between.T, limit)
        if int(merged.max(initial=0)) + 1 == len(between):
            return classes
        belongs = np.eye(int(merged.max()) + 1, dtype=np.int64)[merged]
        between, classes = belongs.T @ between @ belongs, merged[classes]
        np.fill_diagonal(between, 0)


def _connected(same: Bools) -> Ints:
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
        label = _connected(part > 0)
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
