"""How two groups could exchange rows of the same values: whatever is asked of their histograms holds as before.

The rows of both are taken together. One group grows anew from a row drawn at random, always by the row that widens its
box least and whose value it still lacks, until it has as many of each value as before; the other one gets the rest.
O(rows of a pair squared) for each pair.
"""

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.algorithms.partition.divisions import Better, Division, GroupPairs, batches
from reissue.algorithms.partition.growth import GONE, Growth, Weights
from reissue.algorithms.registry import Job

__all__ = ["exchanges"]

_GAIN = 1e-6
_ELEMENTS = 100_000
"""Rows of so many pairs are worked on at once."""


def exchanges(job: Job, division: Division, one: Ints, other: Ints, rng: np.random.Generator) -> list[Better]:
    """Pairs of groups grown anew with the values that they have, where that saves anything.

    Pairs come in the order of their rows, fewest first.
    """
    found: list[Better] = []
    for some in batches(division.sizes[one] + division.sizes[other], _ELEMENTS):
        turned = rng.random(len(some)) < 0.5
        first, second = np.where(turned, other[some], one[some]), np.where(turned, one[some], other[some])
        pairs = GroupPairs.of(division, first, second)
        mine = _regrown(job, division, pairs, rng)
        saved = _saved(division, pairs, mine)
        for pair in np.flatnonzero(saved > _GAIN).tolist():
            rows, own, there = pairs.rows[pair], mine[pair], pairs.there[pair]
            ends = int(first[pair]), int(second[pair])
            found.append(Better(*ends, rows[own], rows[there & ~own], float(saved[pair])))
    return found


def _regrown(job: Job, division: Division, pairs: GroupPairs, rng: np.random.Generator) -> Bools:
    """Pairs x places: which rows the first group of each pair has now."""
    number, places = pairs.rows.shape
    values, block = job.table.domain.size, np.arange(number)
    value = job.table.sensitive[pairs.rows].astype(np.int64)
    key = value + (block * values)[:, np.newaxis]
    size = division.sizes[pairs.one]
    before = np.arange(places) < size[:, np.newaxis]
    lacking = np.bincount(key[before], minlength=number * values).reshape(number, values)
    growth, mine = Growth(division.losses, pairs.rows, pairs.there), np.zeros(pairs.rows.shape, np.bool_)
    growth.cost[:] = rng.random(pairs.rows.shape)
    for turn in range(int(size.max())):
        some = turn < size
        dear: Weights = np.where(lacking > 0, np.float32(0), GONE)
        place = growth.nearest(dear, key)
        if not turn:
            growth.begin(place)
        growth.add(place, some)
        lacking[block[some], value[block[some], place[some]]] -= 1
        mine[block[some], place[some]] = True
    return mine


def _saved(division: Division, pairs: GroupPairs, mine: Bools) -> Floats:
    """What each pair saves where the first group has these rows, and the second one the others."""
    after = np.zeros(len(mine))
    for part in (mine, pairs.there & ~mine):
        inside = part.T
        lo = np.where(inside, pairs.codes, np.iinfo(np.int32).max).min(axis=1)
        hi = np.where(inside, pairs.codes, -1).max(axis=1)
        after += part.sum(axis=1) * division.losses.box(lo, hi)
    return np.asarray(pairs.before - after)
