"""What newcomers have, learnt while counts are scaled.

Whoever comes after the first release stands beside people of whom earlier ones have told something. What is expected
of such a newcomer is what newcomers have, and not what is published: who stays long is published often, with values
that last. When counts nearly fit, what newcomers are found to have is counted, and expected from then on, a few times
(expectation maximization: Dempster, Laird and Rubin 1977). Of those who are there from the first nothing needs to be
learnt: what is expected of all of them alike goes into the multipliers. O(newcomers' entries) a sweep.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.solver.observations import TINY, Layer

__all__ = ["FirstEntries", "FirstRates", "Latecomers"]

_ROUNDS = 5
_LITTLE = 0.005
"""Where what is expected moves by less (half the sum of differences), it is learnt."""
_WORTH = 100.0
"""People's worth of what is published, beside what newcomers are found to have: a few of them move it little."""


@dataclass(frozen=True, eq=False)
class Latecomers:
    """Of whom no more is known than that they come after the first release."""

    people: Bools
    """Person to whether he or she is one."""
    rates: Floats
    """Value to how often it is expected of them before anything is learnt."""
    certain: Floats
    """Value to how many of them surely begin with it, who are solved already."""
    by_value: bool = False
    """Whether groups were made by value, and it is not known what counterfeits have: then both are learnt, from one
    solution to the next (`made_by_value`)."""

    def share(self, part: float) -> "Latecomers":
        """For a part of what is open: with as large a part of those who are certain."""
        return replace(self, certain=self.certain * part)


@dataclass(frozen=True, eq=False)
class FirstEntries:
    """The entries with which latecomers begin, and what is expected of them before anything is learnt."""

    entries: tuple[Ints, ...]
    """Layer to these entries."""
    row: tuple[Ints, ...]
    """The same to the number of their row, among the layer's latecomers."""
    rates: Floats
    certain: Floats
    """As Latecomers have them."""

    @classmethod
    def of(cls, newcomers: Latecomers, layers: Sequence[Layer], beginning: Sequence[Ints]) -> "FirstEntries":
        """`beginning` is who begins with each entry of a layer, -1 nobody."""
        mine = [np.flatnonzero((who >= 0) & newcomers.people[who]) for who in beginning]
        row = [np.unique(layer.row[some], return_inverse=True)[1] for layer, some in zip(layers, mine, strict=True)]
        return cls(tuple(mine), tuple(row), newcomers.rates, newcomers.certain)

    def put(self, layers: Sequence[Layer], weights: Sequence[Floats], factor: Floats) -> None:
        """Multiply what these entries weigh by a factor for each value."""
        for layer, some, weight in zip(layers, self.entries, weights, strict=True):
            weight[some] *= factor[layer.value[some]]


class FirstRates:
    """What latecomers are found to have, sweep by sweep, while counts are scaled."""

    def __init__(self, first: FirstEntries, rates: Floats | None = None) -> None:
        """Begin with what is expected, or with what was learnt before."""
        self.first, self.found = first, np.zeros_like(first.rates)
        self.rates = first.rates if rates is None else rates
        self.rounds, self.learnt = 0, False

    def count(self, place: int, layer: Layer, weight: Floats) -> None:
        """Add what latecomers of a release are found to have; `weight` is the entries' own, up to a factor a row."""
        if not place:
            self.found = np.zeros_like(self.rates)
        some, row = self.first.entries[place], self.first.row[place]
        if len(some):
            chance = weight[some]
            chance = chance / np.maximum(np.bincount(row, chance), TINY)[row]
            self.found += np.bincount(layer.value[some], chance, len(self.found))

    def learn(self, layers: Sequence[Layer], beginnings: Sequence[Floats]) -> None:
        """Expect from now on what was found; what entries weigh at the beginning follows."""
        before, counted = self.rates, self.found + self.first.certain + _WORTH * self.first.rates
        self.rates, self.rounds = counted / counted.sum(), self.rounds + 1
        moved = float(np.abs(self.rates - before).sum()) / 2
        self.learnt = moved < _LITTLE or self.rounds >= _ROUNDS
        self.first.put(layers, beginnings, self.rates / before)
