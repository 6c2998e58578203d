"""Published tables as a recipient counts them: boxes with their numbers of rows, and the sensitive values of groups.

Rows that show the same quasi-identifier values stand in one box. A group is a box, or, where the release numbers its
groups (two tables, or values permuted inside a group), all boxes with one number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.cells import distinct_keys, pack, rank
from reissue.data.table import Table
from reissue.published import Form, PublishedRelease, read_published
from reissue.release.release import Release
from reissue.taxonomy.codings import prepare
from reissue.taxonomy.notation import parse_column

__all__ = ["Published", "from_boxes", "from_tables"]


@dataclass(frozen=True, eq=False)
class Published:
    """What was published of a table."""

    table: Table
    """The original."""
    lo: Codes
    hi: Codes
    """Quasi-identifiers x boxes."""
    rows: Floats
    """Rows in each box, without those that the release declares to be counterfeits, which may leave a fraction."""
    group: Ints
    """The group of each box."""
    sizes: Ints
    """Rows of each group."""
    shares: "sparse.csr_matrix | None"
    """Groups x sensitive codes of the original: the share of the group's rows; None where none was published."""

    @cached_property
    def exact(self) -> bool:
        """Whether all quasi-identifiers were published as they are."""
        return bool((self.lo == self.hi).all())

    @property
    def total(self) -> int:
        """Rows that were published."""
        return int(self.sizes.sum())


def from_boxes(release: Release) -> Published:
    """What a release published, without a look at its rows: enough for everything but queries."""
    if release.draft.looks is not None:
        return from_tables(release.table, read_published(release, release.schema))
    lo, hi, sizes = release.boxes.lo, release.boxes.hi, release.boxes.sizes
    fakes = np.zeros(len(sizes))
    if release.draft.counterfeits is not None:
        fakes = np.bincount(release.draft.counterfeits.groups, minlength=len(sizes)).astype(np.float64)
    own = np.arange(len(sizes))
    if not release.draft.form.boxes:
        exact = np.zeros_like(lo)
        return Published(release.table, exact, exact, sizes - fakes, own, sizes, None)
    if release.draft.form == Form.NUMBERED:
        return Published(release.table, lo, hi, sizes - fakes, own, sizes, None)
    box, first = _alike(lo, hi, release.table.sizes)
    merged = np.bincount(box, sizes, len(first)).astype(np.int64)
    real = np.bincount(box, sizes - fakes, len(first)).astype(np.float64)
    return Published(release.table, lo[:, first], hi[:, first], real, np.arange(len(first)), merged, None)


def from_tables(table: Table, published: PublishedRelease) -> Published:
    """What tables say, read from their texts."""
    looks, groups = published.looks, published.groups
    lo, hi = (ends[:, looks.first] for ends in _intervals(published, table))
    known: Bools = np.asarray((lo <= hi).all(axis=0))
    numbered = published.form != Form.GENERALIZED
    box, first = _alike(lo[:, known], hi[:, known], table.sizes, looks.group[known] if numbered else None)
    merged = np.arange(groups)
    if not numbered:
        # Without numbers, groups whose texts mean the same are one.
        merged[known], merged[~known] = box, len(first) + np.arange(int((~known).sum()))
    sizes, fakes, strange = (
        np.bincount(merged, each).astype(np.int64)
        for each in (
            published.sizes,
            published.counterfeits,
            np.bincount(looks.group[~known], looks.rows[~known], groups),
        )
    )
    chosen = np.flatnonzero(known)[first]
    group = merged[looks.group[chosen]]
    share = 1 - np.maximum(fakes - strange, 0) / np.maximum(sizes - strange, 1)
    count = np.bincount(box, looks.rows[known]) * share[group]
    shares = _shares(published, table, merged[published.value_group], len(sizes))
    return Published(table, lo[:, chosen], hi[:, chosen], count, group, sizes, shares)


def _intervals(published: PublishedRelease, table: Table) -> tuple[Codes, Codes]:
    """Quasi-identifiers x rows: the published intervals; empty ones for rows of nobody in the original.

    A counterfeit may show a value that only earlier tables have. So many rows as are declared to be nobody's, or as
    there are more than people, may do so; any more, and the table is not of this original.
    """
    published.require(*table.schema.quasi)
    main = published.main
    lo, hi = np.empty((2, len(table.codings), main.height), np.int32)
    columns = [(main[name], coding) for name, coding in zip(table.schema.quasi, table.codings, strict=True)]
    for place, (column, coding) in enumerate(columns):
        read = parse_column(column, coding, strange=True)
        lo[place], hi[place] = read.lo, read.hi
    nobody = max(int(published.counterfeits.sum()), main.height - table.rows)
    if int((lo > hi).any(axis=0).sum()) > nobody:
        for column, coding in columns:
            parse_column(column, coding)
    return lo, hi


def _alike(lo: Codes, hi: Codes, sizes: Sequence[int], number: Ints | None = None) -> tuple[Ints, Ints]:
    """The box of each row (or group): same intervals, same number; and one row of each box."""
    codes, bounds = ([], []) if number is None else ([number], [int(number.max(initial=0)) + 1])
    for low, high, size in zip(lo, hi, sizes, strict=True):
        found, code = distinct_keys(low * np.int64(size) + high, size * size)
        codes.append(code)
        bounds.append(len(found))
    _, first, box = np.unique(pack(codes, bounds)[0], return_index=True, return_inverse=True)
    return box, first


def _shares(published: PublishedRelease, table: Table, group: Ints, groups: int) -> "sparse.csr_matrix | None":
    """Groups x sensitive codes: the share of the group's rows; rows with a value that the original lacks count too."""
    names, frame, weights = table.schema.sensitive, published.values, published.weights
    if not names or not set(names) <= set(frame.columns):
        return None
    value = _sensitive(frame, table)
    sizes = np.bincount(group, weights, groups)
    known = value >= 0
    each = weights / np.maximum(sizes, 1)[group]
    data = each[known].astype(np.float32)
    return sparse.coo_matrix((data, (group[known], value[known])), shape=(groups, table.domain.size)).tocsr()


def _sensitive(frame: pl.DataFrame, table: Table) -> Ints:
    """The original's code of each row's sensitive values taken together; -1 where it has none."""
    columns = [
        coding.encode(prepare(frame[name], coding.hierarchy))[0]
        for name, coding in zip(table.schema.sensitive, table.secrets, strict=True)
    ]
    if len(columns) == 1:
        return columns[0].astype(np.int64)
    sizes = [coding.taxonomy.size for coding in table.secrets]
    both = [np.concatenate([known, np.maximum(column, 0)]) for known, column in zip(table.joint, columns, strict=True)]
    place, _ = rank(pack(both, sizes)[0])
    codes = np.full(int(place.max(initial=0)) + 1, -1, np.int64)
    codes[place[: table.joint.shape[1]]] = np.arange(table.joint.shape[1])
    found = codes[place[table.joint.shape[1] :]]
    return np.where(np.minimum.reduce(columns) >= 0, found, -1)
