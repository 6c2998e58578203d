"""Regions: a large table is split as strict Mondrian splits it, by counts alone, and each region is grouped by itself.

What Mondrian decides about a group (`mondrian._advance`) needs of its rows the smallest and largest code of each
attribute, and how often each code of the widest one goes with which sensitive value. Whoever holds the rows counts
these for all regions at once, in two passes over the rows a round; about as many rounds as halvings are needed. The
method then works on each region unchanged.

Rows of a region lie in the order of their codes, and equal ones in an order that was drawn (`data.draws`). So what is
made of a table does not depend on the order of its rows, nor on who holds them: an engine that splits the same table
finds the same regions (`publishing.by_regions`) and hands each to the method, which finds that it is one. The rows that
may be suppressed are a share of each region.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain
from reissue.counting.keys import pack, stable_order
from reissue.counting.segments import different
from reissue.data.table import Table
from reissue.engines.regions import Regions, RowsByRegion, Split, Spread
from reissue.errors import InputError
from reissue.methods.registry import Job, Option
from reissue.release.release import Draft
from reissue.requirements import Requirement
from reissue.taxonomy.forest import Forest
from reissue.taxonomy.tree import Taxonomy

__all__ = ["REGION", "find_regions", "in_order", "in_regions", "region_generator", "region_rows"]

REGION = Option(1_000_000, "Tables of more rows are split into regions of at most so many, each grouped by itself.")


def in_regions(
    job: Job, make: Callable[[Job], Draft], *, judged: Requirement | None = None, one: bool = False
) -> Draft:
    """What a method makes of every region, as one draft; notes that count something are those of all regions.

    `judged` is what regions must meet where it is not what is asked for; `one` keeps the table as one region.
    """
    table = job.table
    if table.people is not None:
        return make(job)
    judged = job.requirement if judged is None else judged
    order = _canonical(table, values=judged.sensitive)
    laid = _laid(table, order)
    regions = np.zeros(table.rows, np.int32)
    if not one and judged.holds(table.whole())[0]:
        most = region_rows(job.options)
        rows = _Rows.of(laid)
        regions = rows.regions(find_regions(rows, table.rows, table.taxonomies, table.domain, judged, most).splits)
    return _each_region(replace(job, table=laid), make, order, regions)


def in_order(job: Job, make: Callable[[Job], Draft]) -> Draft:
    """What a method makes of the rows in the order of their codes, equal ones as was drawn."""
    order = _canonical(job.table, values=False)
    return _each_region(replace(job, table=_laid(job.table, order)), make, order, np.zeros(len(order), np.int32))


def _each_region(job: Job, make: Callable[[Job], Draft], order: Ints, regions: Codes) -> Draft:
    """The drafts of regions, whose rows lie in an order, as one draft of the rows as they were."""
    table, drafts, after, first = job.table, [], 0, 0
    groups = np.full(table.rows, -1, np.int32)
    for region in different(regions).tolist():
        inside = np.flatnonzero(regions == region)
        # Shares are those of the whole table: a region's own would let a group be as uneven as its region.
        part = table if len(inside) == table.rows else replace(table.some(inside), domain=table.domain)
        report = _share(job.progress, after / table.rows, len(inside) / table.rows)
        draft = make(replace(job, table=part, rng=region_generator(job.rng, region), progress=report))
        groups[order[inside]] = np.where(draft.groups < 0, -1, draft.groups + first)
        drafts.append(draft)
        after, first = after + len(inside), max(first, int(groups.max()) + 1)
    return replace(drafts[0], groups=groups, sensitive=_changed(job, drafts, order, regions), notes=_notes(drafts))


def _changed(job: Job, drafts: Sequence[Draft], order: Ints, regions: Codes) -> Codes | None:
    """The published sensitive code of every row, where a region has others than the table."""
    if all(draft.sensitive is None for draft in drafts):
        return None
    values = np.empty(len(order), np.int32)
    values[order] = job.table.sensitive
    for region, draft in zip(np.unique(regions).tolist(), drafts, strict=True):
        if draft.sensitive is not None:
            values[order[regions == region]] = draft.sensitive
    return values


def _notes(drafts: Sequence[Draft]) -> dict[str, Any]:
    """What the first one tells, with numbers of something added up over all."""
    noted = dict(drafts[0].notes)
    for draft in drafts[1:]:
        noted |= {name: noted.get(name, 0) + said for name, said in draft.notes.items() if type(said) is int}
    return {**noted, "regions": len(drafts)}


def region_rows(options: Mapping[str, Any]) -> int:
    """How many rows a region may have, as an option says."""
    try:
        most = int(str(options.get("region", REGION.default)))
    except ValueError:
        most = 0
    if most < 1:
        raise InputError("The option 'region' must be a number of rows, 1 or more.")
    return most


def region_generator(rng: np.random.Generator, region: int) -> np.random.Generator:
    """Random numbers of a region: those of the table if it is one region, else from its seed and the region."""
    if region == 0:
        return rng
    seed: Any = rng.bit_generator.seed_seq
    return np.random.default_rng([*np.atleast_1d(np.array(seed.entropy, object)), region])


def _share(progress: Callable[[float], None], before: float, share: float) -> Callable[[float], None]:
    return lambda done: progress(before + share * done)


def _canonical(table: Table, *, values: bool) -> Ints:
    """The rows in the order of their codes; equal ones as was drawn, else in the order they have.

    Of equal codes values decide only where the requirement asks about them: else groups would tell of values.
    """
    more = ([table.sensitive], [table.domain.size]) if values else ([], [])
    keys, bound = pack([*table.codes, *more[0]], [*table.sizes, *more[1]])
    order = stable_order(keys, bound)
    if table.draw is None:
        return order
    laid = keys[order]
    alike = laid[1:] == laid[:-1]
    tied = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
    rows = order[tied]
    order[tied] = rows[np.lexsort((table.draw.of(rows), laid[tied]))]
    return order


def _laid(table: Table, order: Ints) -> Table:
    """The rows in an order; of the columns as they were given only the number of rows is left."""
    bare = replace(table, frame=pl.DataFrame({"row": np.zeros(table.rows, np.int8)}), draw=None)
    return replace(bare, codes=table.codes.take(order, axis=1), sensitive=table.sensitive.take(order))


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table in memory, counted by region; it is kept which rows a region has, in their order."""

    table: Table
    inside: dict[int, Ints]

    @classmethod
    def of(cls, table: Table) -> "_Rows":
        """All of them, as one region."""
        return cls(table, {0: np.arange(table.rows)})

    def follow(self, splits: Mapping[int, Split]) -> None:
        """Split what is not split yet; a region comes before its halves."""
        for region, split in splits.items():
            rows = self.inside.pop(region, None)
            if rows is not None:
                above = self.table.codes[split.place].take(rows) >= split.cut
                self.inside.update({split.below: rows[~above], split.above: rows[above]})

    def bounds(self, splits: Mapping[int, Split], regions: Sequence[int]) -> tuple[Codes, Codes]:
        """Attributes x regions: the smallest and the largest code."""
        self.follow(splits)
        lo, hi = np.empty((2, len(self.table.codes), len(regions)), np.int32)
        for at, region in enumerate(regions):
            for place, codes in enumerate(self.table.codes):
                mine = codes.take(self.inside[region])
                lo[place, at], hi[place, at] = mine.min(), mine.max()
        return lo, hi

    def spreads(self, splits: Mapping[int, Split], attribute: Mapping[int, int]) -> Mapping[int, Spread]:
        """Region to the spread on the attribute that it asks for."""
        self.follow(splits)
        return {region: self._spread(self.inside[region], place) for region, place in attribute.items()}

    def _spread(self, rows: Ints, place: int) -> Spread:
        table = self.table
        return Spread.of(
            table.codes[place].take(rows), table.sensitive.take(rows), table.sizes[place], table.domain.size
        )

    def regions(self, splits: Mapping[int, Split]) -> Codes:
        """Row to its region."""
        self.follow(splits)
        found = np.empty(self.table.rows, np.int32)
        for region, rows in self.inside.items():
            found[rows] = region
        return found


# --- where to split --------------------------------------------------------------------------------------------------


@dataclass
class _Driver:
    rows: RowsByRegion
    taxonomies: Sequence[Taxonomy]
    domain: Domain
    requirement: Requirement
    most: int
    splits: dict[int, Split] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    closed: dict[int, Bools] = field(default_factory=dict)
    """Region to the attributes on which it cannot be split."""

    def add(self, size: int) -> int:
        """A new region."""
        region = len(self.sizes) + len(self.splits)
        self.sizes[region] = size
        self.closed[region] = np.zeros(len(self.taxonomies), np.bool_)
        return region

    def round(self, large: Sequence[int]) -> list[int]:
        """Try every region on its widest open attribute; returns those that must go on."""
        lo, hi = self.rows.bounds(self.splits, large)
        width = np.stack([t.loss(*t.snap(lo[place], hi[place])) for place, t in enumerate(self.taxonomies)])
        width[np.stack([self.closed[region] for region in large], axis=1)] = 0
        widest = width.argmax(axis=0)
        # A region that no attribute can split is one group: the method finds that out again.
        going = [at for at in range(len(large)) if width[:, at].max() > 0]
        if not going:
            return []
        spreads = self.rows.spreads(self.splits, {large[at]: int(widest[at]) for at in going})
        return [
            region
            for at in going
            for region in self._tried(large[at], int(widest[at]), lo[widest[at], at], hi[widest[at], at], spreads)
        ]

    def _tried(self, region: int, place: int, lo: int, hi: int, spreads: Mapping[int, Spread]) -> list[int]:
        """Cut one region near its median; what of it is still too large."""
        spread, size = spreads[region], self.sizes[region]
        median = spread.code[np.searchsorted(np.cumsum(spread.count), size // 2, "right")]
        ends = (np.array([one], np.int32) for one in (median, lo, hi))
        cut = int(Forest.of([self.taxonomies[place]]).cut_near(np.zeros(1, np.int64), *ends)[0])
        upper = spread.code >= cut
        counts = Counts(upper.astype(np.int32), spread.value, self.domain, 2, spread.count)
        if not (self.requirement.holds(counts) & (counts.sizes > 0)).all():
            self.closed[region][place] = True
            return [region]
        del self.sizes[region]
        self.splits[region] = Split(place, cut, -1, -1)
        below, above = (self.add(int(half)) for half in counts.sizes)
        self.splits[region] = Split(place, cut, below, above)
        return [one for one in (below, above) if self.sizes[one] > self.most]


def find_regions(
    rows: RowsByRegion,
    size: int,
    taxonomies: Sequence[Taxonomy],
    domain: Domain,
    requirement: Requirement,
    most: int,
) -> Regions:
    """Split a table of so many rows until no region has more than `most`, or none that has can be split."""
    driver = _Driver(rows, taxonomies, domain, requirement, max([most, *(2 * p.least for p in requirement.parts())]))
    first = driver.add(size)
    large = [first] if driver.sizes[first] > driver.most else []
    while large:
        large = driver.round(large)
    return Regions(driver.splits, driver.sizes)
