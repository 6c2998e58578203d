"""Solve a series for everyone at once: the public door of the solver."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.resources import give_back
from reissue.counting.segments import ranges
from reissue.solver.belief_propagation import propagated
from reissue.solver.classes import Classes
from reissue.solver.components import MOST, ExactPosteriors, solve_components
from reissue.solver.conditioning import OpenStates
from reissue.solver.estimation import Departures, PriorShares
from reissue.solver.observation import Observation, fits_many, made_by_value
from reissue.solver.permanents import SmallGroups, ruled_out, small_groups
from reissue.solver.propagation import propagate
from reissue.solver.scaling import Chains, Fit, Scaling, marginals, scale
from reissue.solver.states import TINY, ReleaseStates, split, states_of
from reissue.solver.transitions import Model, Pairing, pairings

__all__ = ["TIED", "Posterior", "Problem", "of_occupants", "solve"]

TIED = 1e-6
"""Relative difference of two probabilities below which it is taken for rounding."""
_EM_ROUNDS, _EM_CONVERGED = 5, 0.01
"""EM ends when no estimate moves by more than this total variation distance, or after so many rounds."""
_ROUNDS, _SINGLE_ROUNDS, _SEAT_ROUNDS = 2, 3, 1
"""Rounds of belief propagation: fewer are too modest, more too sure (decision 0101). Three, the last one damped, where
no group shows a value twice, for there expected counts say least (decision 0206). One of seats whose occupants'
departures are weighed: they are together in every release, and every round counts that once more (decision 0209).
So are people in tables of counts, whose classes stay."""
_TO_THE_END = Scaling(sweeps=1000, tolerance=1e-3, elsewhere=0.0)
"""For `exact`."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Everyone's posterior in every release."""

    releases: tuple[ReleaseStates, ...]
    """The states that are possible."""
    chance: tuple[Floats, ...]
    """Probability of each state, by release."""
    messages: tuple[Floats, ...]
    """What each release by itself says about each of its states."""
    fit: Fit
    prior: Floats | None
    """Prior of everyone's first value (people x values), as estimated."""
    contradicted: Ints
    """People whose releases contradict each other; they were set aside."""
    equal: tuple[tuple[int, int], ...]
    """Pairs of people who certainly have the same value, whichever it is; looked for in small components."""
    components: int
    """Number of components that were solved exactly."""
    left: int
    """Number of components that are small enough for that, and were not: there are too many."""
    departures: Departures | None = None
    """Departure rates; None: nobody looked at who leaves."""
    shares: PriorShares | None = None
    """Prior shares of newcomers and counterfeits, where they were estimated."""

    @property
    def departures_differ(self) -> bool:
        """Whether values differ in how soon people with them leave."""
        return self.departures is not None and self.departures.differ

    @property
    def shares_estimated(self) -> bool:
        """Whether prior shares of newcomers and counterfeits were estimated, and are not alike."""
        return self.shares is not None and bool(np.ptp(self.shares.counterfeits) > 0)

    def largest(self, place: int) -> tuple[Floats, Ints]:
        """Largest probability of each row of a release, and the first value that has it."""
        release, chance = self.releases[place], self.chance[place]
        if not len(release.person):
            return np.empty(0), np.empty(0, np.int64)
        top = np.maximum.reduceat(chance, release.starts[:-1])
        hits = np.flatnonzero(chance >= top[release.row] * (1 - TIED))[::-1]
        value = np.empty(len(release.person), np.int64)
        value[release.row[hits]] = release.value[hits]
        return top, value

    def sure(self, place: int) -> Bools:
        """Whether no other value is possible, for each row of a release."""
        release, chance = self.releases[place], self.chance[place]
        return np.asarray(release.sums((chance > 0).astype(np.float64)) == 1)


def solve(
    series: Sequence[Observation],
    model: Model,
    *,
    prior: Floats | None = None,
    times: Sequence[int] | None = None,
    departures: Departures | None = None,
    late: Bools | None = None,
    start: Sequence[Floats | None] | None = None,
    how: Scaling | None = None,
    exact: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> Posterior:
    """Solve a series of releases for everyone at once.

    Parameters
    ----------
    series
        The releases, in the order of their publication. People and values have the same numbers in all of them.
    model
        How values change from one release to the next.
    prior
        Prior of everyone's first value (people x values); by default all values are alike.
    times
        Places of the releases in time; by default one follows the other.
    departures
        Who leaves, with departure rates that are known or to be estimated; by default nobody looks at that.
    late
        People whose prior is to be estimated, together with that of counterfeits, where groups were made by value.
    start
        Multipliers of an earlier fit of some releases, to begin with (a warm start).
    how
        How long multipliers are fitted; by default as the series needs it.
    exact
        Fit to the last digit, and solve every small component over all of its worlds.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    Posterior
        The probability of every value of every person in every release.

    Examples
    --------
    Three people share the values a, a, b; the first two share a and b in the next release. So the third has a:

    >>> import numpy as np
    >>> from reissue.solver import Model, Observation, solve
    >>> def release(people, counts):
    ...     alone = np.zeros(len(people), int)
    ...     return Observation(
    ...         np.array(people), alone, np.zeros(2, int), np.arange(2), np.array(counts), np.zeros(1, int)
    ...     )
    >>> found = solve([release([0, 1, 2], [2, 1]), release([0, 1], [1, 1])], Model(2))
    >>> found.sure(0)
    array([False, False,  True])

    """
    classes = None if exact or (late is not None and made_by_value(series)) else Classes.of(series, prior)
    if classes is not None:
        merged = [classes.merged(seen) for seen in series]
        few = None if prior is None else prior[: len(classes.first)]
        fates, more = classes.fates(departures), {"start": start, "how": how, "progress": progress}
        found = solve(merged, model, prior=few, times=times, departures=fates, **more)  # type: ignore[arg-type]
        return _of_everyone(found, classes, series, departures)
    many = fits_many(series) and not exact
    if many:
        releases, contradicted = tuple(states_of(seen, model.values) for seen in series), np.empty(0, np.int64)
    else:
        consistent = propagate(series, model, times)
        releases, contradicted = consistent.releases, consistent.contradicted
    progress(0.1)
    give_back()
    how = how or (_TO_THE_END if exact else Scaling())
    if many or len(series) < 2 or (model.steps is None and made_by_value(series)):
        departures = departures if departures is not None and departures.known else None
    late = late if not many and _shares_can_be_estimated(series, model) else None
    # Of seats with known totals exact messages would count the totals once a release.
    refined = not many and not any(len(seen.occupant) and len(seen.counterfeits) for seen in series)
    most = 0 if many else sys.maxsize if exact else MOST
    problem = Problem.of(series, releases, model, times, how, most, refined=refined)
    shares = None if late is None else PriorShares.alike(late, model.values)
    return replace(problem.solved(prior, departures, shares, start, progress), contradicted=contradicted)


def _of_everyone(
    found: Posterior, classes: Classes, series: Sequence[Observation], departures: Departures | None
) -> Posterior:
    """The posterior of classes as that of their people."""
    pairs = [
        classes.people(seen, release, [chance, said])
        for seen, release, chance, said in zip(series, found.releases, found.chance, found.messages, strict=True)
    ]
    shape = len(classes.of_person), 0 if found.prior is None else found.prior.shape[1]
    prior = None if found.prior is None else np.broadcast_to(found.prior[0], shape)
    learned = found.departures
    if learned is not None and departures is not None:
        learned = replace(learned, fates=departures.fates)
    return replace(
        found,
        releases=tuple(release for release, _ in pairs),
        chance=tuple(parts[0] for _, parts in pairs),
        messages=tuple(parts[1] for _, parts in pairs),
        prior=prior,
        contradicted=np.flatnonzero(np.isin(classes.of_person, found.contradicted)),
        equal=tuple((int(classes.first[one]), int(classes.first[other])) for one, other in found.equal),
        departures=learned,
    )


def _shares_can_be_estimated(series: Sequence[Observation], model: Model) -> bool:
    """Whether groups were made by value, values change, and it is known who is there and who is counterfeit.

    Where values stay, whoever came was chosen for one, and nothing can be learned (decision 0191).
    """
    unclear = any(one.strangers or len(one.absent) or len(one.counterfeits) or len(one.occupant) for one in series)
    return len(series) > 1 and model.steps is not None and made_by_value(series) and not unclear


@dataclass(frozen=True, eq=False)
class Problem:
    """What is solved: the open states of a series, and how."""

    releases: tuple[ReleaseStates, ...]
    """All possible states."""
    open: OpenStates
    small: tuple[SmallGroups, ...]
    model: Model
    times: Sequence[int] | None
    how: Scaling
    components: int
    """Components that are solved exactly, at most."""
    refined: bool
    """Whether counts are kept exactly, by belief propagation; else in expectation."""
    seats: bool
    """Whether persons are seats."""
    together: bool
    """Whether people meet the same others in every release: tables of counts of values that stay."""
    expected_counts: bool
    """Whether EM counts by the scaled posterior: not of seats nor of groups made by value, where expected counts say
    too little (decision 0195)."""

    @classmethod
    def of(
        cls,
        series: Sequence[Observation],
        releases: Sequence[ReleaseStates],
        model: Model,
        times: Sequence[int] | None,
        how: Scaling,
        components: int,
        arrivals: Sequence[Ints] | None = None,
        *,
        refined: bool = True,
    ) -> "Problem":
        """Condition on what is certain."""
        opened = OpenStates.of(releases, model, times, arrivals)
        small = tuple(small_groups(opened.releases)) if refined else ()
        seats = any(len(seen.occupant) for seen in series)
        expected = not refined or not (seats or made_by_value(series))
        together = model.steps is None and any(len(seen.cell_least) for seen in series)
        return cls(tuple(releases), opened, small, model, times, how, components, refined, seats, together, expected)

    def rounds(self, departures: Departures | None) -> int:
        """Rounds of belief propagation."""
        if self.together or (self.seats and departures is not None and departures.differ):
            return _SEAT_ROUNDS
        return _SINGLE_ROUNDS if self.shows_values_once else _ROUNDS

    @cached_property
    def shows_values_once(self) -> bool:
        """Whether no group shows a value twice."""
        return all((one.count <= 1).all() for one in self.open.releases)

    def solved(
        self,
        prior: Floats | None,
        departures: Departures | None = None,
        shares: PriorShares | None = None,
        start: Sequence[Floats | None] | None = None,
        progress: Callable[[float], None] = lambda _: None,
    ) -> Posterior:
        """Alternate between solving and estimating until nothing moves (EM).

        Where expected counts teach enough, they are what estimates are counted from first, for they cost least; exact
        counts then confirm what was estimated, or estimate further.
        """
        estimates, pairs = _Estimates(departures, shares), pairings(self.releases, self.times)
        chains, fit = self._scaled(estimates.chains(self, prior), start)
        expected, turn, total = self.expected_counts and estimates.to_estimate, 0, 0
        while True:
            chance, messages = _expected(chains, fit) if expected else self._refined(chains, fit, estimates)
            found = estimates.after(self, pairs, self.open.whole(self.releases, chance))
            moved, turn, total = found.moved(estimates), turn + 1, total + 1
            progress(1 - 0.9 * 0.5**total)  # the number of turns is not known: each is half of what is left
            done = moved < _EM_CONVERGED or turn == _EM_ROUNDS
            if done and not expected:
                estimates = replace(estimates, departures=found.departures)
                break
            if done:
                expected, turn = False, 0
            if moved:
                estimates = found
                chains, fit = self._scaled(estimates.chains(self, prior), fit.multipliers)
        exact = solve_components(chains, self.model, self.times, self.components)
        exact.put(chance)
        progress(1.0)
        return self._posterior(chance, messages, fit, exact, estimates, prior)

    def marginals(
        self, prior: Floats, fit: Fit, departures: Departures | None, sweeps: int
    ) -> tuple[Fit, tuple[Floats, ...]]:
        """Posterior of all states by a few sweeps from an earlier fit, counts kept in expectation."""
        chains = _Estimates(departures, None).chains(self, prior)
        fit = scale(chains, Scaling(sweeps=sweeps), fit.multipliers)
        return fit, self.open.whole(self.releases, _expected(chains.tilted(fit.tilts), fit)[0])

    def _scaled(self, chains: Chains, start: Sequence[Floats | None] | None) -> tuple[Chains, Fit]:
        """Fitted multipliers, and the chains tilted as these need it."""
        fit = scale(chains, self.how, start)
        return chains.tilted(fit.tilts), fit

    def _refined(self, chains: Chains, fit: Fit, estimates: "_Estimates") -> tuple[list[Floats], list[Floats]]:
        """Probabilities of open states with exact counts, and each release's messages."""
        if not self.refined:
            chance, messages = _expected(chains, fit)
            return [np.maximum(one, TINY) for one in chance], messages
        rounds = self.rounds(estimates.departures)
        last_damped = rounds == _SINGLE_ROUNDS
        chance, said = propagated(chains, fit.multipliers, self.small, rounds, last_damped=last_damped)
        # Rows of which rounding has left nothing are as they were before.
        lost = [one.sums(mine) < 0.5 for one, mine in zip(chains.releases, chance, strict=True)]
        if any(rows.any() for rows in lost):
            each = zip(chains.releases, lost, _expected(chains, fit)[0], chance, strict=True)
            chance = [np.where(rows[one.row], plain, mine) for one, rows, plain, mine in each]
        # 0 is only what counting rules out, not what rounding has made 0.
        cells = np.concatenate([one.chance for one in chains.releases])
        never = split(ruled_out(self.small, np.concatenate(chance) == 0, cells), chains.releases)
        return [np.where(out, 0.0, np.maximum(one, TINY)) for out, one in zip(never, chance, strict=True)], said

    def _posterior(
        self,
        chance: Sequence[Floats],
        messages: Sequence[Floats],
        fit: Fit,
        exact: ExactPosteriors,
        estimates: "_Estimates",
        prior: Floats | None,
    ) -> Posterior:
        releases, shares = self.releases, estimates.shares
        if shares is not None:
            releases = tuple(one.sharing(shares.counterfeits) for one in releases)
        pairs = zip(releases, fit.tilts, strict=True)
        person = self.open.person
        return Posterior(
            tuple(one.tilted(tilt) if len(tilt) else one for one, tilt in pairs),
            self.open.whole(self.releases, chance),
            self.open.whole(self.releases, messages),
            fit,
            estimates.prior(prior),
            np.empty(0, np.int64),
            tuple((int(person[one]), int(person[other])) for one, other in exact.equal),
            exact.components,
            exact.left,
            estimates.departures,
            shares,
        )


def _expected(chains: Chains, fit: Fit) -> tuple[list[Floats], list[Floats]]:
    """Probabilities with counts kept in expectation, and each release's messages."""
    messages = fit.messages(chains)
    return marginals(chains, messages), messages


@dataclass(frozen=True, eq=False)
class _Estimates:
    """The parameters of EM."""

    departures: Departures | None
    shares: PriorShares | None

    @property
    def to_estimate(self) -> bool:
        """Whether there is anything to estimate."""
        return self.departures is not None or self.shares is not None

    def prior(self, prior: Floats | None) -> Floats | None:
        """Everyone's prior with that of newcomers as estimated."""
        if self.shares is None:
            return prior
        given = np.ones((len(self.shares.late), len(self.shares.newcomers))) if prior is None else prior
        return np.where(self.shares.late[:, np.newaxis], self.shares.newcomers, given)

    def chains(self, problem: Problem, prior: Floats | None) -> Chains:
        """The open states, weighed by the parameters."""
        weights = [] if self.departures is None else self.departures.weights(problem.releases)
        shares = None if self.shares is None else self.shares.counterfeits
        return problem.open.chains(self.prior(prior), weights, shares)

    def after(self, problem: Problem, pairs: Sequence[Pairing], chance: Sequence[Floats]) -> "_Estimates":
        """Estimated from a posterior."""
        departures, shares = self.departures, self.shares
        if departures is not None:
            departures = departures.estimated(problem.releases, chance, problem.model.values)
        if shares is not None:
            shares = shares.estimated(problem.releases, pairs, chance)
        return _Estimates(departures, shares)

    def moved(self, before: "_Estimates") -> float:
        """How far the parameters moved."""
        departed = shared = 0.0
        if self.departures is not None and before.departures is not None:
            departed = self.departures.moved(before.departures)
        if self.shares is not None and before.shares is not None:
            shared = self.shares.moved(before.shares)
        return max(departed, shared)


def of_occupants(posterior: Posterior, series: Sequence[Observation]) -> Posterior:
    """The posterior of people instead of the seats in which they are; unchanged where persons are people.

    A counterfeit that carries a seat on is no free member but the same chain of values, and what is found of a seat in
    a release holds for whoever sits there then. The adversary is taken to know who follows whom in a seat, which is
    more than is published.
    """
    if not any(len(seen.occupant) for seen in series):
        return posterior
    pairs = [_seated(*one) for one in zip(posterior.releases, posterior.chance, series, strict=True)]
    return replace(posterior, releases=tuple(one for one, _ in pairs), chance=tuple(chance for _, chance in pairs))


def _seated(release: ReleaseStates, chance: Floats, seen: Observation) -> tuple[ReleaseStates, Floats]:
    """Rows of seats as rows of people, in their order."""
    if not len(seen.occupant):
        return release, chance
    occupant = seen.occupant[np.searchsorted(seen.person, release.person)]
    rows = np.flatnonzero(occupant >= 0)
    rows = rows[np.argsort(occupant[rows])]
    widths = np.diff(release.starts)[rows]
    states = ranges(release.starts[rows], widths)
    starts = np.append(0, np.cumsum(widths))
    return replace(release, person=occupant[rows], starts=starts, value=release.value[states]), chance[states]
