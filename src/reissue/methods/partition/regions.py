"""Regions: a table split as strict Mondrian splits it, by counts alone, until every part fits in memory.

What Mondrian decides about a group (`mondrian._advance`) needs of its rows the smallest and largest code of each
attribute, and how often each code of the widest one goes with which sensitive value. Whoever holds the rows counts
these for all regions at once; the rows stay where they are. Each region is then finished by the method itself,
unchanged: the groups are those that it would have made of the whole table. Two passes over the rows a round, and about
as many rounds as halvings are needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reissue._arrays import Bools
from reissue.counting.cells import Counts, Domain
from reissue.engines.regions import Regions, RowsByRegion, Split, Spread
from reissue.requirements import Requirement
from reissue.taxonomy.side_by_side import Forest
from reissue.taxonomy.tree import Taxonomy

__all__ = ["find_regions"]


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
