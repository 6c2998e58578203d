"""Keys: a combination of codes as one integer, so that grouping is sorting integers.

A key is a mixed-radix number while the product of the domains fits 63 bits, a dense rank otherwise.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reissue._arrays import Codes, Ints

__all__ = ["distinct_keys", "pack", "rank", "stable_order"]

_LIMIT = 2**63 - 1
"""The largest 64-bit integer."""


def pack(columns: Sequence[Codes | Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """Combine codes into one key per row; return the keys and a bound above all of them.

    The order of keys is the lexicographic order of the columns. Where the mixed radix would exceed 63 bits, the part
    packed so far is replaced by its dense rank, so the bound never overflows.
    """
    key = columns[0].astype(np.int64)
    bound = max(int(sizes[0]), 1)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if bound * max(int(size), 1) > _LIMIT:
            key, bound = rank(key)
        key *= max(int(size), 1)
        key += column
        bound *= max(int(size), 1)
    return key, bound


def rank(keys: Ints) -> tuple[Ints, int]:
    """Replace keys by their dense rank 0, 1, ...; return the ranks and their number."""
    distinct, dense = np.unique(keys, return_inverse=True)
    return dense.astype(np.int64, copy=False), max(len(distinct), 1)


def distinct_keys(keys: Ints, bound: int) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and the position of each key among them; small keys are not sorted."""
    if bound > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)
    place = np.zeros(bound, np.int64)
    place[keys] = 1
    found = np.flatnonzero(place)
    place[found] = np.arange(len(found))
    return found, place[keys]


def stable_order(keys: Ints | Codes, bound: int) -> Ints:
    """The stable sorting order of keys 0 <= key < bound: radix sort, sixteen bits at a time."""
    order = np.argsort(_digit(keys, bound), kind="stable")
    while bound > 1 << 16:
        keys, bound = keys >> 16, (bound - 1 >> 16) + 1
        order = order[np.argsort(_digit(keys.take(order), bound), kind="stable")]
    return order


def _digit(keys: Ints | Codes, bound: int) -> NDArray[np.uint8 | np.uint16]:
    """The last sixteen bits; the last eight if there are no more."""
    return keys.astype(np.uint8) if bound <= 1 << 8 else keys.astype(np.uint16, copy=False)
