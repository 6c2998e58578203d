"""The frontier of a top-down partitioning: the groups still worked on, all at once, in flat arrays.

Rows lie group by group, and the codes are physically kept in that order, so whatever is asked of all groups is one
sequential pass. A frontier with many rows is worked off in chunks that fit the processor's cache.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Codes, Ints, NarrowCodes
from reissue.algorithms.registry import Job
from reissue.counting.cells import Counts, Domain
from reissue.counting.keys import stable_order
from reissue.counting.threads import threads
from reissue.data.table import Table
from reissue.errors import RequirementError
from reissue.release.release import Draft
from reissue.requirements import Requirement

__all__ = ["Frontier", "Layout", "Ranks", "compact", "refuse_top_down", "work_off"]

_CHUNK = 1 << 16
_NARROW = 1 << 15
"""Codes below it take half the memory, and half the time to move."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """Groups of rows, one after the other."""

    rows: Codes
    """The table's row numbers, group by group."""
    codes: NarrowCodes
    """Attributes x rows, in the order of `rows`."""
    sensitive: Codes
    """Of no row where values do not matter."""
    domain: Domain
    sizes: Ints
    """Rows of each group; none is empty."""
    closed: Bools
    """Attributes x groups: which attributes a group leaves as they are."""

    @classmethod
    def whole(cls, table: Table, *, values: bool = True) -> "Frontier":
        """All rows in one group; without their sensitive values where these do not matter."""
        rows = np.arange(table.rows, dtype=np.int32)
        closed = np.zeros((len(table.codes), 1), np.bool_)
        narrow = max(table.sizes, default=0) < _NARROW
        codes: NarrowCodes = table.codes.astype(np.int16) if narrow else table.codes
        sensitive = table.sensitive if values else table.sensitive[:0]
        return cls(rows, codes, sensitive, table.domain, np.array([table.rows], np.int64), closed)

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
        codes, starts = self.codes[place], self.starts
        lo, hi = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        return lo.astype(np.int32), hi.astype(np.int32)

    def counts(self, labels: Codes | Ints, total: int, rows: Ints | None = None) -> Counts:
        """Statistics of the rows by label, for a requirement to judge."""
        if not len(self.sensitive):
            return self.of_sizes(np.bincount(labels, minlength=total))
        return Counts(labels, self.sensitive if rows is None else self.sensitive[rows], self.domain, total)

    def of_sizes(self, sizes: Ints) -> Counts:
        """The same of groups of which only the sizes matter."""
        total = len(sizes)
        return Counts(np.arange(total), np.zeros(total, np.int32), self.domain, total, sizes)

    def arrange(self, layout: "Layout") -> "Frontier":
        """Some of the rows laid out anew."""
        rows, codes = self.rows.take(layout.order), self.codes.take(layout.order, axis=1)
        sensitive = self.sensitive.take(layout.order) if len(self.sensitive) else self.sensitive
        return Frontier(rows, codes, sensitive, self.domain, layout.sizes, layout.closed)

    def rearrange(self, layout: "Layout") -> "Frontier":
        """The same in place, column by column: this frontier must not be used any more."""
        for column in (self.rows, *self.codes, *([self.sensitive] if len(self.sensitive) else [])):
            column[: len(layout.order)] = column.take(layout.order)
        kept = slice(len(layout.order))
        codes, sensitive = self.codes[:, kept], self.sensitive[kept]
        return Frontier(self.rows[kept], codes, sensitive, self.domain, layout.sizes, layout.closed)

    def pick(self, chosen: Bools) -> "Frontier":
        """Only the chosen groups."""
        if chosen.all():
            return self
        inside = np.flatnonzero(np.repeat(chosen, self.sizes))
        return self.arrange(Layout(inside, self.sizes[chosen], self.closed[:, chosen]))

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
                self.codes[:, begin:end],
                self.sensitive[begin:end],
                self.domain,
                self.sizes[first:after],
                self.closed[:, first:after],
            )


@dataclass(frozen=True, eq=False)
class Layout:
    """How rows of a frontier are laid out anew."""

    order: Ints
    """New place to old place; rows that are not named are left out."""
    sizes: Ints
    closed: Bools

    @classmethod
    def by_label(cls, rows: Ints, labels: Ints, closed: Bools) -> "Layout":
        """Rows by their labels 0, 1, ..., keeping their order within a label."""
        total = closed.shape[1]
        return cls(rows[stable_order(labels, total)], np.bincount(labels, minlength=total), closed)


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
    with ThreadPoolExecutor(threads()) as several:
        work = _Work(advance, max(part.least for part in job.requirement.parts()), several)
        for part in work.parts(Frontier.whole(job.table, values=job.requirement.sensitive), own=True):
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

    def parts(self, frontier: Frontier, *, own: bool = False) -> Iterator[_Part]:
        """What becomes of a large frontier: of pieces that fit the cache by other threads, in the order of the pieces.

        `own`: its arrays are the table's own, which must stay as they are.
        """
        done, following = self._round(frontier, own=own)
        yield _Part(done, int(following is not None))
        pieces = [] if following is None else [*following.chunks(_CHUNK)]
        begun = [self.several.submit(self._all, piece) if len(piece.rows) <= 2 * _CHUNK else piece for piece in pieces]
        while begun:
            piece = begun.pop()
            if isinstance(piece, Frontier):
                yield from self.parts(piece)
            else:
                yield piece.result()

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

    def _round(self, frontier: Frontier, *, own: bool = False) -> tuple[list[_Done], Frontier | None]:
        """The groups that are done, and those that go on; None where all are done."""
        large = frontier.sizes >= 2 * self.least
        small = frontier.done(~large)
        if not large.any():
            return [small], None
        if not large.all():
            frontier, own = frontier.pick(large), False
        layout, done = self.advance(frontier)
        finished = frontier.done(done)
        return [small, finished], frontier.arrange(layout) if own else frontier.rearrange(layout)


def refuse_top_down(requirement: Requirement, whole: Counts) -> None:
    """Stop where the table as a whole does not meet the requirement."""
    if not requirement.holds(whole)[0]:
        raise RequirementError(
            f"This method splits top-down from the whole table, which does not meet {requirement} itself. "
            "Choose a method that builds groups of different values, such as anatomy."
        )


class Ranks:
    """All rows in the order of (group, code), without moving any: which code stands where, and how many stand below.

    Read off one histogram in which every group has its own stretch of bins from lo to hi; where that would be too
    long, off the sorted codes.
    """

    def __init__(self, frontier: Frontier, codes: NarrowCodes, lo: Codes, hi: Codes) -> None:
        """Order the rows of a frontier by their codes, which lie between lo and hi in each group."""
        widths = hi.astype(np.int64) - lo + 1
        self._dense = int(widths.sum()) <= 4 * len(codes) + 1024
        if self._dense:
            self._base = np.cumsum(widths) - widths - lo
            self._so_far = np.append(np.cumsum(self._histogram(frontier, codes, lo, widths)), 0)
        else:
            shift = int(hi.max()).bit_length()
            self._base = np.arange(len(lo), dtype=np.int64) << shift
            self._keys = np.sort(np.repeat(self._base, frontier.sizes) + codes)

    def _histogram(self, frontier: Frontier, codes: NarrowCodes, lo: Codes, widths: Ints) -> Ints:
        if frontier.few:
            parts = zip(frontier.slices(), lo.tolist(), widths.tolist(), strict=True)
            return np.concatenate([np.bincount(codes[part] - low, minlength=width) for part, low, width in parts])
        return np.bincount(np.repeat(self._base, frontier.sizes) + codes)

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
    if bound > 4 * len(keys) + 1024:
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
