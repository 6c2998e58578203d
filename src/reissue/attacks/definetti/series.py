"""The deFinetti attack on a series: everyone at once, with a prior that is learnt from the posterior itself.

Kifer's attack learns across the groups of one release who tends to have which value. A reader of a series learns it
from all of them, when people arrived and how long they stayed too, and solves for everyone with it: the joint attack
with another prior than "as common as it is published". A few rounds: learn, solve a little, learn again.

Counterfeits are what they are to the joint attack: members whom nobody knows, or slots that live on. Where a method put
people into groups for the value that was needed there, how common a value is there says how groups were made, not who
has it. What holds there too is how much likelier people with these features have a value than anybody (Bayes: the
features are as likely as they are among those who have the value), so the learnt prior is divided by what is common.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.attacks.cases import case, percent
from reissue.attacks.joint.base_rates import base_rates, expecting, made_by_value
from reissue.attacks.joint.beliefs import Beliefs, Claims, believe, occupied
from reissue.attacks.joint.calibration import tenths
from reissue.attacks.joint.sight import see, with_histories
from reissue.attacks.joint.update_model import Learnable, update_model
from reissue.attacks.pictures import Bars, Case
from reissue.errors import CannotRunError
from reissue.kernels.everyone.iterative_scaling import Chains, Scaling, messages_of, scale
from reissue.kernels.everyone.learned_prior import common_values, first_posterior, learn_prior
from reissue.kernels.everyone.observations import Observation, of_people
from reissue.kernels.everyone.transitions import Model
from reissue.people.crowd import Crowd
from reissue.people.knowledge import Knowledge
from reissue.published.series import Series

__all__ = ["LIMIT", "Learnt", "arrivals_in", "features_of", "folds_of", "guess_together", "holds_counterfeits"]

_ROUNDS = 3
"""More of them make claims too sure where groups are few."""
_SWEEPS = 4
"""Of scaling, in each round."""
_FOLDS = 5
_BINS = 8
LIMIT = 0.75
"""What counts as a sure guess."""
_LEARNT = (
    "Across groups, some quasi-identifiers, times of arrival and lengths of stay go with some values more often than "
    "with others. That is learnt from what was solved, of each person from other people's groups only, and everything "
    "is solved again with it."
)
_WAYS = 20_000_000
"""Ways of people to be in groups, at most: it is solved three times."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """Surest guesses about everyone, without and with what was learnt."""

    before: Claims
    after: Claims
    truth: Sequence[Ints]
    by_value: bool
    """Whether groups were made by value."""

    @property
    def everyone(self) -> Bools:
        """Person to whether the person is in some release."""
        return np.asarray(self.after.release >= 0)

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.everyone.sum())

    @property
    def baseline(self) -> float:
        """The share of people of whom the surest guess is right, solved for everyone without learning."""
        return float(self.before.right(self.truth)[self.everyone].mean())

    @property
    def accuracy(self) -> float:
        """The same with learning."""
        return float(self.after.right(self.truth)[self.everyone].mean())

    @property
    def error(self) -> float:
        """The standard error of the difference: only people of whom one guess is right and the other is not matter."""
        one, other = self.before.right(self.truth), self.after.right(self.truth)
        return float(np.sqrt(max(int((one != other)[self.everyone].sum()), 1)) / max(self.people, 1))

    @property
    def better(self) -> bool:
        """Whether learning makes guesses better, beyond chance (one in a thousand)."""
        return self.accuracy - self.baseline > 3 * self.error

    @property
    def calibration(self) -> list[dict[str, float]]:
        """For claims in tenths: people, mean claim, share that is right."""
        some = self.everyone
        return tenths(self.after.chance[some], self.after.right(self.truth)[some])

    @property
    def above(self) -> dict[str, int]:
        """People who are linked to a value more surely than three quarters, and how many of these guesses are right."""
        some = self.everyone & (self.after.chance > LIMIT)
        return {"people": int(some.sum()), "right": int(self.after.right(self.truth)[some].sum())}

    def case(self, limit: float) -> Case:
        """The case in steps, with bars for both ways to guess."""
        more = round((self.accuracy - self.baseline) * self.people)
        gained = f"{more:,} people more than" if more > 0 else "no more people than"
        alone = f"{percent(self.baseline)} of {self.people:,} people's surest guesses are right"
        steps = [
            "The adversary knows who is in which release, with everyone's quasi-identifiers.",
            f"All releases solved for everyone at once, {alone}.",
            _LEARNT,
            f"Then {percent(self.accuracy)} are right, {gained} without learning; the limit is {percent(limit)}.",
        ]
        shares = {"with learning": [self.accuracy], "without": [self.baseline]}
        picture: Bars = {
            "kind": "bars",
            "labels": ["all releases"],
            "series": shares,
            "unit": "share of people",
            "limit": None,
        }
        return case(steps, picture)


def holds_counterfeits(series: Series) -> bool:
    """Whether some record of our own releases is nobody's."""
    return any(one.source is not None and one.source.draft.counterfeits is not None for one in series.releases)


def guess_together(series: Series, knowledge: Knowledge) -> Learnt | None:
    """Guess everyone's value in a series; None where people cannot be followed or the truth is not known."""
    if any(one.source is None or (len(series) > 1 and one.source.table.ids is None) for one in series.releases):
        return None
    crowd = with_histories(see(series, knowledge))
    truth = [one for one in crowd.truth if one is not None]
    if len(truth) < len(series) or any(one.table is None for one in crowd.sightings):
        return None
    if sum(seen.ways for seen in crowd.observations) > _WAYS:
        if not holds_counterfeits(series):
            return None
        raise CannotRunError(
            f"people fit {crowd.fits:.0f} groups of a release on average: too many to learn from all of them.",
            too_large=True,
        )
    rates = base_rates(crowd.observations, crowd.values)
    seen = expecting(crowd.observations, rates)
    model = update_model(series.schema, Learnable(seen, crowd.names, crowd.truth, rates)).model
    first = believe(seen, model, prior=np.tile(rates, (crowd.people, 1)))
    knowledge.progress(1 / 3)
    last = _learning(crowd, seen, model, first, rates, knowledge.progress)
    before, after = (Claims.of(occupied(one, seen), crowd.people) for one in (first, last))
    return Learnt(before, after, truth, made_by_value(seen))


def _learning(
    crowd: Crowd,
    seen: Sequence[Observation],
    model: Model,
    beliefs: Beliefs,
    rates: Floats,
    progress: Callable[[float], None],
) -> Beliefs:
    """Learn from what was solved, and solve again."""
    features, folds = features_of(crowd), folds_of([of_people(one) for one in seen], crowd.people)
    slots, arrivals = _slots_in(seen), arrivals_in(seen, crowd.people)
    chosen = _chosen_by_value(seen, arrivals, crowd.people)
    prior = np.tile(rates, (crowd.people, 1))
    prior[chosen] = 1.0
    messages, start = beliefs.messages, beliefs.scaled.multipliers
    for turn in range(_ROUNDS):
        chains = Chains.of(beliefs.layers, model, prior, arrivals=arrivals)
        if turn:
            scaled = scale(chains, Scaling(sweeps=_SWEEPS), start)
            start, messages = scaled.multipliers, tuple(messages_of(chains, scaled))
        found = first_posterior(chains, messages)
        found[slots] = 0.0
        prior = learn_prior(features, found, folds)
        prior[chosen] /= common_values(found)
        prior[slots] = rates
        progress((1 + (turn + 1) / _ROUNDS) / 3)
    return believe(seen, model, prior=prior, start=start, arrivals=arrivals, sharpen=arrivals is None)


def features_of(crowd: Crowd) -> list[Ints]:
    """What may go with a value: quasi-identifiers when a person arrived, when that was, and in how many releases."""
    names = sorted({name for one in crowd.sightings if one.table is not None for name in one.table.schema.quasi})
    quasi = {name: np.full(crowd.people, -1, np.int64) for name in names}
    arrival, stay = np.full(crowd.people, -1, np.int64), np.zeros(crowd.people, np.int64)
    for place in range(len(crowd.sightings) - 1, -1, -1):
        table = crowd.sightings[place].table
        rows = crowd.of_row[place] if crowd.sightings[place].occupant is None else crowd.inside[place]
        arrival[rows] = place
        stay[rows] += 1
        if table is not None:
            for name, codes in zip(table.schema.quasi, table.codes, strict=True):
                quasi[name][rows] = codes
    return [_binned(one) for one in (*quasi.values(), arrival, stay)]


def _binned(codes: Ints) -> Ints:
    """A few bins of about as many people each, neighbours together; small domains as they are."""
    distinct, number = np.unique(codes, return_inverse=True)
    if len(distinct) <= _BINS + _BINS // 2:
        return number.reshape(-1)
    cuts = np.unique(np.quantile(codes, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.asarray(np.searchsorted(cuts, codes, side="right"))


def folds_of(observations: Sequence[Observation], people: int) -> Ints:
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
    return np.unique(np.concatenate([seen.person[: len(seen.occupant)] for seen in series]))


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


def _chosen_by_value(series: Sequence[Observation], arrivals: Sequence[Ints] | None, people: int) -> Ints:
    """Who was put into a group, or into a slot that was there before, for the value that was needed there."""
    if made_by_value(series):
        return np.arange(people)
    chosen, there = [np.empty(0, np.int64)], np.zeros(people, np.bool_)
    for seen, arrived in zip(series, arrivals or (), strict=bool(arrivals)):
        chosen.append(arrived[there & (arrived >= 0)])
        there[seen.person] = True
    return np.concatenate(chosen)
