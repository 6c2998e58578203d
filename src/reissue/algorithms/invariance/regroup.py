"""Regroup: records that may change places do, where that generalizes less.

Groups hold one record of each value. Records of one *class* are interchangeable: the same value in the same bucket,
or, of new people, the same value anywhere. Class by class all its records are taken out of their groups and put back
where the groups' boxes become narrowest: an assignment problem. What groups show beside their boxes stays what it was,
so nothing changes for the method that made them. Counterfeits, which have no quasi-identifiers of their own yet, widen
no box.

No step makes the loss larger. Large classes are worked on in blocks of neighbours, sorted by another attribute in each
sweep. O(sweeps x records x block x attributes); the more records, the fewer sweeps, and none above 60,000 records.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Kinds", "regroup"]

_BLOCK = 128
"""How many records are placed at once."""
_SWEEPS = 8
_WORK = 60_000
"""Records times sweeps: a few CPU seconds."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """What decides who may change places with whom."""

    bucket: Codes
    """Record to its bucket, the same for all of a group."""
    value: Codes
    new: Ints
    """Rows of new people, who may stand in any bucket."""
    people: int
    """How many records are people's, the first ones; the others are counterfeits."""


def regroup(codes: Codes, groups: Codes, kinds: Kinds, taxonomies: Sequence[Taxonomy]) -> tuple[Codes, Codes]:
    """Better groups for records, each with one record of each value, and everyone's bucket then.

    `codes` is attributes x records.
    """
    of_group = np.empty(int(groups.max(initial=-1)) + 1, np.int32)
    of_group[groups] = kinds.bucket
    sweeps = min(_SWEEPS, _WORK // max(len(groups), 1)) if len(groups) else 0
    seats = _Seats.of(codes, groups, kinds.people, taxonomies)
    for sweep in range(sweeps):
        by = codes[sweep % len(codes)]
        # Who is new may have changed buckets: whom they may change places with follows from where they are.
        for block in _blocks(_same(of_group[seats.groups], kinds.value), by):
            seats.assign(block)
        for block in _blocks(_anywhere(kinds), by):
            seats.assign(block)
    return seats.groups, of_group[seats.groups]


def _same(bucket: Codes, value: Codes) -> Ints:
    """One class for each value in each bucket."""
    return bucket.astype(np.int64) * (int(value.max(initial=0)) + 1) + value


def _anywhere(kinds: Kinds) -> Ints:
    """One class for each value of new people; -1 for the others."""
    found = np.full(len(kinds.value), -1, np.int64)
    found[kinds.new] = kinds.value[kinds.new]
    return found


def _blocks(kind: Ints, by: Codes) -> Iterator[Ints]:
    """Records of one class, neighbours together; none of a class of its own."""
    order = np.lexsort((by, kind))
    order = order[kind[order] >= 0]
    starts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    for start, after in itertools.pairwise([*starts.tolist(), len(order)]):
        for first in range(start, after, _BLOCK):
            block = order[first : min(first + _BLOCK, after)]
            if len(block) > 1:
                yield block


@dataclass
class _Seats:
    """Who sits in which group."""

    codes: Codes
    groups: Codes
    seat: Ints
    """Record to its place in the group."""
    members: Ints
    """Groups x places: records, -1 for none."""
    real: int
    taxonomies: Sequence[Taxonomy]

    @classmethod
    def of(cls, codes: Codes, groups: Codes, real: int, taxonomies: Sequence[Taxonomy]) -> "_Seats":
        order = np.argsort(groups, kind="stable")
        sizes = np.bincount(groups)
        seat = np.empty(len(groups), np.int64)
        seat[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members = np.full((len(sizes), int(sizes.max(initial=0))), -1, np.int64)
        members[groups, seat] = np.arange(len(groups))
        return cls(codes, groups.copy(), seat, members, real, taxonomies)

    def assign(self, records: Ints) -> None:
        """Put these records, who sit in different groups, back where boxes become narrowest."""
        groups, seats = self.groups[records].copy(), self.seat[records].copy()
        others = self.members[groups]
        others[np.arange(len(records)), seats] = -1
        there = (others >= 0) & (others < self.real)
        cost = self._cost(records, others, there)
        now = float(np.trace(cost))
        row, column = linear_sum_assignment(cost)
        if float(cost[row, column].sum()) > now - 1e-9:
            return
        self.groups[records[row]] = groups[column]
        self.seat[records[row]] = seats[column]
        self.members[groups[column], seats[column]] = records[row]

    def _cost(self, records: Ints, others: Ints, there: Bools) -> Floats:
        """Records x groups: what the group would lose with the record, all its people together."""
        real = records < self.real
        loss = np.zeros((len(records), len(records)))
        for codes, taxonomy in zip(self.codes, self.taxonomies, strict=True):
            own = np.where(there, codes[others], 0)
            low = np.where(there, own, taxonomy.size).min(axis=1)
            high = np.where(there, own, -1).max(axis=1)
            mine = codes[records][:, np.newaxis]
            lo = np.where(real[:, np.newaxis], np.minimum(mine, low), low).astype(np.int32)
            hi = np.where(real[:, np.newaxis], np.maximum(mine, high), high).astype(np.int32)
            # A group of counterfeits alone has no box.
            some = lo <= hi
            lo, hi = np.where(some, lo, 0), np.where(some, hi, 0)
            loss += taxonomy.lost(lo.ravel(), hi.ravel()).reshape(loss.shape)
        return np.asarray(loss * (there.sum(axis=1) + real[:, np.newaxis]))
