"""Joins of boxes: which points lie in which boxes, and which boxes of two sets share a point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.keys import pack, stable_order
from reissue.published.boxes import BoxBounds

__all__ = ["containment", "overlapping"]

_CHUNK = 4_000_000
"""Pairs of a point and a box that are held at a time."""
_FEW = 1 << 14
"""Up to this many pairs, space is not cut further."""
_AT_A_TIME = 1 << 21
"""Pairs that are compared at a time where cutting does not help."""
_WORTH = 0.9
"""A cut that leaves more than this share of the pairs is not made."""


# --- points in boxes -------------------------------------------------------------------------------------------------


def containment(points: Codes, boxes: BoxBounds) -> tuple[Ints, Ints]:
    """The pairs of a point (of attributes x points) and a box that it lies in.

    Boxes differ in which attributes they generalize; those with the same set are joined at once: points that agree on
    the exact attributes, sorted by the one of the others whose ranges leave fewest pairs. O(pairs that are left), a
    chunk of boxes at a time.
    """
    lo, hi = boxes.lo, boxes.hi
    exact = lo == hi
    found: list[tuple[Ints, Ints]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    patterns, of_box = np.unique(exact.T, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        alike = np.flatnonzero(of_box.reshape(-1) == number)
        ranged = np.flatnonzero(~pattern).tolist()
        for point, box in _matches(points, lo[:, alike], hi[:, alike], pattern):
            found.append(_inside(points, lo, hi, ranged, point, alike[box]))
    point, box = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return point, box


def _inside(points: Codes, lo: Codes, hi: Codes, ranged: Sequence[int], point: Ints, box: Ints) -> tuple[Ints, Ints]:
    """The pairs that agree on some attributes."""
    for place in ranged:
        code = points[place, point]
        inside = np.flatnonzero((code >= lo[place, box]) & (code <= hi[place, box]))
        if len(inside) < len(point):
            point, box = point[inside], box[inside]
    return point, box


def _matches(points: Codes, lo: Codes, hi: Codes, pattern: Bools) -> Iterator[tuple[Ints, Ints]]:
    """The pairs that agree on the attributes of a pattern and on one range beside, in chunks."""
    some, keys, of_box = _agreeing(points[pattern], lo[pattern])
    ranged = np.flatnonzero(~pattern).tolist()
    joins = [_join(keys, of_box, points[place, some], lo[place], hi[place]) for place in ranged]
    if not joins:
        joins = [_join(keys, of_box, *(np.zeros(len(one), np.int32) for one in (keys, of_box, of_box)))]
    order, start, number = min(joins, key=lambda join: int(join[2].sum()))
    cuts = np.searchsorted(np.cumsum(number), np.arange(_CHUNK, int(number.sum()) + _CHUNK, _CHUNK)) + 1
    begin = 0
    for end in np.minimum(cuts, len(number)).tolist():
        part = np.arange(begin, max(end, begin))
        box = np.repeat(part, number[part])
        offset = np.arange(len(box)) - np.repeat(np.cumsum(number[part]) - number[part], number[part])
        yield some[order[start[box] + offset]], box
        begin = max(end, begin)


def _agreeing(points: Codes, boxes: Codes) -> tuple[Ints, Ints, Ints]:
    """The points that agree with some box, a number for what they agree on, and the same of every box."""
    total = points.shape[1]
    if not len(points):
        return np.arange(total), np.zeros(total, np.int64), np.zeros(boxes.shape[1], np.int64)
    both = np.concatenate([points, boxes], axis=1)
    keys, _ = pack(list(both), (both.max(axis=1) + 1).tolist())
    wanted, of_box = np.unique(keys[total:], return_inverse=True)
    at = np.minimum(np.searchsorted(wanted, keys[:total]), len(wanted) - 1)
    some = np.flatnonzero(wanted[at] == keys[:total])
    return some, at[some], of_box.reshape(-1)


def _join(keys: Ints, of_box: Ints, code: Codes, lo: Codes, hi: Codes) -> tuple[Ints, Ints, Ints]:
    """An order of points; for each box the first point with its key and in its range, and how many there are."""
    size = int(max(code.max(initial=0), hi.max(initial=0))) + 1
    place = keys * size + code
    order = stable_order(place, (int(keys.max(initial=0)) + 1) * size)
    start = np.searchsorted(place[order], of_box * size + lo, "left")
    return order, start, np.searchsorted(place[order], of_box * size + hi, "right") - start


# --- boxes that meet -------------------------------------------------------------------------------------------------


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
    """All pairs of a box of one set and a box of the other that share a point, some at a time.

    Space is halved until few boxes are left on both sides, then all are compared. A box that crosses a cut goes to both
    halves; a pair is given only where the first point of what they share lies. Time grows with the pairs that meet, and
    with boxes times halvings: where boxes are wide nearly all meet, so nothing is lost.
    """
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
