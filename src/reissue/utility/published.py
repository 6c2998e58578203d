"""Published tables as a recipient counts them: boxes with their numbers of rows, and sensitive values of groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from reissue._arrays import Bools, Codes, Floats, Ints
from reissue.counting.keys import distinct_keys, pack, rank
from reissue.data.table import Table
from reissue.published import PublishedRelease, read_published
from reissue.release.release import Release
from reissue.taxonomy.codings import prepare
from reissue.taxonomy.notation import parse_column
from reissue.utility.rows import Rows

__all__ = ["Published", "Values", "from_boxes", "from_tables", "intervals"]


@dataclass(frozen=True, eq=False)
class Values:
    """The published sensitive values, in the codes of the original."""

    published: Ints
    """The number of rows that show each code, including counterfeits."""
    weighted: Floats
    """The same with rows weighted so that each group counts its people only, which removes counterfeits."""
    strange: int
    """Number of rows with a value that the original lacks."""
    counts: "sparse.csr_matrix | None"
    """Groups x codes: the count of each value; None if not needed."""
    totals: Floats | None
    """Number of rows of each group with any value, including values that the original lacks; None if it lacks none."""

    @cached_property
    def _sizes(self) -> Floats:
        if self.totals is not None or self.counts is None:
            return np.zeros(0) if self.totals is None else self.totals
        return np.asarray(self.counts.sum(axis=1), np.float64).ravel()

    @cached_property
    def shares(self) -> "sparse.csr_matrix":
        """Groups x codes: the share of the group's rows."""
        return (sparse.diags_array(1 / np.maximum(self._sizes, 1)) @ self.counts).tocsr().astype(np.float32)

    @cached_property
    def mixture(self) -> Floats:
        """The probability that two rows of a group, drawn with replacement, have different values."""
        if self.counts is None:
            return np.zeros(0)
        squares = np.asarray(self.counts.power(2).sum(axis=1), np.float64).ravel()
        return np.asarray(1 - squares / np.maximum(self._sizes, 1) ** 2)


@dataclass(frozen=True, eq=False)
class Published:
    """The published form of a table."""

    table: Table
    """The original."""
    lo: Codes
    hi: Codes
    """Quasi-identifiers x boxes."""
    rows: Floats
    """Number of rows in each box, without declared counterfeits, which may leave a fraction."""
    group: Ints
    """The group of each box."""
    sizes: Ints
    """Number of rows of each group."""
    values: Values | None
    """The sensitive values; None if none was published."""
    apart: bool
    """Whether sensitive values belong to a group and not to a row: permuted, or in a table of their own."""

    @cached_property
    def exact(self) -> bool:
        """Whether all quasi-identifiers were published unchanged."""
        return bool((self.lo == self.hi).all())

    @cached_property
    def shares(self) -> "sparse.csr_matrix | None":
        """Groups x sensitive codes: the share of the group's rows; None if none was published."""
        return None if self.values is None else self.values.shares

    @property
    def total(self) -> int:
        """Number of published rows."""
        return int(self.sizes.sum())

    @cached_property
    def hulls(self) -> tuple[Codes, Codes]:
        """Quasi-identifiers x groups: the smallest interval around all boxes of a group."""
        lo, hi = np.empty((2, len(self.lo), len(self.sizes)), np.int32)
        for place, taxonomy in enumerate(self.table.taxonomies):
            low, high = np.full(len(self.sizes), taxonomy.size - 1, np.int32), np.zeros(len(self.sizes), np.int32)
            np.minimum.at(low, self.group, self.lo[place])
            np.maximum.at(high, self.group, self.hi[place])
            # Single rows show their smallest and largest number too, whatever form a release has.
            lo[place], hi[place] = replace(taxonomy, runs=taxonomy.ordered).snap(np.minimum(low, high), high)
        return lo, hi


def from_boxes(release: Release) -> Published:
    """The published form of a release, without reading its texts: enough for everything but queries."""
    table, draft = release.table, release.draft
    if draft.looks is not None:
        return from_tables(table, read_published(release, release.schema))
    sizes, fakes = release.boxes.sizes, np.zeros(len(release.boxes.sizes))
    if draft.counterfeits is not None:
        fakes = np.bincount(draft.counterfeits.groups, minlength=len(sizes)).astype(np.float64)
    real = 1 - fakes / np.maximum(sizes, 1)
    if draft.form.boxes:
        box = np.arange(len(sizes))
        lo, hi = release.boxes.lo, release.boxes.hi
        if not draft.form.numbered:
            # Without group numbers, groups that look the same are one.
            box, first = _alike(lo, hi, table.sizes)
            lo, hi = lo[:, first], hi[:, first]
        rows = np.bincount(box, sizes * real).astype(np.float64)
        merged = np.bincount(box, sizes).astype(np.int64)
        values = _drafted(release, real, None)
        return Published(table, lo, hi, rows, np.arange(len(merged)), merged, values, apart=False)
    kept = np.flatnonzero(draft.groups >= 0)
    codes, group = table.codes[:, kept], draft.groups[kept].astype(np.int64)
    if draft.counterfeits is not None:
        codes = np.hstack([codes, draft.counterfeits.codes])
        group = np.append(group, draft.counterfeits.groups)
    values = _drafted(release, real, len(sizes))
    return Published(table, codes, codes, real[group], group, sizes, values, apart=values is not None)


def _drafted(release: Release, real: Floats, groups: int | None) -> Values | None:
    """The sensitive values of a release; by group, if it states their counts."""
    table, draft = release.table, release.draft
    if not table.schema.sensitive:
        return None
    kept = np.flatnonzero(draft.groups >= 0)
    group, value = draft.groups[kept], (table.sensitive if draft.sensitive is None else draft.sensitive)[kept]
    if draft.counterfeits is not None:
        group = np.append(group, draft.counterfeits.groups)
        value = np.append(value, draft.counterfeits.sensitive)
    counts = None
    if groups is not None:
        counts = _matrix(np.ones(len(value)), group.astype(np.int64), value, (groups, table.domain.size))
    size = table.domain.size
    weighted = np.bincount(value, real[group], size).astype(np.float64)
    return Values(np.bincount(value, minlength=size), weighted, 0, counts, None)


def from_tables(table: Table, published: PublishedRelease) -> Published:
    """The published form, read from the texts of tables."""
    looks, groups = published.looks, published.groups
    lo, hi = (ends[:, looks.first] for ends in intervals(published, table))
    known: Bools = np.asarray((lo <= hi).all(axis=0))
    numbered = published.form.numbered
    box, first = _alike(lo[:, known], hi[:, known], table.sizes, looks.group[known] if numbered else None)
    merged = np.arange(groups)
    if not numbered:
        # Without group numbers, groups whose texts mean the same are one.
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
    values = _read_values(published, table, merged[published.value_group], 1 - fakes / np.maximum(sizes, 1))
    apart = values is not None and not published.form.boxes
    return Published(table, lo[:, chosen], hi[:, chosen], count, group, sizes, values, apart)


def intervals(published: PublishedRelease, table: Table) -> tuple[Codes, Codes]:
    """Quasi-identifiers x rows: the published intervals; empty for counterfeits that show an unknown value.

    A counterfeit may show a value that only earlier tables have. At most as many rows may do so as are declared as
    counterfeits, or as there are more rows than people; otherwise the table does not belong to this original.
    """
    published.require(*table.schema.quasi)
    main = published.main
    lo, hi = np.empty((2, len(table.codings), main.height), np.int32)
    columns = [(main[name], coding) for name, coding in zip(table.schema.quasi, table.codings, strict=True)]
    for place, (column, coding) in enumerate(columns):
        read = parse_column(column, coding, strange=True)
        lo[place], hi[place] = read.lo, read.hi
    times = published.row_times
    nobody = max(int(published.counterfeits.sum()), int(times.sum()) - table.records)
    if int(times[(lo > hi).any(axis=0)].sum()) > nobody:
        for column, coding in columns:
            parse_column(column, coding)
    return lo, hi


def _alike(lo: Codes, hi: Codes, sizes: Sequence[int], number: Ints | None = None) -> tuple[Ints, Ints]:
    """The box of each row (or group), by intervals and number; and one row of each box."""
    codes, bounds = ([], []) if number is None else ([number], [int(number.max(initial=0)) + 1])
    for low, high, size in zip(lo, hi, sizes, strict=True):
        found, code = distinct_keys(low * np.int64(size) + high, size * size)
        codes.append(code)
        bounds.append(len(found))
    _, first, box = np.unique(pack(codes, bounds)[0], return_index=True, return_inverse=True)
    return box, first


def _read_values(published: PublishedRelease, table: Table, group: Ints, real: Floats) -> Values | None:
    """The values that tables show; rows with a value that the original lacks count in their groups."""
    names, frame, weights = table.schema.sensitive, published.values, published.weights
    if not names or not set(names) <= set(frame.columns):
        return None
    rows = Rows.of_published(published)
    if rows is not None:
        return _expected_values(rows, table, group[rows.places], real)
    value = _sensitive(frame, table)
    known, size = value >= 0, table.domain.size
    counts = _matrix(weights[known].astype(np.float64), group[known], value[known], (len(real), size))
    return Values(
        np.bincount(value[known], weights[known], size).astype(np.int64),
        np.bincount(value[known], (weights * real[group])[known], size).astype(np.float64),
        int(weights[~known].sum()),
        counts,
        np.bincount(group, weights, len(real)).astype(np.float64),
    )


def _expected_values(rows: Rows, table: Table, group: Ints, real: Floats) -> Values:
    """The expected numbers of true values, where published ones are randomized."""
    expected = rows.side.weights(rows.classes, rows.published, "expected")
    code, size = _sensitive(rows.side.values, table), table.domain.size
    member = sparse.coo_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=(len(real), len(group)))
    by_group = member.tocsr() @ expected
    counts = np.zeros((len(real), size))
    np.add.at(counts.T, code[code >= 0], by_group[:, code >= 0].T)
    return Values(
        np.rint(counts.sum(0)).astype(np.int64),
        real @ counts,
        round(float(by_group[:, code < 0].sum())),
        sparse.csr_array(counts),
        by_group.sum(1),
    )


def _matrix(counts: Floats, group: Ints, value: Codes | Ints, shape: tuple[int, int]) -> "sparse.csr_matrix":
    return sparse.coo_array((counts, (group, value)), shape=shape).tocsr()


def _sensitive(frame: pl.DataFrame, table: Table) -> Ints:
    """The original's joint code of each row's sensitive values; -1 for values that it lacks."""
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
