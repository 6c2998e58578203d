"""What newcomers and counterfeits have where groups were made by value, learnt from one solution to the next.

Such groups show every value equally often, so that all values alike is where one begins. It is not what holds: a
counterfeit has the value that was lacking, and some values lack far more often than others. Where values change, groups
with and without newcomers and counterfeits tell: what each of them is found to have is counted, and expected from then
on, a few times (expectation maximization: Dempster, Laird and Rubin 1977). A third stays with all values alike: what is
found is only as good as what it was found with, and values that stay say nothing (decisions 0191 and 0208).
O(entries) a round.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Floats
from reissue.solver.learning.learned_prior import first_posterior
from reissue.solver.observations import Layer
from reissue.solver.transitions import Pairing

__all__ = ["Expected", "learn_by_value"]

_ALIKE = 1 / 3
"""The share that stays with all values alike."""
_WORTH = 100.0
"""Records' worth of all values alike, beside what is found: a few of them move it little."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What is expected of people and records before their groups are looked at."""

    rates: Floats
    """Value to how often newcomers have it."""
    shares: Floats
    """Value to how often counterfeits have it."""

    def moved(self, before: "Expected") -> float:
        """How far it is from what was expected before: half the sum of differences, of newcomers or counterfeits."""
        pairs = ((self.rates, before.rates), (self.shares, before.shares))
        return max(float(np.abs(now - then).sum()) / 2 for now, then in pairs)

    @classmethod
    def alike(cls, values: int) -> "Expected":
        """All values alike."""
        return cls(np.full(values, 1 / values), np.full(values, 1 / values))


def learn_by_value(
    layers: Sequence[Layer], pairs: Sequence[Pairing], chance: Sequence[Floats], newcomers: Bools, values: int
) -> Expected:
    """From what everyone was found to have: `chance` is the entries' own, `newcomers` says who comes later."""
    first = first_posterior(layers, pairs, None, chance, (len(newcomers), values))
    nobody = sum((_of_nobody(*one, values) for one in zip(layers, chance, strict=True)), np.zeros(values))
    return Expected(_held(first[newcomers].sum(axis=0)), _held(nobody))


def _of_nobody(layer: Layer, chance: Floats, values: int) -> Floats:
    """Value to how many of its records nobody is expected to have."""
    shown = np.bincount(layer.slot_value, layer.count, values)
    return np.asarray(np.maximum(shown - np.bincount(layer.value, chance, values), 0.0))


def _held(found: Floats) -> Floats:
    """As shares, held by all values alike."""
    alike = np.full(len(found), 1 / len(found))
    return np.asarray(_ALIKE * alike + (1 - _ALIKE) * (found + _WORTH * alike) / (found.sum() + _WORTH))
