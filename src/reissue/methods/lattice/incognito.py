"""Full-domain generalization, optimal for a chosen loss: after Incognito (LeFevre, DeWitt, Ramakrishnan 2005).

Every attribute is published on one level of its hierarchy; the combinations of levels form a lattice. Groups that fail
are suppressed, as long as at most the allowed rows are. The search judges lattice nodes from counts of distinct
combinations that roll up, never from rows, and stops when no node left can have a smaller loss:

1. *Projections*, as Incognito does: nodes with all but one, two or three attributes on their root. Their counts are
   tiny, and one that fails rules out every node below it.
2. *Paths*: from the node with the smallest lower bound up through nodes that are still open, bisected as in Flash
   (Kohlmayer et al. 2012). Where nothing can be ruled out (below), the path is that one node: best first.

Why these nodes may be skipped. Below v, groups are pieces of v's groups. Nothing suppressed: if all pieces met a
monotone requirement, their unions at v would; so if v fails, all below fail. With suppression: a piece that meets a
growing requirement lies in a group that meets it; so below v at least the rows fail that fail at v, and if these are
too many, all below fail. Neither is claimed for the other parts of a requirement: they only judge the node itself,
against the distribution of the rows that it keeps. Bounds on the loss: see `measures`.

Worst case O(nodes x distinct combinations), since the problem is NP-hard; on the Adult data with nine attributes less
than one node in twenty of 12,960 is judged, most of them from small counts. Needs about 20 bytes per lattice node.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.keys import pack, rank
from reissue.errors import InputError, RequirementError
from reissue.methods.entries import Entries
from reissue.methods.lattice.lattice import Ladder, Levels, Rolled, roll, whole
from reissue.methods.lattice.measures import MEASURES
from reissue.methods.registry import Job, Option, Trait, algorithm
from reissue.release.release import Draft
from reissue.requirements import All, KAnonymity, Requirement

__all__ = ["incognito"]

_LARGEST = 4_000_000
"""Lattice nodes beyond which the search is refused: their bounds alone would take 100 MB, and their number hours."""


@algorithm(
    "incognito",
    "One level per attribute for the whole table, the best of all combinations; for few attributes.",
    traits=Trait.SUPPRESSES | Trait.COUNTED_ROWS | Trait.BLIND,
    options={
        "loss": Option(
            "cells",
            "What to minimize: information loss per cell, the sum of squared group sizes, or the average group size.",
            tuple(MEASURES),
        )
    },
    several_rows="apart",
)
def incognito(job: Job) -> Draft:
    """Find the full-domain generalization with the least loss."""
    ladders = [Ladder.of(taxonomy) for taxonomy in job.table.taxonomies]
    _refuse_large(ladders)
    search = _Search(job, ladders)
    if search.binding is not None:
        search.try_projections()
    search.try_paths()
    if search.found is None:
        suppressed = f" with at most {job.spare:,} rows suppressed" if job.spare else ""
        raise RequirementError(
            f"No full-domain generalization of this table meets {job.requirement}{suppressed}. Let more rows be "
            f"suppressed, ask for less{job.otherwise}."
        )
    return _draft(job, ladders, search)


def _refuse_large(ladders: Sequence[Ladder]) -> None:
    nodes = math.prod(len(ladder) for ladder in ladders)
    if nodes > _LARGEST:
        raise InputError(
            f"The {len(ladders)} quasi-identifiers have {nodes:.2g} combinations of levels; 'incognito' searches up to "
            f"{_LARGEST:,}. Use the method 'pool', 'mondrian' or 'topdown', or fewer quasi-identifiers or levels."
        )


class _Search:
    """What is known about the lattice, as arrays with one axis per attribute."""

    def __init__(self, job: Job, ladders: Sequence[Ladder]) -> None:
        """Nothing judged yet."""
        self.job = job
        self.ladders = ladders
        self.base = whole(job.table, sensitive=job.requirement.sensitive)
        self.measure = MEASURES[job.options["loss"]](ladders, self.base)
        self.binding, self.binds_all = _binding(job)
        shape = tuple(len(ladder) for ladder in ladders)
        self.floor = self.measure.lowest.copy()
        """Lower bounds of the loss without suppression."""
        self.added = np.zeros(shape)
        """Lower bounds of what suppression adds; infinite for nodes that are settled."""
        self.failed = np.zeros(shape, np.bool_)
        self.passed = np.zeros(shape, np.bool_)
        """Where the binding part is known to fail, or to pass."""
        self.least = np.inf
        self.found: Levels | None = None
        self.judged = 0

    @property
    def bounds(self) -> Floats:
        """Lower bounds of the loss at all nodes."""
        return self.floor + self.added

    def judge(self, base: Rolled, levels: Levels) -> Rolled | None:
        """Settle one node from the counts at a finer one; its own counts where the binding part fails, else None."""
        self.judged += 1
        rolled = roll(base, self.ladders, levels)
        counts = rolled.entries.counts(rolled.groups, rolled.total)
        bad = np.zeros(rolled.total, np.bool_)
        if self.binding is not None:
            bad = ~self.binding.holds(counts)
            if not self._binds(rolled, counts.rows, bad):
                return rolled
        if not self.binds_all:
            bad = _failing(self.job.requirement, rolled.entries, rolled.groups, rolled.total, self.job.spare)
        self._settle(rolled, counts.rows, bad)
        return None

    def _binds(self, rolled: Rolled, sizes: Ints, bad: Bools) -> bool:
        """Whether the binding part passes, and what that means for finer and coarser nodes."""
        finer, coarser = _box(rolled.levels)
        if int(sizes[bad].sum()) > self.job.spare:
            self.failed[finer] = True
            self.added[finer] = np.inf
            return False
        self.passed[coarser] = True
        if bad.any():
            added = self.measure.added(rolled, sizes, bad)
            np.maximum(self.added[finer], added, out=self.added[finer])
        return True

    def _settle(self, rolled: Rolled, sizes: Ints, bad: Bools) -> None:
        """Take the node if it is the best so far, and use its floor for coarser ones."""
        if int(sizes[bad].sum()) <= self.job.spare:
            loss = self.measure.loss(rolled, sizes, bad)
            if loss < self.least:
                self.least, self.found = loss, rolled.levels
        floor = self.measure.floor(rolled, sizes)
        if floor > self.floor[rolled.levels]:
            _, coarser = _box(rolled.levels)
            np.maximum(self.floor[coarser], floor, out=self.floor[coarser])
        self.added[rolled.levels] = np.inf

    def try_projections(self) -> None:
        """Judge the nodes that leave at most three attributes below their root, finest first."""
        top = tuple(len(ladder) - 1 for ladder in self.ladders)
        generalizable = [place for place, root in enumerate(top) if root]
        for size in (1, 2, 3):
            for chosen in itertools.combinations(generalizable, size):
                small, nodes = None, _projection(top, chosen)
                for levels in nodes:
                    if self.failed[levels] or self.passed[levels]:
                        continue
                    small = small or roll(self.base, self.ladders, nodes[0])
                    self.judge(small, levels)

    def try_paths(self) -> None:
        """Judge nodes until no bound is below the best loss."""
        self._shrink()
        while True:
            bounds = self.bounds
            lowest = int(bounds.argmin())
            if not bounds.flat[lowest] < self.least:
                return
            if self.judged % 32 == 0:
                self.job.progress(float((bounds >= self.least).mean()))
            start = tuple(int(rung) for rung in np.unravel_index(lowest, bounds.shape))
            self._bisect(self._climb(start))

    def _shrink(self) -> None:
        """Roll the counts up to what all open nodes have in common."""
        still = np.nonzero(self.bounds < self.least)
        if len(still[0]):
            self.base = roll(self.base, self.ladders, tuple(int(rungs.min()) for rungs in still))

    def _climb(self, levels: Levels) -> list[Levels]:
        """A path of open nodes from this one up, by the smallest step in the floor."""
        path = [levels]
        while self.binding is not None:
            above = [
                _raised(path[-1], place)
                for place, ladder in enumerate(self.ladders)
                if path[-1][place] + 1 < len(ladder)
            ]
            above = [node for node in above if self.floor[node] + self.added[node] < self.least]
            if not above:
                break
            path.append(min(above, key=lambda node: float(self.floor[node])))
        return path

    def _bisect(self, path: Sequence[Levels]) -> None:
        """Find where on a path the binding part begins to pass; every node judged on the way helps."""
        base, low, high = self.base, 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            node = path[middle]
            if self.failed[node]:
                low = middle + 1
            elif self.floor[node] + self.added[node] >= self.least:
                high = middle - 1
            else:
                counts = self.judge(base, node)
                base = counts or base


def _binding(job: Job) -> tuple[Requirement | None, bool]:
    """What of the requirement rules out all finer nodes where it fails, and whether that is all of it.

    Of a part that rules out nothing, the number of rows (or people) that a group needs at least still does.
    """
    parts, several = job.requirement.parts(), job.table.people is not None
    # A person may be in several groups then, with some of their values in each: only the number of people is monotone.
    sound = [part.by_size if several else part.growing if job.spare else part.monotone for part in parts]
    binding = [part for part, binds in zip(parts, sound, strict=True) if binds]
    binds_all = len(binding) == len(parts)
    least = max(part.least_people if several else part.least for part in parts)
    if not binds_all and least > 1:
        binding.append(KAnonymity(least))
    return (All(tuple(binding)) if binding else None), binds_all


def _box(levels: Levels) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The nodes at or below a node, and those at or above it."""
    return tuple(slice(0, rung + 1) for rung in levels), tuple(slice(rung, None) for rung in levels)


def _raised(levels: Levels, place: int) -> Levels:
    return (*levels[:place], levels[place] + 1, *levels[place + 1 :])


def _projection(top: Levels, chosen: Sequence[int]) -> list[Levels]:
    """The nodes with only the chosen attributes below their root, from fine to coarse."""
    nodes, node = [], list(top)
    for rungs in sorted(itertools.product(*(range(top[place]) for place in chosen)), key=sum):
        for place, rung in zip(chosen, rungs, strict=True):
            node[place] = rung
        nodes.append(tuple(node))
    return nodes


def _failing(requirement: Requirement, entries: Entries, groups: Codes | Ints, total: int, spare: int) -> Bools:
    """The groups to suppress, or, if that would cost more than `spare` rows, more than `spare` rows' worth of them.

    What is published is judged against its own distribution of sensitive values, which moves when rows are suppressed:
    judging goes on until nothing more fails. A growing requirement looks at the group alone and is judged once.
    """
    counts = entries.counts(groups, total)
    sizes = counts.rows
    bad: Bools = (sizes > 0) & ~requirement.holds(counts)
    while bad.any() and not requirement.growing and sizes[bad].sum() <= spare:
        kept = ~bad[groups]
        left = entries.only(kept).counts(groups[kept], total)
        more = (sizes > 0) & ~bad & ~requirement.holds(left)
        if not more.any():
            break
        bad |= more
    return bad


def _draft(job: Job, ladders: Sequence[Ladder], search: _Search) -> Draft:
    """The rows grouped once, at the node that was found."""
    assert search.found is not None  # noqa: S101 - the caller made sure
    table = job.table
    levels = [ladder.levels[rung] for ladder, rung in zip(ladders, search.found, strict=True)]
    columns = [level.node[codes] for level, codes in zip(levels, table.codes, strict=True)]
    groups, total = rank(pack(columns, [len(level.names) for level in levels])[0])
    entries = Entries(table.sensitive, table.domain, table.times, table.people)
    bad = _failing(job.requirement, entries, groups, total, job.spare)
    numbers = [ladder.numbers[rung] for ladder, rung in zip(ladders, search.found, strict=True)]
    cuts = tuple(taxonomy.cut(number) for taxonomy, number in zip(table.taxonomies, numbers, strict=True))
    notes = {
        "levels": dict(zip(table.schema.quasi, numbers, strict=True)),
        "loss": search.least,
        "nodes": search.floor.size,
        "judged": search.judged,
    }
    number = np.where(bad, -1, np.cumsum(~bad) - 1).astype(np.int32)
    return Draft(number[groups], cuts, notes=notes)
