"""Possible worlds: every assignment of sensitive values to people that a release allows, all of them or a sample.

Each person's group is known. Either the published values are the people's own and each group's are permuted (all
permutations equally likely), or a method may have changed values, and everyone may have any value (`free`, with the
published shares as prior chances).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import factorial, lgamma, log, prod

import numpy as np
from scipy.special import ndtri

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Domain

__all__ = ["Belief", "Possible", "enough", "interval", "weigh"]

_BATCH = 4096
_TASTE = 256
"""A sample of which this many worlds were tried and none was kept goes no further."""
_NEAREST = 32
"""So many worlds that differ least from the published one are tried before: if none is kept, fewer than one in ten is
(95% confidence), and of worlds that differ in every group too few to say anything."""


@dataclass(frozen=True, eq=False)
class Possible:
    """The worlds that a release allows."""

    groups: Ints
    """Person to group; -1 for someone who is not in the release."""
    values: Codes
    """Person to the published value of the same place: what is permuted within groups."""
    domain: Domain
    free: bool = False

    def packed(self) -> "Possible":
        """The same with groups numbered 0, 1, ..."""
        return Possible(np.unique(self.groups, return_inverse=True)[1], self.values, self.domain, self.free)

    @cached_property
    def _members(self) -> list[Ints]:
        order = np.argsort(self.groups, kind="stable")
        starts = np.searchsorted(self.groups[order], np.arange(int(self.groups.max(initial=-1)) + 1))
        return np.split(order, starts)[1:]

    @cached_property
    def number(self) -> int:
        """How many worlds there are."""
        if self.free:
            return int(int(np.count_nonzero(self.domain.totals)) ** int((self.groups >= 0).sum()))
        return prod([_orders(self.values[members]) for members in self._members])

    def number_up_to(self, most: int) -> int:
        """How many worlds there are, or `most` if there are more; without counting numbers of a million digits."""
        found = 1
        for members in self._members:
            _, number = np.unique(self.values[members], return_counts=True)
            if lgamma(len(members) + 1) - sum(lgamma(count + 1) for count in number.tolist()) > log(most) + 1:
                return most
            found = min(found * _orders(self.values[members]), most)
        return found

    def every(self) -> Iterator[tuple[Codes, Floats]]:
        """All worlds in batches (worlds x people), with their prior weights."""
        waiting: list[Codes] = []
        for world in self._free_worlds() if self.free else self._permuted_worlds():
            waiting.append(world)
            if len(waiting) == _BATCH:
                yield self._batch(waiting)
                waiting = []
        if waiting:
            yield self._batch(waiting)

    def draw(self, number: int, rng: np.random.Generator) -> Codes:
        """Worlds drawn by their prior (worlds x people)."""
        if self.free:
            shape = (number, len(self.groups))
            return rng.choice(self.domain.size, shape, p=self.domain.shares).astype(np.int32)
        drawn = np.tile(self.values, (number, 1))
        for members in self._members:
            drawn[:, members] = rng.permuted(drawn[:, members], axis=1)
        return drawn

    def nearest(self, number: int, rng: np.random.Generator) -> Codes:
        """Worlds that differ least from the published one: two people of a group have each other's value.

        There are none where no group has two values, or where any value is possible.
        """
        mixed = [members for members in self._members if len(np.unique(self.values[members])) > 1]
        if self.free or not mixed:
            return np.empty((0, len(self.values)), self.values.dtype)
        worlds = np.tile(self.values, (number, 1))
        for world in worlds:
            members = mixed[rng.integers(len(mixed))]
            one = rng.choice(members)
            other = rng.choice(members[self.values[members] != self.values[one]])
            world[[one, other]] = world[[other, one]]
        return worlds

    def _batch(self, worlds: list[Codes]) -> tuple[Codes, Floats]:
        stacked = np.stack(worlds)
        if not self.free:
            return stacked, np.ones(len(stacked))
        return stacked, np.prod(self.domain.shares[stacked[:, self.groups >= 0]], axis=1)

    def _free_worlds(self) -> Iterator[Codes]:
        inside = np.flatnonzero(self.groups >= 0)
        possible = np.flatnonzero(self.domain.totals).tolist()
        for chosen in product(possible, repeat=len(inside)):
            world = self.values.copy()
            world[inside] = chosen
            yield world

    def _permuted_worlds(self) -> Iterator[Codes]:
        ways = [list(_permutations(sorted(self.values[members].tolist()))) for members in self._members]
        for chosen in product(*ways):
            world = self.values.copy()
            for members, values in zip(self._members, chosen, strict=True):
                world[members] = values
            yield world


def _orders(values: Codes) -> int:
    """How many different orders a list of values has."""
    _, number = np.unique(values, return_counts=True)
    return factorial(len(values)) // prod(factorial(int(count)) for count in number)


def _permutations(values: list[int]) -> Iterator[tuple[int, ...]]:
    """The different orders of a sorted list."""
    if not values:
        yield ()
    for place, first in enumerate(values):
        if place and values[place - 1] == first:
            continue
        for rest in _permutations(values[:place] + values[place + 1 :]):
            yield (first, *rest)


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of everyone when only some worlds are kept."""

    posterior: Floats
    """People x values."""
    kept: int
    tried: int
    worlds: int
    """How many there are."""
    sampled: bool

    def bounds(self, share: Floats, tests: int = 1) -> tuple[Floats, Floats]:
        """Where shares of the kept worlds really lie, with 95% confidence in all of several tests."""
        return interval(share, self.kept, tests) if self.sampled else (share, share)


def interval(share: Floats, kept: Ints | int, tests: int = 1) -> tuple[Floats, Floats]:
    """Wilson's interval for shares of this many sampled worlds, with 95% confidence in all of several tests."""
    z = float(ndtri(1 - 0.025 / max(tests, 1)))
    kept = np.maximum(kept, 1)
    middle = (share + z * z / (2 * kept)) / (1 + z * z / kept)
    half = z * np.sqrt(share * (1 - share) / kept + z * z / (4 * kept * kept)) / (1 + z * z / kept)
    return np.asarray(middle - half, np.float64), np.asarray(middle + half, np.float64)


Keep = Callable[[Codes], Bools]
"""Worlds (worlds x people) to whether each could have led to the release."""


def weigh(
    possible: Possible,
    keep: Keep,
    *,
    budget: int,
    sample: bool | None = None,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Belief:
    """Enumerate the worlds if they are within the budget, else sample as many as it allows.

    Where none of the worlds that differ least from the published one is kept, no sample is drawn.
    """
    sampled = possible.number > budget if sample is None else sample
    hits = np.zeros((len(possible.groups), possible.domain.size))
    weight, kept, tried = 0.0, 0, 0
    rng = rng or np.random.default_rng(0)
    nearest = possible.nearest(_NEAREST, rng) if sampled else np.empty((0, 0), np.int32)
    if len(nearest) and not keep(nearest).any():
        return Belief(hits, 0, len(nearest), possible.number, sampled)
    source = _sample(possible, budget, rng) if sampled else possible.every()
    for worlds, weights in source:
        fits = keep(worlds)
        for person in range(worlds.shape[1]):
            hits[person] += np.bincount(worlds[fits, person], weights[fits], possible.domain.size)
        weight, kept, tried = weight + float(weights[fits].sum()), kept + int(fits.sum()), tried + len(worlds)
        progress(tried / (budget if sampled else possible.number))
        if sampled and not kept and tried >= _TASTE:
            break
    return Belief(hits / max(weight, np.finfo(np.float64).tiny), kept, tried, possible.number, sampled)


def _sample(possible: Possible, budget: int, rng: np.random.Generator) -> Iterator[tuple[Codes, Floats]]:
    left = budget
    while left > 0:
        number = min(left, _TASTE if left == budget else _BATCH)
        yield possible.draw(number, rng), np.ones(number)
        left -= number


def enough(belief: Belief) -> bool:
    """Whether so many worlds were kept that something can be said."""
    return belief.kept >= (30 if belief.sampled else 1)
