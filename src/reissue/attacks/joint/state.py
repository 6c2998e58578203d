"""The joint attack carried on in a ledger: the last releases whole, older ones as what they left behind.

Of the last `WINDOW` releases, or fewer where people fit very many groups, the state holds who may be in which group and
what the groups show, under pseudonyms. Of older ones each person keeps a message (see `window`); how little that
changes is tested. Where transitions are estimated from the releases, each estimate starts from the one before.
Confidences about values of older releases stay as they were when the release left the window. True values calibrate,
and what they say about transitions is kept as sums over people (`holder`); they themselves are never kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.findings import Finding
from reissue.attacks.joint.confidence import Confidences
from reissue.attacks.joint.finding import Judgment, exposed_of, finding_of, protection_of
from reissue.attacks.joint.holder import HolderSteps
from reissue.attacks.joint.sight import see
from reissue.attacks.joint.story.case import SolvedSeries, with_case
from reissue.attacks.joint.update_model import ObservedSeries
from reissue.attacks.joint.window import Past, Solution, Window, judged, kept_whole, solve_window
from reissue.methods.registry import Trait
from reissue.methods.registry import look_up as method_of
from reissue.people.index import PersonIndex, lasting_values, update
from reissue.people.knowledge import Knowledge, learns
from reissue.people.seat_histories import by_history
from reissue.people.series import SeriesPresences
from reissue.people.traits import Traits
from reissue.published.series import Series
from reissue.release.presences import Presences
from reissue.solver import Observation, Scaling
from reissue.solver.observation import of_people, pair_order, people_in

__all__ = ["WINDOW", "JointState", "Recent", "Thoroughness", "add", "remembering"]

WINDOW = 12
"""Releases that stay whole: a year of months. On a year and a half, posteriors of today's values change by 0.01."""
MARGIN = 0.95
"""The share of the limit from which on someone is near it, and by which `plan` rehearses (decision 0220)."""


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
    """A warm start of scaling; empty before the release was solved."""


@dataclass(frozen=True, eq=False)
class JointState:
    """What is kept of all releases so far."""

    VERSION: ClassVar[int] = 6

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
    """What is roughly known of everyone, where the policy's adversaries learn from it; else of nobody."""
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
    recent = _by_history((*(() if state is None else state.window), _recent(state, newest, at, number)))
    numbers = (*(() if state is None else state.numbers), *series.numbers)
    true = _truth(newest.truth[0], at, number)
    before, traits = _exposed_before(state, index.people), Traits.none() if state is None else state.traits
    if learns(series.schema.policy):
        there, rows = of_people(recent[-1].seen).people, at[newest.rows[0]]
        traits = traits.after(recent[-1].time, len(index.people), there, newest.releases[0].table, rows)
    past = (Past.none() if state is None else state.past).of(len(index.people))
    holder = (HolderSteps.none() if state is None else state.holder).with_truth(true, len(names))
    window = _window(recent, past, traits, names, true, holder)
    found = _solve(window, recent, series, numbers, before, effort)
    fitted = zip(recent[-found.kept :], found.multipliers[-found.kept :], strict=True)
    return JointState(
        numbers,
        tuple(names),
        index,
        tuple(replace(one, multipliers=own) for one, own in fitted),
        found.past,
        replace(found.finding, releases=numbers),
        index.people[found.exposed],
        index.people[found.near],
        index.people[before],
        traits,
        holder.of_release(_true_groups(series), index, names),
    )


def _recent(state: JointState | None, newest: SeriesPresences, at: Ints, number: Ints) -> Recent:
    """The newest release with lasting numbers of people and values."""
    time = state.window[-1].time + 1 if state is not None and state.window else 0
    seen = _renumbered(newest.observations[0], at, number)
    return Recent(time, seen, newest.fits, newest.groups_known, np.empty(0))


def remembering(state: JointState, before: JointState) -> JointState:
    """A state that was made again from releases, with what the holder's tables had shown: releases do not say it."""
    number = {name: place for place, name in enumerate(state.names)}
    place = np.array([number.get(name, -1) for name in before.names], np.int64)
    moments = before.holder.moments.grown(len(before.names)).renumbered(place, len(state.names))
    return replace(state, holder=replace(state.holder, moments=moments))


def _true_groups(series: Series) -> Presences | None:
    """Who is in which group of the newest release; None if that is not known, or its values are not the true ones."""
    method = method_of(series.schema.policy.get("method"))
    return None if method is not None and Trait.CHANGES_VALUES in method.traits else series.releases[-1].presences


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


def _window(
    recent: Sequence[Recent],
    past: Past,
    traits: Traits,
    names: Sequence[str | None],
    truth: Ints | None,
    holder: HolderSteps,
) -> Window:
    """The last releases, with numbers for the people in them."""
    people = people_in([one.seen for one in recent])
    known = [*[None] * (len(recent) - 1), None if truth is None else _of(truth, people)]
    steps = past.steps if past.steps.size else None
    seen = [_compact(one.seen, people) for one in recent]
    groups = all(one.knows_groups for one in recent)
    return Window(
        ObservedSeries.of(seen, names, known, [one.time for one in recent], steps, holder.moments),
        people,
        past,
        "groups" if groups else "register",
        float(np.mean([one.fits for one in recent])),
        [one.multipliers if len(one.multipliers) else None for one in recent],
        traits=traits if len(traits.arrival) else None,
    )


def _solve(
    window: Window,
    recent: Sequence[Recent],
    series: Series,
    numbers: Sequence[int],
    before: Bools,
    effort: Thoroughness,
) -> _Solved:
    """Everyone at once over the window, begun from what older releases left."""
    solution = solve_window(window, series, how=effort.scaling)
    confidences = judged(solution, series, effort.scaling)
    whole = replace(_with_past(confidences, window.past, window.people), before=before)
    finding = finding_of(whole, series)
    if effort.story:
        solved = SolvedSeries(
            [of_people(one) for one in solution.series],
            solution.chosen.model,
            window.seen.times,
            window.seen.names,
            numbers[-len(recent) :],
        )
        finding = with_case(finding, confidences, solved)
    kept = kept_whole(solution.series, min(effort.window or WINDOW, WINDOW))
    both = _exposed_and_near(whole, solution, protection_of(series).strictest)
    return _Solved(
        finding, *both, solution.past(confidences, len(recent) - kept), kept, solution.posterior.fit.multipliers
    )


def _exposed_and_near(whole: Judgment, solution: Solution, limit: float) -> tuple[Ints, Ints]:
    """The people above the limit, and those so near to it that a later release may need to say hardly anything more.

    Nobody is near where a prior is learned: that moves more than this from release to release.
    """
    exposed = exposed_of(whole, limit)
    close = exposed_of(whole, MARGIN * limit) & ~exposed & (solution.window.traits is None) & (limit < 1)
    return np.flatnonzero(exposed), np.flatnonzero(close)


def _with_past(judged: Judgment, past: Past, people: Ints) -> Judgment:
    """Everyone who ever was there, with the surest confidence about older values where that is surer."""
    confidences, everyone = judged.confidences, len(past.time)
    score, chance = past.best.copy(), np.minimum(past.best, 1.0)
    release, sure = np.where(past.best > 0, 0, -1), past.best >= 1
    value, marginal = np.full(everyone, -1, np.int64), np.zeros(everyone, np.int64)
    newer = confidences.score >= past.best[people]
    some = people[newer]
    score[some], chance[some], value[some] = (
        confidences.score[newer],
        confidences.chance[newer],
        confidences.value[newer],
    )
    marginal[some], sure[people] = confidences.marginal[newer], sure[people] | confidences.sure
    release[people] = np.maximum(confidences.release, release[people])
    unlearned = past.best.copy()
    unlearned[people] = np.maximum(unlearned[people], judged.unlearned)
    return replace(judged, confidences=Confidences(score, chance, release, value, marginal, sure), unlearned=unlearned)


def _of(truth: Ints, people: Ints) -> Ints:
    """The true values of some people, -1 for those beyond the newest ones."""
    return np.where(people < len(truth), truth[np.minimum(people, len(truth) - 1)], -1)


def _by_history(window: Sequence[Recent]) -> tuple[Recent, ...]:
    """With what the newest release of a panel gives away about seats of earlier ones, too."""
    made = []
    for one, (seen, _) in zip(window, by_history([one.seen for one in window]), strict=True):
        same = seen.groups == one.seen.groups and np.array_equal(seen.cell_value, one.seen.cell_value)
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
    cells = np.lexsort((value[seen.cell_value], seen.cell_group))
    known = np.argsort(person[seen.known_person])
    return replace(
        seen,
        person=person[seen.person][pairs],
        group=seen.group[pairs],
        cell_group=seen.cell_group[cells],
        cell_value=value[seen.cell_value][cells],
        cell_count=seen.cell_count[cells],
        cell_least=seen.cell_least[cells] if len(seen.cell_least) else seen.cell_least,
        absent=np.sort(person[seen.absent]),
        known_person=person[seen.known_person][known],
        known_value=value[seen.known_value][known],
        label_value=value[seen.label_value],
        counterfeits=np.bincount(value[: len(seen.counterfeits)], seen.counterfeits).astype(np.int64)
        if len(seen.counterfeits)
        else seen.counterfeits,
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
