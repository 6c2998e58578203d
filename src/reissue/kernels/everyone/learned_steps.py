"""Learning how values change from the releases themselves (EM).

Each round scales with the present model, a few sweeps on from where the last round ended, counts the expected
transitions and takes them, smoothed, for the next model. Counts that hold only in expectation make values look more
restless than they are; so the last rounds count with sharpened messages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats
from reissue.kernels.everyone.expected_transitions import expected_transitions
from reissue.kernels.everyone.iterative_scaling import Chains, Scaling, messages_of, scale
from reissue.kernels.everyone.observations import Layer
from reissue.kernels.everyone.sharpening import sharpened
from reissue.kernels.everyone.transitions import Model

__all__ = ["Learning", "learn_steps", "smoothed", "staying"]

_SMOOTHING = 0.5
"""Steps of a value that are added to those counted: so many stay, and so many lead to what is frequent."""


@dataclass(frozen=True)
class Learning:
    """How long to learn."""

    rounds: int = 20
    sweeps: int = 3
    """Of scaling, in each round."""
    enough: float = 0.004
    """Rounds end when the rows of the model move by less than this, half L1 on average."""
    sharp: int = 6
    """Rounds with sharpened messages, at the end."""


def learn_steps(
    layers: Sequence[Layer],
    steps: Floats,
    how: Learning | None = None,
    *,
    times: Sequence[int] | None = None,
    prior: Floats | None = None,
    start: Sequence[Floats | None] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Floats:
    """Value x value: how likely a value becomes which, from a first guess on."""
    how = how or Learning()
    plain, total = how.rounds, how.rounds + how.sharp
    turn = 0
    while turn < plain + how.sharp:
        model = Model(len(steps), steps)
        chains = Chains.of(layers, model, prior, times)
        scaled = scale(chains, Scaling(sweeps=how.sweeps), start)
        start = scaled.multipliers
        messages = messages_of(chains, scaled)
        if turn >= plain:
            messages = sharpened(chains, messages)[1]
        before, steps = steps, smoothed(expected_transitions(chains, messages, model))
        turn += 1
        if turn < plain and float(np.abs(steps - before).sum()) / 2 < how.enough * len(steps):
            plain = turn
        progress(min((turn + how.rounds - plain) / total, 1.0))
    return steps


def smoothed(counts: Floats) -> Floats:
    """Rows of probabilities; what was never seen stays possible."""
    every = counts.sum(axis=0) + 1e-9
    more = counts + _SMOOTHING * every / every.sum() + np.eye(len(counts)) * _SMOOTHING
    return np.asarray(more / more.sum(axis=1, keepdims=True))


def staying(often: Floats, changes: float) -> Floats:
    """A first guess: this share of values changes, to what is frequent."""
    steps = np.tile(changes * often, (len(often), 1))
    steps[np.diag_indices(len(often))] += 1 - changes
    return np.asarray(steps / steps.sum(axis=1, keepdims=True))
