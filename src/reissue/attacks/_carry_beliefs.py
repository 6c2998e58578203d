"""The update attack carried on where values do not change: what is believed of a person is all there is to keep.

The posterior of a person is the normalized product of the shares of its groups, the same in every release it was in: so
one distribution for each person is enough, with the releases it was in, and a release costs what is in it. Weights are
kept as parts of the largest, so that equal shares stay exactly equal, and equal beliefs are kept once.
"""

from typing import Any

import numpy as np

from reissue._arrays import Ints
from reissue.attacks._base import State
from reissue.attacks._carry import (
    Known,
    bits_with,
    distinct,
    enrolled,
    lasting_values,
    paired,
    per_release,
    read_places,
    renamed,
    together,
)
from reissue.attacks._following import Following
from reissue.attacks._forward import Places, Stays, stays_blocks
from reissue.updates import UpdateModel

__all__ = ["believe", "known_of_beliefs", "left_of", "with_presence"]


def believe(state: State | None, following: Following, person: Ints) -> dict[str, Any]:
    """The beliefs after one release more: `person` is the number of each row of a following of this release alone."""
    before = np.empty(0, np.int64) if state is None else state["people"]
    people, at, order = enrolled(before, person, None if state is None else state["order"])
    names, number = lasting_values([] if state is None else state["names"], following.names)
    beliefs, shown = read_places(state), renamed(following.places, number)
    both, first = together(beliefs, shown), len(beliefs.widths)
    belief = np.full(len(people), -1, np.int64)
    belief[: len(before)] = [] if state is None else state["belief"]
    place = following.table[:, 0] + first
    again = belief[at] >= 0
    belief[at[~again]] = place[~again]
    *pairs, of_pair = paired(belief[at[again]], place[again])
    products = _products(both, np.stack(pairs), names)
    belief[at[again]] = len(both.widths) + of_pair
    kept, of_old = distinct(_scaled(together(both, products)), belief)
    return {
        "people": people,
        "order": order.astype(np.int32),
        "belief": of_old[belief].astype(np.int32),
        "here": at.astype(np.int32),
        "starts": kept.starts,
        "value": kept.value.astype(np.int32),
        "share": kept.share,
        "names": names,
    }


def with_presence(state: State | None, beliefs: dict[str, Any], release: int) -> dict[str, Any]:
    """Beliefs, and who was in which release up to this one."""
    present = np.empty((0, 0), np.uint8) if state is None else state["present"]
    here = beliefs.pop("here")
    return {**beliefs, "present": bits_with(present, len(beliefs["people"]), release, here)}


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


def left_of(state: State) -> Ints:
    """Person to how many values are left; 0 for groups that contradict each other."""
    return np.asarray(np.diff(state["starts"])[state["belief"]], np.int64)


def known_of_beliefs(state: State, releases: int) -> Known:
    """Everybody's posterior, release by release."""
    beliefs, belief, present = read_places(state), state["belief"], state["present"]
    row = np.repeat(np.arange(len(beliefs.widths)), beliefs.widths)
    sums = np.bincount(row, beliefs.share, len(beliefs.widths))
    # The largest weight is 1; where nothing is left there is none.
    top = np.where(beliefs.widths > 0, 1 / np.where(sums > 0, sums, 1), 0.0)
    largest, left = top[belief], beliefs.widths[belief]
    sure = np.unpackbits(present[left == 1], axis=1, count=releases).sum(axis=0, dtype=np.int64)
    risks, single = per_release(present, releases, largest), np.ones(len(belief), np.int64)
    return Known(risks, sure.tolist(), largest, left == 1, left == 0, single)
