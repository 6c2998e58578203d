"""Learning who tends to have which value, from what everyone's groups say together.

The prior is log-linear in a few features of people, and grows one feature at a time: its cells (one of the feature's
values and a sensitive one) are scaled to what the posterior says instead of what the prior expects, smoothed towards
what is common. A person is judged only by what was learnt from other folds; a step is taken only as
far, and as long, as it explains the posterior of those who were not learnt from better. So what is not there is not
learnt.

People of one fold who share all features that were taken so far have one prior, so it is kept by such kinds of people,
and a step costs O(people + kinds x values) for each feature.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.keys import distinct_keys
from reissue.solver.iterative_scaling import beginners
from reissue.solver.observations import TINY, Layer
from reissue.solver.transitions import Pairing

__all__ = ["common_values", "first_posterior", "learn_prior"]

_SMOOTHING = 20.0
"""People's worth of what is common that is added to every cell."""
_LEAST = 3.0
"""Steps that explain less, in units of log-likelihood, are not taken."""
_LENGTHS = (1.0, 0.5, 0.25)
_STEPS = 40
_RARE = 1e-6


def first_posterior(
    layers: Sequence[Layer],
    pairs: Sequence[Pairing],
    arrivals: Sequence[Ints] | None,
    chance: Sequence[Floats],
    shape: tuple[int, int],
) -> Floats:
    """People x values: the posterior of everyone's first value; rows of people who are nowhere are 0."""
    made = np.zeros(shape)
    arrived: Sequence[Ints | None] = arrivals or [None] * len(layers)
    for layer, pairing, new, found in zip(layers, pairs, arrived, chance, strict=True):
        who = beginners(layer, pairing, new)[layer.row]
        some = np.flatnonzero(who >= 0)
        made[who[some], layer.value[some]] = found[some]
    total = made.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(made, total, out=np.zeros_like(made), where=total > 0))


def learn_prior(features: Sequence[Ints], posterior: Floats, folds: Ints) -> Floats:
    """People x values: how likely each first value is, by features alone; as it is common where they say nothing."""
    common = common_values(posterior)
    columns = [_Feature.of(one, posterior, folds) for one in features]
    kinds = _Kinds.of(folds, posterior, common)
    for _ in range(_STEPS):
        steps = [_best(kinds, column, common) for column in columns]
        best = max(steps, key=lambda step: step.gain, default=None)
        if best is None or best.gain < _LEAST:
            break
        kinds = kinds.after(best)
    return kinds.prior[kinds.of_person]


def common_values(posterior: Floats) -> Floats:
    """Value to how often it is somebody's first one."""
    common = np.maximum(posterior.sum(axis=0) / max(float((posterior.sum(axis=1) > 0).sum()), 1.0), _RARE)
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
    """How much better it explains those who were not learnt from."""
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
        scaled = np.maximum(self.prior[kind] * step.lifts[self.fold[kind], keys % size], _RARE**2)
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
    lifts = np.maximum(lifts, _RARE)
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
