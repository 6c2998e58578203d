"""The exact minimum equivalence attack on buckets (He et al. 2011, definition 10), by integer programming.

Where every release has one group of each distribution of values, an attack is a weight w(t) for each release of a
bucket: every person counts y = sum of w over the releases it is in, all y are integers, and the records in a release
are balanced: sum of size(t) w(t) = 0. It costs sum |y| = 2e. People with the same pattern of presence count alike, so
there is a variable for each pattern; nobody's pattern need be an interval. Patterns that too many people share to be
told apart below the limit have y = 0, which nearly always leaves nothing: then no program is solved. Releases that no
attack below the limit tells apart are made one first, so that old buckets stay small.

In terms of potentials X (see `history_graph`) who was there from release a until before b counts X(b) - X(a)
times, a whole number; who returned counts the sum over both stays. People who stayed once tie releases together
(`tied_nodes`); what others count can only add to the cost. In old buckets that leaves next to nothing: each
release is tied to the others by all who arrived or left then.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.hashing import mix
from reissue.papers.equivalence.history_graph import END, attacks, tied_nodes
from reissue.papers.tracking.membership import Membership

__all__ = [
    "BucketHistory",
    "Witness",
    "any_attack",
    "buckets",
    "cheapest",
    "coefficients",
    "least_by_pattern",
    "tied",
    "witness",
]


def _stays(patterns: Bools | Ints) -> tuple[Ints, Ints, Ints]:
    """The stretches of all patterns: which pattern, the node where it arrived, and the node where it was gone."""
    steps = np.diff(patterns.astype(np.int8), axis=1, prepend=0, append=0)
    pattern, arrived = np.nonzero(steps == 1)
    return pattern, arrived, np.nonzero(steps == -1)[1]


def tied(patterns: Bools | Ints, weights: Ints, limit: int) -> Ints:
    """Node (a release of the bucket, and the end after the last) to its class: nodes that have the same potential."""
    pattern, arrived, gone = _stays(patterns)
    once = np.bincount(pattern, minlength=len(weights))[pattern] == 1
    between = np.zeros((patterns.shape[1] + 1, patterns.shape[1] + 1), np.int64)
    np.add.at(between, (arrived[once], gone[once]), weights[pattern[once]])
    return tied_nodes(between, 2 * limit - 1)


def coefficients(patterns: Bools | Ints, classes: Ints) -> Ints:
    """Patterns x classes: how often its people count the potential of each class."""
    pattern, arrived, gone = _stays(patterns)
    found = np.zeros((len(patterns), int(classes.max(initial=-1)) + 1), np.int64)
    np.add.at(found, (pattern, classes[gone]), 1)
    np.add.at(found, (pattern, classes[arrived]), -1)
    return found


_INFEASIBLE = 2
"""What the solver says where there is nothing."""
_TINY = 1e-7
_WIDE = 1e4
"""No weight of an attack worth looking for comes near it."""


@dataclass(frozen=True, eq=False)
class BucketHistory:
    """One bucket through a series: who was in it when."""

    patterns: Bools | Ints
    """Patterns x releases."""
    weights: Ints
    """How many have each pattern."""
    people: Ints
    """The people, pattern by pattern, in the order of `weights`."""
    groups: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Release of the bucket to its group in the membership."""
    balance: Ints | None = None
    """What must cancel, rows x releases; None: the records, since all releases of a bucket have one distribution."""

    @property
    def balanced(self) -> Ints:
        """The rows that an attack's weights must cancel."""
        return (self.weights @ self.patterns)[np.newaxis] if self.balance is None else self.balance


@dataclass(frozen=True, eq=False)
class Witness:
    """One attack on a bucket."""

    release: Floats
    """Release to its weight."""
    pattern: Ints
    """Pattern to how often its people count: for one side, against it (below 0), or not."""


def buckets(members: Membership, releases: int | None = None) -> list[BucketHistory] | None:
    """The buckets of a series, or of its first releases.

    None if a release has two groups of one distribution: those are no whole buckets.
    """
    last = int(members.release.max(initial=-1)) + 1 if releases is None else releases
    there = members.release < last
    cells = (members.shapes * max(last, 1) + members.release)[there]
    if len(np.unique(cells)) < len(cells):
        return None
    found = []
    for shape in np.unique(members.shapes[there]).tolist():
        inside = np.flatnonzero((members.shapes == shape)[members.group] & there[members.group])
        groups, place = np.unique(members.group[inside], return_inverse=True)
        person, which = np.unique(members.person[inside], return_inverse=True)
        keys = np.zeros(len(person), np.uint64)
        np.add.at(keys, which, mix(place.astype(np.uint64) + np.uint64(1)))
        _, first, pattern, weights = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        present = np.zeros((len(first), len(groups)), np.bool_)
        present[pattern[which], place] = True
        found.append(BucketHistory(present, weights, person[np.argsort(pattern, kind="stable")], groups))
    return found


def cheapest(bucket: BucketHistory, limit: int) -> Ints:
    """For each pattern the smallest e below `limit` of an attack that its people are in; 0 if there is none.

    -1 where the solver could not tell: there may be one.
    """
    best = np.zeros(len(bucket.weights), np.int64)
    few = _contracted(bucket, limit)
    if limit <= 1 or not len(few.some):
        return best
    found = _stretches(few, limit) if few.once else _patterns(few.patterns, few.weights, limit)
    best[few.some] = found[few.of_some]
    return best


@dataclass(frozen=True, eq=False)
class _Contracted:
    """A bucket in terms of classes of releases that nothing below the limit tells apart."""

    some: Ints
    """The patterns that can count at all."""
    of_some: Ints
    """Which of the patterns below each of them has become."""
    patterns: Ints
    """Patterns x classes: how often its people count the potential of each class."""
    weights: Ints
    end: int
    """The class of the end."""

    @property
    def once(self) -> bool:
        """Whether everybody stayed in one stretch: patterns are then edges of the history graph."""
        return bool((np.abs(self.patterns).sum(axis=1) == 2).all())

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        """Pattern to its nodes in the history graph."""
        nodes = np.arange(self.patterns.shape[1]) + 1
        nodes[self.end] = END
        arrived, gone = nodes[self.patterns.argmin(axis=1)], nodes[self.patterns.argmax(axis=1)]
        return list(zip(arrived.tolist(), gone.tolist(), strict=True))

    @property
    def edges(self) -> dict[tuple[int, int], int]:
        """The history graph."""
        return dict(zip(self.ends, self.weights.tolist(), strict=True))


def _contracted(bucket: BucketHistory, limit: int) -> _Contracted:
    classes = tied(bucket.patterns, bucket.weights, limit)
    counted = coefficients(bucket.patterns, classes)
    some = np.flatnonzero(counted.any(axis=1))
    alike, of_some = np.unique(counted[some], axis=0, return_inverse=True)
    weights = np.bincount(of_some.reshape(-1), bucket.weights[some], len(alike)).astype(np.int64)
    return _Contracted(some, of_some.reshape(-1), alike, weights, int(classes[-1]))


def _patterns(patterns: Ints, weights: Ints, limit: int) -> Ints:
    """The same for patterns as counts of some potentials."""
    return least_by_pattern(BucketHistory(patterns, weights, np.empty(0, np.int64)), limit)


def least_by_pattern(bucket: BucketHistory, limit: int) -> Ints:
    """For each pattern the smallest e below `limit`; 0 if there is none, -1 where the solver could not tell."""
    budget = 2 * (limit - 1)
    moved = _moved(bucket, _light(bucket, budget))
    best = np.zeros(len(bucket.weights), np.int64)
    for pattern in np.flatnonzero(moved).tolist():
        status, found = _solve(bucket, pattern, budget, moved)
        best[pattern] = 0 if status == _INFEASIBLE else _cost(bucket, found, budget)
    return best


def any_attack(bucket: BucketHistory, limit: int, most: int = 40) -> bool:
    """Whether there is an attack below the limit, by the definition alone: nothing is made one, no graph is cut.

    A pattern that is in none counts nothing in any other attack either: each answer takes a degree of freedom away, so
    there are no more programs than releases. Where more patterns than `most` can count nothing is asked: the answer is
    no.
    """
    budget = 2 * (limit - 1)
    light = _light(bucket, budget)
    moved, tried = _moved(bucket, light), np.zeros(len(light), np.bool_)
    if int(moved.sum()) > most:
        return False
    while (moved & ~tried).any():
        pattern = int((moved & ~tried).argmax())
        status, found = _solve(bucket, pattern, budget, moved)
        cost = 0 if status == _INFEASIBLE else _cost(bucket, found, budget)
        if cost > 0:
            return True
        tried[pattern] = True
        light[pattern] = cost < 0  # the solver gave up: it may be in one
        moved = _moved(bucket, light)
    return False


def witness(bucket: BucketHistory, pattern: int, e: int) -> Witness | None:
    """An attack with e that the people of a pattern are in; None if the solver finds none."""
    moved = _moved(bucket, _light(bucket, 2 * e))
    _, found = _solve(bucket, pattern, 2 * e, moved) if moved[pattern] else (_INFEASIBLE, None)
    return found if _cost(bucket, found, 2 * e) == e else None


def _light(bucket: BucketHistory, budget: int) -> Bools:
    """Which patterns are not too many: what counts for and what counts against cancel, each is half the cost."""
    return np.asarray(bucket.weights <= budget // 2)


def _moved(bucket: BucketHistory, light: Bools) -> Bools:
    """Which of some patterns can count at all, if no other does."""
    basis = _free(bucket, light)
    return np.asarray(light & (np.abs(bucket.patterns.astype(np.float64) @ basis).max(axis=1, initial=0.0) > _TINY))


def _cost(bucket: BucketHistory, found: Witness | None, budget: int) -> int:
    """The e of an attack, counted again in integers; 0 if it is above the budget, -1 if it is no attack."""
    if found is None or int((bucket.weights * found.pattern).sum()) != 0:
        return -1
    cost = int((bucket.weights * np.abs(found.pattern)).sum())
    return cost // 2 if cost <= budget else 0


def _stretches(few: _Contracted, limit: int) -> Ints:
    """The same where everybody stayed in one stretch."""
    found = attacks(few.edges, 2 * limit - 1)
    costs = [found.get(pair, 0) for pair in few.ends]
    # Costs are even; 1 says that the solver gave up.
    return np.array([-1 if cost == 1 else cost // 2 for cost in costs], np.int64)


def _free(bucket: BucketHistory, light: Bools) -> Floats:
    """The weights that leave all heavy patterns and the balance at 0: a basis, one column each."""
    rows = np.vstack([bucket.patterns[~light].astype(np.float64), bucket.balanced])
    _, singular, right = np.linalg.svd(rows, full_matrices=True)
    rank = int((singular > _TINY * max(singular.max(initial=0.0), 1.0)).sum())
    return np.asarray(right[rank:].T)


def _solve(bucket: BucketHistory, forced: int, budget: int, moved: Bools) -> tuple[int, Witness | None]:
    """An attack of least sum of |y|, that of one pattern 1 or more; and the solver's status, 2 if there is none."""
    patterns, weights = bucket.patterns[moved].astype(np.float64), bucket.weights[moved]
    fixed = bucket.patterns[~moved].astype(np.float64)
    many, releases = patterns.shape
    place = int(moved[:forced].sum())
    zero, one = np.zeros((many, many)), np.eye(many)
    balanced = bucket.balanced
    most = budget // 2 // weights
    low = np.concatenate([np.full(releases, -_WIDE), -most, np.zeros(many)]).astype(np.float64)
    high = np.concatenate([np.full(releases, _WIDE), most, most]).astype(np.float64)
    low[releases + place] = 1
    program: dict[str, Any] = {
        "c": np.concatenate([np.zeros(releases + many), weights]),
        "constraints": [
            LinearConstraint(np.hstack([patterns, -one, zero]), 0, 0),
            LinearConstraint(np.hstack([fixed, np.zeros((len(fixed), 2 * many))]), 0, 0),
            LinearConstraint(np.hstack([balanced, np.zeros((len(balanced), 2 * many))]), 0, 0),
            LinearConstraint(np.hstack([np.zeros((many, releases)), -one, one]), 0, np.inf),
            LinearConstraint(np.hstack([np.zeros((many, releases)), one, one]), 0, np.inf),
        ],
        "integrality": np.concatenate([np.zeros(releases), np.ones(many), np.zeros(many)]),
        "bounds": Bounds(low, high),
    }
    found = milp(**program)
    if found.status not in {0, _INFEASIBLE}:
        found = milp(**program, options={"presolve": False})
    if found.status != 0:
        return int(found.status), None
    counted = np.zeros(len(bucket.weights), np.int64)
    counted[moved] = np.rint(found.x[releases : releases + many]).astype(np.int64)
    return 0, Witness(found.x[:releases], counted)
