"""Local recoding, top-down, with a pool for the small ones: the default for single releases.

From one group that holds all rows, every group is tried on each attribute: it goes to the children of its node; where
any range may be published, a number is split at its median. Children that meet the requirement stand on their own; the
others are pooled, and a pool that fails borrows rows from the largest child until both hold. The attribute with the
greatest loss reduction is taken; children go on, and the pool goes on with that attribute left as it is. Every group is
published as its box. Rows to spare are those at the end of a box that all others of its group would be better off
without.

Where a value's share is limited and the value is frequent, whole regions fail and are not split any further. So there
small groups are made first that meet all but the limits of shares, and those that fail join near ones that have room
(`algorithms.joining`); whichever of the two loses less is taken.

A table of more than a million rows is split into regions first, as strict Mondrian splits, and each is worked on by
itself (`by_regions`): so it is the same release whether the table lies in memory or not.

All groups of a round are worked on at once, in flat arrays: O(rounds x attributes x rows). There are about as many
rounds as all taxonomies together have levels (for a number: binary digits).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.algorithms.extents import Extent, extent_of
from reissue.algorithms.joining import joined
from reissue.algorithms.leaving_out import edges, surplus, without_outliers
from reissue.algorithms.partition.across import split_across
from reissue.algorithms.partition.by_regions import REGION, in_regions
from reissue.algorithms.partition.frontier import Frontier, Layout, Ranks, compact, work_off
from reissue.algorithms.partition.local_search import EFFORT, improved
from reissue.algorithms.registry import ByRegions, Job, Suggestion, algorithm
from reissue.release.release import Draft
from reissue.requirements import All, KAnonymity, Requirement
from reissue.taxonomy.tree import Taxonomy

__all__ = ["pool"]

_LEAST_GAIN = 1e-9
_ROWS_A_LEAF = 2
"""Where groups have that many rows for each leaf between their bounds, it pays to count rows by leaf first."""

_BY_REGIONS = ByRegions()


@algorithm(
    "pool",
    "Local recoding that splits where it saves most and pools what is left over: the least loss.",
    options={"effort": EFFORT, "region": REGION},
    by_regions=_BY_REGIONS,
    suppresses=True,
    draws=lambda _: True,
    blind=True,
    joinable=True,
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
    attributes = [_Attribute.of(taxonomy) for taxonomy in job.table.taxonomies]

    def make(job: Job) -> Draft:
        return without_outliers(job, lambda some: _grouped(some, attributes), edges, lambda: surplus(job))

    one = bool(_BY_REGIONS.one(job.requirement, job.suppress))
    return split_across(job, in_regions(job, lambda some: improved(some, make), one=one))


def _grouped(job: Job, attributes: "list[_Attribute]") -> Draft:
    """Top-down, or small groups that join: whichever loses less."""
    split, easier = _top_down(job, attributes), _without_shares(job.requirement)
    if easier is None:
        return split
    small = _top_down(replace(job, requirement=easier, progress=lambda _: None), attributes)
    extent = _extent(job, small.groups)
    group = joined(extent, small.groups, job.table.sensitive, job.table.domain, job.requirement)[small.groups]
    other = replace(small, groups=np.unique(group, return_inverse=True)[1].astype(np.int32))
    return min(split, other, key=lambda draft: _extent(job, draft.groups).total)


def _top_down(job: Job, attributes: "list[_Attribute]") -> Draft:
    return work_off(job, lambda frontier: _advance(frontier, attributes, job.requirement))


def _extent(job: Job, groups: Codes) -> Extent:
    return extent_of(job.table.taxonomies, job.table.codes).merged(groups, int(groups.max()) + 1)


def _without_shares(requirement: Requirement) -> Requirement | None:
    """What it asks beside limits of every value's share; None where there are none, or joining could break it."""
    parts = requirement.parts()
    others = [part for part in parts if part.share_limit is None or part.named_values]
    if len(others) == len(parts) or not all(part.monotone for part in parts):
        return None
    return All((KAnonymity(_least(requirement)), *others))


@dataclass(frozen=True, eq=False)
class _Attribute:
    """A taxonomy with its levels stacked, so that a level can be chosen group by group."""

    taxonomy: Taxonomy
    node: Codes
    """Level x leaf, without the root's level."""
    losses: Floats
    """Level x node, without the root's level."""

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> "_Attribute":
        levels = taxonomy.levels[:-1]
        losses = np.zeros((len(levels), taxonomy.size))
        for row, level in zip(losses, levels, strict=True):
            row[: len(level.names)] = taxonomy.loss(level.first[:-1], level.first[1:] - np.int32(1))
        return cls(taxonomy, np.stack([level.node for level in levels]), losses)

    def loss(self, lo: Codes, hi: Codes) -> Floats:
        """The loss of publishing groups with these bounds."""
        return self.taxonomy.lost(lo, hi)

    def below(self, level: Codes, node: Codes) -> Floats:
        """The loss of nodes on given levels."""
        return self.losses[level, node]


@dataclass(frozen=True, eq=False)
class _Split:
    """One attribute tried on every group: the children that each group would fall into."""

    parent: Ints
    """Child to group; never decreases."""
    size: Ints
    """Child to rows."""
    saved: Floats
    """Child to the loss that each of its rows would save."""
    locate: Callable[[Ints | slice], Ints]
    """Of some rows, or all, to their children."""


def _split(frontier: Frontier, place: int, attribute: _Attribute) -> _Split:
    """The children of every group on one attribute; a group that is all alike there has a single child."""
    lo, hi = frontier.bounds(place)
    split = _split_numbers if attribute.taxonomy.runs else _split_categories
    return split(frontier, place, attribute, lo, hi)


def _split_categories(frontier: Frontier, place: int, attribute: _Attribute, lo: Codes, hi: Codes) -> _Split:
    """Each group into the children of its lowest common node."""
    codes = frontier.codes[place]
    level = attribute.taxonomy.lowest(lo, hi) - 1
    base = attribute.node[level, lo]
    width = int((attribute.node[level, hi] - base).max()) + 1
    leaves = hi.astype(np.int64) - lo + 1
    number, bins = None, None
    if int(leaves.sum()) * _ROWS_A_LEAF <= len(codes):
        # Rows are counted by leaf, and leaves looked up instead of rows.
        before = np.cumsum(leaves) - leaves - lo
        bins = np.repeat(before, frontier.sizes) + codes
        number = np.bincount(bins, minlength=int(leaves.sum()))
        codes = np.arange(len(number)) - np.repeat(before, leaves)
    runs = frontier.sizes if number is None else leaves
    node = attribute.node.reshape(-1).take(np.repeat(level * attribute.taxonomy.size, runs) + codes)
    keys = np.repeat(np.arange(len(lo)) * width - base, runs) + node
    distinct, size, locate = compact(keys, len(lo) * width, number)
    parent = distinct // width
    below = attribute.below(level[parent], base[parent] + distinct % width)
    saved = attribute.loss(lo, hi)[parent] - below
    return _Split(parent, size, saved, locate if bins is None else lambda some: locate(bins[some]))


def _split_numbers(frontier: Frontier, place: int, attribute: _Attribute, lo: Codes, hi: Codes) -> _Split:
    """Each group into the rows below its median and the others.

    A median at the smallest code would leave nothing below, so the cut moves to the next code. A group of missing and
    other values is cut between them.
    """
    codes, taxonomy = frontier.codes[place], attribute.taxonomy
    ranks = Ranks(frontier, codes, lo, hi)
    cut = ranks.at(frontier.starts + frontier.sizes // 2)
    parts = lo < hi
    next_code = ranks.at(np.where(parts, ranks.below(np.where(parts, lo + 1, lo)), frontier.starts))
    cut = np.where(cut == lo, next_code, cut)
    if taxonomy.missing:
        cut = np.where(parts & (hi == taxonomy.size - 1), hi, cut)
    border = ranks.below(cut)
    lower = border - frontier.starts
    before = ranks.at(np.where(parts, border - 1, frontier.starts))
    size = np.stack([lower, frontier.sizes - lower], axis=1).reshape(-1)
    whole = attribute.loss(lo, hi)
    saved = np.stack([whole - taxonomy.loss(lo, before), whole - taxonomy.loss(cut, hi)], axis=1).reshape(-1)
    parent = np.repeat(np.arange(len(lo)), 2)
    cuts = np.repeat(cut.astype(codes.dtype), frontier.sizes)
    return _Split(
        parent, size, saved, lambda some: 2 * frontier.of_row[some].astype(np.int64) + (codes[some] >= cuts[some])
    )


@dataclass(frozen=True, eq=False)
class _Plan:
    """A split judged: which children stand on their own, which one would lend to the pool, and what it would save."""

    split: _Split
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
        total, parent, size = len(frontier.sizes), split.parent, split.size
        stands = (size > 0) & requirement.holds(
            frontier.counts(split.locate(slice(None)), len(size)) if requirement.sensitive else frontier.of_sizes(size)
        )
        pooled = np.bincount(parent, np.where(stands, 0, size), total).astype(np.int64)
        gain: Floats = np.bincount(parent, np.where(stands, size * split.saved, 0.0), total).astype(np.float64)
        donor = _largest(parent, np.where(stands, size, 0), total)
        borrowed = np.where(pooled > 0, np.maximum(_least(requirement) - pooled, 0), 0)
        gain = gain - borrowed * split.saved[donor]
        gain[(donor < 0) | (np.bincount(parent, size > 0, total) < 2)] = -np.inf
        return cls(split, stands, pooled, donor, gain)

    def settle(self, asked: Bools, frontier: Frontier, requirement: Requirement) -> tuple[Bools, Ints, Ints]:
        """Which of the asked groups can be split so; and the rows of these that go to no pool, with their children."""
        rows = np.flatnonzero(np.repeat(asked, frontier.sizes))
        child = self.split.locate(rows)
        in_pool = ~self.stands[child]
        if requirement.sensitive:
            pool = rows[in_pool]
            counts = frontier.counts(frontier.of_row[pool], len(asked), pool)
        else:
            counts = frontier.of_sizes(self.pooled)
        settled = asked & (requirement.holds(counts) | (self.pooled == 0))
        failing = np.flatnonzero(asked & ~settled)
        if len(failing):
            lent, helped = self._borrow(failing, frontier, requirement)
            in_pool[np.searchsorted(rows, lent)] = True
            settled[helped] = True
        apart = np.repeat(settled[asked], frontier.sizes[asked]) & ~in_pool
        return settled, rows[apart], child[apart]

    def _borrow(self, groups: Ints, frontier: Frontier, requirement: Requirement) -> tuple[Ints, Ints]:
        """Rows that the donors of some groups lend so that pool and donor both hold, and the groups where that works.

        As few as could do at first, then twice as many each time, at last the whole donor if another child is left.
        """
        lent, helped = [], []
        least = _least(requirement)
        number = np.bincount(self.split.parent, self.stands, len(frontier.sizes))
        size = self.split.size[self.donor[groups]]
        take = np.maximum(least - self.pooled[groups], 1)
        while len(groups):
            take = np.where(size - take < least, size, take)
            members = _Members.of(self, groups, frontier)
            given = members.is_donor & (members.position < take[members.group])
            label = 2 * members.group + ~(given | members.is_small)
            involved = members.is_donor | members.is_small
            counts = frontier.counts(label[involved], 2 * len(groups), members.rows[involved])
            holds = requirement.holds(counts).reshape(-1, 2)
            works = holds[:, 0] & np.where(take < size, holds[:, 1], number[groups] > 1)
            lent.append(members.rows[given & works[members.group]])
            helped.append(groups[works])
            again = ~works & (take < size)
            groups, size, take = groups[again], size[again], 2 * take[again]
        return np.concatenate(lent), np.concatenate(helped)


@dataclass(frozen=True, eq=False)
class _Members:
    """The rows of some groups, with what borrowing needs to know of them."""

    rows: Ints
    """Positions in the frontier."""
    group: Ints
    """Row to its place in the list of groups."""
    is_small: Bools
    is_donor: Bools
    position: Ints
    """Row to its place within the donor."""

    @classmethod
    def of(cls, plan: _Plan, groups: Ints, frontier: Frontier) -> "_Members":
        sizes = frontier.sizes[groups]
        group = np.repeat(np.arange(len(groups)), sizes)
        rows = np.arange(len(group)) + np.repeat(frontier.starts[groups] - (np.cumsum(sizes) - sizes), sizes)
        child = plan.split.locate(rows)
        is_donor = child == plan.donor[groups][group]
        before = np.cumsum(is_donor)
        first = (np.cumsum(sizes) - sizes)[group]
        return cls(rows, group, ~plan.stands[child], is_donor, before - 1 - (before - is_donor)[first])


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


def _advance(frontier: Frontier, attributes: list[_Attribute], requirement: Requirement) -> tuple[Layout, Bools]:
    """Split every group on its best attribute; returns the groups that go on, and which groups are done."""
    splits = [_split(frontier, place, attribute) for place, attribute in enumerate(attributes)]
    total = len(frontier.sizes)
    plans = [_Plan.of(split, frontier, requirement) for split in splits]
    gains = np.stack([plan.gain for plan in plans])
    gains[frontier.closed] = -np.inf
    taken = np.full(total, -1)
    # New groups are labelled: a pool by its old group, a child by its number beyond those, attribute by attribute.
    labels = frontier.of_row.astype(np.int64)
    offsets = total + np.cumsum([0, *(len(split.size) for split in splits)])
    while True:
        asked = (taken < 0) & (gains.max(axis=0) > _LEAST_GAIN)
        if not asked.any():
            break
        best = gains.argmax(axis=0)
        for place in np.unique(best[asked]).tolist():
            here = asked & (best == place)
            settled, apart, child = plans[place].settle(here, frontier, requirement)
            gains[place, here & ~settled] = -np.inf
            taken[settled] = place
            labels[apart] = child + offsets[place]
    parents = np.concatenate([split.parent for split in splits])
    return _next(frontier, taken, labels, parents), taken < 0


def _next(frontier: Frontier, taken: Ints, labels: Ints, parents: Ints) -> Layout:
    """The groups that go on: children open where their parent was, pools closed on the attribute of the split."""
    split = taken >= 0
    inside = np.flatnonzero(np.repeat(split, frontier.sizes))
    total = len(taken)
    distinct, _, locate = compact(labels[inside], total + len(parents))
    is_pool = distinct < total
    parent = np.where(is_pool, distinct, parents[distinct - total])
    closed = frontier.closed[:, parent]
    pools = np.flatnonzero(is_pool)
    closed[taken[parent[pools]], pools] = True
    return Layout.by_label(inside, locate(slice(None)), closed)
