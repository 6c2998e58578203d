"""Correspondence attacks (Fung, Wang, Fu and Pei, "Anonymity for continuous data publishing", EDBT 2008).

Records only arrive; release i publishes everything up to time i, each release with cuts of its own. Who holds several
releases can rule records out: a record of release 1 needs a partner in release 2 (F-attack, definition 3.1), a record
of release 2 that stands for somebody of release 1 needs one there (C-attack, definition 3.3), and one that must be
somebody of release 1 is nobody who arrived later (B-attack, definition 3.5). What remains for a target is `left`, one
line for any number of releases (see `chains`), exact for two, and for one attribute whose cuts differ;
otherwise `exact` makes it so (see `exact`). Somebody is exposed if `left` is below the k that the releases promise.

It reads published columns alone, so any tool's global recoding will do: in every release the published values of an
attribute are disjoint, and between releases one lies inside the other or apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, Heading, attack
from reissue.attacks.stories import Case
from reissue.counting.segments import ranges
from reissue.errors import CannotRunError, InputError, InternalError
from reissue.files.dialect import FOUND, Dialect
from reissue.papers.correspondence import case as cases
from reissue.papers.correspondence.chains import Targets, refuse_other_recodings, targets, varying
from reissue.papers.second_look import confirm_chains
from reissue.people.knowledge import Knowledge
from reissue.published.boxes import ReleaseCounts, SeriesCounts, counts_of
from reissue.published.series import Series
from reissue.schema import Schema

__all__ = ["correspondence", "crack_sizes"]

NAME = "correspondence"
MEASURE = "records left for a target"
_LISTED = 12
"""How many groups of the worst target are listed: a ledger keeps every finding."""


@attack(
    NAME,
    "Rules out records that have no partner in another release of a growing table.",
    fewest=2,
    accepts=Accepts.COUNTED_ROWS,
    confirm=confirm_chains,
    needs="at least two releases of a table that only grows, with quasi-identifiers and sensitive values in one table",
    story=(
        "Someone has collected several releases of a growing table and knows one person's quasi-identifiers. A "
        "record that has no match in another release cannot be that person's, so fewer and fewer records are left to "
        "hide among."
    ),
    prevention=(
        (
            "Make each release after the earlier ones with the method `correspondence`, or through a ledger with it: "
            "it leaves everyone enough records, whenever they arrived."
        ),
    ),
    command=(
        "reissue anonymize february.csv --schema schema.toml --method correspondence --after january.csv --require k=5 "
        "--out release.csv"
    ),
    heading=Heading.LINKABILITY,
)
def correspondence(series: Series, knowledge: Knowledge) -> Finding:
    """Find how many records are left for whoever is worst off."""
    del knowledge
    views = _read(series)
    limit = int(series.limits.get(NAME) or series.k or min(int(view.sizes.min()) for view in views.releases))
    try:
        refuse_other_recodings(views, series.numbers)
    except CannotRunError as obstacle:
        return _as_boxes(series, views, limit, str(obstacle))
    certain = len(views.releases) == 2 or varying(views) <= 1
    more: dict[str, object] = {"exact": certain}
    some: Iterable[Targets] = targets(views)
    if series.exact and not certain:
        from reissue.papers.correspondence.chains import solve

        answer = solve(list(some), views.releases)
        some = answer.targets
        more = {"exact": not answer.too_large, "components": {"solved": answer.solved, "bounded": answer.too_large}}
    return _finding(series, views, _tally(some, views, limit), limit, more)


def _read(series: Series) -> SeriesCounts:
    """All releases in common codes; CannotRunError where the attack is not about such releases."""
    if series.schema.updates:
        raise CannotRunError("it follows records that never change, and the schema says that sensitive values do.")
    counts = counts_of(series.releases, series.schema)
    if counts is None:
        raise CannotRunError("a release publishes quasi-identifiers and sensitive values apart, in groups.")
    return counts


# --- counting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Target:
    """A target and its chain of groups."""

    left: int
    arrived: int
    """The release that it arrived with, from 0."""
    nodes: tuple[int, ...]
    """The smallest node of each quasi-identifier along its chain of groups."""
    groups: tuple[int, ...]
    """The groups of its chain, from the release on that it arrived with."""
    terms: Mapping[int, int]
    """Value to how many records with it are left."""

    def __lt__(self, other: "_Target") -> bool:
        """Of several the one that arrived first, then the one with the smallest nodes, is worst off."""
        return (self.left, self.arrived, self.nodes) < (other.left, other.arrived, other.nodes)

    def sizes(self, views: SeriesCounts) -> list[int]:
        """The records of its groups."""
        places = enumerate(self.groups, start=self.arrived)
        return [int(views.releases[place].sizes[group]) for place, group in places]


@dataclass(frozen=True, eq=False)
class _Tally:
    """What all targets come to."""

    left: list[int]
    """The least that is left by arrival time; 0 where nobody can have arrived."""
    worst: _Target
    exposed: int
    """How many chains of groups have less left than the limit."""
    people: int


def _tally(some: Iterable[Targets], views: SeriesCounts, limit: int) -> _Tally:
    releases = views.releases
    left = [0] * len(releases)
    left_of_entry = np.zeros(len(releases[-1].count), np.int64)
    worst: _Target | None = None
    exposed = 0
    for part in some:
        possible = np.flatnonzero(part.sizes > 0)
        if not len(possible):
            continue
        value = int(part.sizes[possible].min())
        left[part.arrived] = min(left[part.arrived] or value, value)
        lowest = possible[part.sizes[possible] == value]
        least = int(lowest[np.lexsort(part.nodes[::-1, lowest])[0]])
        nodes = tuple(part.nodes[:, least].tolist())
        target = _Target(value, part.arrived, nodes, _groups(part, least, releases), part.counts_of(least))
        worst = target if worst is None or target < worst else worst
        low = (part.sizes > 0) & (part.sizes < limit)
        exposed += int(low.sum())
        term = part.count * np.repeat(low, part.lengths)
        left_of_entry += np.bincount(part.entries[-1], term, len(left_of_entry)).astype(np.int64)
    if worst is None:
        raise InternalError("No target is left in releases that have records.")
    return _Tally(left, worst, exposed, int(np.minimum(left_of_entry, releases[-1].count).sum()))


def _groups(part: Targets, chain: int, releases: Sequence[ReleaseCounts]) -> tuple[int, ...]:
    """The groups along a chain."""
    first = part.starts[chain]
    held = zip(part.entries, releases[part.arrived :], strict=True)
    return tuple(int(view.group[entry[first]]) for entry, view in held)


# --- telling ---------------------------------------------------------------------------------------------------------


def _as_boxes(series: Series, views: SeriesCounts, limit: int, obstacle: str) -> Finding:
    """What can still be said of releases that are no global recodings."""
    from reissue.papers.correspondence.case import exposures

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
            "case": cases.of_pair(views, series.numbers, worst, limit),
        },
    )


def _case(series: Series, views: SeriesCounts, target: _Target, limit: int) -> Case:
    groups = dict(enumerate(target.groups, start=target.arrived))
    since = target.arrived - 1 if target.arrived else None
    return cases.tell(views, series.numbers, groups, target.terms, limit, since)


def _finding(series: Series, views: SeriesCounts, tally: _Tally, limit: int, more: Mapping[str, Any]) -> Finding:
    """The finding; `more` are further details."""
    numbers, worst, population = series.numbers, tally.worst, views.releases[-1].records
    details = {"left": tally.left, **more, "targets": tally.exposed, "worst_target": _target(numbers, views, worst)}
    if len(numbers) == 2:
        details |= {"FA": tally.left[0], "CA": tally.left[0], "BA": tally.left[1]}
    return Finding(
        NAME,
        Status.EXPOSED if worst.left < limit else Status.WITHSTOOD,
        _sentence(numbers, tally, limit, min(worst.sizes(views)), population),
        tuple(numbers),
        people=tally.people,
        population=population,
        measure=MEASURE,
        worst=worst.left,
        limit=limit,
        at_least=True,
        details={**details, "case": _case(series, views, worst, limit)},
    )


def _target(numbers: Sequence[int], views: SeriesCounts, worst: _Target) -> dict[str, object]:
    """The worst target: when it arrived, and its group in every release, as published; of many the first and last."""
    groups = [
        {
            "release": numbers[place],
            "size": size,
            "cracked": size - worst.left,
            "published": views.text(place, group),
        }
        for place, (size, group) in enumerate(zip(worst.sizes(views), worst.groups, strict=True), start=worst.arrived)
    ]
    if len(groups) > _LISTED:
        groups = groups[: _LISTED // 2] + groups[-_LISTED // 2 :]
    return {"arrived": numbers[worst.arrived], "left": worst.left, "groups": groups}


def _sentence(numbers: Sequence[int], tally: _Tally, limit: int, smallest: int, population: int) -> str:
    """`smallest` is the smallest of the worst target's groups."""
    worst = tally.worst
    together = f"Holding releases {_listed(numbers)} together"
    if worst.left >= limit:
        return f"{together}, anyone still has at least {_records(worst.left)} to hide among; the limit is {limit:,}."
    return (
        f"{together}, {_records(smallest)} that look alike are only {worst.left:,} for someone "
        f"{_when(numbers, worst.arrived)}; the limit is {limit:,}, and up to {tally.people:,} of {population:,} people "
        "get less."
    )


def _records(number: int) -> str:
    """How many, in words."""
    return f"{number:,} record" if number == 1 else f"{number:,} records"


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _when(numbers: Sequence[int], arrived: int) -> str:
    if not arrived:
        return f"who is in release {numbers[0]}"
    return f"who arrived between releases {numbers[arrived - 1]} and {numbers[arrived]}"


# --- crack sizes -----------------------------------------------------------------------------------------------------


def crack_sizes(releases: Sequence[Any], schema: Schema, *, dialect: Dialect = FOUND) -> pl.DataFrame:
    """How many records of which group two releases rule out for which target, by F-, C- and B-attack."""
    if len(releases) != 2:
        raise InputError("Crack sizes are about two releases; give exactly two.")
    series = Series.read(releases, schema, dialect=dialect)
    try:
        views = _read(series)
        refuse_other_recodings(views, series.numbers)
        return _cracks(views, schema)
    except CannotRunError as obstacle:
        raise InputError(f"There are no crack sizes: {obstacle}") from None


def _cracks(views: SeriesCounts, schema: Schema) -> pl.DataFrame:
    """Every target of two releases with the size and crack size of every group of records that match it.

    `attack` is F (the target is in release 1 and is looked for there), C (in release 1, looked for in release 2) or B
    (arrived later, looked for in release 2). The quasi-identifiers of the target's groups stand in columns `1.name` and
    `2.name`; nothing under `1.` for B.
    """
    tables, first = [], 1
    for part in targets(views):
        possible = np.flatnonzero(part.sizes > 0)
        number = np.zeros(len(part.sizes), np.int64)
        number[possible] = np.arange(first, first + len(possible))
        first += len(possible)
        for place, name in enumerate("FC" if part.arrived == 0 else "B"):
            table = _table(part, part.arrived + place, views, schema, number)
            tables.append(table.with_columns(pl.lit(name).alias("attack")))
    return pl.concat(tables, how="diagonal").select("attack", pl.exclude("attack"))


def _table(part: Targets, release: int, views: SeriesCounts, schema: Schema, number: Ints) -> pl.DataFrame:
    """One row for each target and value of its group in one release."""
    view = views.releases[release]
    first = part.starts[:-1]
    groups = {at: views.releases[at].group[entry[first]] for at, entry in enumerate(part.entries, start=part.arrived)}
    chain, entry, left = _left(part, view, groups[release], part.entries[release - part.arrived])
    kept = number[chain] > 0
    chain, entry, left = chain[kept], entry[kept], left[kept]
    columns: dict[str, pl.Series] = {"target": pl.Series(number[chain])}
    for at, group in groups.items():
        for column, nodes in zip(views.quasi, views.releases[at].nodes, strict=True):
            texts = pl.Series(column.texts, dtype=pl.String)
            columns[f"{at + 1}.{column.name}"] = texts.gather(nodes[group[chain]])
    for place, name in enumerate(schema.sensitive):
        texts = pl.Series([value[place] for value in views.values], dtype=pl.String)
        columns[name] = texts.gather(view.value[entry])
    count = view.count[entry]
    return pl.DataFrame({**columns, "size": pl.Series(count), "crack": pl.Series(count - left)})


def _left(part: Targets, view: ReleaseCounts, group: Ints, entries: Ints) -> tuple[Ints, Ints, Ints]:
    """Chain, entry of its group, and what is left of that entry: nothing where the chain does not hold the value."""
    lengths = view.lengths[group]
    begin = np.cumsum(lengths) - lengths
    chain = np.repeat(np.arange(len(group)), lengths)
    left = np.zeros(len(chain), np.int64)
    its = part.group
    left[begin[its] + entries - view.starts[group[its]]] = part.count
    return chain, ranges(view.starts[group], lengths), left
