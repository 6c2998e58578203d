"""Cohorts that are left out of a release: whole ones, for what a cohort shows is about all who are or were in it.

*Values that collide:* where one value has become too frequent in a cohort, other cohorts in its group may hide it for a
while; what becomes known of these later gives it away. So it rests, as one that nobody is in, and its people are back
when their values differ again. And whom an attack exposes is left out with everyone in the same cohort.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats
from reissue.counting.cells import Counts
from reissue.counting.hashing import siphash
from reissue.data.identifiers import identifier_texts
from reissue.methods.cohorts.carrying import Arrival
from reissue.methods.cohorts.parts import Bounds
from reissue.methods.cohorts.slots import CohortState, Slots
from reissue.release.release import Release
from reissue.requirements import Requirement

__all__ = ["companions", "met_by", "without_collided"]


def companions(release: Release, people: pl.Series) -> Bools:
    """Row of a release to whether its person is in a cohort with one of these people, or was with one who has left.

    Without them the cohort rests, and the release says nothing about anybody who was in it.
    """
    state, memory, ids = release.draft.state, release.draft.memory, release.table.ids
    if ids is None or memory is None or not isinstance(state, CohortState):
        return np.zeros(release.table.rows, np.bool_)
    wanted = siphash(identifier_texts(people), memory.key)
    slots, filled, gone = state.slots, state.slots.filled, state.departed
    here = state.inside[slots.row[filled]]
    beside = np.isin(slots.cohort, slots.cohort[filled][np.isin(here, wanted)])
    beside |= np.isin(slots.family, gone.family[np.isin(gone.people, wanted)])
    return np.isin(siphash(identifier_texts(ids), memory.key), here[beside[filled]])


def without_collided(arrival: Arrival, bounds: Bounds, spare: int, requirement: Requirement | None = None) -> Arrival:
    """Without the people of such cohorts, those with the largest shares first, as far as people may be left out.

    A requirement that each cohort must meet by itself comes before that: all those that do not are left out.
    """
    slots = arrival.slots
    share, people = _largest_shares(slots), slots.people()
    if requirement is not None:
        share = np.where(met_by(slots, bounds, requirement), share, 2.0)
    worst = np.argsort(-share, kind="stable")
    worst = worst[(share[worst] > bounds.past.likely) & (people[worst] > 0)]
    room = spare - len(arrival.refused)
    chosen = worst[(np.cumsum(people[worst]) <= room) | (share[worst] > 1)]
    out = np.isin(slots.cohort, chosen) & slots.filled
    refused = np.concatenate([arrival.refused, slots.row[out]])
    return replace(arrival, slots=replace(slots, row=np.where(out, -1, slots.row)), refused=refused)


def met_by(slots: Slots, bounds: Bounds, requirement: Requirement) -> Bools:
    """Cohort to whether it meets a requirement by itself."""
    return requirement.holds(Counts(slots.cohort, slots.value, bounds.domain, slots.cohorts))


def _largest_shares(slots: Slots) -> Floats:
    """Cohort to the share of its most frequent value."""
    width = int(slots.value.max(initial=0)) + 1
    keys, number = np.unique(slots.cohort * width + slots.value, return_counts=True)
    most = np.zeros(slots.cohorts)
    np.maximum.at(most, keys // width, number)
    return most / np.bincount(slots.cohort, minlength=slots.cohorts)
