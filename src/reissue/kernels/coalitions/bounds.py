"""Bounds on what a coalition can do to groups, for requirements that are not growing: never wrong when they say yes.

Whatever a coalition leaves in or takes out, what it looks at has at least R = rows - taken records, `taken` being what
the largest contributors gave, and of each value at most the group's n_v. So

- no share is above n_v / R: confidence, simple-l, (alpha,k), personalized;
- of each value at least n_v less what its largest owners have stays. Entropy of s records is log s - sum(x log x) / s.
  x log x lies below its chord between these ends, so the sum is at most a fractional knapsack of s records, steepest
  chords first: a line on every piece of s, on which log s - (a + b s) / s is smallest at s = -a or at an end;
- the distance to Q is at most what a fractional knapsack of R records allows: the sum of (n_v / R - q_v) over values
  with the smallest q_v / n_v first. For hierarchical distances that is done on every level, for ordered ones on every
  split of the values in two;
- recursive (c,l): nothing shortens the tail by more than `taken`.

Linear in the triples, but for one sort.
"""

from functools import singledispatch

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.requirements import (
    AlphaK,
    Confidence,
    Personalized,
    RecursiveLDiversity,
    Requirement,
    SimpleLDiversity,
    TCloseness,
)
from reissue.requirements.diversity import most_frequent

__all__ = ["entropy_at_least", "within"]

_CELLS = 1 << 22


@singledispatch
def within(part: Requirement, whole: Counts, taken: Ints) -> Bools:
    """Which groups surely keep a requirement that is not growing; `taken` is what the largest contributors gave.

    A bound, never wrong when it says yes.
    """
    del part, taken
    return np.zeros(whole.total, np.bool_)


@within.register
def _(part: Confidence, whole: Counts, taken: Ints) -> Bools:
    return _share(whole, taken) <= (-1 if part.values else part.bound)


@within.register
def _(part: Personalized, whole: Counts, taken: Ints) -> Bools:
    return _share(whole, taken) <= (-1 if part.guards else part.bound)


@within.register
def _(part: AlphaK, whole: Counts, taken: Ints) -> Bools:
    return (_share(whole, taken) <= (-1 if part.values else part.alpha)) & (whole.sizes - taken >= part.k)


@within.register
def _(part: SimpleLDiversity, whole: Counts, taken: Ints) -> Bools:
    return (whole.largest * part.l <= whole.sizes - taken) & (not part.values)


@within.register
def _(part: RecursiveLDiversity, whole: Counts, taken: Ints) -> Bools:
    tail = whole.sizes - most_frequent(whole, part.l - 1)[-1] - taken
    return np.asarray((tail > 0) & (whole.largest / np.maximum(tail, 1) < part.c), np.bool_)


@within.register
def _(part: TCloseness, whole: Counts, taken: Ints) -> Bools:
    rows = np.maximum(whole.sizes - taken, 1)
    taxonomy = whole.domain.taxonomy
    if part.distance == "equal" or taxonomy is None:
        return np.asarray(_apart(whole, rows) <= part.t, np.bool_)
    if part.distance == "ordered":
        return np.asarray(_along(whole, rows) <= part.t, np.bool_)
    distance = np.zeros(whole.total)
    for level in taxonomy.levels[:-1]:
        totals = np.bincount(level.node, whole.domain.totals).astype(np.int64)
        nodes = Counts(whole.group, level.node[whole.value], Domain(totals), whole.total, whole.count)
        distance += _apart(nodes, rows)
    return np.asarray(distance / taxonomy.height <= part.t, np.bool_)


def entropy_at_least(whole: Counts, taken: Ints, owned: Ints) -> Floats:
    """No more than the entropy of whatever is looked at; `owned` is the most of each triple that a coalition has."""
    count = whole.count.astype(np.float64)
    low, own = count - owned, np.maximum(owned, 1e-9)
    gain = _weighed(count) - _weighed(low)
    order = np.lexsort((-gain / own, whole.group))
    group = whole.group[order]
    own, gain = own[order], gain[order]
    start = whole.sum(low)[group] + _before(own, whole.distinct, group)
    level = whole.sum(_weighed(low))[group] + _before(gain, whole.distinct, group)
    slope = gain / own
    constant = level - slope * start
    first = np.maximum(start, (whole.sizes - taken)[group])
    at = np.clip(-constant, first, np.maximum(start + own, 1))
    entropy = np.log(at) - constant / at - slope
    least = np.full(whole.total, np.inf)
    np.minimum.at(least, group, np.where(first <= start + own, entropy, np.inf))
    return least


def _weighed(number: Floats) -> Floats:
    return np.asarray(number * np.log(np.maximum(number, 1)), np.float64)


def _before(steps: Floats, distinct: Ints, group: Ints) -> Floats:
    """The sum of a group's earlier steps."""
    before = np.cumsum(steps) - steps
    return np.asarray(before - before[(np.cumsum(distinct) - distinct)[group]], np.float64)


def _filled(whole: Counts, rows: Ints, first: Floats) -> Ints:
    """How many records each triple gets when a group's rows are filled, triples with the smallest `first` first."""
    order = np.lexsort((first, whole.group))
    count = whole.count[order]
    before = np.cumsum(count) - count
    starts = np.cumsum(whole.sizes) - whole.sizes
    filled = np.empty_like(count)
    filled[order] = np.clip(rows[whole.group] - (before - starts[whole.group]), 0, count)
    return filled


def _apart(whole: Counts, rows: Ints) -> Floats:
    """At least the equal distance to the table's distribution, whatever is looked at."""
    gain = whole.count / rows[whole.group] - whole.domain.shares[whole.value]
    filled = _filled(whole, rows, whole.domain.shares[whole.value] / whole.count)
    return whole.sum(np.maximum(gain, 0) * filled / whole.count)


def _along(whole: Counts, rows: Ints) -> Floats:
    """At least the ordered distance; infinite where there are too many values to look at all."""
    size = whole.domain.size
    if whole.total * size > _CELLS:
        return np.full(whole.total, np.inf)
    dense = np.zeros((whole.total, size))
    dense[whole.group, whole.value] = whole.count
    below, base = np.cumsum(dense, axis=1), np.cumsum(whole.domain.shares)
    most = np.minimum(below / rows[:, np.newaxis], 1) - base
    least = base - np.maximum(1 - (whole.sizes[:, np.newaxis] - below) / rows[:, np.newaxis], 0)
    return np.asarray(np.maximum(most, least).sum(axis=1) / max(size - 1, 1), np.float64)


def _share(whole: Counts, taken: Ints) -> Floats:
    """More than the share that any value can be given."""
    return np.asarray(whole.largest / np.maximum(whole.sizes - taken, 1), np.float64)
