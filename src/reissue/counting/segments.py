"""Numbers in flat arrays: ranges one after the other, the different ones, equal keys, pieces that fit into memory."""

from collections.abc import Iterator

import numpy as np

from reissue._arrays import Codes, Ints

__all__ = ["different", "equal_keys", "pieces", "ranges"]

_PIECE = 1 << 22
"""How many entries are looked up at a time: bounds the memory of what goes piece by piece."""


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers start, start + 1, ... of each range, one range after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def different(numbers: Ints | Codes, size: int | None = None) -> Ints:
    """The different ones of many small numbers, all below `size`, sorted: by marking; `np.unique` takes far longer."""
    there = np.zeros(int(numbers.max(initial=-1)) + 1 if size is None else size, np.bool_)
    there[numbers] = True
    return np.flatnonzero(there)


def equal_keys(one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """All pairs with equal keys, as an order, starts and numbers: p meets order[start[p] : start[p] + number[p]]."""
    order = np.argsort(other, kind="stable")
    total = int(max(one.max(initial=-1), other.max(initial=-1))) + 1
    number = np.bincount(other, minlength=total)
    start = np.cumsum(number) - number
    return order, start[one], number[one]


def pieces(weights: Ints) -> Iterator[slice]:
    """Consecutive slices whose weights add up to about a piece each."""
    ends = np.cumsum(weights)
    begin = 0
    while begin < len(weights):
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + _PIECE, "right")), begin + 1)
        yield slice(begin, end)
        begin = end
