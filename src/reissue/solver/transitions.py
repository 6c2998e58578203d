"""How values move from one release of a person to the next one: sparse over entries, or dense over all values.

A person's presences are linked one to the next, over absences too: an absence is one more step of the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.segments import different, pieces, ranges
from reissue.solver.observations import Layer, as_small, matrix_of

__all__ = ["Links", "Model", "Pairing", "link", "pairings", "rows_at_once"]

_DENSE = 2
"""Where a person's pairs of values are more than this many times all values, all values at once cost less."""
_ONE_THREAD = 200_000
"""Multiplications that a linear algebra library does in one thread: for narrow matrices more threads only wait."""
_NARROW = 64
_TOGETHER = 1_000_000
"""Cells of a model's powers that are looked up together, at most."""
_FORGETTING = 0.9
"""How much of what people had before may be left after one release, at most, for values to be as common as for ever."""
_WIDEST = 256
"""Models of more values than this are never used whole."""


@dataclass(frozen=True, eq=False)
class Model:
    """How likely a value becomes which from one release to the next; None: values never change."""

    values: int
    steps: Floats | None = None

    @cached_property
    def _powers(self) -> dict[int, Floats]:
        return {}

    def after(self, gap: int) -> Floats:
        """The probabilities after this many releases."""
        if self.steps is None:
            return np.eye(self.values)
        if gap not in self._powers:
            self._powers[gap] = np.asarray(np.linalg.matrix_power(self.steps, gap))
        return self._powers[gap]

    @cached_property
    def common(self) -> Floats | None:
        """Value to its share of people in the long run; None where that depends on what they began with, or for long.

        Who knows how values change knows this too: what a value becomes, and becomes in turn, ends at shares that stay.
        """
        steps = self.steps
        if steps is None or not 1 < self.values <= _WIDEST:
            return None
        if connected_components(steps > 0, connection="strong", return_labels=False) > 1:
            return None
        if np.sort(np.abs(np.linalg.eigvals(steps)))[-2] > _FORGETTING:
            return None
        equations = np.vstack([steps.T - np.eye(self.values), np.ones(self.values)])
        found = np.linalg.lstsq(equations, np.append(np.zeros(self.values), 1.0), rcond=None)[0]
        shares = np.maximum(found, 0.0)
        return np.asarray(shares / shares.sum())

    def chances(self, gap: Ints, before: Ints, after: Ints) -> Floats:
        """How likely each value becomes the other after each number of releases."""
        if self.steps is None:
            return np.asarray(before == after, np.float64)
        made, most = np.empty(len(gap)), int(gap.max(initial=0))
        if (most + 1) * self.values**2 <= _TOGETHER:
            # One look-up of a flat table: telling gaps apart first would take several times as long.
            powers = np.concatenate([self.after(steps).reshape(-1) for steps in range(most + 1)])
            return np.asarray(powers[(gap * self.values + before) * self.values + after])
        for steps in np.unique(gap):
            mine = gap == steps
            made[mine] = self.after(int(steps))[before[mine], after[mine]]
        return made


@dataclass(frozen=True, eq=False)
class Pairing:
    """Linked rows: where their entries are, and how many steps lie between."""

    rows: Ints
    source_start: Ints
    source_width: Ints
    target_start: Ints
    target_width: Ints
    gap: Ints


@dataclass(frozen=True, eq=False)
class Links:
    """The rows of one layer that have an earlier presence, and how values get from there to here."""

    sources: Ints
    """Numbers of the earlier entries, over all layers."""
    targets: Ints
    """Entries of this layer that are linked; the others are first presences."""
    first: Bools
    """Entry of this layer to whether it is of a first presence."""
    pairing: Pairing
    matrix: sparse.csr_array | None
    """Targets x sources; None: dense."""
    parts: "tuple[_Part, ...]" = ()

    def forward(self, before: Floats) -> Floats:
        """From the sources' weights to the targets'."""
        if self.matrix is not None:
            return np.asarray(self.matrix @ before)
        out = np.empty(len(self.targets))
        for part in self.parts:
            out[part.target] = part.moved(before[part.source], part.source_cell, part.target_cell, part.steps)
        return out

    def backward(self, after: Floats) -> Floats:
        """From the targets' weights to the sources'."""
        if self.matrix is not None:
            return np.asarray(self.matrix.T @ after)
        out = np.empty(len(self.sources))
        for part in self.parts:
            out[part.source] = part.moved(after[part.target], part.target_cell, part.source_cell, part.steps.T)
        return out


@dataclass(frozen=True, eq=False)
class _Part:
    """Links over the same number of steps, as a table of people by values."""

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
    """How many rows of people x values are multiplied with a small matrix at once: so few that one thread does it."""
    return max(1, _ONE_THREAD // values**2) if values <= _NARROW else most


def link(layers: Sequence[Layer], model: Model, times: Sequence[int] | None = None) -> list[Links]:
    """The links of each layer to each person's earlier presence; `times` are the layers' places in time."""
    values = np.concatenate([layer.value for layer in layers]) if layers else np.empty(0, np.int64)
    return [
        _links(layer, pairing, values, model) for layer, pairing in zip(layers, pairings(layers, times), strict=True)
    ]


def pairings(layers: Sequence[Layer], times: Sequence[int] | None = None) -> list[Pairing]:
    """Each layer's rows that have an earlier presence, and where that is."""
    when = np.arange(len(layers)) if times is None else np.asarray(times)
    offsets = np.append(0, np.cumsum([layer.entries for layer in layers]))
    people = max((int(layer.person.max(initial=-1)) + 1 for layer in layers), default=0)
    last, start, width = np.full(people, -1), np.zeros(people, np.int64), np.zeros(people, np.int64)
    made = []
    for place, layer in enumerate(layers):
        before, widths = last[layer.person], np.diff(layer.starts)
        rows = np.flatnonzero(before >= 0)
        who = layer.person[rows]
        gap = when[place] - when[before[rows]]
        made.append(Pairing(rows, start[who], width[who], layer.starts[rows], widths[rows], gap))
        last[layer.person], width[layer.person] = place, widths
        start[layer.person] = layer.starts[:-1] + offsets[place]
    return made


def _links(layer: Layer, pairing: Pairing, values: Ints, model: Model) -> Links:
    sources = ranges(pairing.source_start, pairing.source_width)
    targets = ranges(pairing.target_start, pairing.target_width)
    first = np.ones(layer.entries, np.bool_)
    first[targets] = False
    before, now = values[sources], layer.value[targets]
    if model.steps is None:
        return Links(sources, targets, first, pairing, _equal(pairing, before, now, model.values))
    if model.values > _WIDEST or _most_pairs(pairing, now, model) <= _DENSE * len(pairing.rows) * model.values:
        return Links(sources, targets, first, pairing, _sparse(pairing, before, now, model))
    return Links(sources, targets, first, pairing, None, _dense(pairing, before, now, model))


def _most_pairs(pairing: Pairing, now: Ints, model: Model) -> int:
    """How many pairs of values of the same person the model allows, at most."""
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


def _dense(pairing: Pairing, before: Ints, now: Ints, model: Model) -> tuple[_Part, ...]:
    """A table for each number of steps."""
    of_source = np.repeat(np.arange(len(pairing.rows)), pairing.source_width)
    of_target = np.repeat(np.arange(len(pairing.rows)), pairing.target_width)
    parts = []
    for gap in different(pairing.gap):
        mine = pairing.gap == gap
        place = np.cumsum(mine) - 1
        source, target = np.flatnonzero(mine[of_source]), np.flatnonzero(mine[of_target])
        cells = [
            place[of[at]] * model.values + value[at]
            for of, at, value in ((of_source, source, before), (of_target, target, now))
        ]
        parts.append(_Part(source, target, cells[0], cells[1], model.after(int(gap)), int(mine.sum())))
    return tuple(parts)
