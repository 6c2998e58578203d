"""What groups of each kind show: kinds are numbers of multisets of values (see `groups`), and here is which."""

from dataclasses import dataclass, field

import numpy as np

from reissue._arrays import Ints
from reissue.counting.histogram import Histogram

__all__ = ["KindValues"]


def _none() -> Histogram:
    return Histogram(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), 0)


@dataclass(frozen=True, eq=False)
class KindValues:
    """The multiset of values of every kind of group that there was."""

    kind: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """The kinds, sorted."""
    shows: Histogram = field(default_factory=_none)
    """Kind to how often it holds each value, by values' lasting numbers."""

    def and_more(self, kinds: Ints, shown: Histogram) -> "KindValues":
        """With the kinds of more groups, and what these show."""
        _, first = np.unique(kinds, return_index=True)
        first = first[~np.isin(kinds[first], self.kind)]
        if not len(first):
            return self
        new, old = shown.pick(first), self.shows
        both = Histogram(
            np.concatenate([old.starts, new.starts[1:] + old.starts[-1]]),
            np.concatenate([old.value, new.value]),
            np.concatenate([old.count, new.count]).astype(np.int64),
            max(old.values, new.values),
        )
        kind = np.concatenate([self.kind, kinds[first]])
        order = np.argsort(kind)
        return KindValues(kind[order], both.pick(order))

    def of(self, kinds: Ints) -> Histogram:
        """What groups of these kinds show."""
        return self.shows.pick(np.searchsorted(self.kind, kinds))
