"""Parameters estimated by expectation-maximization (Dempster, Laird and Rubin 1977).

Solve, count what people are found to have, expect that, and solve again. Two sets of parameters:

- *Departure rates*: how likely someone with each value is gone in the next release. Who leaves is no secret, and
  people with acute diseases leave soon. A presence weighs as much as someone with its value would leave, or stay, as
  the person does (decision 0209).
- *Prior shares* of values among newcomers and among counterfeits, where groups were made by value: such groups show
  every value equally often, and counterfeits have the values that were lacking (decision 0208).

Where the data say nothing about a parameter it keeps its prior. O(states) a round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reissue._arrays import Bools, Flags, Floats, Ints
from reissue.solver.observation import Observation, of_people
from reissue.solver.scaling import beginners
from reissue.solver.states import TINY, ReleaseStates, picked
from reissue.solver.transitions import Pairing

__all__ = ["Departures", "PriorShares", "first_posterior", "joined"]

_STAYS, _LEAVES, _UNKNOWN = 0, 1, 2
_PRIOR_WEIGHT = 100.0
"""Presences or records that the prior of an estimate counts as: few observations move it little."""
_KEPT = 1 / 3
"""Share of prior shares that stays as expected: values that stay say nothing about them, and without it estimates ran
away (decision 0208)."""


def _none() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Departures:
    """Who leaves after each release, and how likely someone with each value does."""

    fates: tuple[Flags, ...]
    """Whether each person stays or leaves after each release, or that is not known; of seats, their occupants."""
    rates: Floats = field(default_factory=_none)
    """Departure rate of each value; empty: values do not differ, or nothing was estimated yet."""
    often: Floats = field(default_factory=_none)
    """Share of each value among all presences; empty where nothing was estimated from these releases."""
    known: bool = False
    """Whether the adversary knows the rates; they are not estimated then."""

    @classmethod
    def of(
        cls,
        series: Sequence[Observation],
        people: int,
        rates: Floats | None = None,
        *,
        known: bool = False,
        times: Sequence[int] | None = None,
    ) -> "Departures":
        """Before anything is estimated; `rates` are those of earlier releases, or known."""
        there = [of_people(seen) for seen in series]
        fates = [np.full(people, _UNKNOWN, np.int8) for _ in series]
        when = list(range(len(series))) if times is None else list(times)
        for place, (fate, seen, now) in enumerate(zip(fates, series, there, strict=True)):
            after = next((later for later in range(place + 1, len(when)) if when[later] > when[place]), None)
            if after is None or when[place + 1] == when[place]:
                continue  # nobody knows who leaves after the last date; of one date the last release says who leaves
            later = there[after]
            next_time = np.full(people, _LEAVES, np.int8)
            next_time[later.people] = _STAYS
            next_time[later.absent] = next_time[now.absent] = _UNKNOWN
            inside = np.flatnonzero(seen.occupant >= 0)
            rows, who = (seen.person[inside], seen.occupant[inside]) if len(seen.occupant) else (now.people, now.people)
            fate[rows] = next_time[who]
        return cls(tuple(fates), _none() if rates is None else rates, known=known)

    @property
    def differ(self) -> bool:
        """Whether values differ in how soon people with them leave."""
        return bool(len(self.rates))

    def estimated(self, releases: Sequence[ReleaseStates], chance: Sequence[Floats], values: int) -> "Departures":
        """From the posterior of each state; without rates where values do not differ beyond chance."""
        found = np.zeros((3, values))
        for release, likely, fate in zip(releases, chance, self.fates, strict=True):
            people = likely * release.people[release.row] if len(release.size) else likely
            found += np.bincount(_cells(release, fate, values), people, 3 * values).reshape(3, values)
        found = found[[_STAYS, _LEAVES]]
        every, of_value = found.sum(axis=1), found.sum(axis=0)
        often = of_value / max(float(of_value.sum()), TINY)
        if self.known:
            return replace(self, often=often)
        if not every.all():
            return replace(self, rates=_none(), often=_none())
        share = every / every.sum()
        held = found + _PRIOR_WEIGHT * share[:, np.newaxis]
        rates = held / held.sum(axis=0)
        gain = float((found * np.log(rates / share[:, np.newaxis])).sum())
        if gain < np.count_nonzero(of_value):  # the Akaike criterion: one for each rate
            return replace(self, rates=_none(), often=_none())
        return replace(self, rates=rates[_LEAVES], often=often)

    def moved(self, before: "Departures") -> float:
        """Total variation distance of the values that people who leave are expected to have."""
        if not self.differ or not before.differ:
            return float(self.differ != before.differ)
        leave = float((self.rates * self.often).sum())
        return float((np.abs(self.rates - before.rates) * self.often).sum()) / 2 / max(leave, TINY)

    def weights(self, releases: Sequence[ReleaseStates]) -> list[Floats]:
        """How likely someone with each state's value would leave, or stay, as the person does; none if alike."""
        if not self.differ:
            return []
        chance = np.concatenate([1 - self.rates, self.rates, np.ones_like(self.rates)])
        pairs = zip(releases, self.fates, strict=True)
        return [picked(chance, _cells(release, fate, len(self.rates))) for release, fate in pairs]


def _cells(release: ReleaseStates, fate: Flags, values: int) -> Ints:
    """Place of each state in a table of fates x values."""
    return np.asarray((fate[release.person].astype(np.int64) * values)[release.row] + release.value)


def joined(parts: Sequence[Departures | None]) -> Departures | None:
    """Departures of blocks of releases that were solved one after the other, with the rates of the last of them."""
    known = [one for one in parts if one is not None]
    if not known or len(known) < len(parts):
        return None
    last = next((one for one in reversed(known) if one.differ), known[-1])
    return replace(last, fates=tuple(fate for one in known for fate in one.fates))


@dataclass(frozen=True, eq=False)
class PriorShares:
    """Prior shares of values among newcomers and among counterfeits, where groups were made by value."""

    late: Bools
    """Whether each person comes after the first release, and nothing more is known of the person."""
    newcomers: Floats
    counterfeits: Floats
    expected: Floats
    """Shares of newcomers before anything is estimated; of counterfeits all values are alike then."""

    @classmethod
    def before(cls, late: Bools, prior: Floats | None, values: int) -> "PriorShares":
        """Before anything is estimated: `prior` is that of everyone's first value (people x values)."""
        alike = np.full(values, 1 / values)
        newcomers = prior[late].mean(axis=0) if prior is not None and late.any() else alike
        return cls(late, newcomers, alike, newcomers)

    def estimated(
        self, releases: Sequence[ReleaseStates], pairs: Sequence[Pairing], chance: Sequence[Floats]
    ) -> "PriorShares":
        """From the posterior of each state: what newcomers have, and what people leave of the published records."""
        values = len(self.newcomers)
        first = first_posterior(releases, pairs, None, chance, (len(self.late), values))[self.late].sum(axis=0)
        left = np.zeros(values)
        for release, likely in zip(releases, chance, strict=True):
            shown = np.bincount(release.cell_value, release.count, values)
            left += np.maximum(shown - np.bincount(release.value, likely, values), 0.0)
        alike = np.full(values, 1 / values)
        return replace(self, newcomers=_held(first, self.expected), counterfeits=_held(left, alike))

    def moved(self, before: "PriorShares") -> float:
        """Total variation distance from earlier shares, of newcomers or counterfeits, whichever is larger."""
        pairs = ((self.newcomers, before.newcomers), (self.counterfeits, before.counterfeits))
        return max(float(np.abs(now - then).sum()) / 2 for now, then in pairs)


def _held(found: Floats, expected: Floats) -> Floats:
    """Counts as shares, held near those that are expected."""
    shares = (found + _PRIOR_WEIGHT * expected) / (found.sum() + _PRIOR_WEIGHT)
    return np.asarray(_KEPT * expected + (1 - _KEPT) * shares)


def first_posterior(
    releases: Sequence[ReleaseStates],
    pairs: Sequence[Pairing],
    arrivals: Sequence[Ints] | None,
    chance: Sequence[Floats],
    shape: tuple[int, int],
) -> Floats:
    """Posterior of everyone's first value (people x values); rows of people who are nowhere are 0."""
    made = np.zeros(shape)
    arrived: Sequence[Ints | None] = arrivals or [None] * len(releases)
    for release, pairing, new, found in zip(releases, pairs, arrived, chance, strict=True):
        who = beginners(release, pairing, new)[release.row]
        some = np.flatnonzero(who >= 0)
        made[who[some], release.value[some]] = found[some]
    total = made.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(made, total, out=np.zeros_like(made), where=total > 0))
