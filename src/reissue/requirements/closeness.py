"""t-closeness (Li, Li, Venkatasubramanian 2007): a group's distribution P lies within t of the table's Q.

The distance is the earth mover's, over one of three ground distances:
- equal: every two values are 1 apart. D = sum over values of max(0, P - Q).
- ordered: the i-th and j-th of m values are |i-j| / (m-1) apart, in the order of the leaf codes.
  D = sum over i of |P_i - Q_i| / (m-1), P_i and Q_i cumulative. Between two values of a group P_i stands still while
  Q_i grows, so each such run is summed in one step with Q's prefix sums: O(triples log m), however wide the domain.
- hierarchical: two values are (level of their lowest common node) / height apart. That is a tree metric with edges of
  length 1 / (2 height), so D is the mean over the levels below the root of the *equal* distance between their nodes.

Each is convex in P, so a union is no farther from Q than the farther of its parts: monotone, not growing.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats
from reissue.counting.cells import Counts, Domain
from reissue.errors import RequirementError
from reissue.requirements._base import Requirement, number, register
from reissue.requirements._values import plain
from reissue.taxonomy.tree import Taxonomy

__all__ = ["DISTANCES", "TCloseness"]

DISTANCES = ("equal", "ordered", "hierarchical")
_SLACK = 1e-12
"""Sums of quotients round: a distance of exactly t must pass."""


@register
@dataclass(frozen=True)
class TCloseness(Requirement):
    """t-closeness: every group's distribution of sensitive values lies within t of the whole table's."""

    name: ClassVar[str] = "t"
    example: ClassVar[str] = "t=0.2 or t=0.2:ordered"
    t: float
    distance: str = "equal"

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.t)), float, 0, 1)
        if self.distance not in DISTANCES:
            raise RequirementError(f"The distance of 't' must be one of {', '.join(DISTANCES)}.")

    def holds(self, counts: Counts) -> Bools:
        """Groups whose distribution is at most t away from the table's."""
        return self.away(counts) <= self.t + _SLACK

    def away(self, counts: Counts) -> Floats:
        """How far each group's distribution is from the table's."""
        return {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}[self.distance](counts)

    def fits(self, domain: Domain) -> None:
        """Refuse an ordered distance without an order, a hierarchical one without a tree."""
        taxonomy = domain.taxonomy
        if self.distance == "ordered" and (taxonomy is None or not (taxonomy.ordered or taxonomy.height > 1)):
            raise RequirementError(
                "The ordered distance of 't' needs one sensitive column of numbers or dates, or one whose taxonomy "
                "lists the values in order. Without an order use t=...; that takes all values as equally far apart."
            )
        if self.distance == "hierarchical" and (taxonomy is None or taxonomy.height < 2):
            raise RequirementError(
                "The hierarchical distance of 't' needs one sensitive column with a taxonomy of at least two levels. "
                "Give it one in the schema, or use t=...; that takes all values as equally far apart."
            )

    @classmethod
    def parse(cls, argument: str) -> "TCloseness":
        """From `0.2`, `0.2:ordered` or `0.2:hierarchical`."""
        bound, _, distance = argument.partition(":")
        return cls(number(cls, bound, float, 0, 1), distance.strip() or "equal")

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"t={plain(self.t)}" + ("" if self.distance == "equal" else f":{self.distance}")


def _equal(counts: Counts) -> Floats:
    excess = counts.count / counts.sizes[counts.group] - counts.domain.shares[counts.value]
    return counts.sum(np.maximum(excess, 0))


@lru_cache(maxsize=8)
def _cumulative(domain: Domain) -> tuple[Floats, Floats]:
    """Q_i for each value, and the sums of all Q_j below each value (one more at the end)."""
    below = np.cumsum(domain.totals) / max(int(domain.totals.sum()), 1)
    return below, np.append(0.0, np.cumsum(below))


def _ordered(counts: Counts) -> Floats:
    size = counts.domain.size
    below, area = _cumulative(counts.domain)
    group, value = counts.group, counts.value
    earlier = np.cumsum(counts.sizes) - counts.sizes
    share = (np.cumsum(counts.count) - earlier[group]) / counts.sizes[group]
    ends = np.append(group[1:] != group[:-1], np.ones(min(len(group), 1), np.bool_))
    after = np.where(ends, size, np.append(value[1:], value[:1]))
    # From `value` on Q_i is below the share until it crosses it, and above from there until the group's next value.
    cross = np.clip(np.searchsorted(below, share), value, after)
    run = share * (2 * cross - value - after) + area[value] + area[after] - 2 * area[cross]
    run += np.where(np.append(ends[-1:], ends[:-1]), area[value], 0.0)
    return counts.sum(run) / max(size - 1, 1)


@lru_cache(maxsize=8)
def _node_shares(domain: Domain, taxonomy: Taxonomy) -> tuple[Floats, ...]:
    """Each level's distribution in the whole table."""
    return tuple(np.bincount(level.node, domain.shares).astype(np.float64) for level in taxonomy.levels[:-1])


def _hierarchical(counts: Counts) -> Floats:
    taxonomy = counts.domain.taxonomy
    if taxonomy is None:
        return _equal(counts)
    distance = np.zeros(counts.total)
    group, value, count = counts.group, counts.value, counts.count
    for level, shares in zip(taxonomy.levels[:-1], _node_shares(counts.domain, taxonomy), strict=True):
        node = level.node[value]
        starts = np.flatnonzero(np.append(True, (node[1:] != node[:-1]) | (group[1:] != group[:-1]))[: len(node)])
        group, value = group[starts], value[starts]
        count = np.add.reduceat(count, starts) if len(starts) else count
        excess = count / counts.sizes[group] - shares[node[starts]]
        distance += np.bincount(group, np.maximum(excess, 0), counts.total)
    return distance / taxonomy.height
