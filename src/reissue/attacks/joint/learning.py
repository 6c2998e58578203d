"""The joint attack with a prior that is learnt: which people tend to have which value.

Kifer's deFinetti attack learns across the groups of one release who tends to have which value. A reader of a series
learns it from all of them, when people arrived and how long they stayed too, and solves for everyone with it: the same
attack with another prior than "as common as it is published". A few rounds: learn, solve a little, learn again.

Counterfeits are what they are without learning: members whom nobody knows, or slots that live on. Where a method put
people into groups for the value that was needed there, how common a value is there says how groups were made, not who
has it. What holds there too is how much likelier people with these features have a value than anybody (Bayes: the
features are as likely as they are among those who have the value), so the learnt prior is divided by what is common.
The same holds for people of whom older releases, which are no longer solved, have said something.

How long people stay is a feature only where it was not learnt who leaves: that says it already, release by release.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.joint.base_rates import made_by_value
from reissue.attacks.joint.solving.beliefs import Beliefs, Unsolved
from reissue.attacks.joint.solving.believe import solve
from reissue.counting.segments import different
from reissue.people.series import SeriesPresences
from reissue.people.traits import Traits
from reissue.solver.iterative_scaling import Scaling, messages_of, posterior, scale
from reissue.solver.learning.learned_prior import common_values, first_posterior, learn_prior
from reissue.solver.observations import Observation, of_people
from reissue.solver.transitions import Model, pairings

__all__ = ["arrivals_in", "features_of", "learning", "traits_of"]

_ROUNDS = 3
"""More of them make claims too sure where groups are few."""
_SWEEPS = 4
"""Of scaling, in each round."""
_FOLDS = 5


def features_of(traits: Traits, people: Ints, beliefs: Beliefs) -> list[Ints]:
    """What may go with a value, of some people, beside what they were solved with."""
    return traits.features(people, stay=not beliefs.leaving_learnt)


def traits_of(crowd: SeriesPresences) -> Traits:
    """What is roughly known of everyone in a series."""
    traits = Traits.none()
    for place, (seen, known, rows) in enumerate(zip(crowd.observations, crowd.releases, crowd.rows, strict=True)):
        traits = traits.after(place, crowd.people, of_people(seen).people, known.table, rows)
    return traits


def learning(
    seen: Sequence[Observation],
    model: Model,
    beliefs: Beliefs,
    features: Sequence[Ints],
    expected: Floats,
    known: Bools | None = None,
    times: Sequence[int] | None = None,
    how: Scaling | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Beliefs:
    """Learn from what was solved, and solve again.

    `expected` are people x values: what was expected of everyone when it was solved; `known` says of whom older
    releases had said something then.
    """
    folds = _folds([of_people(one) for one in seen], len(expected))
    slots, arrivals = _slots_in(seen), arrivals_in(seen, len(expected))
    start = _Start.of(seen, expected, arrivals, known)
    unsolved = Unsolved.again(beliefs, seen, model, times, arrivals)
    pairs = pairings(beliefs.layers, times)
    chance, scaled, prior = beliefs.chance, beliefs.scaled, start.expected
    for turn in range(_ROUNDS):
        if turn:
            unsolved = unsolved.expecting(prior)
            chains = unsolved.part.chains
            scaled = scale(chains, Scaling(sweeps=_SWEEPS), scaled.multipliers)
            found = posterior(chains.tilted(scaled.tilts), messages_of(chains, scaled))
            chance = tuple(unsolved.part.whole(beliefs.layers, found))
        first = first_posterior(beliefs.layers, pairs, arrivals, chance, expected.shape)
        first[slots] = 0.0
        prior = start.with_learnt(learn_prior(features, first, folds), common_values(first))
        prior[slots] = expected[slots]
        progress((turn + 1) / (_ROUNDS + 1))
    solved = solve(unsolved.expecting(prior), model, times, start=scaled.multipliers, how=how)
    return replace(solved, leaving=beliefs.leaving, counterfeits_learnt=beliefs.counterfeits_learnt)


@dataclass(frozen=True, eq=False)
class _Start:
    """What is expected of everyone's first value without learning, and of whom that is more than what is common."""

    expected: Floats
    more: Bools

    @classmethod
    def of(
        cls, series: Sequence[Observation], expected: Floats, arrivals: Sequence[Ints] | None, known: Bools | None
    ) -> "_Start":
        """Whoever takes a slot that was there before begins with what the slot had."""
        people = len(expected)
        begun, there = expected.copy(), np.zeros(people, np.bool_)
        told = np.zeros(people, np.bool_) if known is None else known
        more = told | made_by_value(series)
        for seen, arrived in zip(series, arrivals or (), strict=bool(arrivals)):
            slots = np.flatnonzero(arrived >= 0)
            old = there[slots]
            begun[arrived[slots]] = np.where(old[:, np.newaxis], 1.0, expected[slots])
            more[arrived[slots]] = old | told[slots]
            there[seen.person] = True
        return cls(begun, more)

    def with_learnt(self, learnt: Floats, common: Floats) -> Floats:
        """By what people's features make likelier, where more is known than what is common; else by them alone."""
        if self.more.any():
            learnt[self.more] = self.expected[self.more] * (learnt[self.more] / common)
        return learnt


def _folds(observations: Sequence[Observation], people: int) -> Ints:
    """Person to one of a few folds; those who come together, in one group, are in one fold."""
    first = np.zeros(people, np.int64)
    starts = np.cumsum([0, *(seen.groups for seen in observations)])
    for place in range(len(observations) - 1, -1, -1):
        seen = observations[place]
        first[seen.person[::-1]] = starts[place] + seen.group[::-1]
    mixed = np.random.default_rng(0).permutation(int(starts[-1]) + 1)
    return np.asarray(mixed[first] % _FOLDS)


def _slots_in(series: Sequence[Observation]) -> Ints:
    """The persons that are slots, not people."""
    return different(np.concatenate([seen.person[: len(seen.occupant)] for seen in series]))


def arrivals_in(series: Sequence[Observation], people: int) -> list[Ints] | None:
    """Release and slot to who is new in it, -1 nobody; None where persons are people."""
    if not any(len(seen.occupant) for seen in series):
        return None
    made, known = [], np.zeros(people, np.bool_)
    for seen in series:
        new = (seen.occupant >= 0) & ~known[seen.occupant]
        arrived = np.full(people, -1, np.int64)
        arrived[seen.person[new]] = seen.occupant[new]
        known[seen.occupant[new]] = True
        made.append(arrived)
    return made
