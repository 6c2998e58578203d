"""Refine a plan: look between settings that were tried, along the size of groups and the values that each holds.

What groups give away gets less with their size, and what they cost gets more, as good as always. So of all sizes for as
many values the smallest that withstands is found by halving: a size that costs more than what is recommended so far is
too large, and one that exposes somebody too small.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from math import isqrt

from reissue.methods import find
from reissue.publishing.plan.settings import Setting
from reissue.publishing.plan.waves import Waves

__all__ = ["kinds_of_groups", "smallest"]

_SMALLEST = 5
"""Rows of a group, at least: what is often asked of published microdata."""
_VALUES = re.compile(r"\b(simple-l|l)=(\d+)")


def kinds_of_groups(tried: Iterable[Setting], waves: Waves) -> Iterator[Setting]:
    """Settings with the smallest groups of each kind: of 2 values, 3, and so on, as many as a group can hold."""
    kinds = {_VALUES.sub(r"\1", one.sized(_SMALLEST).require): one for one in tried if _sized(one)}
    for setting in kinds.values():
        found = _VALUES.search(setting.require)
        if found is None:
            yield setting.sized(_SMALLEST)
            continue
        most = int(1 / waves.largest_share + 1e-9) if found[1] == "simple-l" else waves.values
        for values in range(2, most + 1):
            yield setting.moved(max(_SMALLEST, values), values)


def _sized(setting: Setting) -> bool:
    """Whether the size of groups is all that is asked beside their values, by a method without a memory."""
    return setting.size > 0 and not setting.options and find(setting.method).joinable


def smallest(first: Setting, waves: Waves, fits: Callable[[Setting], bool | None]) -> None:
    """Try sizes of groups, halving; `fits` says whether one withstands and costs less, None where it costs too much."""
    low, high = first.size - 1, waves.fewest // 2
    while low < high:
        k = min(max(isqrt((low + 1) * high), low + 1), high)
        if fits(first.sized(k)) is False:
            low = k
        else:
            high = k - 1
