"""Everybody's past through a long series, as far as the next release needs it: for the update attack and m-Distinct.

`BeliefTracker` keeps what everybody's releases so far leave to say: a release costs by who is in it, however long they
have been there. That is only right while the update model stays what it was. A model that speaks of the values there
have been so far, such as an order of any numbers, changes with a new value, and with it what all earlier releases tell:
then `TrajectoryTracker` keeps everybody's places, and a release costs by how long its people have stayed.
"""

from typing import Any

from reissue.papers.tracking.belief_tracker import CERTAIN, IMPOSSIBLE, BeliefTracker, TrackedRisk
from reissue.papers.tracking.trajectory_tracker import TrajectoryTracker
from reissue.schema import Schema
from reissue.updates import UpdateModel, settled

__all__ = [
    "CERTAIN",
    "IMPOSSIBLE",
    "BeliefTracker",
    "KnownPast",
    "PersonTracker",
    "TrackedRisk",
    "TrajectoryTracker",
    "begun",
]

PersonTracker = BeliefTracker | TrajectoryTracker
KnownPast = Any
"""What a past says of some people who come to a release; only the same past can read it."""

_WIDE = 16
"""Places of more values than this have too many complements: trails are kept instead."""


def begun(schema: Schema, model: UpdateModel, widest: int) -> PersonTracker:
    """Before the first release; its places have at most this many values."""
    return BeliefTracker.none() if widest <= _WIDE and settled(schema, model) else TrajectoryTracker.none()
