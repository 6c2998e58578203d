"""Who must be left out with someone: the cohort. What it shows is about all who are or were in it."""

import numpy as np
import polars as pl

from reissue._arrays import Bools
from reissue.algorithms.cohorts.slots import CohortState
from reissue.counting.siphash import siphash
from reissue.data.identifiers import identifier_texts
from reissue.release.release import Release

__all__ = ["companions"]


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
