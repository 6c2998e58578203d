"""What published groups measure up to: one value per group, and a judge for every requirement.

The twin of `requirements`: the same definitions by other arithmetic, so that a mistake in one shows in the other.
Distances sum both sides of |P - Q| (equal), compare quantiles (ordered), or move mass up node by node as Li et al. do
(hierarchical). A user's own requirement is judged by its own `holds`, on counts of the published columns, unless a
judge is registered for it with `judge.register`.

**Worst-case disclosure** by k implications (Martin et al. 2007) is a dynamic program over all groups of the table; see
`requirements.safety` for the mathematics. Nothing is bounded here: facts may be spread over all groups.
- f_g(m), the least probability that none of m facts about group g holds: person after person, each denied at most as
  many values as the one before. O(k^3) vector operations over the distinct shapes of groups (sizes and top counts).
- T_g(j), the least product over the *other* groups for j facts spread among them. For each m only the k + 1 groups with
  the least f(m) can matter (at most k are taken or left out), so k (k+1) groups enter, joined from both sides.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats
from reissue.counting.cells import Counts
from reissue.counting.people import SharedCounts
from reissue.errors import RequirementError
from reissue.requirements import (
    KE,
    KM,
    AlphaK,
    BetaLikeness,
    ByColumn,
    CKSafety,
    ColumnView,
    Confidence,
    DeltaDisclosure,
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    MUnique,
    Personalized,
    RecursiveLDiversity,
    Requirement,
    SimpleLDiversity,
    TCloseness,
)
from reissue.requirements._values import Sets, masks
from reissue.taxonomy.tree import Level
from reissue.verify.groups import CheckedGroups, number_column
from reissue.verify.risk.models import some_columns

__all__ = [
    "distance",
    "effective",
    "gain",
    "judge",
    "judge_columns",
    "lacking",
    "largest_share",
    "log_ratio",
    "spread",
    "tail_ratio",
    "too_frequent",
    "worst_odds",
]

_SLACK = 1e-11
"""Larger than the requirements' own tolerance, so that rounding never makes the two answers differ."""
_ROUNDED = 2.0**-49
"""The same for the range of numbers, relative to the largest of them."""


def effective(groups: CheckedGroups) -> pl.Series:
    """The number of equally frequent values that would have the group's entropy."""
    share = groups.share
    return (-groups.sum(share * share.log())).exp()


def tail_ratio(groups: CheckedGroups, rank: int) -> pl.Series:
    """The count of the most frequent value over those of the values from a rank on; infinite if there are none."""
    return groups.largest / (groups.size.cast(pl.Int64) - groups.top(rank - 1))


def largest_share(groups: CheckedGroups, values: Sets = ()) -> pl.Series:
    """The largest share of a value in each group; only of named values or sets, if there are any."""
    if not values:
        return groups.largest / groups.size
    shares = [_share(groups, mask) for mask in masks(groups.domain, values)]
    return pl.DataFrame({str(number): share for number, share in enumerate(shares)}).max_horizontal()


def _share(groups: CheckedGroups, mask: Bools) -> pl.Series:
    rows = pl.Series(mask).gather(groups.runs["value"]) * groups.runs["count"].cast(pl.Int64)
    return groups.sum(rows) / groups.size


def spread(groups: CheckedGroups) -> tuple[pl.Series, pl.Series, pl.Series]:
    """The number of different numbers in each group, their range, and their largest absolute value."""
    domain = groups.domain
    places = pl.Series(domain.positions)
    if domain.taxonomy is not None and domain.taxonomy.missing:
        places = places.head(domain.size - 1).extend_constant(None, 1)
    runs = pl.DataFrame({"group": groups.runs["group"], "place": places.gather(groups.runs["value"])})
    place = pl.col("place")
    found = runs.group_by("group", maintain_order=True).agg(
        place.count().alias("numbers"),
        (place.max() - place.min()).fill_null(0.0).clip(upper_bound=sys.float_info.max).alias("range"),
        place.abs().max().fill_null(0.0).alias("farthest"),
    )
    return found["numbers"], found["range"], found["farthest"]


def distance(groups: CheckedGroups, kind: str) -> pl.Series:
    """The earth mover's distance between a group's distribution and the whole table's."""
    return {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}[kind](groups)


def _equal(groups: CheckedGroups) -> pl.Series:
    """Half of sum |P - Q|; values that a group lacks add their Q."""
    whole = pl.Series(groups.domain.shares).gather(groups.runs["value"])
    return (groups.sum((groups.share - whole).abs() - whole) + 1) / 2


def _ordered(groups: CheckedGroups) -> pl.Series:
    """The integral over u of |P's u-quantile - Q's u-quantile|, in steps of 1 / (m-1) from value to value.

    A run fills the levels from `low` to `high` of its group. Q's quantiles are at most the run's value up to the level
    that Q reaches with it, and larger above; their integral is piecewise linear.
    """
    shares = groups.domain.shares
    size = len(shares)
    levels = np.append(0.0, np.cumsum(shares))
    areas = np.append(0.0, np.cumsum(shares * np.arange(size)))
    value, count = groups.runs["value"].to_numpy(), groups.runs["count"].cast(pl.Int64)
    earlier = (groups.size.cast(pl.Int64).cum_sum() - groups.size).gather(groups.runs["group"])
    reached = count.cum_sum() - earlier
    size_of = groups.size.gather(groups.runs["group"])
    low, high = ((reached - count) / size_of).to_numpy(), (reached / size_of).to_numpy()
    area_high = np.interp(high, levels, areas)
    area_low = np.where(low > 0, np.roll(area_high, 1), 0.0)
    turn, area_turn = levels[value + 1], areas[value + 1]
    area_turn = np.where(turn <= low, area_low, np.where(turn >= high, area_high, area_turn))
    turn = np.clip(turn, low, high)
    moved = value * (2 * turn - low - high) + area_low + area_high - 2 * area_turn
    return groups.sum(pl.Series(moved)) / max(size - 1, 1)


def _hierarchical(groups: CheckedGroups) -> pl.Series:
    """Li et al.: the cost at a node is its height times the excess and deficit of its children that can be matched."""
    taxonomy = groups.domain.taxonomy
    if taxonomy is None:
        return _equal(groups)
    whole = pl.Series(groups.domain.shares).gather(groups.runs["value"])
    below = pl.DataFrame(
        {
            "group": groups.runs["group"],
            "leaf": groups.runs["value"],
            "share": groups.share,
            "much": (groups.share - whole).clip(0),
        }
    )
    cost = pl.repeat(0.0, groups.total, eager=True)
    for height, level in enumerate(taxonomy.levels[1:], start=1):
        above = _parents(below, level)
        extra = above["share"] - pl.Series(np.bincount(level.node, groups.domain.shares)).gather(above["node"])
        # Children without any of the group's rows only have a deficit, which equals the excess minus the node's own.
        lack = above["much"] - extra
        matched = above.select("group", pl.min_horizontal("much", lack).alias("cost"))
        cost += matched.group_by("group", maintain_order=True).agg(pl.col("cost").sum())["cost"] * height
        below = above.with_columns(extra.clip(0).alias("much"))
    return cost / taxonomy.height


def _parents(below: pl.DataFrame, level: Level) -> pl.DataFrame:
    """The nodes of a level from those below, by group: their share, and the excess of their children."""
    node = pl.Series(level.node).gather(below["leaf"])
    key = (below["group"].cast(pl.Int64) * len(level.names) + node).set_sorted()
    sums = below.with_columns(key.alias("key"), node.alias("node")).group_by("key", maintain_order=True)
    first = pl.col("group", "leaf", "node").first()
    return sums.agg(first, pl.col("share", "much").sum()).with_columns(pl.col("group").set_sorted())


def gain(groups: CheckedGroups) -> pl.Series:
    """The largest relative excess of a value's share in each group over that in the table."""
    return _highest(groups, groups.share / _in_table(groups) - 1)


def too_frequent(groups: CheckedGroups) -> pl.Series:
    """Which groups have a value whose gain exceeds -ln of its share in the table, which no enhanced beta allows."""
    whole = _in_table(groups)
    return _highest(groups, groups.share / whole - 1 + whole.log()) > _SLACK


def _in_table(groups: CheckedGroups) -> pl.Series:
    """The share in the whole table of each run's value."""
    return pl.Series(groups.domain.shares).gather(groups.runs["value"])


def log_ratio(groups: CheckedGroups) -> pl.Series:
    """The largest |ln(share in the group / share in the table)| of the values in each group."""
    return _highest(groups, (groups.share / _in_table(groups)).log().abs())


def lacking(groups: CheckedGroups) -> pl.Series:
    """Which groups lack a value that the table has."""
    return groups.distinct < int(np.count_nonzero(groups.domain.totals))


def _highest(groups: CheckedGroups, each: pl.Series) -> pl.Series:
    runs = pl.DataFrame({"group": groups.runs["group"], "each": each})
    return runs.group_by("group", maintain_order=True).agg(pl.col("each").max())["each"]


@singledispatch
def judge(requirement: Requirement, groups: CheckedGroups) -> pl.Series:
    """Decide which published groups meet a requirement."""
    runs = [groups.runs[name].cast(pl.Int64).to_numpy() for name in ("group", "value", "count")]
    if groups.members is not None:
        sizes = groups.size.cast(pl.Int64).to_numpy()
        return pl.Series(requirement.holds(SharedCounts(runs[0], runs[1], runs[2], sizes, groups.domain)))
    counts = Counts(runs[0], runs[1], groups.domain, groups.total, runs[2])
    return pl.Series(requirement.holds(counts))


def judge_columns(requirement: Requirement, columns: Sequence[CheckedGroups]) -> list[tuple[CheckedGroups, pl.Series]]:
    """Decide which published groups meet a requirement, in each sensitive column that it applies to.

    Records whose value needs no protection count as values of their own, where any value is bounded.
    """
    asked, problems = [], []
    for groups in columns:
        try:
            requirement.fits(groups.domain)
        except RequirementError as problem:
            problems.append(problem)
        else:
            seen = groups.spared if requirement.any_value else groups
            asked.append((groups, judge(requirement, seen)))
    if not asked:
        raise problems[0]
    return asked if requirement.sensitive else asked[-1:]


@judge.register
def _by_column(requirement: ByColumn, groups: CheckedGroups) -> pl.Series:
    met = pl.repeat(True, groups.total, eager=True)
    for view in requirement.views:
        met &= judge(view.asked, _in_column(groups, view))
    return met


def _in_column(groups: CheckedGroups, view: ColumnView) -> CheckedGroups:
    """The same groups by the values of one column."""
    margin, harmless = view.margin, pl.Series(view.margin.harmless)
    if margin.label is not None:
        value = pl.Series(margin.label).cast(pl.Int64).gather(groups.runs["value"])
        by_value = groups.runs.with_columns(value.alias("value")).group_by("group", "value")
        runs = by_value.agg(pl.col("count").sum()).sort("group", "value")
        groups = replace(groups, runs=runs, domain=margin.domain(groups.domain))
    groups = replace(groups, harmless=harmless)
    return groups.spared if view.apart else groups


@judge.register
def _k(requirement: KAnonymity, groups: CheckedGroups) -> pl.Series:
    return groups.size >= requirement.k


@judge.register
def _k_m(requirement: KM, groups: CheckedGroups) -> pl.Series:
    if groups.rows is None:
        return groups.size >= requirement.k
    frame, group = groups.rows
    columns = [(codes.to_numpy(), size) for codes, size in map(number_column, frame)]
    _, least = some_columns(columns, frame.columns, requirement.m, groups.times)
    fine = pl.DataFrame({"group": group, "fine": least >= requirement.k})
    return fine.group_by("group").agg(pl.col("fine").all()).sort("group")["fine"]


@judge.register
def _l(requirement: LDiversity, groups: CheckedGroups) -> pl.Series:
    # By people, a value that everybody has is known whatever else they have; with one value each this adds nothing.
    return (groups.distinct >= requirement.l) & ((groups.largest < groups.size) | (requirement.l == 1))


@judge.register
def _entropy_l(requirement: EntropyLDiversity, groups: CheckedGroups) -> pl.Series:
    return effective(groups) >= requirement.l * (1 - _SLACK)


@judge.register
def _recursive(requirement: RecursiveLDiversity, groups: CheckedGroups) -> pl.Series:
    return tail_ratio(groups, requirement.l) < requirement.c


@judge.register
def _simple_l(requirement: SimpleLDiversity, groups: CheckedGroups) -> pl.Series:
    return largest_share(groups, requirement.values) <= 1 / requirement.l


@judge.register
def _confidence(requirement: Confidence, groups: CheckedGroups) -> pl.Series:
    return largest_share(groups, requirement.values) <= requirement.bound


@judge.register
def _alpha_k(requirement: AlphaK, groups: CheckedGroups) -> pl.Series:
    return (largest_share(groups, requirement.values) <= requirement.alpha) & (groups.size >= requirement.k)


@judge.register
def _t(requirement: TCloseness, groups: CheckedGroups) -> pl.Series:
    return distance(groups, requirement.distance) <= requirement.t + _SLACK


@judge.register
def _beta(requirement: BetaLikeness, groups: CheckedGroups) -> pl.Series:
    met = gain(groups) <= requirement.beta + _SLACK / float(groups.domain.shares[groups.domain.totals > 0].min())
    return met & ~too_frequent(groups) if requirement.enhanced else met


@judge.register
def _delta(requirement: DeltaDisclosure, groups: CheckedGroups) -> pl.Series:
    return (log_ratio(groups) < requirement.delta + _SLACK) & ~lacking(groups)


@judge.register
def _k_e(requirement: KE, groups: CheckedGroups) -> pl.Series:
    distinct, reach, farthest = spread(groups)
    far = (reach >= requirement.e - _ROUNDED * farthest) & ((reach > 0) | (requirement.e == 0))
    return (distinct >= requirement.k) & far


@judge.register
def _c_k(requirement: CKSafety, groups: CheckedGroups) -> pl.Series:
    return pl.Series(worst_odds(groups, requirement.k) > (1 - requirement.c) / requirement.c * (1 + _SLACK))


@judge.register
def _personalized(requirement: Personalized, groups: CheckedGroups) -> pl.Series:
    if not requirement.guards:
        return largest_share(groups) <= requirement.bound
    met = pl.repeat(True, groups.total, eager=True)
    for who, node in requirement.guards:
        guarding, guarded = masks(groups.domain, ((who,), (node,)))
        met &= (_share(groups, guarding) == 0) | (_share(groups, guarded) <= requirement.bound)
    return met


@judge.register
def _m_unique(requirement: MUnique, groups: CheckedGroups) -> pl.Series:
    return (groups.size >= requirement.m) & (groups.largest == 1)


_CHUNK = 1 << 16
"""Number of shapes of groups that are processed at a time."""


def worst_odds(groups: CheckedGroups, k: int) -> Floats:
    """The least odds against the likeliest value of each group's people, over everything that k implications can say.

    The disclosure is 1 / (1 + odds).
    """
    least = _least(groups, k + 1)
    share = (groups.largest / groups.size).to_numpy()
    common, without = _others(least, k)
    odds = np.full(groups.total, np.inf)
    for facts in range(1, k + 2):
        factor = np.full(groups.total, common[k + 1 - facts])
        for group, table in without.items():
            factor[group] = table[k + 1 - facts]
        np.minimum(odds, least[facts] * factor / share, out=odds)
    return odds


def _least(groups: CheckedGroups, facts: int) -> Floats:
    """f_g(0), f_g(1), ..., f_g(facts): facts x groups."""
    tops = [groups.top(rank).alias(str(rank)) for rank in range(1, facts + 1)]
    shapes = pl.DataFrame([groups.size.cast(pl.Int64).alias("size"), *tops])
    if facts <= 3:  # the few operations are cheaper than finding equal shapes
        return _least_of(shapes.to_numpy().astype(np.float64).T, facts)
    distinct = shapes.unique(maintain_order=True)
    number = distinct.with_row_index("shape")
    of_group = shapes.join(number, on=shapes.columns, how="left", maintain_order="left")["shape"].to_numpy()
    columns = distinct.to_numpy().astype(np.float64).T
    parts = [_least_of(columns[:, start : start + _CHUNK], facts) for start in range(0, distinct.height, _CHUNK)]
    return np.concatenate(parts, axis=1)[:, of_group]


def _least_of(shapes: Floats, facts: int) -> Floats:
    """The same for shapes, each a size and the cumulative counts of the most frequent values."""
    size, tops = shapes[0], shapes[1:]
    ones = np.ones(len(size))
    # later[m][j]: the least probability of m facts about the remaining people, with at most j about each of them.
    later = [[ones] * (facts + 1) for _ in range(facts + 1)]
    for person in reversed(range(facts)):
        people = np.maximum(size - person, 1)
        spared = [np.maximum(people - top, 0) / people for top in tops]
        now = [[ones] * (facts + 1) for _ in range(facts + 1)]
        for left in range(1, facts - person + 1):
            best = np.full(len(size), np.inf)
            for most in range(1, facts + 1):
                if most <= left:
                    best = np.minimum(best, spared[most - 1] * later[left - most][most])
                now[left][most] = best
        later = now
    return np.stack([later[number][max(number, 1)] for number in range(facts + 1)])


def _others(least: Floats, k: int) -> tuple[Floats, dict[int, Floats]]:
    """T for a group that cannot matter to others, and for each of those that can."""
    total = least.shape[1]
    few = min(k + 1, total)
    chosen = sorted({int(g) for facts in range(1, k + 1) for g in np.argpartition(least[facts], few - 1)[:few]})
    before, after = [np.ones(k + 1)], [np.ones(k + 1)]
    for group in chosen:
        before.append(_joined(before[-1], least[: k + 1, group]))
    for group in reversed(chosen):
        after.append(_joined(after[-1], least[: k + 1, group]))
    after.reverse()
    without = {group: _joined(before[place], after[place + 1]) for place, group in enumerate(chosen)}
    return before[-1], without


def _joined(one: Floats, other: Floats) -> Floats:
    """The least product for each number of facts, split between two."""
    return np.array([min(one[part] * other[facts - part] for part in range(facts + 1)) for facts in range(len(one))])
