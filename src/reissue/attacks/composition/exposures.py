"""Which overlapping pairs are places where few values are left for everyone, and which records can be of such people.

Where other boxes of the two releases reach into what a pair shares, whoever is there may be in one of those. The union
over all of them decides most pairs at once; the others are looked at one by one (see `places`), as many as time allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.attacks.composition.boxes import SeriesBoxes, Words, count_bits
from reissue.attacks.composition.pairs import Pairs
from reissue.attacks.composition.places import Part, Place, Undecided, find_place
from reissue.published.boxes import BoxBounds
from reissue.published.joins import overlapping

__all__ = ["ONE_BY_ONE", "Exposures", "at_most", "mark", "people_at_most", "shared_part", "verify"]

ONE_BY_ONE = 2_000
"""This many places are looked at one by one."""
_RANKED = 20_000
"""Of this many places the one where most people can be is shown."""


@dataclass(frozen=True, eq=False)
class Exposures:
    """What is known of pairs that leave few values."""

    places: int
    """How many are places where that is so for everyone."""
    marked: Words
    """Group to the values by which records of it can be of somebody exposed."""
    worst: Place | None
    refuted: Pairs
    """Those where other boxes leave more, everywhere or as far as was looked."""
    undecided: int


def verify(boxes: SeriesBoxes, pairs: Pairs, limit: int) -> Exposures:
    """Look at pairs that leave fewer values than the limit."""
    shared = _shared(boxes, pairs)
    marked = np.zeros_like(boxes.groups.holds)
    waiting, sure, left = np.arange(len(pairs)), [], []
    # All that a pair shares first; then, where that says nothing, its first and its last point.
    for parts in (shared, BoxBounds(shared.lo, shared.lo), BoxBounds(shared.hi, shared.hi)):
        number = _settled(boxes, pairs.some(waiting), parts.some(waiting), limit, marked)
        few = number < limit
        sure.append(waiting[few])
        left.append(number[few])
        waiting = waiting[~few]
    found, refuted, undecided = _one_by_one(boxes, pairs, waiting, limit)
    for place in found:
        mark(boxes, place, marked)
    certain = np.concatenate(sure)
    worst = _worst(boxes, pairs.some(certain), np.concatenate(left), found, limit)
    return Exposures(len(certain) + len(found), marked, worst, pairs.some(refuted), undecided)


def shared_part(boxes: SeriesBoxes, some: Sequence[int]) -> Part:
    """What some boxes that overlap share."""
    chosen = np.array(some)
    return Part(boxes.bounds.lo[:, chosen].max(axis=1), boxes.bounds.hi[:, chosen].min(axis=1))


def _shared(boxes: SeriesBoxes, pairs: Pairs) -> BoxBounds:
    lo, hi = boxes.bounds.lo, boxes.bounds.hi
    return BoxBounds(np.maximum(lo[:, pairs.one], lo[:, pairs.other]), np.minimum(hi[:, pairs.one], hi[:, pairs.other]))


# --- all at once -----------------------------------------------------------------------------------------------------


def _settled(boxes: SeriesBoxes, pairs: Pairs, parts: BoxBounds, limit: int, marked: Words) -> Ints:
    """For each pair how many values are left in a part of what it shares; where they are few, they are marked."""
    earlier, later = _values_left(boxes, pairs, parts)
    left = np.minimum(count_bits(earlier), count_bits(later))
    few = np.flatnonzero(left < limit)
    for side, values in ((pairs.one, earlier), (pairs.other, later)):
        _mark(boxes, parts.some(few), side[few], values[few], marked)
    return left


def _values_left(boxes: SeriesBoxes, pairs: Pairs, shared: BoxBounds) -> tuple[Words, Words]:
    """What is left in the earlier and in the later release, whichever boxes around the shared part somebody is in."""
    groups = boxes.groups
    one, other = _union(boxes, shared, pairs.one, groups.holds), _union(boxes, shared, pairs.other, groups.holds)
    if boxes.can is None:
        return one & other, one & other
    before, after = _union(boxes, shared, pairs.other, groups.before), _union(boxes, shared, pairs.one, groups.next)
    return one & before, other & after


def _union(boxes: SeriesBoxes, shared: BoxBounds, side: Ints, sets: Words) -> Words:
    """For each shared part the union of the sets of all boxes around it, of the release that its own box is of."""
    result = np.zeros((len(side), sets.shape[1]), np.uint64)
    for release in np.unique(boxes.release[side]).tolist():
        mine, own = np.flatnonzero(boxes.release[side] == release), boxes.of_release(release)
        for part, box in overlapping(shared.some(mine), boxes.bounds.some(own)):
            _add(result, mine[part], sets[boxes.group[own[box]]])
    return result


def _mark(boxes: SeriesBoxes, shared: BoxBounds, side: Ints, values: Words, marked: Words) -> None:
    """Mark what is left in all groups around each shared part."""
    for release in np.unique(boxes.release[side]).tolist():
        mine, own = np.flatnonzero(boxes.release[side] == release), boxes.of_release(release)
        for part, box in overlapping(shared.some(mine), boxes.bounds.some(own)):
            _add(marked, boxes.group[own[box]], values[mine[part]])


def _add(result: Words, rows: Ints, sets: Words) -> None:
    """Unite sets into rows, which may come several times."""
    order = np.argsort(rows, kind="stable")
    distinct, first = np.unique(rows[order], return_index=True)
    result[distinct] |= np.bitwise_or.reduceat(sets[order], first, axis=0) if len(first) else sets


# --- one by one ------------------------------------------------------------------------------------------------------


def _one_by_one(boxes: SeriesBoxes, pairs: Pairs, open_ones: Ints, limit: int) -> tuple[list[Place], Ints, int]:
    """Places, the pairs where none was found, and for how many of these it is not known."""
    found, refuted, undecided = [], [], max(len(open_ones) - ONE_BY_ONE, 0)
    for number in open_ones[:ONE_BY_ONE].tolist():
        one, other = int(pairs.one[number]), int(pairs.other[number])
        try:
            place = _place(boxes, one, other, limit)
        except Undecided:
            place, undecided = None, undecided + 1
        if place is None:
            refuted.append(number)
        else:
            found.append(place)
    return found, np.concatenate([np.array(refuted, np.int64), open_ones[ONE_BY_ONE:]]), undecided


def _place(boxes: SeriesBoxes, one: int, other: int, limit: int, part: Part | None = None) -> Place | None:
    """A place in what two boxes share, or in a part of it."""
    releases = int(boxes.release[one]), int(boxes.release[other])
    own = np.concatenate([boxes.of_release(release) for release in releases])
    part = shared_part(boxes, [one, other]) if part is None else part
    return find_place(boxes, part, releases, own[boxes.reaching(part.lo, part.hi, own)], limit)


def _known_place(boxes: SeriesBoxes, one: int, other: int, limit: int) -> Place | None:
    """The place of a pair of which it is known that there is one: as large as can be found, else a point."""
    try:
        return _place(boxes, one, other, limit)
    except Undecided:
        whole = shared_part(boxes, [one, other])
        points = (_place(boxes, one, other, limit, Part(end, end)) for end in (whole.lo, whole.hi))
        return next((place for place in points if place is not None), None)


# --- people ----------------------------------------------------------------------------------------------------------


def mark(boxes: SeriesBoxes, place: Place, marked: Words) -> None:
    """Mark what is left in the groups around a place."""
    sets = boxes.words(place.values)
    of_box = np.searchsorted(np.array(place.releases), boxes.release[place.boxes])
    _add(marked, boxes.group[place.boxes], sets[of_box])


def people_at_most(boxes: SeriesBoxes, marked: Words) -> int:
    """How many people can have marked records in two releases or more: each takes a record in two of them."""
    groups = boxes.groups
    bit = (marked[groups.group, groups.value >> 6] >> (groups.value & 63).astype(np.uint64)) & np.uint64(1)
    release = np.zeros(groups.groups, np.int64)
    release[boxes.group] = boxes.release
    records = np.bincount(release[groups.group], groups.count * (bit > 0), boxes.releases).astype(np.int64)
    return int(min(records.sum() // 2, records.sum() - records.max()))


def at_most(boxes: SeriesBoxes, place: Place) -> int:
    """How many people can be in all releases of a place, and there."""
    groups = boxes.groups
    counts = np.zeros(place.values.shape, np.int64)
    for number, release in enumerate(place.releases):
        for group in np.unique(boxes.group[place.boxes[boxes.release[place.boxes] == release]]).tolist():
            for value, count in groups.counts_of(group).items():
                counts[number, value] += count
    counts *= place.values
    return int(counts.min(axis=0).sum() if boxes.can is None else counts.sum(axis=1).min())


def _worst(boxes: SeriesBoxes, sure: Pairs, left: Ints, found: Sequence[Place], limit: int) -> Place | None:
    """The place where least is left; of those that no release alone gives away the one where most people can be."""
    known = list(found)
    if len(sure):
        alone = _alone(boxes, sure, limit)
        some = np.lexsort((alone, left))
        some = some[(left[some] == left[some[0]]) & (alone[some] == alone[some[0]])][:_RANKED]
        sizes = np.minimum(
            boxes.groups.sizes[boxes.group[sure.one[some]]], boxes.groups.sizes[boxes.group[sure.other[some]]]
        )
        best = int(some[np.argmax(sizes)])
        place = _known_place(boxes, int(sure.one[best]), int(sure.other[best]), limit)
        known += [] if place is None else [place]
    return min(known, key=lambda one: (one.left, -at_most(boxes, one)), default=None)


def _alone(boxes: SeriesBoxes, pairs: Pairs, limit: int) -> Bools:
    """Whether one of the two groups holds so few values by itself."""
    few = count_bits(boxes.groups.holds) < limit
    return np.asarray(few[boxes.group[pairs.one]] | few[boxes.group[pairs.other]])
