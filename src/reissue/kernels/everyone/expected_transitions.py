"""Expected transitions: how often each value became which, by the posterior of everyone's histories.

Of two linked presences of a person the pair of values (a, b) weighs F(a) P(a, b) Y(b): what everything up to the first
presence says, the step, and what everything from the second on says. Over an absence the steps in between are summed
over. This is the expectation of EM: counts that rows of the next model are in proportion to. Dense over people x values
in chunks; O(linked presences x values squared) multiplications, all in matrix products.
"""

from collections.abc import Sequence

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.segments import ranges
from reissue.kernels.everyone.iterative_scaling import Chains, both_ways
from reissue.kernels.everyone.observations import TINY
from reissue.kernels.everyone.transitions import Model, rows_at_once

__all__ = ["expected_transitions"]

_CELLS = 4_000_000
"""Cells of a table of people x values, at most."""


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
