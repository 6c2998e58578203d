"""How the risk of a series grew: the same attacks by someone who stopped collecting earlier."""

from reissue.attacks.disclosure.counting import disclosed
from reissue.attacks.findings import AttackedRelease, Finding, Point, Status
from reissue.attacks.registry import Attack
from reissue.attacks.run import over_time
from reissue.people.knowledge import Knowledge
from reissue.published import PublishedRelease
from reissue.published.series import Series

__all__ = ["attacked", "timeline_of"]

MOST = 12
"""Longer series are looked at in this many places: every place costs another run on the releases up to it."""
FEW = 4
"""The same of large series: together these cost an attack that compares releases one and a half runs more."""
CHEAP = 20_000
"""Series with fewer ways of people to be in groups are small."""
WAYS = 300_000
"""Series with more ways of people to be in groups are not attacked again for their first releases."""


def timeline_of(attack: Attack, found: Finding, series: Series, knowledge: Knowledge) -> tuple[Point, ...]:
    """What the attack finds in the first releases, or, if it judges every release by itself, in each of them.

    Releases that withstood one of the second kind did so each, so it need not be run again. All are measured against
    the limit of the whole series. A place where the attack cannot be run is left out.
    """
    held = found.releases
    if found.status == Status.NOT_RUN or len(held) < 2:
        return ()
    if attack.per_release and found.status == Status.WITHSTOOD:
        return tuple(Point(held[place], 0, found.population, None) for place in _places(len(held), MOST))
    ways = _ways(series, found) if attack.compares else 0
    if ways > WAYS:
        return ()
    places = _places(len(held), FEW if ways > CHEAP else MOST)
    judged = zip(places, over_time(attack, found, series, knowledge, places), strict=True)
    return tuple(Point(held[place], one.people, one.population, one.worst) for place, one in judged if one is not None)


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
        if release.counts:
            shown.append(_counted(number, name or f"release {number}", release))
            continue
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


def _counted(number: int, name: str, release: PublishedRelease) -> AttackedRelease:
    """A release of tables of counts: its groups are the cells of its largest table."""
    table = max(release.counts, key=lambda one: one.cells)
    detailed = next(table.margins())
    shown = detailed.low[(detailed.low == detailed.high) & (detailed.low > 0)]
    smallest, unique = int(shown.min(initial=int(detailed.low.sum()))), int((shown == 1).sum())
    return AttackedRelease(number, name, int(detailed.low.sum()), len(detailed.low), smallest, unique)


def _largest_share(release: PublishedRelease, series: Series) -> float | None:
    """The largest share of one value in a group; None where the release shows no sensitive value."""
    return max((one.largest for one in disclosed(release, series, Knowledge()).columns), default=None)
