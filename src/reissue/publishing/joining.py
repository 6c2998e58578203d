"""Groups joined with their neighbours: what is repaired of a partition, where it is broken and nowhere else.

Groups that are published alike are one to whoever reads them; so each is joined with the nearest that looks otherwise:
the one with which all rows of both lose least. O(groups joined x groups x attributes).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import Counts
from reissue.data.table import Table
from reissue.methods import find
from reissue.methods.registry import Trait
from reissue.release.recode import boxes_of
from reissue.release.release import Draft, Release
from reissue.requirements import by_column
from reissue.taxonomy.tree import Taxonomy
from reissue.verify.recheck import make_release

__all__ = ["Joined", "join_groups", "joinable"]


@dataclass(frozen=True, eq=False)
class Joined:
    """A release in which some groups were joined."""

    release: Release
    groups: int
    """How many groups became part of a larger one."""
    widened: Bools
    """Row to whether it is in one of these larger groups."""


def joinable(release: Release) -> bool:
    """Whether its groups may be joined: any partition whose groups meet the requirement would have done."""
    plain = not release.draft.form.numbered and release.draft.cuts is None
    return plain and Trait.JOINABLE in find(release.method).traits


def join_groups(
    release: Release, broken: Bools, rng: np.random.Generator, keep: Bools | None = None, others: int = 1
) -> Joined | None:
    """Join each group that holds broken rows with so many `others`; rows that are not to `keep` are left out first.

    Groups that do not meet the requirement without these rows are joined too, and no other group is touched for them.
    None where there is no other group, or where a joined group would not meet the requirement.
    """
    table, draft, groups = release.table, release.draft, release.draft.groups
    targets = np.unique(groups[broken & (groups >= 0)])
    if keep is not None:
        rows = np.flatnonzero(keep)
        table, groups = table.some(rows), groups[rows]
        targets = np.union1d(targets, _failing(table, groups, release))
    unit, lo, hi, sizes = _units(table, draft, groups, release.groups)
    wanted = np.unique(unit[targets])
    wanted = wanted[wanted >= 0]
    if len(wanted) and len(sizes) < 2:
        return None
    nearest = _nearest(wanted, lo, hi, sizes, table.taxonomies, min(others, len(sizes) - 1))
    component = _components(wanted, nearest, len(sizes))
    touched = (np.bincount(component) > 1)[component]
    changed = touched[unit] & (unit >= 0)
    label = np.where(changed, release.groups + component[unit], np.arange(release.groups))
    made = _numbered(label, groups)
    if not _holds(table, replace(draft, groups=made), release):
        return None
    merged = make_release(table, replace(draft, groups=made), release.requirement, release.method, rng)
    return Joined(merged, int(changed.sum()), (groups >= 0) & changed[groups])


def _units(table: Table, draft: Draft, groups: Codes, total: int) -> tuple[Ints, Codes, Codes, Ints]:
    """Group to the number of its box (-1 where no row is left), and of each different box its bounds and rows."""
    here, dense = np.unique(groups[groups >= 0], return_inverse=True)
    compact = np.full(len(groups), -1, np.int32)
    compact[groups >= 0] = dense
    boxes = boxes_of(table, replace(draft, groups=compact))
    both = np.vstack([boxes.lo, boxes.hi])
    distinct, number = np.unique(both, axis=1, return_inverse=True)
    number = number.reshape(-1)
    unit = np.full(total, -1, np.int64)
    unit[here] = number
    lo, hi = np.split(distinct, 2)
    return unit, lo, hi, np.bincount(number, boxes.sizes, distinct.shape[1]).astype(np.int64)


def _nearest(wanted: Ints, lo: Codes, hi: Codes, sizes: Ints, taxonomies: Sequence[Taxonomy], others: int) -> Ints:
    """For each of some boxes so many other ones: those with which all rows of both lose least."""
    own = _lost(lo, hi, taxonomies) * sizes
    found = np.empty((len(wanted), others), np.int64)
    for place, one in enumerate(wanted.tolist()):
        low, high = np.minimum(lo, lo[:, [one]]), np.maximum(hi, hi[:, [one]])
        growth = _lost(low, high, taxonomies) * (sizes + sizes[one]) - own
        growth[one] = np.inf
        found[place] = np.argsort(growth, kind="stable")[:others]
    return found


def _lost(lo: Codes, hi: Codes, taxonomies: Sequence[Taxonomy]) -> Floats:
    """Box to what each of its rows loses, over all attributes."""
    losses = [taxonomy.lost(low, high) for taxonomy, low, high in zip(taxonomies, lo, hi, strict=True)]
    return np.asarray(np.sum(losses, axis=0))


def _components(wanted: Ints, nearest: Ints, total: int) -> Ints:
    """Box to the number of those that it is joined with, directly or by others."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.repeat(wanted, nearest.shape[1]), nearest.reshape(-1)
    links = coo_array((np.ones(nearest.size), ends), shape=(total, total))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


def _numbered(label: Ints, groups: Codes) -> Codes:
    """Row to its group, numbered 0, 1, ... by the groups' new labels."""
    made, inside = np.full(len(groups), -1, np.int32), groups >= 0
    made[inside] = np.unique(label[groups[inside]], return_inverse=True)[1]
    return made


def _failing(table: Table, groups: Codes, release: Release) -> Ints:
    """The groups that hold rows and do not meet the requirement."""
    inside = groups >= 0
    here, dense = np.unique(groups[inside], return_inverse=True)
    return here[~_meeting(table, dense.reshape(-1), inside, release)].astype(np.int64)


def _holds(table: Table, draft: Draft, release: Release) -> bool:
    """Whether every group meets the requirement."""
    inside = draft.groups >= 0
    return bool(_meeting(table, draft.groups[inside], inside, release).all())


def _meeting(table: Table, groups: Ints | Codes, inside: Bools, release: Release) -> Bools:
    """Which groups of some rows meet the requirement, in every sensitive column."""
    asked = by_column(release.requirement, table.margins, table.domain)
    return asked.holds(Counts(groups, table.sensitive[inside], table.domain))
