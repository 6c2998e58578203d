"""The worst that k implications disclose in a whole table (Martin et al. 2007), by dynamic programs.

See `requirements.safety` for the mathematics. Here nothing is bounded: facts may be spread over all groups.
- f_g(m), the least probability that none of m facts about group g holds: person after person, each denied at most as
  many values as the one before. O(k^3) vector operations over the distinct shapes of groups (sizes and top counts).
- T_g(j), the least product over the *other* groups for j facts spread among them. For each m only the k + 1 groups with
  the least f(m) can matter (at most k are taken or left out), so k (k+1) groups enter, joined from both sides.
"""

import numpy as np
import polars as pl

from reissue._arrays import Floats
from reissue.verify.groups import CheckedGroups

__all__ = ["worst_odds"]

_CHUNK = 1 << 16


def worst_odds(groups: CheckedGroups, k: int) -> Floats:
    """For each group the least odds against its people's likeliest value, over all that k implications can say.

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
    if facts <= 3:  # the few operations cost less than finding equal shapes
        return _least_of(shapes.to_numpy().astype(np.float64).T, facts)
    distinct = shapes.unique(maintain_order=True)
    number = distinct.with_row_index("shape")
    of_group = shapes.join(number, on=shapes.columns, how="left", maintain_order="left")["shape"].to_numpy()
    columns = distinct.to_numpy().astype(np.float64).T
    parts = [_least_of(columns[:, start : start + _CHUNK], facts) for start in range(0, distinct.height, _CHUNK)]
    return np.concatenate(parts, axis=1)[:, of_group]


def _least_of(shapes: Floats, facts: int) -> Floats:
    """The same for shapes: a size and cumulated counts of the most frequent values each."""
    size, tops = shapes[0], shapes[1:]
    ones = np.ones(len(size))
    # later[m][j]: least probability for m facts about the people still to come, at most j about each of them.
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
