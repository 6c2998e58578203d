"""Learning how values change from the releases themselves (EM).

Each round scales with the present model, a few sweeps on from where the last round ended, counts the expected
transitions and takes them, smoothed, for the next model. Counts that hold only in expectation make values look more
restless than they are; so the last rounds count with sharpened messages.

Expected transitions are how often each value became which, by the posterior of everyone's histories. Of two linked
presences of a person the pair of values (a, b) weighs F(a) P(a, b) Y(b): what everything up to the first presence says,
the step, and what everything from the second on says. Over an absence the steps in between are summed over. Dense over
people x values in chunks; O(linked presences x values squared) multiplications, all in matrix products.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.segments import ranges
from reissue.kernels.everyone.iterative_scaling import Chains, Scaling, both_ways, messages_of, scale
from reissue.kernels.everyone.observations import TINY, Layer
from reissue.kernels.everyone.sharpening import sharpened
from reissue.kernels.everyone.transitions import Model, rows_at_once

__all__ = ["Learning", "expected_transitions", "learn_steps", "smoothed", "staying"]

_SMOOTHING = 0.5
"""Steps of a value that are added to those counted: so many stay, and so many lead to what is frequent."""

_CELLS = 4_000_000
"""Cells of a table of people x values, at most."""


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


# --- expected transitions ---------------------------------------------------------------------------------------------


def expected_transitions(chains: Chains, messages: Sequence[Floats], model: Model) -> Floats:
    """Value x value: how many steps of one release lead from one to the other, in expectation."""
    before, later = both_ways(chains, messages)
    upto = [layer.normalized(one * said) for layer, one, said in zip(chains.layers, before, messages, strict=True)]
    since = [
        layer.normalized(one * said * chains.beginnings(place))
        for place, (layer, one, said) in enumerate(zip(chains.layers, later, messages, strict=True))
    ]
    values = np.concatenate([layer.value for layer in chains.layers])
    flat = np.concatenate(upto)
    total = np.zeros((model.values, model.values))
    size = rows_at_once(model.values, max(_CELLS // model.values, 1))
    for layer, links, said in zip(chains.layers, chains.links, since, strict=True):
        pairs = links.pairing
        for gap in np.unique(pairs.gap):
            linked = np.flatnonzero(pairs.gap == gap)
            for begin in range(0, len(linked), size):
                some = linked[begin : begin + size]
                first = _table(pairs.source_start[some], pairs.source_width[some], values, flat, model.values)
                second = _table(pairs.target_start[some], pairs.target_width[some], layer.value, said, model.values)
                total += _steps(first, second, model, int(gap))
    return total


def _table(starts: Ints, widths: Ints, values: Ints, weights: Floats, size: int) -> Floats:
    """People x values, 0 where a person cannot have a value."""
    entries = ranges(starts, widths)
    table = np.zeros((len(starts), size))
    table[np.repeat(np.arange(len(starts)), widths), values[entries]] = weights[entries]
    return table


def _steps(first: Floats, second: Floats, model: Model, gap: int) -> Floats:
    """The expected steps of people with the same number of releases between two presences."""
    step = model.after(1)
    weight = ((first @ model.after(gap)) * second).sum(axis=1)
    second = second / np.maximum(weight, TINY)[:, np.newaxis]
    made = np.zeros_like(step)
    for done in range(gap):
        made += step * ((first @ model.after(done)).T @ (second @ model.after(gap - 1 - done).T))
    return made
