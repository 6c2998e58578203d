"""Groups that grow row by row, always by a row that widens the box least: `local_search.growth` as compiled loops.

Codes are attributes x places here, and only the first `number` places are looked at. All sums are of whole numbers, so
they are the same in any order.
"""

import numpy as np

from reissue._arrays import Bools, Codes, Ints
from reissue.compiled.compiler import compiled
from reissue.compiled.inputs import LossTables, Quotas

__all__ = ["exchanged", "grown"]

_MOST = 2**31 - 1
_GONE = 2**29
"""Added to what a row costs if it is taken or its value is not wanted: more than any box loses, and fits twice."""


@compiled
def _lost(tables: LossTables, column: int, lo: int, hi: int) -> int:
    loss, first, leaves, _ = tables
    return loss[first[column] + lo * leaves[column] + hi]  # type: ignore[no-any-return]


@compiled
def _box(tables: LossTables, lo: Codes, hi: Codes) -> int:
    total = 0
    for column in range(len(lo)):
        total += _lost(tables, column, lo[column], hi[column])
    return total


@compiled
def _begin(tables: LossTables, codes: Codes, number: int, place: int, lo: Codes, hi: Codes, cost: Codes) -> None:
    """A group of one row, and what each row would lose together with it."""
    loss, first, leaves, _ = tables
    cost[:number] = 0
    for column in range(len(codes)):
        own, base, width = codes[column, place], first[column], leaves[column]
        lo[column] = hi[column] = own
        for other in range(number):
            code = codes[column, other]
            cost[other] += loss[base + min(code, own) * width + max(code, own)]


@compiled
def _add(tables: LossTables, codes: Codes, number: int, place: int, lo: Codes, hi: Codes, cost: Codes) -> None:
    """A row more. What others would lose changes only on columns where it lies outside of the box."""
    loss, first, leaves, _ = tables
    for column in range(len(codes)):
        own, base, width, low, high = codes[column, place], first[column], leaves[column], lo[column], hi[column]
        if low <= own <= high:
            continue
        lower, higher = min(low, own), max(high, own)
        lo[column], hi[column] = lower, higher
        for other in range(number):
            code = codes[column, other]
            more = loss[base + min(code, lower) * width + max(code, higher)]
            cost[other] += more - loss[base + min(code, low) * width + max(code, high)]


@compiled
def _cheapest(cost: Codes, number: int) -> int:
    best, least = 0, cost[0]
    for place in range(1, number):
        if cost[place] < least:
            best, least = place, cost[place]
    return best


@compiled
def _nearest(cost: Codes, free: Bools, value: Codes, dear: Codes, number: int) -> int:
    """The free place that costs least with what its value costs beside that; -1 where no value is wanted."""
    best, least = -1, _MOST
    for place in range(number):
        if free[place] and dear[value[place]] >= 0 and cost[place] + dear[value[place]] < least:
            best, least = place, cost[place] + dear[value[place]]
    return best


# --- exchanges -------------------------------------------------------------------------------------------------------


@compiled
def exchanged(
    tables: LossTables,
    codes: Codes,
    value: Codes,
    values: int,
    first: Ints,
    second: Ints,
    start: Ints,
    rows: Ints,
    saved: Ints,
) -> None:
    """Pairs of groups grown anew, as `local_search.exchanges` does it.

    `codes` are rows x attributes, `first` and `second` the sizes of each pair's groups. `rows` are those of all pairs,
    one pair after the other: the first group's rows, then the second one's, before and after.
    """
    most = 0
    for pair in range(len(first)):
        most = max(most, first[pair] + second[pair])
    own, of_place = np.empty((codes.shape[1], most), np.int32), np.empty(most, np.int32)
    begin = 0
    for pair in range(len(first)):
        end = begin + first[pair] + second[pair]
        for place in range(end - begin):
            of_place[place] = value[rows[begin + place]]
            for column in range(len(own)):
                own[column, place] = codes[rows[begin + place], column]
        saved[pair] = _best(tables, own, of_place, values, first[pair], start[:, pair], rows[begin:end])
        begin = end


@compiled
def _best(tables: LossTables, codes: Codes, value: Codes, values: int, size: int, start: Ints, rows: Ints) -> int:
    """One pair: its rows divided anew from each start, and what the best way saves."""
    number = len(rows)
    rest, best = np.zeros(number, np.bool_), np.zeros(number, np.bool_)
    best[size:] = True
    before, saved = _both(tables, codes, best), 0
    for place in start:
        if _regrow(tables, codes, value, values, size, place, before, rest):
            more = before - _both(tables, codes, rest)
            if more > saved:
                saved = more
                best[:] = rest
    if saved:
        old, mine, theirs = rows.copy(), 0, size
        for place in range(number):
            if best[place]:
                rows[theirs] = old[place]
                theirs += 1
            else:
                rows[mine] = old[place]
                mine += 1
    return saved


@compiled
def _regrow(
    tables: LossTables, codes: Codes, value: Codes, values: int, size: int, place: int, before: int, rest: Bools
) -> bool:
    """A group of as many rows of each value as the first `size` places have; what is left over is `rest`.

    False where it loses by itself as much as both do: then it is not completed.
    """
    number = len(rest)
    lacking, cost = np.zeros(values, np.int64), np.empty(number, np.int32)
    for other in range(size):
        lacking[value[other]] += 1
    lo, hi = np.empty(len(codes), np.int32), np.empty(len(codes), np.int32)
    _begin(tables, codes, number, place, lo, hi, cost)
    for other in range(number):
        rest[other] = True
        if not lacking[value[other]]:
            cost[other] = _GONE
    for turn in range(size):
        if turn:
            place = _cheapest(cost, number)
            if size * cost[place] >= before:
                return False
            _add(tables, codes, number, place, lo, hi, cost)
        rest[place] = False
        cost[place] += _GONE
        lacking[value[place]] -= 1
        if not lacking[value[place]]:
            for other in range(number):
                if value[other] == value[place]:
                    cost[other] += _GONE
    return True


@compiled
def _both(tables: LossTables, codes: Codes, second: Bools) -> int:
    """What two groups lose, all rows together."""
    lo, hi = np.full((2, len(codes)), _MOST, np.int32), np.full((2, len(codes)), -1, np.int32)
    others = 0
    for place in range(len(second)):
        side = int(second[place])
        others += side
        for column in range(len(codes)):
            lo[side, column] = min(lo[side, column], codes[column, place])
            hi[side, column] = max(hi[side, column], codes[column, place])
    return (len(second) - others) * _box(tables, lo[0], hi[0]) + others * _box(tables, lo[1], hi[1])


# --- groups by quotas ------------------------------------------------------------------------------------------------


@compiled
def grown(tables: LossTables, codes: Codes, value: Codes, quotas: Quotas, group: Ints) -> None:
    """One block of `local_search.quotas`: which `group` each place is in; `codes` and `value` are moved about."""
    size, _, wanted, _, _, _, _ = quotas
    number, made = codes.shape[1], 0
    left, at = np.zeros(len(wanted), np.int64), np.arange(number)
    for place in range(number):
        left[value[place]] += 1
    cost, free = np.zeros(number, np.int32), np.ones(number, np.bool_)
    while number >= size:
        seed = _cheapest(cost, number)
        if not _one(tables, codes, value, number, seed, quotas, left, cost, free):
            return
        kept = 0
        for place in range(number):
            if free[place]:
                at[kept], value[kept], cost[kept] = at[place], value[place], cost[place]
                codes[:, kept] = codes[:, place]
                kept += 1
            else:
                group[at[place]] = made
        free[:] = True
        number, made = kept, made + 1


@compiled
def _one(
    tables: LossTables,
    codes: Codes,
    value: Codes,
    number: int,
    seed: int,
    quotas: Quotas,
    left: Ints,
    cost: Codes,
    free: Bools,
) -> bool:
    """One group around a row: its places are not `free` any more, nor its values `left`; whether it was completed."""
    own, dear, spent = np.zeros_like(left), np.empty(len(left), np.int32), 0
    lo, hi = np.empty(len(codes), np.int32), np.empty(len(codes), np.int32)
    size, unit = quotas[0], tables[3]
    for turn in range(size):
        _price(quotas, own, left, number, spent, size - turn - 1, unit, dear)
        place = seed
        if turn:
            place = _nearest(cost, free, value, dear, number)
        if place < 0 or dear[value[place]] < 0:
            return False
        if turn:
            _add(tables, codes, number, place, lo, hi, cost)
        else:
            _begin(tables, codes, number, place, lo, hi, cost)
        free[place] = False
        spent += _excess(quotas, own, value[place])
        own[value[place]] += 1
    left -= own
    return True


@compiled
def _price(quotas: Quotas, own: Ints, left: Ints, number: int, spent: int, slots: int, unit: int, dear: Codes) -> None:
    """What a row of each value costs beside what it widens; -1 where it may not be added."""
    size, _, _, limit, least, values, which = quotas
    needed = entry = 0
    while slots and entry < len(least):
        value = values[entry]
        if own[value] < which[entry] <= left[value]:
            needed += least[entry]
            slots -= 1
        entry += 1
    spare = limit - spent - needed
    for value in range(len(own)):
        if _excess(quotas, own, value) > spare or own[value] >= left[value]:
            dear[value] = -1
        else:
            scarce = min(max((own[value] + 1) * number - size * left[value], 0), number)
            dear[value] = unit * scarce // number


@compiled
def _excess(quotas: Quotas, own: Ints, value: int) -> int:
    """What one row more of a value brings: its part beyond what a group may have."""
    _, row, wanted, _, _, _, _ = quotas
    return min(max((own[value] + 1) * row - wanted[value], 0), row)  # type: ignore[no-any-return]
