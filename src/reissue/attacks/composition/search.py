"""The search for places where few values are left: pairs of releases first, then more of them.

1. Boxes of two releases that overlap are compared by the values that their groups have in common.
2. Pairs with fewer values than the limit are verified: other boxes of the two releases that reach into the overlap may
   hold more values. The union over all of them decides most pairs at once; the others are cut into parts one by one
   (`places`), as many as `ONE_BY_ONE`.
3. The pairs that leave least are extended by boxes of further releases, those that leave least first. The search is
   bounded, and complete if it ends before its bounds (`SEEDS` pairs to begin with, `STEPS` additions in all).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reissue._arrays import Bools, Ints
from reissue.attacks.composition.boxes import SeriesBoxes, Words
from reissue.attacks.composition.places import Part, Place, Undecided, find_place, people_there, values_left
from reissue.published.boxes import BoxBounds
from reissue.published.joins import overlapping

__all__ = ["COMPARED", "LIMIT", "ONE_BY_ONE", "SEEDS", "STEPS", "Searched", "search"]

LIMIT = 2
"""How many values must be left where nobody says otherwise: with one, it is known."""
COMPARED = 60_000_000
"""Pairs of overlapping boxes that are compared, at most."""
FEW = 400_000
"""Pairs with fewer values than the limit that are verified, at most."""
ONE_BY_ONE = 2_000
"""Of these, pairs that are cut into parts, at most."""
SEEDS = 300
"""Pairs from which more releases are searched, at most: those with the fewest values."""
STEPS = 3_000
"""Boxes that are added to chains, at most."""
_AT_A_TIME = 1 << 20
"""Pairs that are compared at a time."""
_RANKED = 20_000
"""Of this many places the one where most people can be is shown."""


@dataclass(frozen=True, eq=False)
class Searched:
    """The result of the search."""

    worst: Place | None
    """Where least is left; None if the limit is kept everywhere."""
    places: int
    people: int
    """The largest number of people who can be in them."""
    compared: int
    """Pairs of boxes that overlap."""
    added: int
    """Boxes of further releases that were tried."""
    undecided: int
    """Places for which the search gave up."""
    complete: bool
    """Whether there is certainly no other place."""


def search(boxes: SeriesBoxes, limit: int, progress: Callable[[float], None] = lambda _: None) -> Searched:
    """Find places where fewer values than the limit are left; the worst is searched for with lower limits first."""
    lower = (_search(boxes, number).worst for number in range(LIMIT, limit))
    least = next((worst for worst in lower if worst is not None), None)
    found = _search(boxes, limit, progress)
    return found if least is None else replace(found, worst=least)


def _search(boxes: SeriesBoxes, limit: int, progress: Callable[[float], None] = lambda _: None) -> Searched:
    compared = _meeting_pairs(boxes, limit, progress)
    verified = _verify(boxes, compared.few, limit)
    progress(0.8)
    seeds = verified.refuted.with_more(compared.few.some(compared.few.left > 1)).with_more(compared.others)
    chains, complete = _search_chains(boxes, seeds, limit)
    for place in chains.places:
        _mark_place(boxes, place, verified.marked)
    undecided = verified.undecided + chains.undecided
    return Searched(
        _worst(boxes, [*([] if verified.worst is None else [verified.worst]), *chains.places]),
        verified.places + len(chains.places),
        _people_at_most(boxes, verified.marked),
        compared.pairs,
        chains.steps,
        undecided,
        compared.whole and complete and not undecided,
    )


def _worst(boxes: SeriesBoxes, places: Sequence[Place]) -> Place | None:
    """Where least is left; of such places one of few releases where many people can be."""
    order = [(place.left, len(place.releases), -people_there(boxes, place)) for place in places]
    return places[min(range(len(places)), key=order.__getitem__)] if places else None


# --- pairs of boxes that overlap -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of boxes of different releases that overlap, the earlier one first; those that leave least come first."""

    one: Ints
    other: Ints
    left: Ints
    """How many values their groups have in common, or, where values change, lead from one to the other; never 0."""

    def __len__(self) -> int:
        return len(self.one)

    def some(self, chosen: Bools | Ints | slice) -> "_Pairs":
        """Select some of them."""
        return _Pairs(self.one[chosen], self.other[chosen], self.left[chosen])

    def first(self, many: int) -> "_Pairs":
        """Select those that leave least."""
        order = np.lexsort((self.other, self.one, self.left))
        return self.some(order[:many])

    def with_more(self, more: "_Pairs") -> "_Pairs":
        """Append others."""
        parts = zip((self.one, self.other, self.left), (more.one, more.other, more.left), strict=True)
        return _Pairs(*(np.concatenate(part) for part in parts))


@dataclass(frozen=True, eq=False)
class _Compared:
    """All pairs, compared."""

    few: _Pairs
    """Those that leave fewer values than the limit."""
    others: _Pairs
    """Of the others, those that leave least."""
    pairs: int
    """The number of pairs compared."""
    whole: bool
    """Whether none was left out."""


_NONE = _Pairs(*(np.empty(0, np.int64),) * 3)


def _meeting_pairs(boxes: SeriesBoxes, limit: int, progress: Callable[[float], None]) -> _Compared:
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
    return _Compared(few.first(FEW), others.first(SEEDS), number, whole)


def _with_earlier(boxes: SeriesBoxes, release: int) -> Iterator[_Pairs]:
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


def _left(boxes: SeriesBoxes, parts: Sequence[tuple[Ints, Ints]]) -> _Pairs:
    one, other = (np.concatenate(side) for side in zip(*parts, strict=True))
    return _Pairs(one, other, boxes.left(boxes.group[one], boxes.group[other]))


# --- pairs, verified -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Verified:
    """Which of the pairs that leave few values are places."""

    places: int
    """The number of pairs that leave few values for everyone there."""
    marked: Words
    """Group to the values by which records of it can be of somebody exposed."""
    worst: Place | None
    refuted: _Pairs
    """Pairs where other boxes leave more, everywhere or as far as was searched."""
    undecided: int


def _verify(boxes: SeriesBoxes, pairs: _Pairs, limit: int) -> _Verified:
    """Verify pairs that leave fewer values than the limit."""
    shared = _shared(boxes, pairs)
    marked = np.zeros_like(boxes.groups.holds)
    waiting, sure, left = np.arange(len(pairs)), [], []
    # All that a pair shares first; where that decides nothing, its first and its last point.
    for parts in (shared, BoxBounds(shared.lo, shared.lo), BoxBounds(shared.hi, shared.hi)):
        number = _left_in_parts(boxes, pairs.some(waiting), parts.some(waiting), limit, marked)
        few = number < limit
        sure.append(waiting[few])
        left.append(number[few])
        waiting = waiting[~few]
    found, refuted, undecided = _one_by_one(boxes, pairs, waiting, limit)
    for place in found:
        _mark_place(boxes, place, marked)
    certain = np.concatenate(sure)
    worst = _worst_pair(boxes, pairs.some(certain), np.concatenate(left), found, limit)
    return _Verified(len(certain) + len(found), marked, worst, pairs.some(refuted), undecided)


def _shared_part(boxes: SeriesBoxes, some: Sequence[int]) -> Part:
    """What some boxes that overlap share."""
    chosen = np.array(some)
    return Part(boxes.bounds.lo[:, chosen].max(axis=1), boxes.bounds.hi[:, chosen].min(axis=1))


def _shared(boxes: SeriesBoxes, pairs: _Pairs) -> BoxBounds:
    lo, hi = boxes.bounds.lo, boxes.bounds.hi
    return BoxBounds(np.maximum(lo[:, pairs.one], lo[:, pairs.other]), np.minimum(hi[:, pairs.one], hi[:, pairs.other]))


def _left_in_parts(boxes: SeriesBoxes, pairs: _Pairs, parts: BoxBounds, limit: int, marked: Words) -> Ints:
    """For each pair how many values are left in a part of what it shares; where they are few, they are marked."""
    earlier, later = _values_in_parts(boxes, pairs, parts)
    left = np.minimum(boxes.count(earlier), boxes.count(later))
    few = np.flatnonzero(left < limit)
    for side, values in ((pairs.one, earlier), (pairs.other, later)):
        _mark(boxes, parts.some(few), side[few], values[few], marked)
    return left


def _values_in_parts(boxes: SeriesBoxes, pairs: _Pairs, shared: BoxBounds) -> tuple[Words, Words]:
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
            _unite(result, mine[part], sets[boxes.group[own[box]]])
    return result


def _mark(boxes: SeriesBoxes, shared: BoxBounds, side: Ints, values: Words, marked: Words) -> None:
    """Mark what is left in all groups around each shared part."""
    for release in np.unique(boxes.release[side]).tolist():
        mine, own = np.flatnonzero(boxes.release[side] == release), boxes.of_release(release)
        for part, box in overlapping(shared.some(mine), boxes.bounds.some(own)):
            _unite(marked, boxes.group[own[box]], values[mine[part]])


def _mark_place(boxes: SeriesBoxes, place: Place, marked: Words) -> None:
    """Mark what is left in the groups around a place."""
    sets = boxes.words(place.values)
    of_box = np.searchsorted(np.array(place.releases), boxes.release[place.boxes])
    _unite(marked, boxes.group[place.boxes], sets[of_box])


def _unite(result: Words, rows: Ints, sets: Words) -> None:
    """Unite sets into rows, which may come several times."""
    order = np.argsort(rows, kind="stable")
    distinct, first = np.unique(rows[order], return_index=True)
    result[distinct] |= np.bitwise_or.reduceat(sets[order], first, axis=0) if len(first) else sets


def _people_at_most(boxes: SeriesBoxes, marked: Words) -> int:
    """How many people can have marked records in two releases or more: each takes a record in two of them."""
    groups = boxes.groups
    bit = (marked[groups.group, groups.value >> 6] >> (groups.value & 63).astype(np.uint64)) & np.uint64(1)
    release = np.zeros(groups.groups, np.int64)
    release[boxes.group] = boxes.release
    records = np.bincount(release[groups.group], groups.count * (bit > 0), boxes.releases).astype(np.int64)
    return int(min(records.sum() // 2, records.sum() - records.max()))


def _one_by_one(boxes: SeriesBoxes, pairs: _Pairs, open_ones: Ints, limit: int) -> tuple[list[Place], Ints, int]:
    """Places, the pairs where none was found, and how many of these are undecided."""
    found, refuted, undecided = [], [], max(len(open_ones) - ONE_BY_ONE, 0)
    for number in open_ones[:ONE_BY_ONE].tolist():
        one, other = int(pairs.one[number]), int(pairs.other[number])
        try:
            place = _pair_place(boxes, one, other, limit)
        except Undecided:
            place, undecided = None, undecided + 1
        if place is None:
            refuted.append(number)
        else:
            found.append(place)
    return found, np.concatenate([np.array(refuted, np.int64), open_ones[ONE_BY_ONE:]]), undecided


def _pair_place(boxes: SeriesBoxes, one: int, other: int, limit: int, part: Part | None = None) -> Place | None:
    """A place in what two boxes share, or in a part of it."""
    releases = int(boxes.release[one]), int(boxes.release[other])
    own = np.concatenate([boxes.of_release(release) for release in releases])
    part = _shared_part(boxes, [one, other]) if part is None else part
    return find_place(boxes, part, releases, own[boxes.reaching(part.lo, part.hi, own)], limit)


def _known_place(boxes: SeriesBoxes, one: int, other: int, limit: int) -> Place | None:
    """The place of a pair that is known to have one: as large as can be found, otherwise a point."""
    try:
        return _pair_place(boxes, one, other, limit)
    except Undecided:
        whole = _shared_part(boxes, [one, other])
        points = (_pair_place(boxes, one, other, limit, Part(end, end)) for end in (whole.lo, whole.hi))
        return next((place for place in points if place is not None), None)


def _worst_pair(boxes: SeriesBoxes, sure: _Pairs, left: Ints, found: Sequence[Place], limit: int) -> Place | None:
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
    return min(known, key=lambda one: (one.left, -people_there(boxes, one)), default=None)


def _alone(boxes: SeriesBoxes, pairs: _Pairs, limit: int) -> Bools:
    """Whether one of the two groups holds fewer values than the limit by itself."""
    few = boxes.count(boxes.groups.holds) < limit
    return np.asarray(few[boxes.group[pairs.one]] | few[boxes.group[pairs.other]])


# --- chains of more than two releases --------------------------------------------------------------------------------


@dataclass(eq=False)
class _Chains:
    """What the search for chains has found so far."""

    places: list[Place] = field(default_factory=list)
    steps: int = 0
    undecided: int = 0
    seen: set[frozenset[int]] = field(default_factory=set)

    @property
    def spent(self) -> bool:
        """Whether the search has reached its bound."""
        return self.steps >= STEPS


def _search_chains(boxes: SeriesBoxes, seeds: _Pairs, limit: int) -> tuple[_Chains, bool]:
    """Places of three releases or more where fewer values than the limit are left, and whether these are all."""
    found = _Chains()
    if boxes.releases < 3:
        return found, True
    for one, other in zip(seeds.one[:SEEDS].tolist(), seeds.other[:SEEDS].tolist(), strict=True):
        if found.spent:
            break
        _extend(boxes, (one, other), limit, found)
    return found, len(seeds) <= SEEDS and not found.spent and not found.undecided


def _extend(boxes: SeriesBoxes, seed: tuple[int, ...], limit: int, found: _Chains) -> None:
    """All chains that begin with two boxes."""
    part = _shared_part(boxes, seed)
    everywhere = np.arange(len(boxes.release))
    near = everywhere[boxes.reaching(part.lo, part.hi, everywhere)]
    waiting = [seed]
    while waiting and not found.spent:
        for chain, left in _longer(boxes, waiting.pop(), near, found):
            place = _chain_place(boxes, chain, near, limit, found) if left < limit else None
            if place is not None:
                found.places.append(place)
            if len(chain) < boxes.releases and (place is None or place.left > 1):
                waiting.append(chain)


def _longer(
    boxes: SeriesBoxes, chain: tuple[int, ...], near: Ints, found: _Chains
) -> Iterator[tuple[tuple[int, ...], int]]:
    """A chain with one box more, and how many values its groups leave; what leaves least is taken up first, so last."""
    part = _shared_part(boxes, chain)
    fresh = near[~np.isin(boxes.release[near], boxes.release[list(chain)])]
    longer = []
    for box in fresh[boxes.reaching(part.lo, part.hi, fresh)].tolist():
        together = tuple(sorted((*chain, box)))
        if frozenset(together) in found.seen or found.spent:
            continue
        found.seen.add(frozenset(together))
        found.steps += 1
        sets = boxes.members(boxes.group[list(together)])
        left = boxes.fewest(values_left(sets, boxes.can))
        if left:
            longer.append((together, left))
    yield from sorted(longer, key=lambda one: -one[1])


def _chain_place(boxes: SeriesBoxes, chain: tuple[int, ...], near: Ints, limit: int, found: _Chains) -> Place | None:
    releases = tuple(boxes.release[list(chain)].tolist())
    part = _shared_part(boxes, chain)
    own = near[np.isin(boxes.release[near], releases)]
    try:
        return find_place(boxes, part, releases, own[boxes.reaching(part.lo, part.hi, own)], limit)
    except Undecided:
        found.undecided += 1
        return None
