"""What a full-domain search minimizes, with the bounds that let it skip most of the lattice.

Every measure is a *floor*, which never falls on the way up the lattice, and what suppressing groups adds to it. Write
S(v) for the rows that a growing requirement suppresses at node v. Going down from v to u cuts groups into pieces, so
S(u) holds S(v), and a row of S(v) adds at u no less than at v, because its cells and its group only got smaller. Hence
loss(u) >= floor(u) + added(v) for every u below v.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.methods.lattice.lattice import Ladder, Rolled

__all__ = ["MEASURES", "LatticeLoss"]


class LatticeLoss(ABC):
    """A loss to minimize over the lattice."""

    def __init__(self, ladders: Sequence[Ladder], base: Rolled) -> None:
        """For the table whose counts on the lowest rungs are `base`."""
        self.ladders = ladders
        self.base = base
        self.rows = int(base.weights.sum())

    @cached_property
    @abstractmethod
    def lowest(self) -> Floats:
        """A lower bound of the floor at every node, as an array with one axis per attribute."""

    @abstractmethod
    def floor(self, rolled: Rolled, sizes: Ints) -> float:
        """The loss at a node if nothing were suppressed; that of a coarser node is not smaller."""

    def added(self, rolled: Rolled, sizes: Ints, bad: Bools) -> float:
        """What suppressing groups adds at least, here and at finer nodes."""
        del rolled, sizes, bad
        return 0.0

    def loss(self, rolled: Rolled, sizes: Ints, bad: Bools) -> float:
        """The loss at a node with groups suppressed."""
        return self.floor(rolled, sizes) + (self.added(rolled, sizes, bad) if bad.any() else 0.0)

    @cached_property
    def _most_groups(self) -> Floats:
        """An upper bound of the number of groups at every node."""
        counts = [np.array([ladder.size(rung) for rung in range(len(ladder))], np.float64) for ladder in self.ladders]
        return np.minimum(reduce(np.multiply.outer, counts), float(self.base.total))


class _Cells(LatticeLoss):
    """The average information loss per cell; a suppressed row is lost in all its cells."""

    @cached_property
    def lowest(self) -> Floats:
        """The floor itself: a sum over attributes, each from its own marginal counts."""
        sums = []
        for ladder, nodes in zip(self.ladders, self.base.nodes, strict=True):
            rows = np.bincount(nodes, self.base.weights, ladder.size(0))
            rungs = zip(ladder.levels, ladder.losses, strict=True)
            sums.append(np.array([rows @ losses[level.node] for level, losses in rungs]))
        lowest: Floats = reduce(np.add.outer, sums) / (self.rows * len(self.ladders))
        return lowest

    def floor(self, rolled: Rolled, sizes: Ints) -> float:
        """Known for all nodes from the start."""
        del sizes
        return float(self.lowest[rolled.levels])

    def added(self, rolled: Rolled, sizes: Ints, bad: Bools) -> float:
        """What generalization had left of the cells."""
        del sizes
        out = bad[rolled.groups]
        weights = rolled.weights[out]
        steps = zip(self.ladders, rolled.levels, rolled.nodes, strict=True)
        left = sum(float((1 - ladder.losses[rung][nodes[out]]) @ weights) for ladder, rung, nodes in steps)
        return left / (self.rows * len(self.ladders))


class _Discernibility(LatticeLoss):
    """Every row costs the size of its group; a suppressed row costs as much as there are rows."""

    @cached_property
    def lowest(self) -> Floats:
        """Squares sum up to least when all groups have the same size."""
        return self.rows**2 / self._most_groups

    def floor(self, rolled: Rolled, sizes: Ints) -> float:
        """The sum of squares."""
        del rolled
        return float(sizes @ sizes)

    def added(self, rolled: Rolled, sizes: Ints, bad: Bools) -> float:
        """All rows instead of those of the group."""
        del rolled
        return float(sizes[bad] @ (self.rows - sizes[bad]))


class _Groups(LatticeLoss):
    """Rows per published group, suppressed ones included: the average group size before it is divided by k."""

    @cached_property
    def lowest(self) -> Floats:
        """As if every combination of nodes occurred."""
        return self.rows / self._most_groups

    def floor(self, rolled: Rolled, sizes: Ints) -> float:
        """As if all groups were published."""
        del rolled
        return self.rows / len(sizes)

    def loss(self, rolled: Rolled, sizes: Ints, bad: Bools) -> float:
        """Rows over the groups that are published."""
        del rolled, sizes
        return self.rows / max(int((~bad).sum()), 1)


MEASURES: dict[str, type[LatticeLoss]] = {"cells": _Cells, "discernibility": _Discernibility, "groups": _Groups}
"""The measures by name."""
