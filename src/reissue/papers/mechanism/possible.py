"""Possible worlds: every assignment of sensitive values to people that a release allows, all of them or a sample.

Each person's group is known. Either the published values are the people's own and each group's are permuted (all
permutations equally likely), or a method may have changed values, and everyone may have any value (`free`, with the
published shares as prior chances).

**Two releases are the same** if everyone is in the same group, and every group has the same values, in whatever order.
A published frame does not say who stands where; there, the same rows must do.

**Components**: groups that no refusal ties together are attacked on their own.
Most of what Mondrian refused are splits of groups that it then published: they touch one group each. Groups that a
higher refusal ties together form one component. Worlds of different components are independent, so each component is
enumerated or sampled by itself, and tables of any size can be attacked.

A *refusal* (Wong et al. 2009, section 5.2) is a grouping of people that the algorithm would have preferred: some of its
groups broke the requirement. For a requirement that unions keep (monotone), the refusals of the full-domain search and
of Mondrian say all that running them would: a grouping whose groups are unions of published ones meets the requirement,
so it was not refused.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from math import factorial, lgamma, log, prod
from typing import TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts, Domain
from reissue.data.table import Table
from reissue.published import PublishedRelease
from reissue.release.recode import boxes_of
from reissue.release.release import Draft
from reissue.requirements import Requirement
from reissue.taxonomy.tree import Taxonomy

__all__ = [
    "Belief",
    "Parts",
    "Possible",
    "Refusal",
    "Signature",
    "by_components",
    "enough",
    "frame_signature",
    "interval",
    "median_splits",
    "refused",
    "signature",
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


def frame_signature(release: PublishedRelease) -> Signature:
    """What published frames hold, as text, without order; how groups are numbered does not matter."""
    if not release.form.numbered:
        return frozenset(Counter(_texts(release.main).rows()).items())
    apart = list(release.schema.sensitive)
    people = _by_group(release.main.drop(*release.by, *apart, strict=False), release.group, release.groups)
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


@dataclass(frozen=True, eq=False)
class Refusal:
    """A grouping of some people that was refused."""

    people: Ints
    labels: Ints
    """Person (of those) to group, 0, 1, ..."""


def refused(worlds: Codes, refusals: Sequence[Refusal], requirement: Requirement, domain: Domain) -> Bools:
    """Which worlds (worlds x people) break the requirement in every refused grouping."""
    keep = np.ones(len(worlds), np.bool_)
    for refusal in refusals:
        keep[keep] = ~_meets(worlds[keep], refusal, requirement, domain)
    return keep


def _meets(worlds: Codes, grouping: Refusal, requirement: Requirement, domain: Domain) -> Bools:
    """Which worlds meet the requirement in every group of a grouping."""
    total = int(grouping.labels.max(initial=-1)) + 1
    place = np.arange(len(worlds))[:, np.newaxis] * total + grouping.labels[np.newaxis]
    counts = Counts(place.reshape(-1), worlds[:, grouping.people].reshape(-1), domain, total * len(worlds))
    return np.asarray(requirement.holds(counts).reshape(len(worlds), total).all(axis=1), np.bool_)


def median_splits(table: Table, groups: Ints) -> list[Refusal]:
    """Mondrian-like: the splits that were tried before the one that was taken, and all of a group that was left."""
    found: list[Refusal] = []
    waiting = [np.arange(table.rows)]
    while waiting:
        node = waiting.pop()
        for sides in _splits(table, node):
            if _apart(groups[node], sides):
                waiting += [node[sides], node[~sides]]
                break
            found.append(Refusal(node, sides.astype(np.int64)))
    return found


def _apart(groups: Ints, sides: Bools) -> bool:
    """Whether a split sends no published group to both sides."""
    return not np.intersect1d(groups[sides], groups[~sides]).size


def _splits(table: Table, node: Ints) -> Iterator[Bools]:
    """The splits of a set of people in the order in which Mondrian tries them: who goes up."""
    codes = table.codes[:, node]
    lo, hi = codes.min(axis=1), codes.max(axis=1)
    widths = [
        float(t.loss(*t.snap(lo[place : place + 1], hi[place : place + 1]))[0])
        for place, t in enumerate(table.taxonomies)
    ]
    for place in sorted(range(len(widths)), key=lambda place: -widths[place]):
        if widths[place] > 0:
            yield codes[place] >= _cut(table.taxonomies[place], np.sort(codes[place]))


def _cut(taxonomy: Taxonomy, codes: Codes) -> int:
    """Where sorted codes are cut: at the median, or at the start of its child under the node that holds them all."""
    lo, hi, median = int(codes[0]), int(codes[-1]), int(codes[len(codes) // 2])
    if taxonomy.runs:
        missing = taxonomy.missing and hi == taxonomy.size - 1
        return hi if missing else max(median, lo + 1) if median == lo else median
    for first, last in taxonomy.children(*(int(end[0]) for end in taxonomy.snap(codes[:1], codes[-1:]))):
        if first <= median <= last:
            return first if first > lo else last + 1
    return hi


@dataclass(frozen=True, eq=False)
class Parts:
    """What is believed of everyone, and how it was found."""

    posterior: Floats
    """People x values."""
    support: Ints
    """Person to how many sampled worlds the belief rests on; -1 where all worlds were enumerated."""
    known: Bools
    """Person to whether enough worlds were kept to say anything."""
    worlds: int
    """Worlds of all components together; where nothing was refused, all that the release allows."""
    tried: int
    """None where nothing was refused: then every world leads to the release."""
    kept: int


def by_components(
    possible: Possible,
    refusals: Sequence[Refusal],
    requirement: Requirement,
    *,
    budget: int = 20_000,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Parts:
    """What is believed when every refused grouping must have broken the requirement; a budget for each component."""
    rng = rng or np.random.default_rng(0)
    posterior = _shares(possible)
    support, known = np.full(len(possible.groups), -1), np.ones(len(possible.groups), np.bool_)
    if not refusals:
        progress(1.0)
        return Parts(posterior, support, known, possible.number_up_to(10**300), 0, 0)
    worlds = tried = kept = 0
    parts = _components(possible, refusals)
    for number, (people, own) in enumerate(parts):
        part = Possible(possible.groups[people], possible.values[people], possible.domain).packed()
        belief = weigh(part, partial(_keep, own, requirement, possible.domain), budget=budget, rng=rng)
        worlds, tried, kept = worlds + belief.worlds, tried + belief.tried, kept + belief.kept
        known[people] = enough(belief)
        if enough(belief):
            posterior[people] = belief.posterior
        support[people] = belief.kept if belief.sampled else -1
        progress((number + 1) / len(parts))
    return Parts(posterior, support, known, worlds, tried, kept)


def _keep(refusals: list[Refusal], requirement: Requirement, domain: Domain, worlds: Codes) -> Bools:
    return refused(worlds, refusals, requirement, domain)


def _shares(possible: Possible) -> Floats:
    """People x values: what the groups show."""
    inside = possible.groups >= 0
    size = possible.domain.size
    groups = int(possible.groups.max(initial=-1)) + 1
    place = possible.groups[inside] * size + possible.values[inside]
    counts = np.bincount(place, minlength=groups * size).reshape(groups, size)
    shares = counts / np.maximum(counts.sum(axis=1), 1)[:, np.newaxis]
    return np.asarray(np.where(inside[:, np.newaxis], shares[possible.groups], 0.0), np.float64)


def _components(possible: Possible, refusals: Sequence[Refusal]) -> list[tuple[Ints, list[Refusal]]]:
    """The people of groups that refusals tie together, and those refusals, with people numbered within them."""
    total = int(possible.groups.max()) + 1
    touched = [np.unique(possible.groups[refusal.people]) for refusal in refusals]
    first = np.concatenate([np.full(len(groups), groups[0]) for groups in touched])
    graph = coo_array((np.ones(len(first)), (first, np.concatenate(touched))), shape=(total, total))
    _, label = connected_components(graph, directed=False)
    involved = np.zeros(total, np.bool_)
    involved[np.concatenate(touched)] = True
    mine: dict[int, list[Refusal]] = {}
    for refusal, groups in zip(refusals, touched, strict=True):
        mine.setdefault(int(label[groups[0]]), []).append(refusal)
    of_person = np.where((possible.groups >= 0) & involved[possible.groups], label[possible.groups], -1)
    order = np.argsort(of_person, kind="stable")
    found = []
    for component, own in mine.items():
        start, stop = np.searchsorted(of_person[order], [component, component + 1])
        people = order[start:stop]
        found.append((people, [Refusal(np.searchsorted(people, each.people), each.labels) for each in own]))
    return found
