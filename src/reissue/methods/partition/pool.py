"""Local recoding, top-down, with a pool for the small ones: the default for single releases.

From one group that holds all rows, every group is tried on each attribute: it goes to the children of its node; where
any range may be published, a number is split at its median. Children that meet the requirement stand on their own; the
others are pooled, and a pool that fails borrows rows from the largest child until both hold. The attribute with the
greatest loss reduction is taken; children go on, and the pool goes on with that attribute left as it is. Every group is
published as its box. Rows that may be suppressed are those at the end of a box that all others of its group would be
better off without; where rare values bind (beta-likeness), the rows of the rarest values.

Where a value's share is limited and the value is frequent, whole regions fail and are not split any further. So there
small groups are made first that meet all but the limits of shares, and those that fail join near ones that have room
(`methods.joining`); whichever of the two loses less is taken. Unless `effort` is "fast", there is a second start:
groups peeled off the generalization lattice (`peeling`), which lose much less where groups are large, or groups by
quotas (`local_search.quotas`) where shares of values are compared with the whole table's. Local search goes on from
both where they lose about as much, and what ends best is taken.

A table of more than a million rows is split into regions first, as strict Mondrian splits, and each is worked on by
itself (`by_regions`): so it is the same release whether the table lies in memory or not.

All groups of a round are worked on at once, in flat arrays: O(rounds x attributes x rows). There are about as many
rounds as all taxonomies together have levels (for a number: binary digits). An attribute is tried on a group only if
it could save more there than those that were tried: mostly one or two are.
"""

from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.keys import stable_order
from reissue.counting.segments import different
from reissue.methods.extents import Extent, extent_of
from reissue.methods.joining import joined
from reissue.methods.local_search.search import EFFORT, improved, wanted_effort
from reissue.methods.partition.frontier import Frontier, Layout, LocatedRows, Ranks, work_off
from reissue.methods.partition.halves import split_across
from reissue.methods.partition.peeling import peeled
from reissue.methods.partition.regions import REGION, in_regions
from reissue.methods.registry import ByRegions, Job, Suggestion, Trait, algorithm
from reissue.methods.suppression import edges, surplus, without_outliers, without_rare_values
from reissue.release.release import Draft
from reissue.requirements import All, KAnonymity, Requirement
from reissue.taxonomy.forest import Forest

__all__ = ["pool"]

_LEAST_GAIN = 1e-9
_ABOVE = 1 + 1e-9

_BY_REGIONS = ByRegions(any_order=True)


@algorithm(
    "pool",
    "Local recoding that splits where it saves most and pools what is left over: the least loss.",
    traits=Trait.SUPPRESSES | Trait.BLIND | Trait.JOINABLE,
    options={"effort": replace(EFFORT, default="balanced"), "region": REGION},
    by_regions=_BY_REGIONS,
    draws=lambda _: True,
    several_rows="together",
    suggestion=Suggestion(
        suits=lambda answers: answers["removed"] or answers["changes"],
        rank=4,
        why="every release is grouped anew, and people whom the releases together give away are hidden among others",
        require="k=5",
        attacks=("joint",),
    ),
)
def pool(job: Job) -> Draft:
    """Group the rows of a table top-down; see the module's docstring."""
    taxonomies = Forest.of(job.table.taxonomies)

    def fast(some: Job) -> Draft:
        return _grouped(some, taxonomies)

    def make(job: Job) -> Draft:
        starts = (lambda some, _: fast(some), _peeled)
        finish = None if wanted_effort(job) is None else lambda some: improved(some, starts)
        if job.requirement.value_bounds(job.table.domain) is not None:
            return without_rare_values(job, finish or fast)
        return without_outliers(job, fast, edges, lambda: surplus(job), finish)

    one = bool(_BY_REGIONS.one(job.requirement, job.suppress))
    return split_across(job, in_regions(job, make, one=one))


def _grouped(job: Job, taxonomies: Forest) -> Draft:
    """Top-down, or small groups that join: whichever loses less."""
    drafts, easier = [_top_down(job, taxonomies)], _without_shares(job)
    if easier is not None:
        small = _top_down(replace(job, requirement=easier, progress=lambda _: None), taxonomies)
        extent = _extent(job, small.groups)
        group = joined(extent, small.groups, job.table.sensitive, job.table.domain, job.requirement)[small.groups]
        drafts.append(replace(small, groups=np.unique(group, return_inverse=True)[1].astype(np.int32)))
    return drafts[0] if len(drafts) == 1 else min(drafts, key=lambda draft: _extent(job, draft.groups).total)


def _peeled(job: Job, most: float) -> Draft | None:
    """Groups peeled off the lattice, as a draft."""
    groups = peeled(job, most)
    return None if groups is None else Draft(groups=groups)


def _top_down(job: Job, taxonomies: Forest) -> Draft:
    return work_off(job, lambda part: _Round(part, taxonomies, job.requirement).advance())


def _extent(job: Job, groups: Codes) -> Extent:
    return extent_of(job.table.taxonomies, job.table.codes).merged(groups, int(groups.max()) + 1)


def _without_shares(job: Job) -> Requirement | None:
    """What it asks beside limits of every value's share; None where there are none, or joining could break it."""
    parts, domain = job.requirement.parts(), job.table.domain
    others = [
        part for part in parts if part.value_bounds(domain) is None and (part.share_limit is None or part.named_values)
    ]
    if len(others) == len(parts) or not all(part.monotone for part in parts):
        return None
    return All((KAnonymity(_least(job.requirement)), *others))


@dataclass(frozen=True, eq=False)
class _Split:
    """Some groups of a frontier, each tried on one attribute: the children that it would fall into."""

    groups: Ints
    """The groups' numbers in the frontier."""
    place: Ints
    """Group to its attribute."""
    rows: LocatedRows
    most: Floats
    """Group to what each of its rows could save there, at most."""
    parent: Ints
    """Child to group; never decreases."""
    size: Ints
    """Child to rows."""
    saved: Floats
    """Child to the loss that each of its rows would save."""
    after: Floats
    """Child to what each of its rows could save there after that, at most."""


def _split_categories(frontier: Frontier, groups: Ints, place: Ints, trees: Forest) -> _Split:
    """Each group into the children of its lowest common node; one that is all alike there has a single child."""
    tried = frontier.chosen(place, groups)
    lo, hi = tried.lo, tried.hi
    level = trees.lowest(place, lo, hi)
    here, below = trees.level(place, level), trees.level(place, np.maximum(level - 1, 0))
    base = trees.node.take(below + lo)
    width = trees.node.take(below + hi) - base + 1
    start = np.cumsum(width) - width
    distinct, size, rows = tried.by_child(below, start - base, int(width.sum()), trees.node)
    parent = np.repeat(np.arange(len(lo)), width)[distinct]
    node = distinct + (below + base - start)[parent]
    top = here + trees.node.take(here + lo)
    saved = trees.node_loss[top][parent] - trees.node_loss[node]
    return _Split(groups, place, rows, trees.node_saves[top], parent, size, saved, trees.node_saves[node])


def _split_numbers(frontier: Frontier, groups: Ints, place: Ints, trees: Forest) -> _Split:
    """Each group into the rows below its median and the others.

    A median at the smallest code would leave nothing below, so the cut moves to the next code. A group of missing and
    other values is cut between them.
    """
    chosen = frontier.chosen(place, groups)
    lo, hi, ranks = chosen.lo, chosen.hi, Ranks(chosen)
    parts = lo < hi
    next_code = ranks.at(np.where(parts, ranks.below(np.where(parts, lo + 1, lo)), chosen.starts))
    median = ranks.at(chosen.starts + chosen.sizes // 2)
    cut = np.where(trees.mixed(place, lo, hi), hi, np.where(median == lo, next_code, median))
    border = ranks.below(cut)
    lower = border - chosen.starts
    before = ranks.at(np.where(parts, border - 1, chosen.starts))
    size = np.stack([lower, chosen.sizes - lower], axis=1).reshape(-1)
    whole = trees.lost(place, lo, hi)
    after = np.stack([trees.lost(place, lo, before), trees.lost(place, cut, hi)], axis=1).reshape(-1)
    parent = np.repeat(np.arange(len(lo)), 2)
    upper = chosen.codes >= np.repeat(cut.astype(chosen.codes.dtype), chosen.sizes)
    group = np.repeat(2 * np.arange(len(lo)), chosen.sizes)
    saved = whole[parent] - after
    rows = LocatedRows(chosen, lambda some: group[some] + upper[some])
    return _Split(groups, place, rows, whole, parent, size, saved, after)


@dataclass(frozen=True, eq=False)
class _Plan:
    """A split judged: which children stand on their own, which one would lend to the pool, and what it would save."""

    split: _Split
    frontier: Frontier
    requirement: Requirement
    stands: Bools
    """Child to whether it meets the requirement."""
    pooled: Ints
    """Group to the rows of its children that do not."""
    donor: Ints
    """Group to its largest child that stands; -1 where none does."""
    gain: Floats
    """Group to the loss saved; -inf where the split cannot be."""

    @classmethod
    def of(cls, split: _Split, frontier: Frontier, requirement: Requirement) -> "_Plan":
        total, parent, size = len(split.groups), split.parent, split.size
        stands = (size > 0) & requirement.holds(
            frontier.counts(split.rows.children(), len(size), split.rows.places())
            if requirement.sensitive
            else frontier.of_sizes(size)
        )
        pooled = np.bincount(parent, np.where(stands, 0, size), total).astype(np.int64)
        gain: Floats = np.bincount(parent, np.where(stands, size * split.saved, 0.0), total).astype(np.float64)
        donor = _largest(parent, np.where(stands, size, 0), total)
        borrowed = np.where(pooled > 0, np.maximum(_least(requirement) - pooled, 0), 0)
        gain = gain - borrowed * split.saved[donor]
        gain[(donor < 0) | (np.bincount(parent, size > 0, total) < 2)] = -np.inf
        return cls(split, frontier, requirement, stands, pooled, donor, gain)

    def settle(self, asked: Bools, labels: Ints, first: int) -> Bools:
        """Which of the asked groups can be split so; the rows of these are labelled.

        A row's label is its child's number beyond `first`, or its group if it goes to the pool.
        """
        split, groups = self.split, None if asked.all() else np.flatnonzero(asked)
        label = np.where(self.stands, first + np.arange(len(self.stands)), split.groups[split.parent])
        split.rows.put(label, labels, groups)
        if self.requirement.sensitive:
            pooled = np.where(self.stands, 0, 1 + split.parent).take(split.rows.children(groups))
            counts = self.frontier.counts(pooled, len(asked) + 1, split.rows.places(groups))
            counts = counts.only(np.arange(len(asked) + 1) > 0)
        else:
            counts = self.frontier.of_sizes(self.pooled)
        settled = np.asarray(asked & (self.requirement.holds(counts) | (self.pooled == 0)))
        failing = np.flatnonzero(asked & ~settled)
        if len(failing):
            lent, group, helped = self._borrow(failing)
            labels[lent] = split.groups[group]
            settled[helped] = True
        return settled

    def _borrow(self, groups: Ints) -> tuple[Ints, Ints, Ints]:
        """Rows that donors lend so that pool and donor both hold, the groups of these, and where that works.

        As few as could do at first, then twice as many each time, at last the whole donor if another child is left.
        """
        lent, lenders, helped = [], [], []
        least = _least(self.requirement)
        number = np.bincount(self.split.parent, self.stands, len(self.split.groups))
        size = self.split.size[self.donor[groups]]
        take = np.maximum(least - self.pooled[groups], 1)
        while len(groups):
            take = np.where(size - take < least, size, take)
            members = _Members.of(self, groups)
            given = members.is_donor & (members.position < take[members.group])
            label = 2 * members.group + ~(given | members.is_small)
            involved = members.is_donor | members.is_small
            counts = self.frontier.counts(label[involved], 2 * len(groups), members.rows[involved])
            holds = self.requirement.holds(counts).reshape(-1, 2)
            works = holds[:, 0] & np.where(take < size, holds[:, 1], number[groups] > 1)
            gone = np.flatnonzero(given & works[members.group])
            lent.append(members.rows[gone])
            lenders.append(groups[members.group[gone]])
            helped.append(groups[works])
            again = ~works & (take < size)
            groups, size, take = groups[again], size[again], 2 * take[again]
        return np.concatenate(lent), np.concatenate(lenders), np.concatenate(helped)


@dataclass(frozen=True, eq=False)
class _Members:
    """The rows of some groups, with what borrowing needs to know of them."""

    rows: Ints
    """Places in the frontier."""
    group: Ints
    """Row to its place in the list of groups."""
    is_small: Bools
    is_donor: Bools
    position: Ints
    """Row to its place within the donor."""

    @classmethod
    def of(cls, plan: _Plan, groups: Ints) -> "_Members":
        rows, sizes = plan.split.rows, plan.frontier.sizes[plan.split.groups[groups]]
        group, child = np.repeat(np.arange(len(groups)), sizes), rows.children(groups)
        is_donor = child == plan.donor[groups][group]
        before = np.cumsum(is_donor)
        first = (np.cumsum(sizes) - sizes)[group]
        position = before - 1 - (before - is_donor)[first]
        return cls(np.asarray(rows.places(groups)), group, ~plan.stands[child], is_donor, position)


def _largest(parent: Ints, size: Ints, total: int) -> Ints:
    """Group to its child of greatest size, -1 where all sizes are 0."""
    most = np.zeros(total, np.int64)
    np.maximum.at(most, parent, size)
    winners = np.flatnonzero((size > 0) & (size == most[parent]))
    largest = np.full(total, -1)
    largest[parent[winners][::-1]] = winners[::-1]
    return largest


def _least(requirement: Requirement) -> int:
    """How many rows a group must have at the very least."""
    return max(part.least for part in requirement.parts())


class _Round:
    """Every group is split on its best attribute.

    An attribute is tried on a group only where it could save most, as far as is known from larger groups before.
    """

    def __init__(self, frontier: Frontier, taxonomies: Forest, requirement: Requirement) -> None:
        self.frontier, self.trees, self.requirement = frontier, taxonomies, requirement
        self.most = np.minimum(frontier.most, taxonomies.saves[:, np.newaxis])
        # What may be saved at most, until it is known: a hair more, since sums of the same numbers differ by rounding.
        self.gains = self.most * frontier.sizes * _ABOVE
        self.tried = np.full(self.gains.shape, -1, np.int32)
        """Attributes x groups: the plan in which it was tried."""
        self.plans: list[_Plan] = []
        self.taken = np.full(len(frontier.sizes), -1)
        """Group to the attribute on which it is split."""
        # New groups are labelled: a pool by its old group, a child by its number beyond those, plan by plan.
        self.labels = np.empty(len(frontier.rows), np.int64)
        self.offsets = [len(frontier.sizes)]

    def advance(self) -> tuple[Layout, Bools]:
        """The groups that go on, and which groups are done."""
        left = np.arange(len(self.taken))
        while True:
            gains = self.gains[:, left]
            best = gains.argmax(axis=0)
            open_ = gains[best, np.arange(len(left))] > _LEAST_GAIN
            left, best = left[open_], best[open_]
            if not len(left):
                return self._next(), self.taken < 0
            plan = self.tried[best, left]
            for number in different(plan + 1).tolist():
                here = plan + 1 == number
                if number:
                    self._settle(number - 1, left[here])
                else:
                    self._try(left[here], best[here])
            left = left[self.taken[left] < 0]

    def _try(self, groups: Ints, place: Ints) -> None:
        """Try some groups on one attribute each."""
        numbers = self.trees.runs[place]
        for kind, split in ((~numbers, _split_categories), (numbers, _split_numbers)):
            if kind.any():
                some, at = groups[kind], place[kind]
                children = split(self.frontier, some, at, self.trees)
                plan = _Plan.of(children, self.frontier, self.requirement)
                self.gains[at, some], self.most[at, some] = plan.gain, plan.split.most
                self.tried[at, some] = len(self.plans)
                self.plans.append(plan)
                self.offsets.append(self.offsets[-1] + len(plan.split.size))

    def _settle(self, number: int, groups: Ints) -> None:
        """Split some groups as a plan says, where that can be."""
        plan, asked = self.plans[number], np.zeros(len(self.taken), np.bool_)
        asked[groups] = True
        settled = plan.settle(asked[plan.split.groups], self.labels, self.offsets[number])
        failed = asked[plan.split.groups] & ~settled
        self.gains[plan.split.place[failed], plan.split.groups[failed]] = -np.inf
        self.taken[plan.split.groups[settled]] = plan.split.place[settled]

    def _next(self) -> Layout:
        """Pools, which leave the attribute of the split as it is, then children by attribute and by old group."""
        split, total = self.taken >= 0, len(self.taken)
        if not split.any():
            return Layout(np.zeros(0, np.int64), np.zeros(0, np.int64), self.most[:, split])
        labels = self.labels if split.all() else self.labels[np.repeat(split, self.frontier.sizes)]
        sizes = np.bincount(labels, minlength=self.offsets[-1])
        pools, child = np.flatnonzero(sizes[:total]), np.flatnonzero(sizes[total:])
        parent = np.concatenate([plan.split.groups[plan.split.parent] for plan in self.plans])[child]
        after = np.concatenate([plan.split.after for plan in self.plans])[child]
        order = np.lexsort((parent, self.taken[parent]))
        child, parent, after = child[order], parent[order], after[order]
        most = self.most[:, np.append(pools, parent)]
        most[self.taken[pools], np.arange(len(pools))] = 0
        most[self.taken[parent], np.arange(len(pools), most.shape[1])] = after
        used = np.append(pools, total + child)
        return Layout(self._order(split, used, sizes), sizes[used], most)

    def _order(self, split: Bools, used: Ints, sizes: Ints) -> Ints:
        """Rows of the groups that are split, by the place of their label among those that are used."""
        number = np.empty(len(sizes), np.min_scalar_type(len(used)))
        number[used] = np.arange(len(used))
        if split.all():
            return stable_order(number.take(self.labels), len(used))
        inside = np.flatnonzero(np.repeat(split, self.frontier.sizes))
        return inside.take(stable_order(number.take(self.labels.take(inside)), len(used)))
