"""The joint posterior of a series for someone who knows the algorithm (Wong, Fu, Wang, Pei 2009, sections 5.1.6, 5.2).

A *world* of a series gives everyone one value, which stays. It is possible if every group of every release shows what
its people have, and every release is what the algorithm would have made of it. Worlds weigh as the product of their
values' shares in all records. Each release adds conditions on the values of some people:

- *runs*: the algorithm, run on the world's table, makes this release;
- *refusals*: what Mondrian or the full-domain search preferred broke the requirement (see `refusals`);
- *minimality*, where only the requirement is known, or the algorithm cannot be run again: each generalized group holds
  a class that broke the requirement. A class is judged with all its people, whatever groups they are in.

Worlds are enumerated, sampled or walked through (see `series_worlds`). People whom groups tie together must have at
most 50,000 worlds; that bounds the attack to small groups.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.attacks.findings import Finding, Status, not_run
from reissue.attacks.registry import attack
from reissue.attacks.stories import Case, Link, histogram, story_of, value_text
from reissue.counting.cells import Domain
from reissue.counting.texts import joined_texts
from reissue.data.identifiers import identifier_texts
from reissue.data.table import Table
from reissue.errors import CannotRunError, InternalError, Why
from reissue.methods.registry import look_up
from reissue.papers.mechanism.attack import Linked, Ready, Way, keeps, ready_for, refusals_of
from reissue.papers.mechanism.refusals import Refusal, refused
from reissue.papers.mechanism.series_worlds import MOST_WORLDS, Condition, SeriesWorlds, conditioned
from reissue.papers.minimality.attack import linkage_of, requirement_of
from reissue.papers.minimality.linkage import link_known
from reissue.papers.minimality.rules import limit_of, value_sets
from reissue.people.knowledge import Knowledge
from reissue.people.presences import known_presences
from reissue.published import PublishedRelease
from reissue.published.series import Series
from reissue.release.presences import Presences, presences_of
from reissue.requirements import Requirement, by_column
from reissue.words import percent

__all__ = ["joint_mechanism"]

NAME = "joint-mechanism"


# --- what each release says ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Known:
    """One release: who is in which group, and what follows from how it was made."""

    presences: Presences
    texts: pl.Series
    """Code of the release's values to text."""
    asked: Bools
    """Sets of values x codes."""
    limit: float | None
    conditions: list[Condition]
    """By rows of `presences` and codes of the release."""
    by: str
    budget: int


def _known(release: PublishedRelease, series: Series, knowledge: Knowledge) -> _Known:
    try:
        ready = ready_for(release, series, knowledge)
    except CannotRunError as obstacle:
        return _by_minimality(release, series, knowledge, str(obstacle))
    return _by_mechanism(ready, knowledge)


def _by_mechanism(ready: Ready, knowledge: Knowledge) -> _Known:
    source, table = ready.source, ready.source.table
    known = presences_of(source)
    if known is None:
        raise CannotRunError("the schema names no identifier, by which people are followed.", needs=["identifier"])
    refused_first = refusals_of(ready)
    conditions = [_refusal(one.people, one, ready.requirement, table.domain) for one in refused_first]
    if ready.way == Way.AGAIN:
        kept = np.flatnonzero(source.draft.groups >= 0)
        rng = np.random.default_rng(0)
        keep = keeps(source, knowledge.algorithm or source.method, knowledge.options, rng)
        conditions = [Condition(np.arange(len(kept)), partial(_run, keep, table.sensitive, kept, {}))]
    by = {Way.AGAIN: "runs", Way.BLIND: "nothing"}.get(ready.way, "refusals")
    asked = value_sets(ready.requirement, table.domain, knowledge.values, table.margins)
    limit = limit_of(ready.requirement)
    return _Known(known, _texts(table), asked, limit, conditions, by, ready.budget)


def _run(keep: Callable[[Codes], Bools], sensitive: Codes, kept: Ints, seen: dict[bytes, bool], worlds: Codes) -> Bools:
    """Whether runs on tables with these values make the release; each is run once."""
    fits = np.zeros(len(worlds), np.bool_)
    for place, world in enumerate(worlds):
        key = world.tobytes()
        if key not in seen:
            table = sensitive.copy()
            table[kept] = world
            seen[key] = bool(keep(table[np.newaxis])[0])
        fits[place] = seen[key]
    return fits


def _by_minimality(release: PublishedRelease, series: Series, knowledge: Knowledge, obstacle: str) -> _Known:
    """The conditions of someone who knows the requirement alone, and that nothing was generalized without need."""
    known = known_presences(release)
    if known is None:
        raise CannotRunError(
            "it follows people from release to release, for which files must keep the identifier.", needs=["identifier"]
        )
    try:
        requirement = requirement_of(release, series, knowledge)
        if knowledge.population is not None:
            linkage = link_known(release, known, knowledge.population)
            of_person = linkage.of_row
        else:
            linkage = linkage_of(release, knowledge)
            of_person = linkage.of_row if release.source is None else linkage.of_row[release.source.draft.groups >= 0]
    except CannotRunError as further:
        raise CannotRunError(f"{further} And the algorithm itself cannot be used: {obstacle}") from None
    requirement = by_column(requirement, linkage.margins, linkage.domain)
    method = look_up(knowledge.algorithm or (None if release.source is None else release.source.method))
    conditions = []
    if requirement.sensitive and not (method is not None and method.unforced):
        for group in np.flatnonzero(~linkage.plain).tolist():
            rows = np.flatnonzero(np.isin(of_person, of_person[known.group == group]))
            labels = np.unique(of_person[rows], return_inverse=True)[1]
            conditions.append(_refusal(rows, Refusal(rows, labels), requirement, linkage.domain))
    asked = value_sets(requirement, linkage.domain, knowledge.values, linkage.margins)
    by = "minimality" if conditions else "nothing"
    return _Known(known, _texts(linkage.coded), asked, limit_of(requirement), conditions, by, 20_000)


def _refusal(rows: Ints, refusal: Refusal, requirement: Requirement, domain: Domain) -> Condition:
    inside = replace(refusal, people=np.arange(len(rows)))
    return Condition(rows, lambda worlds: refused(worlds, [inside], requirement, domain))


def _texts(table: Table | None) -> pl.Series:
    if table is None:
        raise InternalError("A linkage knows the table in whose codes it is.")
    codes = np.arange(table.domain.size, dtype=np.int32)
    return joined_texts(table.decode(codes), table.schema.sensitive)


# --- the finding -----------------------------------------------------------------------------------------------------


@attack(
    NAME,
    "Solves a series by the worlds from which the known algorithm makes all of its releases.",
    fewest=2,
    needs=(
        "our own releases of people with identifiers, who keep their values; or files with identifiers, the "
        "requirement and a table of everyone (`--knowledge requirement=...`, `--knowledge population=FILE`)"
    ),
    story=(
        "Someone follows people through a series, and knows how its releases were made. Values that fit all groups, "
        "but would have led the algorithm to another release, are excluded too."
    ),
    prevention=("Use a requirement that does not look at sensitive values (`k` alone), or larger groups.",),
)
def joint_mechanism(series: Series, knowledge: Knowledge) -> Finding:
    """Find everyone's posterior by all releases and the algorithm, and say what it is without the algorithm."""
    if series.schema.updates:
        raise CannotRunError("it is about people who keep their values, and by the schema's update model they change.")
    known = [_known(release, series, knowledge) for release in series.releases]
    worlds, people, names = _series_worlds([one.presences for one in known])
    codes = [_codes(one, names) for one in known]
    conditions = [
        Condition(who[one.people], partial(_in_codes, one.keep, code))
        for release, who, code in zip(known, people, codes, strict=True)
        for one in release.conditions
    ]
    budget = min(one.budget for one in known)
    truth = _truth([one.presences for one in known], people, names, worlds.groups.shape[1])
    parts, alone = conditioned(worlds, conditions, budget=budget, truth=truth, progress=knowledge.progress)
    asked = _asked(known, codes)
    limits = [one.limit for one in known if one.limit is not None]
    limit = series.limits.get(NAME, min(limits) if limits else None)
    limit = float((alone @ asked.T)[parts.known].max(initial=0.0)) if limit is None else float(limit)
    outcome = Linked(parts, parts.posterior @ asked.T, alone @ asked.T, limit)
    return _finding(outcome, [one.by for one in known], worlds, names, asked, series)


def _finding(
    outcome: Linked, by: list[str], worlds: SeriesWorlds, names: list[str], asked: Bools, series: Series
) -> Finding:
    parts, limit = outcome.parts, outcome.limit
    without = int(((outcome.shares > limit + 1e-9).any(axis=1) & parts.known).sum())
    largest = float(outcome.shares[parts.known].max(initial=0.0))
    details = outcome.details() | {"without": largest, "people_without": without, "by": by}
    if not parts.known.all() and not outcome.people:
        reason = (
            f"{int((~parts.known).sum()):,} of {len(parts.known):,} people are in groups that tie too many people "
            f"together and allow more than {MOST_WORLDS:,} worlds, or hardly any world tried leads to these releases."
        )
        return not_run(NAME, series.numbers, reason, details, why=Why.TOO_LARGE)
    return Finding(
        NAME,
        Status.EXPOSED if outcome.people else Status.WITHSTOOD,
        _sentence(outcome, without),
        tuple(series.numbers),
        people=outcome.people,
        population=len(parts.known),
        measure="posterior: the probability of a sensitive value by all releases, to someone who knows the algorithm",
        worst=outcome.posterior,
        limit=limit,
        details=details | {"case": _case(outcome, worlds, names, asked, series)},
    )


def _in_codes(keep: Callable[[Codes], Bools], code: Codes, worlds: Codes) -> Bools:
    """Judge worlds in common codes by a release's own."""
    return keep(code[worlds])


def _series_worlds(releases: Sequence[Presences]) -> tuple[SeriesWorlds, list[Ints], list[str]]:
    """The groups of all releases in common codes; for each release its rows' people; and the values' texts."""
    names = sorted({name for one in releases for name in one.histogram.names})
    place = {name: number for number, name in enumerate(names)}
    texts = [identifier_texts(one.ids) for one in releases]
    number = {text: person for person, text in enumerate(pl.concat(texts).unique(maintain_order=True).to_list())}
    people = [np.array([number[text] for text in own.to_list()], np.int64) for own in texts]
    groups = np.full((len(releases), len(number)), -1, np.int64)
    stock: list[Ints] = []
    for release, (one, who) in enumerate(zip(releases, people, strict=True)):
        shown = np.zeros((one.groups, len(names)), np.int64)
        values = np.array([place[name] for name in one.histogram.names], np.int64)
        shown[one.histogram.group, values[one.histogram.value]] = one.histogram.count
        if one.counterfeits.any() or (np.bincount(one.group, minlength=one.groups) != shown.sum(axis=1)).any():
            raise CannotRunError("a release holds records of nobody who is known, such as counterfeits.")
        groups[release, who[one.row]] = one.group + sum(len(before) for before in stock)
        stock.append(shown)
    return SeriesWorlds(groups, np.concatenate(stock)), people, names


def _codes(known: _Known, names: list[str]) -> Codes:
    """Common code to the release's own, -1 where it has none."""
    place = {text: code for code, text in enumerate(known.texts.to_list())}
    if set(known.presences.histogram.names) - set(place):
        raise CannotRunError("a release writes its sensitive values otherwise than the table of people does.")
    return np.array([place.get(name, -1) for name in names], np.int32)


def _asked(known: list[_Known], codes: list[Codes]) -> Bools:
    """Sets of values x common codes: what any release's requirement asks for."""
    masks = [np.where(code >= 0, one.asked[:, code], False) for one, code in zip(known, codes, strict=True)]
    found = np.unique(np.concatenate(masks), axis=0)
    return np.asarray(found[found.any(axis=1)])


def _truth(releases: Sequence[Presences], people: list[Ints], names: list[str], total: int) -> Codes | None:
    """Everyone's true value, where the holder knows all of them; CannotRunError where somebody's changed."""
    place = {name: number for number, name in enumerate(names)}
    found = np.full(total, -1, np.int32)
    for one, who in zip(releases, people, strict=True):
        if one.truth is None:
            return None
        values = np.array([place[text] for text in one.truth.to_list()], np.int32)
        if ((found[who] >= 0) & (found[who] != values)).any():
            raise CannotRunError("it is about people who keep their values, and somebody's value changed.")
        found[who] = values
    return found


def _sentence(outcome: Linked, without: int) -> str:
    parts = outcome.parts
    tried = f"Of {parts.tried:,} worlds that were tried {parts.kept:,} lead to all releases"
    if parts.walked:
        tried += "; some were walked to from the true one, and worlds that no such steps reach were not seen"
    if not parts.tried:
        tried = "Every world that the groups allow leads to all releases"
    surest = f"{outcome.posterior:.3g}" + (f" ± {outcome.error:.2g}" if outcome.error else "")
    if not outcome.people:
        least = f"with more than {outcome.limit:.3g}, the surest with {surest}"
        return f"{tried}. Nobody is linked to a sensitive value {least}."
    return (
        f"{tried}. Who knows the algorithm links {outcome.people:,} of {len(parts.known):,} people to a sensitive "
        f"value with more than {outcome.limit:.3g}, the surest with {surest}; the groups alone link {without:,}."
    )


def _case(outcome: Linked, worlds: SeriesWorlds, names: list[str], asked: Bools, series: Series) -> Case:
    """The person who is linked most surely, of several the one of whom the groups say least."""
    most = np.where(outcome.known, outcome.believed.max(axis=1, initial=0.0), -1.0)
    gain = np.where(outcome.known, (outcome.believed - outcome.shares).max(axis=1, initial=0.0), -1.0)
    person = int(np.lexsort((-np.round(gain, 9), -np.round(most, 9)))[0])
    column = int(outcome.believed[person].argmax())
    release = int(np.flatnonzero(worlds.groups[:, person] >= 0)[0])
    stock = worlds.stock[worlds.groups[release, person]]
    hits, size = int(stock[asked[column]].sum()), int(stock.sum())
    alone = outcome.shares[person, column]
    link = Link(
        "The adversary knows everyone's quasi-identifiers and groups, and how the releases were made.",
        series.numbers[release],
        " or ".join(value_text(names[value]) for value in np.flatnonzero(asked[column] & (stock > 0)).tolist()),
        f"{hits:,} of {size:,} records show it",
        hits / size,
        (
            f"All releases together say {percent(float(alone))} without the algorithm.",
            f"Of {outcome.parts.tried:,} worlds that were tried {outcome.parts.kept:,} lead to all releases.",
        ),
        float(outcome.believed[person, column]),
        outcome.limit,
    )
    counted = np.ones(int(outcome.known.sum()), np.int64)
    believed = outcome.believed[outcome.known].max(axis=1, initial=0.0)
    return story_of(link, histogram(believed, counted, outcome.limit, "posterior"))
