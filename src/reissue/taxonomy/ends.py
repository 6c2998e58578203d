"""End points of published ranges, and points that stand for all that lies beside them.

Where only published files are at hand, a column's leaves are these points: two ranges then nest, overlap or are equal
just as they do by what they say. Days go from the year 1 to 9999, whole numbers as far as 64 bits, others as far as
floats. Sorting: n log n.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from reissue.taxonomy.ranges import CALENDAR, Number, Span, above, below, last

__all__ = ["PointRange", "ends_of", "line_of"]

_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class PointRange:
    """What points can be: days, whole numbers or any numbers."""

    first: Number
    last: Number
    whole: bool = True

    def has(self, point: Number) -> bool:
        """Whether there is such a point."""
        return self.first <= point <= self.last


_DAYS = PointRange(*CALENDAR)
_WHOLE = PointRange(-_LARGEST, _LARGEST)
_REAL = PointRange(-sys.float_info.max, sys.float_info.max, whole=False)


def line_of(spans: Sequence[Span], *, dated: bool) -> PointRange:
    """The line that spans lie on."""
    if dated:
        return _DAYS
    whole = all(float(end).is_integer() and _WHOLE.has(end) for end in _points(spans))
    return _WHOLE if whole else _REAL


def ends_of(spans: Sequence[Span], line: PointRange, *, rooted: bool) -> list[Number]:
    """The first and last point of every span, a point outside for spans without end, and one for the root alone."""
    kind = int if line.whole else float
    ends: set[Number] = {kind(end) for end in _points(spans) if line.has(end)}
    spread = min(ends, default=0), max(ends, default=0)
    if any(span.low == -math.inf for span in spans):
        ends.add(below(spread[0], days=True))
    if any(span.high == math.inf for span in spans):
        ends.add(above(spread[1], days=True))
    if rooted:
        ends.update(_outside(spans, line))
    return sorted(end for end in ends if line.has(end))


def _points(spans: Sequence[Span]) -> set[Number]:
    return {end for span in spans for end in (span.low, last(span)) if math.isfinite(end)}


def _outside(spans: Sequence[Span], line: PointRange) -> list[Number]:
    """A point that no span holds: above all, below all, or between two; none if they hold everything."""
    kind = int if line.whole else float
    inside = [(max(span.low, line.first), min(last(span), line.last)) for span in spans]
    held = sorted((kind(low), kind(high)) for low, high in inside if low <= high)
    if not held:
        return [0]
    reach, tries = held[0][1], []
    for low, high in held:
        # On a whole line the middle of neighbours is the lower one, on the other it is rounded to one of them.
        middle = (reach + low) // 2 if line.whole else reach / 2 + low / 2
        tries += [middle] if reach < middle < low else []
        reach = max(reach, high)
    tries = [above(reach, days=True), below(held[0][0], days=True), *tries]
    return [point for point in tries if line.has(point)][:1]
