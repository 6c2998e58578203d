"""The update attack: what a person's groups through a series say together (Li and Zhou 2008, section III).

A person's update graph has, for each release it is in, the values of its group, each with its share; and an edge for
each update that can have happened in between. The posterior of a value is the weight of the paths through it over the
weight of all paths (see `solver.forward_backward`); a value through which no path leads is pruned, and where one value
is left it is known for certain (definition 11, lemma 2). A later release can so give away an *earlier* value. Where
values do not change (no update model) the graph has one edge from each value to itself, and the attack is the
intersection of groups: value association across releases, which m-invariance withstands.

It starts from known membership, or from tables of people and their quasi-identifiers (`tracking.membership`); of who
fits several groups only what is certain counts, or what one release tells by itself. The limit is the caller's, else
the policy's `risk`, else what the worst single release tells by itself, short of certainty: releases should tell nobody
more together. O(people's different histories x releases x values of a group squared).

**How often the surest guess is right** is counted where the truth is known, of our own releases. Posteriors take the
groups of different releases for independent, as the paper does. They are not quite: those who were together once tend
to be together again. So how sure an adversary is and how often the adversary is right differ, and the holder, who knows
the truth, can count it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.registry import Accepts, attack
from reissue.counting.keys import distinct_keys
from reissue.counting.texts import MISSING, joined_texts, ranked_texts
from reissue.errors import CannotRunError, SchemaError
from reissue.papers.second_look import confirm_posteriors
from reissue.papers.tracking.forward_backward import blocks, histories
from reissue.papers.tracking.membership import PersonHistories, link_people
from reissue.papers.updates.case import tell, worst_place
from reissue.people.knowledge import Knowledge
from reissue.protection import Protection
from reissue.published.series import Series
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates

__all__ = ["Posteriors", "guessed_right", "limit_of", "risks", "updates"]


def guessed_right(series: Series, linked: PersonHistories, people: Ints, release: Ints, value: Ints) -> int | None:
    """Of how many of these people the likeliest value of all, where it is likeliest, is theirs; None if unknown."""
    sources = [one.source for one in series.releases]
    own = [source for source in sources if source is not None and source.table.ids is not None]
    if len(own) < len(sources):
        return None
    truth = _truth(own, linked)
    return int((truth[people, release] == value).sum()) if len(truth) == len(linked.table) else None


def _truth(releases: list[Release], linked: PersonHistories) -> Ints:
    """People x releases: everybody's value, -1 where the person is absent; people in the order of their names."""
    number = {MISSING if name is None else name: place for place, name in enumerate(linked.names)}
    ids, values, places = [], [], []
    for place, release in enumerate(releases):
        table, kept = release.table, np.flatnonzero(release.draft.groups >= 0)
        codes, of_row = distinct_keys(table.sensitive[kept].astype(np.int64), table.domain.size)
        texts = joined_texts(table.decode(codes.astype(np.int32)), table.schema.sensitive)
        values.append(np.array([number.get(text, -1) for text in texts], np.int64)[of_row])
        ids.append(table.frame[table.schema.identifier or ""].cast(pl.String).gather(kept))
        places.append(np.full(len(kept), place))
    names, person = ranked_texts(pl.concat(ids))
    found = np.full((len(names), len(releases)), -1, np.int64)
    found[person, np.concatenate(places)] = np.concatenate(values)
    return found


NAME = "updates"
_SLACK = 1e-9
_NOBODY = "nobody's group is known."


@dataclass(frozen=True, eq=False)
class Posteriors:
    """For each release and each known person in it the largest posterior of a value, and how many values are left."""

    person: Ints
    release: Ints
    largest: Floats
    left: Ints
    """0 where a person's groups contradict the update model: no path leads through them."""
    surest: tuple[Ints, Ints]
    """Person to the release in which some value is likeliest of all, and to that value."""


@dataclass(frozen=True, eq=False)
class _Known:
    """What all releases tell: in each release, and of each person."""

    risks: list[float]
    """The largest posterior in each release."""
    certains: list[int]
    """How many people's values are known for sure in each release."""
    largest: Floats
    """Person to the largest posterior."""
    certain: Bools
    """Whether one of its values is known for sure."""
    impossible: Bools
    """Whether its groups contradict the update model."""


def risks(linked: PersonHistories, model: UpdateModel, guarded: Bools | None = None) -> Posteriors:
    """Everybody's posterior in every release, under a model whose first values are those of the groups.

    Only of `guarded` values, where not all need protection; whose only value left is another one has two.
    """
    shared = histories(linked.table)
    largest = np.zeros(shared.places.shape)
    left = np.zeros(shared.places.shape, np.int32)
    surest = np.zeros((2, len(shared.places)), np.int64)
    for block in blocks(shared.places, linked.places, model):
        believed = block.posterior if guarded is None else block.posterior * guarded[block.value]
        top, number = believed.max(axis=2), np.count_nonzero(block.posterior, axis=2)
        number = np.where((number == 1) & (top == 0), 2, number)
        every, best = np.arange(len(top)), top.argmax(axis=1)
        surest[0, block.rows] = block.release[every, best]
        surest[1, block.rows] = block.value[every, best, believed[every, best].argmax(axis=1)]
        if block.release.shape[1] == linked.table.shape[1]:
            largest[block.rows], left[block.rows] = top, number
        else:
            at = block.rows[:, np.newaxis]
            largest[at, block.release], left[at, block.release] = top, number
    present = linked.table >= 0
    person, release = np.nonzero(present)
    if len(shared.places) < len(linked.table):
        largest, left, surest = largest[shared.of_person], left[shared.of_person], surest[:, shared.of_person]
    return Posteriors(person, release, largest[present], left[present].astype(np.int64), (surest[0], surest[1]))


def guarded_values(schema: Schema, names: Sequence[str | None]) -> Bools:
    """Which values need protection, by their texts."""
    return Protection.of(schema.policy, schema.sensitive).guarded(names)


@attack(
    NAME,
    "Follows people through their groups: which values are left, and how likely each is.",
    each_column=True,
    accepts=Accepts.COUNTED_PEOPLE | Accepts.ROSTERS,
    confirm=confirm_posteriors,
    needs="to know who is in each release: our own, files that kept the identifier, or `--knowledge members=FOLDER`",
    story=(
        "Someone knows that a person is in several releases and finds the person's group in each of them. Only "
        "values that fit all these groups are left, now and in the past: often one."
    ),
    prevention=(
        (
            "Publish the series through a ledger with the method `cohorts` (values change) or `invariance` (values "
            "stay): groups then show people values that go with their earlier ones."
        ),
        "Put a limit into the policy, `limits = { updates = 0.5 }`: a release that tells more is refused.",
    ),
    command="reissue publish next.csv --ledger series.ledger --schema schema.toml --out release.csv",
    no_probability="it takes a person's groups as evidence independent of each other, as the paper does",
)
def updates(series: Series, knowledge: Knowledge) -> Finding:
    """Find everybody's largest posterior in all releases together."""
    linked = link_people(series, knowledge)
    model = read_updates(series.schema, linked.names)
    guarded = guarded_values(series.schema, model.names)
    several = _fit_several(linked)
    seen = _sound(risks(linked, model, guarded), linked, several, guarded)
    known = _known(seen, *linked.table.shape)
    if not len(known.largest):
        raise CannotRunError(_NOBODY, needs=["members"])
    _refuse(series, known)
    limit = limit_of(series, linked)
    worst = worst_place(linked, seen.person, seen.release, seen.largest, limit)
    exposed = np.flatnonzero(known.largest > limit + _SLACK)
    right = None
    if len(exposed) and knowledge.members is None:
        right = guessed_right(series, linked, exposed, *(one[exposed] for one in seen.surest))
    found = _finding(series, known, limit, right, int(several.sum()))
    return replace(found, details={**found.details, "case": tell(series, knowledge, linked, model, worst, limit)})


def _fit_several(linked: PersonHistories) -> Bools:
    """Who fits several groups of some release, so that it is not known in which the person stands."""
    if linked.groups is None:
        return np.zeros(len(linked.table), np.bool_)
    return np.asarray(((linked.groups < 0) & (linked.table >= 0)).any(axis=1))


def _sound(found: Posteriors, linked: PersonHistories, several: Bools, guarded: Bools) -> Posteriors:
    """Of those who fit several groups only what is certain, or what one release tells by itself.

    Multiplying what several groups show release after release would count the same evidence again and again: who fits
    every group would seem to have the most frequent value, though nothing was learnt.
    """
    places = linked.places
    share = np.maximum.reduceat(places.share * guarded[places.value], places.starts[:-1])
    alone = share[linked.table[found.person, found.release]]
    guessed = several[found.person] & (found.left > 1)
    return replace(found, largest=np.where(guessed, alone, found.largest))


def _refuse(series: Series, known: _Known) -> None:
    """Say where the groups contradict that values change as they are said to."""
    if known.impossible.any() and not series.schema.updates:
        raise CannotRunError(
            "somebody's groups have no value in common: values do change here, and the schema has no update model. Say "
            "under [updates] what can become what, or ask the attack 'joint', which learns it."
        )
    if known.impossible.all():
        raise CannotRunError("everybody's groups contradict the schema's update model: it is not of this series.")


def _finding(series: Series, known: _Known, limit: float, right: int | None, several: int) -> Finding:
    exposed, everyone = int((known.largest > limit + _SLACK).sum()), len(known.largest)
    worst, sure = float(known.largest.max()), int(known.certain.sum())
    details: dict[str, object] = {
        "risk": worst,
        "sure": sure,
        "certain": max(known.certains),
        "risks": known.risks,
        "certains": known.certains,
    }
    if series.schema.updates:
        details["impossible"] = int(known.impossible.sum())
    if right is not None:
        details["right"] = right
    if several:
        details["several"] = several
    return Finding(
        NAME,
        Status.EXPOSED if exposed else Status.WITHSTOOD,
        _sentence(exposed, everyone, sure, limit, right) + _of_several(several),
        series.numbers,
        people=exposed,
        population=everyone,
        measure="posterior: the probability of a sensitive value for a person, one person at a time",
        worst=worst,
        limit=limit,
        details=details,
    )


def _of_several(number: int) -> str:
    """What is said of people who fit several groups."""
    if not number:
        return ""
    fit = "1 person who fits" if number == 1 else f"{number:,} people who fit"
    return f" Of {fit} several groups only what is certain was counted."


def _alone(linked: PersonHistories) -> float:
    """The largest share of a value, short of certainty, in any group where somebody stands.

    That is what a single release tells by itself. A group of one value tells all, which no release may: it sets no
    limit.
    """
    inside = np.zeros(len(linked.places.widths), np.bool_)
    inside[linked.table[linked.table >= 0]] = True
    share = linked.places.share[np.repeat(inside, linked.places.widths)]
    return float(share[share < 1 - _SLACK].max(initial=0.0))


def limit_of(series: Series, linked: PersonHistories) -> float:
    """The largest posterior that is allowed: the caller's limit, the policy's, or what one release tells by itself."""
    given = series.limit(NAME) or series.schema.policy.get("risk")
    if given is None:
        return _alone(linked)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SchemaError(
            "The limit of the update attack, `limits.updates` in the policy, must be above 0 and at most 1."
        )
    if given == 1:
        raise CannotRunError("its limit is 1, which nobody's posterior exceeds. Set `limits.updates` below 1.")
    return float(given)


def _known(found: Posteriors, people: int, releases: int) -> _Known:
    """In each release the largest posterior, and how many people are known for sure; and the same of each person."""
    risks, largest = np.zeros(releases), np.zeros(people)
    np.maximum.at(risks, found.release, found.largest)
    np.maximum.at(largest, found.person, found.largest)
    certains = np.bincount(found.release[found.left == 1], minlength=releases)
    sure, impossible = (np.bincount(found.person[found.left == left], minlength=people) > 0 for left in (1, 0))
    return _Known(risks.tolist(), certains.tolist(), largest, sure, impossible)


def _sentence(exposed: int, everyone: int, certain: int, limit: float, right: int | None) -> str:
    if not exposed:
        measure = "by the paper's measure, which follows one person at a time"
        return f"Nobody's value is more likely than {limit:.3g} {measure}."
    surely = f"; of {certain:,} one is known for sure" if certain else ""
    guessed = "" if right is None else f" Guessing the likeliest one is right for {right:,} of the {exposed:,}."
    people = f"{exposed:,} of {everyone:,} people"
    return (
        f"The values of {people} are more likely than {limit:.3g} by the paper's measure, one person at a "
        f"time{surely}.{guessed}"
    )
