"""What is left of targets, exactly: an integer program for each connected component.

The formula of `chains` bounds each value of each target by itself; with three or more releases and several
attributes it can leave a record too many, because all records must find partners at once. Here a variable counts the
records that arrived at j and follow one chain with one value; for each group of each release and each value the
variables add up to the published count; what is left of a target is the largest that its variables can be. Variables
fall apart into connected components (always of one value), solved one by one. A solution gives a lower bound on all
variables of its component, so most need no program of their own. Every solution is checked again in integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Ints
from reissue.errors import CannotRunError
from reissue.papers.correspondence.chains import Targets
from reissue.published.boxes import ReleaseCounts

__all__ = ["ExactTargets", "solve"]

MOST_VARIABLES = 2_000
"""Components with more variables keep the line's bound."""
MOST_PROGRAMS = 20_000
"""How many integer programs are solved in all."""


@dataclass(frozen=True, eq=False)
class ExactTargets:
    """Targets with what is left of them, and how many components that took."""

    targets: list[Targets]
    solved: int
    """Components whose numbers are exact."""
    too_large: int
    """Components that keep the line's bound."""


def solve(targets: Sequence[Targets], releases: Sequence[ReleaseCounts]) -> ExactTargets:
    """Replace every term by the exact one, where its component is not too large."""
    counts = np.concatenate([view.count for view in releases])
    matrix = _matrix(targets, releases)
    bound = np.concatenate([some.count for some in targets])
    number, label = connected_components(matrix @ matrix.T, directed=False)
    rows, row_ends = _by_label(label, number)
    variables, ends = _by_label(label[matrix.indices[matrix.indptr[:-1]]], number)
    solved, programs = 0, MOST_PROGRAMS
    for component in range(number):
        chosen = variables[ends[component] : ends[component + 1]]
        here = rows[row_ends[component] : row_ends[component + 1]]
        if not len(chosen):
            raise _unexplained()
        if len(chosen) <= MOST_VARIABLES:
            best, used = _largest(matrix[:, chosen].tocsr()[here], counts[here], bound[chosen], programs)
            programs -= used
            if best is not None:
                bound[chosen] = best
                solved += 1
    return ExactTargets(_replaced(targets, bound), solved, number - solved)


def _matrix(targets: Sequence[Targets], releases: Sequence[ReleaseCounts]) -> sparse.csc_array:
    """Published counts x variables: which counts each variable adds to."""
    offsets = np.cumsum([0, *(len(view.count) for view in releases)])
    rows, columns, first = [], [], 0
    for some in targets:
        for place, entry in enumerate(some.entries, start=some.arrived):
            rows.append(entry + offsets[place])
            columns.append(np.arange(first, first + len(entry)))
        first += len(some.count)
    row, column = np.concatenate(rows), np.concatenate(columns)
    return sparse.csc_array((np.ones(len(row), np.int64), (row, column)), shape=(int(offsets[-1]), first))


def _by_label(label: Ints, number: int) -> tuple[Ints, Ints]:
    """Positions in the order of their labels, and where each label starts."""
    order = np.argsort(label, kind="stable")
    return order, np.searchsorted(label[order], np.arange(number + 1))


def _largest(matrix: sparse.csr_array, counts: Ints, bound: Ints, most: int) -> tuple[Ints | None, int]:
    """The largest value of each variable and the programs that took; None if that is too many, or one is undecided.

    Variables that share no count are first raised together: most reach their bound at once, and that proves it. Those
    that did not are solved one by one.
    """
    columns = matrix.tocsc()
    known, bound = np.zeros(len(bound), np.int64), bound.copy()
    tried = np.zeros(len(bound), bool)
    for programs in range(1, most + 1):
        below = np.flatnonzero(known < bound)
        together = _apart(columns, below[~tried[below]])
        chosen = together if len(together) > 1 else below[:1]
        point = _point(matrix, counts, bound, chosen)
        if point is None:
            return None, programs
        np.maximum(known, point, out=known)
        if len(chosen) == 1:
            bound[chosen] = known[chosen]
        tried[chosen] = True
        if (known == bound).all():
            return known, programs
    return None, most


def _apart(columns: sparse.csc_array, variables: Ints) -> Ints:
    """Some of the variables, as many as come to hand, that add to no count in common."""
    used = np.zeros(columns.shape[0], bool)
    chosen = []
    for variable in variables.tolist():
        rows = columns.indices[columns.indptr[variable] : columns.indptr[variable + 1]]
        if not used[rows].any():
            used[rows] = True
            chosen.append(variable)
    return np.array(chosen, np.int64)


def _unexplained() -> CannotRunError:
    return CannotRunError(
        "no history of arriving records explains these releases together: some were left out, deleted or changed."
    )


def _point(matrix: sparse.csr_array, counts: Ints, bound: Ints, chosen: Ints) -> Ints | None:
    """A point where the chosen variables are large; a single one is largest, or the answer is None."""
    cost = np.zeros(len(bound))
    cost[chosen] = -1
    result = milp(
        cost,
        constraints=LinearConstraint(matrix, counts, counts),
        bounds=Bounds(0, bound),
        integrality=np.ones(len(bound)),
        options={"mip_rel_gap": 0.0, "node_limit": 10_000},
    )
    if result.status == 2:
        raise _unexplained()
    if result.x is None:
        return None
    point = np.rint(result.x).astype(np.int64)
    feasible: Bools = matrix @ point == counts
    within = bool(feasible.all() and (point >= 0).all() and (point <= bound).all())
    if len(chosen) == 1:
        best = np.inf if result.mip_dual_bound is None else -result.mip_dual_bound
        within = within and best < int(point[chosen[0]]) + 1 - 1e-6
    return point if within else None


def _replaced(targets: Sequence[Targets], exact: Ints) -> list[Targets]:
    first, answer = 0, []
    for some in targets:
        term = exact[first : first + len(some.count)]
        answer.append(replace(some, count=term))
        first += len(term)
    return answer
