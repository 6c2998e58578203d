"""Solve a series for everyone at once: the public door of the solver."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.resources import give_back
from reissue.counting.segments import ranges
from reissue.solver.belief_propagation import propagated
from reissue.solver.classes import Classes
from reissue.solver.components import MOST, solve_components
from reissue.solver.estimation import Departures, PriorShares
from reissue.solver.observation import Observation, fits_many, made_by_value
from reissue.solver.permanents import SmallGroups, ruled_out, small_groups
from reissue.solver.propagation import propagate
from reissue.solver.scaling import Chains, Fit, Scaling, beginners, first_weights, marginals, scale
from reissue.solver.states import TINY, ReleaseStates, split, states_of
from reissue.solver.transitions import Model

__all__ = ["TIED", "Posterior", "Problem", "of_occupants", "solve"]

TIED = 1e-6
"""Relative difference of two probabilities below which it is taken for rounding."""
_EM_ROUNDS, _EM_CONVERGED = 5, 0.01
"""EM ends when no estimate moves by more than this total variation distance, or after so many rounds."""
_ROUNDS, _SINGLE_ROUNDS, _TOGETHER_ROUNDS = 2, 3, 1
"""Rounds of belief propagation: fewer are too modest, more too sure (decision 0101). Three, the last one damped, where
no group shows a value twice, for there expected counts say least (decision 0206). One where people are together in
every release, for every round counts once more what they say about each other (decision 0209)."""
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
    evidence: Floats | None = None,
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
    evidence
        What is known of everyone's last value from elsewhere (people x values): the likelihood of each value.
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
    classes = (
        None
        if exact or evidence is not None or (late is not None and made_by_value(series))
        else Classes.of(series, prior)
    )
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
    if many or len(series) < 2 or (model.steps is None and made_by_value(series)):
        departures = departures if departures is not None and departures.known else None
    shares = None
    if late is not None and not many and _shares_can_be_estimated(series, model):
        shares = PriorShares.before(late, prior, model.values)
    problem = Problem.of(
        series,
        releases,
        model,
        times,
        how or (_TO_THE_END if exact else Scaling()),
        most=0 if many else sys.maxsize if exact else MOST,
        # Of seats with known totals exact messages would count the totals once a release.
        refined=not many and not any(len(seen.occupant) and len(seen.counterfeits) for seen in series),
    )
    if evidence is not None:
        problem = replace(problem, evidence=_last_weights(series, releases, evidence))
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
    """A series whose impossible states are gone, and how it is solved."""

    chains: Chains
    """Before anything is expected of first values."""
    begins: tuple[Ints, ...]
    """Who begins in each row of each release, -1 nobody."""
    small: tuple[SmallGroups, ...]
    model: Model
    times: Sequence[int] | None
    how: Scaling
    most: int
    """Components that are solved exactly, at most."""
    refined: bool
    """Whether counts are kept exactly, by belief propagation; else in expectation."""
    together: bool
    """Whether people meet the same others in every release: seats, and tables of counts of values that stay."""
    evidence: tuple[Floats, ...] = ()
    """Weights of all states by what is known from elsewhere; none: nothing is."""

    @classmethod
    def of(
        cls,
        series: Sequence[Observation],
        releases: Sequence[ReleaseStates],
        model: Model,
        times: Sequence[int] | None = None,
        how: Scaling | None = None,
        arrivals: Sequence[Ints] | None = None,
        *,
        most: int = 0,
        refined: bool = True,
    ) -> "Problem":
        """Link people's states; `arrivals` names the newcomer of each seat, by release."""
        chains = Chains.of(releases, model, times)
        arrived: Sequence[Ints | None] = arrivals or [None] * len(releases)
        begins = [
            beginners(release, links.pairing, new)
            for release, links, new in zip(releases, chains.links, arrived, strict=True)
        ]
        small = tuple(small_groups(releases)) if refined else ()
        seats = any(len(seen.occupant) for seen in series)
        counts = model.steps is None and any(len(seen.cell_least) for seen in series)
        return cls(chains, tuple(begins), small, model, times, how or Scaling(), most, refined, seats or counts)

    def solved(
        self,
        prior: Floats | None,
        departures: Departures | None = None,
        shares: PriorShares | None = None,
        start: Sequence[Floats | None] | None = None,
        progress: Callable[[float], None] = lambda _: None,
    ) -> Posterior:
        """Alternate between solving (E) and estimating (M) until no estimate moves."""
        estimates = _Estimates(departures, shares)
        chains, fit = self._fitted(estimates, prior, start)
        for turn in count(1):
            # The first time nothing is estimated yet, and expected counts, which cost least, are a place to begin.
            first = turn == 1 and estimates.any
            chance, messages = _expected(chains, fit) if first else self._refined(chains, fit)
            found = estimates.after(chains, chance, self.model.values)
            moved = found.moved(estimates)
            progress(1 - 0.9 * 0.5**turn)  # the number of rounds is not known: each is half of what is left
            if not first and (moved < _EM_CONVERGED or turn > _EM_ROUNDS):
                break
            if moved >= _EM_CONVERGED:
                estimates = found
                chains, fit = self._fitted(estimates, prior, fit.multipliers)
        chance = self._possible(chains, chance)
        exact = solve_components(chains, self.model, self.times, self.most)
        exact.put(chance)
        progress(1.0)
        return Posterior(
            chains.releases,
            tuple(chance),
            tuple(messages),
            fit,
            estimates.prior(prior),
            np.empty(0, np.int64),
            tuple(exact.equal),
            exact.components,
            exact.left,
            found.departures,
            estimates.shares,
        )

    def marginals(
        self, prior: Floats, fit: Fit, departures: Departures | None, sweeps: int
    ) -> tuple[Fit, tuple[Floats, ...]]:
        """Posterior of all states by a few sweeps from an earlier fit, counts kept in expectation."""
        chains = self._weighed(_Estimates(departures, None), prior)
        fit = scale(chains, Scaling(sweeps=sweeps), fit.multipliers)
        return fit, tuple(_expected(chains.tilted(fit.tilts), fit)[0])

    def _fitted(
        self, estimates: "_Estimates", prior: Floats | None, start: Sequence[Floats | None] | None
    ) -> tuple[Chains, Fit]:
        """Fitted multipliers, and the chains tilted as these need it."""
        chains = self._weighed(estimates, prior)
        fit = scale(chains, self.how, start)
        return chains.tilted(fit.tilts), fit

    def _weighed(self, estimates: "_Estimates", prior: Floats | None) -> Chains:
        """The chains, weighed by what is expected of first values, departures and counterfeits."""
        expected, releases = estimates.prior(prior), self.chains.releases
        given = [np.ones(release.states) for release in releases]
        if expected is not None:
            given = [first_weights(*one, expected) for one in zip(releases, self.begins, strict=True)]
        if estimates.departures is not None and estimates.departures.differ:
            leaving = estimates.departures.weights(releases)
            given = [first * weight for first, weight in zip(given, leaving, strict=True)]
        if self.evidence:
            given = [weight * more for weight, more in zip(given, self.evidence, strict=True)]
        if estimates.shares is not None:
            releases = tuple(one.sharing(estimates.shares.counterfeits) for one in releases)
        return replace(self.chains, releases=releases, given=tuple(given))

    @property
    def _rounds(self) -> int:
        """Rounds of belief propagation."""
        if self.together:
            return _TOGETHER_ROUNDS
        return _SINGLE_ROUNDS if all((one.count <= 1).all() for one in self.chains.releases) else _ROUNDS

    def _refined(self, chains: Chains, fit: Fit) -> tuple[list[Floats], list[Floats]]:
        """Probability of each state, counts kept exactly if that is wanted, and each release's messages."""
        chance, messages = _expected(chains, fit)
        if not self.refined:
            return chance, messages
        exact, messages = propagated(chains, fit.multipliers, self.small, self._rounds)
        # Rows of which rounding has left nothing are as they were before.
        lost = [one.sums(mine) < 0.5 for one, mine in zip(chains.releases, exact, strict=True)]
        each = zip(chains.releases, lost, chance, exact, strict=True)
        return [np.where(rows[one.row], plain, mine) for one, rows, plain, mine in each], messages

    def _possible(self, chains: Chains, chance: Sequence[Floats]) -> list[Floats]:
        """The same; 0 is only what counting rules out, not what rounding has made 0."""
        cells = np.concatenate([one.chance for one in chains.releases])
        never = split(ruled_out(self.small, np.concatenate(chance) == 0, cells), chains.releases)
        return [np.where(out, 0.0, np.maximum(one, TINY)) for out, one in zip(never, chance, strict=True)]


def _expected(chains: Chains, fit: Fit) -> tuple[list[Floats], list[Floats]]:
    """Probability of each state with counts kept in expectation, and each release's messages."""
    messages = fit.messages(chains)
    return marginals(chains, messages), messages


@dataclass(frozen=True, eq=False)
class _Estimates:
    """The parameters of EM."""

    departures: Departures | None
    shares: PriorShares | None

    @property
    def any(self) -> bool:
        """Whether there is something to estimate."""
        return self.departures is not None or self.shares is not None

    def prior(self, prior: Floats | None) -> Floats | None:
        """Everyone's prior with that of newcomers as estimated."""
        if self.shares is None:
            return prior
        given = np.ones((len(self.shares.late), len(self.shares.newcomers))) if prior is None else prior
        return np.where(self.shares.late[:, np.newaxis], self.shares.newcomers, given)

    def after(self, chains: Chains, chance: Sequence[Floats], values: int) -> "_Estimates":
        """Estimated from a posterior."""
        departures, shares = self.departures, self.shares
        pairs = [links.pairing for links in chains.links]
        return _Estimates(
            None if departures is None else departures.estimated(chains.releases, chance, values),
            None if shares is None else shares.estimated(chains.releases, pairs, chance),
        )

    def moved(self, before: "_Estimates") -> float:
        """How far the parameters moved, as a total variation distance."""
        pairs = ((self.departures, before.departures), (self.shares, before.shares))
        return max(0.0 if now is None or then is None else now.moved(then) for now, then in pairs)  # type: ignore[arg-type]


def _last_weights(
    series: Sequence[Observation], releases: Sequence[ReleaseStates], evidence: Floats
) -> tuple[Floats, ...]:
    """Weights of all states: the evidence (people x values) at the last release of each person, 1 elsewhere."""
    later, found = np.zeros(len(evidence), np.bool_), []
    for seen, release in zip(reversed(series), reversed(releases), strict=True):
        who = release.person
        if len(seen.occupant):
            who = seen.occupant[np.searchsorted(seen.person, release.person)]
        last = (who >= 0) & ~later[who]
        state = np.flatnonzero(last[release.row])
        weight = np.ones(release.states)
        weight[state] = evidence[who[release.row[state]], release.value[state]]
        later[who[who >= 0]] = True
        found.append(weight)
    return tuple(reversed(found))


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
