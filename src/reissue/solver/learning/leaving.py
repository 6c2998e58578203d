"""Who leaves: how likely people with each value are gone in the next release, learnt from one solution to the next.

A reader knows of everyone in which releases they are, and so who leaves. Whoever has the flu leaves soon, whoever has
diabetes does not; nobody need tell the reader that. What those who leave and those who stay are found to have is
counted, and expected from then on, a few times (expectation maximization: Dempster, Laird and Rubin 1977): a presence
then weighs as much as someone with its value would leave, or stay. Where values do not differ in that beyond chance
nothing is learnt. O(entries) a round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reissue._arrays import Flags, Floats, Ints
from reissue.solver.observations import TINY, Layer, Observation, of_people, picked

__all__ = ["Leaving", "together"]

_STAYS, _LEAVES, _UNKNOWN = 0, 1, 2
_WORTH = 100.0
"""Presences' worth of what holds for all values together, beside what is found of each."""
_LEAST = 3.0
"""How much better values explain who leaves, at least, in units of log-likelihood, beside one for each value."""


def _nothing() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Leaving:
    """Who leaves after each release, and how likely whoever has a value does."""

    fates: tuple[Flags, ...]
    """Release and person to whether he or she leaves, stays, or that is not known; of slots whoever is in them."""
    rates: Floats = field(default_factory=_nothing)
    """Value to how likely who has it leaves; empty: values do not differ, or nothing was learnt."""
    often: Floats = field(default_factory=_nothing)
    """Value to its share of all presences; empty where nothing was learnt from these releases."""
    known: bool = False
    """Whether the rates are known: nothing is learnt then."""

    @classmethod
    def of(
        cls, series: Sequence[Observation], people: int, rates: Floats | None = None, *, known: bool = False
    ) -> "Leaving":
        """Before anything is learnt from these releases; `rates` are as they were learnt before, or are known."""
        there = [of_people(seen) for seen in series]
        fates = [np.full(people, _UNKNOWN, np.int8) for _ in series]
        for fate, seen, now, later in zip(fates[:-1], series[:-1], there[:-1], there[1:], strict=True):
            next_time = np.full(people, _LEAVES, np.int8)
            next_time[later.people] = _STAYS
            next_time[later.absent] = next_time[now.absent] = _UNKNOWN
            inside = np.flatnonzero(seen.occupant >= 0)
            rows, who = (seen.person[inside], seen.occupant[inside]) if len(seen.occupant) else (now.people, now.people)
            fate[rows] = next_time[who]
        return cls(tuple(fates), _nothing() if rates is None else rates, known=known)

    def learnt(self, layers: Sequence[Layer], chance: Sequence[Floats], values: int) -> "Leaving":
        """From what everyone was found to have: `chance` is the entries' own."""
        found = np.zeros((3, values))
        for layer, likely, fate in zip(layers, chance, self.fates, strict=True):
            found += np.bincount(_cells(layer, fate, values), likely, 3 * values).reshape(3, values)
        found = found[[_STAYS, _LEAVES]]
        every, of_value = found.sum(axis=1), found.sum(axis=0)
        if self.known:
            return replace(self, often=of_value / max(float(of_value.sum()), TINY))
        if not every.all():
            return replace(self, rates=_nothing(), often=_nothing())
        share = every / every.sum()
        held = found + _WORTH * share[:, np.newaxis]
        rates = held / held.sum(axis=0)
        gain = float((found * np.log(rates / share[:, np.newaxis])).sum())
        if gain < _LEAST + np.count_nonzero(of_value):
            return replace(self, rates=_nothing(), often=_nothing())
        return replace(self, rates=rates[_LEAVES], often=of_value / of_value.sum())

    def moved(self, before: "Leaving") -> float:
        """The share of people of whom another fate is expected than before, in proportion to those who leave."""
        if not len(self.rates) or not len(before.rates):
            return float(len(self.rates) != len(before.rates))
        leave = float((self.rates * self.often).sum())
        return float((np.abs(self.rates - before.rates) * self.often).sum()) / max(leave, TINY)

    def weights(self, layers: Sequence[Layer]) -> list[Floats]:
        """Layer and entry to how likely somebody with its value leaves, or stays, as the person does; else 1."""
        if not len(self.rates):
            return [np.ones(layer.entries) for layer in layers]
        chance = np.concatenate([1 - self.rates, self.rates, np.ones_like(self.rates)])
        cells = (_cells(layer, fate, len(self.rates)) for layer, fate in zip(layers, self.fates, strict=True))
        return [picked(chance, one) for one in cells]


def _cells(layer: Layer, fate: Flags, values: int) -> Ints:
    """Entry to its place in a table fates x values."""
    return np.asarray((fate[layer.person].astype(np.int64) * values)[layer.row] + layer.value)


def together(*parts: Leaving | None) -> Leaving | None:
    """Of releases that were solved a few at a time: who leaves in all of them, and what the last ones taught."""
    known = [one for one in parts if one is not None]
    if not known or len(known) < len(parts):
        return None
    last = next((one for one in reversed(known) if len(one.rates)), known[-1])
    return replace(last, fates=tuple(fate for one in known for fate in one.fates))
