"""What older releases leave behind: a message about each person's last value there, where the chain begins again.

So long series, and series in which people fit very many groups, are solved a few releases at a time. What is said flows
forward only: a later release says nothing more about the values of a release that is gone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy import sparse

from reissue._arrays import Floats, Ints
from reissue.attacks.joint.base_rates import made_by_value
from reissue.attacks.joint.lenses import Lens
from reissue.attacks.joint.solving.beliefs import Beliefs, fits_many
from reissue.attacks.joint.solving.believe import believe
from reissue.solver.iterative_scaling import Chains, carried_messages
from reissue.solver.learning.leaving import together
from reissue.solver.learning.newcomers import Latecomers
from reissue.solver.observations import Observation
from reissue.solver.transitions import Model

__all__ = ["Past", "believe_in_blocks", "first_times", "ways_at_once"]

_WAYS, _OPEN_WAYS = 24_000_000, 6_000_000
"""How many ways of people to be in groups a ledger solves at once, at most; fewer where they fit very many of them."""
_WHOLE = 120_000_000
"""How many the whole attack does where they fit few: most of them are closed before they are held in memory."""


@dataclass(frozen=True, eq=False)
class Past:
    """What releases before the window say about each person's last value there; sorted by person, then value."""

    person: Ints
    value: Ints
    weight: Floats
    time: Ints
    """Person to the time of the last release before the window that the person was in; -1: none."""
    best: Floats
    """Person to the highest score of a claim about a value in these releases (see `joint.lenses`)."""
    steps: Floats
    """Value x value: how values change, as all releases so far taught; empty if they did not."""
    leaving: Floats
    """Value to how likely who has it leaves, as they taught; empty if values do not differ in that."""

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
        """People x values: what is expected of their first value in the window, which they have at a given time."""
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

    def rates_of_leaving(self, values: int) -> Floats | None:
        """With room for values that are new: who has one leaves as others do."""
        if not len(self.leaving):
            return None
        return np.append(self.leaving, np.full(values - len(self.leaving), self.leaving.mean()))

    def newcomers(
        self, people: Ints, first: Ints, seen: Sequence[Observation], model: Model, rates: Floats
    ) -> Latecomers | None:
        """Those of whom no more is known than that they come later; None where it is not learnt what they have.

        Of slots it is known who begins. Of groups made by value nothing is learnt where values stay, for whoever came
        was chosen for one, nor where it is open who is there, or what is common is only roughly known.
        """
        by_value = made_by_value(seen)
        unclear = any(one.roughly or one.strangers or len(one.absent) for one in seen)
        if any(len(one.occupant) for one in seen) or (by_value and (model.steps is None or unclear)):
            return None
        late, totals = (self.time[people] < 0) & (first > 0), any(len(one.fakes) for one in seen)
        return Latecomers(late, rates, np.zeros_like(rates), by_value and not totals)

    def after(
        self, times: Sequence[int], people: Ints, beliefs: Beliefs, model: Model, prior: Floats, gone: int
    ) -> "Past":
        """With the oldest releases of the window gone into it; `people` are the persons of the beliefs' numbers."""
        made = self
        if gone:
            chains = replace(Chains.of(beliefs.layers, model, prior, times), known=_left_or_stayed(beliefs))
            said = carried_messages(chains, beliefs.messages)
            for place in range(gone):
                made = made._with(times[place], people, beliefs, place, said[place])
        return made

    def _with(self, time: int, people: Ints, beliefs: Beliefs, place: int, said: Floats) -> "Past":
        layer = beliefs.layers[place]
        gone = people[layer.person]
        kept = ~np.isin(self.person, gone)
        person = np.concatenate([self.person[kept], people[layer.person[layer.row]]])
        value, weight = np.concatenate([self.value[kept], layer.value]), np.concatenate([self.weight[kept], said])
        order = np.lexsort((value, person))
        when = self.time.copy()
        when[gone] = time
        return replace(self, person=person[order], value=value[order], weight=weight[order], time=when)

    def claiming(self, people: Ints, every: Sequence[Lens], gone: int) -> "Past":
        """With what is claimed about people's values in the oldest releases of the window, which are gone."""
        best = self.best.copy()
        for lens, place in product(every, range(gone)):
            there = people[lens.layers[place].person]
            best[there] = np.maximum(best[there], lens.largest(place)[0])
        return replace(self, best=best)


def _left_or_stayed(beliefs: Beliefs) -> list[Floats] | None:
    """Layer and entry to what it weighs by who leaves; None: nothing is known of that."""
    return None if beliefs.leaving is None else beliefs.leaving.weights(beliefs.layers)


def first_times(seen: Sequence[Observation], times: Sequence[int], people: int) -> Ints:
    """Person to the time of the first release that the person is in."""
    first = np.full(people, -1, np.int64)
    for one, time in zip(reversed(seen), reversed(times), strict=True):
        first[one.people] = time
    return first


def believe_in_blocks(
    series: Sequence[Observation],
    model: Model,
    rates: Floats,
    people: int,
    *,
    exact: bool = False,
    sees_leaving: bool = True,
    leaving: Floats | None = None,
    twice: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> Beliefs:
    """Solve a series for everyone at once; where people fit very many groups, a few releases at a time.

    `leaving` is how likely whoever has a value leaves, if that is known.
    `twice`: what is solved is kept, to be solved again with another prior, if that was not a few releases at a time.
    """
    everyone, past, found = np.arange(people), Past.none().of(people), []
    blocks = [range(len(series))] if exact else _blocks(series)
    whole = len(blocks) == 1
    for number, block in enumerate(blocks):
        seen = [series[place] for place in block]
        first = first_times(seen, block, people)
        prior, new = past.prior(everyone, first, model, rates), past.newcomers(everyone, first, seen, model, rates)

        def within(done: float, number: int = number) -> None:
            progress((number + done) / len(blocks))

        found.append(
            believe(
                seen,
                model,
                prior=prior,
                newcomers=new,
                times=block,
                exact=exact,
                sees_leaving=sees_leaving,
                leaving=leaving,
                known_leaving=leaving is not None,
                twice=twice and whole,
                progress=within,
            )
        )
        prior = found[-1].expected(prior, new)
        past = past.after(block, everyone, found[-1], model, prior, len(block) if number + 1 < len(blocks) else 0)
    return found[0] if whole else _joined(found)


def ways_at_once(series: Sequence[Observation]) -> int:
    """How many ways of people to be in groups are solved at once, at most, if that leaves more than one release.

    Where people fit very many groups, releases say little about each other, and solving more at once hardly pays.
    """
    return _OPEN_WAYS if fits_many(series) else _WAYS


def _blocks(series: Sequence[Observation]) -> list[range]:
    """Releases that follow each other, few enough ways in each block; a block of one may have more."""
    starts, ways, most = [0], 0, ways_at_once(series)
    if sum(seen.ways for seen in series) <= (_WAYS if fits_many(series) else _WHOLE):
        return [range(len(series))]
    for place, seen in enumerate(series):
        if ways and ways + seen.ways > most:
            starts.append(place)
            ways = 0
        ways += seen.ways
    return [range(*pair) for pair in zip(starts, [*starts[1:], len(series)], strict=True)]


def _joined(found: Sequence[Beliefs]) -> Beliefs:
    """The beliefs of all blocks as those of one series."""
    worst = max(found, key=lambda one: one.scaled.worst)
    return replace(
        found[-1],
        layers=tuple(layer for one in found for layer in one.layers),
        chance=tuple(chance for one in found for chance in one.chance),
        messages=tuple(said for one in found for said in one.messages),
        scaled=replace(worst.scaled, multipliers=tuple(part for one in found for part in one.scaled.multipliers)),
        contradicted=np.unique(np.concatenate([one.contradicted for one in found])),
        equal=tuple(pair for one in found for pair in one.equal),
        components=sum(one.components for one in found),
        left=sum(one.left for one in found),
        leaving=together(*(one.leaving for one in found)),
    )
