"""The update attack carried on where values do not change: what is believed of a person is all there is to keep.

The posterior of a person is the normalized product of the shares of its groups, the same in every release it was in: so
one distribution for each person is enough, with the releases it was in, and a release costs what is in it. Weights are
kept as parts of the largest, so that equal shares stay exactly equal, and equal beliefs are kept once.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints, State
from reissue.kernels.forward_backward import Places, Stays, stays_blocks
from reissue.kernels.tracking.incremental import Known, distinct, lasting_values, paired, read_places, renamed, together
from reissue.people.histories import Following
from reissue.people.index import meet
from reissue.people.presence import Stretches
from reissue.updates import UpdateModel

__all__ = ["believe", "contradicted", "known_of_beliefs", "largest_beliefs", "with_presence"]

_PRESENT = "present"
_PORTION = 4096
"""So many people at a time are asked for the releases that they were in."""


def believe(state: State | None, following: Following, person: Ints) -> dict[str, Any]:
    """The beliefs after one release more: `person` is the number of each row of a following of this release alone.

    What is no part of the state, where each of these people is among all, goes beside it as `at`.
    """
    met = meet(state, person)
    names, number = lasting_values([] if state is None else state["names"], following.names)
    beliefs, shown = read_places(state), renamed(following.places, number)
    both, first = together(beliefs, shown), len(beliefs.widths)
    belief = np.full(len(met.people), -1, np.int32)
    if state is not None:
        belief[: len(state["belief"])] = state["belief"]
    place, before = following.table[:, 0] + first, belief[met.at]
    again = before >= 0
    *pairs, of_pair = paired(before[again].astype(np.int64), place[again])
    products = _products(both, np.stack(pairs), names)
    belief[met.at[again]] = len(both.widths) + of_pair
    belief[met.at[~again]] = place[~again]
    kept, of_old = distinct(_scaled(together(both, products)), np.flatnonzero(np.bincount(belief)))
    return {
        **met.arrays(),
        "at": met.at,
        "belief": of_old.astype(np.int32)[belief],
        "starts": kept.starts,
        "value": kept.value.astype(np.int32),
        "share": kept.share,
        "names": names,
    }


def with_presence(state: State | None, beliefs: dict[str, Any], release: int) -> dict[str, Any]:
    """Beliefs, and who was in which release up to this one."""
    present = Stretches.none() if state is None else Stretches.read(state, _PRESENT)
    at = beliefs.pop("at")
    return {**beliefs, **present.after(len(beliefs["people"]), release, at).arrays(_PRESENT)}


def _products(both: Places, pairs: Ints, names: list[str | None]) -> Places:
    """What two distributions say together: the values that both have, with the products of their weights."""
    starts = 2 * np.arange(pairs.shape[1] + 1)
    stays = Stays(starts, np.tile([0, 1], pairs.shape[1]), pairs.T.reshape(-1))
    row, value, weight = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for block in stays_blocks(stays, both, UpdateModel.none(names)):
        last = block.posterior[:, -1]
        where, which = np.nonzero(last)
        row.append(block.rows[where])
        value.append(block.value[:, -1][where, which])
        weight.append(last[where, which])
    rows, values, weights = np.concatenate(row), np.concatenate(value), np.concatenate(weight)
    order = np.lexsort((values, rows))
    ends = np.append(0, np.cumsum(np.bincount(rows, minlength=pairs.shape[1])))
    return Places(ends, values[order], weights[order])


def _scaled(places: Places) -> Places:
    """Weights as parts of the largest."""
    some = np.flatnonzero(places.widths)
    most = np.ones(len(places.widths))
    most[some] = np.maximum.reduceat(places.share, places.starts[some]) if len(some) else most[some]
    return Places(places.starts, places.value, places.share / np.repeat(most, places.widths))


def contradicted(state: State) -> bool:
    """Whether somebody's groups have no value in common; every belief that is kept is somebody's."""
    return bool((np.diff(state["starts"]) == 0).any())


def known_of_beliefs(state: State, releases: int) -> Known:
    """Everybody's posterior, release by release; people who share a belief once for all of them."""
    beliefs, belief, present = read_places(state), state["belief"], Stretches.read(state, _PRESENT)
    top, single = _tops(beliefs), beliefs.widths == 1
    sure = np.zeros(releases, np.int64)
    if single.any():
        for people in _parts(np.flatnonzero(single[belief])):
            sure += present.there(people, releases).sum(axis=0)
    risks = _risks(present, releases, belief, top)
    return Known(risks, sure.tolist(), top, single, beliefs.widths == 0, np.bincount(belief, minlength=len(top)))


def largest_beliefs(state: State) -> tuple[Ints, Floats]:
    """Everybody's number, and the largest posterior of each."""
    return state["people"], _tops(read_places(state))[state["belief"]]


def _tops(beliefs: Places) -> Floats:
    """The largest posterior of each belief."""
    row = np.repeat(np.arange(len(beliefs.widths)), beliefs.widths)
    sums = np.bincount(row, beliefs.share, len(beliefs.widths))
    # The largest weight is 1; where nothing is left there is none.
    return np.where(beliefs.widths > 0, 1 / np.where(sums > 0, sums, 1), 0.0)


def _risks(present: Stretches, releases: int, belief: Ints, top: Floats) -> list[float]:
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


def _portions(belief: Ints, top: Floats) -> Iterator[Ints]:
    """All people, some at a time, those with the largest posteriors first."""
    best = (top == top.max(initial=0.0))[belief]
    first = np.flatnonzero(best)
    # People lie in the order in which they came: every n-th of them are of all releases.
    strides = -(-len(first) // _PORTION)
    for begin in range(strides):
        yield first[begin::strides]
    others = np.flatnonzero(~best)
    yield from _parts(others[np.argsort(-top[belief[others]], kind="stable")])


def _parts(people: Ints) -> Iterator[Ints]:
    """Some at a time."""
    return (people[begin : begin + _PORTION] for begin in range(0, len(people), _PORTION))
