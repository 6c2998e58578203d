"""Which points lie in which boxes: a join on the attributes where a box is one value and one range, then the others.

Boxes of a release differ in which attributes they generalize; those with the same set are joined at once: points that
agree on the exact attributes, sorted by the one of the others whose ranges leave fewest pairs. O(pairs that are left),
a chunk of boxes at a time.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.keys import pack, stable_order

__all__ = ["containment"]

_CHUNK = 4_000_000


def containment(points: Codes, lo: Codes, hi: Codes) -> tuple[Ints, Ints]:
    """The pairs (point, box) where the point lies in the box; arrays are attributes x points and attributes x boxes."""
    exact = lo == hi
    found: list[tuple[Ints, Ints]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    patterns, of_box = np.unique(exact.T, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        boxes = np.flatnonzero(of_box.reshape(-1) == number)
        ranged = np.flatnonzero(~pattern).tolist()
        for point, box in _matches(points, lo[:, boxes], hi[:, boxes], pattern):
            found.append(_inside(points, lo, hi, ranged, point, boxes[box]))
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
