"""Releases without what is impossible, until nothing more follows.

Three rules; each takes away only what no world allows:
- a value that no chain of possible steps leads through is out (`chains_of_steps`);
- where as many members must fill a slot as it has records, nobody else can (`open_ways`);
- where no more can fill a slot than it has records, those who can do (`open_ways`).
People whose releases contradict each other (a record linked wrongly) are set aside: their records are strangers'.
The first round looks at everything, O(ways); later ones at people and slots of whom something was taken away, which
are fewer from round to round. Stopping early is safe.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.solver.elimination.chains_of_steps import ChainsOfSteps, SetsOfValues, steps_of
from reissue.solver.elimination.open_ways import OpenWays
from reissue.solver.elimination.possible_values import possible_values
from reissue.solver.observations import Layer, Observation, as_small, layer_of
from reissue.solver.transitions import Model

__all__ = ["Narrowed", "narrow", "unnarrowed", "without"]

_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Narrowed:
    """Releases without what is impossible."""

    observations: tuple[Observation, ...]
    """Without people whose releases contradict each other."""
    layers: tuple[Layer, ...]
    contradicted: Ints
    """People who were set aside."""


def narrow(
    series: Sequence[Observation], model: Model, times: Sequence[int] | None = None, *, most: float = float("inf")
) -> Narrowed:
    """Take away what is impossible, in all releases together; not to the end where more than `most` contradict."""
    aside = np.empty(0, np.int64)
    while True:
        releases, lost = _opened(series, model, times)
        aside = np.union1d(aside, lost)
        if not len(lost) or len(aside) > most:
            return Narrowed(tuple(series), tuple(_all_kept(releases)), aside)
        series = [without(seen, lost) for seen in series]


def unnarrowed(series: Sequence[Observation], model: Model) -> Narrowed:
    """The same without looking for anything impossible."""
    return Narrowed(tuple(series), tuple(layer_of(seen, model.values) for seen in series), np.empty(0, np.int64))


def without(seen: Observation, people: Ints) -> Observation:
    """The same release with some people as strangers: of those who fit one group that group's, else anywhere."""
    mine = np.isin(seen.person, people)
    person, number = np.unique(seen.person[mine], return_counts=True)
    surely = np.isin(person, seen.absent, invert=True)
    single = np.isin(seen.person, person[(number == 1) & surely])
    free = seen.free + np.bincount(seen.group[single], minlength=seen.groups)
    return replace(
        seen,
        person=seen.person[~mine],
        group=seen.group[~mine],
        free=free,
        strangers=seen.strangers + int(((number > 1) & surely).sum()),
        absent=np.setdiff1d(seen.absent, people),
    )


def _opened(series: Sequence[Observation], model: Model, times: Sequence[int] | None) -> tuple[list[OpenWays], Ints]:
    """What is open in the end; and who has nothing left in some release, if anybody: then not to the end."""
    steps = steps_of(series, model, times)
    if not isinstance(steps, SetsOfValues):
        releases = [OpenWays.of(layer_of(seen, model.values)) for seen in series]
        return releases, _eliminate(releases, steps, np.ones(steps.people, np.bool_))
    sets, lost = possible_values(series, steps)
    if len(lost):
        return [], lost
    releases = [
        OpenWays.of(layer_of(seen, model.values, one.open_ways(seen))) for seen, one in zip(series, sets, strict=True)
    ]
    return releases, _eliminate(releases, steps, np.zeros(steps.people, np.bool_))


def _eliminate(releases: Sequence[OpenWays], steps: ChainsOfSteps, people: Bools) -> Ints:
    """Close ways until nothing changes, of some people first; who has none left in some release, if anybody."""
    for _ in range(_ROUNDS):
        lost = steps.reach(releases, people)
        if len(lost):
            return lost
        people[:] = False
        for one in releases:
            people[one.counted()] = True
        if not people.any():
            return lost
    return steps.reach(releases, people)


def _all_kept(releases: list[OpenWays]) -> Iterator[Layer]:
    """What is left of every release; nothing else is kept of it."""
    releases.reverse()
    while releases:
        one = releases.pop()
        yield _kept(one.layer, one.open)


def _kept(layer: Layer, ways: Bools) -> Layer:
    """The layer with its open ways, and without entries that have none."""
    alive = layer.absent[layer.row]
    alive[layer.triple_entry[ways]] = True
    number = np.cumsum(alive, dtype=np.int32) - 1
    widths = np.add.reduceat(np.append(alive.astype(np.int64), 0), layer.starts[:-1])
    return replace(
        layer,
        starts=np.append(0, np.cumsum(widths)),
        value=layer.value[alive],
        triple_entry=as_small(number[layer.triple_entry[ways]]),
        triple_slot=layer.triple_slot[ways],
    )
