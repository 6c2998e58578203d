"""The update attack: what a person's groups through a series say together (Li and Zhou 2008, section III).

A person's update graph has, for each release it is in, the values of its group, each with its share; and an edge for
each update that can have happened in between. The posterior of a value is the weight of the paths through it over the
weight of all paths (see `solver.forward_backward`); a value through which no path leads is pruned, and where one value
is left it is known for certain (definition 11, lemma 2). A later release can so give away an *earlier* value. Where
values do not change (no update model) the graph has one edge from each value to itself, and the attack is the
intersection of groups: value association across releases, which m-invariance withstands.

It starts from known membership, or from tables of people and their quasi-identifiers (see `people.histories`); of who
fits several groups only what is certain counts, or what one release tells by itself. The limit is the caller's, else
the policy's `risk`, else what the worst single release tells by itself, short of certainty: releases should tell nobody
more together. O(people's different histories x releases x values of a group squared).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import Finding, Status
from reissue.attacks.fold import Fold, one_by_one
from reissue.attacks.registry import attack
from reissue.errors import CannotCarryError, CannotRunError, SchemaError
from reissue.papers.tracking.incremental import Known
from reissue.papers.updates.beliefs import LeftValues, believe, known_of_beliefs, largest_beliefs
from reissue.papers.updates.case import tell, worst_place
from reissue.papers.updates.guess_accuracy import guessed_right
from reissue.papers.updates.histories import Histories, known_of_histories, largest_of_histories, remember
from reissue.people.histories import PersonHistories, histories_of_members, link_people
from reissue.people.knowledge import Knowledge
from reissue.people.membership import named_membership
from reissue.people.presence import PresenceIntervals
from reissue.protection import Protection
from reissue.published.series import Series
from reissue.schema import Schema
from reissue.solver.forward_backward import blocks, histories
from reissue.updates import UpdateModel, read_updates

__all__ = ["Posteriors", "risks", "updates"]

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


# --- in a ledger -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UpdateState:
    """What is kept of all releases so far."""

    VERSION: ClassVar[int] = 1

    numbers: tuple[int, ...]
    """What the releases are called."""
    alone: float
    """The largest share of a value that one release tells by itself, short of certainty."""
    past: "Staying | Histories"


@dataclass(frozen=True, eq=False)
class Staying:
    """Everybody, where values do not change."""

    beliefs: LeftValues
    present: PresenceIntervals
    """Person to the releases in which it was there."""


def _add(state: UpdateState | None, series: Series) -> UpdateState:
    """Everybody's beliefs or histories with one more release, and the largest share that one tells by itself."""
    members, person, _ = named_membership(series, strangers=False)
    linked = histories_of_members(members)
    if not guarded_values(series.schema, linked.names).all():
        raise CannotCarryError  # states are of all values alike
    numbers, alone = series.numbers, _alone(linked)
    if state is not None:
        numbers, alone = state.numbers + numbers, max(alone, state.alone)
    past: Staying | Histories
    if _staying(series):
        past = _stayed(None if state is None else state.past, linked, person, len(numbers) - 1)
    else:
        before = state.past if state is not None and isinstance(state.past, Histories) else None
        past = remember(before, linked, person, len(numbers) - 1, series.schema)
    return UpdateState(numbers, alone, past)


def _stayed(before: Staying | Histories | None, linked: PersonHistories, person: Ints, release: int) -> Staying:
    was = before if isinstance(before, Staying) else Staying(LeftValues(), PresenceIntervals.none())
    beliefs, at = believe(was.beliefs, linked, person)
    return Staying(beliefs, was.present.after(len(beliefs.index.people), release, at))


def _judge(state: UpdateState, series: Series) -> Finding:
    """What the state comes to: the same finding as of all releases at once, without the case that it tells.

    Where values change it does not say what is known in each release: anybody who returns can change that.
    """
    past = state.past
    if isinstance(past, Staying):
        known = known_of_beliefs(past.beliefs, past.present, len(state.numbers))
    else:
        known = known_of_histories(past)
    if not len(known.number):
        raise CannotRunError(_NOBODY, needs=["members"])
    _refuse(series, known)
    return _finding(series, state.numbers, known, _limit(series, state.alone))


def _explain(state: UpdateState, found: Finding, series: Series, knowledge: Knowledge) -> Finding:
    """With the case of the worst person: of all releases only the histories of those who are exposed are looked at."""
    members, person, _ = named_membership(series, strangers=False)
    linked, limit = histories_of_members(members), float(found.limit or 0.0)
    model = read_updates(series.schema, linked.names)
    exposed = np.flatnonzero(np.isin(person, _beyond(state, limit)))
    some = linked.of_people(exposed)
    known = risks(some, model, guarded_values(series.schema, model.names))
    right = guessed_right(series, linked, exposed, *known.surest)
    worst = worst_place(some, known.person, known.release, known.largest, limit)
    story = {"case": tell(series, knowledge, some, model, worst, limit)}
    if right is None:
        return replace(found, details={**found.details, **story})
    sentence = _sentence(found.people or 0, found.population or 0, found.details["sure"], limit, right)
    return replace(found, sentence=sentence, details={**found.details, "right": right, **story})


def _beyond(state: UpdateState, limit: float) -> Ints:
    """Those of whom more is known than the limit allows."""
    past = state.past
    people, largest = largest_beliefs(past.beliefs) if isinstance(past, Staying) else largest_of_histories(past)
    return people[largest > limit + _SLACK]


def _staying(series: Series) -> bool:
    """Whether values never change, whichever there are."""
    return not series.schema.updates or series.schema.values_stay


# --- on releases at hand ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Followed:
    """People who were followed through all releases, and how many of these were added."""

    everyone: PersonHistories
    model: UpdateModel
    added: int
    guarded: Bools
    """Value to whether it needs protection."""

    @cached_property
    def linked(self) -> PersonHistories:
        """Those who are in the releases that were added."""
        return self.everyone.of_first(self.added)

    @cached_property
    def posteriors(self) -> Posteriors:
        """Everybody's posterior in every release."""
        return _sound(risks(self.linked, self.model, self.guarded), self.linked, self.several, self.guarded)

    @cached_property
    def several(self) -> Bools:
        """Who fits several groups of some release, so that it is not known in which the person stands."""
        linked = self.linked
        if linked.groups is None:
            return np.zeros(len(linked.table), np.bool_)
        return np.asarray(((linked.groups < 0) & (linked.table >= 0)).any(axis=1))

    @cached_property
    def known(self) -> Known:
        """What is known of everybody."""
        return _known(self.posteriors, *self.linked.table.shape)


def _see(series: Series, knowledge: Knowledge) -> Iterator[_Followed]:
    """People are followed through all releases at once."""
    linked = link_people(series, knowledge)
    model = read_updates(series.schema, linked.names)
    guarded = guarded_values(series.schema, model.names)
    return (_Followed(linked, model, place + 1, guarded) for place in range(len(series)))


def _newest(_: _Followed | None, seen: _Followed) -> _Followed:
    return seen


def _judge_all(state: _Followed, series: Series) -> Finding:
    """Everybody's largest posterior in all releases together."""
    known = state.known
    if not len(known.number):
        raise CannotRunError(_NOBODY, needs=["members"])
    _refuse(series, known)
    numbers, number = series.numbers[: state.added], int(state.several.sum())
    finding = _finding(series, numbers, known, _limit(series, _alone(state.linked)))
    return replace(finding, details={**finding.details, "several": number}) if number else finding


def _explain_all(state: _Followed, found: Finding, series: Series, knowledge: Knowledge) -> Finding:
    """With the case of the worst person, and how many guesses are right."""
    linked, model, limit = state.linked, state.model, float(found.limit or 0.0)
    seen = state.posteriors
    worst = worst_place(linked, seen.person, seen.release, seen.largest, limit)
    details = {**found.details, "case": tell(series, knowledge, linked, model, worst, limit)}
    exposed = np.flatnonzero(state.known.largest > limit + _SLACK)
    right = None
    if len(exposed) and knowledge.members is None:
        right = guessed_right(series, linked, exposed, *(one[exposed] for one in seen.surest))
    sentence = _sentence(found.people or 0, found.population or 0, found.details["sure"], limit, right)
    if right is not None:
        details["right"] = right
    if "several" in details:
        number = details["several"]
        fit = "1 person who fits" if number == 1 else f"{number:,} people who fit"
        sentence = f"{sentence} Of {fit} several groups only what is certain was counted."
    return replace(found, sentence=sentence, details=details)


def _grown(state: _Followed, series: Series, places: Sequence[int]) -> Iterator[Finding | None]:
    """After some of the releases: those who are in new ones are looked at again, of others nothing new is known."""
    linked, before = state.linked, 0
    people = len(linked.table)
    largest, there = np.zeros(people), np.zeros(people, np.bool_)
    certain, impossible = there.copy(), there.copy()
    limit = _limit(series, _alone(linked))
    for place in places:
        again = (linked.table[:, before : place + 1] >= 0).any(axis=1)
        known = _Followed(linked.of_people(np.flatnonzero(again)), state.model, place + 1, state.guarded).known
        largest[again], certain[again], impossible[again] = known.largest, known.certain, known.impossible
        there |= again
        before = place + 1
        now = Known(None, None, largest[there], certain[there], impossible[there], np.ones(int(there.sum()), np.int64))
        yield None if now.impossible.all() else _finding(series, series.numbers[: place + 1], now, limit)


updates = attack(
    NAME,
    "Follows people through their groups: which values are left, and how likely each is.",
    kept=Fold(one_by_one, _add, _judge, _explain, looks_back=True, state=UpdateState),
    follows=True,
    by_people=True,
    each_column=True,
    needs="to know who is in each release: our own, files that kept the identifier, or `--knows members=FOLDER`",
    story=(
        "Someone knows that a person is in several releases and finds the person's group in each of them. Only "
        "values that fit all these groups are left, now and in the past: often one."
    ),
    prevention=(
        (
            "Publish the series through a ledger with the method `distinct` (values change) or `invariance` (values "
            "stay): groups then show people values that go with their earlier ones."
        ),
        "Put a limit into the policy, `limits = { updates = 0.5 }`: a release that tells more is refused.",
    ),
    command="reissue publish next.csv --ledger series.ledger --schema schema.toml --out release.csv",
    no_probability="it takes a person's groups as evidence independent of each other, as the paper does",
)(Fold(_see, _newest, _judge_all, _explain_all, grown=_grown))
"""Everybody's largest posterior in all releases together."""


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


def _refuse(series: Series, known: Known) -> None:
    """Say where the groups contradict that values change as they are said to."""
    if known.impossible.any() and not series.schema.updates:
        raise CannotRunError(
            "somebody's groups have no value in common: values do change here, and the schema has no update model. Say "
            "under [updates] what can become what, or ask the attack 'joint', which learns it."
        )
    if known.impossible.all():
        raise CannotRunError("everybody's groups contradict the schema's update model: it is not of this series.")


def _finding(
    series: Series,
    numbers: Sequence[int],
    known: Known,
    limit: float,
) -> Finding:
    exposed, everyone = int(known.number[known.largest > limit + _SLACK].sum()), int(known.number.sum())
    worst, sure = float(known.largest.max()), int(known.number[known.certain].sum())
    details: dict[str, object] = {"risk": worst, "sure": sure}
    if known.risks is not None and known.certains is not None:
        details |= {"certain": max(known.certains), "risks": known.risks, "certains": known.certains}
    if series.schema.updates:
        details |= {"impossible": int(known.number[known.impossible].sum())}
    return Finding(
        NAME,
        Status.EXPOSED if exposed else Status.WITHSTOOD,
        _sentence(exposed, everyone, sure, limit, None),
        tuple(numbers),
        people=exposed,
        population=everyone,
        measure="posterior: how surely a person is linked to a sensitive value, one person at a time",
        worst=worst,
        limit=limit,
        details=details,
    )


def _alone(linked: PersonHistories) -> float:
    """The largest share of a value, short of certainty, in any group where somebody stands.

    That is what a single release tells by itself. A group of one value tells all, which no release may: it sets no
    limit.
    """
    inside = np.zeros(len(linked.places.widths), np.bool_)
    inside[linked.table[linked.table >= 0]] = True
    share = linked.places.share[np.repeat(inside, linked.places.widths)]
    return float(share[share < 1 - _SLACK].max(initial=0.0))


def _limit(series: Series, alone: float) -> float:
    given = series.limit(NAME) or series.schema.policy.get("risk")
    if given is None:
        return alone
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise SchemaError(
            "The limit of the update attack, `limits.updates` in the policy, must be above 0 and at most 1."
        )
    return float(given)


def _known(found: Posteriors, people: int, releases: int) -> Known:
    """In each release the largest posterior, and how many people are known for sure; and the same of each person."""
    risks, largest = np.zeros(releases), np.zeros(people)
    np.maximum.at(risks, found.release, found.largest)
    np.maximum.at(largest, found.person, found.largest)
    certains = np.bincount(found.release[found.left == 1], minlength=releases)
    sure, impossible = (np.bincount(found.person[found.left == left], minlength=people) > 0 for left in (1, 0))
    return Known(risks.tolist(), certains.tolist(), largest, sure, impossible, np.ones(people, np.int64))


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
