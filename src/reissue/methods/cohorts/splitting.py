"""Splitting cohorts: a pair of slots goes on by itself, where the pair and the others then lose less.

A cohort of six is three of two that were always shown together: by the lemma, all who go on in the same part are alike
to a reader, as long as no value has more than its share of a part. So someone who moves far away need not widen the box
of all others: the mover goes on with one other slot, best an empty one, which has no place of its own. In each round
every cohort gives up the pair that saves most. O(cohorts x slots^3 x attributes) a round, and few rounds.
"""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.data.table import Table
from reissue.methods.cohorts.parts import Bounds
from reissue.methods.cohorts.slots import Slots

__all__ = ["split"]

_ROUNDS = 4
_TRIES = 3
"""Pairs of a cohort that are looked at in each round, those that save most first."""
_LEAST, _LARGEST = 4, 24
"""Slots of a cohort that may be split: two parts of two; larger ones are left as they are."""
_USUAL = 0.15
"""What each person loses at least: small cohorts are published with their neighbours."""
_WORTH = 0.4
"""What a split must save, over all people of a cohort: smaller ones use up chances for later."""
_PIECE = 50_000


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Two slots each, and what is saved if they go on by themselves."""

    one: Ints
    other: Ints
    saved: Floats

    def pick(self, some: Ints) -> "_Pairs":
        return _Pairs(self.one[some], self.other[some], self.saved[some])


def split(table: Table, slots: Slots, bounds: Bounds) -> Slots:
    """Smaller cohorts; whoever is in one was in the same one before."""
    chosen = _splittable(slots)
    for _ in range(_ROUNDS):
        pairs = _that_hold(slots, _pairs(table, slots, np.flatnonzero(chosen)), bounds)
        if not len(pairs.one):
            break
        cohort, before = slots.cohort.copy(), slots.cohorts
        chosen = np.zeros(before + len(pairs.one), np.bool_)
        chosen[cohort[pairs.one]] = True
        cohort[pairs.one] = cohort[pairs.other] = before + np.arange(len(pairs.one))
        slots = replace(slots, cohort=cohort)
        chosen &= _splittable(slots)
    return slots


def _splittable(slots: Slots) -> Bools:
    """Cohorts that were published in the last release and have slots enough for two parts."""
    size = np.bincount(slots.cohort, minlength=slots.cohorts)
    apart = np.bincount(slots.cohort, (slots.before < 0) | (slots.rested > 0), slots.cohorts)
    return np.asarray((size >= _LEAST) & (size <= _LARGEST) & (apart == 0) & (slots.people() > 1))


def _pairs(table: Table, slots: Slots, cohorts: Ints) -> _Pairs:
    """All pairs of some cohorts that save enough; somebody is in the pair, and somebody among the others."""
    place = _places(slots, cohorts)
    one, other = np.triu_indices(place.shape[1], 1)
    cohort = np.repeat(np.arange(len(cohorts)), len(one))
    one, other = np.tile(one, len(cohorts)), np.tile(other, len(cohorts))
    row = np.append(slots.row, -1)[place]
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


def _places(slots: Slots, cohorts: Ints) -> Ints:
    """Cohorts x slots, -1 where one has fewer."""
    at = np.flatnonzero(np.isin(slots.cohort, cohorts))
    at = at[np.argsort(slots.cohort[at], kind="stable")]
    number = np.searchsorted(cohorts, slots.cohort[at])
    size = np.bincount(number, minlength=len(cohorts))
    place = np.full((len(cohorts), int(size.max(initial=0))), -1)
    place[number, np.arange(len(at)) - (np.cumsum(size) - size)[number]] = at
    return place


def _lost(table: Table, row: Ints, here: Bools) -> Floats:
    """Set of rows, those that are `here`, to what they lose together."""
    each = []
    for codes, taxonomy in zip(table.codes, table.taxonomies, strict=True):
        of = codes[row]
        lo = np.where(here, of, np.iinfo(np.int32).max).min(axis=1, initial=np.iinfo(np.int32).max)
        hi = np.where(here, of, -1).max(axis=1, initial=-1)
        each.append(taxonomy.lost(lo, hi))
    return np.asarray(np.maximum(np.mean(each, axis=0), _USUAL) * here.sum(axis=1))


def _that_hold(slots: Slots, pairs: _Pairs, bounds: Bounds) -> _Pairs:
    """Of each cohort the pair that saves most and leaves no value more than its share."""
    old, new = slots.history[pairs.one], slots.history[pairs.other]
    differ = (slots.value[pairs.one] != slots.value[pairs.other]) & ((old != new) | (old < 0)).all(axis=1)
    pairs = pairs.pick(np.flatnonzero(differ))
    pairs = pairs.pick(np.lexsort((-pairs.saved, slots.cohort[pairs.one])))
    cohort = slots.cohort[pairs.one]
    pairs = pairs.pick(np.flatnonzero(np.arange(len(cohort)) - np.searchsorted(cohort, cohort) < _TRIES))
    pairs = pairs.pick(np.flatnonzero(_holds(slots, pairs, bounds)))
    return pairs.pick(np.unique(slots.cohort[pairs.one], return_index=True)[1])


def _holds(slots: Slots, pairs: _Pairs, bounds: Bounds) -> Bools:
    """Whether the pair and the others keep to the bounds, then and now."""
    order = np.argsort(slots.cohort, kind="stable")
    starts = np.searchsorted(slots.cohort[order], np.arange(slots.cohorts + 1))
    first, size = starts[slots.cohort[pairs.one]], np.diff(starts)[slots.cohort[pairs.one]]
    pair = np.repeat(np.arange(len(size)), size)
    member = order[np.arange(len(pair)) - (np.cumsum(size) - size)[pair] + first[pair]]
    part = 2 * pair + ((member != pairs.one[pair]) & (member != pairs.other[pair]))
    fine = bounds.kept_until_now(slots, member, part, 2 * len(size))
    fine &= bounds.keep_from_now(slots, member, part, 2 * len(size))
    return np.asarray(fine.reshape(-1, 2).all(axis=1))
