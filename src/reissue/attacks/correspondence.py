"""Correspondence attacks (Fung, Wang, Fu and Pei, "Anonymity for continuous data publishing", EDBT 2008).

Records only arrive; release i publishes everything up to time i, each release with cuts of its own. Who holds several
releases can rule records out: a record of release 1 needs a partner in release 2 (F-attack, definition 3.1), a record
of release 2 that stands for somebody of release 1 needs one there (C-attack, definition 3.3), and one that must be
somebody of release 1 is nobody who came later (B-attack, definition 3.5). What remains for a target is `left`, one line
for any number of releases (see `_chains`), exact for two, and for one attribute whose cuts differ; otherwise `exact`
makes it so (see `_correspondence_exact`). The attack succeeds if `left` is below the k that the releases promise.

It reads published columns alone, so any tool's global recoding will do: in every release the published values of an
attribute are disjoint, and between releases one lies inside the other or apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from reissue.attacks._base import CannotRunError, Knowledge, attack
from reissue.attacks._chains import Targets, targets
from reissue.attacks._correspondence_exact import Solved, solve
from reissue.attacks._recodings import refuse_other_recodings, varying
from reissue.attacks._series import Series
from reissue.attacks._views import View, Views
from reissue.findings import Finding, Status

__all__ = ["correspondence"]

NAME = "correspondence"


@attack(NAME, "Rules out records that have no partner in another release of a growing table.")
def correspondence(series: Series, knowledge: Knowledge) -> Finding:
    """Take all releases together and see how many records are left for each possible target."""
    del knowledge
    views = _readable(series)
    limit = int(series.limits.get(NAME) or series.k or min(int(view.sizes.min()) for view in views.views))
    certain = len(views.views) == 2 or varying(views) <= 1
    if series.exact and not certain:
        answer = solve(list(targets(views)), views.views)
        tally = _tally(answer.targets, views, limit)
        return _finding(series, views, tally, limit, answer)
    tally = _tally(targets(views), views, limit)
    return _finding(series, views, tally, limit, Solved([], 0, 0 if certain else -1))


def _readable(series: Series) -> Views:
    if len(series) < 2:
        raise CannotRunError("it compares releases, and there is only one.")
    views = series.views
    if views is None:
        raise CannotRunError("a release publishes quasi-identifiers and sensitive values apart, in groups.")
    refuse_other_recodings(views, series.numbers)
    return views


# --- counting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Worst:
    """The target that is worst off."""

    left: int
    arrived: int
    groups: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Tally:
    """What all targets come to."""

    left: tuple[int, ...]
    """The least that is left by arrival time; 0 where nobody can have arrived."""
    worst: _Worst
    exposed: int
    """How many chains of groups have less left than the limit."""
    people: int


def _tally(some: Iterable[Targets], views: Views, limit: int) -> _Tally:
    releases = views.views
    left = [0] * len(releases)
    standing = np.zeros(len(releases[-1].count), np.int64)
    worst, exposed = _Worst(np.iinfo(np.int64).max, 0, ()), 0
    for part in some:
        possible = np.flatnonzero(part.left > 0)
        if not len(possible):
            continue
        least = int(possible[np.argmin(part.left[possible])])
        value = int(part.left[least])
        left[part.arrived] = min(left[part.arrived] or value, value)
        if value < worst.left:
            worst = _Worst(value, part.arrived, _groups(part, least, releases))
        low = (part.left > 0) & (part.left < limit)
        exposed += int(low.sum())
        term = part.term * np.repeat(low, np.diff(part.starts))
        standing += np.bincount(part.entries[-1], term, len(standing)).astype(np.int64)
    return _Tally(tuple(left), worst, exposed, int(np.minimum(standing, releases[-1].count).sum()))


def _groups(part: Targets, chain: int, releases: Sequence[View]) -> tuple[int, ...]:
    """The groups along a chain."""
    first = part.starts[chain]
    held = zip(part.entries, releases[part.arrived :], strict=True)
    return tuple(int(view.group[entry[first]]) for entry, view in held)


# --- telling ---------------------------------------------------------------------------------------------------------


def _finding(series: Series, views: Views, tally: _Tally, limit: int, answer: Solved) -> Finding:
    worst, population = tally.worst, views.views[-1].records
    exposed = worst.left < limit
    details = {
        "left": list(tally.left),
        "exact": answer.too_large == 0,
        "targets": tally.exposed,
        "worst_target": _target(series, views, worst),
    }
    if len(series) == 2:
        details |= {"FA": tally.left[0], "CA": tally.left[0], "BA": tally.left[1]}
    if answer.targets:
        details |= {"components_solved": answer.solved, "components_too_large": answer.too_large}
    return Finding(
        NAME,
        Status.SUCCEEDED if exposed else Status.FAILED,
        _sentence(series, views, tally, limit),
        series.numbers,
        people=tally.people,
        population=population,
        measure="records left for a target",
        worst=worst.left,
        limit=limit,
        details=details,
    )


def _target(series: Series, views: Views, worst: _Worst) -> dict[str, object]:
    """The worst target: when it arrived, and its group in every release, as published."""
    groups = []
    for place, group in enumerate(worst.groups, start=worst.arrived):
        size = int(views.views[place].sizes[group])
        values = views.text(place, group)
        groups.append(
            {"release": series.numbers[place], "size": size, "cracked": size - worst.left, "published": values}
        )
    return {"arrived": series.numbers[worst.arrived], "left": worst.left, "groups": groups}


def _sentence(series: Series, views: Views, tally: _Tally, limit: int) -> str:
    worst = tally.worst
    together = f"Holding releases {_listed(series.numbers)} together"
    if worst.left >= limit:
        return f"{together}, at least {worst.left:,} records look alike for anyone; {limit:,} are promised."
    sizes = [int(views.views[place].sizes[group]) for place, group in enumerate(worst.groups, start=worst.arrived)]
    return (
        f"{together}, {min(sizes):,} records that look alike are only {worst.left:,} for someone "
        f"{_when(series.numbers, worst.arrived)}; {limit:,} are promised, and up to {tally.people:,} of "
        f"{views.views[-1].records:,} people get less."
    )


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _when(numbers: Sequence[int], arrived: int) -> str:
    if not arrived:
        return f"who is in release {numbers[0]}"
    return f"who came between releases {numbers[arrived - 1]} and {numbers[arrived]}"
