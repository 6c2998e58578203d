"""Worlds: all ways to give people values that stay, such that every group shows what its people have."""

import numpy as np

from reissue._arrays import Codes, Ints

__all__ = ["worlds_of"]


def worlds_of(inside: Ints, shows: Ints, most: int) -> tuple[Codes | None, int]:
    """Return all worlds (worlds x classes), and how many partial ones that took; None if these are more than `most`.

    Parameters
    ----------
    inside
        Groups x classes: how many people of a class, who all have one value, are in a group.
    shows
        Groups x values: how many records of a group show a value; as many in all as the group has people.
    most
        Partial worlds, at most. O(most x groups x values).

    """
    order = _by_group(inside)
    found, left, steps = np.empty((1, 0), np.int32), shows.astype(np.int32)[np.newaxis], 0
    for one in order:
        here = np.flatnonzero(inside[:, one])
        own = inside[here, one]
        world, value = np.nonzero((left[:, here] >= own[:, np.newaxis]).all(axis=1))
        steps += len(world)
        if steps > most:
            return None, steps
        left = left[world]
        left[np.arange(len(world))[:, np.newaxis], here, value[:, np.newaxis]] -= own.astype(np.int32)
        found = np.column_stack([found[world], value.astype(np.int32)])
    return np.asarray(found[:, np.argsort(order)], np.int32), steps


def _by_group(inside: Ints) -> list[int]:
    """Classes in an order that fills one group after the other, always the one with the fewest classes left."""
    left = [set(np.flatnonzero(row).tolist()) for row in inside]
    order: list[int] = []
    while left:
        fresh = min(left, key=len)
        order += sorted(fresh)
        left = [classes - fresh for classes in left if classes is not fresh]
    return order
