"""How the risk of a series grew: the same attacks by someone who stopped collecting earlier."""

from reissue.attacks.disclosure.counting import disclosed
from reissue.attacks.findings import AttackedRelease, Finding, Point, Status
from reissue.attacks.run import Ran
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series

__all__ = ["attacked", "places_of", "timeline_of"]

MOST = 12
"""Longer series are looked at in this many places: the attacks take their time."""
FEW = 4
"""The same for an attack that solves for everyone at once; together these cost it one and a half runs more."""
CHEAP = 20_000
"""Series with fewer ways of people to be in groups are solved for every release, as by any other attack."""
WAYS = 300_000
"""Series with more ways of people to be in groups are not solved again for their first releases."""


def places_of(series: Series, knowledge: Knowledge) -> list[int]:
    """Where to look, at most: places of the releases held, from 0."""
    return _places(len(knowledge.held(len(series))), MOST)


def timeline_of(ran: Ran) -> tuple[Point, ...]:
    """What the attack finds in the first releases, or, if it judges every release by itself, in each of them.

    Releases that withstood one of the second kind did so each, so it need not be run again. All are measured against
    the limit of the whole series. A place where the attack cannot be run is left out.
    """
    attack, found, held = ran.attack, ran.finding, ran.finding.releases
    if found.status == Status.NOT_RUN or len(held) < 2:
        return ()
    ways = _ways(ran.series, found) if attack.heavy else 0
    if ways > WAYS:
        return ()
    places = _places(len(held), FEW if ways > CHEAP else MOST)
    if attack.per_release and found.status == Status.WITHSTOOD:
        return tuple(Point(held[place], 0, found.population, None) for place in places)
    judged = zip(places, ran.found_at(places), strict=True)
    known = [(place, one) for place, one in judged if one is not None and one.status != Status.NOT_RUN]
    return tuple(Point(held[place], one.people, one.population, one.worst) for place, one in known)


def _ways(series: Series, found: Finding) -> float:
    """How many ways of people to be in groups there are, about."""
    rows = sum(release.main.height for release in series.releases)
    return rows * max(float(found.details.get("fits", 1.0)), 1.0)


def _places(number: int, most: int) -> list[int]:
    """Where to look: everywhere in a short series, evenly in a long one, the end always."""
    if number <= most:
        return list(range(number))
    return sorted({round((step + 1) * number / most) - 1 for step in range(most)})


def attacked(series: Series) -> tuple[AttackedRelease, ...]:
    """What a recipient counts in each release."""
    shown = []
    for number, release in zip(series.numbers, series.releases, strict=True):
        name = "" if release.tables.path is None else release.tables.path.name
        seen = release.of_its_columns()
        sizes = seen.sizes
        shown.append(
            AttackedRelease(
                number,
                name or f"release {number}",
                int(sizes.sum()),
                seen.groups,
                int(sizes.min(initial=int(sizes.sum()))),
                int((sizes == 1).sum()),
                _largest_share(release, series),
            )
        )
    return tuple(shown)


def _largest_share(release: PublishedRelease, series: Series) -> float | None:
    """The largest share of one value in a group; None where the release shows no sensitive value."""
    return max((one.largest for one in disclosed(release, series, Knowledge()).columns), default=None)
