"""Buckets of m-Distinct: entries that records fill so that each group can take one record of each entry.

An entry is a set of values, at first the candidate update set of a value of the group before; a bucket's entries are
the update set signature of its survivors. A bucket of depth d has d records in each entry, and no value more than d
times: then it can be cut into d groups with one record of each entry and no value twice (König's theorem; see
`parts`). Everything is decided on counts by value; which record goes where follows from that.

O(entries x values) for a bucket; an exact program is asked only where counterfeits do not fit greedily.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from reissue._arrays import Bools, Ints
from reissue.errors import InternalError

__all__ = ["Bucket", "intersection", "merged", "survey"]


@dataclass(eq=False)
class Bucket:
    """One bucket in the making."""

    entries: Bools
    """Entries x values."""
    number: Ints
    """Real records by value."""
    placed: Ints
    """Entries x values: how many records, real or not, stand where."""
    depth: int
    drawn: Ints
    """New records among them by value, which may be taken out again."""

    @property
    def short(self) -> int:
        """How many records are lacking in all."""
        return int(self.depth * len(self.entries) - self.placed.sum())

    @property
    def fakes(self) -> Ints:
        """Counterfeits by value, once the bucket is complete."""
        return np.asarray(self.placed.sum(axis=0) - self.number)

    def draw(self, stock: Ints) -> Ints:
        """Fill entries with new records, the values that are in stock most often first; returns what was drawn."""
        drawn = np.zeros_like(stock)
        for entry in np.argsort(self.entries.sum(axis=1), kind="stable"):
            drawn += self._put(int(entry), stock - drawn)
        self.number = self.number + drawn
        self.drawn = self.drawn + drawn
        return drawn

    def _put(self, entry: int, stock: Ints) -> Ints:
        """Put records of a stock into an entry, while it lacks some and no value gets too many."""
        lack = self.depth - int(self.placed[entry].sum())
        took = np.zeros_like(stock)
        if lack <= 0:
            return took
        room = np.where(self.entries[entry], np.minimum(self.depth - self.placed.sum(axis=0), stock), 0)
        for value in np.argsort(-np.where(room > 0, stock, -1), kind="stable").tolist():
            take = min(lack, int(room[value]))
            if take <= 0:
                break
            took[value] = take
            lack -= take
        self.placed[entry] += took
        return took

    def give_back(self, value: int, most: int) -> int:
        """Take new records of a value out again, at most this many; returns how many."""
        most = min(most, int(self.drawn[value]))
        given = 0
        for entry in np.flatnonzero(self.placed[:, value]).tolist():
            take = min(int(self.placed[entry, value]), most - given)
            self.placed[entry, value] -= take
            given += take
        self.number[value] -= given
        self.drawn[value] -= given
        return given

    def deepen(self, placed: Ints, number: Ints) -> None:
        """Add records that fill all entries equally."""
        self.placed = self.placed + placed
        self.number = self.number + number
        self.depth += int(placed[0].sum())

    def complete(self) -> None:
        """Fill all that is lacking with counterfeits; as a last resort all is placed anew, exactly."""
        plenty = np.full(len(self.number), self.depth)
        for entry in np.argsort(self.entries.sum(axis=1), kind="stable"):
            self._put(int(entry), plenty)
        if self.short:
            self.placed = _exactly(self.number, self.entries)
            self.depth = int(self.placed[0].sum())


def survey(number: Ints, entries: Bools) -> Bucket | None:
    """A bucket for given records by value, as shallow as it goes greedily; None if a value fits no entry."""
    values = np.flatnonzero(number)
    choices = entries[:, values].sum(axis=0)
    if not choices.all():
        return None
    width = len(entries)
    target = max(-(-int(number.sum()) // width), int(number.max(initial=0)))
    placed = np.zeros((width, len(number)), np.int64)
    load, tight = np.zeros(width, np.int64), entries.sum(axis=1)
    for value in values[np.lexsort((-number[values], choices))].tolist():
        left = int(number[value])
        fitting = np.flatnonzero(entries[:, value])
        # The emptiest entry first, of equal ones the one with fewest values: the others can use other values.
        for entry in fitting[np.lexsort((tight[fitting], load[fitting]))].tolist():
            take = min(left, max(target - int(load[entry]), 0))
            placed[entry, value] += take
            load[entry] += take
            left -= take
        if left:
            least = fitting[load[fitting].argmin()]
            placed[least, value] += left
            load[least] += left
    depth = max(int(load.max(initial=0)), int(number.max(initial=0)))
    return Bucket(entries, number.copy(), placed, depth, np.zeros_like(number))


def _exactly(number: Ints, entries: Bools) -> Ints:
    """Places for the records, and for as few counterfeits as possible: an integer program (entries x values)."""
    width, size = entries.shape
    cells = np.argwhere(entries)
    entry, value = cells.T
    every = np.arange(len(cells))
    rows = np.zeros((width, len(cells) + 1))
    rows[entry, every] = 1
    rows[:, -1] = -1
    sums = np.zeros((size, len(cells) + 1))
    sums[value, every] = 1
    below = sums.copy()
    below[:, -1] = -1
    goal = np.zeros(len(cells) + 1)
    goal[-1] = 1
    answer = milp(
        goal,
        constraints=[
            LinearConstraint(rows, 0, 0),
            LinearConstraint(sums, number, np.inf),
            LinearConstraint(below, -np.inf, 0),
        ],
        integrality=np.ones(len(goal)),
        bounds=Bounds(0, np.inf),
    )
    if answer.x is None:
        raise InternalError("A bucket of the method 'distinct' cannot be completed. Please report this.")
    placed = np.zeros((width, size), np.int64)
    placed[entry, value] = np.round(answer.x[:-1]).astype(np.int64)
    return placed


def intersection(one: Bools, other: Bools) -> Bools | None:
    """The entries of two buckets intersected one by one, matched so that they overlap most; None if some cannot."""
    if len(one) != len(other):
        return None
    common = one.astype(np.int64) @ other.T.astype(np.int64)
    either = one.sum(axis=1)[:, np.newaxis] + other.sum(axis=1)[np.newaxis] - common
    left, right = linear_sum_assignment(np.where(common > 0, common / np.maximum(either, 1), -len(one)), maximize=True)
    if (common[left, right] == 0).any():
        return None
    return np.asarray(one[left] & other[right])


def merged(one: Bucket, other: Bucket) -> Bucket | None:
    """Two buckets in one, if that saves counterfeits."""
    entries = intersection(one.entries, other.entries)
    if entries is None or not _distinct_values(entries):
        return None
    both = survey(one.number + other.number, entries)
    if both is None or both.short >= one.short + other.short:
        return None
    both.drawn = one.drawn + other.drawn
    return both


def _distinct_values(entries: Bools) -> bool:
    """Whether every entry can have a value of its own."""
    rows, columns = linear_sum_assignment(entries, maximize=True)
    return bool(entries[rows, columns].all())
