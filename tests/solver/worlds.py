"""All worlds of a tiny series, straight from the definition: everyone gets a group and a value in every release."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import factorial, prod

import numpy as np

from reissue._arrays import Floats
from reissue.solver import Observation

Place = tuple[int | None, int]
"""A group, or none, and a value."""


def observed(
    groups: Sequence[tuple[Sequence[int], dict[int, int], int]],
    *,
    absent: Sequence[int] = (),
    known: dict[int, int] | None = None,
    shares: Sequence[float] = (),
) -> Observation:
    """A release from its groups: who may be in it, its histogram, its counterfeits."""
    pairs = sorted((person, number) for number, (people, _, _) in enumerate(groups) for person in people)
    slots = [(number, *item) for number, (_, shown, _) in enumerate(groups) for item in sorted(shown.items())]
    known = known or {}
    person, number = np.array(pairs, np.int64).T
    group, value, count = np.array(slots, np.int64).T
    return Observation(
        person,
        number,
        group,
        value,
        count,
        np.array([free for _, _, free in groups], np.int64),
        absent=np.array(sorted(absent), np.int64),
        known_person=np.array(sorted(known), np.int64),
        known_value=np.array([known[person] for person in sorted(known)], np.int64),
        shares=np.array(shares),
    )


def posterior(
    series: Sequence[Observation],
    values: int,
    steps: Floats | None = None,
    prior: Floats | None = None,
    leaving: Floats | None = None,
) -> dict[tuple[int, int, int], float]:
    """Person, release and value to its probability, over all worlds by their weight.

    `leaving` is how likely who has a value is gone in the next release.
    """
    steps = np.eye(values) if steps is None else steps
    people = sorted({int(person) for seen in series for person in seen.people})
    rates = np.full(values, 0.5) if leaving is None else leaving
    histories = [_histories(series, person, values, steps, prior, rates) for person in people]
    found: dict[tuple[int, int, int], float] = {}
    total = 0.0
    shown = [_shown(seen) for seen in series]
    for world in product(*histories):
        weight = prod(weight for _, weight in world)
        for time, seen in enumerate(series):
            here = [places[time] for places, _ in world]
            weight = weight and weight * _ways(seen, shown[time], here) * _as_known(seen, shown[time], here)
        if not weight:
            continue
        total += weight
        for person, (places, _) in zip(people, world, strict=True):
            for time, place in enumerate(places):
                if place is not None:
                    key = person, time, place[1]
                    found[key] = found.get(key, 0.0) + weight
    return {key: weight / total for key, weight in found.items()}


def _histories(
    series: Sequence[Observation], person: int, values: int, steps: Floats, prior: Floats | None, leaving: Floats
) -> list[tuple[list[Place | None], float]]:
    """Every history of a person with its weight; None where the person is surely not in a release."""
    choices: list[list[Place | None]] = []
    for seen in series:
        groups: list[int | None] = [int(group) for group in seen.group[seen.person == person]]
        groups += [None] if person in seen.absent else []
        known = dict(zip(seen.known_person.tolist(), seen.known_value.tolist(), strict=True))
        some = [known[person]] if person in known else range(values)
        shown = set(zip(seen.cell_group.tolist(), seen.cell_value.tolist(), strict=True))
        open_places = [(group, value) for group in groups for value in some if group is None or (group, value) in shown]
        choices.append([*open_places] or [None])
    made = []
    for places in product(*choices):
        weight, last = 1.0, None
        for time, place in enumerate(places):
            if place is None:
                continue
            if last is None:
                weight *= 1.0 if prior is None else float(prior[person, place[1]])
            else:
                weight *= float(np.linalg.matrix_power(steps, time - last[0])[last[1], place[1]])
            last = time, place[1]
            if person not in series[time].absent and time + 1 < len(series):
                weight *= _fate(series[time + 1], person, float(leaving[place[1]]))
        if weight:
            made.append((list(places), weight))
    return made


def _fate(later: Observation, person: int, leaves: float) -> float:
    """How likely it is to be in the next release, or not, as the person is; where that is open anything may be."""
    if person in later.absent:
        return 1.0
    return 1 - leaves if person in later.person else leaves


def _shown(seen: Observation) -> list[dict[int, int]]:
    """Group to how often it shows each value."""
    made: list[dict[int, int]] = [{} for _ in range(seen.groups)]
    for group, value, count in zip(seen.cell_group, seen.cell_value, seen.cell_count, strict=True):
        made[int(group)][int(value)] = int(count)
    return made


def _as_known(seen: Observation, groups: list[dict[int, int]], places: list[Place | None]) -> bool:
    """Whether as many records of each value are nobody's as the reader knows."""
    left = Counter(value for shown in groups for value, count in shown.items() for _ in range(count))
    left.subtract(place[1] for place in places if place is not None and place[0] is not None)
    return not len(seen.counterfeits) or all(
        left[value] == count for value, count in enumerate(seen.counterfeits.tolist())
    )


def _ways(seen: Observation, groups: list[dict[int, int]], places: list[Place | None]) -> float:
    """How many ways there are to give the free members of all groups the values that are left."""
    ways = 1.0
    for group, counts in enumerate(groups):
        shown = dict(counts)
        for place in places:
            if place is not None and place[0] == group:
                shown[place[1]] = shown.get(place[1], 0) - 1
        if min(shown.values()) < 0 or sum(shown.values()) != seen.free[group]:
            return 0.0
        ways *= factorial(int(seen.free[group])) / prod(factorial(left) for left in shown.values())
        if len(seen.shares):
            ways *= prod(float(seen.shares[value]) ** left for value, left in shown.items())
    return ways
