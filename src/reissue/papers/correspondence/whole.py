"""What all releases of a growing table leave, taken at once: for exact answers, and where chains cannot be followed.

Chains are built from the last release to the first (see `chains`). Releases that are no global recodings
are compared as boxes, two at a time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.attacks.findings import Finding, Status
from reissue.attacks.pictures import Case
from reissue.errors import CannotRunError
from reissue.papers.correspondence import case as cases
from reissue.papers.correspondence.chains import Targets, targets
from reissue.papers.correspondence.finding import MEASURE, NAME, ChainGroup, Tally, WorstTarget, finding, records
from reissue.papers.correspondence.recodings import refuse_other_recodings, varying
from reissue.published.boxes import ReleaseCounts, SeriesCounts
from reissue.published.series import Series

__all__ = ["all_at_once"]


def all_at_once(series: Series, views: SeriesCounts) -> Finding:
    """How many records are left for each possible target, with the case of the one that is worst off."""
    limit = int(series.limits.get(NAME) or series.k or min(int(view.sizes.min()) for view in views.releases))
    try:
        refuse_other_recodings(views, series.numbers)
    except CannotRunError as obstacle:
        return _as_boxes(series, views, limit, str(obstacle))
    certain = len(views.releases) == 2 or varying(views) <= 1
    more: dict[str, object] = {"exact": certain}
    some: Iterable[Targets] = targets(views)
    if series.exact and not certain:
        from reissue.papers.correspondence.exact import solve

        answer = solve(list(some), views.releases)
        some = answer.targets
        more = {"exact": not answer.too_large, "components": {"solved": answer.solved, "bounded": answer.too_large}}
    tally, target = _tally(some, views, limit)
    found = finding(series.numbers, tally, limit, more)
    return replace(found, details={**found.details, "case": _case(series, views, target, limit)})


# --- counting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Target:
    """A target's chain of groups."""

    arrived: int
    groups: tuple[int, ...]
    terms: Mapping[int, int]
    """Value to how many records with it are left."""


def _tally(some: Iterable[Targets], views: SeriesCounts, limit: int) -> tuple[Tally, _Target]:
    releases = views.releases
    left = [0] * len(releases)
    left_of_entry = np.zeros(len(releases[-1].count), np.int64)
    found: list[tuple[WorstTarget, _Target]] = []
    exposed = 0
    for part in some:
        possible = np.flatnonzero(part.sizes > 0)
        if not len(possible):
            continue
        value = int(part.sizes[possible].min())
        left[part.arrived] = min(left[part.arrived] or value, value)
        lowest = possible[part.sizes[possible] == value]
        least = int(lowest[np.lexsort(part.nodes[::-1, lowest])[0]])
        worst = WorstTarget(value, part.arrived, tuple(part.nodes[:, least].tolist()))
        if not found or worst < found[0][0]:
            found = [(worst, _Target(part.arrived, _groups(part, least, releases), part.counts_of(least)))]
        low = (part.sizes > 0) & (part.sizes < limit)
        exposed += int(low.sum())
        term = part.count * np.repeat(low, part.lengths)
        left_of_entry += np.bincount(part.entries[-1], term, len(left_of_entry)).astype(np.int64)
    worst, target = found[0]
    people = int(np.minimum(left_of_entry, releases[-1].count).sum())
    return Tally(tuple(left), worst, _chain_groups(views, target), exposed, people, releases[-1].records), target


def _chain_groups(views: SeriesCounts, target: _Target) -> tuple[ChainGroup, ...]:
    places = enumerate(target.groups, start=target.arrived)
    return tuple(
        ChainGroup(int(views.releases[place].sizes[group]), views.text(place, group)) for place, group in places
    )


def _groups(part: Targets, chain: int, releases: Sequence[ReleaseCounts]) -> tuple[int, ...]:
    """The groups along a chain."""
    first = part.starts[chain]
    held = zip(part.entries, releases[part.arrived :], strict=True)
    return tuple(int(view.group[entry[first]]) for entry, view in held)


# --- telling ---------------------------------------------------------------------------------------------------------


def _as_boxes(series: Series, views: SeriesCounts, limit: int, obstacle: str) -> Finding:
    """What can still be said of releases that are no global recodings."""
    from reissue.papers.correspondence.boxes import exposures

    found = exposures(views, limit)
    if not found:
        raise CannotRunError(f"{obstacle} Compared as boxes, two at a time, no record can be ruled out for certain.")
    worst = min(found, key=lambda one: one.left)
    size = min(
        int(views.releases[at].sizes[g]) for at, g in zip((worst.earlier, worst.later), worst.groups, strict=True)
    )
    earlier, later = series.numbers[worst.earlier], series.numbers[worst.later]
    people, population = max(one.people for one in found), views.releases[-1].records
    return Finding(
        NAME,
        Status.EXPOSED,
        f"Holding releases {earlier} and {later} together, {records(size)} that look alike are only {worst.left:,} "
        f"for someone who is in release {earlier}, if records only arrived; the limit is {limit:,}. The releases are "
        "no global recodings, so there may be more.",
        series.numbers,
        people=people,
        population=population,
        measure=MEASURE,
        worst=worst.left,
        limit=limit,
        details={
            "left": [None] * len(series),
            "exact": False,
            "partial": obstacle,
            "pair": [earlier, later],
            "case": cases.of_pair(views, series.numbers, worst, limit),
        },
    )


def _case(series: Series, views: SeriesCounts, target: _Target, limit: int) -> Case:
    groups = dict(enumerate(target.groups, start=target.arrived))
    since = target.arrived - 1 if target.arrived else None
    return cases.tell(views, series.numbers, groups, target.terms, limit, since)
