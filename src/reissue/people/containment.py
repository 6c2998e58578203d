"""Which points lie in which boxes: a join on the attributes where a box is one value and one range, then the others.

Boxes of a release differ in which attributes they generalize; those with the same set are joined at once: points that
agree on the exact attributes, sorted by the one of the others whose ranges leave fewest pairs. O(pairs that are left),
a chunk of boxes at a time.
"""

from collections.abc import Iterator

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.cells import cells_of

__all__ = ["containment"]

_CHUNK = 4_000_000


def containment(points: Codes, lo: Codes, hi: Codes) -> tuple[Ints, Ints]:
    """The pairs (point, box) where the point lies in the box; arrays are attributes x points and attributes x boxes."""
    exact = lo == hi
    found: list[tuple[Ints, Ints]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    patterns, of_box = np.unique(exact.T, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        boxes = np.flatnonzero(of_box.reshape(-1) == number)
        for point, box in _matches(points, lo[:, boxes], hi[:, boxes], pattern):
            inside = np.ones(len(point), np.bool_)
            for place in np.flatnonzero(~pattern).tolist():
                code = points[place, point]
                inside &= (code >= lo[place, boxes[box]]) & (code <= hi[place, boxes[box]])
            found.append((point[inside], boxes[box[inside]]))
    point, box = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return point, box


def _matches(points: Codes, lo: Codes, hi: Codes, pattern: Bools) -> Iterator[tuple[Ints, Ints]]:
    """The pairs that agree on the attributes of a pattern and on one range beside, in chunks."""
    total = points.shape[1]
    if pattern.any():
        both = np.concatenate([points[pattern], lo[pattern]], axis=1)
        keys = cells_of(both, (both.max(axis=1) + 1).tolist()).of_row.astype(np.int64)
    else:
        keys = np.zeros(total + lo.shape[1], np.int64)
    ranged = np.flatnonzero(~pattern).tolist()
    joins = [_join(keys[:total], keys[total:], points[place], lo[place], hi[place]) for place in ranged]
    if not joins:
        joins = [_join(keys[:total], keys[total:], *(np.zeros(size, np.int64) for size in (total, *[lo.shape[1]] * 2)))]
    order, start, number = min(joins, key=lambda join: int(join[2].sum()))
    cuts = np.searchsorted(np.cumsum(number), np.arange(_CHUNK, int(number.sum()) + _CHUNK, _CHUNK)) + 1
    begin = 0
    for end in np.minimum(cuts, len(number)).tolist():
        part = np.arange(begin, max(end, begin))
        box = np.repeat(part, number[part])
        offset = np.arange(len(box)) - np.repeat(np.cumsum(number[part]) - number[part], number[part])
        yield order[start[box] + offset], box
        begin = max(end, begin)


def _join(keys: Ints, of_box: Ints, code: Codes, lo: Codes, hi: Codes) -> tuple[Ints, Ints, Ints]:
    """An order of points; for each box the first point with its key and in its range, and how many there are."""
    size = int(max(code.max(initial=0), hi.max(initial=0))) + 1
    place = keys * size + code
    order = np.argsort(place, kind="stable")
    start = np.searchsorted(place[order], of_box * size + lo, "left")
    return order, start, np.searchsorted(place[order], of_box * size + hi, "right") - start
