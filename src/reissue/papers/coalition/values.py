"""How few different values a coalition can leave, for many groups at once (distinct l-diversity against m providers).

A value is gone when all its providers are in the coalition. First a bound: a coalition of a members holds at most as
many (member, value) pairs as the a providers with most values, and a value that is gone uses up one pair for each of
its providers; so at most as many values go as the least shared ones that fit. Groups that this leaves open and that
have few coalitions are tried with all of them, providers and coalitions as bits: groups with the same number of
providers and of members together, O(coalitions x values) each. The others are left to `worst_coalition`.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from reissue._arrays import Bools, Ints

__all__ = ["Holdings", "values_stay"]

_COALITIONS = 2000
_CELLS = 1 << 21


@dataclass(frozen=True, eq=False)
class Holdings:
    """Which provider has which value in which group: an entry each, in any order."""

    group: Ints
    provider: Ints
    """Numbered 0, 1, ... within the group."""
    value: Ints
    providers: Ints
    """How many providers each group has."""
    members: Ints
    """How many of them may collude."""


def values_stay(holdings: Holdings, least: int) -> tuple[Bools, Bools]:
    """Which groups keep at least so many values against every coalition, and for which groups that is known."""
    total = len(holdings.providers)
    order = np.lexsort((holdings.value, holdings.group))
    group, provider, value = (a[order] for a in (holdings.group, holdings.provider, holdings.value))
    new = np.append(True, (np.diff(group) != 0) | (np.diff(value) != 0))[: len(group)]
    starts, place = np.flatnonzero(new), np.cumsum(new) - 1
    shared = np.diff(np.append(starts, len(group)))
    values = np.bincount(group[starts], minlength=total)
    goes = shared <= holdings.members[group[starts]]
    held = _most_held(group[goes[place]], provider[goes[place]], holdings)
    fine = values - _bound(group[starts][goes], shared[goes], held) >= least
    bits = np.bitwise_or.reduceat(np.int64(1) << np.minimum(provider, 62), starts)
    tried = _tried(~fine, holdings)
    for some in tried:
        fine[some] = values[some] - _most_gone(some, group[starts][goes], bits[goes], holdings) >= least
    known = fine.copy()
    known[np.concatenate([*tried, np.zeros(0, np.int64)])] = True
    return fine, known


def _most_held(group: Ints, provider: Ints, holdings: Holdings) -> Ints:
    """How many (member, value) pairs a coalition can hold in each group."""
    total, width = len(holdings.providers), int(holdings.providers.max(initial=1))
    held = np.bincount(group * width + provider, minlength=total * width).reshape(total, width)
    most = np.cumsum(np.append(np.zeros((total, 1), np.int64), -np.sort(-held, axis=1), axis=1), axis=1)
    return np.asarray(most[np.arange(total), holdings.members])


def _bound(group: Ints, shared: Ints, held: Ints) -> Ints:
    """At most how many values go: the least shared ones, as long as their pairs are held."""
    order = np.lexsort((shared, group))
    used = np.cumsum(shared[order])
    before = np.append(0, used)[np.searchsorted(group, np.arange(len(held)))]
    fits = used - before[group] <= held[group]
    return np.bincount(group[fits], minlength=len(held))


def _tried(open_: Bools, holdings: Holdings) -> list[Ints]:
    """The open groups with few coalitions, in batches of the same number of providers and members."""
    batches = []
    kinds = np.unique(np.stack([holdings.providers[open_], holdings.members[open_]]), axis=1)
    for total, size in kinds.T.tolist():
        coalitions = comb(total, size)
        if total <= 62 and coalitions <= _COALITIONS:
            here = np.flatnonzero(open_ & (holdings.providers == total) & (holdings.members == size))
            batches += np.array_split(here, 1 + len(here) * coalitions // _CELLS)
    return batches


def _most_gone(some: Ints, group: Ints, bits: Ints, holdings: Holdings) -> Ints:
    """How many values the worst coalition takes away from each of some groups with equally many providers."""
    total, size = int(holdings.providers[some[0]]), int(holdings.members[some[0]])
    coalitions = np.array([sum(chosen) for chosen in combinations([1 << place for place in range(total)], size)])
    first, after = np.searchsorted(group, some), np.searchsorted(group, some, "right")
    gone = np.zeros((len(some), len(coalitions)), np.int32)
    for step in range(int((after - first).max(initial=0))):
        here = first + step < after
        gone[here] += (bits[(first + step)[here], np.newaxis] & ~coalitions) == 0
    return np.asarray(gone.max(axis=1), np.int64)
