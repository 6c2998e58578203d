"""Groups of two releases whose boxes overlap, and how many values are left for whoever is in both."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.attacks.composition.boxes import SeriesBoxes
from reissue.published.joins import overlapping

__all__ = ["COMPARED", "FEW", "SEEDS", "Compared", "Pairs", "meeting_pairs"]

COMPARED = 60_000_000
"""This many pairs of overlapping groups are compared."""
FEW = 400_000
"""This many pairs that leave fewer values than the limit are looked at closely."""
SEEDS = 300
"""This many of the others, those with the fewest values, are begun with to look for more releases."""
_AT_A_TIME = 1 << 20


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of boxes of different releases that overlap, the earlier one first; those that leave least come first."""

    one: Ints
    other: Ints
    left: Ints
    """How many values their groups have in common, or, where values change, lead from one to the other; never 0."""

    def __len__(self) -> int:
        return len(self.one)

    def some(self, chosen: Bools | Ints | slice) -> "Pairs":
        """Some of them."""
        return Pairs(self.one[chosen], self.other[chosen], self.left[chosen])

    def first(self, many: int) -> "Pairs":
        """Those that leave least."""
        order = np.lexsort((self.other, self.one, self.left))
        return self.some(order[:many])

    def with_more(self, more: "Pairs") -> "Pairs":
        """These and others."""
        parts = zip((self.one, self.other, self.left), (more.one, more.other, more.left), strict=True)
        return Pairs(*(np.concatenate(part) for part in parts))


@dataclass(frozen=True, eq=False)
class Compared:
    """What a look at all pairs gives."""

    few: Pairs
    """Those that leave fewer values than the limit."""
    others: Pairs
    """Of the others, those that leave least."""
    pairs: int
    """How many were looked at."""
    whole: bool
    """Whether none was left out."""


_NONE = Pairs(*(np.empty(0, np.int64),) * 3)


def meeting_pairs(boxes: SeriesBoxes, limit: int, progress: Callable[[float], None]) -> Compared:
    """Every two boxes of different releases that overlap, if their groups leave some value."""
    few, others, number, cut = _NONE, _NONE, 0, False
    for release in range(1, boxes.releases):
        for pairs in _with_earlier(boxes, release):
            number += len(pairs)
            rest = pairs.some(pairs.left >= limit)
            few = few.with_more(pairs.some((pairs.left > 0) & (pairs.left < limit)))
            others = others.with_more(rest)
            if len(others) > 8 * SEEDS:
                others, cut = others.first(SEEDS), True
            if number > COMPARED:
                break
        progress(0.5 * (release + 1) / boxes.releases)
    whole = not cut and number <= COMPARED and max(len(few) - FEW, len(others) - SEEDS) <= 0
    return Compared(few.first(FEW), others.first(SEEDS), number, whole)


def _with_earlier(boxes: SeriesBoxes, release: int) -> Iterator[Pairs]:
    """The pairs of one release with all earlier ones, some at a time; many small parts are put together."""
    own = boxes.of_release(release)
    parts: list[tuple[Ints, Ints]] = []
    for other, one in overlapping(boxes.bounds.some(own), boxes.bounds.some(np.arange(own[0]))):
        parts.append((one, own[other]))
        if sum(len(part) for part, _ in parts) > _AT_A_TIME:
            yield _left(boxes, parts)
            parts = []
    if parts:
        yield _left(boxes, parts)


def _left(boxes: SeriesBoxes, parts: Sequence[tuple[Ints, Ints]]) -> Pairs:
    one, other = (np.concatenate(side) for side in zip(*parts, strict=True))
    return Pairs(one, other, boxes.left(boxes.group[one], boxes.group[other]))
