"""Iterative scaling: what everyone may have, all groups of all releases taken at once (Darroch and Ratcliff 1972).

The maximum-entropy distribution over everyone's histories in which each group shows its published counts in
expectation. A history of a person weighs

    prior(first value) x product of the steps' probabilities x product over releases of sum over groups of lambda(value)

and the multipliers, one for each value that a group shows, are scaled release by release until the expected counts are
the published ones. One sweep is a backward pass of messages over all releases and a forward pass that scales; it costs
O(entries x rounds) for scaling and the links' size for moving. Everything is segment sums and sparse products.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from reissue._arrays import Floats, Ints
from reissue.solver.learning.newcomers import FirstEntries, FirstRates
from reissue.solver.momentum import MOST, Momentum
from reissue.solver.observations import TINY, Layer, picked
from reissue.solver.transitions import Links, Model, Pairing, link

__all__ = [
    "ROUGHLY",
    "Chains",
    "Scaled",
    "Scaling",
    "before_of",
    "beginners",
    "both_ways",
    "cavities",
    "first_multipliers",
    "first_weights",
    "fitted",
    "messages_of",
    "misfit",
    "posterior",
    "scale",
]


_STEP = 1e6
"""How much a multiplier changes at most in one round."""
_ODDS = 1e9
"""How much likelier or less likely nobody's records have a value, at most, by what is only expected of them."""
_OF_NOBODY = 0.2
"""Nobody's records are few: five in a thousand of them with a wrong value are as bad as one in a thousand of all."""
ROUGHLY = 0.01
"""The share of records that may be expected elsewhere when something is learnt: sooner it goes astray."""


@dataclass(frozen=True)
class Scaling:
    """How long to go on."""

    sweeps: int = 60
    rounds: int = 2
    """Rounds of scaling of one release in a sweep, at most."""
    tolerance: float = 1e-2
    """The largest difference between an expected and a published count that is taken for none."""
    elsewhere: float = 1e-3
    """The share of records that may be expected elsewhere: enough, however far off a single count is."""


@dataclass(frozen=True, eq=False)
class Chains:
    """Everyone's histories: the releases' layers, linked by person, and how people begin."""

    layers: tuple[Layer, ...]
    links: tuple[Links, ...]
    prior: Floats | None = None
    """People x values: what a person's first value may be; None: all alike."""
    arrivals: Sequence[Ints] | None = None
    """Release and slot to who is new in it, -1 nobody, where persons are slots; None: persons are people."""
    known: Sequence[Floats] | None = None
    """Release and entry to what it weighs by what is known beside; None: nothing is."""
    first: FirstEntries | None = None
    """With what latecomers begin, if it is learnt what they have."""

    @classmethod
    def of(
        cls,
        layers: Sequence[Layer],
        model: Model,
        prior: Floats | None = None,
        times: Sequence[int] | None = None,
        arrivals: Sequence[Ints] | None = None,
    ) -> "Chains":
        """Link the layers."""
        return cls(tuple(layers), tuple(link(layers, model, times)), prior, arrivals)

    def offsets(self) -> Ints:
        """Layer to its first entry over all layers."""
        return np.append(0, np.cumsum([layer.entries for layer in self.layers]))

    def beginners(self, place: int) -> Ints:
        """Row to who begins in this release, -1 nobody."""
        arrived = None if self.arrivals is None else self.arrivals[place]
        return beginners(self.layers[place], self.links[place].pairing, arrived)

    def beginnings(self, place: int) -> Floats:
        """Entry to its prior weight, 1 where nobody begins."""
        layer = self.layers[place]
        weights = np.ones(layer.entries) if self.known is None else self.known[place].copy()
        if self.prior is not None:
            weights *= first_weights(layer, self.beginners(place), self.prior)
        if len(layer.tilt):
            _tilt(layer, weights, layer.tilt)
        return weights

    def tilted(self, factors: "Sequence[Floats]") -> "Chains":
        """The same with records of nobody likelier to have some values, by release."""
        layers = [layer.tilted(one) if len(one) else layer for layer, one in zip(self.layers, factors, strict=True)]
        return replace(self, layers=tuple(layers))

    def as_scaled(self, scaled: "Scaled") -> "Chains":
        """The same with what was found beside the multipliers."""
        chains = self.tilted(scaled.tilts)
        if self.first is None or self.known is None:
            return chains
        known = [one.copy() for one in self.known]
        self.first.put(self.layers, known, scaled.rates / self.first.rates)
        return replace(chains, known=known)


def beginners(layer: Layer, pairing: Pairing, arrived: Ints | None) -> Ints:
    """Row to who begins in a release, -1 nobody; `arrived` is who is new in a slot, where persons are slots."""
    began = np.ones(len(layer.person), np.bool_)
    began[pairing.rows] = False
    who = np.where(began, layer.person, -1)
    if arrived is None:
        return who
    new = arrived[layer.person]
    return np.where(new >= 0, new, who)


def first_weights(layer: Layer, who: Ints, prior: Floats) -> Floats:
    """Entry to the prior weight of who begins there, 1 where nobody does."""
    weights, begins = np.ones(layer.entries), who[layer.row]
    some = np.flatnonzero(begins >= 0)
    weights[some] = prior[begins[some], layer.value[some]]
    return weights


@dataclass(frozen=True, eq=False)
class Scaled:
    """Multipliers under which every group shows its counts in expectation."""

    multipliers: tuple[Floats, ...]
    """Layer to a number for each of its slots."""
    worst: float
    """The largest difference that is left between an expected and a published count."""
    elsewhere: float
    """The share of records that are expected elsewhere than they were published."""
    sweeps: int
    converged: bool
    tilts: tuple[Floats, ...] = ()
    """Layer to what records of nobody are likelier to have, where it is known how many have each value."""
    rates: Floats = field(default_factory=lambda: np.empty(0))
    """Value to how often newcomers have it; empty where that is not learnt."""


def scale(
    chains: Chains,
    how: Scaling | None = None,
    start: Sequence[Floats | None] | None = None,
    rates: Floats | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Scaled:
    """Scale release by release, sweep after sweep; `rates` are what newcomers were found to have before."""
    how = how or Scaling()
    given = start or [None] * len(chains.layers)
    lambdas = [first_multipliers(layer, one) for layer, one in zip(chains.layers, given, strict=True)]
    beginnings = [chains.beginnings(place) for place in range(len(chains.layers))]
    tilts = [np.ones_like(layer.tilt) for layer in chains.layers]
    worst, off, missed, sweep = np.inf, np.inf, np.inf, 0
    momentum = Momentum()
    reached, newcomers = False, None if chains.first is None else FirstRates(chains.first, rates)
    if chains.first is not None and rates is not None:
        chains.first.put(chains.layers, beginnings, rates / chains.first.rates)
    while sweep < how.sweeps and not reached:
        later = _backward(chains, beginnings, lambda place: chains.layers[place].said(lambdas[place]))  # noqa: B023
        before, earlier = [*lambdas, *tilts], missed
        worst, off, astray = _forward(chains.tilted(tilts), beginnings, later, lambdas, tilts, how, newcomers)
        missed = max(off, _OF_NOBODY * astray)
        reached = bool(worst <= how.tolerance or missed <= how.elsewhere)
        sweep += 1
        more = sweep < how.sweeps
        if more and newcomers is not None and not newcomers.learnt and (reached or missed <= ROUGHLY):
            newcomers.learn(chains.layers, beginnings)
            reached = False
        if more and not reached:
            moved = momentum.further(before, [*lambdas, *tilts], better=missed <= earlier)
            lambdas, further = moved[: len(lambdas)], moved[len(lambdas) :]
            for place, layer in enumerate(chains.layers):
                if len(layer.fakes):
                    _tilt(layer, beginnings[place], further[place] / tilts[place])
            tilts = further
        progress(sweep / how.sweeps)
    learnt = np.empty(0) if newcomers is None else newcomers.rates
    return Scaled(tuple(lambdas), float(worst), float(off), sweep, reached, tuple(tilts), learnt)


def posterior(chains: Chains, messages: Sequence[Floats]) -> list[Floats]:
    """Entry to its probability, in each layer, given what each release says about each entry."""
    return [
        layer.normalized(one * said)
        for layer, one, said in zip(chains.layers, cavities(chains, messages), messages, strict=True)
    ]


def messages_of(chains: Chains, scaled: Scaled) -> list[Floats]:
    """What each release says about each entry, by its multipliers."""
    return [layer.said(one) for layer, one in zip(chains.layers, scaled.multipliers, strict=True)]


def carried_messages(chains: Chains, messages: Sequence[Floats]) -> list[Floats]:
    """Entry to what its own and all earlier releases say about it, in each layer; a row's sum is 1."""
    carried, made = np.zeros(int(chains.offsets()[-1])), []
    for place, layer in enumerate(chains.layers):
        before = before_of(chains, place, chains.beginnings(place), carried)
        made.append(layer.normalized(before * messages[place]))
        _carry(chains, place, made[-1], carried)
    return made


def cavities(chains: Chains, messages: Sequence[Floats]) -> list[Floats]:
    """Entry to what all other releases say about it, in each layer; a row's sum is 1."""
    before, later = both_ways(chains, messages)
    return [layer.normalized(one * other) for layer, one, other in zip(chains.layers, before, later, strict=True)]


def both_ways(chains: Chains, messages: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Entry to what the prior and earlier releases say about it, and to what later ones say, in each layer."""
    beginnings = [chains.beginnings(place) for place in range(len(chains.layers))]
    later = _backward(chains, beginnings, messages.__getitem__)
    made, carried = [], np.zeros(int(chains.offsets()[-1]))
    for place, layer in enumerate(chains.layers):
        made.append(before_of(chains, place, beginnings[place], carried))
        _carry(chains, place, layer.normalized(made[place] * messages[place]), carried)
    return made, later


def misfit(chains: Chains, scaled: Scaled) -> float:
    """The share of published records that are expected elsewhere: near 0 where the chains can explain the counts."""
    off, records = 0.0, 0.0
    chains = chains.as_scaled(scaled)
    others = cavities(chains, messages_of(chains, scaled))
    for layer, cavity, lambdas in zip(chains.layers, others, scaled.multipliers, strict=True):
        off += float(np.abs(_Ways.of(layer, cavity).expected(lambdas) - layer.count).sum()) / 2
        records += float(layer.count.sum())
    return off / max(records, 1.0)


# --- passes ----------------------------------------------------------------------------------------------------------


def _backward(chains: Chains, beginnings: Sequence[Floats], messages: Callable[[int], Floats]) -> list[Floats]:
    """Entry to what all later releases say about it, up to a factor for each row."""
    offsets = chains.offsets()
    flat = np.ones(int(offsets[-1]))
    later: list[Floats] = [flat[:0]] * len(chains.layers)
    for place in range(len(chains.layers) - 1, -1, -1):
        layer, links = chains.layers[place], chains.links[place]
        mine = later[place] = flat[offsets[place] : offsets[place + 1]]
        said = mine * messages(place)
        said *= beginnings[place]
        flat[links.sources] = links.backward(picked(layer.normalized(said), links.targets))
        # What moves back is of whole rows, so that the earlier layer makes its own rows comparable again. Who begins in
        # a slot that was there before says something about it too; from first presences nothing moves back.
    return later


def before_of(chains: Chains, place: int, beginnings: Floats, carried: Floats) -> Floats:
    """Entry to what earlier releases and the prior say about it."""
    links = chains.links[place]
    before = np.ones_like(beginnings)
    before[links.targets] = links.forward(picked(carried, links.sources))
    before *= beginnings
    return before


def _carry(chains: Chains, place: int, said: Floats, carried: Floats) -> None:
    offsets = chains.offsets()
    carried[offsets[place] : offsets[place + 1]] = said


def _forward(
    chains: Chains,
    beginnings: Sequence[Floats],
    later: Sequence[Floats],
    lambdas: list[Floats],
    tilts: list[Floats],
    how: Scaling,
    rates: FirstRates | None,
) -> tuple[float, float, float]:
    """Scale each release in turn, knowing the scaled ones before it.

    The worst count, the share of records elsewhere, and that of nobody's records with another value than is known.
    """
    carried, worst, elsewhere, records = np.zeros(int(chains.offsets()[-1])), 0.0, 0.0, 1.0
    astray, nobody = 0.0, 1.0
    for place, layer in enumerate(chains.layers):
        before = before_of(chains, place, beginnings[place], carried)
        cavity = before * later[place]  # up to a factor for each row
        lambdas[place], off = fitted(layer, cavity, lambdas[place], how)
        if len(layer.fakes):
            factor, more = _tilting(layer, cavity, lambdas[place])
            if layer.roughly:  # what is only expected need not fit, and makes nothing as good as impossible
                factor = np.clip(tilts[place] * factor, 1 / _ODDS, _ODDS) / tilts[place]
            else:
                off, nobody = np.append(off, more), nobody + float(layer.fakes.sum())
                astray += float(more.sum()) / 2
            tilts[place] = tilts[place] * factor
            for weights in (beginnings[place], before):
                _tilt(layer, weights, factor)
        worst = max(worst, float(off.max(initial=0.0)))
        elsewhere, records = elsewhere + float(off.sum()) / 2, records + float(layer.count.sum()) + layer.settled
        said = layer.said(lambdas[place])
        if rates is not None:
            rates.count(place, layer, cavity * said)
        _carry(chains, place, layer.normalized(before * said), carried)
    return worst, elsewhere / records, astray / nobody


def fitted(layer: Layer, cavity: Floats, lambdas: Floats, how: Scaling) -> tuple[Floats, Floats]:
    """Multipliers of one release that fit its counts, all others kept; and how far off each count was before."""
    off, ways = np.empty(0), _Ways.of(layer, cavity)
    for turn in range(how.rounds):
        expected = ways.expected(lambdas)
        gaps = np.abs(expected - layer.count)
        off = gaps if turn == 0 else off
        if gaps.max(initial=0.0) < how.tolerance / 4:
            break
        lambdas = np.minimum(lambdas * _factor(layer.count, expected), MOST)
        if not layer.absent.any():
            lambdas = lambdas / max(float(lambdas.max(initial=0.0)), TINY)
    return lambdas, off


def _tilt(layer: Layer, weights: Floats, factor: Floats) -> None:
    """Make entries of slots that nobody is in likelier by a factor for each value."""
    fake = layer.fake_entries
    weights[fake] *= factor[layer.value[fake]]


def _tilting(layer: Layer, cavity: Floats, lambdas: Floats) -> tuple[Floats, Floats]:
    """What makes as many records of each value nobody's as are known to be; and how far off that was."""
    unknown = lambdas * layer.chance
    whole = np.add.reduceat(np.append(unknown, 0.0), layer.group_starts[:-1])
    free = unknown * (layer.free / np.maximum(whole, TINY))[layer.slot_group]
    expected = np.bincount(layer.slot_value, free, len(layer.fakes)).astype(np.float64)
    fake = layer.fake_entries
    if len(fake):
        chance = layer.normalized(cavity * layer.said(lambdas))[fake]
        expected = expected + np.bincount(layer.value[fake], chance, len(layer.fakes))
    return np.where(layer.fakes > 0, _factor(layer.fakes, expected), 1.0), np.abs(expected - layer.fakes)


def _factor(count: Floats, expected: Floats) -> Floats:
    """What a multiplier is scaled by: bounded, and 1 where nobody can be: no multiplier mends that."""
    return np.where(expected > 0, np.clip(count / np.maximum(expected, TINY), 1 / _STEP, _STEP), 1.0)


@dataclass(frozen=True, eq=False)
class _Ways:
    """All ways to be in a release, by what the other releases say."""

    layer: Layer
    weights: sparse.csr_array
    """Rows x slots."""
    away: Floats | float
    """Row to what being in no group weighs."""

    @classmethod
    def of(cls, layer: Layer, cavity: Floats) -> "_Ways":
        return cls(layer, layer.weighed(cavity), layer.sums(cavity * layer.away) if layer.absent.any() else 0.0)

    def expected(self, lambdas: Floats) -> Floats:
        """Slot to how many are expected there."""
        layer, total = self.layer, self.weights @ lambdas + self.away
        expected = lambdas * (self.weights.T @ (1 / np.maximum(total, TINY)))
        unknown = lambdas * layer.chance
        if layer.free.any():
            whole = np.add.reduceat(np.append(unknown, 0.0), layer.group_starts[:-1])
            expected = expected + unknown * (layer.free / np.maximum(whole, TINY))[layer.slot_group]
        if layer.strangers:
            expected = expected + unknown * (layer.strangers / max(float(unknown.sum()), TINY))
        return np.asarray(expected)


def first_multipliers(layer: Layer, start: Floats | None = None) -> Floats:
    """Multipliers to start from: not 0 where there are records, for a 0 would stay."""
    even = layer.count / max(float(layer.count.max(initial=1.0)), 1.0)
    return even if start is None else np.where((start > 0) | (layer.count <= 0), start, even)
