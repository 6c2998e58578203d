"""The joint attack carried on in a ledger: the last releases whole, older ones as what they left behind.

Of the last `WINDOW` releases, or fewer where people fit very many groups, it is kept who may be in which group and what
the groups show; pseudonyms only. Of older ones each person keeps a message: what they say about the person's last value
there, which is where the chain begins again. Older multipliers are so no longer scaled; how little that changes is
tested. Where how values change is learned from the releases, each one goes on from what the ones before taught. Claims
about values of older releases stay as they were when the release left the window. True values calibrate, and what they
say of how values change is kept as sums over people (`holder`); they themselves are never kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import Finding
from reissue.attacks.joint.claims import Claims
from reissue.attacks.joint.finding import Judged, Reader, exposed_of, finding_of, protection_of
from reissue.attacks.joint.holder import HolderSteps
from reissue.attacks.joint.learning import features_of, learning
from reissue.attacks.joint.lenses import lenses_of
from reissue.attacks.joint.sight import knows_totals, see
from reissue.attacks.joint.solving.beliefs import Beliefs, occupied
from reissue.attacks.joint.solving.believe import believe
from reissue.attacks.joint.solving.past import Past, first_times, ways_at_once
from reissue.attacks.joint.story.case import SolvedSeries, with_case
from reissue.attacks.joint.update_model import (
    Chosen,
    Learnable,
    check_fit,
    learnable,
    learned,
    misfits,
    update_model,
)
from reissue.methods.registry import known as method_of
from reissue.people.index import PersonIndex, lasting_values, update
from reissue.people.knowledge import Knowledge, learns, sees_leaving
from reissue.people.slot_histories import by_history
from reissue.people.traits import Traits
from reissue.published.series import Series
from reissue.release.presences import Presences
from reissue.solver.iterative_scaling import Scaling
from reissue.solver.observations import Observation, of_people, pair_order, people_in

__all__ = ["WINDOW", "JointState", "Recent", "Thoroughness", "add", "remembering"]

WINDOW = 12
_NEAR, _NEAR_BY_LEAVING = 0.98, 0.95
"""Of the limit: who is linked to a value more surely than that is near it; where who leaves tells, for it moves."""


@dataclass(frozen=True)
class Thoroughness:
    """How much work goes into it: all of it at the gate, less where many settings are rehearsed."""

    story: bool = True
    """Whether the worst case is explained."""
    scaling: Scaling | None = None
    """How long counts are fitted; None: as long as is usual."""
    window: int | None = None
    """How many of the last releases stay whole; None: as many as is usual."""


@dataclass(frozen=True, eq=False)
class Recent:
    """One of the last releases."""

    time: int
    seen: Observation
    fits: float
    knows_groups: bool
    multipliers: Floats
    """Where scaling starts from; none before the release was solved."""


@dataclass(frozen=True, eq=False)
class JointState:
    """What is kept of all releases so far."""

    VERSION: ClassVar[int] = 5

    numbers: tuple[int, ...]
    """What they are called."""
    names: tuple[str | None, ...]
    """Value to its text."""
    index: PersonIndex
    window: tuple[Recent, ...]
    past: Past
    finding: Finding
    exposed: Ints
    """Pseudonyms of the people whom the newest release exposes."""
    near: Ints
    """Pseudonyms of those whom it nearly does: a later one may need to say hardly anything about them."""
    before: Ints
    """Pseudonyms of those whom earlier ones had exposed."""
    traits: Traits
    """What is roughly known of everyone, where the policy's readers learn from it; else of nobody."""
    holder: HolderSteps
    """How values change, as the holder's own tables show."""

    def companions(self, people: Ints) -> list[Ints]:
        """For each of some people, by pseudonym, those who may have been in a group with them when last there."""
        everyone, found = self.index.people, []
        for place in np.flatnonzero(np.isin(everyone, people)).tolist():
            for recent in reversed(self.window):
                member = recent.seen.occupant if len(recent.seen.occupant) else recent.seen.person
                groups = recent.seen.group[member == place]
                if len(groups):
                    beside = np.unique(member[np.isin(recent.seen.group, groups)])
                    found.append(everyone[beside[beside >= 0]])
                    break
        return found


def add(state: JointState | None, series: Series, effort: Thoroughness = Thoroughness()) -> JointState:  # noqa: B008
    """The state after one more release, the newest and only one of the series."""
    newest = see(series, Knowledge())
    index, place = update(PersonIndex.none() if state is None else state.index, newest.identifiers)
    names, number = lasting_values(() if state is None else state.names, newest.names)
    at = place.astype(np.int64)
    older = () if state is None else state.window
    time = older[-1].time + 1 if older else 0
    here = Recent(time, _renumbered(newest.observations[0], at, number), newest.fits, newest.groups_known, np.empty(0))
    window = _by_history((*older, here))
    numbers = (*(() if state is None else state.numbers), *series.numbers)
    true = _truth(newest.truth[0], at, number)
    before = _exposed_before(state, index.people)
    past = (Past.none() if state is None else state.past).of(len(index.people))
    traits = Traits.none() if state is None else state.traits
    if learns(series.schema.policy):
        there = of_people(here.seen).people
        traits = traits.after(time, len(index.people), there, newest.releases[0].table, at[newest.rows[0]])
    holder = (HolderSteps.none() if state is None else state.holder).with_truth(true, len(names))
    solved = _solve(window, past, traits, names, numbers, series, true, before, effort, holder)
    recent = zip(window[-solved.kept :], solved.multipliers[-solved.kept :], strict=True)
    return JointState(
        numbers,
        tuple(names),
        index,
        tuple(replace(one, multipliers=scaled) for one, scaled in recent),
        solved.past,
        replace(solved.finding, releases=numbers),
        index.people[solved.exposed],
        index.people[solved.near],
        index.people[before],
        traits,
        holder.of_release(_true_groups(series), index, names),
    )


def remembering(state: JointState, before: JointState) -> JointState:
    """A state that was made again from releases, with what the holder's tables had shown: releases do not say it."""
    number = {name: place for place, name in enumerate(state.names)}
    place = np.array([number.get(name, -1) for name in before.names], np.int64)
    moments = before.holder.moments.grown(len(before.names)).renumbered(place, len(state.names))
    return replace(state, holder=replace(state.holder, moments=moments))


def _true_groups(series: Series) -> Presences | None:
    """Who is in which group of the newest release; None if that is not known, or its values are not the true ones."""
    method = method_of(series.schema.policy.get("method"))
    return None if method is not None and method.changes_values else series.releases[-1].presences


@dataclass(frozen=True, eq=False)
class _Solved:
    finding: Finding
    exposed: Ints
    """The people whom this release exposes."""
    near: Ints
    """Those whom it nearly does."""
    past: Past
    kept: int
    """How many of the last releases stay whole."""
    multipliers: tuple[Floats, ...]


def _solve(
    window: Sequence[Recent],
    past: Past,
    traits: Traits,
    names: Sequence[str | None],
    numbers: Sequence[int],
    series: Series,
    truth: Ints | None,
    before: Bools,
    effort: Thoroughness,
    holder: HolderSteps,
) -> _Solved:
    """Everyone at once over the window, begun from what older releases left."""
    people = people_in([one.seen for one in window])
    seen = [_compact(one.seen, people) for one in window]
    times = [one.time for one in window]
    unknown: list[Ints | None] = [None] * (len(window) - 1)
    steps = past.steps if past.steps.size else None
    known_now = replace(Learnable.of(seen, names, [*unknown, truth], times, steps), holder=holder.moments)
    seen = [*known_now.series]
    believed = partial(_believed, window, past, people, known_now, series, effort)
    chosen = update_model(series.schema, known_now)
    prior, beliefs = believed(chosen)
    if chosen.source == "none" and learnable(series.schema, known_now) and misfits(beliefs, seen):
        chosen = learned(known_now)
        prior, beliefs = believed(chosen)
    check_fit(beliefs, seen, chosen)
    fits = float(np.mean([one.fits for one in window]))
    groups = all(one.knows_groups for one in window)
    leaving = sees_leaving(series.schema.policy)
    reader = Reader("groups" if groups else "register", fits, chosen.source, knows_totals(seen), leaving=leaving)
    known = [*unknown, None if truth is None else _of(truth, people)]
    protection = protection_of(series)
    lenses = partial(lenses_of, series=seen, protection=protection, names=names)
    inside = occupied(beliefs, seen)
    judged = Judged.of(inside, lenses(inside), reader, known, len(people))
    if len(traits.arrival):
        told, features = past.time[people] >= 0, features_of(traits, people, beliefs)
        learnt = learning(seen, chosen.model, beliefs, features, prior, told, times, effort.scaling)
        inside = occupied(learnt, seen)
        judged = judged.learning(inside, lenses(inside), known)
    whole = replace(_with_past(judged, past, people), before=before)
    solved = SolvedSeries([of_people(one) for one in seen], chosen.model, times, names, numbers[-len(window) :])
    finding = finding_of(whole, series)
    finding = with_case(finding, judged, solved) if effort.story else finding
    kept = min(_fitting(window), effort.window or WINDOW)
    past = past.after(times, people, beliefs, chosen.model, prior, len(window) - kept)
    past = past.claiming(people, judged.every, len(window) - kept)
    past = replace(past, leaving=np.empty(0) if beliefs.leaving is None else beliefs.leaving.rates)
    if chosen.source == "releases" and chosen.model.steps is not None:
        past = replace(past, steps=chosen.model.steps)
    both = _exposed_and_near(whole, beliefs, protection.strictest, steady=not len(traits.arrival))
    return _Solved(finding, *both, past, kept, beliefs.scaled.multipliers)


def _exposed_and_near(judged: Judged, beliefs: Beliefs, limit: float, *, steady: bool) -> tuple[Ints, Ints]:
    """The people above the limit, and those so near to it that a later release may need to say hardly anything more.

    Nobody is near where the posterior is not `steady`: what is learnt moves more than that from release to release.
    """
    exposed = exposed_of(judged, limit)
    near = exposed_of(judged, (_NEAR_BY_LEAVING if beliefs.leaving_learnt else _NEAR) * limit) & ~exposed
    return np.flatnonzero(exposed), np.flatnonzero(near & steady & (limit < 1))


def _believed(
    window: Sequence[Recent],
    past: Past,
    people: Ints,
    seen: Learnable,
    series: Series,
    effort: Thoroughness,
    chosen: Chosen,
) -> tuple[Floats, Beliefs]:
    """What is expected of everyone, and what follows, where values change as was chosen."""
    starts: list[Floats | None] = [one.multipliers if len(one.multipliers) else None for one in window]
    if seen.steps is None and chosen.source == "releases":
        # Multipliers of values that stay, which these releases do not allow, are no place to start from.
        starts = [None] * len(window)
    times, seen = [one.time for one in window], seen.where(chosen)
    first = first_times(seen.series, times, len(people))
    prior = past.prior(people, first, chosen.model, seen.rates)
    new = past.newcomers(people, first, seen.series, chosen.model, seen.rates)
    beliefs = believe(
        seen.series,
        chosen.model,
        prior=prior,
        newcomers=new,
        times=times,
        start=starts,
        exact=series.exact,
        how=effort.scaling,
        sees_leaving=sees_leaving(series.schema.policy),
        leaving=past.rates_of_leaving(chosen.model.values),
        twice=learns(series.schema.policy),
    )
    return beliefs.expected(prior, new), beliefs


def _with_past(judged: Judged, past: Past, people: Ints) -> Judged:
    """Everyone who ever was there, with the surest claim about older values where that is surer."""
    claims, everyone = judged.claims, len(past.time)
    score, chance = past.best.copy(), np.minimum(past.best, 1.0)
    release, sure = np.where(past.best > 0, 0, -1), past.best >= 1
    value, lens = np.full(everyone, -1, np.int64), np.zeros(everyone, np.int64)
    newer = claims.score >= past.best[people]
    some = people[newer]
    score[some], chance[some], value[some] = claims.score[newer], claims.chance[newer], claims.value[newer]
    lens[some], sure[people] = claims.lens[newer], sure[people] | claims.sure
    release[people] = np.maximum(claims.release, release[people])
    without = None if judged.without is None else _with_past(judged.without, past, people)
    return replace(judged, claims=Claims(score, chance, release, value, lens, sure), without=without)


def _of(truth: Ints, people: Ints) -> Ints:
    """The true values of some people, -1 for those beyond the newest ones."""
    return np.where(people < len(truth), truth[np.minimum(people, len(truth) - 1)], -1)


def _fitting(window: Sequence[Recent]) -> int:
    """How many of the last releases can be kept whole: one at least."""
    ways = np.cumsum([one.seen.ways for one in reversed(window)])
    most = ways_at_once([one.seen for one in window])
    return min(len(window), WINDOW, max(1, int(np.searchsorted(ways, most, side="right"))))


def _by_history(window: Sequence[Recent]) -> tuple[Recent, ...]:
    """With what the newest release of a panel gives away about slots of earlier ones, too."""
    made = []
    for one, (seen, _) in zip(window, by_history([one.seen for one in window]), strict=True):
        same = seen.groups == one.seen.groups and np.array_equal(seen.slot_value, one.seen.slot_value)
        made.append(replace(one, seen=seen, multipliers=one.multipliers if same else np.empty(0)))
    return tuple(made)


def _exposed_before(state: JointState | None, people: Ints) -> Bools:
    """Person to whether an earlier release exposed the person."""
    if state is None:
        return np.zeros(len(people), np.bool_)
    return np.isin(people, np.concatenate([state.exposed, state.before]))


def _renumbered(seen: Observation, person: Ints, value: Ints) -> Observation:
    """With lasting numbers of people and values, sorted by them."""
    pairs = pair_order(person[seen.person], seen.group)
    slots = np.lexsort((value[seen.slot_value], seen.slot_group))
    known = np.argsort(person[seen.known_person])
    return replace(
        seen,
        person=person[seen.person][pairs],
        group=seen.group[pairs],
        slot_group=seen.slot_group[slots],
        slot_value=value[seen.slot_value][slots],
        slot_count=seen.slot_count[slots],
        absent=np.sort(person[seen.absent]),
        known_person=person[seen.known_person][known],
        known_value=value[seen.known_value][known],
        label_value=value[seen.label_value],
        fakes=np.bincount(value[: len(seen.fakes)], seen.fakes).astype(np.int64) if len(seen.fakes) else seen.fakes,
        occupant=np.where(seen.occupant >= 0, person[seen.occupant], -1)[pairs]
        if len(seen.occupant)
        else seen.occupant,
    )


def _compact(seen: Observation, people: Ints) -> Observation:
    """With the numbers that people have among those of the window."""
    at = [np.searchsorted(people, one) for one in (seen.person, seen.absent, seen.known_person)]
    inside = np.where(seen.occupant >= 0, np.searchsorted(people, seen.occupant), -1)
    return replace(seen, person=at[0], absent=at[1], known_person=at[2], occupant=inside)


def _truth(truth: Ints | None, at: Ints, number: Ints) -> Ints | None:
    if truth is None:
        return None
    made = np.full(int(at.max(initial=-1)) + 1, -1, np.int64)
    made[at] = np.where(truth >= 0, number[np.maximum(truth, 0)], -1)
    return made
