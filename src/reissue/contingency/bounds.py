"""The exact bounds of cells, by integer programming: what totals and other tables of one date say about hidden counts.

The unknowns are the counts of the most detailed cells, of one table or of the cross-classification of all that share
categories. Every published cell bounds a sum of them. Each bound is the optimum of an integer program (HiGHS), and its
solution is checked again in whole numbers. First sums are propagated, which settles most cells and costs nearly
nothing; a cell that this narrows to one number needs no program.

Totals that the parts do not add up to (a category may be left out of the table) are no equations and are not used.
O(cells) integer programs, each with as many unknowns as there are detailed cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import optimize, sparse

from reissue._arrays import Bools, Ints
from reissue.contingency.cells import UNBOUNDED
from reissue.contingency.table import CountTable
from reissue.errors import InternalError

__all__ = ["MOST", "CellBounds", "bounds"]

MOST = 200
"""Cells whose bounds are computed by integer programs, at most: beyond it sums are propagated. About 10 ms each."""
_LARGEST = 20_000
"""Detailed cells of a cross-classification, at most: larger ones are not made, and each table is taken by itself."""
_ROUNDS = 50
_FAR = 1e9
"""Stands for no bound in an integer program: more than the people of any table."""


@dataclass(frozen=True, eq=False)
class CellBounds:
    """What the true count of each cell of a table can be."""

    low: Ints
    high: Ints
    exact: bool
    """Whether no bound could be narrower; else sums were only propagated."""
    consistent: bool
    """Whether counts exist that all cells allow."""


@dataclass(frozen=True, eq=False)
class _Sums:
    """Cells as sums of unknown counts."""

    parts: sparse.csr_array
    """Cells x unknowns, with ones."""
    low: Ints
    high: Ints


def bounds(tables: Sequence[CountTable], most: int = MOST) -> list[CellBounds]:
    """Bound every cell of some tables of the same people.

    Parameters
    ----------
    tables
        Tables of one date; those that count the same and share categories are solved together.
    most
        Cells whose bounds are proven by integer programs, at most.

    Returns
    -------
    list[CellBounds]
        For each table.

    Examples
    --------
    A hidden cell beside a total is no secret:

    >>> import polars as pl
    >>> from reissue.contingency import count_tables
    >>> from reissue.contingency.bounds import bounds
    >>> (table,) = count_tables(pl.DataFrame({"sex": ["f", "m", "Total"], "count": ["*", "12", "15"]}))
    >>> bounds([table])[0].low.tolist()
    [3, 12, 15]

    """
    if all(one.exact.all() for one in tables):
        return _shown(tables)
    made: dict[int, CellBounds] = {}
    for group in _together(tables):
        some = [tables[place] for place in group]
        made |= zip(group, _solved(some, most), strict=True)
    return [made[place] for place in range(len(tables))]


def _shown(tables: Sequence[CountTable]) -> list[CellBounds]:
    """CellBounds of tables that hide nothing."""
    return [CellBounds(one.low, one.high, exact=True, consistent=True) for one in tables]


@dataclass(frozen=True, eq=False)
class _Whole:
    """What tables must have in common to be solved together."""

    name: str
    categories: Mapping[str, frozenset[str]]
    """Dimension to its categories."""
    low: int
    high: int
    """Between what the number of all people is, by the most detailed cells."""

    @classmethod
    def of(cls, table: CountTable) -> "_Whole":
        """Of a table."""
        first = next(table.margins())
        categories = {name: frozenset(table.categories[name].drop_nulls()) for name in table.dimensions}
        return cls(table.name, categories, int(first.low.sum()), int(min(first.high.sum(), UNBOUNDED)))

    def like(self, other: "_Whole") -> bool:
        """Whether both have the same categories in each shared dimension, and may have the same total."""
        shared = self.categories.keys() & other.categories.keys()
        same = all(self.categories[name] == other.categories[name] for name in shared)
        return self.name == other.name and same and self.low <= other.high and other.low <= self.high


def _together(tables: Sequence[CountTable]) -> list[list[int]]:
    """Tables that classify the same people alike in the dimensions that they share."""
    wholes = [_Whole.of(one) for one in tables]
    groups: list[list[int]] = []
    for place, whole in enumerate(wholes):
        fits = [
            group
            for group in groups
            if all(wholes[other].like(whole) for other in group)
            and any(wholes[other].categories.keys() & whole.categories.keys() for other in group)
            and _size([*(wholes[other] for other in group), whole]) <= _LARGEST
        ]
        if fits:
            fits[0].append(place)
        else:
            groups.append([place])
    return groups


def _size(wholes: Sequence[_Whole]) -> float:
    """Detailed cells of a cross-classification of tables whose shared categories are the same."""
    categories = {name: own for one in wholes for name, own in one.categories.items()}
    return float(np.prod([len(own) for own in categories.values()]))


def _categories(tables: Sequence[CountTable], name: str) -> list[str]:
    found = [one.categories[name] for one in tables if name in one.dimensions]
    return sorted(pl.concat(found).drop_nulls().unique().to_list())


def _dimensions(tables: Sequence[CountTable]) -> list[str]:
    return list(dict.fromkeys(name for one in tables for name in one.dimensions))


def _solved(tables: Sequence[CountTable], most: int) -> list[CellBounds]:
    """CellBounds of tables together, or apart where they contradict each other."""
    if all(one.exact.all() for one in tables):
        return _shown(tables)
    ends = np.cumsum([one.cells for one in tables])[:-1]
    sums = _sums(tables)
    narrowed = _propagated(sums)
    if narrowed is None or _feasible(sums) is False:
        if len(tables) > 1:
            return [_solved([one], most)[0] for one in tables]
        return [CellBounds(tables[0].low, tables[0].high, exact=False, consistent=False)]
    low, high = narrowed
    hidden = np.flatnonzero((low < high) & (sums.low < sums.high))
    exact = len(hidden) <= most
    for cell in hidden.tolist() if exact else []:
        low[cell] = _optimum(sums, cell, 1)
        high[cell] = min(-_optimum(sums, cell, -1), int(high[cell]))
    pairs = zip(np.split(low, ends), np.split(high, ends), strict=True)
    return [CellBounds(one, two, exact, consistent=True) for one, two in pairs]


def _sums(tables: Sequence[CountTable]) -> _Sums:
    """Each cell as the sum of the detailed cells that are in all of its categories."""
    names = _dimensions(tables)
    values = [_categories(tables, name) or [""] for name in names]
    shape = [len(one) for one in values]
    places = np.arange(int(np.prod(shape))).reshape(shape)
    rows, columns = list[Ints](), list[Ints]()
    low, high = list[int](), list[int]()
    for table in tables:
        codes = {
            name: [None if text is None else values[names.index(name)].index(text) for text in table.categories[name]]
            for name in table.dimensions
        }
        for cell in range(table.cells):
            where = tuple(
                slice(None) if name not in codes or codes[name][cell] is None else codes[name][cell] for name in names
            )
            mine = np.atleast_1d(places[where]).reshape(-1)
            rows.append(np.full(len(mine), len(low)))
            columns.append(mine)
            low.append(int(table.low[cell]))
            high.append(int(table.high[cell]))
    at = np.concatenate(rows), np.concatenate(columns)
    parts = sparse.csr_array((np.ones(len(at[0])), at), shape=(len(low), places.size))
    return _Sums(parts, np.array(low), np.array(high))


def _propagated(sums: _Sums) -> tuple[Ints, Ints] | None:
    """Narrow cells by the sums that they are part of; None if nothing is left."""
    least, most = np.zeros(sums.parts.shape[1]), np.full(sums.parts.shape[1], float(UNBOUNDED))
    low, high = sums.low.astype(np.float64), sums.high.astype(np.float64)
    row, column = sums.parts.nonzero()
    for _ in range(_ROUNDS):
        lowest, highest = sums.parts @ least, sums.parts @ most
        low, high = np.maximum(low, lowest), np.minimum(high, highest)
        if (low > high).any():
            return None
        new_least, new_most = least.copy(), most.copy()
        np.maximum.at(new_least, column, low[row] - (highest[row] - most[column]))
        np.minimum.at(new_most, column, high[row] - (lowest[row] - least[column]))
        if (new_least == least).all() and (new_most == most).all():
            break
        least, most = new_least, new_most
    return low.astype(np.int64), np.minimum(high, UNBOUNDED).astype(np.int64)


def _program(sums: _Sums) -> optimize.LinearConstraint:
    high = np.where(sums.high >= UNBOUNDED, np.inf, sums.high)
    return optimize.LinearConstraint(sums.parts, sums.low, high)


def _feasible(sums: _Sums) -> bool | None:
    """Whether counts exist that all cells allow; None if that is not known."""
    found = optimize.milp(np.zeros(sums.parts.shape[1]), constraints=_program(sums), integrality=1)
    return True if found.status == 0 else False if found.status == 2 else None


def _optimum(sums: _Sums, cell: int, sign: int) -> int:
    """Least sum of a cell, or the negative of its largest; checked in whole numbers."""
    cost = sign * sums.parts[[cell]].toarray().reshape(-1)
    found = optimize.milp(
        cost, constraints=_program(sums), integrality=1, bounds=optimize.Bounds(0, _FAR), options={"mip_rel_gap": 0}
    )
    if found.x is None:
        raise InternalError("An integer program that has a solution was not solved.")
    whole = np.rint(found.x)
    total = sums.parts @ whole
    if (total < sums.low).any() or (total > np.minimum(sums.high, UNBOUNDED)).any():
        raise InternalError("The solution of an integer program does not hold in whole numbers.")
    value = int(cost @ whole)
    return -UNBOUNDED if sign < 0 and -value >= _FAR else value


def narrower(table: CountTable, found: CellBounds) -> Bools:
    """The cells of a table that are hidden, and whose true count is known all the same."""
    return np.asarray((table.low < table.high) & (found.low == found.high))
