"""Searching the coalitions of a group (Rani 2014, section III): direct, top-down, bottom-up, binary, adaptive.

All coalitions of `size` providers have to be harmless; size is at most one less than the group has. Harmful is monotone
in the coalition (see below), which gives both prunings: what lies inside a harmless coalition is harmless, what
contains a harmful one is harmful. Providers are ordered by attack power, the fitness of their own records: weak ones
first where harmless coalitions are looked for, strong ones first where harmful ones are.

A coalition is a number whose bits are its members. Every strategy returns a harmful coalition of at most `size`
members, or None, always the same verdict; they differ in how many checks they make. Worst case (nothing can be pruned):
direct C(n, size) checks, bottom-up the sum of C(n, i) up to size, top-down the sum from size to n - 1, binary O(n^size
log(n - size)). For groups of more than about 20 providers use `exact`, which does not search.

**What remains of one group** when a coalition takes out records of its own.
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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.cells import Counts, Domain
from reissue.errors import RequirementError
from reissue.requirements import ColumnView, Requirement, Subsets
from reissue.requirements._base import fitness

__all__ = [
    "FEW",
    "MOST_CHECKS",
    "STRATEGIES",
    "Group",
    "Oracle",
    "Search",
    "Strategy",
    "TooManyChecksError",
    "adaptive",
    "binary",
    "bottom_up",
    "direct",
    "powers",
    "printed_binary",
    "top_down",
]


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


class TooManyChecksError(Exception):
    """A search was given up."""


class Oracle:
    """Answers whether a coalition breaks a requirement in a group, and counts how often it was asked."""

    def __init__(
        self, group: Group, requirement: Requirement, *, alpha: float | None = None, most: float = np.inf
    ) -> None:
        """For a group and what it must meet; `alpha` weighs the fitness by which strategies order providers."""
        self.group = group
        self.requirement = requirement
        self.alpha = alpha
        self.checks = 0
        self.exact = True
        self._most = most

    def breaks(self, coalition: int) -> bool:
        """Whether some of what the coalition can look at does not meet the requirement; cautiously yes if unsure."""
        if self.checks >= self._most:
            raise TooManyChecksError
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


MOST_CHECKS = 20_000
"""Coalitions of one group that are checked at most: some seconds."""
FEW = 0.85
"""Below this mean fitness of providers' own records the adaptive strategy searches by halving (the paper's value)."""

Strategy = Callable[[Oracle, int], int | None]
"""A group's oracle and the size of coalitions to a harmful coalition, or None."""


def powers(group: Group, requirement: Requirement, alpha: float | None = None) -> list[float]:
    """The attack power of each provider: the fitness of its own records."""
    row, column = np.nonzero(group.counts)
    counts = Counts(row, group.values[column], group.domain, group.providers, group.counts[row, column])
    return [float(score) for score in fitness(requirement, counts, alpha)]


def _strongest_first(oracle: Oracle) -> list[int]:
    """The providers as bits."""
    power = powers(oracle.group, oracle.requirement, oracle.alpha)
    return [1 << place for place in sorted(range(len(power)), key=lambda place: (-power[place], place))]


def direct(oracle: Oracle, size: int) -> int | None:
    """Check every coalition of the size, until one is harmful."""
    for chosen in combinations(_strongest_first(oracle), size):
        if oracle.breaks(sum(chosen)):
            return sum(chosen)
    return None


def bottom_up(oracle: Oracle, size: int) -> int | None:
    """Check coalitions from the outsider (none) upwards, until one is harmful: upward pruning."""
    ordered = _strongest_first(oracle)
    for number in range(size + 1):
        for chosen in combinations(ordered, number):
            if oracle.breaks(sum(chosen)):
                return sum(chosen)
    return None


def top_down(oracle: Oracle, size: int) -> int | None:
    """Check coalitions from the largest downwards, leaving out what lies inside a harmless one: downward pruning.

    A coalition needs checking exactly if all coalitions with one member more are harmful.
    """
    strongest = _strongest_first(oracle)
    everyone = sum(strongest)
    layer = [everyone ^ bit for bit in strongest]
    for number in range(oracle.group.providers - 1, size - 1, -1):
        harmful = {}
        for coalition in layer:
            if oracle.breaks(coalition):
                if number == size:
                    return coalition
                harmful[coalition] = True
        layer = list(_all_above_in(harmful, strongest))
    return None


def _all_above_in(harmful: dict[int, bool], strongest: list[int]) -> Iterator[int]:
    """The coalitions with one member less, all of whose extensions by one member are harmful; each once."""
    seen = set()
    for coalition in harmful:
        for bit in strongest:
            below = coalition ^ bit
            if coalition & bit and below not in seen:
                seen.add(below)
                if all(below | extra in harmful for extra in strongest if not below & extra):
                    yield below


def binary(oracle: Oracle, size: int) -> int | None:
    """Algorithm 1 turned round: ask about a coalition of the size first, then halve a chain above it.

    That saves the first pass over the coalitions of n - 1 providers where a small coalition is harmful already.
    """
    ordered = _strongest_first(oracle)
    known = _Known(oracle)
    for chosen in combinations(ordered, size):
        if known.inside_harmless(sum(chosen)):
            continue
        if known.breaks(sum(chosen)):
            return sum(chosen)
        strongest = next(bit for bit in ordered if bit not in chosen)
        _halve(known, _chain(sum(chosen), [bit for bit in ordered if bit != strongest]))
    return None


def printed_binary(oracle: Oracle, size: int) -> int | None:
    """Algorithm 1 as the paper prints it: start at a harmful coalition of n - 1 providers, and halve below it.

    The listing skips coalitions of n - 1 that *are* harmful (line 6); its explanation, which this follows, skips those
    that are not. A coalition of n - 1 serves until all its sub-coalitions of the size are decided.
    """
    ordered = _strongest_first(oracle)
    known = _Known(oracle)
    for left_out in ordered:
        inside = [bit for bit in ordered if bit != left_out]
        if not known.breaks(sum(inside)):
            continue
        for chosen in combinations(inside, size):
            if known.inside_harmless(sum(chosen)):
                continue
            if known.breaks(sum(chosen)):
                return sum(chosen)
            _halve(known, _chain(sum(chosen), inside))
    return None


def _chain(coalition: int, inside: Sequence[int]) -> list[int]:
    """A coalition and ever larger ones up to all of some providers, the weakest of these added first."""
    chain = [coalition]
    for bit in inside[::-1]:
        if not coalition & bit:
            chain.append(chain[-1] | bit)
    return chain


def _halve(known: "_Known", chain: list[int]) -> None:
    """Find where a growing chain of coalitions turns harmful; its first one is harmless."""
    if not known.breaks(chain[-1]):
        return
    low, high = 0, len(chain) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if known.breaks(chain[middle]) else (middle, high)


class _Known:
    """What is known of coalitions: the harmless and harmful ones found so far, with both prunings."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._harmless: list[int] = []
        self._harmful: list[int] = []

    def inside_harmless(self, coalition: int) -> bool:
        return any(coalition & ~larger == 0 for larger in self._harmless)

    def breaks(self, coalition: int) -> bool:
        if self.inside_harmless(coalition):
            return False
        if any(smaller & ~coalition == 0 for smaller in self._harmful):
            return True
        found = self._oracle.breaks(coalition)
        (self._harmful if found else self._harmless).append(coalition)
        return found


def adaptive(oracle: Oracle, size: int) -> int | None:
    """Binary where providers' own records score low on average (a breach is likely), top-down otherwise."""
    mean = float(np.mean(powers(oracle.group, oracle.requirement, oracle.alpha)))
    return (printed_binary if mean < FEW else top_down)(oracle, size)


STRATEGIES: dict[str, Strategy] = {
    "direct": direct,
    "top-down": top_down,
    "bottom-up": bottom_up,
    "binary": binary,
    "binary (printed)": printed_binary,
    "adaptive": adaptive,
}


@dataclass(frozen=True)
class Search:
    """One strategy that judges every group by itself, as the paper's anonymizer does: no bounds come first."""

    strategy: str
    alpha: float | None = None
    """The weight of values in the fitness that orders providers."""

    def finds(self, group: Group, requirement: Requirement, size: int) -> bool:
        """Whether a coalition of at most `size` providers (never all of them) is harmful, or may be."""
        oracle = Oracle(group, requirement, alpha=self.alpha, most=MOST_CHECKS)
        try:
            return STRATEGIES[self.strategy](oracle, min(size, group.providers - 1)) is not None
        except TooManyChecksError:
            raise RequirementError(
                f"The strategy '{self.strategy}' checks more than {MOST_CHECKS:,} coalitions of the "
                f"{group.providers} providers of one group. Verify by bounds, which enumerate nothing (verify=bounds)."
            ) from None
