"""The update attack from release to release where values change: people's pasts are kept, the releases are not.

A later release can tell of earlier values too. Those who are in it are looked at again; of those who are gone nothing
new is known.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.errors import CannotCarryError
from reissue.papers.tracking.incremental import Known, lasting_values, renamed
from reissue.papers.tracking.membership import PersonHistories
from reissue.papers.tracking.person_tracker import (
    CERTAIN,
    IMPOSSIBLE,
    BeliefTracker,
    KnownPast,
    TrajectoryTracker,
    begun,
)
from reissue.schema import Schema
from reissue.updates import fingerprint_of, read_updates

__all__ = ["Histories", "known_of_histories", "largest_of_histories", "remember"]


@dataclass(frozen=True, eq=False)
class Histories:
    """Everybody's past."""

    tracker: BeliefTracker | TrajectoryTracker
    names: tuple[str | None, ...]
    """Value to its text."""
    model: str
    """A mark of the update model."""


def remember(
    before: Histories | None, linked: PersonHistories, person: Ints, release: int, schema: Schema
) -> Histories:
    """Everybody's past after one more release: `person` is the number of each row of people linked in this release."""
    names, number = lasting_values(() if before is None else before.names, linked.names)
    model = read_updates(schema, names)
    mark = fingerprint_of(model)
    past = begun(schema, model, int(linked.places.widths.max(initial=0))) if before is None else before.tracker
    if before is not None and isinstance(past, BeliefTracker) and before.model != mark:
        raise CannotCarryError
    shown, at = past.shown.joined(renamed(linked.places, number))
    where = at[linked.table[:, 0]]
    view: KnownPast = past.look(person, release)
    judged = past.judged(view, where, shown.places, model)
    return Histories(past.after(person, release, where, shown, judged, model), tuple(names), mark)


def largest_of_histories(histories: Histories) -> tuple[Ints, Floats]:
    """Everybody's number, and the largest posterior of each."""
    return histories.tracker.people, histories.tracker.everyone[0]


def known_of_histories(histories: Histories) -> Known:
    """Everybody's largest posterior."""
    largest, certainty = histories.tracker.everyone
    certain, impossible = (certainty & bit > 0 for bit in (CERTAIN, IMPOSSIBLE))
    return Known(None, None, largest, certain, impossible, np.ones(len(certainty), np.int64))
