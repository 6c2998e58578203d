"""How two groups could be divided anew: their rows in order between two ends, cut where least is lost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts
from reissue.methods.registry import Job
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Better", "Division", "GroupPairs", "Losses", "batches", "divisions"]

_TABLED = 1_024
"""Taxonomies of at most this many leaves have the loss of every pair of leaves in a table."""
_FEW = 100
"""Those of at most this many have the loss of every leaf and every box in one."""
_ELEMENTS = 20_000
"""Rows of so many pairs are worked on at once, so that they stay in the cache."""
_CUTS = 6
"""Of each pair so many cuts are tried on the requirement, those that save most."""
_GAIN = 1e-6


@dataclass(frozen=True, eq=False)
class Losses:
    """What is lost where two leaves are published together, column by column."""

    codes: Codes
    """Attributes x rows."""
    between: tuple[Callable[[Codes, Codes], Floats], ...]
    """Column to a function: two leaves, whichever is first, to the loss of what is published of them."""
    taxonomies: tuple[Taxonomy, ...]

    @property
    def unit(self) -> int:
        """What a column loses as a whole, where losses are whole numbers: all columns together stay below 2^28."""
        return (1 << 28) // (len(self.taxonomies) + 1)

    def rounded(self, column: int, lo: Codes, hi: Codes) -> Codes:
        """What is lost between two leaves as a whole number: sums of such are the same in any order."""
        return np.rint(self.between[column](lo, hi) * self.unit).astype(np.int32)

    def rounded_box(self, lo: Codes, hi: Codes) -> Ints:
        """Attributes x boxes to what each row of a box loses, in whole numbers."""
        total = np.zeros(lo.shape[1:], np.int64)
        for place in range(len(lo)):
            total += self.rounded(place, lo[place], hi[place])
        return total

    @cached_property
    def around(self) -> "tuple[Codes | None, ...]":
        """Column to a table for small domains: a box, as a number, by leaf, to the loss of both together, rounded."""
        return tuple(
            self._around(place, one.size) if one.size <= _FEW else None for place, one in enumerate(self.taxonomies)
        )

    def _around(self, column: int, size: int) -> Codes:
        lo, hi, leaf = np.indices((size, size, size), np.int32)
        return self.rounded(column, np.minimum(leaf, lo), np.maximum(leaf, hi)).reshape(-1, size)

    @classmethod
    def of(cls, taxonomies: tuple[Taxonomy, ...], codes: Codes) -> "Losses":
        """Of a table."""
        between = tuple(_tabled(one) if one.size <= _TABLED else _computed(one) for one in taxonomies)
        return cls(codes, between, taxonomies)

    def box(self, lo: Codes, hi: Codes) -> Floats:
        """Attributes x boxes to what each row of a box loses."""
        total = self.between[0](lo[0], hi[0])
        for place in range(1, len(lo)):
            total = total + self.between[place](lo[place], hi[place])
        return total


def _tabled(taxonomy: Taxonomy) -> Callable[[Codes, Codes], Floats]:
    size = taxonomy.size
    leaves = np.arange(size, dtype=np.int32)
    one, other = np.repeat(leaves, size), np.tile(leaves, size)
    table = taxonomy.loss(*taxonomy.snap(np.minimum(one, other), np.maximum(one, other)))
    return lambda lo, hi: table.take(lo * np.int32(size) + hi)


def _computed(taxonomy: Taxonomy) -> Callable[[Codes, Codes], Floats]:
    def between(one: Codes, other: Codes) -> Floats:
        lo, hi = np.minimum(one, other).reshape(-1), np.maximum(one, other).reshape(-1)
        return taxonomy.loss(*taxonomy.snap(lo, hi)).reshape(one.shape)

    return between


@dataclass(frozen=True, eq=False)
class Division:
    """All groups as they are: their rows and boxes. The last one is empty: the other side of a group by itself."""

    losses: Losses
    rows: Ints
    """Rows by group."""
    starts: Ints
    sizes: Ints
    lo: Codes
    """Attributes x groups."""
    hi: Codes
    each: Floats
    """Group to what each of its rows loses."""

    @classmethod
    def of(cls, losses: Losses, group: Ints) -> "Division":
        """Of rows' groups."""
        rows, sizes = np.argsort(group, kind="stable"), np.bincount(group)
        starts = np.cumsum(sizes) - sizes
        codes = losses.codes.take(rows, axis=1)
        lo, hi = (np.pad(end.reduceat(codes, starts, axis=1), ((0, 0), (0, 1))) for end in (np.minimum, np.maximum))
        return cls(losses, rows, np.append(starts, 0), np.append(sizes, 0), lo, hi, losses.box(lo, hi))

    @property
    def lost(self) -> float:
        """What all rows lose."""
        return float(self.each @ self.sizes)


@dataclass(frozen=True, eq=False)
class Better:
    """Two groups divided anew: the rows of each, and what is saved."""

    one: int
    other: int
    first: Ints
    second: Ints
    saved: float


def divisions(
    job: Job, division: Division, one: Ints, other: Ints, lines: int, rng: np.random.Generator
) -> list[Better]:
    """The best new division of each pair of groups along some lines, where one saves anything."""
    best: dict[int, Better] = {}
    width = division.sizes[one] + division.sizes[other]
    for some in batches(width):
        pairs = GroupPairs.of(division, one[some], other[some])
        for _ in range(lines):
            for number, better in _along(job, division, pairs, rng):
                place = int(some[number])
                if place not in best or better.saved > best[place].saved:
                    best[place] = better
    return list(best.values())


def batches(width: Ints, elements: int = _ELEMENTS) -> Iterator[Ints]:
    """Pairs in pieces; those of a piece have about as many rows, since `width` never decreases."""
    first = 0
    while first < len(width):
        last = min(first + max(elements // int(width[first]), 1), len(width))
        while last > first + 1 and (last - first) * int(width[last - 1]) > 2 * elements:
            last = (first + last) // 2
        yield np.arange(first, last)
        first = last


@dataclass(frozen=True, eq=False)
class GroupPairs:
    """The rows of pairs of groups, side by side; pairs with fewer rows than others have places that are not `there`."""

    one: Ints
    other: Ints
    total: Ints
    """Pair to its rows."""
    before: Floats
    """Pair to what its rows lose now."""
    rows: Ints
    """Pairs x places."""
    there: Bools
    codes: Codes
    """Attributes x places x pairs: the other way round, since what runs along places is then done for all pairs."""

    @classmethod
    def of(cls, division: Division, one: Ints, other: Ints) -> "GroupPairs":
        """Of pairs of groups, by their numbers."""
        sizes, starts = division.sizes, division.starts
        total = sizes[one] + sizes[other]
        place = np.arange(int(total.max()))[np.newaxis]
        left = sizes[one][:, np.newaxis]
        at = np.where(place < left, starts[one][:, np.newaxis] + place, starts[other][:, np.newaxis] + place - left)
        there = place < total[:, np.newaxis]
        rows = division.rows[np.where(there, at, starts[one][:, np.newaxis])]
        before = sizes[one] * division.each[one] + sizes[other] * division.each[other]
        return cls(one, other, total, before, rows, there, division.losses.codes.take(rows.T, axis=1))


def _along(job: Job, division: Division, pairs: GroupPairs, rng: np.random.Generator) -> Iterator[tuple[int, Better]]:
    """The best division of each pair along a line between two rows that are far apart."""
    order = _line(division.losses, pairs, rng)
    saved = _saved(division.losses, pairs, order)
    least = max(part.least for part in job.requirement.parts())
    number = np.arange(1, saved.shape[1] + 1)
    saved[(number < least) | (pairs.total[:, np.newaxis] - number < least)] = -np.inf
    for pair, cut in _chosen(job, pairs, order, saved):
        rows = pairs.rows[pair, order[pair, : pairs.total[pair]]]
        gain = float(saved[pair, cut])
        yield pair, Better(int(pairs.one[pair]), int(pairs.other[pair]), rows[: cut + 1], rows[cut + 1 :], gain)


def _line(losses: Losses, pairs: GroupPairs, rng: np.random.Generator) -> Ints:
    """Places in order from one end to the other: a row drawn at random, and the row farthest from it."""
    start = rng.integers(0, 1 << 30, len(pairs.total)) % pairs.total
    near = _distance(losses, pairs, start)
    end = np.where(pairs.there, near, -1.0).argmax(axis=1)
    far = _distance(losses, pairs, end)
    return np.asarray(np.argsort(np.where(pairs.there, near - far, np.inf), axis=1, kind="stable"), np.int64)


def _distance(losses: Losses, pairs: GroupPairs, place: Ints) -> Floats:
    """Pairs x places: what would be lost of each row together with the one at a place."""
    own = pairs.codes[:, place, np.arange(len(place))][:, np.newaxis]
    total = losses.between[0](pairs.codes[0], own[0])
    for number in range(1, len(own)):
        total = total + losses.between[number](pairs.codes[number], own[number])
    return total.T


def _saved(losses: Losses, pairs: GroupPairs, order: Ints) -> Floats:
    """Pairs x cuts: what is saved where the rows up to a place are one group, and the others one."""
    turn, there = np.ascontiguousarray(order.T), np.ascontiguousarray(pairs.there.T)
    left, right = np.zeros(turn.shape), np.zeros(turn.shape)
    for codes, between in zip(pairs.codes, losses.between, strict=True):
        own = np.take_along_axis(codes, turn, axis=0)
        left += between(*_ends(own))
        # Places that are not there lie at the end, and must not widen the box: they take the last row's code.
        last = np.take_along_axis(own, pairs.total[np.newaxis] - 1, axis=0)
        right += between(*_ends(np.where(there, own, last)[::-1]))[::-1]
    number = np.arange(1, len(turn))[:, np.newaxis]
    after = number * left[:-1] + (pairs.total - number) * right[1:]
    return np.ascontiguousarray((pairs.before - after).T)


def _ends(codes: Codes) -> tuple[Codes, Codes]:
    """The smallest and the largest code up to each place."""
    return np.minimum.accumulate(codes, axis=0), np.maximum.accumulate(codes, axis=0)


def _chosen(job: Job, pairs: GroupPairs, order: Ints, saved: Floats) -> Iterator[tuple[int, int]]:
    """The cut of each pair that saves most and after which both groups meet the requirement."""
    if not job.requirement.sensitive:
        cut = saved.argmax(axis=1)
        yield from ((int(pair), int(cut[pair])) for pair in np.flatnonzero(saved.max(axis=1, initial=-np.inf) > _GAIN))
        return
    pair = np.flatnonzero(saved.max(axis=1, initial=-np.inf) > _GAIN)
    best = np.argsort(-saved[pair], axis=1, kind="stable")[:, :_CUTS]
    works = _works(job, pairs, order, pair, best) & (np.take_along_axis(saved[pair], best, axis=1) > _GAIN)
    for number in np.flatnonzero(works.any(axis=1)).tolist():
        yield int(pair[number]), int(best[number, works[number].argmax()])


def _works(job: Job, pairs: GroupPairs, order: Ints, pair: Ints, cuts: Ints) -> Bools:
    """Some pairs x some cuts of each: whether both groups meet the requirement."""
    rows = np.take_along_axis(pairs.rows[pair], order[pair], axis=1)[:, np.newaxis]
    there = np.broadcast_to(pairs.there[pair][:, np.newaxis], (*cuts.shape, rows.shape[2]))
    side = np.arange(rows.shape[2]) > cuts[:, :, np.newaxis]
    group = (2 * np.arange(cuts.size).reshape(cuts.shape)[:, :, np.newaxis] + side)[there]
    values: NDArray[np.int32] = job.table.sensitive[np.broadcast_to(rows, there.shape)[there]]
    holds = job.requirement.holds(Counts(group, values, job.table.domain, 2 * cuts.size))
    return np.asarray(holds.reshape(*cuts.shape, 2).all(axis=2))
