"""Flat arrays: concatenated ranges, distinct small numbers, equal keys, slices that fit into memory."""

from collections.abc import Iterator

import numpy as np

from reissue._arrays import Codes, Ints

__all__ = ["different", "equal_keys", "pieces", "ranges"]

_PIECE = 1 << 22
"""Number of entries per slice; bounds the memory of work that goes slice by slice."""


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Concatenate the ranges start, start + 1, ..., start + length - 1."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def different(numbers: Ints | Codes, size: int | None = None) -> Ints:
    """Return the distinct small numbers, all below `size`, sorted; by marking, which is far faster than `np.unique`."""
    there = np.zeros(int(numbers.max(initial=-1)) + 1 if size is None else size, np.bool_)
    there[numbers] = True
    return np.flatnonzero(there)


def equal_keys(one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """Find all pairs with equal keys, as order, starts and counts: p matches order[start[p] : start[p] + count[p]]."""
    order = np.argsort(other, kind="stable")
    total = int(max(one.max(initial=-1), other.max(initial=-1))) + 1
    number = np.bincount(other, minlength=total)
    start = np.cumsum(number) - number
    return order, start[one], number[one]


def pieces(weights: Ints) -> Iterator[slice]:
    """Yield consecutive slices of about equal total weight."""
    ends = np.cumsum(weights)
    begin = 0
    while begin < len(weights):
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + _PIECE, "right")), begin + 1)
        yield slice(begin, end)
        begin = end
