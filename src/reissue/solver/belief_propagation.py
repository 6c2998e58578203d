"""Loopy belief propagation: messages of exact counts, begun from the multipliers of iterative scaling.

Scaling keeps counts in expectation; a group keeps them exactly, which says more. In each round every group sends its
members new messages, given their cavities (what prior and all other releases say about them):

- a small group sends the exact message, a ratio of permanents (`permanents`);
- a cell of any other group sends the ratio of the weight of all ways in which the others fill all its records but one
  over that of all ways in which they fill all of them. These are elementary symmetric polynomials of the odds of those
  who may fill the cell without the receiver, multiplied up a tree of halves and carried down it again, so that nothing
  is subtracted. The message goes half way there, geometrically.

Rounds are damped: the messages of one round are averaged geometrically with those before for what comes next. Loops
make more than a few rounds too sure: evidence comes back to where it came from (decision 0101).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.keys import stable_order
from reissue.counting.resources import workers
from reissue.counting.segments import different, ranges
from reissue.solver.observation import MANY
from reissue.solver.permanents import SmallGroups, exact_messages
from reissue.solver.scaling import BOUND, Chains, Scaling, cavities, fitted
from reissue.solver.states import HELD, TINY, ReleaseStates, split

__all__ = ["Message", "count_messages", "exact_groups", "in_large_groups", "propagated", "without_one"]

_OPEN = 12
"""Records of a cell up to which its exact count is used: with more, it says nearly what the expected count says, and
costs in proportion to them."""
_SURE = 1 - 1e-9
"""Probability from which on a person is taken to fill a cell for certain."""


@dataclass(frozen=True, eq=False)
class Message:
    """What one release says about its states, and about assignments to cells of groups that are not small."""

    release: ReleaseStates
    states: Floats
    assignments: Floats
    """Empty where cells send no messages of their own."""
    multipliers: Floats
    large: Bools
    """Whether the group of each assignment is not small."""

    @classmethod
    def of(cls, release: ReleaseStates, multipliers: Floats, large: Bools) -> "Message":
        """The message of multipliers; `large` says of states whether their group is not small."""
        states = release.message(multipliers)
        # Where it is open who is there at all, exact counts say too much; where people fit many groups, nothing.
        many = len(release.assignment_cell) > MANY * release.states
        if many or release.strangers or release.absent.any():
            return cls(release, states, np.empty(0), multipliers, np.zeros(len(release.assignment_cell), np.bool_))
        by_way = multipliers[release.assignment_cell]
        return cls(release, states, by_way, multipliers, large[release.assignment_state])

    def refitted(self, cavity: Floats, how: Scaling) -> "Message":
        """With multipliers that fit the counts, given cavities."""
        multipliers, _ = fitted(self.release, cavity, self.multipliers, how)
        by_way = multipliers[self.release.assignment_cell] if len(self.assignments) else self.assignments
        states = self.release.message(multipliers)
        return replace(self, states=states, assignments=by_way, multipliers=multipliers)

    def exact(self, cavity: Floats, small: Floats, *, half: bool = True) -> "Message":
        """With exact messages, given cavities: of small groups as in `small`, of other cells (half way) computed."""
        release, by_way = self.release, self.assignments
        if self.large.any():
            counted = count_messages(release, self.large, cavity, by_way, self.multipliers)
            by_way = np.sqrt(by_way * counted) if half else counted
            some = different(release.assignment_state[self.large], release.states)
            small[some] = np.bincount(release.assignment_state, by_way, release.states)[some]
        return replace(self, states=release.normalized(small), assignments=by_way)

    def damped(self, before: "Message") -> "Message":
        """Half way from an earlier message, geometrically; what is impossible by the new one stays so."""
        pair = self.states * self.release.normalized(before.states)
        return replace(self, states=np.sqrt(np.where(self.states > 0, np.maximum(pair, TINY), 0.0)))


def in_large_groups(small: Sequence[SmallGroups], releases: Sequence[ReleaseStates]) -> list[Bools]:
    """Whether the group of each state is not small."""
    large = np.ones(sum(one.states for one in releases), np.bool_)
    for one in small:
        large[one.state] = False
    return split(large, releases)


def exact_groups(small: Sequence[SmallGroups], messages: Sequence[Message], others: Sequence[Floats]) -> list[Floats]:
    """The messages of the releases, with exact ones of small groups by cavities; the same for any number of threads."""
    releases = [one.release for one in messages]
    states, cavity = np.concatenate([one.states for one in messages]), np.concatenate(others)
    chance = np.concatenate([one.chance for one in releases])
    found = workers().map(lambda kind: exact_messages(kind, cavity, chance), small)
    for one, said in zip(small, found, strict=True):
        states[one.state] = said
    return split(states, releases)


def propagated(
    chains: Chains,
    multipliers: Sequence[Floats],
    small: Sequence[SmallGroups],
    rounds: int,
) -> tuple[list[Floats], list[Floats]]:
    """Probability of each state after some rounds; and each release's message then.

    The last round is damped too if it is the third one or later (decision 0206).
    """
    large = in_large_groups(small, chains.releases)
    messages = [Message.of(*one) for one in zip(chains.releases, multipliers, large, strict=True)]
    made: list[Floats] = []
    for turn in range(rounds):
        others = cavities(chains, [one.states for one in messages])
        groups = exact_groups(small, messages, others)
        exact = list(workers().map(Message.exact, messages, others, groups))
        messages = [one.damped(before) for one, before in zip(exact, messages, strict=True)]
        if turn + 1 == rounds:
            last = messages if rounds > 2 else exact
            made = [one.release.normalized(cavity * one.states) for one, cavity in zip(last, others, strict=True)]
    return made, [one.states for one in messages]


# --- exact counts of cells -------------------------------------------------------------------------------------------


def count_messages(release: ReleaseStates, chosen: Bools, cavity: Floats, ways: Floats, multipliers: Floats) -> Floats:
    """What its cell says about each assignment of those chosen; `ways` is what was said before."""
    row, cell = release.assignment_row, release.assignment_cell
    size = release.people[row].astype(np.int64)
    weight = cavity[release.assignment_state] * ways
    total = np.bincount(row, weight, len(release.person))
    share = weight / np.maximum(total, TINY)[row]
    sure, free = share >= _SURE, multipliers * release.chance
    others = release.by_group(free)[release.cell_group] - free
    filled = (free > 0) & (others <= (1 - _SURE) * free)  # free members of the group have no other cell
    taken = np.bincount(cell[sure], size[sure], len(release.count)).astype(np.int64)
    taken += (release.free[release.cell_group] * filled).astype(np.int64)
    room = release.count.astype(np.int64) - taken
    least = np.clip(release.lowest.astype(np.int64) - taken, 0, np.maximum(room, 0))
    at = np.flatnonzero(chosen & ~sure & ((room >= 1) & (room <= _OPEN))[cell])
    odds = cavity[release.assignment_state[at]] / np.maximum((total[row] - weight)[at], TINY)
    some = different(cell[at], len(room))
    some = some[~filled[some]]
    again = np.repeat(some, release.free[release.cell_group[some]].astype(np.int64))
    said = ways.copy()
    free_odds = (release.chance / np.maximum(others, TINY))[again]
    # Each of several people in a row is an own candidate, who meets the others of the row.
    first = np.cumsum(size[at]) - size[at]
    each = np.repeat(np.arange(len(at)), size[at])
    found = _ratios(np.append(cell[at][each], again), np.append(odds[each], free_odds), room, least)
    said[at] = found[first]
    return said


def without_one(odds: Floats, count: Ints, least: Ints | None = None) -> Floats:
    """Cells x members: ways of the others to be count - 1, over their ways to be count; odds of 0 are nobody.

    Where a count may be anything from `least` on, the ways to be each of them are added up.
    """
    unit = np.maximum(odds.max(axis=1), TINY)
    members, most = odds.shape[1], int(count.max())
    weights = np.zeros((1 << (members - 1).bit_length(), len(odds)))
    weights[:members] = (odds / unit[:, np.newaxis]).T  # cells last, so that every operation is a long one
    halves = [np.stack([np.ones_like(weights), weights])]
    while halves[-1].shape[1] > 1:
        halves.append(_product(halves[-1][:, 0::2], halves[-1][:, 1::2], most))
    outside = np.zeros((most + 1, 1, len(odds)))
    outside[:, 0] = _wanted(unit, count, count if least is None else least, most)
    for inside in reversed(halves[:-1]):
        below = np.empty_like(inside)
        _beside(outside, inside[:, 1::2], below[:, 0::2])
        _beside(outside, inside[:, 0::2], below[:, 1::2])
        outside = below
    full, less = outside[:2, :members]
    return np.ascontiguousarray((less / np.maximum(full, less / BOUND + TINY) / unit).T)


def _wanted(unit: Floats, count: Ints, least: Ints, most: int) -> Floats:
    """Counts x cells: weight of each count that a cell may have, where odds were divided by `unit`."""
    number = np.arange(most + 1)[:, np.newaxis]
    log = np.where((number >= least) & (number <= count), (number - count) * np.log(unit), -np.inf)
    return np.asarray(np.exp(np.maximum(log - log.max(axis=0), -600.0)) * np.isfinite(log))


def _product(left: Floats, right: Floats, most: int) -> Floats:
    """Ways to be 0, 1, ... of two halves together, no more than the most that is needed (counts x halves x cells)."""
    made = np.zeros((min(2 * len(left) - 1, most + 1), *left.shape[1:]))
    for number, ways in enumerate(left[: len(made)]):
        some = min(len(right), len(made) - number)
        made[number : number + some] += ways * right[:some]
    return made


def _beside(outside: Floats, sibling: Floats, below: Floats) -> None:
    """Ways to be count, count - 1, ... of all who are not in a half: outside of both halves, and in the other one."""
    below[:] = 0.0
    for number, ways in enumerate(sibling[: len(outside)]):
        some = min(len(below), len(outside) - number)
        below[:some] += ways * outside[number : number + some]


def _ratios(cell: Ints, odds: Floats, room: Ints, least: Ints) -> Floats:
    """The ratio of each candidate's cell without it; cells of about the same room and number of candidates at once."""
    order = stable_order(cell, max(len(room), 1))
    first = np.flatnonzero(np.diff(cell[order], prepend=-1))
    cells, number = cell[order[first]], np.diff(np.append(first, len(order)))
    out = np.empty(len(cell))
    kind = _doublings(room[cells]) * 64 + _doublings(number)
    for one in np.unique(kind):
        some = np.flatnonzero(kind == one)
        width = int(number[some].max())
        size = max(1, HELD // (width * int(room[cells[some]].max() + 1)))
        for begin in range(0, len(some), size):
            part = some[begin : begin + size]
            at = order[ranges(first[part], number[part])]
            table, place = _table(odds[at], number[part], width)
            out[at] = without_one(table, room[cells[part]], least[cells[part]]).reshape(-1)[place]
    return out


def _doublings(numbers: Ints) -> Ints:
    """How often 1 is doubled to reach each."""
    return np.ceil(np.log2(numbers)).astype(np.int64)


def _table(odds: Floats, number: Ints, width: int) -> tuple[Floats, Ints]:
    """Cells x candidates, nobody at the end of short rows; and the place of each candidate."""
    place = ranges(np.arange(len(number)) * width, number)
    table = np.zeros(len(number) * width)
    table[place] = odds
    return table.reshape(-1, width), place
