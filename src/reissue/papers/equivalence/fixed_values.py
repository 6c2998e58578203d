"""Whether values can have stayed: whether everyone can be given one value that all groups of all releases allow.

The attack is about values that do not change while a record lives. Where they do, groups contradict each other sooner
or later. Three things tell it, each certain:

- somebody's groups have no value in common (`attacks.updates.beliefs`);
- no shares of values, one for everyone and the same in every release, add up to what all groups show: a linear program;
- the holder knows the newest release's true values, and more members of an earlier group have one of them now than the
  group shows; or two people have different ones who must have the same.

Together they are not complete: that nothing contradicts is no proof that values stayed.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from reissue._arrays import Bools, Ints
from reissue.counting.histogram import Histogram
from reissue.counting.segments import ranges
from reissue.papers.equivalence.groups import ValueGroups

__all__ = ["contradicts_truth", "no_values_fit"]

_LARGEST = 6000
"""Chances of values that the linear program is asked for, at most: about a second."""
_INFEASIBLE = 2


def contradicts_truth(groups: ValueGroups, shows: Histogram, classes: Ints, truth: Ints) -> bool:
    """Whether true values cannot be those that earlier groups show.

    `classes` is person to its class, `truth` person to its value by lasting numbers, -1 where nobody knows.
    """
    known = np.flatnonzero(truth >= 0)
    if not len(known):
        return False
    size = int(max(classes.max(), groups.member.max(initial=0))) + 1
    low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(low, classes[known], truth[known])
    np.maximum.at(high, classes[known], truth[known])
    told = high >= 0
    if (low[told] != high[told]).any():
        return True
    inside = told[groups.member]
    values = int(max(high.max(), shows.values)) + 1
    now = np.unique(groups.of_member[inside] * values + high[groups.member[inside]], return_counts=True)
    then = shows.group * values + shows.value
    at = np.searchsorted(then, now[0])
    missing = np.append(then, -1)[at] != now[0]
    return bool((missing | (np.append(shows.count, 0)[at] < now[1])).any())


def no_values_fit(groups: ValueGroups, shows: Histogram, truth: Ints) -> bool:
    """Whether no values that stay add up to what all groups show, by a linear program; no where it would be too large.

    Members are classes of people who have one value; `truth` is class to its value where it is known, else -1.
    """
    pairs = np.unique(np.stack([groups.of_member, groups.member]), axis=1, return_counts=True)
    (group, member), times = pairs[0], pairs[1]
    widths = shows.lengths[group]
    if int(widths.sum()) > 8 * _LARGEST:
        return False
    value = shows.value[ranges(shows.starts[group], widths)]
    group, one, times = (np.repeat(column, widths) for column in (group, member, times))
    values = int(max(shows.values, truth.max(initial=0))) + 1
    cell = one * values + value
    allowed, place, often = np.unique(cell, return_inverse=True, return_counts=True)
    releases = np.bincount(member, minlength=int(member.max(initial=-1)) + 1)
    people, chance = allowed // values, allowed % values
    kept: Bools = often == releases[people]
    kept &= (truth[people] < 0) | (truth[people] == chance)
    if int(kept.sum()) > _LARGEST:
        return False
    number = np.cumsum(kept) - 1
    here = kept[place]
    rows = np.searchsorted(shows.group * values + shows.value, group[here] * values + value[here])
    cells, everyone = len(shows.value), np.unique(member)
    total = np.searchsorted(everyone, people[kept])
    equations = coo_array(
        (
            np.concatenate([times[here], np.ones(int(kept.sum()))]),
            (np.concatenate([rows, cells + total]), np.concatenate([number[place[here]], np.arange(int(kept.sum()))])),
        ),
        shape=(cells + len(everyone), int(kept.sum())),
    ).tocsr()
    if not kept.any():
        return len(everyone) > 0
    right = np.concatenate([shows.count, np.ones(len(everyone))]).astype(np.float64)
    found = linprog(np.zeros(equations.shape[1]), A_eq=equations, b_eq=right, bounds=(0, 1), method="highs")
    return bool(found.status == _INFEASIBLE)
