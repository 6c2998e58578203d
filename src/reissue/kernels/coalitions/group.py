"""One group under attack by its own providers: what remains when a coalition takes out records of its own.

A coalition may take out *any* of its records, so it can look at every x with `rest <= x <= whole`, value by value:
`rest` is what the others gave, `whole` the published group. The larger the coalition, the more it can look at: whether
it breaks a requirement is monotone in the coalition for **every** requirement, so pruning is always right. A coalition
that owns the whole group attacks nobody. Only the worst x differs:

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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Counts, Domain
from reissue.requirements import (
    AlphaK,
    Confidence,
    EntropyLDiversity,
    MUnique,
    Personalized,
    RecursiveLDiversity,
    Requirement,
    SimpleLDiversity,
    TCloseness,
)
from reissue.requirements._values import masks

__all__ = ["Group", "Oracle", "asked_sets"]

_MANY = 1 << 12
_STEPS = 5 * 10**7
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class Group:
    """The records of one group by provider and sensitive value; no provider and no value without records."""

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

    def rest(self, coalition: int) -> Ints:
        """What the others gave; a coalition is a number whose bits are its members."""
        others = [place for place in range(self.providers) if not coalition >> place & 1]
        return np.asarray(self.counts[others].sum(axis=0))

    def met(self, part: Requirement, remaining: Ints) -> Bools:
        """Which rows of a matrix (histograms over the group's values) meet a requirement; empty ones do."""
        row, column = np.nonzero(remaining)
        counts = Counts(row, self.values[column], self.domain, len(remaining), remaining[row, column])
        return np.asarray(part.holds(counts) | (remaining.sum(axis=1) == 0), np.bool_)


class Oracle:
    """Answers whether a coalition breaks a requirement in a group, and counts how often it was asked."""

    def __init__(self, group: Group, requirement: Requirement) -> None:
        """Prepare the worst subsets of each part."""
        self.group = group
        self.requirement = requirement
        self.checks = 0
        self.exact = True
        self._judges = [_judge(part, group) for part in requirement.parts()]

    def breaks(self, coalition: int) -> bool:
        """Whether some of what the coalition can look at does not meet the requirement; cautiously yes if unsure."""
        self.checks += 1
        rest = self.group.rest(coalition)
        if not rest.any():
            return False
        for judge in self._judges:
            met = judge(rest)
            if met is None:
                self.exact = False
            if not met:
                return True
        return False


Judge = Callable[[Ints], bool | None]
"""What the others gave to whether every x meets the requirement; None if that cannot be told."""


def _judge(part: Requirement, group: Group) -> Judge:
    """How the worst x is found for one requirement; see the module's docstring."""
    if part.growing:
        return lambda rest: bool(group.met(part, rest[np.newaxis])[0])
    if isinstance(part, EntropyLDiversity):
        return lambda rest: _entropy(part, rest, group.whole)
    sets = _raised(part, group)
    if sets is not None:
        return lambda rest: bool(group.met(part, np.where(sets, group.whole, rest)).all())
    if isinstance(part, TCloseness):
        return lambda rest: _vertices(part, group, rest)
    return lambda rest: _every(part, group, rest)


def _raised(part: Requirement, group: Group) -> Bools | None:
    """Sets of values such that a worst x has all records inside one of them and only the others' outside."""
    if isinstance(part, RecursiveLDiversity):
        return np.eye(len(group.values), dtype=np.bool_)
    return asked_sets(part, group)


def asked_sets(part: Requirement, group: Group) -> Bools | None:
    """Sets of values whose outside the worst coalition owns most of: then it need not be searched for."""
    single, none = np.eye(len(group.values), dtype=np.bool_), np.zeros((1, len(group.values)), np.bool_)
    if part.name == "k":
        return none
    if isinstance(part, MUnique):
        return np.concatenate([none, ~none])
    if isinstance(part, Confidence | AlphaK | SimpleLDiversity):
        asked = masks(group.domain, part.values)[:, group.values] if part.values else single
        return np.concatenate([none, asked])
    if isinstance(part, Personalized):
        nodes = tuple({(node,) for _, node in part.guards})
        return masks(group.domain, nodes)[:, group.values] if nodes else single
    if isinstance(part, RecursiveLDiversity):
        return _subsets_of(len(group.values), part.l - 1)
    return None


def _subsets_of(total: int, size: int) -> Bools | None:
    """All subsets of a size (or the full set, if that is smaller) as a matrix; None if there are too many."""
    sets: list[tuple[int, ...]] = []
    for chosen in combinations(range(total), min(size, total)):
        sets.append(chosen)
        if len(sets) > _MANY:
            return None
    inside = np.zeros((len(sets), total), np.bool_)
    for row, chosen in enumerate(sets):
        inside[row, list(chosen)] = True
    return inside


def _entropy(part: EntropyLDiversity, rest: Ints, whole: Ints) -> bool:
    """Whether every vertex has enough entropy: for each number of rows left in, the largest sum of x log x."""
    own = whole - rest
    best = np.full(int(own.sum()) + 1, -np.inf)
    best[0] = 0.0
    for few, many in zip(rest.tolist(), whole.tolist(), strict=True):
        low, high = (number * np.log(max(number, 1)) for number in (few, many))
        with_all = np.full(len(best), -np.inf)
        if many > few:
            with_all[many - few :] = best[: len(best) - (many - few)] + high
        best = np.maximum(best + low, with_all)
    rows = int(rest.sum()) + np.arange(len(best))
    entropy = np.log(rows) - best / rows
    return bool((entropy >= np.log(part.l) - _SLACK).all())


def _vertices(part: TCloseness, group: Group, rest: Ints) -> bool | None:
    """Whether all vertices are close enough."""
    free = np.flatnonzero(rest < group.whole)
    if 1 << len(free) <= _MANY:
        number = np.arange(1 << len(free))
        inside = np.zeros((len(number), len(rest)), np.bool_)
        inside[:, free] = number[:, np.newaxis] >> np.arange(len(free)) & 1
        return bool(group.met(part, np.where(inside, group.whole, rest)).all())
    own = int((group.whole - rest).sum())
    if part.distance == "equal" and len(rest) * own * own <= _STEPS:
        return _far(part, group, rest)
    return None


def _far(part: TCloseness, group: Group, rest: Ints) -> bool:
    """The same by a knapsack for each number of rows s: D = max over sets A of sum over A of (whole / s - Q)."""
    own = group.whole - rest
    rows = int(rest.sum()) + np.arange(int(own.sum()) + 1)
    best = np.full((len(rows), len(rows)), -np.inf)  # number of rows x rows left in so far
    best[:, 0] = 0.0
    for number, extra, share in zip(group.whole.tolist(), own.tolist(), group.domain.shares[group.values], strict=True):
        gain = (number / rows - share)[:, np.newaxis]
        with_all = np.full_like(best, -np.inf)
        with_all[:, extra:] = best[:, : len(rows) - extra] + gain
        best = np.maximum(best, with_all)
    distance = np.diagonal(best)
    return bool((distance <= part.t + _SLACK).all())


def _every(part: Requirement, group: Group, rest: Ints) -> bool | None:
    """Whether every x between rest and whole meets the requirement."""
    total = 1
    for extra in (group.whole - rest).tolist():
        total *= extra + 1
        if total > _MANY:
            return None
    choices = [range(few, many + 1) for few, many in zip(rest.tolist(), group.whole.tolist(), strict=True)]
    return bool(group.met(part, np.array(list(product(*choices)), np.int64)).all())
