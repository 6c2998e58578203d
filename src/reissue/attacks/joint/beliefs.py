"""What everyone at once gives: the posterior of every value of every person in every release.

Elimination first, then iterative scaling, two rounds of sharpening, and small components exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.memory import give_back
from reissue.counting.segments import ranges
from reissue.kernels.everyone.elimination import narrow, unnarrowed
from reissue.kernels.everyone.iterative_scaling import Chains, Scaled, Scaling, messages_of, posterior, scale
from reissue.kernels.everyone.learning.made_by_value import Expected, learn_by_value
from reissue.kernels.everyone.learning.newcomers import Latecomers
from reissue.kernels.everyone.lots import ScaledLot, joined, lots
from reissue.kernels.everyone.observations import TINY, Layer, Observation
from reissue.kernels.everyone.permanents import SmallGroups, ruled_out, small_groups
from reissue.kernels.everyone.settled import Unsettled, unsettled
from reissue.kernels.everyone.sharpening import rounds_of, sharpened
from reissue.kernels.everyone.small_worlds import ALL, MOST, ExactPosteriors, solve_small
from reissue.kernels.everyone.transitions import Model, pairings

__all__ = ["Beliefs", "Unsolved", "believe", "fits_many", "occupied", "solve"]

_TIED = 1e-6
"""Probabilities that differ by less, in proportion, are the same but for rounding."""
_MANY = 20
"""Where people fit more groups of a release than this, on average, nothing is certain and little is learnt."""
_LOOSE = Scaling(tolerance=0.05, elsewhere=0.01)
"""There counts are taken to fit sooner. In the two series measured claims moved by 0.04 after that, all below 0.25."""
_BESIDE = Scaling(sweeps=150)
"""Where totals are known beside the groups' counts: what both say takes longer to fit."""
_AGAIN = 5
"""How many times what newcomers and counterfeits have is learnt where groups were made by value, at most."""
_LITTLE = 0.02
"""Where nothing that is expected moves by more (half the sum of differences), it is learnt."""
_CLOSELY = Scaling(sweeps=1000, tolerance=1e-3, elsewhere=0.0)
"""For whoever asks for exact: sweeps go on until every count fits."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Everyone's posterior, by release."""

    layers: tuple[Layer, ...]
    chance: tuple[Floats, ...]
    """Layer to the probability of each entry."""
    messages: tuple[Floats, ...]
    """Layer to what it says about each entry by itself."""
    scaled: Scaled
    contradicted: Ints
    """People whose releases contradict each other; they were set aside."""
    equal: tuple[tuple[int, int], ...]
    """Pairs of people who surely have the same value, whichever it is; looked for in small components."""
    components: int
    """How many components were solved exactly."""
    left: int = 0
    """How many more are small enough for that, and were not: there were too many."""
    unsolved: "Unsolved | None" = None
    """What was solved, where it is kept for a second time."""
    counterfeits_learnt: bool = False
    """Whether what newcomers and counterfeits have was learnt from one solution to the next."""

    @property
    def long_run(self) -> bool:
        """Whether how values change was taken to say how common they are, and so what counterfeits have."""
        return any(layer.roughly for layer in self.layers)

    def largest(self, place: int, common: Floats | None = None) -> tuple[Floats, Ints]:
        """Row of a layer to its largest probability, and the value that has it.

        Of values that are equally sure the one that is `common`est; else the first.
        """
        layer, chance = self.layers[place], self.chance[place]
        if not len(layer.person):
            return np.empty(0), np.empty(0, np.int64)
        top = np.maximum.reduceat(chance, layer.starts[:-1])
        rank = np.where(self.as_sure(place, top), 1.0 if common is None else 1.0 + common[layer.value], 0.0)
        hits = np.flatnonzero(rank == np.maximum.reduceat(rank, layer.starts[:-1])[layer.row])[::-1]
        value = np.empty(len(layer.person), np.int64)
        value[layer.row[hits]] = layer.value[hits]
        return top, value

    def as_sure(self, place: int, top: Floats) -> Bools:
        """Entry of a layer to whether it is as likely as its row's likeliest, but for rounding."""
        return np.asarray(self.chance[place] >= top[self.layers[place].row] * (1 - _TIED))

    def expected(self, prior: Floats, newcomers: Latecomers | None) -> Floats:
        """People x values: what was expected of everyone in the end, begun from a prior."""
        if newcomers is None or not len(self.scaled.rates):
            return prior
        return np.where(newcomers.people[:, np.newaxis], self.scaled.rates, prior)

    def sure(self, place: int) -> Bools:
        """Row of a layer to whether no other value is possible."""
        layer, chance = self.layers[place], self.chance[place]
        return np.asarray(layer.sums((chance > 0).astype(np.float64)) == 1)


def believe(
    series: Sequence[Observation],
    model: Model,
    *,
    prior: Floats | None = None,
    newcomers: Latecomers | None = None,
    times: Sequence[int] | None = None,
    start: Sequence[Floats | None] | None = None,
    exact: bool = False,
    how: Scaling | None = None,
    twice: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> Beliefs:
    """Solve a series for everyone at once; of `newcomers` it is learnt what they have.

    `twice`: what is solved is kept, to be solved again with another prior.
    """
    thin = not exact and fits_many(series)
    narrowed = unnarrowed(series, model) if thin else narrow(series, model, times)
    give_back()
    progress(0.1)
    by_value = newcomers if newcomers is not None and newcomers.by_value else None
    part = unsettled(narrowed.layers, model, prior, times, newcomers=None if by_value else newcomers)
    give_back()
    unsolved = Unsolved(narrowed.layers, part, narrowed.contradicted, _sharp(series) and not thin, thin)
    most = 0 if thin else ALL if exact else MOST
    solved = partial(solve, model=model, times=times, how=how or (_CLOSELY if exact else None), most=most)
    if by_value is None or prior is None or thin:
        found = solved(unsolved, start=start, progress=progress)
    else:
        unsolved, found = _learning_by_value(unsolved, solved, start, prior, by_value, progress)
    return replace(found, unsolved=unsolved) if twice else found


def _learning_by_value(
    unsolved: "Unsolved",
    solved: "Callable[..., Beliefs]",
    start: Sequence[Floats | None] | None,
    prior: Floats,
    newcomers: Latecomers,
    progress: Callable[[float], None],
) -> "tuple[Unsolved, Beliefs]":
    """Solved, and solved again, a few times, with what newcomers and counterfeits were found to have."""
    values, pairs = unsolved.part.model.values, pairings(unsolved.layers, unsolved.part.times)
    found = solved(unsolved, start=start, progress=lambda done: progress(0.1 + 0.9 * done / (1 + _AGAIN)))
    expected = Expected.alike(values)
    for turn in range(_AGAIN):
        learnt = learn_by_value(unsolved.layers, pairs, found.chance, newcomers.people, values)
        moved, expected = learnt.moved(expected), learnt
        if moved < _LITTLE:
            break
        first = np.where(newcomers.people[:, np.newaxis], expected.rates, prior)
        unsolved = unsolved.expecting(first).sharing(expected.shares)
        found = solved(unsolved, start=found.scaled.multipliers)
        found = replace(found, scaled=replace(found.scaled, rates=expected.rates), counterfeits_learnt=True)
        progress(0.1 + 0.9 * (2 + turn) / (1 + _AGAIN))
    progress(1.0)
    return unsolved, found


@dataclass(frozen=True, eq=False)
class Unsolved:
    """What is solved for: who may have what in every release, and what is expected of everyone."""

    layers: tuple[Layer, ...]
    """Without what is impossible."""
    part: Unsettled
    """The same without what is certain."""
    contradicted: Ints
    sharpen: bool
    """Whether small groups keep their counts exactly; else in expectation only.

    That is right where the same people, of whom different things are known, are together in every release: exact
    messages would count what is known once a release. So it is for slots where it is known how many of each value
    nobody is in.
    """
    thin: bool
    """Whether people fit very many groups."""

    @classmethod
    def again(
        cls,
        beliefs: Beliefs,
        series: Sequence[Observation],
        model: Model,
        times: Sequence[int] | None,
        arrivals: Sequence[Ints] | None,
    ) -> "Unsolved":
        """Of a series that was solved, to be solved with another prior: what is impossible is known."""
        kept, thin = beliefs.unsolved, fits_many(series)
        if kept is not None and arrivals is None and kept.thin == thin and kept.layers == beliefs.layers:
            return replace(kept, part=replace(kept.part, newcomers=None))
        part = unsettled(beliefs.layers, model, None, times, arrivals)
        sharpen = _sharp(series) and arrivals is None and not thin
        return cls(beliefs.layers, part, beliefs.contradicted, sharpen, thin)

    def expecting(self, prior: Floats) -> "Unsolved":
        """The same with another prior."""
        return replace(self, part=self.part.expecting(prior))

    def sharing(self, shares: Floats) -> "Unsolved":
        """The same with counterfeits that have values in these shares."""
        return replace(self, layers=tuple(one.sharing(shares) for one in self.layers), part=self.part.sharing(shares))


def solve(
    unsolved: Unsolved,
    model: Model,
    times: Sequence[int] | None = None,
    *,
    start: Sequence[Floats | None] | None = None,
    how: Scaling | None = None,
    most: int = MOST,
    progress: Callable[[float], None] = lambda _: None,
) -> Beliefs:
    """Scale, sharpen, and solve small components exactly, a lot of components at a time."""
    part = unsolved.part
    how = how or _scaling(unsolved)
    rounds = rounds_of(part.layers) if unsolved.sharpen else 0
    chance, said = ([np.ones(layer.entries) for layer in unsolved.layers] for _ in range(2))
    made: list[ScaledLot] = []
    exact: list[ExactPosteriors] = []
    done = 0
    for lot in lots(part):
        before, share = done / max(part.entries, 1), lot.part.entries / max(part.entries, 1)
        given = None if start is None else [_of_slots(*one) for one in zip(start, lot.slot, strict=True)]

        def within(one: float, before: float = before, share: float = share) -> None:
            progress(before + share * one)

        scaled, found = _solve_lot(lot.part, model, times, given, how, rounds, most, within)
        for place, entry in enumerate(lot.part.entry):
            chance[place][entry], said[place][entry] = found.chance[place], found.said[place]
        made.append(ScaledLot(lot.slot, lot.records, scaled))
        exact.append(found.exact)
        done += lot.part.entries
        del lot, found
        give_back()
    scaled = joined(made, part.layers)
    pairs = [pair for one in exact for pair in one.equal]
    return Beliefs(
        Chains(unsolved.layers, ()).tilted(scaled.tilts).layers,
        tuple(chance),
        tuple(said),
        scaled,
        unsolved.contradicted,
        tuple((int(part.person[one]), int(part.person[other])) for one, other in pairs),
        sum(one.components for one in exact),
        sum(one.left for one in exact),
    )


def _scaling(unsolved: Unsolved) -> Scaling:
    """How long counts are fitted where nobody says."""
    if unsolved.thin:
        return _LOOSE
    return _BESIDE if any(layer.counts_fakes for layer in unsolved.part.layers) else Scaling()


@dataclass(frozen=True, eq=False)
class _Found:
    """Of a lot: each entry's probability, what releases say about it by themselves, and what was solved exactly."""

    chance: list[Floats]
    said: list[Floats]
    exact: ExactPosteriors


def _solve_lot(
    part: Unsettled,
    model: Model,
    times: Sequence[int] | None,
    start: Sequence[Floats | None] | None,
    how: Scaling,
    rounds: float,
    most: int,
    progress: Callable[[float], None],
) -> tuple[Scaled, _Found]:
    chains = part.chains
    scaled = scale(chains, how, start, progress=lambda done: progress(0.1 + 0.5 * done))
    chains = chains.as_scaled(scaled)
    messages = messages_of(chains, scaled)
    if rounds:
        given, later = scaled.multipliers, lambda done: progress(0.6 + 0.3 * done)
        # Where records of nobody are likelier to have some values, what groups say of them is too.
        small = part.small if chains.layers == part.layers else small_groups(chains.layers)
        chance, said = sharpened(chains, messages, rounds, multipliers=given, small=small, progress=later)
        chance = _unrounded(chains, messages, chance, small)
    else:
        chance, said = _unrounded(chains, messages, posterior(chains, messages), ()), messages
    solved = solve_small(chains, model, times, most=most)
    progress(1.0)
    _replace(chance, solved)
    return scaled, _Found(chance, said, solved)


def _unrounded(
    chains: Chains, messages: Sequence[Floats], chance: Sequence[Floats], small: Sequence[SmallGroups]
) -> list[Floats]:
    """Rows of which rounding has left nothing as they were before sharpening; 0 only what counting rules out."""
    lost = [layer.sums(one) < 0.5 for layer, one in zip(chains.layers, chance, strict=True)]
    if any(one.any() for one in lost):
        pairs = zip(chains.layers, lost, posterior(chains, messages), chance, strict=True)
        chance = [np.where(rows[layer.row], plain, one) for layer, rows, plain, one in pairs]
    ends = np.cumsum([layer.entries for layer in chains.layers])[:-1]
    out = np.split(ruled_out(small, np.concatenate(chance) == 0), ends)
    return [np.where(never, 0.0, np.maximum(one, TINY)) for never, one in zip(out, chance, strict=True)]


def _of_slots(multipliers: Floats | None, slots: Ints) -> Floats | None:
    return None if multipliers is None else multipliers[slots]


def _sharp(series: Sequence[Observation]) -> bool:
    """Whether it is not known of slots how many of each value nobody is in."""
    return not any(len(seen.occupant) and len(seen.fakes) for seen in series)


def fits_many(series: Sequence[Observation]) -> bool:
    """Whether people fit so many groups that certain facts are not worth looking for."""
    return sum(len(seen.group) for seen in series) > _MANY * sum(len(seen.people) for seen in series)


def _replace(chance: list[Floats], solved: ExactPosteriors) -> None:
    """Put what was solved exactly in place of what was computed."""
    for place, (entries, chances) in enumerate(zip(solved.entry, solved.chance, strict=True)):
        if entries:
            chance[place][np.concatenate(entries)] = np.concatenate(chances)


def occupied(beliefs: Beliefs, series: Sequence[Observation]) -> Beliefs:
    """What is believed of slots as what is believed of the people in them; unchanged where persons are people.

    Cohorts publish slots, not people: a counterfeit that carries a slot on is no free member but the same chain of
    values, and what is found of a slot in a release holds for whoever is in it then. A reader is taken to know who
    follows whom in a slot, which is more than is published.
    """
    if not any(len(seen.occupant) for seen in series):
        return beliefs
    pairs = [_moved(*one) for one in zip(beliefs.layers, beliefs.chance, series, strict=True)]
    return replace(beliefs, layers=tuple(layer for layer, _ in pairs), chance=tuple(chance for _, chance in pairs))


def _moved(layer: Layer, chance: Floats, seen: Observation) -> tuple[Layer, Floats]:
    """Rows of slots to rows of people, in their order."""
    if not len(seen.occupant):
        return layer, chance
    at = np.searchsorted(seen.person, layer.person)
    occupant = seen.occupant[at]
    rows = np.flatnonzero(occupant >= 0)
    rows = rows[np.argsort(occupant[rows])]
    widths = np.diff(layer.starts)[rows]
    entries = ranges(layer.starts[rows], widths)
    starts = np.append(0, np.cumsum(widths))
    return replace(layer, person=occupant[rows], starts=starts, value=layer.value[entries]), chance[entries]
