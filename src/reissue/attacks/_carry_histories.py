"""The update attack carried on where values change: people's histories are kept, the releases are not.

A later release can tell of earlier values, so the pass backward goes through all that a person was in: what is kept is
the person's sequence of places (distributions of values), equal sequences once, and what was found for each. Only those
who are in the new release are looked at again: a release costs by how long its people have stayed. If the update model
itself changes, since it speaks of values that nobody had before, everybody is.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.attacks._base import State
from reissue.attacks._carry import Known, distinct, enrolled, lasting_values, paired, read_places, renamed, together
from reissue.attacks._following import Following
from reissue.attacks._forward import Places, Stays, stays_blocks
from reissue.attacks._pairs import ranges
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates

__all__ = ["known_of_histories", "remember"]

_MANY = 2
"""How many values left count as several."""


def remember(state: State | None, following: Following, person: Ints, release: int, schema: Schema) -> dict[str, Any]:
    """The histories after one release more: `person` is the number of each row of a following of this release alone."""
    before = np.empty(0, np.int64) if state is None else state["people"]
    people, at, order = enrolled(before, person, None if state is None else state["order"])
    names, number = lasting_values([] if state is None else state["names"], following.names)
    model = read_updates(schema, names)
    places = read_places(state)
    both = together(places, renamed(following.places, number))
    old = _read(state)
    history = np.full(len(people), -1, np.int64)
    history[: len(before)] = [] if state is None else state["history"]
    place = following.table[:, 0] + len(places.widths)
    since, last, of_pair = paired(history[at], place)
    longer = _longer(old, since, last, release)
    history[at] = len(old.versions) + of_pair
    used, again = np.unique(history, return_inverse=True)
    stays = _some(_chained(old, longer), used)
    largest = np.concatenate([np.empty(0) if state is None else state["largest"], np.zeros(len(longer.place))])
    left = np.concatenate([np.empty(0, np.uint8) if state is None else state["left"], np.zeros(len(longer.place))])
    entries = _entries(_chained(old, longer), used)
    largest, left = largest[entries], left[entries].astype(np.uint8)
    mark = _mark(model)
    same = state is not None and state["model"] == mark
    _judge(stays, np.flatnonzero(used >= len(old.versions) if same else used >= 0), both, model, largest, left)
    kept, of_old = distinct(both, stays.place)
    return {
        "people": people,
        "order": order.astype(np.int32),
        "history": again.reshape(-1).astype(np.int32),
        "stays": stays.starts,
        "release": stays.release.astype(np.int16),
        "place": of_old[stays.place].astype(np.int32),
        "largest": largest,
        "left": left,
        "starts": kept.starts,
        "value": kept.value.astype(np.int32),
        "share": kept.share,
        "names": names,
        "model": mark,
    }


def _mark(model: UpdateModel) -> str:
    """Tells models apart."""
    content = repr(model.names).encode() + np.ascontiguousarray(model.chance).tobytes()
    return hashlib.sha256(content).hexdigest()


def _read(state: State | None) -> Stays:
    if state is None:
        return Stays(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    return Stays(state["stays"], state["release"].astype(np.int64), state["place"].astype(np.int64))


def _entries(stays: Stays, rows: Ints) -> Ints:
    """The versions of some histories, one history after the other."""
    return ranges(stays.starts[rows], stays.versions[rows])


def _some(stays: Stays, rows: Ints) -> Stays:
    at = _entries(stays, rows)
    return Stays(np.append(0, np.cumsum(stays.versions[rows])), stays.release[at], stays.place[at])


def _chained(one: Stays, other: Stays) -> Stays:
    """The histories of both."""
    return Stays(
        np.concatenate([one.starts[:-1], other.starts + one.starts[-1]]),
        np.concatenate([one.release, other.release]),
        np.concatenate([one.place, other.place]),
    )


def _longer(old: Stays, since: Ints, place: Ints, release: int) -> Stays:
    """Histories (-1 for none) that each go on to one place more."""
    began = since >= 0
    versions = np.ones(len(since), np.int64)
    versions[began] += old.versions[since[began]]
    starts = np.append(0, np.cumsum(versions))
    last = starts[1:] - 1
    earlier = np.ones(starts[-1], np.bool_)
    earlier[last] = False
    when, where = np.full(starts[-1], release), np.empty(starts[-1], np.int64)
    past = _entries(old, since[began])
    when[earlier], where[earlier], where[last] = old.release[past], old.place[past], place
    return Stays(starts, when, where)


def _judge(stays: Stays, rows: Ints, shown: Places, model: UpdateModel, largest: Floats, left: np.ndarray) -> None:
    """Write the largest posterior of some histories' versions, and how many values are left."""
    for block in stays_blocks(_some(stays, rows), shown, model):
        at = stays.starts[rows[block.rows]][:, np.newaxis] + np.arange(block.release.shape[1])
        largest[at] = block.posterior.max(axis=2)
        left[at] = np.minimum(np.count_nonzero(block.posterior, axis=2), _MANY)


def known_of_histories(state: State, releases: int) -> Known:
    """Everybody's posterior, release by release."""
    starts, release, largest, left = (state[name] for name in ("stays", "release", "largest", "left"))
    number = np.bincount(state["history"], minlength=len(starts) - 1)
    risks = np.zeros(releases)
    np.maximum.at(risks, release, largest)
    sure = np.bincount(release, np.repeat(number, np.diff(starts)) * (left == 1), releases).astype(np.int64)
    return Known(
        risks.tolist(),
        sure.tolist(),
        _most(largest, starts),
        _most(left == 1, starts),
        _most(left == 0, starts),
        number,
    )


def _most(entries: np.ndarray, starts: Sequence[int]) -> np.ndarray:
    """The largest of each history's entries; every history has some."""
    return np.maximum.reduceat(entries, starts[:-1]) if len(starts) > 1 else entries
