"""Recognizing global recodings from published columns alone.

In a global recoding every attribute was cut once for the whole release, so its published values are disjoint; cuts of
one taxonomy nest from release to release.
"""

from collections.abc import Sequence

import numpy as np

from reissue._arrays import Codes, Ints
from reissue.errors import CannotRunError
from reissue.published.boxes import PublishedValues, SeriesCounts

__all__ = ["forest", "refuse_other_recodings", "varying", "varying_columns"]


def refuse_other_recodings(views: SeriesCounts, numbers: Sequence[int]) -> None:
    """Raise CannotRunError, with the reason, unless all releases are global recodings by nested cuts."""
    for place, column in enumerate(views.quasi):
        if not column.exact:
            raise CannotRunError(f"column '{column.name}' was published as sets that are no node of its taxonomy.")
        for number, view in zip(numbers, views.releases, strict=True):
            if _overlapping(column, np.unique(view.nodes[place])):
                raise CannotRunError(
                    f"release {number} is no global recoding: published values of column '{column.name}' overlap."
                )
        if forest(column.lo, column.hi) is None:
            raise CannotRunError(
                f"the releases' values of column '{column.name}' overlap without one lying inside the other, so they "
                "are no cuts of one taxonomy."
            )


def varying(views: SeriesCounts) -> int:
    """How many attributes the releases cut differently where they meet."""
    return varying_columns(views.quasi)


def varying_columns(quasi: Sequence[PublishedValues]) -> int:
    """How many attributes have published values that share a leaf."""
    return sum(_overlapping(column, np.arange(len(column.lo))) for column in quasi)


def _overlapping(column: PublishedValues, used: Ints) -> bool:
    """Whether two of the nodes (which are sorted by their first leaf) share a leaf."""
    return bool((column.hi[used[:-1]] >= column.lo[used[1:]]).any())


def forest(lo: Codes, hi: Codes) -> list[int] | None:
    """The smallest other node around each node, -1 if there is none; None if any two overlap otherwise."""
    around = [-1] * len(lo)
    first, last = lo.tolist(), hi.tolist()
    above: list[int] = []
    for node in sorted(range(len(first)), key=lambda one: (first[one], -last[one])):
        while above and last[above[-1]] < first[node]:
            above.pop()
        if above:
            if last[above[-1]] < last[node]:
                return None
            around[node] = above[-1]
        above.append(node)
    return around
