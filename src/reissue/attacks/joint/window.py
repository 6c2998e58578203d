"""A window of releases, solved for everyone at once and judged: the same for an audit and a ledger.

An audit is a ledger with an unlimited window: all releases are solved together. A ledger keeps the last releases whole;
of older ones each person keeps a message, what they say about the person's last value there, which is where the chain
begins again. Where people fit very many groups, an audit is solved a few releases at a time in the same way. Messages
flow forward only: a later release says nothing more about the values of a release that is gone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from scipy import sparse

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.joint.confidence import Marginal, marginals_of
from reissue.attacks.joint.finding import AssumedKnowledge, Judgment, protection_of
from reissue.attacks.joint.update_model import (
    ModelChoice,
    ObservedSeries,
    check_fit,
    learnable,
    learned,
    misfits,
    update_model,
)
from reissue.counting.segments import different
from reissue.people.knowledge import learns, sees_leaving
from reissue.people.series import SeriesPresences
from reissue.people.traits import Traits
from reissue.published.series import Series
from reissue.solver import Departures, Model, Observation, Posterior, Scaling, solve
from reissue.solver.estimation import joined
from reissue.solver.labels import with_known_labels
from reissue.solver.learned_prior import with_learned_prior
from reissue.solver.observation import fits_many, of_people
from reissue.solver.posterior import of_occupants
from reissue.solver.scaling import Chains, beginners, first_weights, forward_messages

__all__ = [
    "Past",
    "Solution",
    "Window",
    "judged",
    "kept_whole",
    "solve_window",
    "traits_of",
    "with_learned_features",
]

_AUDIT, _LEDGER, _MANY = 120_000_000, 24_000_000, 6_000_000
"""Assignments that are solved together, at most: in an audit (about 16 GB), in a ledger, and where people fit very many
groups: these are not ruled out before they are held in memory, and their releases say little about each other."""


@dataclass(frozen=True, eq=False)
class Past:
    """What releases before the window say about each person's last value there; sorted by person, then value."""

    person: Ints
    value: Ints
    weight: Floats
    time: Ints
    """Time of the last release before the window in which each person was; -1: none."""
    best: Floats
    """Highest score of a confidence about a value of each person in these releases (see `confidence`)."""
    steps: Floats
    """Transition matrix as all releases so far taught; empty if they did not."""
    leaving: Floats
    """Departure rates of values as they taught; empty if values do not differ in that."""

    @classmethod
    def none(cls) -> "Past":
        """Before the first release."""
        none, nothing = np.empty(0, np.int64), np.empty(0)
        return cls(none, none, nothing, none, nothing, np.empty((0, 0)), nothing)

    def of(self, people: int) -> "Past":
        """With room for new people."""
        new = people - len(self.time)
        time, best = np.append(self.time, np.full(new, -1)), np.append(self.best, np.zeros(new))
        return replace(self, time=time, best=best)

    def prior(self, people: Ints, first: Ints, model: Model, rates: Floats) -> Floats:
        """Prior of some people's first value in the window (people x values), which they have at time `first`."""
        old = (self.time[people] >= 0) & (first >= 0)
        if not old.any():
            return np.broadcast_to(rates, (len(people), model.values))
        place = np.full(len(self.time), -1, np.int64)
        place[people] = np.arange(len(people))
        mine = np.flatnonzero(place[self.person] >= 0)
        at = place[self.person[mine]], self.value[mine]
        # Sparse, for people have few values; and threads of a dense product would wait for the next one at full speed.
        said = sparse.csr_array((self.weight[mine], at), shape=(len(people), model.values))
        table = np.tile(rates, (len(people), 1))
        gap = first - self.time[people]
        for steps in np.unique(gap[old]):
            some = np.flatnonzero(old & (gap == steps))
            table[some] = said[some] @ model.after(int(steps))
        return table

    def departure_rates(self, values: int) -> Floats | None:
        """With room for values that are new: who has one leaves as others do."""
        if not len(self.leaving):
            return None
        return np.append(self.leaving, np.full(values - len(self.leaving), self.leaving.mean()))

    def after(self, times: Sequence[int], people: Ints, posterior: Posterior, model: Model, gone: int) -> "Past":
        """With the oldest releases of a window gone into it; `people` are the persons of the posterior's numbers."""
        if not gone:
            return self
        releases, departures = posterior.releases, posterior.departures
        chains = Chains.of(releases, model, times, None if departures is None else departures.weights(releases) or None)
        if posterior.prior is not None:
            prior, pairs = posterior.prior, zip(releases, chains.links, chains.given, strict=True)
            given = (weight * first_weights(one, beginners(one, links.pairing), prior) for one, links, weight in pairs)
            chains = replace(chains, given=tuple(given))
        made, said = self, forward_messages(chains, posterior.messages)
        for place in range(gone):
            made = made._with(times[place], people, posterior, place, said[place])
        return made

    def _with(self, time: int, people: Ints, posterior: Posterior, place: int, said: Floats) -> "Past":
        release = posterior.releases[place]
        gone = people[release.person]
        kept = ~np.isin(self.person, gone)
        person = np.concatenate([self.person[kept], gone[release.row]])
        value, weight = np.concatenate([self.value[kept], release.value]), np.concatenate([self.weight[kept], said])
        order = np.lexsort((value, person))
        when = self.time.copy()
        when[gone] = time
        return replace(self, person=person[order], value=value[order], weight=weight[order], time=when)

    def claiming(self, people: Ints, every: Sequence[Marginal], gone: int) -> "Past":
        """With what is claimed about people's values in the oldest releases of the window, which are gone."""
        best = self.best.copy()
        for marginal, place in product(every, range(gone)):
            there = people[marginal.releases[place].person]
            best[there] = np.maximum(best[there], marginal.largest(place)[0])
        return replace(self, best=best)


@dataclass(frozen=True, eq=False)
class Window:
    """The releases of a window, and what is known beside them."""

    seen: ObservedSeries
    """Releases with numbers for these people, true values, and what says how values change."""
    people: Ints
    """Number of each person in `past` and `traits`."""
    past: Past
    knowledge: str
    """What is known of people's groups: "groups", or "register"."""
    fits: float
    """Groups of a release that a person fits, on average."""
    start: Sequence[Floats | None]
    """Multipliers of each release as they were fitted before."""
    strangers: int = 0
    """Records of people whom the adversary does not know."""
    traits: Traits | None = None
    """What may go with people's values, where the adversary learns that."""
    departures: Floats | None = None
    """Departure rates that the adversary knows."""
    evidence: Floats | None = None
    """What is known of everyone's last value from elsewhere (people x values): the likelihood of each value."""

    @classmethod
    def of(cls, crowd: SeriesPresences, series: Series, departures: Floats | None) -> "Window":
        """All releases of an audit."""
        everyone, places = np.arange(crowd.people), range(len(crowd.observations))
        return cls(
            ObservedSeries.of(crowd.observations, crowd.names, crowd.truth, series.times),
            everyone,
            Past.none().of(crowd.people),
            crowd.knowledge,
            crowd.fits,
            [None] * len(places),
            crowd.strangers,
            traits_of(crowd) if learns(series.schema.policy) else None,
            departures,
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """Everyone's posterior, how values change, and what both come from."""

    window: Window
    """With priors as they are where values change so."""
    chosen: ModelChoice
    posterior: Posterior

    @property
    def series(self) -> Sequence[Observation]:
        """The releases."""
        return self.window.seen.series

    def past(self, judged: Judgment, gone: int) -> Past:
        """What the oldest releases leave behind."""
        window, model, posterior = self.window, self.chosen.model, self.posterior
        past = window.past.after(window.seen.times, window.people, posterior, model, gone)
        past = past.claiming(window.people, judged.marginals, gone)
        past = replace(past, leaving=np.empty(0) if posterior.departures is None else posterior.departures.rates)
        taught = self.chosen.source == "releases" and model.steps is not None
        return replace(past, steps=model.steps) if taught and model.steps is not None else past


def solve_window(
    window: Window,
    series: Series,
    chosen: ModelChoice | None = None,
    how: Scaling | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Solution:
    """Solve a window for everyone at once; `chosen` is how values change, if that is known already.

    Where nobody says how values change and no world explains the releases if they stay, it is learned from them.
    """
    seen, schema = window.seen, series.schema
    chosen = chosen or update_model(schema, seen, lambda done: progress(0.1 + 0.3 * done))
    solved = partial(_solved, window, series, how, lambda done: progress(0.4 + 0.6 * done))
    found = solved(chosen)
    if chosen.source == "none" and learnable(schema, seen) and misfits(found.posterior, found.series):
        found = solved(learned(seen))
    return found


def _solved(
    window: Window, series: Series, how: Scaling | None, progress: Callable[[float], None], chosen: ModelChoice
) -> Solution:
    """Block of releases by block, each begun from what those before leave."""
    learns_model = window.seen.steps is None and chosen.source == "releases"
    window = replace(window, seen=window.seen.where(chosen))
    blocks = [range(len(window.start))] if series.exact or window.evidence is not None else _blocks(window.seen.series)
    past, found = window.past, list[Posterior]()
    for number, block in enumerate(blocks):
        some = window.seen.block(block)
        first = _first_times(some.series, some.times, len(window.people))

        def within(done: float, number: int = number) -> None:
            progress((number + done) / len(blocks))

        posterior = solve(
            some.series,
            chosen.model,
            prior=past.prior(window.people, first, chosen.model, some.rates),
            times=some.times,
            departures=_departures(replace(window, past=past), series, some.series, chosen.model, some.times),
            late=(past.time[window.people] < 0) & (first > 0),
            # Multipliers of values that stay, which these releases do not allow, are no place to begin from.
            start=None if learns_model else [window.start[place] for place in block],
            evidence=window.evidence,
            how=how,
            exact=series.exact,
            progress=within,
        )
        found.append(posterior)
        if number + 1 < len(blocks):
            past = past.after(some.times, window.people, posterior, chosen.model, len(block))
    return Solution(window, chosen, _labelled(window.seen.series, _joined(found)))


def _departures(
    window: Window, series: Series, seen: Sequence[Observation], model: Model, times: Sequence[int]
) -> Departures | None:
    """Who leaves, if the adversary looks at it, with rates that are known or were estimated before."""
    people = len(window.people)
    if window.departures is not None:
        return Departures.of(seen, people, window.departures, known=True, times=times)
    if not sees_leaving(series.schema.policy):
        return None
    return Departures.of(seen, people, window.past.departure_rates(model.values), times=times)


def _first_times(series: Sequence[Observation], times: Sequence[int], people: int) -> Ints:
    """Time of the first release in which each person is."""
    first = np.full(people, -1, np.int64)
    for one, time in zip(reversed(series), reversed(times), strict=True):
        first[one.people] = time
    return first


def kept_whole(series: Sequence[Observation], window: int) -> int:
    """How many of the last releases a ledger keeps whole: one at least."""
    total = np.cumsum([one.assignments for one in reversed(series)])
    most = _MANY if fits_many(series) else _LEDGER
    return min(len(series), window, max(1, int(np.searchsorted(total, most, side="right"))))


def _blocks(series: Sequence[Observation]) -> list[range]:
    """Consecutive releases that are solved together; a block of one may have more assignments than allowed."""
    starts, total, most = [0], 0, _MANY if fits_many(series) else _AUDIT
    for place, seen in enumerate(series):
        if total and total + seen.assignments > most:
            starts.append(place)
            total = 0
        total += seen.assignments
    return [range(*pair) for pair in zip(starts, [*starts[1:], len(series)], strict=True)]


def _joined(found: Sequence[Posterior]) -> Posterior:
    """The posteriors of all blocks as that of one series."""
    if len(found) == 1:
        return found[0]
    worst = max((one.fit for one in found), key=lambda fit: fit.worst)
    multipliers = tuple(part for one in found for part in one.fit.multipliers)
    tilts = tuple(part for one in found for part in one.fit.tilts)
    return replace(
        found[-1],
        releases=tuple(release for one in found for release in one.releases),
        chance=tuple(chance for one in found for chance in one.chance),
        messages=tuple(said for one in found for said in one.messages),
        fit=replace(worst, multipliers=multipliers, tilts=tilts),
        prior=found[0].prior,
        contradicted=np.unique(np.concatenate([one.contradicted for one in found])),
        equal=tuple(pair for one in found for pair in one.equal),
        components=sum(one.components for one in found),
        left=sum(one.left for one in found),
        departures=joined([one.departures for one in found]),
    )


def _labelled(series: Sequence[Observation], posterior: Posterior) -> Posterior:
    """With what known values of some seats of a panel say about the labels of others."""
    panel = all(len(one.label) and len(one.occupant) for one in series)
    if not panel or not any(len(one.known_person) for one in series):
        return posterior
    return replace(posterior, chance=with_known_labels(series, posterior.releases, posterior.chance))


# --- judging ---------------------------------------------------------------------------------------------------------


def judged(solution: Solution, series: Series, how: Scaling | None = None) -> Judgment:
    """Confidences about everyone, and how they compare with the truth."""
    window, posterior, chosen = solution.window, solution.posterior, solution.chosen
    seen, policy = window.seen, series.schema.policy
    check_fit(posterior, seen.series, chosen)
    totals = any(len(one.counterfeits) for one in seen.series)
    adversary = AssumedKnowledge(
        window.knowledge,
        window.fits,
        chosen.source,
        totals,
        window.strangers,
        sees_leaving(policy),
        learns=window.traits is not None,
    )
    insiders = different(np.concatenate([of_people(one).known_person for one in seen.series]))
    marginals = partial(marginals_of, series=seen.series, protection=protection_of(series), names=seen.names)
    inside = of_occupants(posterior, seen.series)
    learned: Sequence[Marginal] = ()
    if window.traits is not None:
        learned = marginals(of_occupants(with_learned_features(solution, window.traits, how), seen.series))
    people = len(window.people)
    return Judgment.of(inside, marginals(inside), adversary, seen.truth, people, insiders, learned)


def with_learned_features(
    solution: Solution,
    traits: Traits,
    how: Scaling | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Posterior:
    """The posterior of an adversary who also learns which people tend to have which value.

    How long people stay is a feature only where departure rates were not estimated, for these say it already.
    """
    window, posterior = solution.window, solution.posterior
    features = traits.features(window.people, stay=not posterior.departures_differ)
    told: Bools = window.past.time[window.people] >= 0
    rates = window.seen.rates
    prior = np.broadcast_to(rates, (len(told), len(rates))) if posterior.prior is None else posterior.prior
    model, times = solution.chosen.model, window.seen.times
    return with_learned_prior(solution.series, model, posterior, features, prior, told, times, how, progress)


def traits_of(crowd: SeriesPresences) -> Traits:
    """What is roughly known of everyone in a series."""
    traits = Traits.none()
    for place, (seen, known, rows) in enumerate(zip(crowd.observations, crowd.releases, crowd.rows, strict=True)):
        traits = traits.after(place, crowd.people, of_people(seen).people, known.table, rows)
    return traits
