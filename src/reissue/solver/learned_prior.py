"""A prior learned from the posterior: which people tend to have which value (Kifer 2009, the deFinetti attack).

The adversary solves a series, learns from everyone's posterior how first values go with people's features, and solves
again with that as the prior, a few rounds (EM). The prior is log-linear in the features and grows one feature at a
time: the feature's table of feature values x values is scaled to what the posterior says over what the prior expects,
smoothed towards what is common. A person is judged only by what was learned from other folds of people, and a step is
taken only as far, and as long, as it explains the posterior of people whom it was not learned from better.

Where a method put people into groups for the value that was needed there, the learned prior is divided by what is
common: how common a value is says there how groups were made, but how much likelier people with these features have it
than anybody still holds (Bayes). The same goes for people about whom older releases have said something.

People of one fold with the same features have one prior, so a step costs O(people + kinds of people x values).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.keys import distinct_keys
from reissue.counting.segments import different
from reissue.solver.estimation import first_posterior
from reissue.solver.observation import Observation, made_by_value, of_people
from reissue.solver.posterior import Posterior, Problem
from reissue.solver.scaling import Scaling
from reissue.solver.states import RARE, TINY
from reissue.solver.transitions import Model, pairings

__all__ = ["arrivals_in", "learn_prior", "with_learned_prior"]

_ROUNDS = 3
"""Rounds of learning; more make claims too sure where groups are few (decision 0102)."""
_SWEEPS = 4
"""Sweeps of scaling in each round."""
_FOLDS = 5
"""Folds of people."""
_SMOOTHING = 20.0
"""People of what is common that are added to every row of a feature's table (decision 0102)."""
_GAIN = 3.0
"""Log-likelihood that a step must gain."""
_LENGTHS = (1.0, 0.5, 0.25)
"""Lengths of a step that are tried."""
_STEPS = 40
"""Steps at most, which bounds the time: later ones gain least."""


def with_learned_prior(
    series: Sequence[Observation],
    model: Model,
    posterior: Posterior,
    features: Sequence[Ints],
    expected: Floats,
    known: Bools | None = None,
    times: Sequence[int] | None = None,
    how: Scaling | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Posterior:
    """Learn from a posterior, and solve again.

    `features` are a number for each person, each; `expected` is the prior (people x values) with which the posterior
    was found; `known` says of whom older releases had said something then.
    """
    folds = _folds([of_people(one) for one in series], len(expected))
    seats, arrivals = _seats_in(series), arrivals_in(series, len(expected))
    start = _Start.of(series, expected, arrivals, known)
    # Of seats, exact messages would count the prior of their occupants once a release (decision 0102).
    problem = Problem.of(series, posterior.releases, model, times, how, arrivals, refined=arrivals is None)
    pairs, departures = pairings(posterior.releases, times), posterior.departures
    chance, fit, prior = posterior.chance, posterior.fit, start.expected
    for turn in range(_ROUNDS):
        if turn:
            fit, chance = problem.marginals(prior, fit, departures, _SWEEPS)
        first = first_posterior(posterior.releases, pairs, arrivals, chance, expected.shape)
        first[seats] = 0.0
        prior = start.with_learned(learn_prior(features, first, folds), _common(first))
        prior[seats] = expected[seats]
        progress((turn + 1) / (_ROUNDS + 1))
    known_departures = None if departures is None else replace(departures, known=True)
    solved = problem.solved(prior, known_departures, None, fit.multipliers)
    return replace(solved, contradicted=posterior.contradicted, departures=departures, shares=posterior.shares)


def learn_prior(features: Sequence[Ints], posterior: Floats, folds: Ints) -> Floats:
    """Prior of everyone's first value (people x values) by features alone; as is common where they say nothing."""
    common = _common(posterior)
    columns = [_Feature.of(one, posterior, folds) for one in features]
    kinds = _Kinds.of(folds, posterior, common)
    for _ in range(_STEPS):
        steps = [_best(kinds, column, common) for column in columns]
        best = max(steps, key=lambda step: step.gain, default=None)
        if best is None or best.gain < _GAIN:
            break
        kinds = kinds.after(best)
    return kinds.prior[kinds.of_person]


def _common(posterior: Floats) -> Floats:
    """Share of each value among first values."""
    common = np.maximum(posterior.sum(axis=0) / max(float((posterior.sum(axis=1) > 0).sum()), 1.0), RARE)
    return np.asarray(common / common.sum())


@dataclass(frozen=True, eq=False)
class _Feature:
    """One feature of everyone, and what the posterior says of those who share it."""

    of_person: Ints
    size: int
    found: Floats
    """Folds x feature's values x values: the posterior's sum."""

    @classmethod
    def of(cls, feature: Ints, posterior: Floats, folds: Ints) -> "_Feature":
        number, size = int(folds.max(initial=0)) + 1, int(feature.max(initial=0)) + 1
        found = _summed(folds * size + feature, posterior, number * size)
        return cls(feature, size, found.reshape(number, size, -1))


@dataclass(frozen=True, eq=False)
class _Step:
    """One feature's cells scaled, by so much."""

    gain: float
    """How much better it explains those who were not learned from."""
    feature: _Feature
    lifts: Floats
    """Folds x feature's values x values."""


@dataclass(frozen=True, eq=False)
class _Kinds:
    """People of one fold with the same features, as far as these were taken: they have one prior."""

    of_person: Ints
    fold: Ints
    """Kind to its fold."""
    prior: Floats
    """Kinds x values."""
    there: Bools
    """Person to whether something is known of the person's first value."""

    @classmethod
    def of(cls, folds: Ints, posterior: Floats, common: Floats) -> "_Kinds":
        """Before the first step: everyone of a fold is alike."""
        number = int(folds.max(initial=0)) + 1
        return cls(folds, np.arange(number), np.tile(common, (number, 1)), posterior.sum(axis=1) > 0)

    def by(self, feature: _Feature) -> tuple[Ints, Ints]:
        """The kinds that one feature more tells apart, as numbers of a kind and a feature's value; who is of which."""
        return distinct_keys(self.of_person * feature.size + feature.of_person, len(self.prior) * feature.size)

    def after(self, step: _Step) -> "_Kinds":
        """With one step taken."""
        size = step.feature.size
        keys, of_person = self.by(step.feature)
        kind = keys // size
        scaled = np.maximum(self.prior[kind] * step.lifts[self.fold[kind], keys % size], RARE**2)
        scaled /= scaled.sum(axis=1, keepdims=True)
        return replace(self, of_person=of_person, fold=self.fold[kind], prior=scaled)


def _best(kinds: _Kinds, feature: _Feature, common: Floats) -> _Step:
    """By what a feature's cells would have to be scaled, as those of other folds say; the best of a few lengths.

    What a step of lifts to the power of its length explains is the posterior's sum of their logarithms, less everyone's
    logarithm of what the prior then sums to.
    """
    keys, of_person = kinds.by(feature)
    people = np.bincount(of_person, kinds.there, len(keys))
    kind, cell = keys // feature.size, keys % feature.size
    prior, fold = kinds.prior[kind], kinds.fold[kind]
    found, smooth = feature.found, _SMOOTHING * common
    sums = _summed(fold * feature.size + cell, prior * people[:, np.newaxis], len(found) * feature.size)
    expected = sums.reshape(found.shape)
    lifts = (found.sum(axis=0) - found + smooth) / (expected.sum(axis=0) - expected + smooth)
    lifts = np.maximum(lifts, RARE)
    explained, steps = float((found * np.log(lifts)).sum()), []
    for length in _LENGTHS:
        scaled = lifts**length
        total = np.einsum("kv,kv->k", prior, scaled[fold, cell])
        gain = length * explained - float((people * np.log(np.maximum(total, TINY))).sum())
        steps.append(_Step(gain, feature, scaled))
    return max(steps, key=lambda step: step.gain)


def _summed(cell: Ints, rows: Floats, cells: int) -> Floats:
    """Cells x values: the sum of their rows."""
    ends = np.arange(len(cell) + 1)
    return np.asarray(sparse.csc_array((np.ones(len(cell)), cell, ends), shape=(cells, len(cell))) @ rows)


@dataclass(frozen=True, eq=False)
class _Start:
    """The prior of everyone's first value without learning, and about whom that says more than what is common."""

    expected: Floats
    more: Bools

    @classmethod
    def of(
        cls, series: Sequence[Observation], expected: Floats, arrivals: Sequence[Ints] | None, known: Bools | None
    ) -> "_Start":
        """Whoever takes a seat that was there before begins with what the seat had."""
        people = len(expected)
        begun, there = expected.copy(), np.zeros(people, np.bool_)
        told = np.zeros(people, np.bool_) if known is None else known
        more = told | made_by_value(series)
        for seen, arrived in zip(series, arrivals or (), strict=bool(arrivals)):
            seats = np.flatnonzero(arrived >= 0)
            old = there[seats]
            begun[arrived[seats]] = np.where(old[:, np.newaxis], 1.0, expected[seats])
            more[arrived[seats]] = old | told[seats]
            there[seen.person] = True
        return cls(begun, more)

    def with_learned(self, learned: Floats, common: Floats) -> Floats:
        """By what people's features make likelier, where more is known than what is common; else by them alone."""
        if self.more.any():
            learned[self.more] = self.expected[self.more] * (learned[self.more] / common)
        return learned


def _folds(observations: Sequence[Observation], people: int) -> Ints:
    """Person to one of a few folds; those who come together, in one group, are in one fold."""
    first = np.zeros(people, np.int64)
    starts = np.cumsum([0, *(seen.groups for seen in observations)])
    for place in range(len(observations) - 1, -1, -1):
        seen = observations[place]
        first[seen.person[::-1]] = starts[place] + seen.group[::-1]
    mixed = np.random.default_rng(0).permutation(int(starts[-1]) + 1)
    return np.asarray(mixed[first] % _FOLDS)


def _seats_in(series: Sequence[Observation]) -> Ints:
    """The persons that are seats, not people."""
    return different(np.concatenate([seen.person[: len(seen.occupant)] for seen in series]))


def arrivals_in(series: Sequence[Observation], people: int) -> list[Ints] | None:
    """The newcomer of each seat, -1 nobody, by release; None where persons are people."""
    if not any(len(seen.occupant) for seen in series):
        return None
    made, known = [], np.zeros(people, np.bool_)
    for seen in series:
        new = (seen.occupant >= 0) & ~known[seen.occupant]
        arrived = np.full(people, -1, np.int64)
        arrived[seen.person[new]] = seen.occupant[new]
        known[seen.occupant[new]] = True
        made.append(arrived)
    return made
