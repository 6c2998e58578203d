"""How the risk of a series grew: the same attacks by someone who stopped collecting earlier."""

from dataclasses import replace

from reissue.attacks import Attack
from reissue.attacks.findings import Attacked, Finding, Point, Status
from reissue.attacks.run import run_attack
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = ["attacked", "timeline_of"]

MOST = 12
"""Longer series are looked at in so many places: the attacks take their time."""
FEW = 4
"""The same for an attack that solves for everyone at once; together these cost it one and a half runs more."""
WAYS = 300_000
"""Series with more ways of people to be in groups are not solved again for their first releases."""


def timeline_of(attack: Attack, found: Finding, series: Series, knowledge: Knowledge) -> tuple[Point, ...]:
    """What the attack finds in the first releases, or, if it judges every release by itself, in each of them.

    Releases that withstood one of the second kind did so each, so it need not be run again. All are measured against
    the limit of the whole series. A place where the attack cannot be run is left out.
    """
    held = found.releases
    if found.status == Status.NOT_RUN or len(held) < 2:
        return ()
    if found.limit is not None and not attack.alone:
        series = replace(series, limits={**series.limits, attack.name: found.limit})
    if attack.alone and found.status == Status.WITHSTOOD:
        return tuple(Point(held[place], 0, found.population, None) for place in _places(len(held), MOST))
    rows = sum(release.main.height for release in series.releases)
    if attack.heavy and rows * max(float(found.details.get("fits", 1.0)), 1.0) > WAYS:
        return ()
    points = []
    for place in _places(len(held), FEW if attack.heavy else MOST):
        some = held[place : place + 1] if attack.alone else held[: place + 1]
        one = found if len(some) == len(held) else run_attack(attack, series, replace(knowledge, holds=tuple(some)))
        if one.status != Status.NOT_RUN:
            points.append(Point(held[place], one.people, one.population, one.worst))
    return tuple(points)


def _places(number: int, most: int) -> list[int]:
    """Where to look: everywhere in a short series, evenly in a long one, the end always."""
    if number <= most:
        return list(range(number))
    return sorted({round((step + 1) * number / most) - 1 for step in range(most)})


def attacked(series: Series) -> tuple[Attacked, ...]:
    """What a recipient counts in each release."""
    shown = []
    for number, release in zip(series.numbers, series.releases, strict=True):
        name = "" if release.tables.path is None else release.tables.path.name
        smallest = int(release.sizes.min(initial=release.main.height))
        shown.append(Attacked(number, name or f"release {number}", release.main.height, release.groups, smallest))
    return tuple(shown)
