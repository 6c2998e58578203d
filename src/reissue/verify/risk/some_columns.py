"""Who is found by someone who knows any m of the quasi-identifiers: k^m-anonymity (Terrovitis et al. 2008).

For every m columns, records with the same published values on them are a class; a release is k^m-anonymous if all
these classes have at least k records. O(rows) for each set of columns, on integer codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.keys import pack
from reissue.errors import InputError

__all__ = ["SomeColumns", "some_columns"]

_WORK = 5 * 10**9
"""Rows times sets of columns that are looked at, at most."""


@dataclass(frozen=True)
class SomeColumns:
    """What someone finds who knows any given number of quasi-identifiers."""

    columns: int
    """How many columns are known: m."""
    smallest: int
    """Records of the smallest class: the release is k^m-anonymous for k up to this."""
    alone: int
    """Records that some m columns single out."""
    worst: tuple[str, ...]
    """The columns that make the smallest class, the first such set."""


def some_columns(
    codes: Sequence[tuple[Ints, int]], names: Sequence[str], known: int, times: pl.Series | None = None
) -> tuple[SomeColumns, Ints]:
    """For any `known` columns, given each column's codes and their number; and each record's smallest class.

    `times` says how many records each row stands for, where equal ones were counted.
    """
    known = min(known, len(names))
    if comb(len(names), known) * len(codes[0][0]) > _WORK:
        raise InputError(f"There are too many sets of {known} columns to look at. Ask for fewer columns.")
    least = np.full(len(codes[0][0]), np.iinfo(np.int64).max)
    smallest, worst = np.iinfo(np.int64).max, tuple(names[:known])
    for chosen in combinations(range(len(names)), known):
        sizes = _class_sizes([codes[place] for place in chosen], None if times is None else times.to_numpy())
        if sizes.min() < smallest:
            smallest, worst = int(sizes.min()), tuple(names[place] for place in chosen)
        np.minimum(least, sizes, out=least)
    return SomeColumns(known, int(smallest), int((least == 1).sum()), worst), least


def _class_sizes(columns: Sequence[tuple[Ints, int]], times: Ints | None) -> Ints:
    """Record to how many have the same codes."""
    keys, bound = pack([codes for codes, _ in columns], [size for _, size in columns])
    if bound > 4 * len(keys) + 1024:
        keys, bound = np.unique(keys, return_inverse=True)[1].reshape(-1), len(keys)
    return np.bincount(keys, times, bound).astype(np.int64)[keys]
