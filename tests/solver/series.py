"""Tiny random series that some world explains: people, groups, values that stay or change, counterfeits, registers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reissue._arrays import Floats
from reissue.solver import Observation
from tests.solver.worlds import observed

KINDS: dict[str, dict[str, Any]] = {
    "groups known": {},
    "counterfeits": {"counterfeits": 0.4},
    "register": {"register": True},
    "larger register": {"register": True, "absent": True, "releases": 2},
    "coalition": {"coalition": True},
    "counterfeits, register": {"counterfeits": 0.6, "register": True, "releases": 2},
    "totals": {"counterfeits": 0.6, "totals": True},
    "totals, register": {"counterfeits": 0.6, "totals": True, "register": True},
}
"""Kinds of tiny series, by what they are drawn with."""


@dataclass(frozen=True)
class Tiny:
    """A series, and what it was made of."""

    series: list[Observation]
    values: int
    steps: Floats | None


def tiny(
    rng: np.random.Generator,
    *,
    people: int = 4,
    releases: int = 3,
    values: int = 3,
    counterfeits: float = 0.0,
    register: bool = False,
    absent: bool = False,
    coalition: bool = False,
    totals: bool = False,
) -> Tiny:
    """Draw one; a register fits some people into two groups, or leaves open whether they are there.

    With `totals` it is known how many people have each value, and so how many counterfeits do.
    """
    steps = None if rng.random() < 0.5 else _steps(rng, values)
    true = rng.integers(0, values, people)
    series = []
    for _ in range(releases):
        seen = _release(rng, true, values, counterfeits, register=register, absent=absent, coalition=coalition)
        series.append(seen[0] if not totals else replace(seen[0], counterfeits=np.bincount(seen[1], minlength=values)))
        if steps is not None:
            true = np.array([rng.choice(values, p=steps[value]) for value in true])
    return Tiny(series, values, steps)


def _steps(rng: np.random.Generator, values: int) -> Floats:
    steps = rng.random((values, values)) * (rng.random((values, values)) < 0.6) + np.eye(values)
    return np.asarray(steps / steps.sum(axis=1, keepdims=True))


def _release(
    rng: np.random.Generator,
    true: np.ndarray,
    values: int,
    counterfeits: float,
    *,
    register: bool,
    absent: bool,
    coalition: bool,
) -> tuple[Observation, list[int]]:
    """A release, and the values of its counterfeits."""
    here = np.flatnonzero(rng.random(len(true)) < 0.8)
    here = here if len(here) else np.array([0])
    cuts = max(1, len(here) // 2)
    number = rng.integers(0, cuts, len(here))
    groups, known, invented = [], {}, list[int]()
    for group in np.unique(number):
        members = [int(person) for person in here[number == group]]
        fakes = int(rng.random() < counterfeits)
        more = rng.integers(0, values, fakes).tolist()
        shown = [int(true[person]) for person in members] + more
        invented += more
        groups.append((members, {value: shown.count(value) for value in set(shown)}, fakes))
    if register and len(groups) > 1:
        for person in here[rng.random(len(here)) < 0.4]:
            other = int(rng.integers(0, len(groups)))
            if person not in groups[other][0]:
                groups[other][0].append(int(person))
    away: list[int] = []
    if absent:
        away = [int(person) for person in range(len(true)) if rng.random() < 0.3]
        for person in set(away) - set(here.tolist()):
            groups[int(rng.integers(0, len(groups)))][0].append(person)
    if coalition:
        known = {int(person): int(true[person]) for person in here[rng.random(len(here)) < 0.2] if person not in away}
    return observed(groups, absent=away, known=known), invented
