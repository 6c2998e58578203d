"""Groups that do not meet a requirement join near ones, until all do.

In each round every group that fails looks at the neighbours with which least is lost. Where the two together would
meet the requirement it takes the cheapest such one, so that a group with too much of one value joins one that has
little of it; where there is none such, the nearest. The cheapest pairs join. Neighbours are those next to it in some
order by quasi-identifiers, or all where there are few. O(failing groups x neighbours x attributes) a round, and a few
rounds.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.errors import NotMetError
from reissue.methods.extents import Extent
from reissue.requirements import Requirement

__all__ = ["joined"]

_FEW = 1_500
"""Where there are no more groups than this, all of them are looked at."""
_WINDOW = 16
"""Neighbours on each side in each order."""
_NEAREST = 40
"""Of each group's neighbours this many are tried on the requirement."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups so far: their extent, and which of them each set that was given is in."""

    extent: Extent
    of_set: Ints


@dataclass(frozen=True, eq=False)
class _Pairs:
    """A failing group, one that it may join, what that costs, and whether both together meet the requirement."""

    one: Ints
    other: Ints
    cost: Floats
    helps: Bools


def joined(extent: Extent, of_row: Codes | Ints, value: Codes | Ints, domain: Domain, requirement: Requirement) -> Ints:
    """Set to its group: `extent` is that of some sets of rows, `of_row` and `value` are each row's set and value."""
    groups = _Groups(extent, np.arange(len(extent.people)))
    while True:
        total = len(groups.extent.people)
        counts = Counts(groups.of_set[of_row], value, domain, total)
        holds = requirement.holds(counts)
        if holds.all():
            return groups.of_set
        if total == 1:
            raise NotMetError(
                f"Not even all records together, counterfeits among them, meet {requirement}. Ask for less, or wait "
                "until there are more records."
            )
        groups = _round(groups, np.flatnonzero(~holds), counts, requirement)


def _round(groups: _Groups, failing: Ints, counts: Counts, requirement: Requirement) -> _Groups:
    """Every group takes part in one pair at most; at least one pair joins."""
    pairs = _pairs(groups.extent, failing, counts, requirement)
    order = np.lexsort((pairs.other, pairs.cost, ~pairs.helps))
    best = order[np.unique(pairs.one[order], return_index=True)[1]]
    if pairs.helps[best].any():
        best = best[pairs.helps[best]]
    total = len(groups.extent.people)
    label, used = np.arange(total), np.zeros(total, np.bool_)
    for pair in best[np.argsort(pairs.cost[best], kind="stable")].tolist():
        a, b = int(pairs.one[pair]), int(pairs.other[pair])
        if not used[a] and not used[b]:
            used[a] = used[b] = True
            label[max(a, b)] = min(a, b)
    found, again = np.unique(label, return_inverse=True)
    again = again.reshape(-1)
    return _Groups(groups.extent.merged(again, len(found)), again[groups.of_set])


def _pairs(extent: Extent, failing: Ints, counts: Counts, requirement: Requirement) -> _Pairs:
    """Each failing group with the neighbours that cost least."""
    one, other, cost = (_all_others if len(extent.people) <= _FEW else _neighbours)(extent, failing)
    order = np.lexsort((cost, one))  # pairs are sorted already: of the same cost the first neighbour comes first
    first = np.searchsorted(one, one)
    order = order[np.arange(len(order)) - first < _NEAREST]
    one, other = one[order], other[order]
    return _Pairs(one, other, cost[order], requirement.holds(_together(counts, one, other)))


def _together(counts: Counts, one: Ints, other: Ints) -> Counts:
    """The counts of pairs of groups."""
    starts = np.searchsorted(counts.group, np.arange(counts.total + 1))
    pair, group = np.tile(np.arange(len(one)), 2), np.concatenate([one, other])
    width = (starts[1:] - starts[:-1])[group]
    triple = np.arange(int(width.sum())) + np.repeat(starts[group] - (np.cumsum(width) - width), width)
    return Counts(np.repeat(pair, width), counts.value[triple], counts.domain, len(one), counts.count[triple])


def _all_others(extent: Extent, failing: Ints) -> tuple[Ints, Ints, Floats]:
    """Pairs of a failing group and one that it may join, of all groups, and what they cost; those that cost least."""
    every = extent.pick(np.arange(len(extent.people))[np.newaxis])
    found = []
    for some in _pieces(failing, len(extent.people)):
        cost = extent.pick(some[:, np.newaxis]).cost(every)
        cost[np.arange(len(some)), some] = np.inf
        last = min(_NEAREST, len(extent.people) - 1) - 1
        row, other = np.nonzero(cost <= np.partition(cost, last)[:, last : last + 1])
        found.append((some[row], other, cost[row, other]))
    one, other, cost = (np.concatenate(part) for part in zip(*found, strict=True))
    return one, other, cost


def _neighbours(extent: Extent, failing: Ints) -> tuple[Ints, Ints, Floats]:
    """The same of those that are next to it in some order."""
    total = len(extent.people)
    middle = extent.lo // 2 + extent.hi // 2
    pairs = []
    steps = np.concatenate([np.arange(-_WINDOW, 0), np.arange(1, _WINDOW + 1)])
    for first in range(len(middle)):
        order = np.lexsort(np.roll(middle, first, axis=0))
        place = np.empty(total, np.int64)
        place[order] = np.arange(total)
        at = place[failing][:, np.newaxis] + steps
        inside = (at >= 0) & (at < total)
        pairs.append(np.broadcast_to(failing[:, np.newaxis] * total, at.shape)[inside] + order[at[inside]])
    keys = np.sort(np.concatenate(pairs))
    one, other = np.divmod(keys[np.append(True, keys[1:] > keys[:-1])], total)
    pieces = _pieces(np.arange(len(one)), 1)
    return one, other, np.concatenate([extent.pick(one[some]).cost(extent.pick(other[some])) for some in pieces])


def _pieces(items: Ints, width: int) -> list[Ints]:
    """Items in pieces of about half a million pairs, where each takes part in some."""
    return np.array_split(items, max(len(items) * width // 500_000, 1))
