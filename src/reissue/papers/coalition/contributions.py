"""m-privacy of many groups at once: bounds in flat arrays decide most of them, the rest are answered one by one.

For every group the coalition of its largest contributors is tried first: if that breaks the requirement, or the whole
group does, the group is not private. For k that is the whole truth. Then what is surely left decides:

- growing requirements: a value with more providers than the coalition has members stays;
- the others: nobody takes more records out than the largest contributors gave (each requirement's `surely_kept`).

What is still open goes to `worst_coalition`. Linear in the quadruples but for one sort of contributors.
"""

from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain
from reissue.counting.keys import pack
from reissue.papers.coalition.exact import CoalitionResult, worst_coalition
from reissue.papers.coalition.search import Group, Search
from reissue.requirements import ByColumn, ColumnView, Loss, Requirement

__all__ = ["Contributions", "answers", "private"]


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
    if open_.any():
        open_ &= part.holds(contributions.without(largest)) & (part.growing | part.holds(contributions.whole))
    for number in np.flatnonzero(open_).tolist():
        fine[number] = worst_coalition(contributions.one(number)[0], part, m).coalition is None
    return fine


def _surely(contributions: Contributions, part: Requirement, taken: Ints, m: int) -> Bools:
    """Which groups keep a requirement by a bound; `taken` is what the largest contributors gave."""
    if part.growing:
        return _staying(part, contributions, m)
    return part.surely_kept(contributions.whole, Loss(taken, lambda: contributions.owned(m)))


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
