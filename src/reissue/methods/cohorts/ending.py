"""Ending and splitting: which seats a cohort gives up, and which continue as a cohort of their own.

**Ending.** A seat that is no longer published can be subtracted: what the cohort showed before and does not show now
was in it. So empty seats end several at once or not at all, and no value has more than a share of those that end, nor
of those that stay, in every release in which they were shown together.

**Splitting.** A cohort of six seats is three pairs that were always published together. By the lemma, all seats of a
part stay exchangeable, as long as no value has more than its share of a part. So one person who moves far away need
not widen the ranges of all others: the person continues with one other seat, preferably an empty one, which has no
place of its own. In each round every cohort gives up the pair that saves most.
O(cohorts x seats^3 x attributes) a round, and few rounds.
"""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts
from reissue.data.table import Table
from reissue.methods.cohorts.bounds import Bounds
from reissue.methods.cohorts.seats import Seats
from reissue.requirements import Requirement

__all__ = ["split", "without_empty"]


_SLACK = 1e-9


def without_empty(seats: Seats, bounds: Bounds, requirement: Requirement | None = None) -> Seats:
    """End the empty seats that may end.

    Seats that end are judged by what they have shown; those that stay also by what they show now. With a requirement,
    both must have met it alone in every release that showed them.
    """
    may_go, share = _may_go(seats, bounds.share), bounds.share
    go, stay = np.flatnonzero(may_go), np.flatnonzero(~may_go)
    fine = bounds.kept_until_now(seats, go, seats.cohort[go], seats.cohorts)
    fine &= bounds.kept_until_now(seats, stay, seats.cohort[stay], seats.cohorts)
    fine &= bounds.keep_from_now(seats, stay, seats.cohort[stay], seats.cohorts)
    if requirement is not None:
        fine &= bounds.have_met(requirement, seats, go) & bounds.have_met(requirement, seats, stay)
        fine &= requirement.holds(Counts(seats.cohort[stay], seats.value[stay], bounds.domain, seats.cohorts))
    # After a pause it is not known what the cohort would have shown last.
    fine &= np.bincount(seats.cohort, seats.rested, seats.cohorts) == 0
    fine &= np.bincount(seats.cohort[stay], minlength=seats.cohorts) > 1
    fine &= _missed(seats, stay) <= share * np.bincount(seats.cohort[go], minlength=seats.cohorts) + _SLACK
    return seats.some(~(may_go & fine[seats.cohort]))


def _missed(seats: Seats, stay: Ints) -> Floats:
    """Return for each cohort the largest number of records of one value that disappear from its histogram."""
    width = int(max(seats.before.max(initial=0), seats.value.max(initial=0))) + 1
    keys = np.concatenate([seats.cohort * width + seats.before, seats.cohort[stay] * width + seats.value[stay]])
    sign = np.append(np.ones(len(seats.name)), -np.ones(len(stay)))
    found, place = np.unique(keys, return_inverse=True)
    most = np.zeros(seats.cohorts)
    np.maximum.at(most, found // width, np.bincount(place.reshape(-1), sign, len(found)))
    return most


def _may_go(seats: Seats, share: float) -> Bools:
    """Choose in each cohort as many empty seats as can end at once: two at least, no value above its share."""
    empty = np.flatnonzero(~seats.filled)
    top, size, value = _most_frequent(seats, seats.before, empty)
    # The share is at least one half, so at most one value is too frequent: as many of it end as the others allow.
    most = np.floor((size - top) * share / (1 - share) + _SLACK).astype(np.int64)
    cohort, frequent = seats.cohort[empty], seats.before[empty] == value[seats.cohort[empty]]
    order = np.lexsort((~frequent, cohort))
    first = np.searchsorted(cohort[order], np.arange(seats.cohorts))
    rank = np.empty(len(empty), np.int64)
    rank[order] = np.arange(len(empty)) - first[cohort[order]]
    goes = ~frequent | (rank < most[cohort])
    goes &= (np.minimum(top, most) + size - top >= 2)[cohort]
    made = np.zeros(len(seats.name), np.bool_)
    made[empty[goes]] = True
    return made


def _most_frequent(seats: Seats, shown: Codes, some: Ints) -> tuple[Ints, Ints, Ints]:
    """Return for each cohort the count of the most frequent value among some seats, their number, and that value."""
    width = int(shown.max(initial=0)) + 1
    keys, number = np.unique(seats.cohort[some] * width + shown[some], return_counts=True)
    cohort, value = keys // width, keys % width
    top, of_top = np.zeros(seats.cohorts, np.int64), np.full(seats.cohorts, -1, np.int64)
    np.maximum.at(top, cohort, number)
    hits = np.flatnonzero(number == top[cohort])[::-1]
    of_top[cohort[hits]] = value[hits]
    return top, np.bincount(seats.cohort[some], minlength=seats.cohorts), of_top


_ROUNDS = 4
_TRIES = 3
"""Number of pairs per cohort and round that are examined, those that save most first."""
_LEAST, _LARGEST = 4, 24
"""Sizes of cohorts that are split: two parts of at least two seats each; large cohorts are not worth the search."""
_USUAL = 0.15
"""Minimum loss assumed per person, since small cohorts are combined with neighbours when published."""
_WORTH = 0.4
"""Minimum total loss that a split must save: each split leaves fewer possibilities for later ones."""
_PIECE = 50_000


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of seats, and what is saved if each continues as a cohort of its own."""

    one: Ints
    other: Ints
    saved: Floats

    def pick(self, some: Ints) -> "_Pairs":
        return _Pairs(self.one[some], self.other[some], self.saved[some])


def split(table: Table, seats: Seats, bounds: Bounds) -> Seats:
    """Split cohorts where that saves enough."""
    chosen = _splittable(seats)
    for _ in range(_ROUNDS):
        pairs = _that_hold(seats, _pairs(table, seats, np.flatnonzero(chosen)), bounds)
        if not len(pairs.one):
            break
        cohort, before = seats.cohort.copy(), seats.cohorts
        chosen = np.zeros(before + len(pairs.one), np.bool_)
        chosen[cohort[pairs.one]] = True
        cohort[pairs.one] = cohort[pairs.other] = before + np.arange(len(pairs.one))
        seats = replace(seats, cohort=cohort)
        chosen &= _splittable(seats)
    return seats


def _splittable(seats: Seats) -> Bools:
    """Return which cohorts were published in the last release and have enough seats for two parts."""
    size = np.bincount(seats.cohort, minlength=seats.cohorts)
    apart = np.bincount(seats.cohort, (seats.before < 0) | (seats.rested > 0), seats.cohorts)
    return np.asarray((size >= _LEAST) & (size <= _LARGEST) & (apart == 0) & (seats.people() > 1))


def _pairs(table: Table, seats: Seats, cohorts: Ints) -> _Pairs:
    """Return the pairs that save enough; the pair and the rest of the cohort each hold at least one person."""
    place = _places(seats, cohorts)
    one, other = np.triu_indices(place.shape[1], 1)
    cohort = np.repeat(np.arange(len(cohorts)), len(one))
    one, other = np.tile(one, len(cohorts)), np.tile(other, len(cohorts))
    row = np.append(seats.row, -1)[place]
    filled = row >= 0
    inside = filled[cohort, one].astype(np.int64) + filled[cohort, other]
    fits = (place[cohort, other] >= 0) & (inside > 0) & (filled.sum(axis=1)[cohort] > inside)
    cohort, one, other = cohort[fits], one[fits], other[fits]
    whole = _lost(table, row, filled)
    saved = np.empty(len(cohort))
    for some in np.array_split(np.arange(len(cohort)), len(cohort) // _PIECE + 1):
        pair = np.zeros((len(some), place.shape[1]), np.bool_)
        pair[np.arange(len(some)), one[some]] = pair[np.arange(len(some)), other[some]] = True
        rows, here = row[cohort[some]], filled[cohort[some]]
        saved[some] = whole[cohort[some]] - _lost(table, rows, here & pair) - _lost(table, rows, here & ~pair)
    pairs = _Pairs(place[cohort, one], place[cohort, other], saved)
    return pairs.pick(np.flatnonzero(saved > _WORTH))


def _places(seats: Seats, cohorts: Ints) -> Ints:
    """Return the seats of each cohort as a matrix, padded with -1."""
    at = np.flatnonzero(np.isin(seats.cohort, cohorts))
    at = at[np.argsort(seats.cohort[at], kind="stable")]
    number = np.searchsorted(cohorts, seats.cohort[at])
    size = np.bincount(number, minlength=len(cohorts))
    place = np.full((len(cohorts), int(size.max(initial=0))), -1)
    place[number, np.arange(len(at)) - (np.cumsum(size) - size)[number]] = at
    return place


def _lost(table: Table, row: Ints, here: Bools) -> Floats:
    """Return the total loss of each set of rows, restricted to those that are `here`."""
    each = []
    for codes, taxonomy in zip(table.codes, table.taxonomies, strict=True):
        of = codes[row]
        lo = np.where(here, of, np.iinfo(np.int32).max).min(axis=1, initial=np.iinfo(np.int32).max)
        hi = np.where(here, of, -1).max(axis=1, initial=-1)
        each.append(taxonomy.lost(lo, hi))
    return np.asarray(np.maximum(np.mean(each, axis=0), _USUAL) * here.sum(axis=1))


def _that_hold(seats: Seats, pairs: _Pairs, bounds: Bounds) -> _Pairs:
    """Return for each cohort the pair that saves most and satisfies the bounds."""
    old, new = seats.history[pairs.one], seats.history[pairs.other]
    differ = (seats.value[pairs.one] != seats.value[pairs.other]) & ((old != new) | (old < 0)).all(axis=1)
    pairs = pairs.pick(np.flatnonzero(differ))
    pairs = pairs.pick(np.lexsort((-pairs.saved, seats.cohort[pairs.one])))
    cohort = seats.cohort[pairs.one]
    pairs = pairs.pick(np.flatnonzero(np.arange(len(cohort)) - np.searchsorted(cohort, cohort) < _TRIES))
    pairs = pairs.pick(np.flatnonzero(_holds(seats, pairs, bounds)))
    return pairs.pick(np.unique(seats.cohort[pairs.one], return_index=True)[1])


def _holds(seats: Seats, pairs: _Pairs, bounds: Bounds) -> Bools:
    """Return whether the pair and the rest of the cohort satisfy the bounds in past and present."""
    order = np.argsort(seats.cohort, kind="stable")
    starts = np.searchsorted(seats.cohort[order], np.arange(seats.cohorts + 1))
    first, size = starts[seats.cohort[pairs.one]], np.diff(starts)[seats.cohort[pairs.one]]
    pair = np.repeat(np.arange(len(size)), size)
    member = order[np.arange(len(pair)) - (np.cumsum(size) - size)[pair] + first[pair]]
    part = 2 * pair + ((member != pairs.one[pair]) & (member != pairs.other[pair]))
    fine = bounds.kept_until_now(seats, member, part, 2 * len(size))
    fine &= bounds.keep_from_now(seats, member, part, 2 * len(size))
    return np.asarray(fine.reshape(-1, 2).all(axis=1))
