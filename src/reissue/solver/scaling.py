"""Iterative scaling: the maximum-entropy distribution over everyone's histories (Darroch and Ratcliff 1972).

Each group shows its published counts in expectation. A history x of a person weighs

    prior(x_first) * product of P(x_t -> x_t+1) * product over releases t of sum over groups g of lambda_g(x_t)

with one multiplier lambda for each cell. A sweep passes messages backward over all releases, then goes forward, scales
each release's multipliers by published over expected counts, and passes the message on. Between sweeps multipliers take
a step further in the direction in which they moved (Nesterov 1983): where counts can be reached only in the limit, the
error falls as one over the square of the number of sweeps, and without it as one over that number. A sweep costs
O(assignments) for scaling and O(links) for messages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from reissue._arrays import Floats, Ints
from reissue.solver.states import TINY, ReleaseStates, picked
from reissue.solver.transitions import Links, Model, Pairing, link

__all__ = [
    "BOUND",
    "Chains",
    "Fit",
    "Scaling",
    "both_ways",
    "cavities",
    "fitted",
    "forward_messages",
    "marginals",
    "scale",
]

BOUND = 1e60
"""Bound of multipliers, and its inverse: where counts cannot be reached they would grow for ever. Products of a few of
them are floats."""


@dataclass(frozen=True)
class Scaling:
    """How long multipliers are fitted."""

    sweeps: int = 150
    """Sweeps at most."""
    rounds: int = 2
    """Rounds of scaling for one release in a sweep, at most."""
    tolerance: float = 1e-2
    """Difference between expected and published counts below which all count as fitted."""
    elsewhere: float = 1e-3
    """Share of records that may be expected in another cell than published, however far off a single count is; and of
    counterfeits that may be expected to have another value than known."""


@dataclass(frozen=True, eq=False)
class Chains:
    """Everyone's histories as Markov chains: states of each release, transitions, and prior weights of states."""

    releases: tuple[ReleaseStates, ...]
    links: tuple[Links, ...]
    given: tuple[Floats, ...]
    """Prior weight of each state of each release, before the tilt of vacant seats."""

    @classmethod
    def of(
        cls,
        releases: Sequence[ReleaseStates],
        model: Model,
        times: Sequence[int] | None = None,
        given: Sequence[Floats] | None = None,
    ) -> "Chains":
        """Link the releases; without `given` all states weigh the same."""
        weights = [np.ones(one.states) for one in releases] if given is None else given
        return cls(tuple(releases), link(releases, model, times), tuple(weights))

    def offsets(self) -> Ints:
        """Number of states before each release, and of all at the end."""
        return np.append(0, np.cumsum([one.states for one in self.releases]))

    def weights(self, place: int) -> Floats:
        """Prior weight of each state of a release."""
        release, given = self.releases[place], self.given[place]
        if not len(release.tilt):
            return given
        made, vacant = given.copy(), release.vacant_states
        made[vacant] *= release.tilt[release.value[vacant]]
        return made

    def tilted(self, factors: Sequence[Floats]) -> "Chains":
        """The same with counterfeits that are likelier to have some values, by release."""
        pairs = zip(self.releases, factors, strict=True)
        return replace(self, releases=tuple(one.tilted(factor) if len(factor) else one for one, factor in pairs))


def beginners(release: ReleaseStates, pairing: Pairing, arrived: Ints | None = None) -> Ints:
    """Who begins in each row of a release, -1 nobody; `arrived` names the newcomer of each seat."""
    began = np.ones(len(release.person), np.bool_)
    began[pairing.rows] = False
    who = np.where(began, release.person, -1)
    if arrived is None:
        return who
    new = arrived[release.person]
    return np.where(new >= 0, new, who)


def first_weights(release: ReleaseStates, who: Ints, prior: Floats) -> Floats:
    """Prior of each state of a release in which `who` begins, 1 where nobody does."""
    weights, begins = np.ones(release.states), who[release.row]
    some = np.flatnonzero(begins >= 0)
    weights[some] = prior[begins[some], release.value[some]]
    return weights


@dataclass(frozen=True, eq=False)
class Fit:
    """Multipliers under which every group shows its counts in expectation, and how well they do."""

    multipliers: tuple[Floats, ...]
    """One for each cell of each release."""
    tilts: tuple[Floats, ...]
    """Factor of each value among counterfeits, by release, where true totals are known."""
    worst: float
    """Largest difference left between an expected and a published count."""
    elsewhere: float
    """Share of records that are expected in another cell than published."""
    sweeps: int
    converged: bool

    def messages(self, chains: Chains) -> list[Floats]:
        """What each release says about each of its states."""
        pairs = zip(chains.releases, self.multipliers, strict=True)
        return [release.message(multipliers) for release, multipliers in pairs]


def scale(
    chains: Chains,
    how: Scaling = Scaling(),  # noqa: B008
    start: Sequence[Floats | None] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Fit:
    """Fit all multipliers, sweep after sweep; `start` are those of an earlier fit (a warm start)."""
    given = start or [None] * len(chains.releases)
    lambdas = [_first(release, one) for release, one in zip(chains.releases, given, strict=True)]
    tilts = [np.ones_like(release.tilt) for release in chains.releases]
    momentum, error, converged, sweep = _Momentum(), np.inf, False, 0
    found = _Swept(lambdas, tilts, np.inf, np.inf, np.inf)
    while sweep < how.sweeps and not converged:
        before = [*lambdas, *tilts]
        found = _sweep(chains.tilted(tilts), lambdas, how)
        lambdas, tilts = found.lambdas, [old * new for old, new in zip(tilts, found.tilts, strict=True)]
        last, error = error, max(found.elsewhere, found.invented)
        converged = found.worst <= how.tolerance or error <= how.elsewhere
        sweep += 1
        if sweep < how.sweeps and not converged:
            moved = momentum.further(before, [*lambdas, *tilts], better=error <= last)
            lambdas, tilts = moved[: len(lambdas)], moved[len(lambdas) :]
        progress(sweep / how.sweeps)
    return Fit(tuple(lambdas), tuple(tilts), found.worst, found.elsewhere, sweep, converged)


def _first(release: ReleaseStates, start: Floats | None) -> Floats:
    """Multipliers to begin with: not 0 where there are records, for it would stay; 1 beside intervals, as the prior."""
    if len(release.least) and start is None:
        return (release.count > 0).astype(np.float64)
    even = release.count / max(float(release.count.max(initial=1.0)), 1.0)
    return even if start is None else np.where((start > 0) | (release.count <= 0), start, even)


class _Momentum:
    """Multipliers take a step further in the direction in which they moved, longer from sweep to sweep.

    One that the sweep turned back takes none; where a sweep made counts worse, none does.
    """

    def __init__(self) -> None:
        self.reached: list[Floats] = []
        self.sweeps = 0

    def further(self, before: Sequence[Floats], after: Sequence[Floats], *, better: bool) -> list[Floats]:
        """The multipliers after a sweep, moved on."""
        last, self.reached = self.reached, [_logs(one) for one in after]
        self.sweeps = self.sweeps + 1 if better and last else 0
        if not self.sweeps:
            return [*after]
        share, made = self.sweeps / (self.sweeps + 2), []
        for begun, now, reached, earlier in zip(before, after, self.reached, last, strict=True):
            moved = reached - earlier
            moved[moved * (reached - _logs(begun)) < 0] = 0.0
            made.append(np.where(now > 0, np.clip(np.exp(reached + share * moved), 1 / BOUND, BOUND), now))
        return made


def _logs(multipliers: Floats) -> Floats:
    return np.log(np.where(multipliers > 0, multipliers, 1.0))


# --- messages --------------------------------------------------------------------------------------------------------


def marginals(chains: Chains, messages: Sequence[Floats]) -> list[Floats]:
    """Probability of each state, given what each release says about its states."""
    return [
        release.normalized(cavity * said)
        for release, cavity, said in zip(chains.releases, cavities(chains, messages), messages, strict=True)
    ]


def cavities(chains: Chains, messages: Sequence[Floats]) -> list[Floats]:
    """What the prior and all other releases say about each state; every row sums to 1."""
    before, later = both_ways(chains, messages)
    return [release.normalized(one * two) for release, one, two in zip(chains.releases, before, later, strict=True)]


def both_ways(chains: Chains, messages: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
    """What prior and earlier releases say about each state, and what later ones say."""
    weights = [chains.weights(place) for place in range(len(chains.releases))]
    later, offsets = _backward(chains, weights, messages), chains.offsets()
    made, carried = [], np.zeros(int(offsets[-1]))
    for place, release in enumerate(chains.releases):
        made.append(before_of(chains, place, weights[place], carried))
        carried[offsets[place] : offsets[place + 1]] = release.normalized(made[place] * messages[place])
    return made, later


def forward_messages(chains: Chains, messages: Sequence[Floats]) -> list[Floats]:
    """What its own and all earlier releases say about each state; every row sums to 1."""
    offsets, made = chains.offsets(), []
    carried = np.zeros(int(offsets[-1]))
    for place, release in enumerate(chains.releases):
        before = before_of(chains, place, chains.weights(place), carried)
        made.append(release.normalized(before * messages[place]))
        carried[offsets[place] : offsets[place + 1]] = made[place]
    return made


def before_of(chains: Chains, place: int, weights: Floats, carried: Floats) -> Floats:
    """What prior and earlier releases say about each state of a release; `carried` is what these pass on."""
    links, before = chains.links[place], np.ones_like(weights)
    before[links.targets] = links.forward(picked(carried, links.sources))
    return before * weights


def _backward(chains: Chains, weights: Sequence[Floats], messages: Sequence[Floats]) -> list[Floats]:
    """What all later releases say about each state, up to a factor for each row."""
    offsets = chains.offsets()
    flat = np.ones(int(offsets[-1]))
    later: list[Floats] = [flat[:0]] * len(chains.releases)
    for place in range(len(chains.releases) - 1, -1, -1):
        release, links = chains.releases[place], chains.links[place]
        mine = later[place] = flat[offsets[place] : offsets[place + 1]]
        said = release.normalized(mine * messages[place] * weights[place])
        flat[links.sources] = links.backward(picked(said, links.targets))
    return later


# --- scaling ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Swept:
    """One sweep: multipliers, factors of the tilts, and what was off before each release was scaled."""

    lambdas: list[Floats]
    tilts: list[Floats]
    worst: float
    elsewhere: float
    invented: float
    """Share of counterfeits that are expected to have another value than known."""


def _sweep(chains: Chains, lambdas: Sequence[Floats], how: Scaling) -> _Swept:
    """Backward messages, then forward through the releases, each scaled with those before it scaled already."""
    messages = [release.message(one) for release, one in zip(chains.releases, lambdas, strict=True)]
    weights, offsets = [chains.weights(place) for place in range(len(chains.releases))], chains.offsets()
    later, carried = _backward(chains, weights, messages), np.zeros(int(offsets[-1]))
    made, factors = [], []
    worst, elsewhere, records = 0.0, 0.0, 1.0
    invented, counterfeits = 0.0, 1.0
    for place, release in enumerate(chains.releases):
        before = before_of(chains, place, weights[place], carried)
        cavity = before * later[place]
        multipliers, off = fitted(release, cavity, lambdas[place], how)
        factor = np.ones_like(release.tilt)
        if len(release.counterfeits):
            factor, wrong = _tilting(release, cavity, multipliers)
            worst, invented = max(worst, float(wrong.max())), invented + float(wrong.sum()) / 2
            counterfeits += float(release.counterfeits.sum())
            vacant = release.vacant_states
            before[vacant] *= factor[release.value[vacant]]
        worst = max(worst, float(off.max(initial=0.0)))
        elsewhere += float(off.sum()) / 2
        records += float(release.count.sum())
        carried[offsets[place] : offsets[place + 1]] = release.normalized(before * release.message(multipliers))
        made.append(multipliers)
        factors.append(factor)
    return _Swept(made, factors, worst, elsewhere / records, invented / counterfeits)


def fitted(release: ReleaseStates, cavity: Floats, lambdas: Floats, how: Scaling) -> tuple[Floats, Floats]:
    """Multipliers of one release that fit its counts, given the cavities; and how far off each count was before."""
    off, expectation = np.empty(0), _Expectation.of(release, cavity)
    for turn in range(how.rounds):
        expected = expectation.counts(lambdas)
        count = _targets(release, lambdas, expected)
        gaps = np.abs(expected - count)
        off = gaps if turn == 0 else off
        if gaps.max(initial=0.0) < how.tolerance / 4:
            break
        lambdas = np.minimum(lambdas * _factor(count, expected), BOUND)
        if not release.absent.any() and not len(release.least):
            lambdas = lambdas / max(float(lambdas.max(initial=0.0)), TINY)
    return lambdas, off


def _targets(release: ReleaseStates, lambdas: Floats, expected: Floats) -> Floats:
    """How many records each cell should have in expectation.

    As published; where that is an interval the multiplier is 1 inside it, and pushes only at the bound that it touches.
    """
    if not len(release.least):
        return release.count
    free = expected / np.maximum(lambdas, TINY)  # with a multiplier of 1, to first order
    return np.where(lambdas > 0, np.clip(free, release.least, release.count), 0.0)


def _factor(count: Floats, expected: Floats) -> Floats:
    """Published over expected, bounded; 1 where nobody can be, for no multiplier mends that."""
    return np.where(expected > 0, np.clip(count / np.maximum(expected, TINY), 1 / BOUND, BOUND), 1.0)


def _tilting(release: ReleaseStates, cavity: Floats, lambdas: Floats) -> tuple[Floats, Floats]:
    """Factors by which as many counterfeits have each value as is known; and how far off that was."""
    free = _free_members(release, lambdas * release.chance)
    expected = np.bincount(release.cell_value, free, len(release.counterfeits)).astype(np.float64)
    vacant = release.vacant_states
    if len(vacant):
        chance = release.normalized(cavity * release.message(lambdas))[vacant]
        expected = expected + np.bincount(release.value[vacant], chance, len(release.counterfeits))
    factor = np.where(release.counterfeits > 0, _factor(release.counterfeits, expected), 1.0)
    return factor, np.abs(expected - release.counterfeits)


def _free_members(release: ReleaseStates, weights: Floats) -> Floats:
    """Expected free members in each cell, by the cells' weights."""
    whole = np.maximum(release.by_group(weights), TINY)
    return np.asarray(weights * (release.free / whole)[release.cell_group])


@dataclass(frozen=True, eq=False)
class _Expectation:
    """Expected counts of one release, as a function of its multipliers."""

    release: ReleaseStates
    weights: sparse.csr_array
    """Rows x cells: the cavity of the state that each assignment fills."""
    away: Floats | float
    """Weight of being in no group, for each row."""

    @classmethod
    def of(cls, release: ReleaseStates, cavity: Floats) -> "_Expectation":
        away = release.sums(cavity * release.away) if release.absent.any() else 0.0
        return cls(release, release.weighed(cavity), away)

    def counts(self, lambdas: Floats) -> Floats:
        """Expected number of records in each cell."""
        release, total = self.release, self.weights @ lambdas + self.away
        each = 1 / np.maximum(total, TINY) if not len(release.size) else release.size / np.maximum(total, TINY)
        expected = lambdas * (self.weights.T @ each)
        unknown = lambdas * release.chance
        if release.free.any():
            expected = expected + _free_members(release, unknown)
        if release.strangers:
            expected = expected + unknown * (release.strangers / max(float(unknown.sum()), TINY))
        return np.asarray(expected)
