"""Letting slots go: several at once whose values differ, so that who left them stays hidden among them.

A slot that is no longer published can be subtracted: what the cohort showed before and does not show now was in it. So
slots go together or not at all, and no value has more than a share of those that go, nor of those that stay. All slots
that go at once are alike to a reader, and so are all that stay.
"""

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts
from reissue.methods.cohorts.parts import Bounds
from reissue.methods.cohorts.slots import Slots
from reissue.requirements import Requirement

__all__ = ["without_empty"]

_SLACK = 1e-9


def without_empty(slots: Slots, bounds: Bounds, requirement: Requirement | None = None) -> Slots:
    """Without the empty slots that may go.

    What counts of slots that go is what they have shown; of those that stay, that and what they show now. With a
    requirement those that go and those that stay have always met it by themselves.
    """
    may_go, share = _may_go(slots, bounds.share), bounds.share
    go, stay = np.flatnonzero(may_go), np.flatnonzero(~may_go)
    fine = bounds.kept_until_now(slots, go, slots.cohort[go], slots.cohorts)
    fine &= bounds.kept_until_now(slots, stay, slots.cohort[stay], slots.cohorts)
    fine &= bounds.keep_from_now(slots, stay, slots.cohort[stay], slots.cohorts)
    if requirement is not None:
        fine &= bounds.have_met(requirement, slots, go) & bounds.have_met(requirement, slots, stay)
        fine &= requirement.holds(Counts(slots.cohort[stay], slots.value[stay], bounds.domain, slots.cohorts))
    # After a rest it is not known what a cohort would have shown last.
    fine &= np.bincount(slots.cohort, slots.rested, slots.cohorts) == 0
    fine &= np.bincount(slots.cohort[stay], minlength=slots.cohorts) > 1
    fine &= _missed(slots, stay) <= share * np.bincount(slots.cohort[go], minlength=slots.cohorts) + _SLACK
    return slots.some(~(may_go & fine[slots.cohort]))


def _missed(slots: Slots, stay: Ints) -> Floats:
    """Cohort to how many records of one value a reader misses who compares what it showed and what it shows."""
    width = int(max(slots.before.max(initial=0), slots.value.max(initial=0))) + 1
    keys = np.concatenate([slots.cohort * width + slots.before, slots.cohort[stay] * width + slots.value[stay]])
    sign = np.append(np.ones(len(slots.name)), -np.ones(len(stay)))
    found, place = np.unique(keys, return_inverse=True)
    most = np.zeros(slots.cohorts)
    np.maximum.at(most, found // width, np.bincount(place.reshape(-1), sign, len(found)))
    return most


def _may_go(slots: Slots, share: float) -> Bools:
    """In each cohort as many empty slots as can go at once: two at least, no value more than its share of them."""
    empty = np.flatnonzero(~slots.filled)
    top, size, value = _most_frequent(slots, slots.before, empty)
    # A share is half at least, so that one value at most has too many: as many of it go as the others allow.
    most = np.floor((size - top) * share / (1 - share) + _SLACK).astype(np.int64)
    cohort, frequent = slots.cohort[empty], slots.before[empty] == value[slots.cohort[empty]]
    order = np.lexsort((~frequent, cohort))
    first = np.searchsorted(cohort[order], np.arange(slots.cohorts))
    rank = np.empty(len(empty), np.int64)
    rank[order] = np.arange(len(empty)) - first[cohort[order]]
    goes = ~frequent | (rank < most[cohort])
    goes &= (np.minimum(top, most) + size - top >= 2)[cohort]
    made = np.zeros(len(slots.name), np.bool_)
    made[empty[goes]] = True
    return made


def _most_frequent(slots: Slots, shown: Codes, some: Ints) -> tuple[Ints, Ints, Ints]:
    """Cohort to how often its most frequent value is in some of its slots, to how many these are, and to that value."""
    width = int(shown.max(initial=0)) + 1
    keys, number = np.unique(slots.cohort[some] * width + shown[some], return_counts=True)
    cohort, value = keys // width, keys % width
    top, of_top = np.zeros(slots.cohorts, np.int64), np.full(slots.cohorts, -1, np.int64)
    np.maximum.at(top, cohort, number)
    hits = np.flatnonzero(number == top[cohort])[::-1]
    of_top[cohort[hits]] = value[hits]
    return top, np.bincount(slots.cohort[some], minlength=slots.cohorts), of_top
