"""Solving for everyone at once: elimination first, then iterative scaling, sharpening, and small components exactly.

What can be learnt of people beside their groups is learnt from one solution to the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks.joint.base_rates import made_by_value
from reissue.attacks.joint.solving.beliefs import Beliefs, Unsolved, fits_many
from reissue.counting.memory import give_back
from reissue.kernels.everyone.elimination import narrow, unnarrowed
from reissue.kernels.everyone.iterative_scaling import Chains, Scaled, Scaling, messages_of, posterior, scale
from reissue.kernels.everyone.learning.leaving import Leaving
from reissue.kernels.everyone.learning.made_by_value import Expected, learn_by_value
from reissue.kernels.everyone.learning.newcomers import Latecomers
from reissue.kernels.everyone.lots import ScaledLot, joined, lots
from reissue.kernels.everyone.observations import TINY, Observation
from reissue.kernels.everyone.permanents import SmallGroups, ruled_out, small_groups
from reissue.kernels.everyone.settled import Unsettled, unsettled
from reissue.kernels.everyone.sharpening import sharpened
from reissue.kernels.everyone.small_worlds import ALL, MOST, ExactPosteriors, solve_small
from reissue.kernels.everyone.transitions import Model, pairings

__all__ = ["believe", "solve"]

_LOOSE = Scaling(tolerance=0.05, elsewhere=0.01)
"""There counts are taken to fit sooner. In the two series measured claims moved by 0.04 after that, all below 0.25."""
_BESIDE = Scaling(sweeps=150)
"""Where totals are known beside the groups' counts: what both say takes longer to fit."""
_AGAIN = 5
"""How many times who leaves, and what newcomers and counterfeits have, is learnt anew, at most."""
_LITTLE = 0.02
"""Where nothing that is expected moves by more (half the sum of differences), it is learnt."""
_CLOSELY = Scaling(sweeps=1000, tolerance=1e-3, elsewhere=0.0)
"""For whoever asks for exact: sweeps go on until every count fits."""


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
    sees_leaving: bool = True,
    leaving: Floats | None = None,
    known_leaving: bool = False,
    twice: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> Beliefs:
    """Solve a series for everyone at once; of `newcomers` it is learnt what they have.

    Where there is a prior it is learnt how likely whoever has a value leaves, if readers look at that; `leaving` is
    what was learnt before, or, if that is known, is so.
    `twice`: what is solved is kept, to be solved again with another prior.
    """
    thin = not exact and fits_many(series)
    narrowed = unnarrowed(series, model) if thin else narrow(series, model, times)
    give_back()
    progress(0.1)
    by_value = newcomers if newcomers is not None and newcomers.by_value else None
    part = unsettled(narrowed.layers, model, prior, times, newcomers=None if by_value else newcomers)
    give_back()
    unsolved = Unsolved.of(series, narrowed.layers, part, narrowed.contradicted, thin=thin)
    most = 0 if thin else ALL if exact else MOST
    solved = partial(solve, model=model, times=times, how=how or (_CLOSELY if exact else None), most=most)
    sees_leaving = known_leaving or (sees_leaving and not thin and _tells(series, model))
    by_value = None if thin else by_value
    if prior is None or not (by_value or sees_leaving):
        found = solved(unsolved, start=start, progress=progress)
    else:
        who = Leaving.of(series, len(prior), leaving, known=known_leaving) if sees_leaving else None
        unsolved, found = _learning(unsolved, solved, start, prior, by_value, who, progress)
    return replace(found, unsolved=unsolved) if twice else found


def _learning(
    unsolved: Unsolved,
    solved: Callable[..., Beliefs],
    start: Sequence[Floats | None] | None,
    prior: Floats,
    newcomers: Latecomers | None,
    leaving: Leaving | None,
    progress: Callable[[float], None],
) -> tuple[Unsolved, Beliefs]:
    """Solved, and solved again, a few times, with who was found to leave.

    Where groups were made by value also with what `newcomers` and counterfeits were found to have.
    """
    layers, values = unsolved.layers, unsolved.part.model.values
    pairs = pairings(layers, unsolved.part.times)
    begun = leaving is not None and bool(len(leaving.rates))
    if leaving is not None and begun:
        unsolved = unsolved.with_leaving(leaving).expecting(prior)
    found = solved(unsolved, start=start, progress=lambda done: progress(0.1 + 0.9 * done / (1 + _AGAIN)))
    expected, first = Expected.alike(values), prior
    # Where it was learnt before who leaves, and nothing else is, one more turn follows what moves from then on.
    turns = 1 if newcomers is None and begun else _AGAIN
    for turn in range(turns):
        moved = 0.0
        if leaving is not None:
            before, leaving = leaving, leaving.learnt(layers, found.chance, values)
            moved = leaving.moved(before)
        if newcomers is not None:
            then, expected = expected, learn_by_value(layers, pairs, found.chance, newcomers.people, values)
            moved = max(moved, expected.moved(then))
        if moved < _LITTLE:
            found = replace(found, leaving=leaving)
            break
        if leaving is not None:
            unsolved = unsolved.with_leaving(leaving)
        if newcomers is not None:
            first = np.where(newcomers.people[:, np.newaxis], expected.rates, prior)
            unsolved = unsolved.sharing(expected.shares)
        unsolved = unsolved.expecting(first)
        found = replace(solved(unsolved, start=found.scaled.multipliers), leaving=leaving)
        if newcomers is not None:
            found = replace(found, scaled=replace(found.scaled, rates=expected.rates), counterfeits_learnt=True)
        progress(0.1 + 0.9 * (2 + turn) / (1 + _AGAIN))
    progress(1.0)
    return unsolved, found


def _tells(series: Sequence[Observation], model: Model) -> bool:
    """Whether releases can tell how soon people with each value leave.

    Not where values stay and groups were made by them, for whoever came was chosen for one.
    """
    return len(series) > 1 and not (model.steps is None and made_by_value(series))


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
    chance, said = ([np.ones(layer.entries) for layer in unsolved.layers] for _ in range(2))
    made: list[ScaledLot] = []
    exact: list[ExactPosteriors] = []
    done = 0
    for lot in lots(part):
        before, share = done / max(part.entries, 1), lot.part.entries / max(part.entries, 1)
        given = None if start is None else [_of_slots(*one) for one in zip(start, lot.slot, strict=True)]

        def within(one: float, before: float = before, share: float = share) -> None:
            progress(before + share * one)

        scaled, found = _solve_lot(lot.part, model, times, given, how, unsolved.rounds, most, within)
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


def _replace(chance: list[Floats], solved: ExactPosteriors) -> None:
    """Put what was solved exactly in place of what was computed."""
    for place, (entries, chances) in enumerate(zip(solved.entry, solved.chance, strict=True)):
        if entries:
            chance[place][np.concatenate(entries)] = np.concatenate(chances)
