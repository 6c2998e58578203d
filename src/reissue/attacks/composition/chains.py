"""More than two releases: boxes that all overlap, one of each, are followed from pairs to whoever is in all of them.

A bounded search: from the pairs that leave least a box of one more release is added, then of another, those that leave
least first. It is complete if it ends before its bounds (`SEEDS` pairs to begin with, `STEPS` additions in all).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from reissue._arrays import Ints
from reissue.attacks.composition.boxes import SeriesBoxes
from reissue.attacks.composition.exposures import shared_part
from reissue.attacks.composition.pairs import SEEDS, Pairs
from reissue.attacks.composition.places import Place, Undecided, find_place, values_left

__all__ = ["STEPS", "FoundChains", "search_chains"]

STEPS = 3_000
"""This many boxes are added to chains in all."""


@dataclass(eq=False)
class FoundChains:
    """What the search found."""

    places: list[Place] = field(default_factory=list)
    steps: int = 0
    undecided: int = 0
    seen: set[frozenset[int]] = field(default_factory=set)

    @property
    def spent(self) -> bool:
        """Whether the search had to stop."""
        return self.steps >= STEPS


def search_chains(boxes: SeriesBoxes, seeds: Pairs, limit: int) -> tuple[FoundChains, bool]:
    """Places of three releases or more where fewer values than the limit are left, and whether these are all."""
    found = FoundChains()
    if boxes.releases < 3:
        return found, True
    for one, other in zip(seeds.one[:SEEDS].tolist(), seeds.other[:SEEDS].tolist(), strict=True):
        if found.spent:
            break
        _extend(boxes, (one, other), limit, found)
    return found, len(seeds) <= SEEDS and not found.spent and not found.undecided


def _extend(boxes: SeriesBoxes, seed: tuple[int, ...], limit: int, found: FoundChains) -> None:
    """All chains that begin with two boxes."""
    part = shared_part(boxes, seed)
    everywhere = np.arange(len(boxes.release))
    near = everywhere[boxes.reaching(part.lo, part.hi, everywhere)]
    waiting = [seed]
    while waiting and not found.spent:
        for chain, left in _longer(boxes, waiting.pop(), near, found):
            place = _place(boxes, chain, near, limit, found) if left < limit else None
            if place is not None:
                found.places.append(place)
            if len(chain) < boxes.releases and (place is None or place.left > 1):
                waiting.append(chain)


def _longer(
    boxes: SeriesBoxes, chain: tuple[int, ...], near: Ints, found: FoundChains
) -> Iterator[tuple[tuple[int, ...], int]]:
    """A chain with one box more, and how many values its groups leave; what leaves least is taken up first, so last."""
    part = shared_part(boxes, chain)
    fresh = near[~np.isin(boxes.release[near], boxes.release[list(chain)])]
    longer = []
    for box in fresh[boxes.reaching(part.lo, part.hi, fresh)].tolist():
        together = tuple(sorted((*chain, box)))
        if frozenset(together) in found.seen or found.spent:
            continue
        found.seen.add(frozenset(together))
        found.steps += 1
        sets = boxes.members(boxes.group[list(together)])
        left = int(values_left(sets, boxes.can).sum(axis=1).min())
        if left:
            longer.append((together, left))
    yield from sorted(longer, key=lambda one: -one[1])


def _place(boxes: SeriesBoxes, chain: tuple[int, ...], near: Ints, limit: int, found: FoundChains) -> Place | None:
    releases = tuple(boxes.release[list(chain)].tolist())
    part = shared_part(boxes, chain)
    own = near[np.isin(boxes.release[near], releases)]
    try:
        return find_place(boxes, part, releases, own[boxes.reaching(part.lo, part.hi, own)], limit)
    except Undecided:
        found.undecided += 1
        return None
