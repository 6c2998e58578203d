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

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.errors import RequirementError
from reissue.requirements._base import BELOW, Loss, Requirement, number, over, register
from reissue.requirements._subsets import Subsets, singles
from reissue.requirements._values import plain
from reissue.taxonomy.tree import Taxonomy

__all__ = ["DISTANCES", "BetaLikeness", "DeltaDisclosure", "TCloseness"]

DISTANCES = ("equal", "ordered", "hierarchical")
_SLACK = 1e-12
"""Tolerance of sums of quotients: a distance of exactly t, or a share of exactly the bound, must pass."""
_VALUES = 14
"""Of this many values all sets are tried."""
_STEPS = 5 * 10**7
"""Maximum number of steps of a knapsack, about a second; larger ones are not searched."""
_CELLS = 1 << 22
"""Number of cells of a matrix that is processed at a time."""


@register
@dataclass(frozen=True)
class TCloseness(Requirement):
    """Require that the distribution of values in every group is within t of that in the whole table.

    Parameters
    ----------
    t
        The largest allowed distance.
    distance
        How distance between values is measured: "equal", "ordered" or "hierarchical".

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.TCloseness(0.2))
    't=0.2'
    """

    name: ClassVar[str] = "t"
    example: ClassVar[str] = "t=0.2 or t=0.2:ordered"
    relative: ClassVar[bool] = True
    t: float
    distance: str = "equal"

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.t)), float, 0, 1)
        if self.distance not in DISTANCES:
            raise RequirementError(f"The distance of 't' must be one of {', '.join(DISTANCES)}.")

    def holds(self, counts: Counts) -> Bools:
        """Groups whose distribution is at most t away from the table's."""
        return self.away(counts) <= self.t + _SLACK

    def fitness(self, counts: Counts) -> Floats:
        """What the distance leaves over what t leaves."""
        return (1 - self.away(counts)) / max(1 - self.t, 1e-6)

    @property
    def excess_limit(self) -> float:
        """Equal distances are this excess, and no other distance is larger."""
        return self.t

    def stricter(self, part: float) -> "TCloseness":
        """With a part of t."""
        return replace(self, t=part * self.t)

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """By the largest distance that the rows which remain at least allow."""
        return np.asarray(_at_most(whole, np.maximum(whole.sizes - loss.taken, 1), self.distance) <= self.t, np.bool_)

    def share_bounds(self, values: Ints, domain: Domain) -> tuple[Ints, Floats] | None:
        """Equal distances: the distance is the largest, over all sets of values, of share less that in the table."""
        if self.distance != "equal" or len(values) > _VALUES:
            return None
        sets = _power_set(len(values))
        return sets, np.asarray(sets @ domain.shares[values] + self.t, np.float64)

    def holds_between(self, subsets: Subsets) -> bool | None:
        """Groups within t form a convex cone: vertices are worst.

        Where they are many, for equal distances a knapsack for each number of rows, O(values x rows^2).
        """
        found = subsets.vertices(self.holds)
        own = int((subsets.whole - subsets.rest).sum())
        if found is None and self.distance == "equal" and len(subsets.rest) * own * own <= _STEPS:
            return bool((_farthest(subsets) <= self.t + _SLACK).all())
        return found

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


# --- what a coalition of providers leaves ----------------------------------------------------------------------------


@lru_cache(maxsize=4)
def _power_set(total: int) -> Ints:
    """All subsets but the empty one, a row each, as 0 and 1."""
    return np.asarray(np.arange(1, 1 << total)[:, np.newaxis] >> np.arange(total) & 1, np.int64)


def _farthest(subsets: Subsets) -> Floats:
    """The largest distance for each number of rows s: D = max over sets A of sum over A of (whole / s - Q)."""
    own = subsets.whole - subsets.rest
    rows = int(subsets.rest.sum()) + np.arange(int(own.sum()) + 1)
    best = np.full((len(rows), len(rows)), -np.inf)  # number of rows x rows left in so far
    best[:, 0] = 0.0
    shares = subsets.domain.shares[subsets.values]
    for number_, extra, share in zip(subsets.whole.tolist(), own.tolist(), shares, strict=True):
        gain = (number_ / rows - share)[:, np.newaxis]
        with_all = np.full_like(best, -np.inf)
        with_all[:, extra:] = best[:, : len(rows) - extra] + gain
        best = np.maximum(best, with_all)
    return np.asarray(np.diagonal(best), np.float64)


def _at_most(whole: Counts, rows: Ints, distance: str) -> Floats:
    """No less than the distance of whatever has at least this many rows of a group.

    What a fractional knapsack of this many records allows: the sum of (count / rows - Q) over values with the smallest
    Q / count first. For hierarchical distances on every level, for ordered ones on every split of the values in two.
    """
    taxonomy = whole.domain.taxonomy
    if distance == "equal" or taxonomy is None:
        return _apart(whole, rows)
    if distance == "ordered":
        return _along(whole, rows)
    found = np.zeros(whole.total)
    for level in taxonomy.levels[:-1]:
        totals = np.bincount(level.node, whole.domain.totals).astype(np.int64)
        nodes = Counts(whole.group, level.node[whole.value], Domain(totals), whole.total, whole.count)
        found += _apart(nodes, rows)
    return found / taxonomy.height


def _filled(whole: Counts, rows: Ints, first: Floats) -> Ints:
    """How many records each triple gets when a group's rows are filled, triples with the smallest `first` first."""
    order = np.lexsort((first, whole.group))
    count = whole.count[order]
    before = np.cumsum(count) - count
    starts = np.cumsum(whole.sizes) - whole.sizes
    filled = np.empty_like(count)
    filled[order] = np.clip(rows[whole.group] - (before - starts[whole.group]), 0, count)
    return filled


def _apart(whole: Counts, rows: Ints) -> Floats:
    """At least the equal distance to the table's distribution, whatever is looked at."""
    gain = whole.count / rows[whole.group] - whole.domain.shares[whole.value]
    filled = _filled(whole, rows, whole.domain.shares[whole.value] / whole.count)
    return whole.sum(np.maximum(gain, 0) * filled / whole.count)


def _along(whole: Counts, rows: Ints) -> Floats:
    """At least the ordered distance; infinite where there are too many values to look at all."""
    size = whole.domain.size
    if whole.total * size > _CELLS:
        return np.full(whole.total, np.inf)
    dense = np.zeros((whole.total, size))
    dense[whole.group, whole.value] = whole.count
    below, base = np.cumsum(dense, axis=1), np.cumsum(whole.domain.shares)
    most = np.minimum(below / rows[:, np.newaxis], 1) - base
    least = base - np.maximum(1 - (whole.sizes[:, np.newaxis] - below) / rows[:, np.newaxis], 0)
    return np.asarray(np.maximum(most, least).sum(axis=1) / max(size - 1, 1), np.float64)


_ENHANCED = "enhanced"


@register
@dataclass(frozen=True)
class BetaLikeness(Requirement):
    """Require that no value's share in a group exceeds its share in the table by more than beta times (beta-likeness).

    Parameters
    ----------
    beta
        The largest allowed relative gain.
    enhanced
        Whether rare values are bounded more strictly, by the logarithm of their share.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.BetaLikeness(2))
    'beta=2'
    """

    name: ClassVar[str] = "beta"
    example: ClassVar[str] = "beta=1 or beta=1:enhanced"
    relative: ClassVar[bool] = True
    beta: float
    enhanced: bool = False

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.beta)), float, 0)

    def stricter(self, part: float) -> "BetaLikeness":
        """With a part of beta."""
        return replace(self, beta=part * self.beta)

    def value_bounds(self, domain: Domain) -> Floats:
        """Value to the largest share that it may have of a group."""
        q = domain.shares
        gain = np.full(len(q), float(self.beta))
        if self.enhanced:
            gain = np.minimum(gain, -np.log(np.maximum(q, 1e-300)))
        return np.asarray(q * (1 + gain), np.float64)

    def holds(self, counts: Counts) -> Bools:
        """Groups in which no value has a larger share than its bound."""
        excess = counts.count / counts.sizes[counts.group] - self.value_bounds(counts.domain)[counts.value]
        return np.asarray(counts.sum((excess > _SLACK).astype(np.float64)) == 0, np.bool_)

    def fitness(self, counts: Counts) -> Floats:
        """The bound over the share, of the value that is nearest to its own."""
        least = np.full(counts.total, np.inf)
        share = counts.count / counts.sizes[counts.group]
        np.minimum.at(least, counts.group, self.value_bounds(counts.domain)[counts.value] / share)
        return over(1.0, 1 / np.maximum(least, 1e-12))

    def surely_kept(self, whole: Counts, loss: Loss) -> Bools:
        """No share is larger than its whole value's rows over those that remain at least."""
        remaining = np.maximum(whole.sizes - loss.taken, 1)
        excess = whole.count / remaining[whole.group] > self.value_bounds(whole.domain)[whole.value]
        return np.asarray(whole.sum(excess.astype(np.float64)) == 0, np.bool_)

    def worst_sets(self, values: Ints, domain: Domain) -> Bools:
        """The share of a value is largest with all its records and as few others as can be."""
        del domain
        return singles(len(values))

    def share_bounds(self, values: Ints, domain: Domain) -> tuple[Ints, Floats]:
        """Each value on its own."""
        return singles(len(values)).astype(np.int64), self.value_bounds(domain)[values]

    @classmethod
    def parse(cls, argument: str) -> "BetaLikeness":
        """From `1` or `1:enhanced`."""
        beta, _, kind = (piece.strip() for piece in argument.partition(":"))
        if kind not in {"", _ENHANCED}:
            raise RequirementError(f"After the colon of 'beta' only '{_ENHANCED}' can stand: {cls.example}.")
        return cls(number(cls, beta, float, 0), kind == _ENHANCED)

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"beta={plain(self.beta)}" + (f":{_ENHANCED}" if self.enhanced else "")


@register
@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """Require every value of the table in each group, at nearly the same share (delta-disclosure privacy).

    Parameters
    ----------
    delta
        The largest allowed absolute value of the logarithm of the two shares' ratio.

    Examples
    --------
    >>> import reissue as ri
    >>> str(ri.DeltaDisclosure(1.5))
    'delta-disclosure=1.5'
    """

    name: ClassVar[str] = "delta-disclosure"
    example: ClassVar[str] = "delta-disclosure=1.5"
    relative: ClassVar[bool] = True
    delta: float

    def __post_init__(self) -> None:
        number(type(self), repr(float(self.delta)), float, 1e-9)

    def holds(self, counts: Counts) -> Bools:
        """Groups with all values, each with a share of more than q / e^delta and less than q e^delta."""
        return _largest_log_ratio(counts) < self.delta

    def fitness(self, counts: Counts) -> Floats:
        """Delta over the largest ratio; where values are lacking, the share of those that are there."""
        far, needed = _largest_log_ratio(counts), max(int(np.count_nonzero(counts.domain.totals)), 1)
        lacking = np.minimum(counts.distinct / needed, BELOW)
        return np.where(np.isinf(far), lacking, over(self.delta, np.where(np.isinf(far), 1.0, far)))

    def holds_between(self, subsets: Subsets) -> bool | None:
        """Shares between bounds form a convex cone: vertices are worst."""
        return subsets.vertices(self.holds)

    @classmethod
    def parse(cls, argument: str) -> "DeltaDisclosure":
        """From `1.5`."""
        return cls(number(cls, argument, float, 1e-9))

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"delta-disclosure={plain(self.delta)}"


def _largest_log_ratio(counts: Counts) -> Floats:
    """Group to its largest |ln(p / q)|; infinite where it lacks a value of the table."""
    q = counts.domain.shares[counts.value]
    ratio = np.abs(np.log(counts.count) - np.log(counts.sizes[counts.group]) - np.log(q))
    most = np.zeros(counts.total)
    np.maximum.at(most, counts.group, ratio)
    return np.where(counts.distinct < np.count_nonzero(counts.domain.totals), np.inf, most)
