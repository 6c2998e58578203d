"""Possible worlds: every assignment of sensitive values to people that a release allows, all of them or a sample.

Each person's group is known. Either the published values are the people's own and each group's are permuted (all
permutations equally likely), or a method may have changed values, and everyone may have any value (`free`, with the
published shares as prior chances).

**Two releases are the same** if everyone is in the same group, and every group has the same values, in whatever order.
A published frame does not say who stands where; there, the same rows must do.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import factorial, lgamma, log, prod
from typing import TypeAlias

import numpy as np
import polars as pl
from scipy.special import ndtri

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Domain
from reissue.data.table import Table
from reissue.published import PublishedRelease
from reissue.release.recode import boxes_of
from reissue.release.release import Draft

__all__ = [
    "ENOUGH",
    "Belief",
    "Possible",
    "Signature",
    "frame_signature",
    "interval",
    "signature",
    "steps",
    "walk",
    "weigh",
]

Signature: TypeAlias = Hashable


def signature(table: Table, draft: Draft) -> Signature:
    """What a draft publishes, for someone who knows where everyone stands."""
    kept = draft.groups >= 0
    values = table.sensitive if draft.sensitive is None else draft.sensitive
    if not draft.form.boxes:
        _, first, of_row = np.unique(draft.groups, return_index=True, return_inverse=True)
        place = np.where(kept, first[of_row], -1)[np.newaxis]
    else:
        boxes = boxes_of(table, draft)
        place = np.concatenate([boxes.lo[:, draft.groups], boxes.hi[:, draft.groups]])
        place = np.where(kept, place, -1)
    columns = np.concatenate([place[:, kept], values[np.newaxis, kept]])
    return place.tobytes(), columns[:, np.lexsort(columns)].tobytes()


def frame_signature(release: PublishedRelease, *, identified: bool = True) -> Signature:
    """What published frames hold, as text, without order; how groups are numbered does not matter.

    Without `identified` an identifier that a holder's copy kept is not compared.
    """
    kept = release.schema.identifier
    main = release.main if identified or kept is None else release.main.drop(kept, strict=False)
    if not release.form.numbered:
        return frozenset(Counter(_texts(main).rows()).items())
    apart = list(release.schema.sensitive)
    people = _by_group(main.drop(*release.by, *apart, strict=False), release.group, release.groups)
    each = np.repeat(np.arange(release.values.height), release.weights)
    values = _by_group(release.values.select(apart)[each], release.value_group[each], release.groups)
    return frozenset(Counter(zip(people, values, strict=True)).items())


def _by_group(frame: pl.DataFrame, group: Ints, groups: int) -> list[tuple[str, ...]]:
    """The rows of each group, as text, without order."""
    rows: list[list[str]] = [[] for _ in range(groups)]
    for place, row in zip(group.tolist(), _texts(frame).rows(), strict=True):
        rows[place].append(repr(row))
    return [tuple(sorted(some)) for some in rows]


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(sorted(frame.columns)).cast(pl.String)


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

    @property
    def shares(self) -> Floats:
        """People x values: what the groups show."""
        inside = self.groups >= 0
        size = self.domain.size
        groups = int(self.groups.max(initial=-1)) + 1
        place = self.groups[inside] * size + self.values[inside]
        counts = np.bincount(place, minlength=groups * size).reshape(groups, size)
        shares = counts / np.maximum(counts.sum(axis=1), 1)[:, np.newaxis]
        return np.asarray(np.where(inside[:, np.newaxis], shares[self.groups], 0.0), np.float64)

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
    """What is believed of everyone, and how it was found."""

    posterior: Floats
    """People x values."""
    support: Ints
    """Person to how many sampled worlds the belief rests on; -1 where all worlds were enumerated."""
    known: Bools
    """Person to whether enough worlds were kept to say anything."""
    worlds: int
    """How many there are: of all components together; where nothing was refused, all that the release allows."""
    tried: int
    """0 where nothing was refused: then every world leads to the release."""
    kept: int
    walked: bool = False
    """Whether they were found by a random walk."""

    @property
    def sampled(self) -> bool:
        """Whether some of it rests on a sample."""
        return bool((self.support >= 0).any())


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
        return _of_everyone(hits, 0, len(nearest), possible.number, sampled=True)
    source = _sample(possible, budget, rng) if sampled else possible.every()
    for worlds, weights in source:
        fits = keep(worlds)
        for person in range(worlds.shape[1]):
            hits[person] += np.bincount(worlds[fits, person], weights[fits], possible.domain.size)
        weight, kept, tried = weight + float(weights[fits].sum()), kept + int(fits.sum()), tried + len(worlds)
        progress(tried / (budget if sampled else possible.number))
        if sampled and not kept and tried >= _TASTE:
            break
    posterior = hits / max(weight, np.finfo(np.float64).tiny)
    return _of_everyone(posterior, kept, tried, possible.number, sampled=sampled)


def _of_everyone(posterior: Floats, kept: int, tried: int, worlds: int, *, sampled: bool) -> Belief:
    """What all kept worlds say together of everyone."""
    people = len(posterior)
    known = np.full(people, kept >= (ENOUGH if sampled else 1))
    return Belief(posterior, np.full(people, kept if sampled else -1), known, worlds, tried, kept)


def _sample(possible: Possible, budget: int, rng: np.random.Generator) -> Iterator[tuple[Codes, Floats]]:
    left = budget
    while left > 0:
        number = min(left, _TASTE if left == budget else _BATCH)
        yield possible.draw(number, rng), np.ones(number)
        left -= number


ENOUGH = 30
"""Independent worlds without which a sample says nothing."""


_SWAPS = 64
"""Exchanges of two values in one step of a walk, at most."""
_BATCHES = 20
"""Pieces of a walk whose means are compared, to say how much they vary."""


def walk(
    possible: Possible,
    keep: Keep,
    *,
    budget: int,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Belief:
    """What is believed among the worlds that exchanges of values reach from the published one, by a random walk.

    A step exchanges values within groups, some pairs at a time. Worlds that no such steps reach are not seen.
    """
    rng = rng or np.random.default_rng(0)
    inside = np.flatnonzero(possible.groups >= 0)
    members = {int(group): inside[possible.groups[inside] == group] for group in np.unique(possible.groups[inside])}

    def exchange(world: Codes, number: int) -> None:
        for one in rng.choice(inside, number).tolist():
            other = rng.choice(members[int(possible.groups[one])])
            world[one], world[other] = world[other], world[one]

    start, values = possible.values, possible.domain.size
    posterior, support, taken = steps(
        start, inside, values, exchange, keep, budget=budget, most=_SWAPS, progress=progress
    )
    known, worlds = support >= ENOUGH, possible.number_up_to(10**300)
    return Belief(posterior, support, known, worlds, budget, taken, walked=True)


def steps(
    start: Codes,
    inside: Ints,
    values: int,
    change: Callable[[Codes, int], None],
    keep: Keep,
    *,
    budget: int,
    most: int,
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[Floats, Ints, int]:
    """Walk from a world; return the posterior of people `inside`, everyone's support, and how many steps were taken.

    `change` changes a world in place, in as many places as it is asked for, so that going back is as likely; a step is
    taken if the new world is kept (Metropolis). The first tenth finds out how many changes one step may try, at `most`,
    so that about half are taken, and is forgotten. A person's support is the number of independent worlds that the walk
    is worth, by the variance of means over its pieces.
    """
    world, changes, taken = start.copy(), 1, 0
    kept = max(budget * 9 // 10 // _BATCHES, 1) * _BATCHES
    found = np.zeros((_BATCHES, len(world), values))
    for step in range(-(budget - kept), kept):
        new = world.copy()
        change(new, changes)
        fits = bool(keep(new[np.newaxis])[0])
        world = new if fits else world
        if step < 0:
            changes = min(changes + 1, most) if fits else max(changes - 1, 1)
        else:
            taken += fits
            found[step * _BATCHES // kept, inside, world[inside]] += 1
        progress((step + budget - kept + 1) / budget)
    means = found / (kept // _BATCHES)
    posterior = means.mean(axis=0)
    spread = means.var(axis=0, ddof=1) / _BATCHES
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(spread > 0, posterior * (1 - posterior) / spread, np.where(posterior % 1, 0.0, np.inf))
    return posterior, np.minimum(worth.min(axis=1), taken).astype(np.int64), taken
