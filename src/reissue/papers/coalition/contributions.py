"""m-privacy of many groups at once: bounds in flat arrays decide most of them, the rest are answered one by one.

For every group the coalition of its largest contributors is tried first: if that breaks the requirement, or the whole
group does, the group is not private. For k that is the whole truth. Then what is surely left decides:

- growing requirements: a value with more providers than the coalition has members stays (for l see
  also below);
- the others: nobody takes more records out than the largest contributors gave (each requirement's `surely_kept`).

What is still open goes to `worst_coalition`. Linear in the quadruples but for one sort of contributors.

**How few different values a coalition can leave** (distinct l-diversity against m providers), for many groups at once.
A value is gone when all its providers are in the coalition. First a bound: a coalition of a members holds at most as
many (member, value) pairs as the a providers with most values, and a value that is gone uses up one pair for each of
its providers; so at most as many values go as the least shared ones that fit. Groups that this leaves open and that
have few coalitions are tried with all of them, providers and coalitions as bits: groups with the same number of
providers and of members together, O(coalitions x values) each. The others are left to `worst_coalition`.
"""

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from math import comb

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain
from reissue.counting.keys import pack
from reissue.papers.coalition.exact import CoalitionResult, worst_coalition
from reissue.papers.coalition.search import Group, Search
from reissue.requirements import ByColumn, ColumnView, Loss, Requirement

__all__ = ["Contributions", "Holdings", "answers", "private", "values_stay"]

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


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each provider gave to each group: how many records of which value, sorted by group, provider, value.

    Not a Histogram, since coalitions take providers out: each count is a provider's; `whole` puts them together.
    """

    group: Ints
    provider: Ints
    value: Ints
    count: Ints
    total: int
    """How many groups there are."""
    domain: Domain
    """Of the sensitive values, in the published table."""

    @classmethod
    def of_rows(
        cls,
        groups: Codes | Ints,
        providers: Codes | Ints,
        sensitive: Codes | Ints,
        domain: Domain,
        times: Ints | None = None,
    ) -> "Contributions":
        """Counted from records, or from rows that stand for several; those of no group (-1) are left out."""
        inside = groups >= 0
        columns = [column[inside] for column in (groups, providers, sensitive)]
        total = int(groups.max(initial=-1)) + 1
        keys, _ = pack(columns, [total, int(providers.max(initial=0)) + 1, domain.size])
        _, first, place, number = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        if times is not None:
            number = np.bincount(place, times[inside], len(first)).astype(np.int64)
        group, provider, value = (column[first].astype(np.int64) for column in columns)
        return cls(group, provider, value, number, total, domain)

    @classmethod
    def of_counts(cls, counts: Counts, domain: Domain) -> "Contributions":
        """From counts of joint codes: provider times number of values, plus value."""
        provider, value = np.divmod(counts.value, max(domain.size, 1))
        return cls(counts.group, provider, value, counts.count, counts.total, domain)

    @cached_property
    def sizes(self) -> Ints:
        """Records of each group."""
        return np.bincount(self.group, self.count, self.total).astype(np.int64)

    def pick(self, chosen: Bools) -> "Contributions":
        """Some of the groups, numbered anew."""
        inside = chosen[self.group]
        group = (np.cumsum(chosen) - 1)[self.group[inside]]
        columns = (self.provider[inside], self.value[inside], self.count[inside])
        return Contributions(group, *columns, int(chosen.sum()), self.domain)

    def seen(self, view: ColumnView) -> "Contributions":
        """The same by the values of one sensitive column, as a part of a requirement judges them."""
        labels = view.margin.labels(self.domain)
        value, domain = (self.value, self.domain) if labels is None else (labels.of_value[self.value], labels.domain)
        group, provider, count = self.group, self.provider, self.count
        spared = view.margin.harmless[value]
        if view.apart and spared.any():
            times = np.where(spared, count, 1)
            own, count = np.repeat(spared, times), np.repeat(np.where(spared, 1, count), times)
            group, provider = np.repeat(group, times), np.repeat(provider, times)
            value = np.repeat(value.astype(np.int64), times)
            value = np.where(own, domain.size + np.cumsum(own) - 1, value)
            domain = Domain(np.append(np.where(view.margin.harmless, 0, domain.totals), np.ones(int(own.sum()), int)))
        made = Contributions.of_rows(group, provider, value, domain, count)
        return replace(made, total=self.total)

    @cached_property
    def whole(self) -> Counts:
        """The groups' statistics, whoever gave the records."""
        return Counts(self.group, self.value, self.domain, self.total, self.count)

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        """Where a new (group, provider) begins, and the place of each quadruple among these pairs."""
        new = np.append(True, (np.diff(self.group) != 0) | (np.diff(self.provider) != 0))[: len(self.group)]
        return np.flatnonzero(new), np.cumsum(new) - 1

    @cached_property
    def contributors(self) -> Ints:
        """How many providers each group has."""
        return np.bincount(self.group[self._pairs[0]], minlength=self.total)

    @property
    def local(self) -> Ints:
        """The place of each quadruple's provider among those of its group."""
        first = np.cumsum(self.contributors) - self.contributors
        return np.asarray(self._pairs[1] - first[self.group])

    def members(self, m: int) -> Ints:
        """How many providers of each group can collude, the whole group's never."""
        return np.clip(self.contributors - 1, 0, m)

    def of_largest(self, m: int) -> Bools:
        """Which quadruples belong to the m largest contributors of their group (fewer where there are no more)."""
        starts, place = self._pairs
        if not len(starts):
            return np.zeros(0, np.bool_)
        size = np.add.reduceat(self.count, starts)
        group = self.group[starts]
        order = np.lexsort((-size, group))
        first = np.cumsum(self.contributors) - self.contributors
        taken = np.empty(len(starts), np.bool_)
        taken[order] = np.arange(len(starts)) - first[group[order]] < self.members(m)[group[order]]
        return taken[place]

    def owned(self, m: int) -> Ints:
        """The most records of each value of each group (in the order of `whole`) that a coalition has."""
        order = np.lexsort((-self.count, self.value, self.group))
        new = np.append(True, (np.diff(self.group[order]) != 0) | (np.diff(self.value[order]) != 0))[: len(order)]
        starts, place = np.flatnonzero(new), np.cumsum(new) - 1
        has = np.arange(len(order)) - starts[place] < self.members(m)[self.group[order]]
        return np.bincount(place, self.count[order] * has, len(starts)).astype(np.int64)

    def without(self, gone: Bools) -> Counts:
        """The groups' statistics without some quadruples."""
        left = ~gone
        return Counts(self.group[left], self.value[left], self.domain, self.total, self.count[left])

    @cached_property
    def _starts(self) -> Ints:
        return np.searchsorted(self.group, np.arange(self.total + 1))

    def one(self, number: int) -> tuple[Group, Ints]:
        """One group by itself, and which providers its rows stand for."""
        inside = slice(int(self._starts[number]), int(self._starts[number + 1]))
        providers, row = np.unique(self.provider[inside], return_inverse=True)
        values, column = np.unique(self.value[inside], return_inverse=True)
        counts = np.zeros((len(providers), len(values)), np.int64)
        counts[row, column] = self.count[inside]
        return Group(counts, values, self.domain), providers


def private(contributions: Contributions, requirement: Requirement, m: int, search: Search | None = None) -> Bools:
    """Which groups are m-private: no where that is not known; by one strategy alone instead of bounds, if named."""
    if search is not None:
        judged: Bools = contributions.contributors == 0
        for number in np.flatnonzero(~judged).tolist():
            judged[number] = not search.finds(contributions.one(number)[0], requirement, m)
        return judged
    fine: Bools = contributions.contributors > 0
    for part in sorted(requirement.parts(), key=lambda part: not part.by_size):
        fine[fine] = _keeps(contributions if fine.all() else contributions.pick(fine), part, m)
    return np.asarray(fine | (contributions.contributors == 0), np.bool_)


def _keeps(contributions: Contributions, part: Requirement, m: int) -> Bools:
    """Which groups keep one requirement against every coalition."""
    if isinstance(part, ByColumn):
        return reduce(np.logical_and, (_keeps(contributions.seen(view), view.asked, m) for view in part.views))
    largest = contributions.of_largest(m)
    taken = np.bincount(contributions.group[largest], contributions.count[largest], contributions.total).astype(
        np.int64
    )
    if part.by_size:
        return contributions.sizes - taken >= part.least
    fine = _surely(contributions, part, taken, m)
    open_ = ~fine
    if part.by_values and open_.any():
        fine, open_ = _values_stay(part.least, contributions, m, open_)
    elif open_.any():
        open_ &= part.holds(contributions.without(largest)) & (part.growing | part.holds(contributions.whole))
    for number in np.flatnonzero(open_).tolist():
        fine[number] = worst_coalition(contributions.one(number)[0], part, m).coalition is None
    return fine


def _surely(contributions: Contributions, part: Requirement, taken: Ints, m: int) -> Bools:
    """Which groups keep a requirement by a bound; `taken` is what the largest contributors gave."""
    if part.growing:
        return _staying(part, contributions, m)
    return part.surely_kept(contributions.whole, Loss(taken, lambda: contributions.owned(m)))


def _values_stay(least: int, contributions: Contributions, m: int, open_: Bools) -> tuple[Bools, Bools]:
    """Which groups keep enough values, given those for which that is open; and for which it still is."""
    some = contributions.pick(open_)
    stay, known = values_stay(Holdings(some.group, some.local, some.value, some.contributors, some.members(m)), least)
    fine, still = ~open_, np.zeros(contributions.total, np.bool_)
    fine[open_], still[open_] = stay, ~known
    return fine, still


def answers(contributions: Contributions, requirement: Requirement, m: int) -> dict[int, CoalitionResult]:
    """For the groups that are not m-private a harmful coalition each, its members as bits of the group's providers."""
    broken = np.flatnonzero(~private(contributions, requirement, m))
    return {number: worst_coalition(contributions.one(number)[0], requirement, m) for number in broken.tolist()}


def _staying(part: Requirement, contributions: Contributions, m: int) -> Bools:
    """Whether values that a coalition cannot take away are enough."""
    providers = Counts(contributions.group, contributions.value, contributions.domain, contributions.total)
    stays = providers.count > contributions.members(m)[providers.group]
    staying = Counts(providers.group[stays], providers.value[stays], contributions.domain, contributions.total)
    return part.holds(staying) & (staying.sizes > 0)
