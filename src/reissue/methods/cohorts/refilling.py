"""Newcomers into empty slots that have their value: for all cohorts together, with the least growth of their boxes.

Which slots are empty and what they show was decided before; a newcomer may take a slot whose value is the newcomer's
own. In each round a newcomer is found for as many slots as possible at the least cost (an assignment problem for each
value), then every cohort takes its cheapest one and its box grows. Where a value has very many slots and newcomers,
they are sorted by quasi-identifiers and assigned piece by piece. O(newcomers x slots of a piece) for each value.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.data.table import Table
from reissue.methods.cohorts.slots import Slots
from reissue.methods.extents import Extent, extent_of

__all__ = ["refilled"]

_ROUNDS = 6
_PIECE = 250
"""Slots that are assigned at once, at most, and about as many newcomers."""
_NEVER = 1e6


def refilled(table: Table, slots: Slots, new: Ints, owner: Ints, grow: float, together: int) -> tuple[Slots, Ints]:
    """Slots with newcomers in them, and the newcomers who are left; `owner` is the provider of each row of the table.

    `grow` bounds what a newcomer may cost: its own loss, and what the others of the cohort lose more. `together` slots
    of a cohort are refilled at once, or none.
    """
    made, left = slots, new
    for _ in range(_ROUNDS):
        found = _round(table, made, left, owner[left], grow)
        if not len(found.place):
            break
        made = made.filling(found.place, found.row)
        left = np.setdiff1d(left, found.row)
    return (made, left) if together <= 1 else _enough(slots, made, new, together)


def _enough(before: Slots, after: Slots, new: Ints, together: int) -> tuple[Slots, Ints]:
    """Without the refills of cohorts that have too few of them."""
    refill = after.row != before.row
    few = np.bincount(after.cohort[refill], minlength=after.cohorts) < together
    row = np.where(refill & few[after.cohort], before.row, after.row)
    return replace(after, row=row), np.setdiff1d(new, row)


@dataclass(frozen=True, eq=False)
class _Found:
    """Slots, the rows that may take them, and what that costs."""

    place: Ints
    row: Ints
    cost: Floats

    def first_of_each(self, cohort: Ints) -> "_Found":
        """The cheapest of each cohort."""
        order = np.lexsort((self.place, self.cost))
        chosen = order[np.unique(cohort[self.place[order]], return_index=True)[1]]
        return _Found(self.place[chosen], self.row[chosen], self.cost[chosen])


def _round(table: Table, slots: Slots, new: Ints, owner: Ints, grow: float) -> _Found:
    """One newcomer at most for each cohort."""
    filled = np.flatnonzero(slots.filled)
    people = extent_of(table.taxonomies, table.codes)
    homes = people.pick(slots.row[filled]).merged(slots.cohort[filled], slots.cohorts)
    parts = [_Found(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for empty, rows in _pieces(table, slots, new, owner, homes):
        parts.append(_assigned(homes, slots.cohort, empty, people, rows, grow))
    found = _Found(*(np.concatenate([getattr(one, name) for one in parts]) for name in ("place", "row", "cost")))
    return found.first_of_each(slots.cohort)


def _pieces(table: Table, slots: Slots, new: Ints, owner: Ints, homes: Extent) -> Iterator[tuple[Ints, Ints]]:
    """Empty slots and newcomers of the same value and provider, few enough at a time, near each other."""
    empty = np.flatnonzero(~slots.filled)
    value = np.concatenate([slots.value[empty], table.sensitive[new]]).astype(np.int64)
    both = np.stack([np.concatenate([slots.owner[empty], owner]), value])
    kind = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    of_slot, of_row = np.split(kind, [len(empty)])
    middle = (homes.lo // 2 + homes.hi // 2)[:, slots.cohort]
    for one in np.intersect1d(of_slot, of_row).tolist():
        places, rows = empty[of_slot == one], new[of_row == one]
        pieces = -(-max(len(places), len(rows)) // _PIECE)
        if pieces > 1:
            places = places[np.lexsort(middle[:, places])]
            rows = rows[np.lexsort(table.codes[:, rows])]
        yield from zip(np.array_split(places, pieces), np.array_split(rows, pieces), strict=True)


def _assigned(homes: Extent, cohort: Ints, places: Ints, people: Extent, rows: Ints, grow: float) -> _Found:
    """The cheapest way to give as many of the slots as possible to these rows."""
    from scipy.optimize import linear_sum_assignment

    slot, row = (one.reshape(-1) for one in np.meshgrid(places, rows, indexing="ij"))
    one, other = homes.pick(cohort[slot]), people.pick(row)
    cost = one.cost(other)
    table = np.where(cost <= grow, cost, _NEVER).reshape(len(places), len(rows))
    at, by = linear_sum_assignment(table)
    fits = table[at, by] < _NEVER
    return _Found(places[at[fits]], rows[by[fits]], table[at, by][fits])
