"""The worst coalition of a group without searching all of them: 30 providers at m = 15 are 155 million coalitions.

A conjunction is broken where one of its parts is, so each part is answered by itself:

- k, alpha-k, confidence, simple-l, personalized, recursive, m-unique ask, for some sets A of values, how many records
  the others gave outside A (`worst_sets`): for each A the worst coalition are the members with most records outside A.
- l and k-e fall when enough values are gone. A value is gone when all its providers are in the coalition: an integer
  program (most values gone with `size` members), tried first by depth-first search, solved by HiGHS where that is long,
  and counted again in integers. For k-e's range: one window of width e for each smallest number that may remain.
- t with equal distances: a formula for every set of values, up to 14 of them.
- The others (entropy-l, t, c-k, a user's own) are searched, one by one or binary, up to a number of checks.

O(sets x providers log providers) for the first kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from reissue._arrays import Bools, Floats, Ints
from reissue.errors import InternalError
from reissue.papers.coalition.search import MOST_CHECKS, Group, Oracle, TooManyChecksError, binary, direct
from reissue.requirements import ByColumn, Remaining, Requirement

__all__ = ["CoalitionResult", "worst_coalition"]

_NODES = 2000
_FEW = 20
"""This many coalitions are checked one by one."""
_SLACK = 1e-12


@dataclass(frozen=True)
class CoalitionResult:
    """A harmful coalition, or none."""

    coalition: int | None
    """Its members as bits; None if all coalitions of the size are harmless."""
    checks: int
    exact: bool = True
    """Whether it is sure: what is not shown to be harmless counts as harmful."""


def worst_coalition(group: Group, requirement: Requirement, size: int) -> CoalitionResult:
    """A coalition of at most `size` providers (never all of them) that breaks the requirement, if there is one."""
    size = min(size, group.providers - 1)
    checks, exact = 0, True
    for part in requirement.parts():
        found = _worst(group, part, size)
        checks, exact = checks + found.checks, exact and found.exact
        if found.coalition is not None:
            return CoalitionResult(found.coalition, checks, found.exact)
    return CoalitionResult(None, checks, exact)


def _worst(group: Group, part: Requirement, size: int) -> CoalitionResult:
    if isinstance(part, ByColumn):
        found = [_worst(group.seen(view), view.asked, size) for view in part.views]
        checks, exact = sum(one.checks for one in found), all(one.exact for one in found)
        broken = [one for one in found if one.coalition is not None]
        sure = next((one for one in broken if one.exact), broken[0] if broken else None)
        return CoalitionResult(None, checks, exact) if sure is None else replace(sure, checks=checks)
    remaining = part.remaining(group.values, group.domain)
    if remaining is not None:
        return _lost(group, remaining, size)
    bounds = part.share_bounds(group.values, group.domain)
    if bounds is not None:
        return _largest_share(group, *bounds, size)
    sets = part.worst_sets(group.values, group.domain)
    return _searched(group, part, size) if sets is None else _outside(group, part, sets, size)


def _outside(group: Group, part: Requirement, sets: Bools, size: int) -> CoalitionResult:
    """For each set the coalition that owns most outside it."""
    outside = group.counts @ ~sets.T  # providers x sets
    chosen = np.argsort(-outside, axis=0, kind="stable")[:size]
    taken = group.counts[chosen].sum(axis=0) if size else np.zeros_like(sets, np.int64)
    remaining = np.where(sets, group.whole, group.whole - taken)
    broken = np.flatnonzero(~group.met(part, remaining))
    coalition = sum(1 << int(place) for place in chosen[:, broken[0]]) if len(broken) else None
    return CoalitionResult(coalition, len(sets))


def _largest_share(group: Group, sets: Ints, bounds: Floats, size: int) -> CoalitionResult:
    """For each set of values its share if the coalition owns most outside it, less what it may have."""
    outside = group.counts @ (1 - sets).T  # providers x sets
    taken = -np.partition(-outside, size - 1, axis=0)[:size].sum(axis=0) if size else 0
    inside = sets @ group.whole
    share = inside / (inside + outside.sum(axis=0) - taken)
    excess = share - bounds
    worst = int(excess.argmax())
    if excess[worst] <= _SLACK:
        return CoalitionResult(None, len(sets))
    members = np.argsort(-outside[:, worst], kind="stable")[:size]
    return CoalitionResult(sum(1 << int(place) for place in members), len(sets))


def _searched(group: Group, part: Requirement, size: int) -> CoalitionResult:
    oracle = Oracle(group, part, most=MOST_CHECKS)
    try:
        coalition = (direct if comb(group.providers, size) <= _FEW else binary)(oracle, size)
    except TooManyChecksError:
        suspects = np.argsort(-group.sizes, kind="stable")[:size].tolist()
        return CoalitionResult(sum(1 << place for place in suspects), oracle.checks, exact=False)
    return CoalitionResult(coalition, oracle.checks, oracle.exact)


# --- values that are gone --------------------------------------------------------------------------------------------


def _supports(group: Group) -> list[int]:
    """For each value its providers, as bits."""
    return [sum(1 << int(place) for place in np.flatnonzero(column)) for column in group.counts.T]


def _gone(supports: Sequence[int], size: int, target: int) -> int | None:
    """At most `size` providers who alone have at least `target` of the values; None if there are none such."""
    if target <= 0:
        return 0
    small = sorted((s for s in supports if s.bit_count() <= size), key=lambda s: (s.bit_count(), s))
    if len(small) < target:
        return None
    search = _Descent(small, size, target)
    try:
        return search.from_(0, 0)
    except TooManyChecksError:
        return _program(small, size, target)


class _Descent:
    """Depth first: take the next value's providers in, or leave that value."""

    def __init__(self, supports: list[int], size: int, target: int) -> None:
        self._supports, self._size, self._target = supports, size, target
        self._nodes = 0

    def from_(self, place: int, union: int) -> int | None:
        """A large enough extension of a union by values from a place on, if there is one."""
        self._nodes += 1
        if self._nodes > _NODES:
            raise TooManyChecksError
        gone = sum(1 for support in self._supports if support & ~union == 0)
        if gone >= self._target:
            return union
        left = [n for n in range(place, len(self._supports)) if self._fits(self._supports[n], union)]
        for tried, number in enumerate(left):
            if gone + len(left) - tried < self._target:
                return None
            found = self.from_(number + 1, union | self._supports[number])
            if found is not None:
                return found
        return None

    def _fits(self, support: int, union: int) -> bool:
        return support & ~union != 0 and (support | union).bit_count() <= self._size


def _program(supports: Sequence[int], size: int, target: int) -> int | None:
    """The same as an integer program: y_p for members, z_v <= y_p for values that are gone, sum of y at most size."""
    members = [place for place in range(max(supports).bit_length()) if any(s >> place & 1 for s in supports)]
    pairs = [(v, members.index(p)) for v, s in enumerate(supports) for p in members if s >> p & 1]
    values, people = len(supports), len(members)
    row = np.arange(len(pairs))
    value, person = (np.array(column) for column in zip(*pairs, strict=True))
    ones = np.ones(len(pairs))
    links = csr_array(
        (np.concatenate([ones, -ones]), (np.concatenate([row, row]), np.concatenate([value, values + person]))),
        shape=(len(pairs), values + people),
    )
    limit = np.concatenate([np.zeros(values), np.ones(people)])[np.newaxis]
    answer = milp(
        np.concatenate([-np.ones(values), np.zeros(people)]),
        constraints=[LinearConstraint(links, -np.inf, 0), LinearConstraint(limit, -np.inf, size)],
        integrality=np.ones(values + people),
        bounds=Bounds(0, 1),
    )
    if answer.x is None or answer.mip_dual_bound is None:
        raise InternalError("The integer program of a coalition had no answer, though taking nobody is one.")
    union = sum(1 << members[place] for place in np.flatnonzero(answer.x[values:] > 0.5).tolist())
    if union.bit_count() <= size and sum(1 for support in supports if support & ~union == 0) >= target:
        return union
    if -answer.mip_dual_bound >= target - 1e-6:
        raise InternalError("The integer program of a coalition gave an answer that its own count does not confirm.")
    return None


def _lost(group: Group, remaining: Remaining, size: int) -> CoalitionResult:
    """Too few values remain, or all of one of the losses are gone."""
    supports = [support for support, known in zip(_supports(group), remaining.counted.tolist(), strict=True) if known]
    found = _gone(supports, size, len(supports) - remaining.least + 1)
    if found is not None:
        return CoalitionResult(found, 1)
    for number, gone in enumerate(remaining.losses):
        union = 0
        for place in np.flatnonzero(gone).tolist():
            union |= supports[place]
        if union.bit_count() <= size:
            return CoalitionResult(union, number + 2)
    return CoalitionResult(None, len(remaining.losses) + 1)
