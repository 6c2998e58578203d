"""What an algorithm refused (Wong et al. 2009, section 5.2): full-domain search, Mondrian, and any list of groupings.

A *refusal* is a grouping of people that the algorithm would have preferred: some of its groups broke the requirement.
For a requirement that unions keep (monotone), the refusals of the full-domain search and of Mondrian say all that
running them would: a grouping whose groups are unions of published ones meets the requirement, so it was not refused.
Judging a world by refusals takes a pass over the people for each, and no run of the algorithm.

**Incognito** (5.2.1) takes the combination of levels with the least loss, so every combination with less was refused.
Where a combination breaks the requirement so do all finer ones: the coarsest of those with less loss say it all.

**Mondrian** (5.2.2): most of what it refused are splits of groups that it then published, which touch one group each.
Groups that a higher refusal ties together form one component. Worlds of different components are independent, so each
component is enumerated or sampled by itself, and tables of any size can be attacked.

**Zhang, Jajodia and Brodsky 2007** (5.2.3) try groupings in an order that everybody knows: all before the published
one were refused.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import Counts, Domain
from reissue.counting.keys import pack
from reissue.data.table import Table
from reissue.errors import CannotRunError
from reissue.methods.lattice.lattice import Ladder, whole
from reissue.methods.lattice.measures import MEASURES
from reissue.papers.mechanism.possible import Belief, Possible, weigh
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Refusal", "by_components", "full_domain", "median_splits", "refused", "sequence"]

_NODES = 200_000
"""Combinations of levels, at most."""


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


def sequence(groupings: Sequence[Ints], published: int) -> list[Refusal]:
    """Return what a scheme refused that tries groupings in a known order (Zhang, Jajodia and Brodsky 2007).

    Parameters
    ----------
    groupings
        For each grouping in the order of preference the group of everyone.
    published
        The place of the published grouping, from 0.

    """
    return [_of_everyone(grouping) for grouping in groupings[:published]]


def _of_everyone(grouping: Ints) -> Refusal:
    return Refusal(np.arange(len(grouping)), np.unique(grouping, return_inverse=True)[1])


def full_domain(release: Release) -> list[Refusal]:
    """Return what the full-domain search refused before it published a release with cells as its loss: the coarsest."""
    table = release.table
    ladders = [Ladder.of(taxonomy) for taxonomy in table.taxonomies]
    shape = tuple(len(ladder) for ladder in ladders)
    if np.prod(shape) > _NODES:
        raise CannotRunError(f"there are more than {_NODES:,} combinations of levels.")
    levels = release.draft.notes["levels"]
    node = tuple(ladder.numbers.index(levels[name]) for ladder, name in zip(ladders, table.schema.quasi, strict=True))
    loss = MEASURES["cells"](ladders, whole(table, sensitive=False)).lowest
    better = loss < loss[node] - 1e-12
    coarsest = better.copy()
    for axis in range(better.ndim):
        above = np.roll(better, -1, axis=axis)
        above[(slice(None),) * axis + (-1,)] = False
        coarsest &= ~above
    return [_recoded(table, ladders, tuple(rungs)) for rungs in np.argwhere(coarsest).tolist()]


def _recoded(table: Table, ladders: Sequence[Ladder], rungs: tuple[int, ...]) -> Refusal:
    levels = [ladder.levels[rung] for ladder, rung in zip(ladders, rungs, strict=True)]
    columns = [level.node[codes] for level, codes in zip(levels, table.codes, strict=True)]
    return _of_everyone(pack(columns, [len(level.names) for level in levels])[0])


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


def by_components(
    possible: Possible,
    refusals: Sequence[Refusal],
    requirement: Requirement,
    *,
    budget: int = 20_000,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Belief:
    """What is believed when every refused grouping must have broken the requirement; a budget for each component."""
    rng = rng or np.random.default_rng(0)
    posterior = possible.shares
    support, known = np.full(len(possible.groups), -1), np.ones(len(possible.groups), np.bool_)
    if not refusals:
        progress(1.0)
        return Belief(posterior, support, known, possible.number_up_to(10**300), 0, 0)
    worlds = tried = kept = 0
    parts = _components(possible, refusals)
    for number, (people, own) in enumerate(parts):
        part = Possible(possible.groups[people], possible.values[people], possible.domain).packed()
        belief = weigh(part, partial(_keep, own, requirement, possible.domain), budget=budget, rng=rng)
        worlds, tried, kept = worlds + belief.worlds, tried + belief.tried, kept + belief.kept
        known[people], support[people] = belief.known, belief.support
        if belief.known.all():
            posterior[people] = belief.posterior
        progress((number + 1) / len(parts))
    return Belief(posterior, support, known, worlds, tried, kept)


def _keep(refusals: list[Refusal], requirement: Requirement, domain: Domain, worlds: Codes) -> Bools:
    return refused(worlds, refusals, requirement, domain)


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
