"""The frontier of a top-down partitioning: the groups still worked on, all at once, in flat arrays.

Rows lie group by group, and their codes are physically kept in that order, a row's codes side by side: so a row moves
as a whole, and whatever is asked of all groups is one sequential pass. What a group loses on an attribute never grows
when the group is split, so attributes are looked at only where they could still matter (`most`). A frontier with many
rows is worked off in chunks that fit the processor's cache.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints, NarrowCodes
from reissue.counting.cells import Counts, Domain
from reissue.counting.resources import workers
from reissue.counting.segments import ranges
from reissue.data.table import Table
from reissue.errors import RequirementError
from reissue.methods.registry import Job
from reissue.release.release import Draft
from reissue.requirements import Requirement

__all__ = ["Frontier", "Layout", "LocatedRows", "Ranks", "TriedGroups", "refuse_top_down", "work_off"]

ALL = slice(None)
_ROWS_A_LEAF = 2
"""Where groups have that many rows for each leaf between their bounds, it pays to count rows by leaf first."""
_CHUNK = 1 << 18
_WIDTHS = (1, 2, 4, 8, 16, 32)
"""Rows of that many codes are moved faster than others in between."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """Groups of rows, one after the other."""

    rows: Codes
    """The table's row numbers, group by group."""
    codes: NarrowCodes
    """Rows, in the order of `rows`, x attributes; columns beyond the attributes fill a row up, and mean nothing."""
    sensitive: Codes
    """Of no row where values do not matter."""
    domain: Domain
    sizes: Ints
    """Rows of each group; none is empty."""
    most: Floats
    """Attributes x groups: what a row loses there at most; 0 or less where the group leaves the attribute as it is."""

    @classmethod
    def whole(cls, table: Table, *, values: bool = True) -> "Frontier":
        """All rows in one group; without their sensitive values where these do not matter."""
        rows = np.arange(table.rows, dtype=np.int32)
        ends = (end(table.codes, axis=1, keepdims=True) for end in (np.min, np.max))
        most = np.stack([tree.lost(lo, hi) for tree, lo, hi in zip(table.taxonomies, *ends, strict=True)])
        sensitive = table.sensitive if values else table.sensitive[:0]
        return cls(rows, _by_row(table), sensitive, table.domain, np.array([table.rows], np.int64), most)

    @cached_property
    def starts(self) -> Ints:
        """Where each group begins."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def of_row(self) -> Codes:
        """The group of each row."""
        return np.repeat(np.arange(len(self.sizes), dtype=np.int32), self.sizes)

    @property
    def few(self) -> bool:
        """Whether the groups are so large that a loop over them costs nothing, and saves arrays as long as the rows."""
        return len(self.rows) > _CHUNK and len(self.sizes) < 1024

    def slices(self) -> list[slice]:
        """Where the rows of each group stand."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes.tolist(), strict=True)]

    def bounds(self, place: int) -> tuple[Codes, Codes]:
        """The smallest and largest code of each group on one attribute."""
        return bounds_of(self.codes[:, place], self.starts)

    def chosen(self, place: Ints, groups: Ints | None = None) -> "TriedGroups":
        """Some groups, in order, or all, each on one attribute."""
        width = self.codes.shape[1]
        groups = None if groups is None or len(groups) == len(self.sizes) else groups
        if groups is None and self.few:
            parts = zip(place.tolist(), self.slices(), strict=True)
            return TriedGroups.of(np.concatenate([self.codes[rows, one] for one, rows in parts]), self.sizes, ALL)
        sizes = self.sizes if groups is None else self.sizes[groups]
        rows = None if groups is None else ranges(self.starts[groups], sizes)
        first = np.arange(0, width * len(self.rows), width) if rows is None else rows * width
        codes = self.codes.reshape(-1).take(first + np.repeat(place, sizes))
        return TriedGroups.of(codes, sizes, ALL if rows is None else rows)

    def counts(self, labels: Codes | Ints, total: int, rows: Ints | slice = ALL) -> Counts:
        """Statistics of the rows by label, for a requirement to judge."""
        if not len(self.sensitive):
            return self.of_sizes(np.bincount(labels, minlength=total))
        return Counts(labels, self.sensitive[rows], self.domain, total)

    def of_sizes(self, sizes: Ints) -> Counts:
        """The same of groups of which only the sizes matter."""
        total = len(sizes)
        return Counts(np.arange(total), np.zeros(total, np.int32), self.domain, total, sizes)

    def arrange(self, layout: "Layout") -> "Frontier":
        """Some of the rows laid out anew."""
        rows, codes = self.rows.take(layout.order), self.codes.take(layout.order, axis=0)
        sensitive = self.sensitive.take(layout.order) if len(self.sensitive) else self.sensitive
        return Frontier(rows, codes, sensitive, self.domain, layout.sizes, layout.most)

    def pick(self, chosen: Bools) -> "Frontier":
        """Only the chosen groups."""
        if chosen.all():
            return self
        inside = np.flatnonzero(np.repeat(chosen, self.sizes))
        return self.arrange(Layout(inside, self.sizes[chosen], self.most[:, chosen]))

    def done(self, chosen: Bools) -> tuple[Codes, Ints]:
        """The table's row numbers of the chosen groups, group by group, and the groups' sizes."""
        return self.rows[np.repeat(chosen, self.sizes)], self.sizes[chosen]

    def chunks(self, rows: int) -> "Iterator[Frontier]":
        """The same groups in frontiers of about this many rows (or of one single group)."""
        if not len(self.sizes):
            return
        cuts = np.unique(np.searchsorted(self.starts, np.arange(0, len(self.rows), rows), "right") - 1)
        for first, after in zip(cuts, np.append(cuts[1:], len(self.sizes)), strict=True):
            begin = int(self.starts[first])
            end = begin + int(self.sizes[first:after].sum())
            yield Frontier(
                self.rows[begin:end],
                self.codes[begin:end],
                self.sensitive[begin:end],
                self.domain,
                self.sizes[first:after],
                self.most[:, first:after],
            )


@dataclass(frozen=True, eq=False)
class Layout:
    """How rows of a frontier are laid out anew."""

    order: Ints
    """New place to old place; rows that are not named are left out."""
    sizes: Ints
    most: Floats


def _by_row(table: Table) -> NarrowCodes:
    """Rows x attributes, each code as narrow as can be."""
    # A cut may lie one beyond the last code, and must fit too.
    narrow = next(kind for kind in (np.uint8, np.uint16, np.int32) if max(table.sizes) <= np.iinfo(kind).max)
    attributes, rows = table.codes.shape
    codes = np.zeros((rows, next((width for width in _WIDTHS if width >= attributes), attributes)), narrow)
    for place, column in enumerate(table.codes):
        codes[:, place] = column
    return codes


Advance = Callable[[Frontier], tuple[Layout, Bools]]
"""How the groups of a frontier go on, and which of them are done."""


def work_off(job: Job, advance: Advance) -> Draft:
    """Partition top-down. Groups are numbered as one thread would, however many there are.

    `advance` must not depend on what it was asked before: frontiers that fit the cache are worked off in several
    threads at once.
    """
    refuse_top_down(job.requirement, job.table.whole())
    groups = np.full(job.table.rows, -1, np.int32)
    finished = placed = rounds = 0
    work = _Work(advance, max(part.least for part in job.requirement.parts()), workers())
    for part in work.parts(Frontier.whole(job.table, values=job.requirement.sensitive)):
        for rows, sizes in part.done:
            groups[rows] = np.repeat(np.arange(finished, finished + len(sizes), dtype=np.int32), sizes)
            finished, placed = finished + len(sizes), placed + len(rows)
        rounds += part.rounds
        job.progress(placed / job.table.rows)
    return Draft(groups, notes={"rounds": rounds})


_Done = tuple[Codes, Ints]
"""Groups that are done: the table's row numbers, group by group, and the groups' sizes."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Groups that are done, and how many rounds it took."""

    done: "list[_Done]"
    rounds: int


@dataclass(frozen=True, eq=False)
class _Work:
    """How a partition is worked off."""

    advance: Advance
    least: int
    several: Executor

    def parts(self, frontier: Frontier) -> Iterator[_Part]:
        """What becomes of a large frontier, piece by piece; pieces that fit the cache are left to other threads."""
        done, following = self._round(frontier)
        yield _Part(done, int(following is not None))
        pieces = [] if following is None else [*following.chunks(_CHUNK)]
        begun = [self.several.submit(self._all, piece) if len(piece.rows) <= 2 * _CHUNK else piece for piece in pieces]
        try:
            while begun:
                piece = begun.pop()
                if isinstance(piece, Frontier):
                    yield from self.parts(piece)
                else:
                    yield piece.result()
        finally:
            for piece in begun:  # nobody asks for it any more
                if not isinstance(piece, Frontier):
                    piece.cancel()

    def _all(self, frontier: Frontier) -> _Part:
        """What becomes of a frontier, all of it."""
        done, rounds, waiting = [], 0, [frontier]
        while waiting:
            own, following = self._round(waiting.pop())
            done.extend(own)
            if following is not None:
                waiting.extend(following.chunks(_CHUNK))
                rounds += 1
        return _Part(done, rounds)

    def _round(self, frontier: Frontier) -> tuple[list[_Done], Frontier | None]:
        """The groups that are done, and those that go on; None where all are done."""
        large = frontier.sizes >= 2 * self.least
        small = frontier.done(~large)
        if not large.any():
            return [small], None
        frontier = frontier.pick(large)
        layout, done = self.advance(frontier)
        return [small, frontier.done(done)], frontier.arrange(layout)


def refuse_top_down(requirement: Requirement, whole: Counts) -> None:
    """Stop where the table as a whole does not meet the requirement."""
    if not requirement.holds(whole)[0]:
        raise RequirementError(
            f"This method splits top-down from the whole table, which does not meet {requirement} itself. "
            "Choose a method that builds groups of different values, such as anatomy."
        )


# --- groups tried on one attribute each ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TriedGroups:
    """Groups of a frontier with the codes of their rows on one attribute each."""

    rows: Ints | slice
    """The rows' places in the frontier."""
    codes: NarrowCodes
    sizes: Ints
    starts: Ints
    lo: Codes
    """The smallest code of each group."""
    hi: Codes

    @classmethod
    def of(cls, codes: NarrowCodes, sizes: Ints, rows: Ints | slice) -> "TriedGroups":
        """Groups one after the other."""
        starts = np.cumsum(sizes) - sizes
        return cls(rows, codes, sizes, starts, *bounds_of(codes, starts))

    def places(self, some: Ints | slice) -> Ints | slice:
        """Where some of the rows stand in the frontier."""
        return some if isinstance(self.rows, slice) else self.rows[some]

    def put(self, groups: Ints, others: "TriedGroups") -> None:
        """Some groups on other attributes from now on; rows of all groups must be here."""
        self.codes[others.rows] = others.codes
        self.lo[groups], self.hi[groups] = others.lo, others.hi

    def by_child(self, level: Ints, first: Ints, bound: int, nodes: Codes) -> "tuple[Ints, Ints, LocatedRows]":
        """The children that have any rows, how many, and the rows by child, of which there are at most so many.

        A child is the node of a row's code, looked up from where its group's level begins, counted from `first`.
        """
        leaves = self.hi.astype(np.int64) - self.lo + 1
        if int(leaves.sum()) * _ROWS_A_LEAF > len(self.codes):
            rows = np.repeat(level, self.sizes) + self.codes
            distinct, size, locate = compact(np.repeat(first, self.sizes) + nodes.take(rows), bound)
            return distinct, size, LocatedRows(self, locate)
        # Rows are counted by leaf, and leaves looked up instead of rows.
        before = np.cumsum(leaves) - leaves - self.lo
        bins = np.asarray(np.repeat(before, self.sizes) + self.codes, np.int64)
        number = np.bincount(bins, minlength=int(leaves.sum()))
        keys = np.repeat(first, leaves) + nodes.take(np.arange(len(number)) + np.repeat(level - before, leaves))
        distinct, size, locate = compact(keys, bound, number)
        return distinct, size, LocatedRows(self, lambda some: locate(bins[some]))


@dataclass(frozen=True, eq=False)
class LocatedRows:
    """Rows of tried groups and the children that they would fall into; of some of the groups, or all."""

    tried: TriedGroups
    locate: Callable[[Any], Ints]
    """Of some of all these rows to their children."""

    def children(self, groups: Ints | None = None) -> Ints:
        """The child of each row, group by group."""
        return self.locate(self._inside(groups))

    def places(self, groups: Ints | None = None) -> Ints | slice:
        """Where each row stands in the frontier."""
        return self.tried.places(self._inside(groups))

    def put(self, label: Ints, labels: Ints, groups: Ints | None = None) -> None:
        """The label of its child becomes the label of each row."""
        labels[self.places(groups)] = label.take(self.children(groups))

    def _inside(self, groups: Ints | None) -> Ints | slice:
        return ALL if groups is None else ranges(self.tried.starts[groups], self.tried.sizes[groups])


def bounds_of(codes: NarrowCodes, starts: Ints) -> tuple[Codes, Codes]:
    """The smallest and the largest code of each group."""
    lo, hi = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
    return lo.astype(np.int32), hi.astype(np.int32)


class Ranks:
    """All rows in the order of (group, code), without moving any: which code stands where, and how many stand below.

    Read off one histogram in which every group has its own stretch of bins from lo to hi; where that would be too
    long, off the sorted codes.
    """

    def __init__(self, chosen: TriedGroups) -> None:
        """Order the rows of groups by the codes of their attributes."""
        widths = chosen.hi.astype(np.int64) - chosen.lo + 1
        self._dense = int(widths.sum()) <= 4 * len(chosen.codes) + 1024
        if self._dense:
            self._base = np.cumsum(widths) - widths - chosen.lo
            self._so_far = np.append(np.cumsum(np.bincount(np.repeat(self._base, chosen.sizes) + chosen.codes)), 0)
        else:
            shift = int(chosen.hi.max()).bit_length()
            self._base = np.arange(len(widths), dtype=np.int64) << shift
            self._keys = np.sort(np.repeat(self._base, chosen.sizes) + chosen.codes)

    def at(self, position: Ints) -> Codes:
        """For each group the code at a position among all rows; the position must lie in the group."""
        if self._dense:
            codes = np.searchsorted(self._so_far[:-1], position, "right") - self._base
        else:
            codes = self._keys[position] - self._base
        return np.asarray(codes, np.int32)

    def below(self, code: Codes | Ints) -> Ints:
        """For each group the position of the first row with this code or a larger one; lo <= code <= hi."""
        if self._dense:
            # The appended 0 answers for the very first bin, whose predecessor is index -1.
            return np.asarray(self._so_far[self._base + code - 1])
        return np.asarray(np.searchsorted(self._keys, self._base + code))


def compact(keys: Ints, bound: int, number: Ints | None = None) -> tuple[Ints, Ints, Callable[[Ints | slice], Ints]]:
    """The distinct keys in order, how many rows each has, and on request the place of some of the keys among them.

    `number` is how many rows each of the keys stands for; without it one.
    """
    if bound > 4 * len(keys) + 1024:  # a table of all keys would be too large
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, _counted(place, len(distinct), number), lambda some: place[some]
    table = _counted(keys, bound, number)
    distinct = np.flatnonzero(table)
    size = table[distinct]

    def places(some: Ints | slice) -> Ints:
        table[distinct] = np.arange(len(distinct))
        return table.take(keys[some])

    return distinct, size, places


def _counted(keys: Ints, bound: int, number: Ints | None) -> Ints:
    return np.bincount(keys, number, bound).astype(np.int64, copy=False)
