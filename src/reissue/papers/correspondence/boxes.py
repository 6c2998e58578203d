"""What can still be said when releases are no global recodings: groups as boxes, two releases at a time.

A person of group p in the earlier release stands in a group q of the later one whose box meets p's. If p and q overlap
no other group of their own releases, whoever knows the person's values knows both groups, and at most
sum_s min(n_p(s), n_q(s)) records are left. Counts alone do not tell who is in which q; but a value of p that only
one such q holds takes all its records there. So people are counted only where they must be: this finds real exposures
(if records only arrived), and never proves that there are none.
"""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.counting.histogram import common
from reissue.errors import CannotRunError
from reissue.published.boxes import BoxBounds, SeriesCounts
from reissue.published.joins import overlapping

__all__ = ["Exposure", "exposures"]

_MOST = 200_000_000
"""How many pairs of boxes are compared before giving up."""


@dataclass(frozen=True)
class Exposure:
    """The worst that two releases do to people who must be there."""

    earlier: int
    later: int
    """The releases, from 0."""
    groups: tuple[int, int]
    left: int
    people: int
    """How many people have less left than the limit, at least."""


def exposures(views: SeriesCounts, limit: int) -> list[Exposure]:
    """For every two releases the worst group pair below the limit, if somebody must stand there."""
    boxes = [views.bounds(release) for release in range(len(views.releases))]
    if sum(map(len, boxes)) ** 2 > _MOST:
        raise CannotRunError(
            "the releases are no global recodings, and have too many groups to compare them all.", too_large=True
        )
    alone = [_alone(box) for box in boxes]
    found = []
    for earlier in range(len(boxes)):
        for later in range(earlier + 1, len(boxes)):
            pairs = _meeting(boxes[earlier], boxes[later])
            worst = _worst(views, earlier, later, pairs, alone[earlier], alone[later], limit)
            if worst is not None:
                found.append(worst)
    return found


def _meeting(one: BoxBounds, other: BoxBounds) -> tuple[Ints, Ints]:
    """The pairs of groups whose boxes overlap, sorted."""
    none = np.empty(0, np.int64)
    found = [(none, none), *overlapping(one, other)]
    rows, columns = (np.concatenate([part[side] for part in found]) for side in (0, 1))
    order = np.lexsort((columns, rows))
    return rows[order], columns[order]


def _alone(box: BoxBounds) -> Bools:
    """Which groups overlap no other group of their release."""
    return np.asarray(np.bincount(_meeting(box, box)[0], minlength=len(box)) == 1)


def _worst(
    views: SeriesCounts,
    earlier: int,
    later: int,
    pairs: tuple[Ints, Ints],
    one_alone: Bools,
    other_alone: Bools,
    limit: int,
) -> Exposure | None:
    one, other = views.releases[earlier], views.releases[later]
    pair, mine, its = common(one, other, *pairs)
    where = np.bincount(mine, minlength=len(one.count))
    if not where.all():
        raise CannotRunError("a later release lacks records that an earlier one had, so there is nothing to follow.")
    left = np.bincount(pair, np.minimum(one.count[mine], other.count[its]), len(pairs[0])).astype(np.int64)
    certain = np.bincount(pair, one.count[mine] * (where[mine] == 1), len(pairs[0])).astype(np.int64)
    known = one_alone[pairs[0]] & other_alone[pairs[1]]
    exposed = np.flatnonzero(known & (certain > 0) & (left < limit))
    if not len(exposed):
        return None
    worst = exposed[np.argmin(left[exposed])]
    groups = int(pairs[0][worst]), int(pairs[1][worst])
    return Exposure(earlier, later, groups, int(left[worst]), int(certain[exposed].sum()))
