"""Providers apart: cohorts, and so slots and groups, of one provider's people each.

A provider knows its own people, who was in a slot before and what a counterfeit carries on from there. If nobody else's
people are ever in that cohort or group, a coalition of providers, however large, knows all of it or nothing. Whoever
has changed providers is known to two of them, and is not shown any more.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.counting.hashing import siphash
from reissue.errors import DataError, InputError, InternalError, NotMetError, SchemaError
from reissue.methods.cohorts.slots import CohortState
from reissue.methods.registry import Job
from reissue.release.release import Draft

__all__ = ["owners_of", "without_movers"]

_KEY = bytes(16)
"""Names become numbers that last, not secrets: what is remembered stays with the holder."""


def owners_of(job: Job) -> Ints:
    """Row to the number of its provider; 0 for all where providers are not kept apart."""
    if not job.options["apart"]:
        return np.zeros(job.table.rows, np.int64)
    names = job.table.providers
    if names is None:
        raise SchemaError('To keep providers apart name their column in the schema, as  x = "provider".')
    if names.null_count():
        raise DataError(f"The provider is missing in {names.null_count()} rows.")
    return siphash(names.cast(pl.String), _KEY)


def without_movers(job: Job, memory: CohortState, make: Callable[[Job], Draft]) -> Draft:
    """A draft without the people who have changed providers, as far as people may be left out."""
    moved = _moved(job, memory)
    number = int(moved.sum())
    if not number:
        return make(job)
    if number > job.spare:
        raise NotMetError(
            f"{'1 person has' if number == 1 else f'{number:,} people have'} changed providers since they were last "
            f"published, and cannot be shown where providers are kept apart. {job.spare:,} may be left out. Allow more "
            "(`suppress`), or give them new identifiers only if nobody can know that they were there before."
        )
    rows = np.flatnonzero(~moved)
    people = None if job.people is None else job.people[rows]
    share = (job.spare - number) / max(len(rows), 1)
    return _with_all_rows(make(replace(job, table=job.table.some(rows), people=people, suppress=share)), rows, moved)


def _moved(job: Job, memory: CohortState) -> Bools:
    """Row to whether its person was in another provider's slot before."""
    if job.people is None:
        raise InternalError("A method that remembers was run without people. Please report this.")
    held, gone = memory.slots.filled, memory.departed
    if len(memory.slots.owner) and not memory.slots.owner.any():
        raise InputError("Providers are kept apart from the first release on, or not at all: begin a new series.")
    people = np.concatenate([memory.people[memory.slots.row[held]], gone.people])
    owner = np.concatenate([memory.slots.owner[held], gone.owner])
    order = np.argsort(people)
    at = np.minimum(np.searchsorted(people[order], job.people), max(len(people) - 1, 0))
    if not len(people):
        return np.zeros(job.table.rows, np.bool_)
    return np.asarray((people[order][at] == job.people) & (owner[order][at] != owners_of(job)))


def _with_all_rows(draft: Draft, rows: Ints, moved: Bools) -> Draft:
    """The draft of some rows as one of all; the others are in no group."""
    if draft.slots is None:
        raise InternalError("A draft of cohorts has no slots. Please report this.")
    groups, names = np.full(len(moved), -1, np.int32), np.full(len(moved), -1, np.int64)
    groups[rows], names[rows] = draft.groups, draft.slots[: len(rows)]
    notes = {**draft.notes, "left_out": draft.notes["left_out"] + int(moved.sum())}
    return replace(draft, groups=groups, slots=np.concatenate([names, draft.slots[len(rows) :]]), notes=notes)
