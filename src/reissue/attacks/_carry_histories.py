"""The update attack carried on where values change: people's histories are kept, the releases are not.

A later release can tell of earlier values, so the pass backward goes through all that a person was in: what is kept is
everybody's sequence of places (distributions of values, equal ones once), and what was found of the person. Only those
who are in the new release are looked at again: a release costs by how long its people have stayed. If the update model
itself changes, since it speaks of values that nobody had before, everybody is.
"""

import hashlib
from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks._base import State
from reissue.attacks._carry import Known, enrolled, keys_of, lasting_values, read_places, renamed, some_of, together
from reissue.attacks._following import Following
from reissue.attacks._forward import Places, Stays, stays_blocks
from reissue.attacks._trails import Trails, found
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates

__all__ = ["known_of_histories", "remember"]

_CERTAIN, _IMPOSSIBLE = 1, 2


def remember(state: State | None, following: Following, person: Ints, release: int, schema: Schema) -> dict[str, Any]:
    """The histories after one release more: `person` is the number of each row of a following of this release alone."""
    names, number = lasting_values([] if state is None else state["names"], following.names)
    model = read_updates(schema, names)
    places, at, known = _with_places(state, renamed(following.places, number))
    before = Trails.none() if state is None else Trails.read(state)
    trails = before.after(person, release, at[following.table[:, 0]])
    mark = _mark(model)
    if state is not None and state["model"] == mark:
        of_gone = _kept(before, state, trails.gone)
    else:
        of_gone = _told(trails.past(trails.gone), places, model)
    largest, told = _told(trails.here, places, model)
    return {
        **trails.arrays(),
        "largest": largest,
        "told": told,
        "gone_largest": of_gone[0],
        "gone_told": of_gone[1],
        "starts": places.starts,
        "value": places.value.astype(np.int32),
        "share": places.share,
        **known,
        "names": names,
        "model": mark,
    }


def _with_places(state: State | None, shown: Places) -> tuple[Places, Ints, dict[str, Ints]]:
    """All distributions that there have been, where those of this release are, and what tells them apart."""
    before = np.empty(0, np.uint64) if state is None else state["keys"]
    keys, at, order = enrolled(before, keys_of(shown), None if state is None else state["key_order"])
    new = np.flatnonzero(at >= len(before))
    first = np.unique(at[new], return_index=True)[1]
    places = together(read_places(state), some_of(shown, new[first]))
    return places, at, {"keys": keys, "key_order": order.astype(np.int32)}


def _mark(model: UpdateModel) -> str:
    """Tells models apart."""
    content = repr(model.names).encode() + np.ascontiguousarray(model.chance).tobytes()
    return hashlib.sha256(content).hexdigest()


def _kept(before: Trails, state: State, gone: Ints) -> tuple[Floats, np.ndarray]:
    """What was found of those who are gone, when they were last looked at."""
    largest, told = np.empty(len(gone)), np.empty(len(gone), np.uint8)
    for people, prefix in ((before.people, ""), (before.gone, "gone_")):
        rows, at = found(people, gone)
        largest[rows], told[rows] = state[f"{prefix}largest"][at], state[f"{prefix}told"][at]
    return largest, told


def _told(stays: Stays, shown: Places, model: UpdateModel) -> tuple[Floats, np.ndarray]:
    """The largest posterior in any version of each history; and whether one is certain, or none possible."""
    largest, told = np.zeros(len(stays.versions)), np.zeros(len(stays.versions), np.uint8)
    for block in stays_blocks(stays, shown, model):
        left = np.count_nonzero(block.posterior, axis=2)
        largest[block.rows] = block.posterior.max(axis=(1, 2))
        certain, impossible = (left == 1).any(axis=1), (left == 0).any(axis=1)
        told[block.rows] = _CERTAIN * certain + _IMPOSSIBLE * impossible
    return largest, told


def known_of_histories(state: State) -> Known:
    """Everybody's largest posterior."""
    largest = np.concatenate([state["largest"], state["gone_largest"]])
    told = np.concatenate([state["told"], state["gone_told"]])
    certain, impossible = (told & bit > 0 for bit in (_CERTAIN, _IMPOSSIBLE))
    return Known(None, None, largest, certain, impossible, np.ones(len(told), np.int64))
