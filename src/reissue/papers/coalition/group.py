"""One group under attack by its own providers: what remains when a coalition takes out records of its own.

A coalition may take out *any* of its records, so it can look at every x with `rest <= x <= whole`, value by value:
`rest` is what the others gave, `whole` the published group. The larger the coalition, the more it can look at: whether
it breaks a requirement is monotone in the coalition for **every** requirement, so pruning is always right. A coalition
that owns the whole group attacks nobody. Only the worst x differs, and each requirement knows its own
(`holds_between`):

- growing (k, l, k-e): x = rest.
- confidence, alpha-k, simple-l, personalized: the share of a value, or of a named set A, is largest with all records
  inside A and only the others' outside: one x per A (and x = rest for alpha-k's k).
- recursive (c,l): some x fails exactly if one fails that has all records of one value u and only the others' of all
  other values: taking out records of other values than the most frequent never makes the tail longer.
- m-unique: x = rest is smallest, x = whole has most duplicates.
- entropy-l: groups of entropy at least log l form a convex cone, so a worst x is a vertex: per value, all or none of
  the coalition's records. Of the vertices with s rows the worst maximizes sum x log x: a knapsack over the rows that
  the coalition leaves in, O(values x rows), exact however many values there are.
- t-closeness: groups within t form a convex cone too, for all three distances: vertices. All of them are tried, up to
  2^12. Beyond that, for equal distances, a knapsack for each number of rows, O(values x rows^2).
- anything else (c-k, a user's own): every x, up to 2^12 of them.

Where there are more, the coalition is held to break the requirement and `exact` turns false: what is not shown to be
private is never called private. Distances are to the distribution of the published table, which everybody sees.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Domain
from reissue.requirements import ColumnView, Requirement, Subsets

__all__ = ["Group", "Oracle"]


@dataclass(frozen=True, eq=False)
class Group:
    """The records of one group by provider and sensitive value; no provider and no value without records.

    A dense table, not a Histogram: the search takes whole rows of it out again and again.
    """

    counts: Ints
    """Providers x values."""
    values: Ints
    """The sensitive code of each column."""
    domain: Domain
    """Of the published table."""

    @cached_property
    def whole(self) -> Ints:
        """Records of each value."""
        return np.asarray(self.counts.sum(axis=0))

    @cached_property
    def sizes(self) -> Ints:
        """Records of each provider."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def providers(self) -> int:
        """How many providers it has."""
        return len(self.counts)

    def seen(self, view: ColumnView) -> "Group":
        """The same by the values of one sensitive column, as a part of a requirement judges them."""
        return Group(*view.columns(self.values, self.domain, self.counts))

    def rest(self, coalition: int) -> Ints:
        """What the others gave; a coalition is a number whose bits are its members."""
        others = [place for place in range(self.providers) if not coalition >> place & 1]
        return np.asarray(self.counts[others].sum(axis=0))

    def met(self, part: Requirement, remaining: Ints) -> Bools:
        """Which rows of a matrix (histograms over the group's values) meet a requirement; empty ones do."""
        return Subsets(self.whole, self.whole, self.values, self.domain).met(part.holds, remaining)


class Oracle:
    """Answers whether a coalition breaks a requirement in a group, and counts how often it was asked."""

    def __init__(self, group: Group, requirement: Requirement) -> None:
        """For a group and what it must meet."""
        self.group = group
        self.requirement = requirement
        self.checks = 0
        self.exact = True

    def breaks(self, coalition: int) -> bool:
        """Whether some of what the coalition can look at does not meet the requirement; cautiously yes if unsure."""
        self.checks += 1
        rest = self.group.rest(coalition)
        if not rest.any():
            return False
        subsets = Subsets(rest, self.group.whole, self.group.values, self.group.domain)
        for part in self.requirement.parts():
            met = part.holds_between(subsets)
            if met is None:
                self.exact = False
            if not met:
                return True
        return False
