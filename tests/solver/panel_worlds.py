"""All worlds of a tiny panel, straight from the definition: who is in which slot, and which label each slot has.

A reader knows who was there when, and sees of every label what it shows in which release. Values move by the update
model, of people (there or away) and of counterfeits alike; a newcomer takes a slot that has just moved to the
newcomer's own value.
"""

from collections.abc import Sequence
from itertools import permutations, product
from math import prod

import numpy as np

from reissue._arrays import Floats
from tests.solver.seat_worlds import Places

Path = tuple[int | None, ...]
"""What a label shows in each release; None where it is not published."""


def label_posterior(
    places: Sequence[Places],
    labels: Sequence[Path],
    prior: Floats,
    steps: Floats,
    *,
    newcomers: Floats | None = None,
    back_with_own: bool = False,
    known: dict[tuple[str, int], int] | None = None,
) -> dict[tuple[str, int], float]:
    """Person and label to how likely the person was in it, over all ways to fill slots and to label them.

    `newcomers` says how likely each value is of those who arrive later: all alike if it is not given. With
    `back_with_own` whoever is back brings the value they have, whatever the slot showed meanwhile; without it they are
    back only where the slot has that value. `known` is person and release to a value that the reader knows.
    """
    arriving = np.ones(len(prior)) if newcomers is None else newcomers
    found: dict[tuple[str, int], float] = {}
    total = 0.0
    for way, order in product(places, permutations(range(len(labels)))):
        stories = [_story(way, slot) for slot in range(len(labels))]
        if any(labels[order[slot]][time] is None for time, here in enumerate(way) for slot in here.values()):
            continue
        heavy = prod(
            _weight(stories[slot], labels[label], prior, steps, arriving, own=back_with_own)
            for slot, label in enumerate(order)
        )
        if any(labels[order[way[time][person]]][time] != value for (person, time), value in (known or {}).items()):
            continue
        total += heavy
        for person, slot in {item for here in way for item in here.items()}:
            found[person, order[slot]] = found.get((person, order[slot]), 0.0) + heavy
    return {key: one / total for key, one in found.items() if one}


def _story(way: Places, slot: int) -> list[str | None]:
    """Who is in a slot in each release."""
    return [next((person for person, place in here.items() if place == slot), None) for here in way]


def _weight(
    story: Sequence[str | None], path: Path, prior: Floats, steps: Floats, newcomers: Floats, *, own: bool
) -> float:
    """How likely a slot of this story shows this path: summed over what it had where it was not shown."""
    hidden = [range(len(prior)) if value is None else (value,) for value in path]
    return sum(_life(story, path, values, prior, steps, newcomers, own=own) for values in product(*hidden))


def _life(
    story: Sequence[str | None],
    path: Path,
    values: Sequence[int],
    prior: Floats,
    steps: Floats,
    newcomers: Floats,
    *,
    own: bool,
) -> float:
    weight = float(prior[values[0]])
    for time in range(1, len(values)):
        person, before = story[time], [at for at in range(time) if story[at] == story[time]]
        step = float(steps[values[time - 1], values[time]])
        if person is None or story[time - 1] == person:
            weight *= step
        elif not before:
            weight *= step * float(newcomers[values[time]])
        elif all(path[at] is None for at in range(before[-1] + 1, time)):
            weight *= step  # nothing was shown meanwhile: these are the person's own values
        else:
            away = float(np.linalg.matrix_power(steps, time - before[-1])[values[before[-1]], values[time]])
            weight *= away if own else step * away
    return weight
