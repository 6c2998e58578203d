"""What of a bucket's history no attack below the limit can tell apart, made one: old buckets stay small.

In terms of potentials X (see `history_graph`) who was there from release a until before b counts X(b) - X(a)
times, a whole number; who returned counts the sum over both stays. People who stayed once tie releases together
(see `indistinguishable`); what others count can only add to the cost. In old buckets that leaves next to nothing: each
release is tied to the others by all who arrived or left then.
"""

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.papers.equivalence.indistinguishable import tied_nodes

__all__ = ["coefficients", "tied"]


def _stays(patterns: Bools | Ints) -> tuple[Ints, Ints, Ints]:
    """The stretches of all patterns: which pattern, the node where it arrived, and the node where it was gone."""
    steps = np.diff(patterns.astype(np.int8), axis=1, prepend=0, append=0)
    pattern, arrived = np.nonzero(steps == 1)
    return pattern, arrived, np.nonzero(steps == -1)[1]


def tied(patterns: Bools | Ints, weights: Ints, limit: int) -> Ints:
    """Node (a release of the bucket, and the end after the last) to its class: nodes that have the same potential."""
    pattern, arrived, gone = _stays(patterns)
    once = np.bincount(pattern, minlength=len(weights))[pattern] == 1
    between = np.zeros((patterns.shape[1] + 1, patterns.shape[1] + 1), np.int64)
    np.add.at(between, (arrived[once], gone[once]), weights[pattern[once]])
    return tied_nodes(between, 2 * limit - 1)


def coefficients(patterns: Bools | Ints, classes: Ints) -> Ints:
    """Patterns x classes: how often its people count the potential of each class."""
    pattern, arrived, gone = _stays(patterns)
    found = np.zeros((len(patterns), int(classes.max(initial=-1)) + 1), np.int64)
    np.add.at(found, (pattern, classes[gone]), 1)
    np.add.at(found, (pattern, classes[arrived]), -1)
    return found
