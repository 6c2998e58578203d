"""Sharpening: from the scaled multipliers, exact messages of small groups, two rounds of them.

Iterative scaling keeps counts in expectation; a small group keeps them exactly, which says more. Each round replaces
what a group says about a member by the exact message and averages it, geometrically, with the one before. One round is
still too modest, more than two begin to be too sure: evidence goes round in circles.
"""

from collections.abc import Callable, Sequence

import numpy as np

from reissue._arrays import Floats
from reissue.kernels.iterative_scaling import Chains, cavities, normalized
from reissue.kernels.permanents import exact_messages, small_groups

__all__ = ["ROUNDS", "sharpened"]

ROUNDS = 2
_LEAST = 1e-200


def sharpened(
    chains: Chains,
    messages: Sequence[Floats],
    rounds: int = ROUNDS,
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[list[Floats], list[Floats]]:
    """Entry to its probability, in each layer; and what each release says about each entry in the end."""
    small = [small_groups(layer) for layer in chains.layers]
    said = [one.copy() for one in messages]
    made: list[Floats] = []
    for turn in range(rounds):
        others = cavities(chains, said)
        made = []
        for place, layer in enumerate(chains.layers):
            exact = said[place].copy()
            for group in small[place]:
                exact[group.entry] = exact_messages(group, others[place])
            exact = layer.peaked(exact)
            made.append(normalized(layer, others[place] * exact))
            said[place] = np.sqrt(np.maximum(exact * layer.peaked(said[place]), _LEAST * (exact > 0)))
            progress((turn + (place + 1) / len(chains.layers)) / rounds)
    return made, said
