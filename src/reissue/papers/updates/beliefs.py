"""The update attack carried on where values do not change: what is believed of a person is all there is to keep.

The posterior of a person is the normalized product of the shares of its groups, the same in every release it was in: so
one distribution for each person is enough, with the releases it was in, and a release costs what is in it. Weights are
kept as parts of the largest, so that equal shares stay exactly equal, and equal beliefs are kept once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from reissue._arrays import Codes, Floats, Ints
from reissue.papers.tracking.incremental import Known, distinct, lasting_values, no_places, paired, renamed, together
from reissue.papers.tracking.membership import PersonHistories
from reissue.papers.tracking.presence import PresenceIntervals
from reissue.people.index import PersonIndex, update
from reissue.solver.forward_backward import PresenceHistory, ValueDistributions, presence_blocks
from reissue.updates import UpdateModel

__all__ = ["LeftValues", "believe", "contradicted", "known_of_beliefs", "largest_beliefs"]

_PORTION = 4096
"""This many people at a time are asked for the releases that they were in."""


@dataclass(frozen=True, eq=False)
class LeftValues:
    """What is left of everybody's values."""

    index: PersonIndex = field(default_factory=PersonIndex.none)
    belief: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    """Person to one of the distributions."""
    places: ValueDistributions = field(default_factory=no_places)
    """The distributions that somebody has, each once."""
    names: tuple[str | None, ...] = ()
    """Value to its text."""


def believe(before: LeftValues, linked: PersonHistories, person: Ints) -> tuple[LeftValues, Codes]:
    """The beliefs after one more release, and the place of each of its people among all.

    `person` is the number of each row of people linked in this release alone.
    """
    index, at = update(before.index, person)
    names, number = lasting_values(before.names, linked.names)
    both, first = together(before.places, renamed(linked.places, number)), len(before.places.widths)
    belief = np.full(len(index.people), -1, np.int32)
    belief[: len(before.belief)] = before.belief
    place, was = linked.table[:, 0] + first, belief[at]
    again = was >= 0
    *pairs, of_pair = paired(was[again].astype(np.int64), place[again])
    products = _products(both, np.stack(pairs), names)
    belief[at[again]] = len(both.widths) + of_pair
    belief[at[~again]] = place[~again]
    kept, of_old = distinct(_scaled(together(both, products)), np.flatnonzero(np.bincount(belief)))
    return LeftValues(index, of_old.astype(np.int32)[belief], kept, tuple(names)), at


def _products(both: ValueDistributions, pairs: Ints, names: Sequence[str | None]) -> ValueDistributions:
    """What two distributions say together: the values that both have, with the products of their weights."""
    starts = 2 * np.arange(pairs.shape[1] + 1)
    presence = PresenceHistory(starts, np.tile([0, 1], pairs.shape[1]), pairs.T.reshape(-1))
    row, value, weight = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for block in presence_blocks(presence, both, UpdateModel.none(names)):
        last = block.posterior[:, -1]
        where, which = np.nonzero(last)
        row.append(block.rows[where])
        value.append(block.value[:, -1][where, which])
        weight.append(last[where, which])
    rows, values, weights = np.concatenate(row), np.concatenate(value), np.concatenate(weight)
    order = np.lexsort((values, rows))
    ends = np.append(0, np.cumsum(np.bincount(rows, minlength=pairs.shape[1])))
    return ValueDistributions(ends, values[order], weights[order])


def _scaled(places: ValueDistributions) -> ValueDistributions:
    """Weights as parts of the largest."""
    some = np.flatnonzero(places.widths)
    most = np.ones(len(places.widths))
    most[some] = np.maximum.reduceat(places.share, places.starts[some]) if len(some) else most[some]
    return ValueDistributions(places.starts, places.value, places.share / np.repeat(most, places.widths))


def contradicted(beliefs: LeftValues) -> bool:
    """Whether somebody's groups have no value in common; every distribution that is kept is somebody's."""
    return bool((beliefs.places.widths == 0).any())


def known_of_beliefs(beliefs: LeftValues, present: PresenceIntervals, releases: int) -> Known:
    """Everybody's posterior, release by release; people who share a belief once for all of them."""
    places, belief = beliefs.places, beliefs.belief
    top, single = _tops(places), places.widths == 1
    sure = np.zeros(releases, np.int64)
    if single.any():
        for people in _parts(np.flatnonzero(single[belief])):
            sure += present.there(people, releases).sum(axis=0)
    risks = _risks(present, releases, belief, top)
    return Known(risks, sure.tolist(), top, single, places.widths == 0, np.bincount(belief, minlength=len(top)))


def largest_beliefs(beliefs: LeftValues) -> tuple[Ints, Floats]:
    """Everybody's number, and the largest posterior of each."""
    return beliefs.index.people, _tops(beliefs.places)[beliefs.belief]


def _tops(places: ValueDistributions) -> Floats:
    """The largest posterior of each belief."""
    row = np.repeat(np.arange(len(places.widths)), places.widths)
    sums = np.bincount(row, places.share, len(places.widths))
    # The largest weight is 1; where nothing is left there is none.
    return np.where(places.widths > 0, 1 / np.where(sums > 0, sums, 1), 0.0)


def _risks(present: PresenceIntervals, releases: int, belief: Codes, top: Floats) -> list[float]:
    """The largest posterior of anyone in each release; 0 where nobody is."""
    found, missing = np.zeros(releases), np.ones(releases, np.bool_)
    for people in _portions(belief, top):
        inside = present.there(people, releases)
        new = missing & inside.any(axis=0)
        found[new] = top[belief[people[inside[:, new].argmax(axis=0)]]]
        missing &= ~new
        if not missing.any():
            break
    return found.tolist()


def _portions(belief: Codes, top: Floats) -> Iterator[Ints]:
    """All people, some at a time, those with the largest posteriors first."""
    best = (top == top.max(initial=0.0))[belief]
    first = np.flatnonzero(best)
    # People lie in the order in which they arrived: every n-th of them are of all releases.
    strides = -(-len(first) // _PORTION)
    for begin in range(strides):
        yield first[begin::strides]
    others = np.flatnonzero(~best)
    yield from _parts(others[np.argsort(-top[belief[others]], kind="stable")])


def _parts(people: Ints) -> Iterator[Ints]:
    """Some at a time."""
    return (people[begin : begin + _PORTION] for begin in range(0, len(people), _PORTION))
