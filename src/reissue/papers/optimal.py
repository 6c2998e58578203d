"""Optimal m-confidentiality on small tables, exactly (Wong, Fu, Wang and Pei 2009, definition 8).

Of all recodings of a table in which no credibility is above 1/m, the one with the least information loss (definition 7,
every quasi-identifier with the same weight). The problem is NP-complete (theorems 2 and 3), so this is no method for
publishing: it is the optimum by which MASK, or any method, can be judged on tables of a few values.

Recodings are tried in the order of their loss, so the first that is m-confidential is the optimum:

- *global*: of every quasi-identifier disjoint nodes that cover its values, as a cut through a tree does;
- *local*: a node for every record.

Taxonomies may be directed acyclic graphs, and a column may have several (the paper's section 3): a node is a set of
ground values, and nodes may overlap. Methods and published files go by trees, in which a node is an interval of one
order, and refuse a value with two parents.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.cells import Counts, cells_of
from reissue.counting.texts import MISSING
from reissue.data.table import Table
from reissue.errors import CannotRunError, InputError
from reissue.papers.minimality.credible import credibility
from reissue.papers.minimality.linkage import linked_rows
from reissue.requirements import Requirement

__all__ = ["Dag", "Optimum", "optimal_confidentiality"]

Dag: TypeAlias = Sequence[Collection[str]]
"""A taxonomy as its inner nodes, each the set of ground values below it; nodes may overlap."""
_COVERS = 100_000
"""Covers of one column's values by disjoint nodes, at most."""
BUDGET = 20_000
"""Recodings that are tried, at most: some ten seconds."""
_SLACK = 1e-9
"""A credibility of exactly 1/m is allowed, however it was rounded."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The m-confidential recoding with the least information loss."""

    loss: float
    """Its information loss (definition 7)."""
    credibility: float
    """The largest credibility of anybody."""
    groups: Ints
    """Row to its published group."""
    published: tuple[tuple[frozenset[str], ...], ...]
    """By group: the ground values that each quasi-identifier shows."""
    tried: int
    """How many recodings were tried."""


@dataclass(frozen=True, eq=False)
class _Column:
    """The nodes of one quasi-identifier."""

    names: tuple[str, ...]
    """The ground values."""
    nodes: tuple[frozenset[int], ...]
    losses: Floats
    """Node to the loss of a record that shows it."""
    codes: Ints
    """Row to its ground value."""


@dataclass(frozen=True)
class _Choice:
    """What one part of a recoding may be: a cover of a column, or a record's nodes."""

    loss: float
    nodes: tuple[int, ...]


def optimal_confidentiality(
    table: Table,
    requirement: Requirement,
    m: int,
    *,
    local: bool = False,
    taxonomies: Mapping[str, Sequence[Dag]] | None = None,
    budget: int = BUDGET,
) -> Optimum | None:
    """Return the m-confidential recoding of a table with the least information loss.

    Parameters
    ----------
    table
        The table.
    requirement
        What the adversary takes the algorithm to meet, usually simple-l with l = m.
    m
        Nobody may be linked to a sensitive value set with a credibility above 1/m.
    local
        Whether equal records may be recoded differently.
    taxonomies
        By column, taxonomies that take the place of the schema's: each a list of nodes, which may overlap.
    budget
        How many recodings are tried, at most.

    Returns
    -------
    Optimum | None
        None if no recoding is m-confidential.

    Raises
    ------
    CannotRunError
        If the optimum was not found within the budget.

    Examples
    --------
    >>> import polars as pl
    >>> import reissue as ri
    >>> from reissue.requirements import parse
    >>> people = pl.DataFrame({"q": ["q1", "q2", "q3", "q3"], "ill": ["HIV", "no", "HIV", "no"]})
    >>> table = ri.Table.read(people, ri.Schema.read({"q": "quasi", "ill": "sensitive"}))
    >>> tree = [{"q1", "q2"}], [{"q1", "q2", "q3"}]
    >>> found = optimal_confidentiality(table, parse("simple-l=2:HIV"), 2, taxonomies={"q": tree})
    >>> found.loss, [sorted(shown) for (shown,) in found.published]
    (0.5, [['q3'], ['q1', 'q2']])
    """
    given = taxonomies or {}
    unknown = set(given) - set(table.schema.quasi)
    if unknown:
        raise InputError(f"There is no quasi-identifier of that name; there are {', '.join(table.schema.quasi)}.")
    columns = [_column(table, place, given.get(name)) for place, name in enumerate(table.schema.quasi)]
    parts = _by_record(table, columns) if local else [_covers(column, len(columns)) for column in columns]
    for tried, (loss, chosen) in enumerate(_ascending(parts, _twins(table) if local else {}), start=1):
        if tried > budget:
            raise CannotRunError(f"the optimum is not among the {budget:,} cheapest recodings.", too_large=True)
        nodes = (
            np.array(chosen).T
            if local
            else np.stack([_shown(one, some) for one, some in zip(columns, chosen, strict=True)])
        )
        keys, groups = np.unique(nodes, axis=1, return_inverse=True)
        groups = groups.reshape(-1)
        worst = _credibility(table, columns, keys, groups, requirement)
        if worst <= 1 / m + _SLACK:
            return Optimum(loss, worst, groups, _texts(columns, keys), tried)
    return None


def _column(table: Table, place: int, given: Sequence[Dag] | None) -> _Column:
    """The nodes of a column: its single values, and those of its taxonomies."""
    taxonomy = table.taxonomies[place]
    names = tuple(MISSING if name is None else name for name in taxonomy.names)
    single = [(frozenset([leaf]), 0.0) for leaf in range(len(names))]
    codes = table.codes[place].astype(np.int64)
    if given is None:
        base = max(taxonomy.size - 1, 1)
        inner = {
            frozenset(range(lo, hi + 1))
            for level in taxonomy.levels
            for lo, hi in zip(level.lo.tolist(), level.hi.tolist(), strict=True)
        }
        own = sorted(
            ((node, (len(node) - 1) / base) for node in inner if len(node) > 1), key=lambda one: sorted(one[0])
        )
    else:
        own = [weighed for dag in given for weighed in _weighed(dag, names)]
    nodes = [*single, *own]
    return _Column(names, tuple(node for node, _ in nodes), np.array([loss for _, loss in nodes]), codes)


def _weighed(dag: Dag, names: Sequence[str]) -> list[tuple[frozenset[int], float]]:
    """The inner nodes of one taxonomy with their losses; ground values that nobody has count too."""
    number = {name: place for place, name in enumerate(names)}
    more = sorted({value for node in dag for value in node} - set(number))
    number |= {name: len(names) + place for place, name in enumerate(more)}
    base = max(len({value for node in dag for value in node}) - 1, 1)
    return [(frozenset(number[value] for value in node), (len(set(node)) - 1) / base) for node in dag]


def _covers(column: _Column, columns: int) -> list[_Choice]:
    """All ways to cover the values of a column by disjoint nodes, by their mean loss."""
    rows = np.bincount(column.codes, minlength=len(column.names))
    there = np.flatnonzero(rows).tolist()
    by_value = {value: [place for place, node in enumerate(column.nodes) if value in node] for value in there}
    shown = [sum(int(rows[value]) for value in node if value < len(rows)) for node in column.nodes]
    weight = (column.losses * shown).tolist()

    def extend(chosen: tuple[int, ...], covered: frozenset[int]) -> Iterator[tuple[int, ...]]:
        left = next((value for value in there if value not in covered), None)
        if left is None:
            yield chosen
            return
        for place in by_value[left]:
            if not covered & column.nodes[place]:
                yield from extend((*chosen, place), covered | column.nodes[place])

    found = []
    for chosen in extend((), frozenset()):
        found.append(_Choice(sum(weight[place] for place in chosen) / len(column.codes) / columns, chosen))
        if len(found) > _COVERS:
            raise CannotRunError(f"a column has more than {_COVERS:,} different recodings.", too_large=True)
    return sorted(found, key=lambda one: (round(one.loss, 12), one.nodes))


def _by_record(table: Table, columns: Sequence[_Column]) -> list[list[_Choice]]:
    """For every record all combinations of nodes that hold it, by their share of the mean loss."""
    made: dict[tuple[int, ...], list[_Choice]] = {}
    found = []
    for row in range(table.rows):
        key = tuple(int(column.codes[row]) for column in columns)
        if key not in made:
            ways: list[_Choice] = [_Choice(0.0, ())]
            for column, value in zip(columns, key, strict=True):
                fits = [place for place, node in enumerate(column.nodes) if value in node]
                ways = [
                    _Choice(one.loss + float(column.losses[place]) / table.rows / len(columns), (*one.nodes, place))
                    for one in ways
                    for place in fits
                ]
            made[key] = sorted(ways, key=lambda one: (round(one.loss, 12), one.nodes))
        found.append(made[key])
    return found


def _twins(table: Table) -> dict[int, int]:
    """Record to the one before it with the same quasi-identifiers and value: their order says nothing."""
    last: dict[tuple[int, ...], int] = {}
    found = {}
    for row in range(table.rows):
        key = (*table.codes[:, row].tolist(), int(table.sensitive[row]))
        if key in last:
            found[row] = last[key]
        last[key] = row
    return found


def _ascending(
    parts: Sequence[Sequence[_Choice]], twins: Mapping[int, int]
) -> Iterator[tuple[float, list[tuple[int, ...]]]]:
    """All combinations of one choice of each part, by their total loss; each once."""
    heap: list[tuple[float, tuple[int, ...], int]] = []

    def push(places: tuple[int, ...], last: int) -> None:
        total = sum(part[place].loss for part, place in zip(parts, places, strict=True))
        heappush(heap, (round(total, 12), places, last))

    push((0,) * len(parts), 0)
    while heap:
        loss, places, last = heappop(heap)
        if all(places[one] >= places[before] for one, before in twins.items()):
            yield loss, [part[place].nodes for part, place in zip(parts, places, strict=True)]
        for part in range(last, len(parts)):
            if places[part] + 1 < len(parts[part]):
                push((*places[:part], places[part] + 1, *places[part + 1 :]), part)


def _shown(column: _Column, chosen: Sequence[int]) -> Ints:
    """Row to its node in a cover."""
    of_value = {value: place for place in chosen for value in column.nodes[place]}
    return np.array([of_value[value] for value in column.codes.tolist()])


def _credibility(table: Table, columns: Sequence[_Column], keys: Ints, groups: Ints, requirement: Requirement) -> float:
    """The largest credibility of a recoding; infinite where a group breaks the requirement."""
    counts = Counts(groups, table.sensitive, table.domain, keys.shape[1])
    if not requirement.holds(counts).all():
        return np.inf
    by_column = zip(columns, keys.tolist(), strict=True)
    sizes = np.array([[len(column.nodes[node]) for node in key] for column, key in by_column])
    cells = cells_of(table.codes, table.sizes)
    linkage = linked_rows(cells.of_row, cells.of_row, groups, counts, (sizes == 1).all(axis=0))
    found = credibility(linkage, requirement)
    if found.unsolved:
        raise CannotRunError("a group has more worlds than can be counted.", too_large=True)
    return float(found.worst[linkage.placed > 0].max(initial=0.0))


def _texts(columns: Sequence[_Column], keys: Ints) -> tuple[tuple[frozenset[str], ...], ...]:
    """By group what each column shows; values that nobody has are not named."""
    return tuple(
        tuple(
            frozenset(column.names[value] for value in column.nodes[node] if value < len(column.names))
            for column, node in zip(columns, key, strict=True)
        )
        for key in keys.T.tolist()
    )
