"""Regroup: records that may change places do, where that generalizes less.

Groups hold one record of each value. Records of one *class* are interchangeable: the same value in the same bucket,
or, of new people, the same value anywhere. Class by class all its records are taken out of their groups and put back
where the groups' boxes become narrowest: an assignment problem. What groups show beside their boxes stays what it was,
so nothing changes for the method that made them. Counterfeits, which have no quasi-identifiers of their own yet, widen
no box.

No step makes the loss larger. Large classes are worked on in blocks of neighbours, sorted by another attribute in each
sweep; blocks that share no group are weighed at once. O(sweeps x records x block x attributes); the more records, the
fewer sweeps, and none above 60,000 records; it ends where nobody moves.
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from reissue._arrays import Codes, Floats, Ints
from reissue.counting.segments import ranges
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Kinds", "regroup"]

_BLOCK = 128
"""How many records are placed at once."""
_SWEEPS = 8
_PAIRS = 1_000_000
"""Pairs of a record and a group that are weighed at once; of a block all."""
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
    seats, still = _Seats.of(codes, groups, kinds.people, taxonomies), 0
    for sweep in range(sweeps):
        by, before = codes[sweep % len(codes)], seats.groups.copy()
        # Who is new may have changed buckets: whom they may change places with follows from where they are.
        bucket = of_group[seats.groups]
        for blocks in _apart(_blocks(_same(bucket, kinds.value), by), bucket, kinds.value):
            seats.assign(blocks)
        for block in _blocks(_anywhere(kinds), by):
            seats.assign([block])
        still = still + 1 if np.array_equal(before, seats.groups) else 0
        if still == len(codes):  # sorted by any attribute, nobody moves any more
            break
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


def _apart(blocks: Iterator[Ints], bucket: Codes, value: Codes) -> list[list[Ints]]:
    """Blocks whose records sit in different groups together; the classes of a bucket in their order.

    Groups are of one bucket and hold one record of each value, so only classes of the same bucket share groups.
    """
    turns: list[list[Ints]] = []
    for _, mine in itertools.groupby(blocks, key=lambda block: bucket[block[0]]):
        for turn, (_, same) in enumerate(itertools.groupby(mine, key=lambda block: value[block[0]])):
            turns.extend([[]] if turn == len(turns) else [])
            turns[turn].extend(same)
    return turns


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

    def assign(self, blocks: Sequence[Ints]) -> None:
        """Put the records of each block back where boxes become narrowest; all of them sit in different groups."""
        begin, pairs = 0, list(itertools.accumulate(len(block) ** 2 for block in blocks))
        while begin < len(blocks):
            done = pairs[begin - 1] if begin else 0
            end = max(bisect_right(pairs, done + _PAIRS), begin + 1)
            self._assign(blocks[begin:end])
            begin = end

    def _assign(self, blocks: Sequence[Ints]) -> None:
        records, sizes = np.concatenate(blocks), np.array([len(block) for block in blocks])
        groups, seats, costs = self.groups[records], self.seat[records], self._costs(records, sizes)
        firsts, places = (np.cumsum(sizes) - sizes).tolist(), (np.cumsum(sizes**2) - sizes**2).tolist()
        for first, place, size in zip(firsts, places, sizes.tolist(), strict=True):
            cost = costs[place : place + size**2].reshape(size, size)
            row, column = linear_sum_assignment(cost)
            if float(cost[row, column].sum()) > float(np.trace(cost)) - 1e-9:
                continue
            moved, to = records[first + row], first + column
            self.groups[moved], self.seat[moved] = groups[to], seats[to]
            self.members[groups[to], seats[to]] = moved

    def _costs(self, records: Ints, sizes: Ints) -> Floats:
        """Block by block, records x groups: what the group would lose with the record, all its people together."""
        others = self.members[self.groups[records]]
        others[np.arange(len(records)), self.seat[records]] = -1
        there = (others >= 0) & (others < self.real)
        of_block = np.repeat(np.arange(len(sizes)), sizes)
        record = np.repeat(np.arange(len(records)), sizes[of_block])
        group = ranges((np.cumsum(sizes) - sizes)[of_block], sizes[of_block])
        real = (records < self.real)[record]
        loss = np.zeros(len(record))
        for codes, taxonomy in zip(self.codes, self.taxonomies, strict=True):
            own = codes[others]
            low = np.where(there, own, taxonomy.size).min(axis=1)[group]
            high = np.where(there, own, -1).max(axis=1)[group]
            mine = codes[records][record]
            lo = np.where(real, np.minimum(mine, low), low).astype(np.int32)
            hi = np.where(real, np.maximum(mine, high), high).astype(np.int32)
            # A group of counterfeits alone has no box.
            some = lo <= hi
            loss += taxonomy.lost(np.where(some, lo, 0), np.where(some, hi, 0))
        return np.asarray(loss * (there.sum(axis=1)[group] + real))
