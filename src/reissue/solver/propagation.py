"""Constraint propagation: which assignments no world allows, in all releases together.

Three rules, each of which takes away only what is impossible:

- arc consistency along each person's chain: a value that no sequence of possible transitions leads through is out;
- where as many people must fill a cell as it has records, nobody else can;
- where no more people can fill a cell than it has records, they do.

The values that a person may have are kept as bits, and what a set can become is looked up byte by byte, so that most
assignments are ruled out before they are held in memory. Later rounds look only at people whose assignments changed.
People whose releases contradict each other (a record linked wrongly) are set aside: their records become strangers'.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from reissue._arrays import Bools, Ints
from reissue.counting.segments import different, ranges
from reissue.solver.observation import Observation, assignments
from reissue.solver.states import ReleaseStates, as_small, states_of
from reissue.solver.transitions import Model

__all__ = ["Propagated", "propagate"]

_Words = npt.NDArray[np.uint64]
_WORD = 64
"""Bits of a word."""


@dataclass(frozen=True, eq=False)
class Propagated:
    """Releases without what is impossible."""

    observations: tuple[Observation, ...]
    """Without people whose releases contradict each other."""
    releases: tuple[ReleaseStates, ...]
    contradicted: Ints
    """People who were set aside."""


def propagate(
    series: Sequence[Observation], model: Model, times: Sequence[int] | None = None, *, most: float = float("inf")
) -> Propagated:
    """Take away what is impossible; stop early once more than `most` people contradict."""
    aside = np.empty(0, np.int64)
    when = np.arange(len(series)) if times is None else np.asarray(times)
    while True:
        releases, lost = _consistent(series, _ValueSets(model, when))
        aside = np.union1d(aside, lost)
        if not len(lost) or len(aside) > most:
            return Propagated(tuple(series), tuple(releases), aside)
        series = [_without(seen, lost) for seen in series]


def _without(seen: Observation, people: Ints) -> Observation:
    """The release with some people as strangers: of the group that they fit, or of any if they fit several."""
    mine = np.isin(seen.person, people)
    person, number = np.unique(seen.person[mine], return_counts=True)
    surely = np.isin(person, seen.absent, invert=True)
    single = np.isin(seen.person, person[(number == 1) & surely])
    return replace(
        seen,
        person=seen.person[~mine],
        group=seen.group[~mine],
        free=seen.free + np.bincount(seen.group[single], minlength=seen.groups),
        strangers=seen.strangers + int(((number > 1) & surely).sum()),
        absent=np.setdiff1d(seen.absent, people),
    )


def _consistent(series: Sequence[Observation], sets: "_ValueSets") -> tuple[list[ReleaseStates], Ints]:
    """What is possible in the end; and the people without any value in some release, before anything follows."""
    found, lost = _possible_assignments(series, sets)
    if len(lost):
        return [], lost
    releases = [states_of(seen, sets.model.values, some) for seen, some in zip(series, found, strict=True)]
    people = np.zeros(max((int(seen.people.max(initial=-1)) + 1 for seen in series), default=0), np.bool_)
    settled: list[ReleaseStates | None] = [None] * len(releases)
    while not len(lost):
        people[:] = False
        for place, release in enumerate(releases):
            if release is settled[place]:
                continue
            kept = _by_counts(release)
            people[release.person[release.assignment_row[~kept]]] = True
            releases[place] = settled[place] = _restricted(release, kept)
        if not people.any():
            return releases, lost
        lost = sets.propagate(releases, people)
    return [], lost


def _restricted(release: ReleaseStates, kept: Bools) -> ReleaseStates:
    """The release with some of its assignments only, and without states that have none."""
    if kept.all():
        return release
    alive = release.absent[release.row]
    alive[release.assignment_state[kept]] = True
    number = np.cumsum(alive, dtype=np.int32) - 1
    return replace(
        release,
        starts=np.append(0, np.cumsum(alive))[release.starts],
        value=release.value[alive],
        assignment_state=as_small(number[release.assignment_state[kept]]),
        assignment_cell=release.assignment_cell[kept],
    )


def _by_counts(release: ReleaseStates) -> Bools:
    """Which assignments the published counts leave room for."""
    row, cell = release.assignment_row, release.assignment_cell
    size, cells = release.people[row], len(release.count)
    only = (np.bincount(row, minlength=len(release.person)) == 1)[row] & ~release.absent[row]
    must = np.bincount(cell, size * only, cells)
    kept = only | (must != release.count)[cell]
    free = release.free[release.cell_group] * (release.chance > 0) + release.strangers
    needed = (np.bincount(cell, size * kept, cells) == release.lowest - free)[cell]
    bound = np.zeros(len(release.person), np.bool_)
    bound[row[kept & needed]] = True
    return np.asarray(kept & (needed | ~bound[row]))


# --- values that chains of transitions lead through ------------------------------------------------------------------


def _possible_assignments(series: Sequence[Observation], sets: "_ValueSets") -> tuple[list[tuple[Ints, Ints]], Ints]:
    """Person and cell of every assignment that groups and transitions allow; and who has no value left somewhere."""
    left = sets.through([seen.people for seen in series], [_shown(seen, sets.words) for seen in series])
    lost = [seen.people[~mine.any(axis=1)] for seen, mine in zip(series, left, strict=True)]
    made = [_within(seen, mine) for seen, mine in zip(series, left, strict=True)]
    return made, different(np.concatenate([np.empty(0, np.int64), *lost]))


def _shown(seen: Observation, words: int) -> _Words:
    """The values that the groups show which each person fits; any value for people who may be absent."""
    of_group = _union(_bits(seen.cell_value, words), seen.group_starts[:-1], np.diff(seen.group_starts))
    first = np.flatnonzero(np.diff(seen.person, prepend=-1))
    fits = _union(of_group[seen.group], first, np.diff(np.append(first, len(seen.person))))
    people, here = seen.people, seen.person[first]
    if len(seen.impossible):
        taken = np.bitwise_or.reduce(_bits(seen.impossible, words), axis=0)
        fits[np.isin(here, seen.vacant, invert=True)] &= ~taken
    made = np.zeros((len(people), words), np.uint64)
    made[np.searchsorted(people, here)] = fits
    made[np.searchsorted(people, seen.absent)] = ~np.uint64(0)
    known = np.isin(seen.known_person, people)  # values of people who are not in this release may be known, too
    made[np.searchsorted(people, seen.known_person[known])] &= _bits(seen.known_value[known], words)
    return made


def _within(seen: Observation, sets: _Words) -> tuple[Ints, Ints]:
    """The assignments of a release to values of everyone's set."""
    person, cell = assignments(seen)
    place = np.zeros(int(seen.people.max(initial=-1)) + 1, np.int64)
    place[seen.people] = np.arange(len(seen.people))
    value = seen.cell_value[cell]
    kept = _contains(sets[place[person]], value)
    return person[kept], cell[kept]


def _contains(sets: _Words, values: Ints) -> Bools:
    """Whether each set has its value."""
    words = sets[np.arange(len(values)), values // _WORD]
    return np.asarray((words >> (values % _WORD).astype(np.uint64) & np.uint64(1)) == 1)


def _bits(values: Ints, words: int) -> _Words:
    """Each value as a set."""
    made = np.zeros((len(values), words), np.uint64)
    made[np.arange(len(values)), values // _WORD] = np.uint64(1) << (values % _WORD).astype(np.uint64)
    return made


def _union(sets: _Words, starts: Ints, lengths: Ints) -> _Words:
    """The union of each range of sets; the empty set of empty ranges."""
    if not len(starts):
        return np.zeros((0, sets.shape[1]), np.uint64)
    nothing = np.zeros((1, sets.shape[1]), np.uint64)
    joined = np.bitwise_or.reduceat(np.concatenate([sets, nothing]), starts, axis=0)
    return np.where(lengths[:, np.newaxis] > 0, joined, np.uint64(0))


class _ValueSets:
    """Sets of values as bits, and what they become between releases."""

    def __init__(self, model: Model, times: Ints) -> None:
        self.model, self.times = model, times
        self.words = -(-model.values // _WORD)
        self._tables: dict[tuple[int, bool], _Words] = {}

    def through(self, people: Sequence[Ints], sets: Sequence[_Words]) -> list[_Words]:
        """What is left of the sets of some people of each release: forward over all releases, then backward."""
        left, size = [one.copy() for one in sets], max((int(one.max(initial=-1)) + 1 for one in people), default=0)
        for order, backward in ((range(len(left)), False), (range(len(left) - 1, -1, -1), True)):
            carried, time = np.zeros((size, self.words), np.uint64), np.full(size, -1)
            for place in order:
                who = people[place]
                gap = np.where(time[who] >= 0, np.abs(self.times[place] - time[who]), -1)
                left[place] &= self._moved(carried[who], gap, backward=backward)
                carried[who], time[who] = left[place], self.times[place]
        return left

    def propagate(self, releases: list[ReleaseStates], people: Bools) -> Ints:
        """Take away assignments of some people that no chain leads through; the people who have none left."""
        number = np.cumsum(people) - 1
        rows = [np.flatnonzero(people[one.person]) for one in releases]
        who = [number[one.person[some]] for one, some in zip(releases, rows, strict=True)]
        sets = [self._of_rows(one, some) for one, some in zip(releases, rows, strict=True)]
        lost = [np.empty(0, np.int64)]
        for place, after in enumerate(self.through(who, sets)):
            one, some = releases[place], rows[place]
            widths, possible = np.diff(one.starts)[some], np.ones(one.states, np.bool_)
            states = ranges(one.starts[some], widths)
            possible[states] = _contains(np.repeat(after, widths, axis=0), one.value[states])
            releases[place] = _restricted(one, possible[one.assignment_state])
            lost.append(one.person[some[~after.any(axis=1)]])
        return different(np.concatenate(lost))

    def _of_rows(self, one: ReleaseStates, rows: Ints) -> _Words:
        """The values that some rows may have by themselves."""
        widths = np.diff(one.starts)[rows]
        values = one.value[ranges(one.starts[rows], widths)]
        return _union(_bits(values, self.words), np.append(0, np.cumsum(widths))[:-1], widths)

    def _moved(self, sets: _Words, gaps: Ints, *, backward: bool) -> _Words:
        """What sets become over gaps, or have been; everything over a gap of -1, for nothing is known there."""
        made = np.full_like(sets, ~np.uint64(0))
        for gap in different(gaps[gaps >= 0]).tolist():
            some = np.flatnonzero(gaps == gap)
            if self.model.steps is None or not gap:
                made[some] = sets[some]
                continue
            table, parts = self._table(gap, backward=backward), sets[some].view(np.uint8)
            moved = np.zeros((len(some), self.words), np.uint64)
            for place in range(len(table)):
                moved |= table[place, parts[:, place]]
            made[some] = moved
        return made

    def _table(self, gap: int, *, backward: bool) -> _Words:
        """Place of a byte x its bits: the values that one of theirs becomes over a gap, or comes from."""
        if (gap, backward) not in self._tables:
            possible = self.model.after(gap) > 0
            bits = np.zeros((-(-self.model.values // 8) * 8, self.words * _WORD), np.uint8)
            bits[: self.model.values, : self.model.values] = possible.T if backward else possible
            single = np.packbits(bits, axis=1, bitorder="little").view(np.uint64).reshape(-1, 8, self.words)
            table = np.zeros((len(single), 256, self.words), np.uint64)
            for bit in range(8):
                table[:, 1 << bit : 2 << bit] = table[:, : 1 << bit] | single[:, bit, np.newaxis]
            self._tables[gap, backward] = table
        return self._tables[gap, backward]
