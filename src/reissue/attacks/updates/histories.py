"""The update attack from release to release where values change: people's pasts are kept, the releases are not.

A later release can tell of earlier values too. Those who are in it are looked at again; of those who are gone nothing
new is known.
"""

from typing import Any

import numpy as np

from reissue._arrays import Floats, Ints, State
from reissue.errors import CannotCarryError
from reissue.kernels.tracking.incremental import Known, lasting_values, renamed
from reissue.kernels.tracking.person_tracker import CERTAIN, IMPOSSIBLE, Shaped, View, begun, read_followed
from reissue.people.histories import Following
from reissue.schema import Schema
from reissue.updates import mark_of, read_updates

__all__ = ["known_of_histories", "largest_of_histories", "remember"]


def remember(state: State | None, following: Following, person: Ints, release: int, schema: Schema) -> dict[str, Any]:
    """Everybody's past after one release more: `person` is the number of each row of a following of this release."""
    names, number = lasting_values([] if state is None else state["names"], following.names)
    model = read_updates(schema, names)
    mark = mark_of(model)
    if state is None:
        past = begun(schema, model, int(following.places.widths.max(initial=0)))
    else:
        past = read_followed(state)
        if isinstance(past, Shaped) and state["model"] != mark:
            raise CannotCarryError
    shown, at = past.shown.joined(renamed(following.places, number))
    where = at[following.table[:, 0]]
    view: View = past.look(person, release)
    judged = past.judged(view, where, shown.places, model)
    past = past.after(person, release, where, shown, judged, model)
    return {**past.arrays(), "names": names, "model": mark}


def largest_of_histories(state: State) -> tuple[Ints, Floats]:
    """Everybody's number, and the largest posterior of each."""
    past = read_followed(state)
    return past.people, past.everyone[0]


def known_of_histories(state: State) -> Known:
    """Everybody's largest posterior."""
    largest, told = read_followed(state).everyone
    certain, impossible = (told & bit > 0 for bit in (CERTAIN, IMPOSSIBLE))
    return Known(None, None, largest, certain, impossible, np.ones(len(told), np.int64))
