"""What earlier releases hold against the next one, kept up to date while its cuts become finer.

Two kinds of items matter. `Chained`: the chains of groups in earlier releases on which a target may already stand, with
what is left of each value. `Arrived`: the records that arrived after one earlier release, known no finer than that
release's cuts tell. Each item belongs to a *time*: the arrival of the chain, or the release before it. Items are
grouped by their *key*: the time, and their nodes on the join of the time's own cuts and the next release's. Every group
of the next release belongs to one key of each time. Specializing a node of the next release changes keys only of times
whose own cuts are finer than the node; for others the new groups keep their parent's key.

All times lie in the same arrays: a trial costs by the items under its node, not by the number of earlier releases.

A `Pool` holds items in groups that only ever split: each group's items stand together, so a split touches nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.histogram import Histogram, counted
from reissue.counting.keys import stable_order
from reissue.counting.segments import ranges
from reissue.errors import InternalError
from reissue.published.boxes import PublishedValues

__all__ = ["Arrived", "Chained", "Covers", "OpenNode", "Pool", "SplitGroups", "Trial", "covers_of"]


@dataclass(frozen=True, eq=False)
class SplitGroups:
    """Some groups, each split into as many parts (some perhaps empty) as the attribute's node has children."""

    groups: Ints
    width: int
    items: Ints
    """All items of these groups, group by group."""
    part: Ints
    """Item to its part: place of the group times width, plus child."""

    @property
    def parts(self) -> int:
        """How many parts there are, empty ones included."""
        return len(self.groups) * self.width


class Pool:
    """Items with a leaf on each attribute, in groups."""

    def __init__(self, leaves: Sequence[Codes], lengths: Ints | None = None) -> None:
        """`leaves` holds one array per attribute; at first the items are in groups of these lengths, or all in one."""
        self._leaves = [column.astype(_small(column)) for column in leaves]
        self._order = np.arange(len(leaves[0]))
        self._length = np.full(1, len(leaves[0])) if lengths is None else lengths
        self._start = np.cumsum(self._length) - self._length

    def items(self, groups: Ints) -> Ints:
        """The items of some groups, group by group."""
        return self._order[ranges(self._start[groups], self._length[groups])]

    def starts(self, groups: Ints) -> Ints:
        """Where each group's items start in the order of all items."""
        return self._start[groups]

    def lengths(self, groups: Ints) -> Ints:
        """How many items each group has."""
        return self._length[groups]

    def split(self, groups: Ints, attribute: int, child: Ints, width: int) -> SplitGroups:
        """Groups split by the child that each item's leaf lies under; nothing is changed yet."""
        items = self.items(groups)
        base = np.repeat(np.arange(len(groups)) * width, self._length[groups])
        return SplitGroups(groups, width, items, base + child[self._leaves[attribute][items]])

    def commit(self, split: SplitGroups) -> Ints:
        """Carry a split out: the new group of each part, -1 for empty ones. The old groups have no items any more."""
        lengths = np.bincount(split.part, minlength=split.parts)
        within = lengths.reshape(-1, split.width)
        starts = (self._start[split.groups][:, None] + np.cumsum(within, axis=1) - within).ravel()
        place = ranges(self._start[split.groups], self._length[split.groups])
        self._order[place] = split.items[stable_order(split.part, split.parts)]
        filled = np.flatnonzero(lengths)
        number = np.full(split.parts, -1)
        number[filled] = len(self._start) + np.arange(len(filled))
        self._start = np.append(self._start, starts[filled])
        self._length = np.append(self._length, lengths[filled])
        self._length[split.groups] = 0
        return number


def _small(column: Codes) -> type[np.unsignedinteger]:
    """The smallest type that holds these codes: what is gathered again and again should fit the cache."""
    largest = int(column.max(initial=0))
    return np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.uint32


@dataclass(frozen=True)
class OpenNode:
    """A taxonomy node that is to be specialized."""

    attribute: int
    lo: int
    hi: int
    children: tuple[tuple[int, int], ...]

    @cached_property
    def child(self) -> Ints:
        """Leaf to the number of the child over it; up to the node's last leaf."""
        number = np.zeros(self.hi + 1, np.int64)
        for place, (lo, hi) in enumerate(self.children):
            number[lo : hi + 1] = place
        return number


class Covers:
    """The nodes of one attribute's cuts, time by time."""

    def __init__(self, lo: Codes, hi: Codes, used: Bools, leaves: int) -> None:
        """`used` says which of the nodes each time's cut has (times x nodes); nodes of one cut do not overlap.

        Equal cuts are kept once.
        """
        _, first, which = np.unique(np.packbits(used, axis=1), axis=0, return_index=True, return_inverse=True)
        self.which = which.reshape(-1)
        """Time to its cut."""
        self.lo = np.tile(np.arange(leaves, dtype=np.int32), (len(first), 1))
        """Cut x leaf: the first leaf of the node there."""
        self._hi = np.full(self.lo.shape, -1, np.int32)
        for cut, time in enumerate(first.tolist()):
            nodes = np.flatnonzero(used[time])
            sizes = hi[nodes] - lo[nodes] + 1
            under = ranges(lo[nodes].astype(np.int64), sizes)
            self.lo[cut, under], self._hi[cut, under] = np.repeat(lo[nodes], sizes), np.repeat(hi[nodes], sizes)

    def covers(self, lo: int, hi: int) -> Bools:
        """Time by time: whether one node holds the whole interval."""
        return np.asarray(self._hi[:, lo] >= hi)[self.which]

    def crosses(self, lo: int, hi: int) -> bool:
        """Whether a node of any time overlaps the interval without one lying inside the other."""
        over = (self.lo[:, lo] < lo) | (self._hi[:, hi] > hi)
        return bool((over & (self._hi[:, lo] < hi)).any())


def covers_of(
    columns: Sequence[PublishedValues], nodes: Codes, time: Ints, times: int, sizes: Sequence[int]
) -> tuple[Covers, ...]:
    """The cuts of each attribute, from the nodes (attributes x boxes) of each time's boxes."""
    covers = []
    for column, row, size in zip(columns, nodes, sizes, strict=True):
        used = np.zeros((times, len(column.lo)), np.bool_)
        used[time, row] = True
        covers.append(Covers(column.lo, column.hi, used, size))
    return tuple(covers)


@dataclass(frozen=True, eq=False)
class Trial:
    """The keys that a specialization would lead to: first those that stay, then the parts of those that split."""

    local: Ints
    """Parts of the next release x times: the key's place among these; -1 for none."""
    stay: Ints
    split: SplitGroups


class _Keyed:
    """Items grouped by key, and the keys of every group of the next release."""

    def __init__(self, leaves: Sequence[Codes], time: Ints, times: int, covers: Sequence[Covers]) -> None:
        """Items are sorted by time."""
        lengths = np.bincount(time, minlength=times)
        self.pool = Pool(leaves, lengths)
        self.covers = covers
        self._key = np.where(lengths > 0, np.arange(times), -1)[None]

    def start(self) -> Trial:
        """The keys at the beginning, where everything is generalized to the root: one for each time."""
        nothing = np.empty(0, np.int64)
        return Trial(self._key, np.arange(self._key.shape[1]), SplitGroups(nothing, 1, nothing, nothing))

    def trial(self, groups: Ints, node: OpenNode) -> Trial:
        """The keys if these groups of the next release were specialized."""
        width = len(node.children)
        keys = self._key[groups]
        covered = self.covers[node.attribute].covers(node.lo, node.hi)
        stay, split = _distinct(keys[:, covered]), _distinct(keys[:, ~covered])
        local = np.repeat(np.searchsorted(stay, keys), width, axis=0)
        inner = np.searchsorted(split, keys[:, ~covered]) * width + len(stay)
        local[:, ~covered] = np.repeat(inner, width, axis=0) + np.tile(np.arange(width), len(groups))[:, None]
        local[np.repeat(keys < 0, width, axis=0)] = -1
        return Trial(local, stay, self.pool.split(split, node.attribute, node.child, width))

    def accept(self, trial: Trial, filled: Ints) -> None:
        """Carry the specialization out; `filled` are the parts that have become groups, in their order."""
        new = np.concatenate([trial.stay, self.commit(trial.split), [-1]])
        self._key = np.concatenate([self._key, new[trial.local[filled]]])

    def commit(self, split: SplitGroups) -> Ints:
        """Split keys; the new key of each part."""
        return self.pool.commit(split)


def _distinct(keys: Ints) -> Ints:
    return np.unique(keys[keys >= 0])


class Chained(_Keyed):
    """The chains of targets that arrived at earlier releases."""

    def __init__(
        self, leaves: Sequence[Codes], time: Ints, covers: Sequence[Covers], held: Histogram, times: int
    ) -> None:
        """Chains by their regions' first leaves, with what is left of each value."""
        super().__init__(leaves, time, times, covers)
        self.held = held
        self.most = np.zeros((times, held.values), np.int64)
        """Times x values: the most that any chain has left."""
        np.maximum.at(self.most, (np.repeat(time, held.lengths), held.value), held.count)
        self.needed = (self.most > 0).sum(axis=1)

    def chains(self, trial: Trial) -> tuple[Ints, Ints, Ints]:
        """The chains of every key in a trial: all of them in a row, where each key's start, and how many it has."""
        split = trial.split
        lengths = np.append(self.pool.lengths(trial.stay), np.bincount(split.part, minlength=split.parts))
        items = np.append(self.pool.items(trial.stay), split.items[stable_order(split.part, split.parts)])
        return items, np.cumsum(lengths) - lengths, lengths


class Arrived(_Keyed):
    """The records that arrived after each earlier release."""

    def __init__(
        self,
        leaves: Sequence[Codes],
        time: Ints,
        covers: Sequence[Covers],
        value: Ints,
        weight: Ints,
        times: int,
        values: int,
    ) -> None:
        """Records by the first leaves of their boxes, with sensitive value and number."""
        super().__init__(leaves, time, times, covers)
        self._value, self._weight, self._values = value, weight, values
        held = counted(time, value, times, values, weight)
        # Each key's histogram is kept in the places of its items: it never needs more.
        self._held, self._count = np.zeros(len(value), np.int64), np.zeros(len(value), np.int64)
        self._length = np.empty(0, np.int64)
        self._keep(np.arange(times), held.lengths, held)
        self._recent: tuple[SplitGroups, Histogram] | None = None

    def _keep(self, keys: Ints, lengths: Ints, held: Histogram) -> None:
        """The histograms of new keys."""
        into = ranges(self.pool.starts(keys), lengths)
        self._held[into], self._count[into] = held.value, held.count
        self._length = np.append(self._length, lengths)

    def counts(self, trial: Trial) -> Histogram:
        """The records that arrived, by key of a trial and value; and for parts without a key one without records."""
        split = trial.split
        lengths = self._length[trial.stay]
        places = ranges(self.pool.starts(trial.stay), lengths)
        value, weight = self._value[split.items], self._weight[split.items]
        held = counted(split.part, value, split.parts, self._values, weight)
        self._recent = split, held
        starts = np.append(0, np.cumsum(np.concatenate([lengths, held.lengths, [0]])))
        value, count = (
            np.concatenate(parts) for parts in ([self._held[places], held.value], [self._count[places], held.count])
        )
        return Histogram(starts, value, count, self._values)

    def commit(self, split: SplitGroups) -> Ints:
        """Split keys and keep their histograms."""
        number = super().commit(split)
        if self._recent is None or self._recent[0] is not split:
            raise InternalError("Keys were split without counting what arrived.")
        _, held = self._recent
        filled = number >= 0
        self._keep(number[filled], held.lengths[filled], held)
        return number
