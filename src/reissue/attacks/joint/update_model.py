"""How values change: as the schema says, else as the holder's tables show, else as the releases let one learn."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.kernels.transitions import Model
from reissue.schema import Schema
from reissue.updates import read_updates

__all__ = ["Chosen", "update_model"]

_SMOOTHING = 0.5


@dataclass(frozen=True, eq=False)
class Chosen:
    """An update model, and where it comes from."""

    model: Model
    source: str
    """"schema", "tables" (the holder's own), "releases" (learned), or "none" (values stay)."""


def update_model(schema: Schema, names: Sequence[str | None], truth: Sequence[Ints | None]) -> Chosen:
    """The best that is known of how these values change; `truth` as a Crowd has it."""
    size = len(names)
    if schema.updates:
        model = read_updates(schema, names)
        if model.fixed:
            return Chosen(Model(size), "none" if schema.updates.get("none") else "schema")
        steps = model.chance[:size, :size]
        return Chosen(Model(size, steps / np.maximum(steps.sum(axis=1, keepdims=True), 1e-300)), "schema")
    seen = _counted(truth, size)
    if seen is not None:
        still = seen.sum() == np.trace(seen)
        return Chosen(Model(size) if still else Model(size, _smoothed(seen)), "tables")
    return Chosen(Model(size), "none")


def _counted(truth: Sequence[Ints | None], values: int) -> Floats | None:
    """How often each value became which from one release to the next, by the true tables; None if one is missing."""
    tables = [one for one in truth if one is not None]
    if len(tables) < len(truth) or len(tables) < 2:
        return None
    counts = np.zeros((values, values))
    for before, after in pairwise(tables):
        both = (before >= 0) & (after >= 0)
        np.add.at(counts, (before[both], after[both]), 1.0)
    return counts


def _smoothed(counts: Floats) -> Floats:
    """Rows of probabilities; what was never seen stays possible."""
    every = counts.sum(axis=0) + 1e-9
    more = counts + _SMOOTHING * every / every.sum() + np.eye(len(counts)) * _SMOOTHING
    return np.asarray(more / more.sum(axis=1, keepdims=True))
