"""What of a bucket's history no attack below the limit can tell apart, made one: old buckets stay small.

In terms of potentials X (see `algorithms._mincut`) who was there from release a until before b counts X(b) - X(a)
times, a whole number; who came back counts the sum over both stays. Let W people have stayed once, from one of two
nodes to the other. If they count at all, they count alike: for or against, at least W. What counts for and what counts
against are both e at most, so with W at or above the limit they do not count, and X is the same at both nodes; likewise
if those in both directions together are more than 2e can be, or if that many people have to be cut through to part the
nodes at all. Nodes with the same X become one, which adds up people between others, and so on until nothing changes.

In old buckets that leaves next to nothing: each release is tied to the others by all who came or left then.
"""

import numpy as np
import rustworkx as rx

from reissue._arrays import Bools, Ints

__all__ = ["coefficients", "tied"]


def _stays(patterns: Bools | Ints) -> tuple[Ints, Ints, Ints]:
    """The stretches of all patterns: which pattern, the node where it came, and the node where it was gone."""
    steps = np.diff(patterns.astype(np.int8), axis=1, prepend=0, append=0)
    pattern, came = np.nonzero(steps == 1)
    return pattern, came, np.nonzero(steps == -1)[1]


def tied(patterns: Bools | Ints, weights: Ints, limit: int) -> Ints:
    """Node (a release of the bucket, and the end after the last) to its class: nodes that have the same potential."""
    pattern, came, gone = _stays(patterns)
    once = np.bincount(pattern, minlength=len(weights))[pattern] == 1
    between = np.zeros((patterns.shape[1] + 1, patterns.shape[1] + 1), np.int64)
    np.add.at(between, (came[once], gone[once]), weights[pattern[once]])
    classes = np.arange(len(between))
    while True:
        same = (between >= limit) | (between + between.T >= 2 * limit - 1)
        merged = _connected(same) if same.any() else _woven(between + between.T, 2 * limit - 1)
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


def _woven(weight: Ints, least: int) -> Ints:
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


def coefficients(patterns: Bools | Ints, classes: Ints) -> Ints:
    """Patterns x classes: how often its people count the potential of each class."""
    pattern, came, gone = _stays(patterns)
    found = np.zeros((len(patterns), int(classes.max(initial=-1)) + 1), np.int64)
    np.add.at(found, (pattern, classes[gone]), 1)
    np.add.at(found, (pattern, classes[came]), -1)
    return found
