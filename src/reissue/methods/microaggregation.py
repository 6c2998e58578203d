"""Microaggregation: groups of near people, whose means (or medians) are published beside their ranges.

Ranges say little about numbers: an analyst must take the middle. Here groups are formed so that the sum of squares
within them is small, in standard deviations of each number. A category counts by its taxonomy: two values that differ
on every level are as far apart as two people drawn at random are on a number.

The table is split into blocks along its principal axis. In each block groups are formed by MDAV (Domingo-Ferrer and
Mateo-Sanz 2002; Domingo-Ferrer and Torra 2005): the row farthest from the centre, and the row farthest from that one,
each take their k - 1 nearest. Then near groups are divided anew, two at a time, along the line between their centres,
as long as the sum of squares falls. Groups that fail a further requirement join near ones.

O(rows x block / k) for MDAV, and O(rows x numbers) for each round of the search.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.cells import Counts
from reissue.data.table import Table
from reissue.errors import InputError
from reissue.methods.extents import extent_of
from reissue.methods.joining import joined
from reissue.methods.registry import Job, Option, Trait, algorithm
from reissue.release.averages import STATISTICS, Averages
from reissue.release.form import Form
from reissue.release.release import Draft
from reissue.taxonomy.codings import leaf_numbers
from reissue.taxonomy.tree import Taxonomy

__all__ = ["microaggregation", "squares_within"]

_BLOCK = 4_000
"""Rows of a block: four times as many save 5% of the sum of squares and take four times as long (Adult)."""
_NEAR = 8
"""Of each group so many near ones are tried in a round."""
_ROUNDS = 12
_LEAST = 1e-3
"""A round that saves less than this share of the sum of squares is the last."""
_NODES = 64
"""Levels of a category with more nodes are not looked at: each node is one more dimension."""


@algorithm(
    "microaggregation",
    "Groups of people with near numbers, published with their means or medians beside the ranges.",
    traits=Trait.BLIND,
    options={
        "statistic": Option("mean", "What is published of a group's numbers.", STATISTICS),
        "decimals": Option(
            -1, "Decimals of what is published: -1 for one more than the data have, 0 or more for so many."
        ),
    },
    whole_table="it looks for the nearest of all rows",
)
def microaggregation(job: Job) -> Draft:
    """Group near rows; see the module's docstring."""
    decimals = _decimals(job.options.get("decimals", -1))
    features = _features(job.table)
    if not any(leaf_numbers(coding) is not None for coding in job.table.codings):
        raise InputError(
            "Microaggregation publishes means, and no quasi-identifier is a number. Use another method, such as 'pool'."
        )
    least = max(part.least for part in job.requirement.parts())
    group = np.full(job.table.rows, -1, np.int64)
    made = 0
    for rows in _blocks(features, max(_BLOCK, 3 * least)):
        group[rows] = _mdav(features[rows], least) + made
        made = int(group.max()) + 1
    _search(features, group, least, job)
    averages = Averages(str(job.options.get("statistic", STATISTICS[0])), decimals)
    return Draft(_meeting(job, group).astype(np.int32), form=Form.NUMBERED, averages=averages)


def squares_within(features: Floats, group: Ints) -> float:
    """The sum of squared distances of rows from the mean of their group."""
    _, sums, sizes = _centres(features, group)
    return float(np.square(features).sum() - (np.square(sums).sum(axis=1) / sizes).sum())


def _decimals(given: object) -> int | None:
    if isinstance(given, bool) or not str(given).lstrip("-").isdigit() or int(str(given)) < -1:
        raise InputError("The option 'decimals' must be a whole number: 0 or more, or -1 for one more than the data.")
    return None if int(str(given)) < 0 else int(str(given))


def _meeting(job: Job, group: Ints) -> Ints:
    """The groups; those that fail a further requirement have joined near ones."""
    table, total = job.table, int(group.max()) + 1
    if job.requirement.holds(Counts(group, table.sensitive, table.domain, total)).all():
        return group
    extent = extent_of(table.taxonomies, table.codes).merged(group, total)
    label = joined(extent, group, table.sensitive, table.domain, job.requirement)[group]
    return np.unique(label, return_inverse=True)[1]


# --- people as points ------------------------------------------------------------------------------------------------


def _features(table: Table) -> Floats:
    """Rows x dimensions: numbers in standard deviations, and categories by the nodes of their taxonomy's levels."""
    columns = []
    for coding, codes in zip(table.codings, table.codes, strict=True):
        numbers = leaf_numbers(coding)
        leaves = _category(coding.taxonomy) if numbers is None else numbers[:, np.newaxis]
        found = leaves[codes]
        if numbers is not None:
            known = ~np.isnan(found)
            middle = float(found[known].mean()) if known.any() else 0.0
            spread = float(found[known].std()) if known.any() else 0.0
            found = np.where(known, found - middle, 0.0) / (spread or 1.0)
        columns.append(found)
    return np.hstack(columns)


def _category(taxonomy: Taxonomy) -> Floats:
    """Leaves x dimensions: two leaves that differ on every level have the squared distance 2, as two random numbers."""
    levels = [level for level in taxonomy.levels[:-1] if len(level.names) <= _NODES]
    parts = [np.eye(len(level.names))[level.node] / len(levels) ** 0.5 for level in levels]
    return np.hstack(parts) if parts else np.zeros((taxonomy.size, 1))


# --- groups ----------------------------------------------------------------------------------------------------------


def _blocks(features: Floats, most: int) -> Iterator[Ints]:
    """Rows in blocks of at most so many: halved along their principal axis."""
    waiting = [np.arange(len(features))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= most:
            yield rows
            continue
        points = features[rows] - features[rows].mean(axis=0)
        axis = np.linalg.eigh(points.T @ points)[1][:, -1]
        order = rows[np.argsort(points @ axis, kind="stable")]
        waiting += [order[: len(rows) // 2], order[len(rows) // 2 :]]


def _mdav(points: Floats, k: int) -> Ints:
    """Groups of k rows, the last one of up to 2k - 1, by maximum distance to the average vector."""
    group, rest, made = np.full(len(points), -1), np.arange(len(points)), 0
    while len(rest) >= 2 * k:
        here = points[rest]
        first = _squares(here, here.mean(axis=0)).argmax()
        ends = [first, _squares(here, here[first]).argmax()] if len(rest) >= 3 * k else [first]
        for end in [points[rest[place]] for place in ends]:
            near = np.argpartition(_squares(points[rest], end), k - 1)[:k]
            group[rest[near]], made = made, made + 1
            rest = np.delete(rest, near)
    group[rest] = made
    return group


def _squares(points: Floats, point: Floats) -> Floats:
    return np.asarray(np.square(points - point).sum(axis=1))


# --- search ----------------------------------------------------------------------------------------------------------


def _centres(features: Floats, group: Ints) -> tuple[Floats, Floats, Ints]:
    """Group to its mean, sum and size."""
    sizes = np.bincount(group).astype(np.int64)
    sums = np.stack([np.bincount(group, column).astype(np.float64) for column in features.T], axis=1)
    return sums / sizes[:, np.newaxis], sums, sizes


def _search(features: Floats, group: Ints, k: int, job: Job) -> None:
    """Divide near groups anew, two at a time, as long as the sum of squares falls; `group` is changed."""
    rng, total = np.random.default_rng(0), int(group.max()) + 1
    near = min(_NEAR, total - 1)
    if k < 2 or near < 1:
        return
    lost = squares_within(features, group)
    for number in range(_ROUNDS):
        job.progress(number / _ROUNDS)
        centres, _, _ = _centres(features, group)
        others = cKDTree(centres).query(centres, k=near + 1)[1]
        for turn in rng.permutation(near) + 1:
            _divided(features, group, *_pairs(others[:, turn], rng), k)
        before, lost = lost, squares_within(features, group)
        if before - lost <= _LEAST * lost:
            return


def _pairs(other: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pairs of a group and another one, each group in one of them at most, drawn at random."""
    one, turn = np.arange(len(other)), rng.permutation(len(other))
    first = np.full(len(other), len(other))
    np.minimum.at(first, one, turn)
    np.minimum.at(first, other, turn)
    alone = (first[one] == turn) & (first[other] == turn) & (one != other)
    return one[alone], other[alone]


def _divided(features: Floats, group: Ints, one: Ints, other: Ints, k: int) -> None:
    """Divide each pair of groups along the line between their centres, where that saves most."""
    centres, sums, sizes = _centres(features, group)
    fits = sizes[one] + sizes[other] < 4 * k
    one, other = one[fits], other[fits]
    if not len(one):
        return
    rows, there = _side_by_side(np.argsort(group, kind="stable"), np.cumsum(sizes) - sizes, sizes, one, other)
    along = np.einsum("pwd,pd->pw", features[rows], centres[other] - centres[one])
    order = np.argsort(np.where(there, along, np.inf), axis=1, kind="stable")
    rows = np.take_along_axis(rows, order, axis=1)
    total, number = (sizes[one] + sizes[other])[:, np.newaxis], np.arange(1, rows.shape[1] + 1)[np.newaxis]
    before = np.cumsum(np.where(there[:, :, np.newaxis], features[rows], 0.0), axis=1)
    after = before[:, -1:] - before
    kept = np.square(before).sum(axis=2) / number + np.square(after).sum(axis=2) / np.maximum(total - number, 1)
    left = total - number
    kept[(number < k) | (left < k) | (number >= 2 * k) | (left >= 2 * k)] = -np.inf
    cut = kept.argmax(axis=1)
    now = (np.square(sums) / sizes[:, np.newaxis]).sum(axis=1)
    better = kept.max(axis=1) > (now[one] + now[other]) * (1 + 1e-12) + 1e-12
    label = np.where(number - 1 <= cut[:, np.newaxis], one[:, np.newaxis], other[:, np.newaxis])
    some = there & better[:, np.newaxis]
    group[rows[some]] = label[some]


def _side_by_side(by_group: Ints, starts: Ints, sizes: Ints, one: Ints, other: Ints) -> tuple[Ints, Bools]:
    """Pairs x places: the rows of both groups, and which places have one."""
    place = np.arange(int((sizes[one] + sizes[other]).max()))[np.newaxis]
    first, both = sizes[one][:, np.newaxis], (sizes[one] + sizes[other])[:, np.newaxis]
    at = np.where(place < first, starts[one][:, np.newaxis] + place, starts[other][:, np.newaxis] + place - first)
    there = place < both
    return by_group[np.where(there, at, starts[one][:, np.newaxis])], there
