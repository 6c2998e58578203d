"""Cohorts to published groups: those that do not meet the requirement by themselves join near ones.

Who is in a cohort stays in it; which cohorts stand in one group may change from release to release, for a group shows
less than each of its cohorts would. In each round every group that fails looks for the neighbour with which least is
lost, and the cheapest pairs join. Neighbours are those next to it in some order by quasi-identifiers, or all where
there are few. O(failing groups x neighbours x attributes) a round, and a few rounds.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.algorithms.cohorts.boxes import Extent
from reissue.counting.cells import Counts, Domain
from reissue.errors import NotMetError
from reissue.requirements import Requirement

__all__ = ["joined"]

_FEW = 1_500
"""Where there are no more groups than this, all of them are looked at."""
_WINDOW = 16
"""Neighbours on each side in each order."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups so far: their extent, and each cohort's group."""

    extent: Extent
    of_cohort: Ints


def joined(extent: Extent, cohort: Ints, value: Ints, domain: Domain, requirement: Requirement) -> Ints:
    """Cohort to its group; `extent` is that of the cohorts, `cohort` and `value` are those of the slots."""
    groups = _Groups(extent, np.arange(len(extent.people)))
    while True:
        total = len(groups.extent.people)
        holds = requirement.holds(Counts(groups.of_cohort[cohort], value, domain, total))
        if holds.all():
            return groups.of_cohort
        if total == 1:
            raise NotMetError(
                f"Not even all records together, counterfeits among them, meet {requirement}. Ask for less, or wait "
                "until there are more records."
            )
        groups = _round(groups, ~holds)


def _round(groups: _Groups, failing: Bools) -> _Groups:
    """Every group takes part in one pair at most; at least one pair joins."""
    extent, total = groups.extent, len(groups.extent.people)
    one, other = _neighbours(extent, np.flatnonzero(failing))
    cost = _costs(extent, one, other)
    order = np.lexsort((other, cost))
    best = order[np.unique(one[order], return_index=True)[1]]
    label, used = np.arange(total), np.zeros(total, np.bool_)
    for pair in best[np.argsort(cost[best], kind="stable")].tolist():
        a, b = int(one[pair]), int(other[pair])
        if not used[a] and not used[b]:
            used[a] = used[b] = True
            label[max(a, b)] = min(a, b)
    found, again = np.unique(label, return_inverse=True)
    again = again.reshape(-1)
    return _Groups(extent.merged(again, len(found)), again[groups.of_cohort])


def _neighbours(extent: Extent, failing: Ints) -> tuple[Ints, Ints]:
    """Pairs of a failing group and one that it may join."""
    total = len(extent.people)
    if total <= _FEW:
        one, other = (part.reshape(-1) for part in np.meshgrid(failing, np.arange(total), indexing="ij"))
        apart = one != other
        return one[apart], other[apart]
    middle = extent.lo // 2 + extent.hi // 2
    pairs = []
    steps = np.concatenate([np.arange(-_WINDOW, 0), np.arange(1, _WINDOW + 1)])
    for first in range(len(middle)):
        order = np.lexsort(np.roll(middle, first, axis=0))
        place = np.empty(total, np.int64)
        place[order] = np.arange(total)
        at = place[failing][:, np.newaxis] + steps
        inside = (at >= 0) & (at < total)
        pairs.append(np.stack([np.broadcast_to(failing[:, np.newaxis], at.shape)[inside], order[at[inside]]]))
    one, other = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return one, other


def _costs(extent: Extent, one: Ints, other: Ints) -> Floats:
    """Pair to what it costs, in pieces."""
    pieces = np.array_split(np.arange(len(one)), max(len(one) // 500_000, 1))
    return np.concatenate([extent.pick(one[some]).cost(extent.pick(other[some])) for some in pieces])
