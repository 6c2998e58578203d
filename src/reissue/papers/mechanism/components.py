"""Refusals of a large release: groups that no refusal ties together are attacked on their own.

Most of what Mondrian refused are splits of groups that it then published: they touch one group each. Groups that a
higher refusal ties together form one component. Worlds of different components are independent, so each component is
enumerated or sampled by itself, and tables of any size can be attacked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Domain
from reissue.papers.mechanism.possible import Possible, enough, weigh
from reissue.papers.mechanism.refusals import Refusal, refused
from reissue.requirements import Requirement

__all__ = ["Parts", "by_components"]


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
