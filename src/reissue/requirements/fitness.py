"""Privacy fitness: how far a group is above or below a requirement (paper 001, definition 3.1, which it leaves open).

Every requirement gets a measure that is at least 1 where it is met:

- k: rows / k; l: different values / l; k-e: the mean of different numbers / k and range / e;
- entropy-l: exp(entropy) / l, the effective number of values over l; recursive: c tail / most frequent;
- confidence, simple-l, personalized: bound / largest share asked about; alpha-k: the same, but at most rows / k;
- t: (1 - distance) / (1 - t); any other: 1 if met, else a little less (`of_part.register` adds one).

Growing requirements (k, l, k-e) are averaged, by weight if weights are given: the paper's equation 1,
`(1-a) |T|/k + a |values|/l`. The others enter by their minimum. Where the requirement as a whole is not met, the score
is capped below 1 (the paper prints max(1-eps, F); it must be min).

**Monotone where it must be.** With growing requirements alone, the score never falls when records are added: sizes,
numbers of values and ranges only grow, and so does an average of them. With the others it cannot be so: adding records
of one value breaks them. What holds for all monotone ones in the list above is that a union scores at least as much as
the worse of its parts: entropy is concave and the distances are convex in the distribution, shares of a union lie
between those of its parts, tails add up at least and the most frequent at most; a minimum of such functions is one
too (an average need not be: hence the minimum). So a group that scores badly cannot be cured by splitting it further,
and the paper's choice of splits by score makes sense for all of them.

A score orders coalitions and split points; no verdict rests on it.
"""

from collections.abc import Mapping
from functools import reduce, singledispatch

import numpy as np

from reissue._arrays import Floats
from reissue.counting.cells import Counts
from reissue.requirements import (
    KE,
    AlphaK,
    Confidence,
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    Personalized,
    RecursiveLDiversity,
    Requirement,
    SimpleLDiversity,
    TCloseness,
)
from reissue.requirements._values import masks
from reissue.requirements.diversity import most_frequent

__all__ = ["BELOW", "fitness", "of_part"]

BELOW = 1 - 1e-6
"""The largest score of a group that does not meet its requirement."""
_MOST = 1e6
"""In place of infinity, where nothing could be better."""


def fitness(requirement: Requirement, counts: Counts, weights: Mapping[str, float] | None = None) -> Floats:
    """The score of each group; `weights` are those of growing requirements by name (1 if not said)."""
    growing = [part for part in requirement.parts() if part.growing]
    scores = [of_part(part, counts) for part in requirement.parts() if not part.growing]
    if growing:
        weight = np.array([(weights or {}).get(part.name, 1.0) for part in growing])
        each = np.stack([of_part(part, counts) for part in growing])
        scores.append(np.asarray(weight @ each / max(float(weight.sum()), 1e-9), np.float64))
    score = np.minimum(reduce(np.minimum, scores), _MOST)
    return np.where(requirement.holds(counts), np.maximum(score, 1), np.minimum(score, BELOW))


@singledispatch
def of_part(part: Requirement, counts: Counts) -> Floats:
    """The fitness of each group for one requirement; `of_part.register` makes a user's own known."""
    return np.where(part.holds(counts), 1.0, BELOW)


@of_part.register
def _(part: KAnonymity, counts: Counts) -> Floats:
    return counts.sizes / part.k


@of_part.register
def _(part: LDiversity, counts: Counts) -> Floats:
    return counts.distinct / part.l


@of_part.register
def _(part: KE, counts: Counts) -> Floats:
    missing = counts.domain.taxonomy is not None and counts.domain.taxonomy.missing
    known = counts.value < counts.domain.size - missing
    group, place = counts.group[known], counts.domain.positions[counts.value[known]]
    low, high = np.full(counts.total, np.inf), np.full(counts.total, -np.inf)
    np.minimum.at(low, group, place)
    np.maximum.at(high, group, place)
    distinct = np.bincount(group, minlength=counts.total)
    reach = np.maximum(np.where(distinct > 0, high - low, 0), 0) / part.e if part.e else np.ones(counts.total)
    return (distinct / part.k + reach) / 2


@of_part.register
def _(part: EntropyLDiversity, counts: Counts) -> Floats:
    sizes = np.maximum(counts.sizes, 1)
    number = counts.count.astype(np.float64)
    return np.asarray(np.exp(np.log(sizes) - counts.sum(number * np.log(number)) / sizes) / part.l, np.float64)


@of_part.register
def _(part: RecursiveLDiversity, counts: Counts) -> Floats:
    tail = counts.sizes - most_frequent(counts, part.l - 1)[-1]
    return part.c * tail / np.maximum(counts.largest, 1)


@of_part.register
def _(part: Confidence, counts: Counts) -> Floats:
    return _over(part.bound, part.share(counts))


@of_part.register
def _(part: AlphaK, counts: Counts) -> Floats:
    return np.minimum(_over(part.alpha, part.share(counts)), counts.sizes / part.k)


@of_part.register
def _(part: SimpleLDiversity, counts: Counts) -> Floats:
    return _over(1 / part.l, part.share(counts))


@of_part.register
def _(part: Personalized, counts: Counts) -> Floats:
    sizes = np.maximum(counts.sizes, 1)
    if not part.guards:
        return _over(part.bound, counts.largest / sizes)
    who, node = (masks(counts.domain, tuple((name,) for name in names)) for names in zip(*part.guards, strict=True))
    share = np.zeros(counts.total)
    for asks, guarded in zip(who, node, strict=True):
        present = counts.sum(asks[counts.value].astype(np.float64)) > 0
        np.maximum(share, present * counts.sum(np.where(guarded[counts.value], counts.count, 0)) / sizes, out=share)
    return _over(part.bound, share)


@of_part.register
def _(part: TCloseness, counts: Counts) -> Floats:
    return (1 - part.away(counts)) / max(1 - part.t, 1e-6)


def _over(bound: float, share: Floats) -> Floats:
    return np.asarray(np.minimum(bound / np.maximum(share, 1e-12), _MOST), np.float64)
