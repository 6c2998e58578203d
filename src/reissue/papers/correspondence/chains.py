"""What several releases of a growing table leave of a group, by chains of groups in flat arrays.

A target that arrived at release j stands in one group of each release from j on: a *chain* of groups that have a leaf
in common. What is left of it is

    left_j = sum_s  min over l >= j of  min( n_ql(s),  min over i < j of  G_l(key_il, s) - G_i(key_il, s) )

where key_il are the target's nodes on the join of the cuts of releases i and l, and G counts a key's records. Chains
are built from the last release to the first: every chain of release j + 1 is put before each group of release j that
it has a leaf in common with (equal keys on the join of that release's cuts and the chain's smallest nodes, since cuts
of one taxonomy nest), and kept if some value occurs all along it. A chain with left = 0 is nobody's: a target is in
the data, so there is no target there.

Cost: for every pair of releases a count over distinct (group, value) entries, and for every chain its values.

**Global recodings** are recognized from published columns alone. In a global recoding every attribute was cut once for
the whole release, so its published values are disjoint; cuts of one taxonomy nest from release to release.

**What is left of targets, exactly**, takes an integer program for each connected component. The formula above bounds
each value of each target by itself; with three or more releases and several attributes it can leave a record too many,
because all records must find partners at once. Here a variable counts the records that arrived at j and follow one
chain with one value; for each group of each release and each value the variables add up to the published count; what is
left of a target is the largest that its variables can be. Variables fall apart into connected components (always of one
value), solved one by one. A solution gives a lower bound on all variables of its component, so most need no program of
their own. Every solution is checked again in integers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components

from reissue._arrays import Bools, Codes, Ints
from reissue.counting.histogram import Histogram, common
from reissue.counting.keys import pack, rank
from reissue.counting.segments import equal_keys, pieces, ranges
from reissue.errors import CannotRunError
from reissue.published.boxes import PublishedValues, ReleaseCounts, SeriesCounts

__all__ = [
    "ExactTargets",
    "GroupChains",
    "Targets",
    "chains_of",
    "forest",
    "growth",
    "lacking_records",
    "refuse_endless",
    "refuse_other_recodings",
    "smaller",
    "solve",
    "targets",
    "too_many",
    "varying",
    "varying_columns",
]


def refuse_other_recodings(views: SeriesCounts, numbers: Sequence[int]) -> None:
    """Raise CannotRunError, with the reason, unless all releases are global recodings by nested cuts."""
    for place, column in enumerate(views.quasi):
        if not column.exact:
            raise CannotRunError(f"column '{column.name}' was published as sets that are no node of its taxonomy.")
        for number, view in zip(numbers, views.releases, strict=True):
            if _overlapping(column, np.unique(view.nodes[place])):
                raise CannotRunError(
                    f"release {number} is no global recoding: published values of column '{column.name}' overlap."
                )
        if forest(column.lo, column.hi) is None:
            raise CannotRunError(
                f"the releases' values of column '{column.name}' overlap without one lying inside the other, so they "
                "are no cuts of one taxonomy."
            )


def varying(views: SeriesCounts) -> int:
    """How many attributes the releases cut differently where they meet."""
    return varying_columns(views.quasi)


def varying_columns(quasi: Sequence[PublishedValues]) -> int:
    """How many attributes have published values that share a leaf."""
    return sum(_overlapping(column, np.arange(len(column.lo))) for column in quasi)


def _overlapping(column: PublishedValues, used: Ints) -> bool:
    """Whether two of the nodes (which are sorted by their first leaf) share a leaf."""
    return bool((column.hi[used[:-1]] >= column.lo[used[1:]]).any())


def forest(lo: Codes, hi: Codes) -> list[int] | None:
    """The smallest other node around each node, -1 if there is none; None if any two overlap otherwise."""
    around = [-1] * len(lo)
    first, last = lo.tolist(), hi.tolist()
    above: list[int] = []
    for node in sorted(range(len(first)), key=lambda one: (first[one], -last[one])):
        while above and last[above[-1]] < first[node]:
            above.pop()
        if above:
            if last[above[-1]] < last[node]:
                return None
            around[node] = above[-1]
        above.append(node)
    return around


_MOST = 30_000_000
"""How many (chain, value) entries are kept for one release before the attack gives up."""
_MOST_LOOKED_UP = 5_000_000_000
"""How many entries are looked up to join two releases before the attack gives up: some minutes."""


@dataclass(frozen=True, eq=False)
class GroupChains(Histogram):
    """The chains that start at one release, with the values that occur all along each and the fewest records of it."""

    nodes: Codes
    """Quasi-identifiers x chains: the smallest node along the chain."""
    own: Ints
    """Entry to the entry of the first group in its own release."""
    rest: Ints
    """Entry to the entry of the remaining chain, among those that start one release later."""


@dataclass(frozen=True, eq=False)
class Targets(Histogram):
    """Some chains of one arrival time, and what is left of them: how many records with each value."""

    arrived: int
    """The first release of the chains, from 0."""
    nodes: Codes
    """Quasi-identifiers x chains: the smallest node along the chain."""
    entries: tuple[Ints, ...]
    """For each release from `arrived` on, the entry there."""


# --- keys ------------------------------------------------------------------------------------------------------------


def _components(column: PublishedValues, one: Codes, other: Codes) -> Codes:
    """Node to its node on the join of two cuts: intervals that overlap belong together; -1 if it is in neither."""
    used = np.zeros(len(column.lo), bool)
    used[one] = True
    used[other] = True
    nodes = np.flatnonzero(used)
    reach = np.maximum.accumulate(column.hi[nodes])
    number = np.full(len(column.lo), -1, np.int32)
    number[nodes] = np.cumsum(np.append(0, column.lo[nodes][1:] > reach[:-1]))
    return number


def join_keys(quasi: Sequence[PublishedValues], one: Codes, other: Codes) -> tuple[Ints, Ints, int]:
    """The keys of two sets of boxes on the join of their cuts, densely numbered, and how many there are."""
    columns, sizes = [], []
    for place, column in enumerate(quasi):
        component = _components(column, one[place], other[place])
        columns.append(np.concatenate([component[one[place]], component[other[place]]]))
        sizes.append(int(component.max()) + 1)
    keys, number = rank(pack(columns, sizes)[0])
    return keys[: one.shape[1]], keys[one.shape[1] :], number


def growth(quasi: Sequence[PublishedValues], earlier: ReleaseCounts, later: ReleaseCounts) -> Ints:
    """G_l - G_i for every entry of the later release: how many records of its key and value arrived in between."""
    before, after, number = join_keys(quasi, earlier.nodes, later.nodes)
    values = later.values
    was, now = before[earlier.group] * values + earlier.value, after[later.group] * values + later.value
    space = number * values
    if space > 16 * (len(was) + len(now)) + (1 << 16):
        ranked, space = rank(np.concatenate([was, now]))
        was, now = ranked[: len(was)], ranked[len(was) :]
    difference = np.bincount(now, later.count, space) - np.bincount(was, earlier.count, space)
    if difference.min() < 0:
        raise lacking_records()
    return np.asarray(difference[now], np.int64)


def lacking_records() -> CannotRunError:
    """Why releases that do not only grow are not followed."""
    return CannotRunError(
        "a later release lacks records that an earlier one had. This attack is about series that only grow: records "
        "left out, deleted or changed are another attack's case. (If no record was, look at the order of the releases "
        "and at the taxonomies in the schema.)"
    )


# --- chains ----------------------------------------------------------------------------------------------------------


def smaller(column: PublishedValues, one: Codes, other: Codes) -> Codes:
    """Of nodes that lie inside each other the smaller ones."""
    inside = (column.lo[one] >= column.lo[other]) & (column.hi[one] <= column.hi[other])
    return np.asarray(np.where(inside, one, other), np.int32)


def extended(quasi: Sequence[PublishedValues], view: ReleaseCounts, rest: GroupChains) -> Iterator[GroupChains]:
    """The chains that start at a release, from those that start one later; piece by piece."""
    mine, its, _ = join_keys(quasi, view.nodes, rest.nodes)
    order, start, number = equal_keys(mine, its)
    before = np.append(0, np.cumsum(rest.lengths[order]))
    work = np.minimum(view.lengths * number, before[start + number] - before[start])
    refuse_endless(work)
    for piece in pieces(work):
        group = np.repeat(np.arange(piece.start, piece.stop), number[piece])
        chain = order[ranges(start[piece], number[piece])]
        pair, own, further = common(view, rest, group, chain)
        fresh = np.flatnonzero(np.diff(pair, prepend=-1))
        group, chain = group[pair[fresh]], chain[pair[fresh]]
        nodes = [
            smaller(column, view.nodes[place][group], rest.nodes[place][chain]) for place, column in enumerate(quasi)
        ]
        starts = np.append(fresh, len(pair))
        count = np.minimum(view.count[own], rest.count[further])
        yield GroupChains(starts, view.value[own], count, view.values, np.stack(nodes), own, further)


def chains_of(views: SeriesCounts, releases: Sequence[ReleaseCounts]) -> list[GroupChains]:
    """For each of the releases the chains that start there and go on to the last one."""
    last = releases[-1]
    entries = np.arange(len(last.value))
    chains = [GroupChains(last.starts, last.value, last.count, last.values, last.nodes, entries, entries[:0])]
    for view in reversed(releases[:-1]):
        chains.append(_whole(list(_at_most(extended(views.quasi, view, chains[-1])))))
    return chains[::-1]


def _at_most(parts: Iterator[GroupChains]) -> Iterator[GroupChains]:
    entries = 0
    for part in parts:
        entries += len(part.own)
        if entries > _MOST:
            raise too_many()
        yield part


def refuse_endless(work: Ints) -> None:
    """Raise CannotRunError if so many entries would have to be looked up that it takes too long."""
    if int(work.sum()) > _MOST_LOOKED_UP:
        raise too_many()


def too_many() -> CannotRunError:
    """Why chains are not followed further."""
    return CannotRunError(
        "the releases' cuts cross so often that there are too many chains of groups to follow. Attack fewer releases "
        "at a time.",
        too_large=True,
    )


def _whole(parts: Sequence[GroupChains]) -> GroupChains:
    """Pieces put together."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.own) for part in parts)])
    starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
    return GroupChains(
        np.append(np.concatenate(starts), ends[-1]),
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.count for part in parts]),
        parts[0].values,
        np.concatenate([part.nodes for part in parts], axis=1),
        np.concatenate([part.own for part in parts]),
        np.concatenate([part.rest for part in parts]),
    )


# --- what is left ----------------------------------------------------------------------------------------------------


def targets(views: SeriesCounts) -> Iterator[Targets]:
    """Every possible target of a series, by arrival time, with what is left of it."""
    releases = views.releases
    if len(releases) == 1:
        yield _judged(0, chains_of(views, releases), ())
        return
    chains = chains_of(views, releases[1:])
    for first in extended(views.quasi, releases[0], chains[0]):
        yield _judged(0, [first, *chains], ())
    ceilings = [np.asarray(view.count, np.int64) for view in releases]
    for arrived in range(1, len(releases)):
        for later in range(arrived, len(releases)):
            arrivals = growth(views.quasi, releases[arrived - 1], releases[later])
            ceilings[later] = np.minimum(ceilings[later], arrivals)
        yield _judged(arrived, chains[arrived - 1 :], ceilings[arrived:])


def _judged(arrived: int, chains: Sequence[GroupChains], ceilings: Sequence[Ints]) -> Targets:
    """Follow every entry to the last release and take the smallest ceiling on the way, if there are any."""
    first = chains[0]
    entries, place = [first.own], first.rest
    for chain in chains[1:]:
        entries.append(chain.own[place])
        place = chain.rest[place] if len(chain.rest) else place
    left = first.count
    for entry, ceiling in zip(entries, ceilings, strict=False):
        left = np.minimum(left, ceiling[entry])
    return Targets(first.starts, first.value, left, first.values, arrived, first.nodes, tuple(entries))


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
