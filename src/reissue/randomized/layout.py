"""How probabilities of past events are laid out: by connected components of the update graph.

Given the present value u, a past value x of the same person is possible only if x and u are in one component of the
graph of changes. So a table "probability of each event given each present value" has a block for each component, and
is empty elsewhere. Components with equally many values and events are one array.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Floats, Ints

__all__ = ["BlockGroup", "EventLayout", "layout_of"]

Blocks: TypeAlias = tuple[NDArray[np.floating], ...]
"""One array for each group of blocks: ... x blocks x events x values."""


@dataclass(frozen=True, eq=False)
class BlockGroup:
    """Components with equally many values and events."""

    values: Ints
    """Blocks x values."""
    events: Ints
    """Blocks x events: those that can happen within the component."""
    member: Bools
    """Blocks x events x values."""


@dataclass(frozen=True, eq=False)
class EventLayout:
    """All components of the update graph, grouped by size."""

    groups: tuple[BlockGroup, ...]
    order: Ints
    """Sorts the rows (block, event) of all groups by event."""
    starts: Ints
    """Event to its first row in that order; every event has one at least."""
    place: tuple[tuple[int, int, int], ...]
    """Value to its group, block, and column."""

    @property
    def pairs(self) -> int:
        """How many numbers one table has."""
        return sum(group.member.size for group in self.groups)

    def totals(self, rows: list[Floats]) -> Floats:
        """Sums by event of (... x blocks x events) of every group."""
        return np.add.reduceat(self._flat(rows), self.starts, axis=-1)

    def largest(self, rows: list[Floats]) -> Floats:
        """Maxima by event of (... x blocks x events) of every group."""
        return np.maximum.reduceat(self._flat(rows), self.starts, axis=-1)

    def _flat(self, rows: list[Floats]) -> Floats:
        flat = [one.reshape(*one.shape[:-2], -1) for one in rows]
        return np.concatenate(flat, axis=-1).take(self.order, axis=-1)


def layout_of(changes: list[Floats], member: Bools) -> EventLayout:
    """The layout for these matrices of changes and events (events x values)."""
    graph = np.sum([change > 0 for change in changes], axis=0)
    number, component = connected_components(graph, directed=False)
    touched = [np.flatnonzero(component == one) for one in range(number)]
    events = [np.flatnonzero(member[:, values].any(1)) for values in touched]
    sizes = sorted({(len(values), len(some)) for values, some in zip(touched, events, strict=True) if len(some)})
    groups, place = [], [(-1, -1, -1)] * len(graph)
    for number, size in enumerate(sizes):
        chosen = [at for at in range(len(touched)) if (len(touched[at]), len(events[at])) == size]
        values, some = np.stack([touched[at] for at in chosen]), np.stack([events[at] for at in chosen])
        groups.append(BlockGroup(values, some, member[some[:, :, np.newaxis], values[:, np.newaxis, :]]))
        for block, row in enumerate(values.tolist()):
            for column, value in enumerate(row):
                place[value] = (number, block, column)
    flat = np.concatenate([group.events.ravel() for group in groups])
    order = np.argsort(flat, kind="stable")
    return EventLayout(tuple(groups), order, np.searchsorted(flat[order], np.arange(len(member))), tuple(place))
