"""Correspondence attacks (Fung, Wang, Fu and Pei, "Anonymity for continuous data publishing", EDBT 2008).

Records only arrive; release i publishes everything up to time i, each release with cuts of its own. Who holds several
releases can rule records out: a record of release 1 needs a partner in release 2 (F-attack, definition 3.1), a record
of release 2 that stands for somebody of release 1 needs one there (C-attack, definition 3.3), and one that must be
somebody of release 1 is nobody who came later (B-attack, definition 3.5). What remains for a target is `left`, one line
for any number of releases (see `kernels.chains.chains`), exact for two, and for one attribute whose cuts differ;
otherwise `exact` makes it so (see `exact`). The attack succeeds if `left` is below the k that the releases promise.

It reads published columns alone, so any tool's global recoding will do: in every release the published values of an
attribute are disjoint, and between releases one lies inside the other or apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue.attacks.correspondence import case as _case_correspondence
from reissue.attacks.correspondence.cracks import cracks
from reissue.attacks.correspondence.finding import MEASURE, NAME, Stood, Tally, Worst, finding, records
from reissue.attacks.correspondence.state import APART, CHANGING, SINGLE, judge, take
from reissue.attacks.findings import Finding, Status
from reissue.attacks.fold import Fold, one_by_one
from reissue.attacks.registry import attack
from reissue.errors import CannotRunError, InputError
from reissue.kernels.chains.chains import Targets, targets
from reissue.people.knowledge import Knowledge
from reissue.published.groups import View, Views
from reissue.published.recodings import refuse_other_recodings, varying
from reissue.published.series import Series
from reissue.schema import Schema

__all__ = ["correspondence", "crack_sizes"]


@attack(
    NAME,
    "Rules out records that have no partner in another release of a growing table.",
    fewest=2,
    kept=Fold(one_by_one, take, judge),
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
        from reissue.attacks.correspondence.exact import solve

        answer = solve(list(some), views.views)
        some = answer.targets
        more = {"exact": not answer.too_large, "components": {"solved": answer.solved, "bounded": answer.too_large}}
    tally, target = _tally(some, views, limit)
    found = finding(series.numbers, tally, limit, more)
    return replace(found, details={**found.details, "case": _case(series, views, target, limit)})


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
        raise CannotRunError(SINGLE)
    if series.schema.updates:
        raise CannotRunError(CHANGING)
    views = series.views
    if views is None:
        raise CannotRunError(APART)
    return views


# --- counting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Target:
    """A target's chain of groups."""

    arrived: int
    groups: tuple[int, ...]
    terms: Mapping[int, int]
    """Value to how many records with it are left."""


def _tally(some: Iterable[Targets], views: Views, limit: int) -> tuple[Tally, _Target]:
    releases = views.views
    left = [0] * len(releases)
    standing = np.zeros(len(releases[-1].count), np.int64)
    found: list[tuple[Worst, _Target]] = []
    exposed = 0
    for part in some:
        possible = np.flatnonzero(part.left > 0)
        if not len(possible):
            continue
        value = int(part.left[possible].min())
        left[part.arrived] = min(left[part.arrived] or value, value)
        lowest = possible[part.left[possible] == value]
        least = int(lowest[np.lexsort(part.nodes[::-1, lowest])[0]])
        worst = Worst(value, part.arrived, tuple(part.nodes[:, least].tolist()))
        if not found or worst < found[0][0]:
            found = [(worst, _Target(part.arrived, _groups(part, least, releases), _terms(part, least)))]
        low = (part.left > 0) & (part.left < limit)
        exposed += int(low.sum())
        term = part.term * np.repeat(low, np.diff(part.starts))
        standing += np.bincount(part.entries[-1], term, len(standing)).astype(np.int64)
    worst, target = found[0]
    people = int(np.minimum(standing, releases[-1].count).sum())
    return Tally(tuple(left), worst, _stood(views, target), exposed, people, releases[-1].records), target


def _stood(views: Views, target: _Target) -> tuple[Stood, ...]:
    places = enumerate(target.groups, start=target.arrived)
    return tuple(Stood(int(views.views[place].sizes[group]), views.text(place, group)) for place, group in places)


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


def _as_boxes(series: Series, views: Views, limit: int, obstacle: str) -> Finding:
    """What can still be said of releases that are no global recodings."""
    from reissue.attacks.correspondence.boxes import exposures

    found = exposures(views, limit)
    if not found:
        raise CannotRunError(f"{obstacle} Compared as boxes, two at a time, the releases expose nobody for certain.")
    worst = min(found, key=lambda one: one.left)
    size = min(int(views.views[at].sizes[g]) for at, g in zip((worst.earlier, worst.later), worst.groups, strict=True))
    earlier, later = series.numbers[worst.earlier], series.numbers[worst.later]
    people, population = max(one.people for one in found), views.views[-1].records
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
            "case": _case_correspondence.of_pair(views, series.numbers, worst, limit),
        },
    )


def _case(series: Series, views: Views, target: _Target, limit: int) -> dict[str, Any]:
    groups = dict(enumerate(target.groups, start=target.arrived))
    since = target.arrived - 1 if target.arrived else None
    return _case_correspondence.tell(views, series.numbers, groups, target.terms, limit, since)
