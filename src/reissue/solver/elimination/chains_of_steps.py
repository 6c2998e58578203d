"""Which values chains of possible steps lead through, everyone's releases one after the other.

What somebody can have in a release is a set of values, kept as bits. Where a model has too many values for that, people
are linked entry by entry instead, some of them at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from reissue._arrays import Bools, Ints
from reissue.counting.segments import different, ranges
from reissue.solver.elimination.open_ways import OpenWays
from reissue.solver.observations import Layer, Observation
from reissue.solver.transitions import Links, Model, link

__all__ = ["WORD", "ChainsOfSteps", "SetsOfValues", "Words", "bits_of", "steps_of"]

Words = npt.NDArray[np.uint64]

WIDEST = 256
"""Values of a model at most that are kept as bits."""
ENTRIES = 2_000_000
"""Entries that are linked at once, at most: links take several times their memory."""
WORD = 64
"""Values of a word of bits."""


class ChainsOfSteps(Protocol):
    """The releases, one after the other for everyone."""

    @property
    def people(self) -> int:
        """How many people there are."""

    def reach(self, releases: Sequence[OpenWays], people: Bools) -> Ints:
        """Close ways of some people whose value no chain of steps leads through; who has none left."""


def steps_of(series: Sequence[Observation], model: Model, times: Sequence[int] | None) -> "SetsOfValues | _Linked":
    """For releases at these times, by default one after the other."""
    when = np.arange(len(series)) if times is None else np.asarray(times)
    people = max((int(seen.people.max(initial=-1)) + 1 for seen in series), default=0)
    return (SetsOfValues if model.values <= WIDEST else _Linked)(people, model, when)


def bits_of(values: Ints, words: int) -> Words:
    """Every value as a set of itself."""
    made = np.zeros((len(values), words), np.uint64)
    made[np.arange(len(values)), values // WORD] = np.uint64(1) << (values % WORD).astype(np.uint64)
    return made


@dataclass(frozen=True, eq=False)
class SetsOfValues:
    """Sets of values as bits."""

    people: int
    model: Model
    times: Ints
    tables: dict[tuple[int, bool], Words] = field(default_factory=dict)

    @property
    def words(self) -> int:
        """How many words a set takes."""
        return -(-self.model.values // WORD)

    def reach(self, releases: Sequence[OpenWays], people: Bools) -> Ints:
        """Forward over all releases, then backward."""
        number = np.cumsum(people) - 1
        rows = [np.flatnonzero(people[one.layer.person]) for one in releases]
        open_sets = [self._open(one, some) for one, some in zip(releases, rows, strict=True)]
        who = [number[one.layer.person[some]] for one, some in zip(releases, rows, strict=True)]
        left = self.through(who, open_sets)
        lost = [np.empty(0, np.int64)]
        for one, some, before, after in zip(releases, rows, open_sets, left, strict=True):
            smaller = (before != after).any(axis=1)
            self._close(one, some[smaller], after[smaller])
            lost.append(one.layer.person[some[~after.any(axis=1)]])
        return different(np.concatenate(lost), self.people)

    def through(self, people: Sequence[Ints], sets: Sequence[Words]) -> list[Words]:
        """What is left of sets of values, of some people of each release, that chains of steps lead through."""
        left, size = [one.copy() for one in sets], max((int(one.max(initial=-1)) + 1 for one in people), default=0)
        for order, backward in ((range(len(left)), False), (range(len(left) - 1, -1, -1), True)):
            carried, time = np.zeros((size, self.words), np.uint64), np.full(size, -1)
            for place in order:
                who = people[place]
                gap = np.where(time[who] >= 0, np.abs(self.times[place] - time[who]), 0)
                left[place] &= self._moved(carried[who], gap, backward=backward)
                carried[who], time[who] = left[place], self.times[place]
        return left

    def _open(self, one: OpenWays, rows: Ints) -> Words:
        """The values that some rows can have by themselves."""
        layer = one.layer
        widths = layer.starts[rows + 1] - layer.starts[rows]
        entry = ranges(layer.starts[rows], widths)
        value = layer.value[entry]
        bit = np.uint64(1) << (value % WORD).astype(np.uint64)
        bit[(one.left[entry] == 0) & ~np.repeat(layer.absent[rows], widths)] = 0
        starts, made = np.append(0, np.cumsum(widths))[:-1], np.zeros((len(rows), self.words), np.uint64)
        for word in range(self.words):
            mine = np.append(bit if self.words == 1 else np.where(value // WORD == word, bit, 0), np.uint64(0))
            made[:, word] = np.where(widths > 0, np.bitwise_or.reduceat(mine, starts), 0) if len(rows) else 0
        return made

    def _close(self, one: OpenWays, rows: Ints, left: Words) -> None:
        """Close the ways of rows to values that they cannot have."""
        layer, ways = one.layer, one.of_rows(rows)
        value, place = layer.value[layer.triple_entry[ways]], np.searchsorted(rows, one.rows_of(ways))
        possible = left[place, value // WORD] >> (value % WORD).astype(np.uint64) & np.uint64(1)
        one.close(ways[possible == 0])

    def _moved(self, sets: Words, gaps: Ints, *, backward: bool) -> Words:
        """What sets of values can become over gaps, or can have been; everything over a gap of 0: nothing is known."""
        made = np.full_like(sets, ~np.uint64(0))
        for gap in different(gaps[gaps > 0]).tolist():
            some = np.flatnonzero(gaps == gap)
            if self.model.steps is None:
                made[some] = sets[some]
                continue
            table, parts = self._table(gap, backward=backward), sets[some].view(np.uint8)
            moved = np.zeros((len(some), self.words), np.uint64)
            for place in range(len(table)):
                moved |= table[place, parts[:, place]]
            made[some] = moved
        return made

    def _table(self, gap: int, *, backward: bool) -> Words:
        """Place of a byte and its bits to the values that one of theirs becomes over a gap, or comes from."""
        if (gap, backward) not in self.tables:
            possible = self.model.after(gap) > 0
            bits = np.zeros((-(-self.model.values // 8) * 8, self.words * WORD), np.uint8)
            bits[: self.model.values, : self.model.values] = possible.T if backward else possible
            single = np.packbits(bits, axis=1, bitorder="little").view(np.uint64).reshape(-1, 8, self.words)
            table = np.zeros((len(single), 256, self.words), np.uint64)
            for bit in range(8):
                table[:, 1 << bit : 2 << bit] = table[:, : 1 << bit] | single[:, bit, np.newaxis]
            self.tables[gap, backward] = table
        return self.tables[gap, backward]


@dataclass(frozen=True, eq=False)
class _Linked:
    """Sets of values as entries, linked by person."""

    people: int
    model: Model
    times: Ints

    def reach(self, releases: Sequence[OpenWays], people: Bools) -> Ints:
        """Some people at a time."""
        some, lost = np.flatnonzero(people), [np.empty(0, np.int64)]
        widths = np.zeros(self.people, np.int64)
        for one in releases:
            widths[one.layer.person] += np.diff(one.layer.starts)
        batch = np.cumsum(widths[some]) // ENTRIES
        lost.extend(self._reach(releases, some[batch == number]) for number in np.unique(batch))
        return different(np.concatenate(lost), self.people)

    def _reach(self, releases: Sequence[OpenWays], people: Ints) -> Ints:
        mine = np.zeros(self.people, np.bool_)
        mine[people] = True
        rows = [np.flatnonzero(mine[one.layer.person]) for one in releases]
        entries = [_entries(one.layer, some) for one, some in zip(releases, rows, strict=True)]
        layers = [_of_rows(one.layer, *two) for one, two in zip(releases, zip(rows, entries, strict=True), strict=True)]
        open_sets = [
            (one.left[some] > 0) | (layer.away > 0) for one, some, layer in zip(releases, entries, layers, strict=True)
        ]
        left, lost = _through(layers, link(layers, self.model, self.times.tolist()), open_sets), []
        for one, some, layer, entry, alive in zip(releases, rows, layers, entries, left, strict=True):
            ways = one.of_rows(some)
            dead = np.zeros(one.layer.entries, np.bool_)
            dead[entry[~alive]] = True
            one.close(ways[dead[one.layer.triple_entry[ways]]])
            lost.append(layer.person[layer.sums(alive.astype(np.float64)) == 0])
        return np.concatenate(lost)


def _entries(layer: Layer, rows: Ints) -> Ints:
    return ranges(layer.starts[rows], np.diff(layer.starts)[rows])


def _of_rows(layer: Layer, rows: Ints, entries: Ints) -> Layer:
    """Some rows, as far as they are linked."""
    starts = np.append(0, np.cumsum(np.diff(layer.starts)[rows]))
    return replace(
        layer, person=layer.person[rows], starts=starts, value=layer.value[entries], absent=layer.absent[rows]
    )


def _through(layers: Sequence[Layer], links: Sequence[Links], alive: Sequence[Bools]) -> list[Bools]:
    """Entry to whether a chain of steps leads through it, in each layer."""
    ends = np.append(0, np.cumsum([layer.entries for layer in layers]))
    ahead, back = np.zeros(int(ends[-1])), np.ones(int(ends[-1]))
    for place, one in enumerate(links):
        arrived = one.first.copy()
        arrived[one.targets] = one.forward(ahead[one.sources]) > 0
        ahead[ends[place] : ends[place + 1]] = alive[place] & arrived
    made = []
    for place in range(len(layers) - 1, -1, -1):
        one, mine = links[place], slice(ends[place], ends[place + 1])
        made.append((ahead[mine] > 0) & (back[mine] > 0))
        back[one.sources] = one.backward(made[-1][one.targets].astype(np.float64))
    return made[::-1]
