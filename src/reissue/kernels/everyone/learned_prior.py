"""Learning who tends to have which value, from what everyone's groups say together.

The prior is log-linear in a few features of people, and grows one feature at a time: its cells (one of the feature's
values and a sensitive one) are scaled to what the posterior says instead of what the prior expects, smoothed towards
what is common. A person is judged only by what was learnt from other folds; a step is taken only as
far, and as long, as it explains the posterior of those who were not learnt from better. So what is not there is not
learnt. O(people x values x features) for each step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.kernels.everyone.iterative_scaling import Chains, both_ways

__all__ = ["common_values", "first_posterior", "learn_prior"]

_SMOOTHING = 20.0
"""People's worth of what is common that is added to every cell."""
_LEAST = 3.0
"""Steps that explain less, in units of log-likelihood, are not taken."""
_LENGTHS = (1.0, 0.5, 0.25)
_STEPS = 40
_RARE = 1e-6


@dataclass(frozen=True, eq=False)
class _Step:
    gain: float
    prior: Floats


def first_posterior(chains: Chains, messages: Sequence[Floats]) -> Floats:
    """People x values: the posterior of everyone's first value; rows of people who are nowhere are 0."""
    assert chains.prior is not None  # noqa: S101 - whoever learns a prior has one
    made = np.zeros_like(chains.prior)
    before, later = both_ways(chains, messages)
    for place, layer in enumerate(chains.layers):
        who = chains.beginners(place)[layer.row]
        some = np.flatnonzero(who >= 0)
        made[who[some], layer.value[some]] = (before[place] * later[place] * messages[place])[some]
    total = made.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(made, total, out=np.zeros_like(made), where=total > 0))


def learn_prior(features: Sequence[Ints], posterior: Floats, folds: Ints) -> Floats:
    """People x values: how likely each first value is, by features alone; as it is common where they say nothing."""
    some, common = posterior.sum(axis=1) > 0, common_values(posterior)
    prior = np.tile(common, (len(posterior), 1))
    for _ in range(_STEPS):
        now = _explained(prior, posterior)
        steps = [_best(prior, posterior, _lifts(one, prior, posterior, folds, some, common)) for one in features]
        best = max(steps, key=lambda step: step.gain, default=None)
        if best is None or best.gain - now < _LEAST:
            break
        prior = best.prior
    return prior


def common_values(posterior: Floats) -> Floats:
    """Value to how often it is somebody's first one."""
    common = np.maximum(posterior.sum(axis=0) / max(float((posterior.sum(axis=1) > 0).sum()), 1.0), _RARE)
    return np.asarray(common / common.sum())


def _explained(prior: Floats, posterior: Floats) -> float:
    """How well one explains the other, in units of log-likelihood."""
    return float((posterior * np.log(prior)).sum())


def _lifts(feature: Ints, prior: Floats, posterior: Floats, folds: Ints, some: Bools, common: Floats) -> Floats:
    """People x values: by what the prior would have to be scaled, as those of other folds with the same feature say."""
    size, values, number = int(feature.max(initial=0)) + 1, posterior.shape[1], int(folds.max(initial=0)) + 1
    found, expected = np.zeros((number, size, values)), np.zeros((number, size, values))
    np.add.at(found, (folds, feature), posterior)
    np.add.at(expected, (folds, feature), np.where(some[:, np.newaxis], prior, 0.0))
    smooth = _SMOOTHING * common
    ratio = (found.sum(axis=0) - found + smooth) / (expected.sum(axis=0) - expected + smooth)
    return np.asarray(np.maximum(ratio, _RARE)[folds, feature])


def _best(prior: Floats, posterior: Floats, lifts: Floats) -> _Step:
    """The best of a few lengths of a step."""
    steps = []
    for length in _LENGTHS:
        scaled = np.maximum(prior * lifts**length, _RARE**2)
        scaled /= scaled.sum(axis=1, keepdims=True)
        steps.append(_Step(_explained(scaled, posterior), scaled))
    return max(steps, key=lambda step: step.gain)
