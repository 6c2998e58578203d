"""Solving for everyone at once: elimination first, then iterative scaling, sharpening, and small components exactly.

What can be learnt of people beside their groups is learnt from one solution to the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks.joint.base_rates import made_by_value
from reissue.attacks.joint.solving.beliefs import Beliefs, Unsolved, fits_many
from reissue.attacks.joint.solving.lessons import Lessons
from reissue.counting.resources import give_back
from reissue.solver.elimination import narrow, unnarrowed
from reissue.solver.iterative_scaling import ROUGHLY, Chains, Scaled, Scaling, messages_of, posterior, scale
from reissue.solver.learning.leaving import Leaving
from reissue.solver.learning.newcomers import Latecomers
from reissue.solver.lots import ScaledLot, joined, lots
from reissue.solver.observations import TINY, Observation
from reissue.solver.permanents import SmallGroups, ruled_out, small_groups
from reissue.solver.settled import Unsettled, unsettled
from reissue.solver.sharpening import sharpened
from reissue.solver.small_worlds import ALL, MOST, ExactPosteriors, solve_small
from reissue.solver.transitions import Model

__all__ = ["believe", "solve"]

_LOOSE = Scaling(tolerance=0.05, elsewhere=0.01)
"""There counts are taken to fit sooner. In the two series measured claims moved by 0.04 after that, all below 0.25."""
_BESIDE = Scaling(sweeps=150)
"""Where totals are known beside the groups' counts: what both say takes longer to fit."""
_ROUGH = Scaling(elsewhere=ROUGHLY)
"""For solutions that only teach. They are not sharpened either: of groups made by quasi-identifiers that is mostly
enough (decision 0195)."""
_AGAIN = 5
"""How many times who leaves, and what newcomers and counterfeits have, is learnt anew, at most."""
_LITTLE = 0.02
"""Where nothing that is expected moves by more (half the sum of differences), it is learnt."""
_NOT_FAR = 0.05
"""The same where rough solutions have taught, and others say something else."""
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
        lessons = Lessons.of(unsolved, prior, by_value, who)
        rough = not (exact or unsolved.slots or made_by_value(series))
        within = partial(_between, progress, 0.1, 1.0)
        unsolved, found = _learning(unsolved, solved, start, lessons, within, rough=rough)
    return replace(found, unsolved=unsolved) if twice else found


def _learning(
    unsolved: Unsolved,
    solved: Callable[..., Beliefs],
    start: Sequence[Floats | None] | None,
    lessons: Lessons,
    progress: Callable[[float], None],
    *,
    rough: bool,
) -> tuple[Unsolved, Beliefs]:
    """Solved with what is learnt from one solution to the next; from `rough` ones first, or not."""

    def roughly(unsolved: Unsolved, **given: Any) -> Beliefs:
        return solved(replace(unsolved, sharpen=False), how=_ROUGH, most=0, **given)

    # Where it was learnt before who leaves, and nothing else is, one more turn follows what moves from then on.
    turns = 2 if lessons.newcomers is None and lessons.begun else 1 + _AGAIN
    unsolved, begin = lessons.put(unsolved) if lessons.begun else unsolved, _Start(start)
    if not rough:
        unsolved, lessons, found = _in_turns(unsolved, lessons, begin, turns, solved, progress)
    else:
        within = partial(_between, progress, 0.0, 0.4)
        unsolved, lessons, found = _in_turns(unsolved, lessons, begin, turns, roughly, within)
        # Where they teach nothing it is solved as if nobody had looked.
        begin, within = _Start.at(found) if lessons.begun else begin, partial(_between, progress, 0.4, 1.0)
        unsolved, lessons, found = _in_turns(unsolved, lessons, begin, turns, solved, within, little=_NOT_FAR)
    progress(1.0)
    return unsolved, lessons.recorded_in(found)


def _between(progress: Callable[[float], None], low: float, high: float, done: float) -> None:
    """Progress of a part of the work."""
    progress(low + (high - low) * done)


@dataclass(frozen=True, eq=False)
class _Start:
    """Where scaling starts from."""

    multipliers: Sequence[Floats | None] | None
    rates: Floats | None = None
    """What newcomers were found to have."""

    @classmethod
    def at(cls, found: Beliefs) -> "_Start":
        """From a solution."""
        return cls(found.scaled.multipliers, found.scaled.rates if len(found.scaled.rates) else None)

    @property
    def given(self) -> dict[str, Any]:
        """As `solve` is given it."""
        return {"start": self.multipliers, "rates": self.rates}


def _in_turns(
    unsolved: Unsolved,
    lessons: Lessons,
    start: _Start,
    turns: int,
    solved: Callable[..., Beliefs],
    progress: Callable[[float], None],
    little: float = _LITTLE,
) -> tuple[Unsolved, Lessons, Beliefs]:
    """Solve, learn and solve again until nothing moves: what was solved, with which lessons, and the solution."""
    for turn in range(1, turns + 1):
        # How many turns it takes is not known: each is taken for half of what is left.
        within = partial(_between, progress, 1 - 0.5 ** (turn - 1), 1 - 0.5**turn)
        found = solved(unsolved, **start.given, progress=within)
        if turn < turns:
            before, lessons = lessons, lessons.after(found)
            if lessons.moved(before) < little:
                lessons = replace(before, leaving=lessons.leaving)
                break
            unsolved, start = lessons.put(unsolved), _Start.at(found)
            del found, before
    return unsolved, lessons, found


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
    rates: Floats | None = None,
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
        given = None if start is None else [_of_slots(*one) for one in zip(start, lot.slots, strict=True)]

        def within(one: float, before: float = before, share: float = share) -> None:
            progress(before + share * one)

        scaled, found = _solve_lot(lot.part, model, times, given, rates, how, unsolved.rounds, most, within)
        for place, entry in enumerate(lot.part.entry):
            chance[place][entry], said[place][entry] = found.chance[place], found.said[place]
        made.append(ScaledLot(lot.slots, lot.records, scaled))
        exact.append(found.exact)
        done += lot.part.entries
        del lot, found
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
    rates: Floats | None,
    how: Scaling,
    rounds: float,
    most: int,
    progress: Callable[[float], None],
) -> tuple[Scaled, _Found]:
    chains = part.chains
    scaled = scale(chains, how, start, rates, progress=lambda done: progress(0.1 + 0.5 * done))
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
