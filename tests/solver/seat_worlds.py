"""All worlds of a tiny cohort, straight from the definition: who is in which seat, and what its values were."""

from collections.abc import Sequence
from itertools import pairwise, permutations, product

import numpy as np

from reissue._arrays import Floats

Places = list[dict[str, int]]
"""Release to who is in which seat."""


def occupations(presence: Sequence[Sequence[str]], seats: int, gone: Sequence[tuple[int, ...]] = ()) -> list[Places]:
    """Every way in which people can have come into seats: founders in any order, newcomers into any empty seat.

    Whoever is back takes the seat that was theirs. `gone` are the seats that are let go before each release.
    """
    made: list[tuple[Places, dict[str, int]]] = [([], {})]
    for time, here in enumerate(presence):
        longer = []
        open_seats = set(range(seats)) - {seat for some in gone[: time + 1] for seat in some}
        for places, home in made:
            back = {person: home[person] for person in here if person in home}
            new = [person for person in here if person not in home]
            free = sorted(open_seats - set(back.values()))
            for chosen in permutations(free, len(new)):
                now = back | dict(zip(new, chosen, strict=True))
                longer.append(([*places, now], home | now))
        made = longer
    return [places for places, _ in made]


def posterior(
    places: Sequence[Places],
    shown: Sequence[dict[int, int]],
    lives: Sequence[int],
    prior: Floats,
    steps: Floats,
) -> dict[tuple[str, int, int], float]:
    """Person, release and value to its probability. `lives` says for each seat in how many releases it is published."""
    values, releases = len(prior), len(shown)
    paths = list(product(range(values), repeat=releases))
    weight = {path: float(prior[path[0]]) * _chance(path, steps) for path in paths}
    possible = [path for path in paths if weight[path]]
    found: dict[tuple[str, int, int], float] = {}
    total = 0.0
    for world in product(possible, repeat=len(lives)):
        if any(_histogram(world, lives, time) != shown[time] for time in range(releases)):
            continue
        heavy = float(np.prod([weight[path] for path in world]))
        for way in places:
            total += heavy
            for time, here in enumerate(way):
                for person, seat in here.items():
                    key = person, time, world[seat][time]
                    found[key] = found.get(key, 0.0) + heavy
    return {key: one / total for key, one in found.items()}


def _chance(path: tuple[int, ...], steps: Floats) -> float:
    return float(np.prod([steps[a, b] for a, b in pairwise(path)]))


def _histogram(world: Sequence[tuple[int, ...]], lives: Sequence[int], time: int) -> dict[int, int]:
    shown: dict[int, int] = {}
    for path, life in zip(world, lives, strict=True):
        if time < life:
            shown[path[time]] = shown.get(path[time], 0) + 1
    return shown
