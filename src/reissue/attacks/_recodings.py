"""Recognizing global recodings from published columns alone.

In a global recoding every attribute was cut once for the whole release, so its published values are disjoint; cuts of
one taxonomy nest from release to release.
"""

from collections.abc import Sequence

import numpy as np

from reissue._arrays import Ints
from reissue.attacks._base import CannotRunError
from reissue.attacks._views import Nodes, Views

__all__ = ["refuse_other_recodings", "varying"]


def refuse_other_recodings(views: Views, numbers: Sequence[int]) -> None:
    """Raise CannotRunError, with the reason, unless all releases are global recodings by nested cuts."""
    for place, column in enumerate(views.quasi):
        if not column.exact:
            raise CannotRunError(f"column '{column.name}' was published as sets that are no node of its taxonomy.")
        for number, view in zip(numbers, views.views, strict=True):
            if _overlapping(column, np.unique(view.nodes[place])):
                raise CannotRunError(
                    f"release {number} is no global recoding: published values of column '{column.name}' overlap."
                )
        if not _nested(column):
            raise CannotRunError(
                f"the releases' values of column '{column.name}' overlap without one lying inside the other, so they "
                "are no cuts of one taxonomy."
            )


def varying(views: Views) -> int:
    """How many attributes the releases cut differently where they meet."""
    return sum(_overlapping(column, np.arange(len(column.lo))) for column in views.quasi)


def _overlapping(column: Nodes, used: Ints) -> bool:
    """Whether two of the nodes (which are sorted by their first leaf) share a leaf."""
    return bool((column.hi[used[:-1]] >= column.lo[used[1:]]).any())


def _nested(column: Nodes) -> bool:
    """Whether any two nodes lie inside each other or apart."""
    open_ends: list[int] = []
    for lo, hi in sorted(zip(column.lo.tolist(), (-column.hi).tolist(), strict=True)):
        while open_ends and open_ends[-1] < lo:
            open_ends.pop()
        if open_ends and open_ends[-1] < -hi:
            return False
        open_ends.append(-hi)
    return True
