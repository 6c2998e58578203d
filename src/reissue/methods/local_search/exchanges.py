"""How two groups could exchange rows of the same values: whatever is asked of their histograms holds as before.

The rows of both are taken together. One group grows anew from one of its rows, drawn at random, always by the row that
widens its box least and whose value it still lacks, until it has as many of each value as before; the other one gets
the rest. The best of some tries counts.
O(rows of a pair squared) for each pair.
"""

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.methods.local_search.divisions import Better, Division, GroupPairs, batches
from reissue.methods.local_search.growth import GONE, Growth
from reissue.methods.registry import Job

__all__ = ["exchanges"]

_GAIN = 1e-6
_ELEMENTS = 100_000
"""Rows of so many pairs are worked on at once."""


def exchanges(
    job: Job, division: Division, one: Ints, other: Ints, tries: int, rng: np.random.Generator
) -> list[Better]:
    """Pairs of groups grown anew with the values that they have, from so many rows each, where that saves anything.

    Pairs come in the order of their rows, fewest first.
    """
    if not len(one):
        return []
    turned = rng.random(len(one)) < 0.5
    first, second = np.where(turned, other, one), np.where(turned, one, other)
    start = (rng.random((tries, len(one))) * division.sizes[first]).astype(np.int64)
    rows, saved = _exchanged(job, division, first, second, start)
    ends = np.cumsum(division.sizes[first] + division.sizes[second])
    found = []
    for pair in np.flatnonzero(saved).tolist():
        both, size = rows[ends[pair - 1] if pair else 0 : ends[pair]], int(division.sizes[first[pair]])
        found.append((pair, both[:size], both[size:]))
    gain = _saved(division, first, second, found)
    return [
        Better(int(first[pair]), int(second[pair]), mine, theirs, float(more))
        for (pair, mine, theirs), more in zip(found, gain, strict=True)
        if more > _GAIN
    ]


def _exchanged(job: Job, division: Division, first: Ints, second: Ints, start: Ints) -> tuple[Ints, Ints]:
    """The rows of all pairs, those of each one's first group first, and what is saved (rounded); many pairs at once."""
    rows, saved = [], []
    for some in batches(division.sizes[first] + division.sizes[second], _ELEMENTS):
        pairs = GroupPairs.of(division, first[some], second[some])
        best = np.arange(pairs.rows.shape[1]) < division.sizes[pairs.one][:, np.newaxis]
        before = _both(division, pairs, best)
        most = np.zeros(len(some), np.int64)
        for place in start[:, some]:
            mine = _regrown(job, division, pairs, place)
            more = before - _both(division, pairs, mine)
            best = np.where((more > most)[:, np.newaxis], mine, best)
            most = np.maximum(more, most)
        order = np.argsort(np.where(pairs.there, ~best, 2), axis=1, kind="stable")
        rows.append(np.take_along_axis(pairs.rows, order, axis=1)[pairs.there])
        saved.append(most)
    return np.concatenate(rows), np.concatenate(saved)


def _regrown(job: Job, division: Division, pairs: GroupPairs, place: Ints) -> Bools:
    """Pairs x places: which rows the first group of each pair has, if it grows from this one."""
    number, places = pairs.rows.shape
    values, block = job.table.domain.size, np.arange(number)
    value = job.table.sensitive[pairs.rows].astype(np.int64)
    key = value + (block * values)[:, np.newaxis]
    size = division.sizes[pairs.one]
    before = np.arange(places) < size[:, np.newaxis]
    lacking = np.bincount(key[before], minlength=number * values).reshape(number, values)
    growth, mine = Growth(division.losses, pairs.rows, pairs.there), np.zeros(pairs.rows.shape, np.bool_)
    growth.begin(place)
    for turn in range(int(size.max())):
        some = turn < size
        if turn:
            dear: Codes = np.where(lacking > 0, np.int32(0), GONE)
            place = growth.nearest(dear, key)
        growth.add(place, some)
        lacking[block[some], value[block[some], place[some]]] -= 1
        mine[block[some], place[some]] = True
    return mine


def _both(division: Division, pairs: GroupPairs, mine: Bools) -> Ints:
    """What the rows of each pair lose (rounded) where the first group has these, and the second one the others."""
    total = np.zeros(len(mine), np.int64)
    for part in (mine, pairs.there & ~mine):
        inside = part.T
        lo = np.where(inside, pairs.codes, np.iinfo(np.int32).max).min(axis=1)
        hi = np.where(inside, pairs.codes, -1).max(axis=1)
        total += part.sum(axis=1) * division.losses.rounded_box(lo, hi)
    return total


def _saved(division: Division, first: Ints, second: Ints, found: list[tuple[int, Ints, Ints]]) -> Floats:
    """What some pairs save, not rounded, where their groups have these rows."""
    if not found:
        return np.zeros(0)
    parts = [part for _, *both in found for part in both]
    sizes, pair = np.array([len(part) for part in parts]), np.array([pair for pair, _, _ in found])
    codes, starts = division.losses.codes[:, np.concatenate(parts)], np.cumsum(sizes) - sizes
    lo, hi = (end.reduceat(codes, starts, axis=1) for end in (np.minimum, np.maximum))
    after = (sizes * division.losses.box(lo, hi)).reshape(-1, 2).sum(axis=1)
    before = sum(division.sizes[side[pair]] * division.each[side[pair]] for side in (first, second))
    return np.asarray(before - after)
