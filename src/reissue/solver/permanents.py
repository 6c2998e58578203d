"""Exact messages of small groups: matrix permanents.

A group whose members have cavity weights w(i, v) shows each value v exactly n(v) times. Its message to member i about
value v is the weight of all ways to give the other members the remaining values: a permanent. It is computed by dynamic
programming over how many records of each value are used up, from the first member on and from the last one back.
O(members x values x product of (n(v) + 1)) for each group; groups with equal histograms are computed together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.keys import pack, stable_order
from reissue.solver.states import HELD, TINY, ReleaseStates

__all__ = ["MOST_VALUES", "SmallGroups", "exact_messages", "others", "ruled_out", "small_groups"]

LARGEST = 2_048
"""Product of counts plus one above which a group is left to iterative scaling, close where groups are large
(decision 0195). Small enough for numbers of 16 bits."""
MOST_VALUES = (LARGEST - 1).bit_length()
"""Values that such a group shows, at most: each of them doubles the product at least."""


def others(weights: Floats, counts: Ints) -> Floats:
    """Groups x members x values: the weight of all ways to place the other members, one of the value taken away.

    Every group has the same counts, which sum to the number of members.
    """
    levels = _levels(tuple(counts.tolist()))
    table = np.ascontiguousarray(weights.transpose(1, 2, 0))  # groups last, so that every operation is a long one
    left, right, out = _placed(table, levels), _placed(table[::-1], levels), np.empty_like(table)
    for member, level in enumerate(levels[:-1]):
        # What is left for those behind this member: all, less what those before it used, less its own value.
        behind = right[len(levels) - 2 - member][level.rest]
        out[member] = np.einsum("sg,svg->vg", left[member][:-1], behind)
    return out.transpose(2, 0, 1)


@dataclass(frozen=True, eq=False)
class _Level:
    """The ways to use up as many records as members are placed (usages), and how neighbouring levels are linked."""

    before: npt.NDArray[np.int16]
    """Usages x values: the usage one level down that one more of the value leads from; the last place if none."""
    rest: npt.NDArray[np.int16]
    """Usages x values: what is left when one more of the value is taken, as a usage of the level of the others."""
    usages: int


def _placed(table: Floats, levels: list[_Level]) -> list[Floats]:
    """For each number of members, from the first on: the weight of all ways to each usage; a zero behind."""
    made = [np.repeat([[1.0], [0.0]], table.shape[2], axis=1)]
    for member, level in enumerate(levels[1:]):
        reached = np.zeros((level.usages + 1, table.shape[2]))
        reached[:-1] = np.einsum("svg,vg->sg", made[-1][level.before], table[member])
        made.append(reached / np.maximum(reached.max(axis=0), TINY))
    return made


@lru_cache(maxsize=512)
def _levels(histogram: tuple[int, ...]) -> list[_Level]:
    """For each number of members placed so far, the usages and how they are reached."""
    counts = np.array(histogram)
    usages, strides = _usages(counts)
    total, members = usages.sum(axis=1), int(counts.sum())
    number = np.bincount(total, minlength=members + 1)
    order = np.argsort(total, kind="stable")
    place = np.empty(len(usages), np.int64)
    place[order] = np.arange(len(usages)) - np.append(0, np.cumsum(number))[total[order]]
    made = []
    for level in range(members + 1):
        mine = np.flatnonzero(total == level)
        below = np.where(usages[mine] > 0, mine[:, np.newaxis] - strides, -1)
        before = np.where(below >= 0, place[below], number[level - 1] if level else 0)
        ahead = np.where(usages[mine] < counts, len(usages) - 1 - mine[:, np.newaxis] - strides, -1)
        rest = np.where(ahead >= 0, place[ahead], number[members - 1 - level] if level < members else 0)
        made.append(_Level(before.astype(np.int16), rest.astype(np.int16), len(mine)))
    return made


def _usages(counts: Ints) -> tuple[Ints, Ints]:
    """All numbers of used up records of each value; and how far one more of a value moves in this list."""
    strides = np.append(np.cumprod((counts + 1)[::-1])[::-1][1:], 1)
    numbers = np.arange(int(np.prod(counts + 1)))
    return (numbers[:, np.newaxis] // strides) % (counts + 1), strides


@dataclass(frozen=True, eq=False)
class SmallGroups:
    """Groups with one histogram, of any releases, whose members are all known to be in them."""

    counts: Ints
    """Records of each value, the largest number first."""
    members: int
    state: Ints
    """States of the members, numbered over all releases."""
    place: Ints
    """Place of each of these states in a dense table of groups x members x values."""
    groups: int
    known: Ints
    """Members of each group who are known; the others are free."""
    cell: Ints
    """Groups x values: the cell, numbered over all releases."""


def small_groups(releases: Sequence[ReleaseStates]) -> list[SmallGroups]:
    """The groups that are small enough, and whose members can be nowhere else, by histogram."""
    states = np.cumsum([0, *(one.states for one in releases)])
    cells = np.cumsum([0, *(len(one.count) for one in releases)])
    rest = [_without_certain(release) for release in releases]
    found = [_Candidates.of(*one) for one in zip(rest, states[:-1], cells[:-1], strict=True)]
    counts = np.concatenate([np.empty((0, MOST_VALUES), np.int64), *(one.counts for one in found)])
    if not len(counts):
        return []
    key, _ = pack(list(counts.T), [LARGEST] * MOST_VALUES)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return list(_by_histogram(_Candidates.joined(found), kind.reshape(-1), counts[first]))


def _without_certain(release: ReleaseStates) -> ReleaseStates:
    """The release without people whose cell is certain, and without their records: smaller permanents say the same."""
    row = release.assignment_row
    certain = ~release.undecided[row]
    filled = np.bincount(release.assignment_cell[certain], release.people[row[certain]], len(release.count))
    left = release.count - filled
    if (left < 0).any() or (left[release.assignment_cell[~certain]] == 0).any():
        return release  # not propagated to the end
    return replace(
        release,
        count=left,
        assignment_state=release.assignment_state[~certain],
        assignment_cell=release.assignment_cell[~certain],
    )


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Small groups, their cells and the assignments to these."""

    counts: Ints
    """Groups x values: records of each value, the largest number first, 0 in the end."""
    known: Ints
    cell_group: Ints
    rank: Ints
    """Rank of each cell in its group, the largest count first."""
    cell: Ints
    """Number of each cell over all releases."""
    state: Ints
    """State of each assignment, numbered over all releases."""
    group: Ints
    member: Ints
    """Number of the member in its group, for each assignment."""
    cell_rank: Ints

    @classmethod
    def of(cls, release: ReleaseStates, first_state: int, first_cell: int) -> "_Candidates":
        """The small groups of one release."""
        size = np.multiply.reduceat(np.append(release.count + 1, 1.0), release.group_starts[:-1])
        groups = np.flatnonzero(_closed(release) & (size <= LARGEST))
        number = np.full(len(release.free), -1)
        number[groups] = np.arange(len(groups))
        rank, of_cell = _ranks(release), number[release.cell_group]
        cells = np.flatnonzero((of_cell >= 0) & (release.count > 0))
        counts = np.zeros((len(groups), MOST_VALUES), np.int64)
        counts[of_cell[cells], rank[cells]] = release.count[cells]
        ways = np.flatnonzero(of_cell[release.assignment_cell] >= 0)
        state, cell = release.assignment_state[ways], release.assignment_cell[ways]
        row, here = release.row[state], of_cell[cell]
        member, known = _members(row, here, len(release.person), len(groups))
        own = of_cell[cells], rank[cells], cells + first_cell
        return cls(counts, known, *own, state + first_state, here, member[row], rank[cell])

    @classmethod
    def joined(cls, found: "Sequence[_Candidates]") -> "_Candidates":
        """Of all releases, groups numbered one after the other."""
        first = np.cumsum([0, *(len(one.known) for one in found)])
        moved = [
            replace(one, cell_group=one.cell_group + more, group=one.group + more)
            for one, more in zip(found, first[:-1], strict=True)
        ]
        return cls(*(np.concatenate([getattr(one, part.name) for one in moved]) for part in fields(cls)))


def _by_histogram(found: _Candidates, kind: Ints, counts: Ints) -> Iterator[SmallGroups]:
    """Groups, cells and assignments, sorted once by the histogram of the group."""
    kinds = len(counts)
    sizes, shown, total = np.bincount(kind, minlength=kinds), (counts > 0).sum(axis=1), counts.sum(axis=1)
    groups = stable_order(kind, kinds)
    place = np.empty(len(kind), np.int64)
    place[groups] = np.arange(len(kind)) - (np.cumsum(sizes) - sizes)[kind[groups]]
    of_cell, of_way = kind[found.cell_group], kind[found.group]
    cells, ways = stable_order(of_cell, kinds), stable_order(of_way, kinds)
    in_table = (place[found.group] * total[of_way] + found.member) * shown[of_way] + found.cell_rank
    at = place[found.cell_group] * shown[of_cell] + found.rank
    ends = [np.cumsum(np.bincount(one, minlength=kinds)) for one in (kind, of_cell, of_way)]
    splits = zip(*(np.split(one, end[:-1]) for one, end in zip((groups, cells, ways), ends, strict=True)), strict=True)
    for number, (group, cell, way) in enumerate(splits):
        width = int(shown[number])
        numbers = np.empty(len(group) * width, np.int64)
        numbers[at[cell]] = found.cell[cell]
        yield SmallGroups(
            counts[number, :width],
            int(total[number]),
            found.state[way],
            in_table[way],
            len(group),
            found.known[group],
            numbers.reshape(-1, width),
        )


def _closed(release: ReleaseStates) -> Bools:
    """Whether all who may be in a group can be nowhere else, and fill it together with its free members."""
    group = release.cell_group[release.assignment_cell]
    row = release.assignment_row
    some = np.full(len(release.person), len(release.free))
    some[row] = group
    astray = release.absent.copy()
    astray[row[some[row] != group]] = True
    mixed = np.zeros(len(release.free), np.bool_)
    mixed[group[astray[row]]] = True
    members = np.bincount(some[~astray & (some < len(release.free))], minlength=len(release.free))
    full = members + release.free == release.by_group(release.count)
    if len(release.size):
        full &= np.bincount(some[(release.size > 1) & (some < len(release.free))], minlength=len(release.free)) == 0
    return np.asarray(~mixed & (members > 0) & full & (release.strangers == 0))


def _members(row: Ints, group: Ints, rows: int, groups: int) -> tuple[Ints, Ints]:
    """Number of each row among those of its group, and how many each group has. No row is of two groups."""
    of_row = np.full(rows, -1)
    of_row[row] = group
    there = np.flatnonzero(of_row >= 0)
    known = np.bincount(of_row[there], minlength=groups)
    order = there[stable_order(of_row[there], max(groups, 1))]
    member = np.full(rows, -1)
    member[order] = np.arange(len(order)) - (np.cumsum(known) - known)[of_row[order]]
    return member, known


def _ranks(release: ReleaseStates) -> Ints:
    """Rank of each cell in its group, the largest count first."""
    order = np.lexsort((release.cell_value, -release.count, release.cell_group))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - release.group_starts[release.cell_group[order]]
    return rank


def exact_messages(small: SmallGroups, cavity: Floats, chance: Floats) -> Floats:
    """What their group says about the states of small groups, by cavities of all states and `chance` of all cells."""
    weights = np.zeros(small.groups * small.members * len(small.counts))
    weights[small.place] = cavity[small.state]
    table = weights.reshape(small.groups, small.members, len(small.counts))
    group, member = np.nonzero(np.arange(small.members) >= small.known[:, np.newaxis])
    table[group, member] = chance[small.cell[group]]
    size = max(1, HELD // (2 * (small.members + 1) * int(np.prod(small.counts + 1))))
    found = np.concatenate([others(table[at : at + size], small.counts) for at in range(0, len(table), size)])
    return np.asarray(found.reshape(-1)[small.place])


def ruled_out(small: Sequence[SmallGroups], asked: Bools, chance: Floats) -> Bools:
    """Which of some states leave no way to the others of their small group, whatever is how likely.

    Ways are counted with all weights alike, so that nothing is impossible that only rounding has made 0.
    """
    found, alike = np.zeros(len(asked), np.bool_), np.ones(len(asked))
    possible = (chance > 0).astype(np.float64)
    for kind in small:
        if asked[kind.state].any():
            some = _with_states(kind, asked)
            found[some.state] = exact_messages(some, alike, possible) == 0
    return found & asked


def _with_states(small: SmallGroups, asked: Bools) -> SmallGroups:
    """The groups that have one of some states."""
    width = small.members * len(small.counts)
    group = small.place // width
    chosen = np.zeros(small.groups, np.bool_)
    chosen[group[asked[small.state]]] = True
    number, mine = np.cumsum(chosen) - 1, chosen[group]
    return replace(
        small,
        state=small.state[mine],
        place=number[group[mine]] * width + small.place[mine] % width,
        groups=int(chosen.sum()),
        known=small.known[chosen],
        cell=small.cell[chosen],
    )
