"""The exact minimum equivalence attack on buckets (paper 000, definition 10), by integer programming.

Where every release has one group of each distribution of values, an attack is a weight w(t) for each release of a
bucket: every person counts y = sum of w over the releases it is in, all y are integers, and the records in a release
are balanced: sum of size(t) w(t) = 0. It costs sum |y| = 2e. People with the same pattern of presence count alike, so
there is a variable for each pattern; nobody's pattern need be an interval. Patterns that too many people share to be
told apart below the limit have y = 0, which nearly always leaves nothing: then no program is solved.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks._membership import Membership, mix

__all__ = ["Bucket", "buckets", "cheapest"]

_TINY = 1e-7


@dataclass(frozen=True, eq=False)
class Bucket:
    """One bucket through a series: who was in it when."""

    patterns: Bools
    """Patterns x releases."""
    weights: Ints
    """How many have each pattern."""
    people: Ints
    """The people, pattern by pattern, in the order of `weights`."""


def buckets(members: Membership) -> list[Bucket] | None:
    """The buckets of a series; None if a release has two groups of one distribution: those are no whole buckets."""
    cells = members.shapes * (int(members.release.max(initial=0)) + 1) + members.release
    if len(np.unique(cells)) < len(cells):
        return None
    found = []
    for shape in range(int(members.shapes.max(initial=-1)) + 1):
        inside = np.flatnonzero(members.shapes[members.group] == shape)
        groups, place = np.unique(members.group[inside], return_inverse=True)
        person, which = np.unique(members.person[inside], return_inverse=True)
        keys = np.zeros(len(person), np.uint64)
        np.add.at(keys, which, mix(place.astype(np.uint64) + np.uint64(1)))
        _, first, pattern, weights = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        present = np.zeros((len(first), len(groups)), np.bool_)
        present[pattern[which], place] = True
        found.append(Bucket(present, weights, person[np.argsort(pattern, kind="stable")]))
    return found


def cheapest(bucket: Bucket, limit: int) -> Ints:
    """For each pattern the smallest e below `limit` of an attack that its people are in; 0 if there is none."""
    budget = 2 * (limit - 1)
    best = np.zeros(len(bucket.weights), np.int64)
    light = bucket.weights <= budget
    basis = _free(bucket, light)
    moved = np.abs(bucket.patterns.astype(np.float64) @ basis).max(axis=1, initial=0.0) > _TINY
    for pattern in np.flatnonzero(moved & light):
        # Attacks found on the way are attacks for all their patterns, but perhaps not the smallest ones.
        found = _solve(bucket, int(pattern), budget, moved & light)
        best[pattern] = 0 if found is None else found // 2
    return best


def _free(bucket: Bucket, light: Bools) -> Floats:
    """The weights that leave all heavy patterns and the balance at 0: a basis, one column each."""
    sizes = bucket.weights @ bucket.patterns
    rows = np.vstack([bucket.patterns[~light].astype(np.float64), sizes])
    _, singular, right = np.linalg.svd(rows, full_matrices=True)
    rank = int((singular > _TINY * max(singular.max(initial=0.0), 1.0)).sum())
    return np.asarray(right[rank:].T)


def _solve(bucket: Bucket, forced: int, budget: int, moved: Bools) -> int | None:
    """The least sum of |y| with y of one pattern at least 1; None if it is above the budget. Re-checked in integers."""
    patterns, weights = bucket.patterns[moved].astype(np.float64), bucket.weights[moved]
    fixed = bucket.patterns[~moved].astype(np.float64)
    many, releases = patterns.shape
    place = int(moved[:forced].sum())
    zero, one = np.zeros((many, many)), np.eye(many)
    sizes = bucket.weights @ bucket.patterns
    none = np.zeros(2 * many)
    low = np.concatenate([np.full(releases, -np.inf), -(budget // weights), np.zeros(many)]).astype(np.float64)
    high = np.concatenate([np.full(releases, np.inf), budget // weights, np.full(many, np.inf)]).astype(np.float64)
    low[releases + place] = 1
    found = milp(
        np.concatenate([np.zeros(releases + many), weights]),
        constraints=[
            LinearConstraint(np.hstack([patterns, -one, zero]), 0, 0),
            LinearConstraint(np.hstack([fixed, np.zeros((len(fixed), 2 * many))]), 0, 0),
            LinearConstraint(np.concatenate([sizes, none]), 0, 0),
            LinearConstraint(np.hstack([np.zeros((many, releases)), -one, one]), 0, np.inf),
            LinearConstraint(np.hstack([np.zeros((many, releases)), one, one]), 0, np.inf),
        ],
        integrality=np.concatenate([np.zeros(releases), np.ones(many), np.zeros(many)]),
        bounds=Bounds(low, high),
    )
    if found.status != 0:
        return None
    counted = np.rint(found.x[releases : releases + many]).astype(np.int64)
    cost, balance = int((weights * np.abs(counted)).sum()), int((weights * counted).sum())
    return cost if balance == 0 and cost <= budget else None
