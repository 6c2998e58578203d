"""What earlier releases hold against the next one, kept up to date while its cuts become finer.

Two kinds of items matter. `Chained`: the chains of groups in earlier releases on which a target may already stand,
with what is left of each value. `Arrived`: the records that came after one earlier release, known no finer than that
release's cuts tell. Both are grouped by their *key*: their nodes on the join of their own cuts and the next release's.
Every group of the next release belongs to one key. Specializing a node of the next release changes keys only where the
items' own cuts are finer than the node; otherwise the new groups keep their parent's key.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.algorithms._pools import Pool, Split, counted, stable_order
from reissue.attacks._pairs import Histograms, ranges
from reissue.errors import InternalError

__all__ = ["Arrived", "Chained", "Cover", "Node", "Trial"]


@dataclass(frozen=True)
class Node:
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


class Cover:
    """The nodes of an earlier cut of one attribute."""

    def __init__(self, lo: Codes, hi: Codes, leaves: int) -> None:
        """Nodes may repeat; they never overlap otherwise."""
        self.lo = np.arange(leaves, dtype=np.int32)
        self.hi = np.full(leaves, -1, np.int32)
        for first, last in {*zip(lo.tolist(), hi.tolist(), strict=True)}:
            self.lo[first : last + 1] = first
            self.hi[first : last + 1] = last

    def covers(self, lo: int, hi: int) -> bool:
        """Whether one node holds the whole interval."""
        return bool(self.hi[lo] >= hi)

    def crosses(self, lo: int, hi: int) -> bool:
        """Whether a node overlaps the interval without one lying inside the other."""
        return not self.covers(lo, hi) and bool(self.lo[lo] < lo or self.hi[hi] > hi)


@dataclass(frozen=True, eq=False)
class Trial:
    """The keys that a specialization would lead to."""

    local: Ints
    """Part of the next release to its key's place in `keys` (times width plus child if they split); -1 for none."""
    keys: Ints
    split: Split | None


class _Keyed:
    """Items grouped by key, and the key of every group of the next release."""

    def __init__(self, leaves: Sequence[Codes], covers: tuple[Cover, ...]) -> None:
        self.pool = Pool(leaves)
        self.covers = covers
        self._key = np.zeros(1, np.int64)

    def start(self) -> Trial:
        """The one key at the beginning, where everything is generalized to the root."""
        return Trial(np.zeros(1, np.int64), np.zeros(1, np.int64), None)

    def trial(self, groups: Ints, node: Node) -> Trial:
        """The keys if these groups of the next release were specialized."""
        width = len(node.children)
        keys, place = np.unique(self._key[groups], return_inverse=True)
        none = int(len(keys) > 0 and keys[0] < 0)
        keys, place = keys[none:], place - none
        if self.covers[node.attribute].covers(node.lo, node.hi):
            return Trial(np.repeat(place, width), keys, None)
        local = np.where(place >= 0, place * width, -width)[:, None] + np.arange(width)
        split = self.pool.split(keys, node.attribute, node.child, width)
        return Trial(np.maximum(local.ravel(), -1), keys, split)

    def accept(self, trial: Trial, filled: Ints) -> None:
        """Carry the specialization out; `filled` are the parts that have become groups, in their order."""
        new = trial.keys if trial.split is None else self.commit(trial.split)
        local = trial.local[filled]
        self._key = np.append(self._key, np.where(local >= 0, new[local], -1) if len(new) else local)

    def commit(self, split: Split) -> Ints:
        """Split keys; the new key of each part."""
        return self.pool.commit(split)


class Chained(_Keyed):
    """The chains of targets that arrived at one earlier release."""

    def __init__(self, leaves: Sequence[Codes], covers: tuple[Cover, ...], held: Histograms, term: Ints) -> None:
        """Chains by their regions' first leaves, with what is left of each value."""
        super().__init__(leaves, covers)
        self.held = held
        self.term = term
        self.most = np.zeros(held.values, np.int64)
        np.maximum.at(self.most, held.value, term)
        self.needed = int((self.most > 0).sum())

    def chains(self, trial: Trial) -> tuple[Ints, Ints, Ints]:
        """The chains of every key in a trial: all of them in a row, where each key's start, and how many it has."""
        if trial.split is None:
            lengths = self.pool.lengths(trial.keys)
            items = self.pool.items(trial.keys)
        else:
            lengths = np.bincount(trial.split.part, minlength=trial.split.parts)
            items = trial.split.items[stable_order(trial.split.part, trial.split.parts)]
        return items, np.cumsum(lengths) - lengths, lengths


class Arrived(_Keyed):
    """The records that came after one earlier release."""

    def __init__(
        self, leaves: Sequence[Codes], covers: tuple[Cover, ...], value: Ints, weight: Ints, values: int
    ) -> None:
        """Records by the first leaves of their boxes, with sensitive value and number."""
        super().__init__(leaves, covers)
        self._value, self._weight, self._values = value, weight, values
        # Each key's histogram is kept in the places of its items: it never needs more.
        self._held, self._count = np.zeros(len(value), np.int64), np.zeros(len(value), np.int64)
        held, count = counted(value * 0, 1, value, weight, values)
        self._held[: len(count)], self._count[: len(count)] = held.value, count
        self._length = held.lengths
        self._recent: tuple[Split, Histograms, Ints] | None = None

    def came(self, trial: Trial, part: Ints, value: Ints) -> Ints:
        """How many records of each part's key with each value came after the release."""
        if trial.split is None:
            lengths = self._length[trial.keys]
            places = ranges(self.pool.starts(trial.keys), lengths)
            held = Histograms(np.append(0, np.cumsum(lengths)), self._held[places], self._values)
            count = self._count[places]
        else:
            split = trial.split
            value_of, weight_of = self._value[split.items], self._weight[split.items]
            held, count = counted(split.part, split.parts, value_of, weight_of, self._values)
            self._recent = split, held, count
        local = trial.local[part]
        number = np.zeros(len(part), np.int64)
        known = np.flatnonzero(local >= 0)
        found = held.find(local[known], value[known]) if len(known) else known
        number[known[found >= 0]] = count[found[found >= 0]]
        return number

    def commit(self, split: Split) -> Ints:
        """Split keys and keep their histograms."""
        number = super().commit(split)
        if self._recent is None or self._recent[0] is not split:
            raise InternalError("Keys were split without counting what came.")
        _, held, count = self._recent
        lengths = held.lengths[number >= 0]
        into = ranges(self.pool.starts(number[number >= 0]), lengths)
        self._held[into], self._count[into] = held.value, count
        self._length = np.append(self._length, lengths)
        return number
