"""Groups of m-Distinct, and other places in them for people of whom too much would be known.

What a group shows never changes by it: a person changes places with somebody of the same bucket and value; or a
counterfeit with the same value takes the place, and the person stands among counterfeits. So all who need another place
are looked at together, and whoever has moved is not moved again until what is known is counted anew.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.hashing import mix
from reissue.papers.tracking.forward_backward import ValueDistributions
from reissue.papers.tracking.incremental import together

__all__ = ["Formed", "Repair", "even", "multisets"]

_CHOICES = 64
"""How many places are tried for somebody above the limit."""
_BEST = 8
"""How many of them, the best ones, are asked whether they would change."""
_ROUNDS = 3
_AT_ONCE = 2048
_HOPELESS = 100
"""After how many people without remedy, beside those who may be left out, the search is given up."""


@dataclass(eq=False)
class Formed:
    """Groups of records; the rows of the table first, then counterfeits."""

    groups: Codes
    values: Codes
    bucket: Codes
    """Record to its bucket."""
    entries: Sequence[Bools]
    """Bucket to its entries (entries x values)."""
    rows: int

    def add(self, groups: Sequence[int], values: Sequence[int], buckets: Sequence[int]) -> None:
        """Counterfeits, each with its group, value and bucket."""
        self.groups, self.values, self.bucket = (
            np.append(old, np.array(new, np.int32))
            for old, new in ((self.groups, groups), (self.values, values), (self.bucket, buckets))
        )


def multisets(groups: Codes, labels: Ints | Codes) -> tuple[Ints, list[list[int]]]:
    """Group to the number of its multiset of labels, and what these are, sorted."""
    keys = np.zeros(int(groups.max(initial=-1)) + 1, np.uint64)
    np.add.at(keys, groups, mix(labels.astype(np.uint64) + np.uint64(1)))
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    chosen = np.zeros(len(keys), np.bool_)
    chosen[first] = True
    some = np.flatnonzero(chosen[groups])
    of = number.reshape(-1)
    order = some[np.lexsort((labels[some], of[groups[some]]))]
    ends = np.searchsorted(of[groups[order]], np.arange(len(first) + 1))
    listed = [labels[order[a:b]].tolist() for a, b in itertools.pairwise(ends.tolist())]
    return of.astype(np.int64), listed


def even(places: Sequence[Sequence[int]]) -> ValueDistributions:
    """Groups that are m-unique: every value has the same share."""
    number = np.repeat(np.arange(len(places)), [len(place) for place in places])
    values = np.array([value for place in places for value in place], np.int64)
    return ValueDistributions.of(number, values, np.ones(len(values)), len(places))


@dataclass(eq=False)
class Repair:
    """Other places for people above the limit."""

    formed: Formed
    of_group: Ints
    """Group to its place; not of groups that are made by the repair."""
    shown: ValueDistributions
    largest: Callable[[Ints, Ints, ValueDistributions], Floats]
    """The largest posteriors of rows at places."""
    limit: float
    rng: np.random.Generator

    def __post_init__(self) -> None:
        rows = self.formed.rows
        self._key = self.formed.bucket[:rows].astype(np.int64) * (1 << 32) + self.formed.values[:rows]
        self._pool = np.argsort(self._key, kind="stable")
        self._keys = self._key[self._pool]
        self._moved = np.zeros(rows, np.bool_)

    def mend(self, rows: Ints, spare: int) -> None:
        """Find places for these rows, some at a time; give up when too many have none."""
        failed = 0
        for begin in range(0, len(rows), _AT_ONCE):
            some = rows[begin : begin + _AT_ONCE]
            for _ in range(_ROUNDS):
                self._swap(some[~self._moved[some]])
            some = some[~self._moved[some]]
            self._set_apart(some)
            failed += int((~self._moved[some]).sum())
            if failed > _HOPELESS + spare:
                return

    def _swap(self, rows: Ints) -> None:
        """Change places with people of the same bucket and value, where both are then below the limit."""
        groups = self.formed.groups
        first, after = (np.searchsorted(self._keys, self._key[rows], side) for side in ("left", "right"))
        drawn = self.rng.random((len(rows), _CHOICES)) * (after - first)[:, np.newaxis]
        other = self._pool[first[:, np.newaxis] + drawn.astype(np.int64)]
        own = self.of_group[groups[rows]]
        old = groups[other] < len(self.of_group)
        place = self.of_group[np.where(old, groups[other], 0)]
        at, which = np.nonzero(old & ~self._moved[other] & (place != own[:, np.newaxis]))
        risk = self.largest(rows[at], place[at, which], self.shown)
        fine = np.flatnonzero(risk <= self.limit)
        fine = fine[np.lexsort((risk[fine], at[fine]))]
        at, which = at[fine], which[fine]
        best = np.arange(len(at)) - np.searchsorted(at, at) < _BEST
        at, which = at[best], which[best]
        partner = other[at, which]
        willing = self.largest(partner, own[at], self.shown) <= self.limit
        for row, second in zip(rows[at[willing]].tolist(), partner[willing].tolist(), strict=True):
            if not self._moved[row] and not self._moved[second]:
                groups[[row, second]] = groups[[second, row]]
                self._moved[[row, second]] = True

    def _set_apart(self, rows: Ints) -> None:
        """Leave a counterfeit with the same value behind, and stand among others with the best values."""
        formed = self.formed
        keys, of_row = np.unique(self._key[rows], return_inverse=True)
        listed: list[list[tuple[int, ...]]] = [self._choices(*divmod(key, 1 << 32)) for key in keys.tolist()]
        number = np.array([len(choices) for choices in listed], np.int64)
        starts = len(self.shown.widths) + np.cumsum(number) - number
        shown = together(self.shown, even(list(itertools.chain.from_iterable(listed))))
        mine = number[of_row]
        at = np.repeat(np.arange(len(rows)), mine)
        which = np.arange(len(at)) - np.repeat(np.cumsum(mine) - mine, mine)
        risk = self.largest(rows[at], starts[of_row[at]] + which, shown)
        order = np.lexsort((risk, at))
        best = order[np.flatnonzero(np.diff(at[order], prepend=-1))]
        group = int(formed.groups.max(initial=-1)) + 1
        added: list[tuple[int, int, int]] = []
        for pair in best[risk[best] <= self.limit].tolist():
            row = int(rows[at[pair]])
            bucket, value = int(formed.bucket[row]), int(formed.values[row])
            added.append((int(formed.groups[row]), value, bucket))
            added += [(group, one, bucket) for one in listed[of_row[at[pair]]][which[pair]] if one != value]
            formed.groups[row], self._moved[row] = group, True
            group += 1
        if added:
            formed.add(*zip(*added, strict=True))

    def _choices(self, bucket: int, value: int) -> list[tuple[int, ...]]:
        """Values of a group of its own for somebody with this one, all different: some at random, where many are."""
        entries, found = self.formed.entries[bucket], set()
        for own in np.flatnonzero(entries[:, value]).tolist():
            sets = [np.flatnonzero(entry) for place, entry in enumerate(entries) if place != own]
            total = int(np.prod([float(len(one)) for one in sets]))
            if total <= 4 * _CHOICES:
                ways: Any = itertools.product(*(one.tolist() for one in sets))
            else:
                ways = zip(*(self.rng.choice(one, 4 * _CHOICES).tolist() for one in sets), strict=True)
            found |= {(value, *way) for way in ways if len({value, *way}) == len(way) + 1}
        return sorted(found)
