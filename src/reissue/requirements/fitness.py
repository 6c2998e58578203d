"""Privacy fitness: how far a group is above or below a requirement (Rani 2014, definition 3.1, which leaves it open).

Every requirement has a measure, its method `fitness`, that is at least 1 where it is met:

- k: rows / k; l: different values / l; k-e: the mean of different numbers / k and range / e;
- entropy-l: exp(entropy) / l, the effective number of values over l; recursive: c tail / most frequent;
- confidence, simple-l, personalized: bound / largest share asked about; alpha-k: the same, but at most rows / k;
- t: (1 - distance) / (1 - t); any other: 1 if met, else a little less.

Growing requirements (k, l, k-e) are averaged: the paper's equation 1, `(1-a) |T|/k + a |values|/l`, with equal
weights. The others enter by their minimum. Where the requirement as a whole is not met, the score is capped below 1
(the paper prints max(1-eps, F); it must be min).

**Monotone where it must be.** With growing requirements alone, the score never falls when records are added: sizes,
numbers of values and ranges only grow, and so does an average of them. With the others it cannot be so: adding records
of one value breaks them. What holds for all monotone ones in the list above is that a union scores at least as much as
the worse of its parts: entropy is concave and the distances are convex in the distribution, shares of a union lie
between those of its parts, tails add up at least and the most frequent at most; a minimum of such functions is one
too (an average need not be: hence the minimum). So a group that scores badly cannot be cured by splitting it further,
and the paper's choice of splits by score makes sense for all of them.

A score orders coalitions and split points; no verdict rests on it.
"""

from functools import reduce

import numpy as np

from reissue._arrays import Floats
from reissue.counting.cells import Counts
from reissue.requirements._base import BELOW, Requirement

__all__ = ["fitness"]

_MOST = 1e6
"""In place of infinity, where nothing could be better."""


def fitness(requirement: Requirement, counts: Counts) -> Floats:
    """The score of each group."""
    growing = [part for part in requirement.parts() if part.growing]
    scores = [part.fitness(counts) for part in requirement.parts() if not part.growing]
    if growing:
        scores.append(np.mean([part.fitness(counts) for part in growing], axis=0))
    score = np.minimum(reduce(np.minimum, scores), _MOST)
    return np.where(requirement.holds(counts), np.maximum(score, 1), np.minimum(score, BELOW))
