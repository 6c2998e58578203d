"""Which boxes of two sets share a point: space is halved until few boxes are left on both sides, then all are compared.

A box that crosses a cut goes to both halves; a pair is given only where the first point of what they share lies. Time
grows with the pairs that meet, and with boxes times halvings: where boxes are wide nearly all meet, so nothing is lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.published.boxes import BoxBounds

__all__ = ["overlapping"]

_FEW = 1 << 14
"""This many pairs are compared without cutting further."""
_AT_A_TIME = 1 << 21
"""This many pairs are compared at a time where cutting does not help."""
_WORTH = 0.9
"""A cut that leaves more than this share of the pairs is not made."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A part of space, and the boxes of both sets that reach into it."""

    one: Ints
    other: Ints
    lo: Codes
    hi: Codes

    @property
    def pairs(self) -> int:
        return len(self.one) * len(self.other)


def overlapping(one: BoxBounds, other: BoxBounds) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of a box of one set and a box of the other that share a point, some at a time."""
    if not len(one) or not len(other):
        return
    lo = np.minimum(one.lo.min(axis=1), other.lo.min(axis=1))
    hi = np.maximum(one.hi.max(axis=1), other.hi.max(axis=1))
    waiting = [_Part(np.arange(len(one)), np.arange(len(other)), lo, hi)]
    while waiting:
        part = waiting.pop()
        halves = [] if part.pairs <= _FEW else _halves(one, other, part)
        if halves:
            waiting.extend(half for half in halves if half.pairs)
        else:
            yield from _compared(one, other, part)


def _halves(one: BoxBounds, other: BoxBounds, part: _Part) -> list[_Part]:
    """The part cut in two where that leaves the fewest pairs; nothing where no cut is worth it."""
    lo, hi = one.lo[:, part.one], one.hi[:, part.one]
    its_lo, its_hi = other.lo[:, part.other], other.hi[:, part.other]
    fewest, best = _WORTH * part.pairs, None
    for place in range(len(part.lo)):
        if part.lo[place] == part.hi[place]:
            continue
        starts = np.concatenate([lo[place], its_lo[place], hi[place], its_hi[place]])
        cut = int(np.median(np.clip(starts, part.lo[place], part.hi[place])))
        cut = min(max(cut, int(part.lo[place])), int(part.hi[place]) - 1)
        sides = lo[place] <= cut, its_lo[place] <= cut, hi[place] > cut, its_hi[place] > cut
        left, its_left, right, its_right = (int(np.count_nonzero(side)) for side in sides)
        pairs = left * its_left + right * its_right
        if pairs < fewest:
            fewest, best = pairs, (place, cut, sides)
    if best is None:
        return []
    place, cut, (left_one, left_other, right_one, right_other) = best
    end, start = part.hi.copy(), part.lo.copy()
    end[place], start[place] = cut, cut + 1
    return [
        _Part(part.one[left_one], part.other[left_other], part.lo, end),
        _Part(part.one[right_one], part.other[right_other], start, part.hi),
    ]


def _compared(one: BoxBounds, other: BoxBounds, part: _Part) -> Iterator[tuple[Ints, Ints]]:
    step = max(_AT_A_TIME // max(len(part.other), 1), 1)
    lo, hi = other.lo[:, part.other], other.hi[:, part.other]
    for first in range(0, len(part.one), step):
        boxes = part.one[first : first + step]
        row, column = np.nonzero(_meet(one.lo[:, boxes], one.hi[:, boxes], lo, hi, part))
        yield boxes[row], part.other[column]


def _meet(lo: Codes, hi: Codes, its_lo: Codes, its_hi: Codes, part: _Part) -> Bools:
    """Which boxes meet, and do so first in this part of space."""
    meet = np.ones((lo.shape[1], its_lo.shape[1]), np.bool_)
    for place in range(len(lo)):
        meet &= lo[place][:, np.newaxis] <= its_hi[place]
        meet &= hi[place][:, np.newaxis] >= its_lo[place]
        # The first shared code is the larger of both first ones: it must lie in the part.
        late, its_late = lo[place] >= part.lo[place], its_lo[place] >= part.lo[place]
        meet &= late[:, np.newaxis] | its_late
    return meet
