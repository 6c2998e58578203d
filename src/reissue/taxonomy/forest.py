"""Several taxonomies side by side: what is asked of many groups, each on an attribute of its own, is looked up at once.

The levels of all taxonomies lie in flat arrays, one after the other; the root's level is the last one of each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Forest"]

_Ask = Callable[..., Codes | Floats]

_SMALL = 512
"""Up to this many leaves, the lowest common level of every pair of leaves is precomputed."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Taxonomies in flat arrays, each referred to by its number (`place`)."""

    trees: tuple[Taxonomy, ...]
    size: Ints
    """Number of leaves, by taxonomy."""
    start: Ints
    """Where the levels of each taxonomy begin in the flat arrays: level by level, each as long as there are leaves."""
    runs: Bools
    """Whether runs of leaves are published, by taxonomy."""
    missing: Bools
    """Whether the last leaf is the missing value, by taxonomy."""

    @classmethod
    def of(cls, trees: Sequence[Taxonomy]) -> "Forest":
        """Build it from the taxonomies of a table."""
        size = np.array([tree.size for tree in trees])
        length = size * [len(tree.levels) for tree in trees]
        runs, missing = np.array([tree.runs for tree in trees]), np.array([tree.missing for tree in trees])
        return cls(tuple(trees), size, np.cumsum(length) - length, runs, missing)

    @cached_property
    def node(self) -> Codes:
        """Level x leaf: the number of the leaf's node on that level."""
        return np.concatenate([level.node for tree in self.trees for level in tree.levels])

    @cached_property
    def node_loss(self) -> Floats:
        """Level x node: the information loss of publishing the node."""
        return np.concatenate([self._losses(tree, number) for tree in self.trees for number in range(len(tree.levels))])

    @cached_property
    def node_saves(self) -> Floats:
        """Level x node: the largest saving from replacing this node, or one below it, by one of its children."""
        return np.concatenate([one for tree in self.trees for one in self._savings(tree)])

    @cached_property
    def saves(self) -> Floats:
        """The largest saving anywhere in each tree; infinite where runs are published."""
        root = self.level(np.arange(len(self.size)), np.array([len(tree.levels) - 1 for tree in self.trees]))
        return np.where(self.runs, np.inf, self.node_saves[root])

    @staticmethod
    def _losses(tree: Taxonomy, number: int) -> Floats:
        first = tree.levels[number].first
        losses = np.zeros(tree.size)
        losses[: len(first) - 1] = tree.loss(first[:-1], first[1:] - np.int32(1))
        return losses

    def _savings(self, tree: Taxonomy) -> list[Floats]:
        found = [np.zeros(tree.size)]
        for number in range(1, len(tree.levels)):
            above, below = tree.levels[number], tree.levels[number - 1]
            children = above.node[below.first[:-1]]
            losses, total = self._losses(tree, number - 1)[: len(children)], len(above.first) - 1
            least, before = np.full(total, np.inf), np.zeros(tree.size)
            np.minimum.at(least, children, losses)
            np.maximum.at(before, children, found[-1][: len(children)])
            saved = self._losses(tree, number)[:total] - least
            before[:total] = np.maximum(before[:total], saved)
            found.append(before)
        return found

    @cached_property
    def _ends(self) -> tuple[Codes, Codes]:
        """Level x leaf: the first and the last leaf of the leaf's node."""
        levels = [level for tree in self.trees for level in tree.levels]
        return np.concatenate([level.lo for level in levels]), np.concatenate([level.hi for level in levels])

    @cached_property
    def _pairs(self) -> tuple[Ints, Codes]:
        """Where the pairs of leaves of each taxonomy begin, and the lowest common level of each pair."""
        length = self.size**2
        return np.cumsum(length) - length, np.concatenate([_lowest(tree) for tree in self.trees])

    @cached_property
    def _line(self) -> tuple[Ints, Floats, Floats]:
        """Where each taxonomy's leaves begin, half of each leaf's position, and half of each taxonomy's span."""
        halves = [tree.positions / 2 for tree in self.trees]
        span = np.array([float(one[-1] - one[0]) or 1.0 for one in halves])
        return np.cumsum(self.size) - self.size, np.concatenate(halves), span

    def level(self, place: Ints, number: Codes | Ints) -> Ints:
        """Where a level of each attribute begins in the flat arrays."""
        return np.asarray(self.start[place] + number * self.size[place], np.int64)

    def lowest(self, place: Ints, lo: Codes, hi: Codes) -> Codes:
        """The lowest level on which both leaves lie under one node."""
        if int(self.size.max()) <= _SMALL:
            start, level = self._pairs
            return level.take(start[place] + lo * self.size[place] + hi)
        found = np.empty(len(place), np.int32)
        for number in np.unique(place).tolist():
            here = np.flatnonzero(place == number)
            found[here] = self.trees[number].lowest(lo[here], hi[here])
        return found

    def mixed(self, place: Ints, lo: Codes, hi: Codes) -> Bools:
        """Which intervals contain both the missing value and others."""
        return np.asarray(self.missing[place] & (hi == self.size[place] - 1) & (lo < hi))

    def lost(self, place: Ints, lo: Codes, hi: Codes) -> Floats:
        """The information loss of the smallest publishable interval that contains `[lo, hi]`."""
        return np.asarray(self._by_kind(self._node_lost, self._run_lost, place, lo, hi), np.float64)

    def cut_near(self, place: Ints, median: Codes, lo: Codes, hi: Codes) -> Codes:
        """Where to cut a group in two: at the start of the median's child of the group's node, or of the next child.

        With runs, at the median itself. Never at the smallest code, which would leave one side empty. A group with
        missing and other values is cut between these.
        """
        return np.asarray(self._by_kind(self._node_cut, self._run_cut, place, median, lo, hi), np.int32)

    def _by_kind(self, nodes: _Ask, runs: _Ask, place: Ints, *codes: Codes) -> Codes | Floats:
        """Apply `nodes` to groups whose attribute publishes nodes, and `runs` to the others."""
        run = self.runs[place]
        if not run.any():
            return nodes(place, *codes)
        found = runs(place, *codes)
        if not run.all():
            node = np.flatnonzero(~run)
            found[node] = nodes(place[node], *(one[node] for one in codes))
        return found

    def _node_lost(self, place: Ints, lo: Codes, hi: Codes) -> Floats:
        at = self.level(place, self.lowest(place, lo, hi))
        return self.node_loss.take(at + self.node.take(at + lo))

    def _run_lost(self, place: Ints, lo: Codes, hi: Codes) -> Floats:
        start, halves, span = self._line
        at, low = start[place], np.where(self.mixed(place, lo, hi), 0, lo)
        return (halves.take(at + hi) - halves.take(at + low)) / span[place]

    def _node_cut(self, place: Ints, median: Codes, lo: Codes, hi: Codes) -> Codes:
        at = self.level(place, np.maximum(self.lowest(place, lo, hi) - 1, 0)) + median
        first, last = self._ends
        start = first.take(at)
        return np.where(start > lo, start, last.take(at) + 1)

    def _run_cut(self, place: Ints, median: Codes, lo: Codes, hi: Codes) -> Codes:
        return np.where(self.mixed(place, lo, hi), hi, np.where(median > lo, median, median + 1))


def _lowest(tree: Taxonomy) -> Codes:
    lo, hi = (one.reshape(-1).astype(np.int32) for one in np.indices((tree.size, tree.size)))
    return tree.lowest(lo, hi)
