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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue.attacks import _case_correspondence
from reissue.attacks._base import CannotRunError, Knowledge, attack
from reissue.attacks._chains import Targets, targets
from reissue.attacks._cracks import cracks
from reissue.attacks._recodings import refuse_other_recodings, varying
from reissue.attacks._series import Series
from reissue.attacks._views import View, Views
from reissue.errors import InputError
from reissue.findings import Finding, Status
from reissue.schema import Schema

__all__ = ["correspondence", "crack_sizes"]

NAME = "correspondence"
MEASURE = "records left for a target"


@attack(
    NAME,
    "Rules out records that have no partner in another release of a growing table.",
    needs="at least two releases of a table that only grows, with quasi-identifiers and sensitive values in one table",
    story=(
        "Someone has collected several releases of a growing table and knows one person's quasi-identifiers. A "
        "record that has no match in another release cannot be that person's, so fewer and fewer records are left to "
        "hide among."
    ),
    prevention=(
        (
            "Make each release after the earlier ones with the method `correspondence` (`--method correspondence "
            "--after ...`, or `reissue publish` with a ledger): it leaves everyone enough records, whenever they "
            "came."
        ),
    ),
)
def correspondence(series: Series, knowledge: Knowledge) -> Finding:
    """Take all releases together and see how many records are left for each possible target."""
    del knowledge
    views = _readable(series)
    limit = int(series.limits.get(NAME) or series.k or min(int(view.sizes.min()) for view in views.views))
    try:
        refuse_other_recodings(views, series.numbers)
    except CannotRunError as obstacle:
        return _as_boxes(series, views, limit, str(obstacle))
    certain = len(views.views) == 2 or varying(views) <= 1
    more: dict[str, object] = {"exact": certain}
    some: Iterable[Targets] = targets(views)
    if series.exact and not certain:
        from reissue.attacks._correspondence_exact import solve

        answer = solve(list(some), views.views)
        some = answer.targets
        more = {"exact": not answer.too_large, "components": {"solved": answer.solved, "bounded": answer.too_large}}
    return _finding(series, views, _tally(some, views, limit), limit, more)


def crack_sizes(releases: Sequence[Any], schema: Schema, *, delimiter: str = ",") -> pl.DataFrame:
    """How many records of which group two releases rule out for which target, by F-, C- and B-attack."""
    if len(releases) != 2:
        raise InputError("Crack sizes are about two releases; give exactly two.")
    series = Series.read(releases, schema, delimiter=delimiter)
    try:
        views = _readable(series)
        refuse_other_recodings(views, series.numbers)
        return cracks(views, schema)
    except CannotRunError as obstacle:
        raise InputError(f"There are no crack sizes: {obstacle}") from None


def _readable(series: Series) -> Views:
    if len(series) < 2:
        raise CannotRunError("it compares releases, and there is only one.")
    if series.schema.updates:
        raise CannotRunError("it follows records that never change, and the schema says that sensitive values do.")
    views = series.views
    if views is None:
        raise CannotRunError("a release publishes quasi-identifiers and sensitive values apart, in groups.")
    return views


# --- counting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Worst:
    """The target that is worst off."""

    left: int
    arrived: int
    groups: tuple[int, ...]
    terms: Mapping[int, int]
    """Value to how many records with it are left."""


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
    worst, exposed = _Worst(np.iinfo(np.int64).max, 0, (), {}), 0
    for part in some:
        possible = np.flatnonzero(part.left > 0)
        if not len(possible):
            continue
        least = int(possible[np.argmin(part.left[possible])])
        value = int(part.left[least])
        left[part.arrived] = min(left[part.arrived] or value, value)
        if value < worst.left:
            worst = _Worst(value, part.arrived, _groups(part, least, releases), _terms(part, least))
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


def _terms(part: Targets, chain: int) -> dict[int, int]:
    """What is left along a chain, by value."""
    own = slice(int(part.starts[chain]), int(part.starts[chain + 1]))
    return dict(zip(part.value[own].tolist(), part.term[own].tolist(), strict=True))


# --- telling ---------------------------------------------------------------------------------------------------------


def _finding(series: Series, views: Views, tally: _Tally, limit: int, more: Mapping[str, object]) -> Finding:
    worst, population = tally.worst, views.views[-1].records
    exposed = worst.left < limit
    details = {
        "left": list(tally.left),
        **more,
        "targets": tally.exposed,
        "worst_target": _target(series, views, worst),
        "case": _case(series, views, worst, limit),
    }
    if len(series) == 2:
        details |= {"FA": tally.left[0], "CA": tally.left[0], "BA": tally.left[1]}
    return Finding(
        NAME,
        Status.SUCCEEDED if exposed else Status.FAILED,
        _sentence(series, views, tally, limit),
        series.numbers,
        people=tally.people,
        population=population,
        measure=MEASURE,
        worst=worst.left,
        limit=limit,
        details=details,
    )


def _as_boxes(series: Series, views: Views, limit: int, obstacle: str) -> Finding:
    """What can still be said of releases that are no global recodings."""
    from reissue.attacks._correspondence_boxes import exposures

    found = exposures(views, limit)
    if not found:
        raise CannotRunError(f"{obstacle} Compared as boxes, two at a time, the releases expose nobody for certain.")
    worst = min(found, key=lambda one: one.left)
    size = min(int(views.views[at].sizes[g]) for at, g in zip((worst.earlier, worst.later), worst.groups, strict=True))
    earlier, later = series.numbers[worst.earlier], series.numbers[worst.later]
    people, population = max(one.people for one in found), views.views[-1].records
    return Finding(
        NAME,
        Status.SUCCEEDED,
        f"Holding releases {earlier} and {later} together, {_records(size)} that look alike are only {worst.left:,} "
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
            "case": _case_correspondence.of_pair(views, series.numbers, worst, limit),
        },
    )


def _case(series: Series, views: Views, worst: _Worst, limit: int) -> dict[str, Any]:
    groups = dict(enumerate(worst.groups, start=worst.arrived))
    since = worst.arrived - 1 if worst.arrived else None
    return _case_correspondence.tell(views, series.numbers, groups, worst.terms, limit, since)


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
        return f"{together}, anyone still has at least {_records(worst.left)} to hide among; the limit is {limit:,}."
    sizes = [int(views.views[place].sizes[group]) for place, group in enumerate(worst.groups, start=worst.arrived)]
    return (
        f"{together}, {_records(min(sizes))} that look alike are only {worst.left:,} for someone "
        f"{_when(series.numbers, worst.arrived)}; the limit is {limit:,}, and up to {tally.people:,} of "
        f"{views.views[-1].records:,} people get less."
    )


def _records(number: int) -> str:
    return f"{number:,} record" if number == 1 else f"{number:,} records"


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _when(numbers: Sequence[int], arrived: int) -> str:
    if not arrived:
        return f"who is in release {numbers[0]}"
    return f"who came between releases {numbers[arrived - 1]} and {numbers[arrived]}"
