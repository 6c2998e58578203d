"""What everyone at once gives: the posterior of every value of every person in every release, and what it is of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.segments import ranges
from reissue.solver.iterative_scaling import Scaled
from reissue.solver.learning.leaving import Leaving
from reissue.solver.learning.newcomers import Latecomers
from reissue.solver.observations import Layer, Observation
from reissue.solver.settled import Unsettled, unsettled
from reissue.solver.sharpening import rounds_of
from reissue.solver.transitions import Model

__all__ = ["TIED", "Beliefs", "Unsolved", "fits_many", "occupied"]

TIED = 1e-6
"""Probabilities that differ by less, in proportion, are the same but for rounding."""
_MANY = 20
"""Where people fit more groups of a release than this, on average, nothing is certain and little is learnt."""
_OF_SLOTS = 1.0
"""Rounds of sharpening, at most, of slots of whose people it is known who leaves: they are together in every release,
and every round counts that once more. By the surprise of the truth one is best (decision 0209)."""


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
    leaving: Leaving | None = None
    """Who leaves, and how likely whoever has a value does, as was learnt or known; None: nobody looked at it."""
    counterfeits_learnt: bool = False
    """Whether what newcomers and counterfeits have was learnt from one solution to the next."""

    @property
    def leaving_learnt(self) -> bool:
        """Whether values differ in how soon people with them leave."""
        return self.leaving is not None and bool(len(self.leaving.rates))

    @property
    def long_run(self) -> bool:
        """Whether how values change was taken to say how common they are, and so what counterfeits have."""
        return any(layer.roughly for layer in self.layers)

    def largest(self, place: int) -> tuple[Floats, Ints]:
        """Row of a layer to its largest probability, and the first value that has it."""
        layer, chance = self.layers[place], self.chance[place]
        if not len(layer.person):
            return np.empty(0), np.empty(0, np.int64)
        top = np.maximum.reduceat(chance, layer.starts[:-1])
        hits = np.flatnonzero(chance >= top[layer.row] * (1 - TIED))[::-1]
        value = np.empty(len(layer.person), np.int64)
        value[layer.row[hits]] = layer.value[hits]
        return top, value

    def expected(self, prior: Floats, newcomers: Latecomers | None) -> Floats:
        """People x values: what was expected of everyone in the end, begun from a prior."""
        if newcomers is None or not len(self.scaled.rates):
            return prior
        return np.where(newcomers.people[:, np.newaxis], self.scaled.rates, prior)

    def sure(self, place: int) -> Bools:
        """Row of a layer to whether no other value is possible."""
        layer, chance = self.layers[place], self.chance[place]
        return np.asarray(layer.sums((chance > 0).astype(np.float64)) == 1)


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
    slots: bool = False
    """Whether persons are slots, which the same people share in every release."""

    @classmethod
    def of(
        cls,
        series: Sequence[Observation],
        layers: Sequence[Layer],
        part: Unsettled,
        contradicted: Ints,
        *,
        thin: bool,
        sharpen: bool = True,
    ) -> "Unsolved":
        """Of releases without what is impossible."""
        slots = any(len(seen.occupant) for seen in series)
        return cls(tuple(layers), part, contradicted, sharpen and _sharp(series) and not thin, thin, slots)

    @property
    def rounds(self) -> float:
        """How many rounds of sharpening it takes."""
        if not self.sharpen:
            return 0
        most = rounds_of(self.part.layers)
        return min(most, _OF_SLOTS) if self.slots and self.part.leaving else most

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
        made = cls.of(series, beliefs.layers, part, beliefs.contradicted, thin=thin, sharpen=arrivals is None)
        return made if beliefs.leaving is None else made.with_leaving(beliefs.leaving)

    def expecting(self, prior: Floats) -> "Unsolved":
        """The same with another prior."""
        return replace(self, part=self.part.expecting(prior))

    def with_leaving(self, leaving: Leaving) -> "Unsolved":
        """The same with what people weigh by who leaves; for a prior to be given."""
        return replace(self, part=self.part.with_leaving(leaving.weights(self.layers) if len(leaving.rates) else ()))

    def sharing(self, shares: Floats) -> "Unsolved":
        """The same with counterfeits that have values in these shares."""
        return replace(self, layers=tuple(one.sharing(shares) for one in self.layers), part=self.part.sharing(shares))


def _sharp(series: Sequence[Observation]) -> bool:
    """Whether it is not known of slots how many of each value nobody is in."""
    return not any(len(seen.occupant) and len(seen.fakes) for seen in series)


def fits_many(series: Sequence[Observation]) -> bool:
    """Whether people fit so many groups that certain facts are not worth looking for."""
    return sum(len(seen.group) for seen in series) > _MANY * sum(len(seen.people) for seen in series)


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
