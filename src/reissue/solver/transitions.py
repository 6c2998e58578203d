"""How values change between releases: the transition model, and transition matrices between people's states.

A person's presences are linked one to the next, over absences too: an absence is one more step of the model. Links are
a sparse matrix over states, or dense tables of people x values where the model allows most pairs of values.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from reissue._arrays import Floats, Ints
from reissue.counting.segments import different, pieces, ranges
from reissue.solver.states import ReleaseStates, as_small, matrix_of

__all__ = ["Links", "Model", "Pairing", "link", "pairings", "rows_at_once"]

_DENSE = 2
"""Pairs of values of a person, in multiples of all values, above which a dense product costs less than a sparse one."""
_ONE_THREAD = 200_000
"""Multiplications that a linear algebra library does in one thread: for narrow matrices more threads only wait."""
_NARROW = 64
"""Values of a narrow matrix, at most."""


@dataclass(frozen=True, eq=False)
class Model:
    """Probability of each value to become each other from one release to the next."""

    values: int
    steps: Floats | None = None
    """Row-stochastic matrix; None: values never change."""

    def after(self, gap: int) -> Floats:
        """The probabilities after some releases."""
        if self.steps is None:
            return np.eye(self.values)
        return self.steps if gap == 1 else np.asarray(np.linalg.matrix_power(self.steps, gap))

    def chances(self, gap: Ints, before: Ints, after: Ints) -> Floats:
        """The probability of each value to become another one after a number of releases."""
        if self.steps is None:
            return np.asarray(before == after, np.float64)
        made = np.empty(len(gap))
        for steps in different(gap).tolist():
            mine = np.flatnonzero(gap == steps)
            made[mine] = self.after(steps)[before[mine], after[mine]]
        return made


@dataclass(frozen=True, eq=False)
class Pairing:
    """Rows of a release whose person was in an earlier one: where both sides' states are, and the gap in releases."""

    rows: Ints
    source_start: Ints
    """First state of the earlier presence, counted over all releases."""
    source_width: Ints
    target_start: Ints
    """First state in this release."""
    target_width: Ints
    gap: Ints


@dataclass(frozen=True, eq=False)
class Links:
    """The transition matrix from earlier states to the states of one release."""

    sources: Ints
    """Earlier states, numbered over all releases."""
    targets: Ints
    """States of this release that have an earlier presence."""
    pairing: Pairing
    matrix: sparse.csr_array | None
    """Targets x sources; None: dense."""
    tables: "tuple[_Table, ...]" = ()

    def forward(self, before: Floats) -> Floats:
        """From the sources' weights to the targets'."""
        if self.matrix is not None:
            return np.asarray(self.matrix @ before)
        out = np.empty(len(self.targets))
        for table in self.tables:
            moved = table.moved(before[table.source], table.source_cell, table.target_cell, table.steps)
            out[table.target] = moved
        return out

    def backward(self, after: Floats) -> Floats:
        """From the targets' weights to the sources'."""
        if self.matrix is not None:
            return np.asarray(self.matrix.T @ after)
        out = np.empty(len(self.sources))
        for table in self.tables:
            moved = table.moved(after[table.target], table.target_cell, table.source_cell, table.steps.T)
            out[table.source] = moved
        return out


@dataclass(frozen=True, eq=False)
class _Table:
    """Links over one gap as a dense table of people x values."""

    source: Ints
    target: Ints
    source_cell: Ints
    target_cell: Ints
    steps: Floats
    rows: int

    def moved(self, weights: Floats, at: Ints, to: Ints, steps: Floats) -> Floats:
        values = len(steps)
        chunk = rows_at_once(values, max(self.rows, 1))
        table = np.zeros(-(-self.rows // chunk) * chunk * values)
        table[at] = weights
        return np.asarray((table.reshape(-1, chunk, values) @ steps).reshape(-1)[to])


def rows_at_once(values: int, most: int) -> int:
    """Rows of people x values that are multiplied with a small matrix at once: so few that one thread does it."""
    return max(1, _ONE_THREAD // values**2) if values <= _NARROW else most


def link(releases: Sequence[ReleaseStates], model: Model, times: Sequence[int] | None = None) -> tuple[Links, ...]:
    """Link each release to everyone's earlier presence; `times` are the releases' places in time."""
    values = np.concatenate([one.value for one in releases]) if releases else np.empty(0, np.int64)
    return tuple(
        _links(one, pairing, values, model) for one, pairing in zip(releases, pairings(releases, times), strict=True)
    )


def pairings(releases: Sequence[ReleaseStates], times: Sequence[int] | None = None) -> list[Pairing]:
    """The rows of each release that have an earlier presence, and where that is."""
    when = np.arange(len(releases)) if times is None else np.asarray(times)
    offsets = np.append(0, np.cumsum([one.states for one in releases]))
    people = max((int(one.person.max(initial=-1)) + 1 for one in releases), default=0)
    last, start, width = np.full(people, -1), np.zeros(people, np.int64), np.zeros(people, np.int64)
    made = []
    for place, one in enumerate(releases):
        before, widths = last[one.person], np.diff(one.starts)
        rows = np.flatnonzero(before >= 0)
        who = one.person[rows]
        gap = when[place] - when[before[rows]]
        made.append(Pairing(rows, start[who], width[who], one.starts[rows], widths[rows], gap))
        last[one.person], width[one.person] = place, widths
        start[one.person] = one.starts[:-1] + offsets[place]
    return made


def _links(release: ReleaseStates, pairing: Pairing, values: Ints, model: Model) -> Links:
    sources = ranges(pairing.source_start, pairing.source_width)
    targets = ranges(pairing.target_start, pairing.target_width)
    before, now = values[sources], release.value[targets]
    if model.steps is None:
        return Links(sources, targets, pairing, _equal(pairing, before, now, model.values))
    if _most_pairs(pairing, now, model) <= _DENSE * len(pairing.rows) * model.values:
        return Links(sources, targets, pairing, _sparse(pairing, before, now, model))
    return Links(sources, targets, pairing, None, _dense(pairing, before, now, model))


def _most_pairs(pairing: Pairing, now: Ints, model: Model) -> int:
    """Number of pairs of values of one person that the model allows, at most."""
    gaps = different(pairing.gap)
    come_from = np.array([(model.after(int(gap)) > 0).sum(axis=0) for gap in gaps]).reshape(-1, model.values)
    gap, width = (np.repeat(one, pairing.target_width) for one in (pairing.gap, pairing.source_width))
    return int(np.minimum(come_from[np.searchsorted(gaps, gap), now], width).sum())


def _equal(pairing: Pairing, before: Ints, now: Ints, values: int) -> sparse.csr_array:
    """Values that never change: equal ones of the same person are linked."""
    one = np.repeat(np.arange(len(pairing.rows)), pairing.source_width) * values + before
    other = np.repeat(np.arange(len(pairing.rows)), pairing.target_width) * values + now
    at = np.minimum(np.searchsorted(one, other), max(len(one) - 1, 0))
    same = np.flatnonzero(one[at] == other) if len(one) else np.empty(0, np.int64)
    ends = np.searchsorted(same, np.arange(len(other) + 1))
    return matrix_of(np.ones(len(same)), at[same], ends, (len(other), len(one)))


def _sparse(pairing: Pairing, before: Ints, now: Ints, model: Model) -> sparse.csr_array:
    """Every pair of values of the same person that the model allows, some people at a time."""
    source, target = (np.append(0, np.cumsum(one)) for one in (pairing.source_width, pairing.target_width))
    chances, columns, numbers = [np.empty(0)], [as_small(np.empty(0, np.int64))], [np.zeros(1, np.int64)]
    for some in pieces(pairing.source_width * pairing.target_width):
        first, last = target[some.start], target[some.stop]
        of_target = np.repeat(np.arange(len(pairing.rows))[some], pairing.target_width[some])
        widths = pairing.source_width[of_target]
        column = ranges(source[of_target], widths)
        row = np.repeat(np.arange(last - first), widths)
        chance = model.chances(pairing.gap[of_target][row], before[column], now[first:last][row])
        kept = np.flatnonzero(chance > 0)
        chances.append(chance[kept])
        columns.append(as_small(column[kept]))
        numbers.append(np.bincount(row[kept], minlength=last - first))
    ends = np.cumsum(np.concatenate(numbers))
    return matrix_of(np.concatenate(chances), np.concatenate(columns), ends, (len(now), len(before)))


def _dense(pairing: Pairing, before: Ints, now: Ints, model: Model) -> tuple[_Table, ...]:
    """A table for each number of steps."""
    of_source = np.repeat(np.arange(len(pairing.rows)), pairing.source_width)
    of_target = np.repeat(np.arange(len(pairing.rows)), pairing.target_width)
    tables = []
    for gap in different(pairing.gap):
        mine = pairing.gap == gap
        place = np.cumsum(mine) - 1
        source, target = np.flatnonzero(mine[of_source]), np.flatnonzero(mine[of_target])
        cells = [
            place[of[at]] * model.values + value[at]
            for of, at, value in ((of_source, source, before), (of_target, target, now))
        ]
        tables.append(_Table(source, target, cells[0], cells[1], model.after(int(gap)), int(mine.sum())))
    return tuple(tables)
