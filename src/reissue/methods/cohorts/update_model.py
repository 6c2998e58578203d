"""How values move from one release to the next: what counterfeits that carry slots on follow.

The schema's update model if it has probabilities; else what the holder's own tables have shown so far, today's among
them, within what the schema allows.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.methods.invariance.plan import value_names
from reissue.methods.registry import Job
from reissue.solver.transition_learning import smoothed
from reissue.solver.transitions import Model
from reissue.updates import read_updates

__all__ = ["Changes", "distance", "update_model"]

_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Changes:
    """How often each value became which: from, to and number."""

    counted: Ints
    """3 x different changes."""

    def more(self, before: Ints, after: Ints) -> "Changes":
        """With further ones."""
        all_of = np.hstack([self.counted, np.stack([before, after, np.ones(len(before), np.int64)])])
        pairs, place = np.unique(all_of[:2], axis=1, return_inverse=True)
        return Changes(np.vstack([pairs, np.bincount(place.reshape(-1), all_of[2], pairs.shape[1]).astype(np.int64)]))

    def table(self, values: int) -> Floats:
        """Value x value."""
        counts = np.zeros((values, values))
        np.add.at(counts, (self.counted[0], self.counted[1]), self.counted[2])
        return counts


def update_model(job: Job, values: int, changes: Changes) -> Model:
    """How the lasting values of a series change."""
    if not job.table.schema.updates:
        return _learned(changes.table(values), None)
    model = read_updates(job.table.schema, value_names(job, values))
    if model.fixed:
        return Model(values)
    if model.even:
        return _learned(changes.table(values), model.can[:values, :values])
    # Values that nobody has had cannot be shown: what leads to them is shared out among the others.
    steps = model.chance[:values, :values]
    total = steps.sum(axis=1, keepdims=True)
    return Model(values, np.where(total > _LEAST, steps / np.maximum(total, _LEAST), np.eye(values)))


def _learned(counts: Floats, can: Bools | None) -> Model:
    """From what was seen; values stay if none was ever seen to change."""
    if counts.sum() == np.trace(counts):
        return Model(len(counts))
    steps = smoothed(counts)
    if can is not None:
        steps = steps * (can | np.eye(len(can), dtype=np.bool_))
        steps /= steps.sum(axis=1, keepdims=True)
    return Model(len(counts), steps)


def distance(model: Model, gap: int) -> float:
    """How far apart the values of two people can still be told who had different ones: total variation, at most 1."""
    if model.steps is None or model.values < 2:
        return 1.0 if model.values > 1 else 0.0
    rows = model.after(gap)
    return float(max(np.abs(rows - one).sum(axis=1).max() for one in rows) / 2)
