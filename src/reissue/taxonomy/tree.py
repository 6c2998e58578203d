"""Taxonomy: a tree over an attribute's values, stored as an order.

Leaves are numbered depth-first, so every node is an interval `[lo, hi]` of leaf codes, and "is under", "lowest common
ancestor" and "how many leaves" are integer arithmetic. A tree is kept as *levels*: level 0 are the leaves, the last
level is the root, and every level coarsens the one before (a leaf that hangs high in a ragged tree stays itself for a
few levels). A cut is an array that sends each leaf to the first leaf of its node; since the nodes of one tree nest,
the join of two cuts is their element-wise minimum.

Numbers and dates are `ordered`: there any run of leaves may be published as a range. The ends of such a range are
values of real people, so by default only the tree's nodes are; see `runs`. The first and last number may stand for all
that lies beyond (bottom and top coding, `open_ends`); they are published as `<=18` and `>=90`.
A missing value is a leaf of its own, always the last one, and hangs directly under the root.
"""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from reissue._arrays import Codes, Floats
from reissue.errors import TaxonomyError

__all__ = ["ROOT", "Grouping", "Level", "Taxonomy", "assemble"]

ROOT = "*"
"""The published text of the root, whatever the hierarchy calls it."""
_SMALL = 512
"""Up to this many leaves, the common level and the loss of every pair of leaves are precomputed."""


@dataclass(frozen=True, eq=False)
class Level:
    """A level of a tree: the node of each leaf, and the names of the nodes."""

    node: Codes
    """The node number of each leaf code; never decreases."""
    names: tuple[str | None, ...]
    """The published text of each node; None is the missing value."""

    @cached_property
    def first(self) -> Codes:
        """The first leaf of each node, followed by the number of leaves."""
        starts = np.flatnonzero(np.diff(self.node, prepend=-1))
        return np.append(starts, len(self.node)).astype(np.int32)

    @cached_property
    def lo(self) -> Codes:
        """The first leaf of the node of each leaf code."""
        return self.first[self.node]

    @cached_property
    def hi(self) -> Codes:
        """The last leaf of the node of each leaf code."""
        return self.first[self.node + 1] - np.int32(1)


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree over the values of one column."""

    levels: tuple[Level, ...]
    positions: Floats
    """The position of each leaf on a line: 0, 1, 2, ... for categories, the number itself for numbers."""
    ordered: bool
    missing: bool
    """Whether the last leaf is the missing value."""
    root: str = ROOT
    """What the hierarchy calls the root; other tools may publish it by this name."""
    open_ends: tuple[bool, bool] = (False, False)
    """Whether the first leaf stands for all smaller numbers (bottom coding), and the last for all larger ones."""
    runs: bool = False
    """Whether any run of leaves may be published instead of nodes only; for ordered leaves. It shows extreme values."""

    @property
    def size(self) -> int:
        """The number of leaves."""
        return len(self.levels[0].node)

    @property
    def height(self) -> int:
        """The number of generalization steps from a leaf to the root."""
        return len(self.levels) - 1

    @property
    def names(self) -> tuple[str | None, ...]:
        """The leaves as published."""
        return self.levels[0].names

    def lowest(self, lo: Codes, hi: Codes) -> Codes:
        """The lowest level on which both leaves lie under one node."""
        if self.size <= _SMALL:
            return self._lowest_between[lo, hi]
        return self._lowest(lo, hi)

    @cached_property
    def _lowest_between(self) -> Codes:
        """The same for every pair of leaves of a small domain."""
        lo, hi = (one.reshape(-1).astype(np.int32) for one in np.indices((self.size, self.size)))
        return self._lowest(lo, hi).reshape(self.size, self.size)

    def _lowest(self, lo: Codes, hi: Codes) -> Codes:
        level = np.zeros(lo.shape, np.int32)
        for above in self.levels[:-1]:
            level += above.node[lo] != above.node[hi]
        return level

    @cached_property
    def leaves(self) -> tuple[Codes, Codes]:
        """Level x leaf, without the root's level: the first and the last leaf of the leaf's node."""
        levels = self.levels[:-1]
        return np.stack([level.lo for level in levels]), np.stack([level.hi for level in levels])

    def snap(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """The smallest publishable interval that contains `[lo, hi]`: a node, or a run if `runs`."""
        if self.runs:
            if not self.missing:
                return lo, hi
            mixed = (hi == self.size - 1) & (lo < hi)
            return np.where(mixed, np.int32(0), lo), hi
        level = self.lowest(lo, hi)
        low, high = lo.copy(), hi.copy()
        for number, above in enumerate(self.levels[1:], start=1):
            here = level == number
            low[here], high[here] = above.lo[lo[here]], above.hi[lo[here]]
        return low, high

    def loss(self, lo: Codes, hi: Codes) -> Floats:
        """The share of the domain that a published interval covers: 0 for a leaf, 1 for the root."""
        # Halves, so that the distance between the largest floats does not overflow.
        halves = self.positions / 2
        span = float(halves[-1] - halves[0])
        if span == 0:
            return np.zeros(lo.shape)
        return (halves[hi] - halves[lo]) / span

    def lost(self, lo: Codes, hi: Codes) -> Floats:
        """The information loss of the smallest publishable interval that contains `[lo, hi]`."""
        between = self._lost_between
        return self.loss(*self.snap(lo, hi)) if between is None else between[lo, hi]

    @cached_property
    def _lost_between(self) -> Floats | None:
        """The same for every pair of leaves of a small domain; None with runs or many leaves."""
        if self.runs or self.size > _SMALL:
            return None
        lo, hi = (one.reshape(-1).astype(np.int32) for one in np.indices((self.size, self.size)))
        return self.loss(*self.snap(lo, hi)).reshape(self.size, self.size)

    def text(self, lo: Codes, hi: Codes) -> list[str | None]:
        """The published text of intervals from `snap` or a cut: node names, else `[20, 34]`."""
        return [self._text(low, high) for low, high in zip(lo.tolist(), hi.tolist(), strict=True)]

    def _text(self, lo: int, hi: int) -> str | None:
        if lo == hi:
            return self.names[lo]
        if (lo, hi) == (0, self.size - 1):
            return ROOT
        for level in self.levels[1:-1]:
            if level.lo[lo] == lo and level.hi[lo] == hi:
                return level.names[int(level.node[lo])]
        below, beyond = self.open_ends[0] and lo == 0, self.open_ends[1] and hi == self.size - 1 - self.missing
        if below or beyond:
            return ROOT if below and beyond else f"<={self.names[hi]}" if below else f">={self.names[lo]}"
        return f"[{self.names[lo]}, {self.names[hi]}]"

    def cut(self, level: int) -> Codes:
        """The cut of all nodes on one level: full-domain generalization."""
        return self.levels[level].lo

    @staticmethod
    def join(cuts: Sequence[Codes]) -> Codes:
        """The most general of the cuts' nodes on every path."""
        return np.asarray(np.minimum.reduce(list(cuts)), np.int32)

    @staticmethod
    def ends(cut: Codes) -> Codes:
        """The last leaf of each leaf's node in a cut."""
        last = np.append(np.flatnonzero(np.diff(cut)), len(cut) - 1).astype(np.int32)
        return np.asarray(last[np.cumsum(np.diff(cut, prepend=cut[:1]) != 0)], np.int32)

    def children(self, lo: int, hi: int) -> list[tuple[int, int]]:
        """The intervals of a node's children; none for a leaf."""
        if lo == hi:
            return []
        below = next(level for level in reversed(self.levels) if level.hi[lo] < hi)
        starts = below.first[below.node[lo] : below.node[hi] + 2].tolist()
        return [(start, after - 1) for start, after in itertools.pairwise(starts)]


Grouping: TypeAlias = tuple[Codes, Sequence[str]]
"""A level to be built: the node number of each leaf (never decreasing), and the names of the nodes."""


def assemble(
    leaves: Sequence[str],
    groupings: Sequence[Grouping],
    positions: Floats,
    *,
    ordered: bool = False,
    missing: bool,
    root: str = ROOT,
    open_ends: tuple[bool, bool] = (False, False),
) -> Taxonomy:
    """Build a taxonomy from its leaves and the groupings above them; the root and the missing leaf are added here."""
    size = len(leaves)
    levels = [(np.arange(size, dtype=np.int32), tuple(leaves)), *((node, tuple(names)) for node, names in groupings)]
    built = [
        Level(np.append(node, np.int32(len(names))), (*names, None)) if missing else Level(node, names)
        for node, names in levels
    ]
    if missing:
        positions = np.append(positions, _beyond(positions) if size else 0.0)
    built.append(Level(np.zeros(len(positions), np.int32), (ROOT,)))
    return Taxonomy(tuple(built), positions, ordered=ordered, missing=missing, root=root, open_ends=open_ends)


def _beyond(positions: Floats) -> float:
    """One average step beyond the last value, so that the missing value weighs like any other leaf on any scale."""
    # Halves, as in `loss`, capped at the largest float.
    halves = positions / 2
    step = float(halves[-1] - halves[0]) / max(len(halves) - 1, 1)
    return 2 * min(float(halves[-1]) + (step or 0.5), sys.float_info.max / 2)


def check_names(taxonomy: Taxonomy, column: str) -> None:
    """Refuse a text with two meanings: published groups that differ would look the same."""
    meaning: dict[str | None, tuple[int, int]] = {}
    for number, level in enumerate(taxonomy.levels):
        bounds = zip(level.first[:-1].tolist(), (level.first[1:] - 1).tolist(), strict=True)
        for name, bound in zip(level.names, bounds, strict=True):
            if meaning.setdefault(name, bound) != bound:
                raise TaxonomyError(
                    f"The taxonomy of column '{column}' uses the same name for different sets of values (seen on level "
                    f"{number}). Give every node a name of its own; '{ROOT}' is the root's."
                )
    if taxonomy.ordered:
        for name, bound in meaning.items():
            if name and any(run != bound for run in _as_runs(name, meaning)):
                raise TaxonomyError(
                    f"The taxonomy of column '{column}' has a node that is named like a range of its leaves, but holds "
                    "others. Give it another name."
                )


def _as_runs(name: str, meaning: dict[str | None, tuple[int, int]]) -> list[tuple[int, int]]:
    """The intervals that a name would denote if it were read as `[leaf, leaf]`."""
    if not (name.startswith("[") and name.endswith("]")):
        return []
    cuts = [place for place in range(1, len(name) - 1) if name.startswith(", ", place)]
    ends = [(meaning.get(name[1:place]), meaning.get(name[place + 2 : -1])) for place in cuts]
    leaves = [(low[0], high[0]) for low, high in ends if low and high and low[0] == low[1] and high[0] == high[1]]
    return [(lo, hi) for lo, hi in leaves if lo < hi]
