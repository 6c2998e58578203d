"""The worlds of a series of groups whose people keep their values, and what is believed under conditions on them.

People whom groups tie together form a *part*, and its worlds are enumerated. Conditions tie parts together; these are
enumerated together, or sampled, or, where samples hardly ever fit, walked from the true world, a few parts at a time.
O(worlds of a part x its groups x values), and the conditions' own cost for each world that is tried.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.errors import CannotRunError
from reissue.papers.mechanism.possible import ENOUGH, Belief, steps
from reissue.papers.worlds import worlds_of

__all__ = ["MOST_WORLDS", "Condition", "SeriesWorlds", "conditioned"]

MOST_WORLDS = 50_000
"""Worlds of a part, at most."""
_STEPS = 4 * MOST_WORLDS
"""Partial worlds that are gone through for them, at most: some seconds and 100 MB."""
_BATCH = 4096
_NEAREST = 32
"""So many worlds with one part drawn anew are tried first: if none fits, fewer than one in ten does, most likely."""


# --- the worlds of a series ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SeriesWorlds:
    """What a series of groups says about the values of people who keep them."""

    groups: Ints
    """Releases x people: the group, numbered over all releases; -1 where the person is absent."""
    stock: Ints
    """Groups x values: how many records show the value."""

    @property
    def shares(self) -> Floats:
        """Value to its share of all records."""
        totals = self.stock.sum(axis=0)
        return np.asarray(totals / max(int(totals.sum()), 1), np.float64)

    def parts(self) -> Ints:
        """Person to the part of people whom groups tie together."""
        release, person = np.nonzero(self.groups >= 0)
        people, groups = self.groups.shape[1], len(self.stock)
        links = person, people + self.groups[release, person]
        return _tied(people + groups, *links)[:people]

    def worlds(self, people: Ints) -> Codes | None:
        """All worlds of some people whose groups hold nobody else (worlds x people); None if there are too many."""
        groups = self.groups[:, people]
        used = np.unique(groups[groups >= 0])
        values = np.flatnonzero(self.stock[used].sum(axis=0))
        inside = (groups[np.newaxis] == used[:, np.newaxis, np.newaxis]).any(axis=1).astype(np.int64)
        found, _ = worlds_of(inside, self.stock[used][:, values], _STEPS)
        return None if found is None or len(found) > MOST_WORLDS else np.asarray(values[found], np.int32)


def _tied(size: int, one: Ints, other: Ints) -> Ints:
    graph = coo_array((np.ones(len(one), np.bool_), (one, other)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


@dataclass(frozen=True, eq=False)
class Condition:
    """What a release says about the values of some people to someone who knows how it was made."""

    people: Ints
    keep: Callable[[Codes], Bools]
    """Worlds of these people (worlds x people) to whether each fits."""


# --- conditioning ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Part:
    """People whom groups tie together, and all their worlds."""

    people: Ints
    worlds: Codes
    chance: Floats
    """World to its probability before any condition."""

    def posterior(self, values: int) -> Floats:
        """People x values."""
        found = np.zeros((len(self.people), values))
        for place, column in enumerate(self.worlds.T):
            found[place] = np.bincount(column, self.chance, values)
        return found


def conditioned(
    series: SeriesWorlds,
    conditions: Sequence[Condition],
    *,
    budget: int,
    truth: Codes | None = None,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[Belief, Floats]:
    """Return what is believed of everyone, and what is without the conditions (people x values).

    Parameters
    ----------
    series
        The groups of all releases, and what they show.
    conditions
        What the releases say to someone who knows how they were made.
    budget
        How many worlds are tried for people whom conditions tie together.
    truth
        A world that meets all conditions, from which others are walked to; None: worlds are enumerated or sampled only.
    rng
        For samples and walks.
    progress
        Called with the share that is done.

    """
    rng = rng or np.random.default_rng(0)
    people, values = series.groups.shape[1], series.stock.shape[1]
    part_of = series.parts()
    parts = [_part(series, np.flatnonzero(part_of == number)) for number in range(int(part_of.max()) + 1)]
    alone = np.zeros((people, values))
    for one in filter(None, parts):
        alone[one.people] = one.posterior(values)
    solved = np.array([one is not None for one in parts])
    found = Belief(alone.copy(), np.full(people, -1), solved[part_of], 0, 0, 0)
    ties = [np.unique(part_of[one.people]) for one in conditions]
    first = np.concatenate([np.full(len(tie), tie[0]) for tie in ties]) if ties else np.empty(0, np.int64)
    of_part = _tied(len(parts), first, np.concatenate(ties) if ties else first)
    tied_parts = np.unique(of_part[first])
    for done, component in enumerate(tied_parts.tolist()):
        chosen = np.flatnonzero(of_part == component)
        own = [one for one, tie in zip(conditions, ties, strict=True) if of_part[tie[0]] == component]
        inside = [parts[place] for place in chosen.tolist()]
        found = _with(found, [one for one in inside if one is not None], own, part_of, chosen, budget, truth, rng)
        progress((done + 1) / len(tied_parts))
    return found, alone


def _part(series: SeriesWorlds, people: Ints) -> _Part | None:
    worlds = series.worlds(people)
    if worlds is None:
        return None
    if not len(worlds):
        raise CannotRunError(
            "no values that stay the same explain these releases together: somebody's value changed, or records are "
            "not of the people that they are said to be."
        )
    weight = np.log(np.maximum(series.shares, np.finfo(np.float64).tiny))[worlds].sum(axis=1)
    chance = np.exp(weight - weight.max())
    return _Part(people, worlds, chance / chance.sum())


def _with(
    found: Belief,
    parts: list[_Part],
    conditions: list[Condition],
    part_of: Ints,
    chosen: Ints,
    budget: int,
    truth: Codes | None,
    rng: np.random.Generator,
) -> Belief:
    """The beliefs, with one set of tied parts solved."""
    everyone = np.isin(part_of, chosen)
    posterior, support, known = found.posterior, found.support.copy(), found.known.copy()
    if len(parts) < len(chosen):
        known[everyone] = False
        return replace(found, known=known)
    tied = _Tied(parts, conditions, len(part_of), posterior.shape[1])
    number = tied.number_up_to(budget + 1)
    if number <= budget:
        posterior[everyone], kept = tied.enumerated()[everyone], tied.kept
        if not kept:
            raise CannotRunError(
                "none of the worlds that the groups allow leads to these releases by this algorithm or requirement."
            )
        return replace(found, worlds=found.worlds + number, tried=found.tried + number, kept=found.kept + kept)
    believed, own, walked = tied.drawn(budget, truth, rng)
    posterior[everyone], support[everyone] = believed[everyone], own[everyone]
    known[everyone] = own[everyone] >= ENOUGH
    return Belief(
        posterior,
        support,
        known,
        found.worlds + tied.number_up_to(10**300),
        found.tried + tied.tried,
        found.kept + tied.kept,
        walked=found.walked or walked,
    )


@dataclass(eq=False)
class _Tied:
    """Belief that conditions tie together, and how many of their worlds were tried and kept."""

    parts: list[_Part]
    conditions: list[Condition]
    people: int
    values: int
    tried: int = 0
    kept: int = 0

    def number_up_to(self, most: int) -> int:
        """How many worlds there are, or `most` if there are more."""
        found = 1
        for part in self.parts:
            found = min(found * len(part.worlds), most)
        return found

    def enumerated(self) -> Floats:
        """The posterior by all worlds, 0 for everyone else."""
        shape = [len(part.worlds) for part in self.parts]
        hits = np.zeros((self.people, self.values))
        for start in range(0, int(np.prod(shape)), _BATCH):
            chosen = np.unravel_index(np.arange(start, min(start + _BATCH, int(np.prod(shape)))), shape)
            worlds, fits = self._judged(np.stack(chosen))
            chances = [part.chance[at] for part, at in zip(self.parts, chosen, strict=True)]
            self._count(hits, worlds, np.prod(chances, axis=0) * fits)
        return np.asarray(hits / np.maximum(hits.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))

    def drawn(self, budget: int, truth: Codes | None, rng: np.random.Generator) -> tuple[Floats, Ints, bool]:
        """The posterior by worlds drawn, else by a walk; how many independent worlds it is worth; whether it walked."""
        nothing = np.zeros((self.people, self.values)), np.zeros(self.people, np.int64), False
        if truth is not None:
            near = np.tile(truth, (_NEAREST, 1))
            for world in near:
                self._redraw(world, 1, rng)
            if not self._fits(near).any():
                return nothing
        hits = np.zeros((self.people, self.values))
        for number in (256, budget - 256):
            places = np.stack([rng.choice(len(part.worlds), number, p=part.chance) for part in self.parts])
            worlds, fits = self._judged(places)
            self._count(hits, worlds, fits.astype(np.float64))
            if not self.kept:
                break
        if self.kept >= ENOUGH:
            return hits / self.kept, np.full(self.people, self.kept), False
        if truth is None:
            return nothing
        self.tried = self.kept = 0
        inside = np.sort(np.concatenate([part.people for part in self.parts]))
        believed, worth, taken = steps(
            truth,
            inside,
            self.values,
            lambda world, number: self._redraw(world, number, rng),
            self._fits,
            budget=budget,
            most=len(self.parts),
        )
        self.tried, self.kept = budget, taken
        return believed, worth, True

    def _redraw(self, world: Codes, number: int, rng: np.random.Generator) -> None:
        """Draw some parts of a world anew, in place."""
        for place in rng.choice(len(self.parts), min(number, len(self.parts)), replace=False).tolist():
            part = self.parts[place]
            world[part.people] = part.worlds[rng.choice(len(part.worlds), p=part.chance)]

    def _judged(self, places: Ints) -> tuple[Codes, Bools]:
        """The worlds with these numbers of worlds of the parts (parts x worlds), and which fit."""
        worlds = np.zeros((places.shape[1], self.people), np.int32)
        for part, at in zip(self.parts, places, strict=True):
            worlds[:, part.people] = part.worlds[at]
        fits = self._fits(worlds)
        self.tried, self.kept = self.tried + len(worlds), self.kept + int(fits.sum())
        return worlds, fits

    def _fits(self, worlds: Codes) -> Bools:
        keep = np.ones(len(worlds), np.bool_)
        for condition in self.conditions:
            if keep.any():
                keep[keep] = condition.keep(worlds[keep][:, condition.people])
        return keep

    def _count(self, hits: Floats, worlds: Codes, weight: Floats) -> None:
        for part in self.parts:
            for person in part.people.tolist():
                hits[person] += np.bincount(worlds[:, person], weight, self.values)
