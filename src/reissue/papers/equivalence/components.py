"""Small connected components solved for good: what groups of different kinds say together.

Groups that share people form components. In each a weight is sought for every group, so that all values cancel and
everybody counts a whole number of times: e people for and e against are then shown to have the same values (definition
10 of He et al.), whichever kinds the groups are of. That is an integer program for each pattern of groups (`exact`).

People have whole values, which can say more (and never less) than such sums: so where all worlds of a component can be
gone through, that is done instead. Two sets of people have the same values in all worlds if the sums of their members'
scattered numbers are equal, where a person's number is the sum of one number for each world and value. Only what is
found so, or is nothing there, is exact.

**Whether values can have stayed.** The attack is about values that do not change while a record lives. Where they do,
groups contradict each other sooner or later. Three things tell it, each certain:

- somebody's groups have no value in common (asked by the attack itself);
- no shares of values, one for everyone and the same in every release, add up to what all groups show: a linear program;
- the holder knows the newest release's true values, and more members of an earlier group have one of them now than the
  group shows; or two people have different ones who must have the same.

Together they are not complete: that nothing contradicts is no proof that values stayed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Ints
from reissue.counting.hashing import mix
from reissue.counting.histogram import Histogram
from reissue.counting.segments import ranges
from reissue.papers.equivalence.exact import BucketHistory, least_by_pattern
from reissue.papers.equivalence.groups import ValueGroups
from reissue.papers.worlds import worlds_of

__all__ = ["Component", "Solved", "contradicts_truth", "no_values_fit", "solve"]


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
    decided = high >= 0
    if (low[decided] != high[decided]).any():
        return True
    inside = decided[groups.member]
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


_PEOPLE = 40
"""People of a component, at most, for whom all worlds or all weights are gone through."""
_STEPS, _ALL_STEPS = 5_000, 100_000
"""Steps in which the worlds of a component, and of all of a release, are looked for: a tenth of a second, and two."""
_SETS = 10_000
"""Sets of people of one size that are compared, at most."""
_PROGRAM = 1_000
"""Steps that take as long as one integer program."""
_PROGRAMS = 400
"""People for whom integer programs are solved after a release, at most: some ten seconds."""


@dataclass(frozen=True, eq=False)
class Component:
    """Groups that share people, and all of these."""

    inside: Ints
    """The groups x classes: how many of a class are in a group."""
    shows: Ints
    """Groups x values: what each group shows."""
    values: Ints
    """The values' lasting numbers."""
    classes: Ints
    """The classes' numbers."""
    size: Ints
    """How many people each class has."""


@dataclass(frozen=True, eq=False)
class Solved:
    """What components show."""

    least: Ints
    """Class to the smallest e below the limit of an attack that its people are in; 0 if none was found."""
    exact: bool
    """Whether there is no other: all worlds of all components were gone through."""
    linear: bool
    """Whether there is no other that sums of groups show."""
    contradicted: bool
    """Whether some component has no world: values have changed."""
    steps: int = 0
    """How much work it was."""


def solve(groups: ValueGroups, shows: Histogram, sizes: Ints, limit: int) -> Solved:
    """What all small components show; `sizes` is class to its number of people."""
    least, scattered = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.uint64)
    known, exact, linear = np.zeros(len(sizes), np.bool_), True, True
    programs, steps = _PROGRAMS, _ALL_STEPS
    for number, one in enumerate(_components(groups, shows, sizes, limit)):
        found, taken = (None, 0) if one is None else worlds_of(one.inside, one.shows, min(_STEPS, steps))
        steps -= taken
        if one is None:
            exact = linear = False
        elif found is None:
            exact = False
            linear &= programs > 0
            if programs > 0:
                least[one.classes], certain = _by_weights(one, limit)
                programs, linear = programs - len(one.classes), linear and certain
        elif len(found):
            known[one.classes], scattered[one.classes] = True, _scattered(number, one.values[found])
        else:
            return Solved(least, exact=False, linear=False, contradicted=True)
    some = np.flatnonzero(known)
    every = np.repeat(some, sizes[some])
    by_person, whole = _in_equal_sets(scattered[every], limit)
    np.maximum.at(least, every, by_person)  # classes are whole: of one class all have the same
    return Solved(
        least, exact and whole, linear, contradicted=False, steps=_ALL_STEPS - steps + _PROGRAM * (_PROGRAMS - programs)
    )


def _components(groups: ValueGroups, shows: Histogram, sizes: Ints, limit: int) -> Iterator[Component | None]:
    """The components that may show something; None where one is too large.

    Of one group by itself, with several values, nothing is known but what the whole of it has.
    """
    number, total = len(groups.kind), len(sizes)
    ends = (groups.of_member, number + groups.member)
    links = coo_array((np.ones(len(groups.member)), ends), shape=(number + total, number + total))
    label = connected_components(links, directed=False)[1]
    several = np.bincount(label[:number], minlength=int(label.max(initial=-1)) + 1)
    people = np.bincount(label[number:], sizes, len(several))
    order = np.argsort(label[:number], kind="stable")
    last = np.cumsum(several)
    alike = np.zeros(len(several), np.bool_)
    alike[label[:number][shows.lengths == 1]] = True
    for one in np.flatnonzero((several > 1) | ((several == 1) & (alike | (people < limit)))).tolist():
        chosen = np.sort(order[last[one] - several[one] : last[one]])
        yield None if people[one] > _PEOPLE and several[one] > 1 else _component(groups, shows, sizes, chosen)


def _component(groups: ValueGroups, shows: Histogram, sizes: Ints, chosen: Ints) -> Component:
    part, shown = groups.some(chosen), shows.pick(chosen)
    classes, which = np.unique(part.member, return_inverse=True)
    inside = np.zeros((len(chosen), len(classes)), np.int64)
    np.add.at(inside, (part.of_member, which.reshape(-1)), 1)
    values, column = np.unique(shown.value, return_inverse=True)
    counts = np.zeros((len(chosen), len(values)), np.int64)
    counts[shown.group, column.reshape(-1)] = shown.count
    return Component(inside, counts, values, classes, sizes[classes])


# --- all worlds ------------------------------------------------------------------------------------------------------


def _scattered(component: int, found: Ints) -> NDArray[np.uint64]:
    """Class to a number for its values in all worlds (worlds x classes).

    In one world it is a number for the value; in the others the difference from that. So numbers of several
    components' people can be added up: the sums of two sets are equal if what they have is the same in all worlds.
    """
    place = (np.uint64(component + 1) << np.uint64(40)) + (np.arange(len(found), dtype=np.uint64) << np.uint64(20))
    drawn, base = mix(place[:, np.newaxis] + found.astype(np.uint64)), found[:1].astype(np.uint64)
    other = (drawn - mix(place[:, np.newaxis] + base)).sum(axis=0, dtype=np.uint64)
    return np.asarray(other + mix(base[0] + np.uint64(1)), np.uint64)


def _in_equal_sets(scattered: NDArray[np.uint64], limit: int) -> tuple[Ints, bool]:
    """Person to the smallest e below the limit of two sets of e, with nobody in common, whose numbers add up alike.

    And whether all sets were compared.
    """
    least = np.zeros(len(scattered), np.int64)
    _, alike, often = np.unique(scattered, return_inverse=True, return_counts=True)
    least[often[alike] > 1] = int(limit > 1)
    for e in range(2, min(limit, len(scattered) // 2 + 1)):
        if comb(len(scattered), e) > _SETS:
            return least, False
        sets = np.array(list(combinations(range(len(scattered)), e)), np.int64)
        least[(least == 0) & _in_disjoint(sets, scattered[sets].sum(axis=1, dtype=np.uint64), len(scattered))] = e
    return least, True


def _in_disjoint(sets: Ints, sums: NDArray[np.uint64], people: int) -> Bools:
    """Who is in one of two disjoint sets with one sum."""
    found, order = np.zeros(people, np.bool_), np.argsort(sums, kind="stable")
    starts = np.flatnonzero(np.append(True, sums[order][1:] != sums[order][:-1]))
    for same in np.split(sets[order], starts[1:]):
        for one in same if len(same) > 1 else ():
            if not found[one].all() and not np.isin(same, one).any(axis=1).all():
                found[one] = True
    return found


# --- all weights -----------------------------------------------------------------------------------------------------


def _by_weights(one: Component, limit: int) -> tuple[Ints, bool]:
    """Class to the smallest e below the limit by definition 10, and whether the solver decided all."""
    patterns, of_class, weights = np.unique(one.inside.T, axis=0, return_inverse=True, return_counts=True)
    bucket = BucketHistory(patterns, weights, one.classes, balance=one.shows.T)
    least = least_by_pattern(bucket, limit)[of_class.reshape(-1)]
    return np.where(one.size > 1, int(limit > 1), np.maximum(least, 0)), not (least < 0).any()
