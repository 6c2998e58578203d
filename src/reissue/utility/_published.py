"""Published tables as a recipient counts them: boxes with their numbers of rows, and the sensitive values of groups.

Rows that show the same quasi-identifier values stand in one box. A group is a box, or, where the release numbers its
groups (two tables, or values permuted inside a group), all boxes with one number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from reissue._arrays import Codes, Floats, Ints
from reissue._groups import COUNT
from reissue.cells import distinct_keys, pack, rank
from reissue.errors import DataError, SchemaError, nearest_column
from reissue.hierarchies import prepare
from reissue.notation import parse_column
from reissue.release import GROUP, Release
from reissue.table import Table, to_polars

__all__ = ["Published", "from_boxes", "from_tables", "tables_of"]


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


def tables_of(published: Any, table: Table, delimiter: str) -> dict[str, pl.DataFrame]:
    """The published tables by name: "release", or "quasi" and "sensitive"; "counterfeits" if there are."""
    if isinstance(published, Release):
        return dict(published.tables)
    if isinstance(published, tuple | list):
        if len(published) not in {1, 2}:
            raise DataError("Give one published table, or two: quasi-identifiers with groups, and sensitive values.")
        published = dict(zip(("release",) if len(published) == 1 else ("quasi", "sensitive"), published, strict=True))
    if not isinstance(published, Mapping):
        published = {"release": published}
    if not ("release" in published or {"quasi", "sensitive"} <= set(published)):
        raise DataError('Give one published table, or two under the names "quasi" and "sensitive".')
    return {name: to_polars(data, table.schema, delimiter=delimiter)[0] for name, data in published.items()}


def from_boxes(release: Release) -> Published:
    """What a release published, without a look at its rows: enough for everything but queries."""
    lo, hi, sizes = release.boxes.lo, release.boxes.hi, release.boxes.sizes
    fakes = np.zeros(len(sizes))
    if release.draft.counterfeits is not None:
        fakes = np.bincount(release.draft.counterfeits.groups, minlength=len(sizes)).astype(np.float64)
    own = np.arange(len(sizes))
    if release.draft.bucketized or release.draft.permuted:
        exact = np.zeros_like(lo)
        return Published(release.table, exact, exact, sizes - fakes, own, sizes, None)
    if getattr(release.draft, "numbered", False):
        return Published(release.table, lo, hi, sizes - fakes, own, sizes, None)
    box, first = _alike(lo, hi, release.table.sizes)
    merged = np.bincount(box, sizes, len(first)).astype(np.int64)
    real = np.bincount(box, sizes - fakes, len(first)).astype(np.float64)
    return Published(release.table, lo[:, first], hi[:, first], real, np.arange(len(first)), merged, None)


def from_tables(table: Table, tables: Mapping[str, pl.DataFrame]) -> Published:
    """What tables say, read from their texts."""
    main = tables["release"] if "release" in tables else tables["quasi"]
    numbered = GROUP in main.columns and GROUP not in table.schema.columns
    if "release" not in tables and not (numbered and GROUP in tables["sensitive"].columns):
        raise SchemaError(f"Both tables of a release in two need the column '{GROUP}', which joins them.")
    lo, hi = _intervals(main, table)
    number = _numbers(main[GROUP], main[GROUP]) if numbered else None
    box, first = _alike(lo, hi, table.sizes, number)
    group = np.arange(len(first)) if number is None else number[first].astype(np.int64)
    count = np.bincount(box, minlength=len(first)).astype(np.float64)
    sizes = np.bincount(group, count).astype(np.int64)
    if "counterfeits" in tables:
        fakes = _fakes(tables["counterfeits"], main, table, (lo[:, first], hi[:, first]), len(sizes))
        count *= 1 - (fakes / sizes)[group]
    if "release" in tables:
        shares = _shares(main, table, group[box], None, len(sizes))
    else:
        second = tables["sensitive"]
        weights = second[COUNT].cast(pl.Int64).to_numpy() if COUNT in second.columns else None
        shares = _shares(second, table, _numbers(second[GROUP], main[GROUP]), weights, len(sizes))
    return Published(table, lo[:, first], hi[:, first], count, group, sizes, shares)


def _intervals(frame: pl.DataFrame, table: Table) -> tuple[Codes, Codes]:
    """Quasi-identifiers x rows: the published intervals."""
    absent = [name for name in table.schema.quasi if name not in frame.columns]
    if absent:
        raise SchemaError(
            f"The published table lacks the quasi-identifier '{absent[0]}'." + nearest_column(absent[0], frame.columns)
        )
    lo, hi = np.empty((2, len(table.codings), frame.height), np.int32)
    for place, (name, coding) in enumerate(zip(table.schema.quasi, table.codings, strict=True)):
        read = parse_column(frame[name], coding)
        lo[place], hi[place] = read.lo, read.hi
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


def _numbers(column: pl.Series, known: pl.Series) -> Ints:
    """Group numbers, whatever they look like, as places among the known ones."""
    texts = known.cast(pl.String).unique().sort()
    places = column.cast(pl.String).cast(pl.Enum(texts.drop_nulls()), strict=False).to_physical().cast(pl.Int64)
    if places.null_count():
        raise DataError(f"{places.null_count()} rows have a '{GROUP}' that the other table lacks, or none at all.")
    return places.to_numpy()


def _fakes(declared: pl.DataFrame, main: pl.DataFrame, table: Table, boxes: tuple[Codes, Codes], groups: int) -> Floats:
    """How many counterfeits each group is declared to have."""
    number = declared["counterfeits"].cast(pl.Float64).to_numpy()
    if GROUP in declared.columns:
        place = _numbers(declared[GROUP], main[GROUP])
    else:
        lo, hi = _intervals(declared, table)
        both = [np.concatenate(pair, axis=1) for pair in zip(boxes, (lo, hi), strict=True)]
        box, first = _alike(both[0], both[1], table.sizes)
        if len(first) > groups:
            raise DataError("The table of counterfeits names groups that were not published.")
        place = np.empty(len(first), np.int64)
        place[box[:groups]] = np.arange(groups)
        place = place[box[groups:]]
    return np.bincount(place, number, groups).astype(np.float64)


def _shares(
    frame: pl.DataFrame, table: Table, group: Ints, weights: Ints | None, groups: int
) -> "sparse.csr_matrix | None":
    """Groups x sensitive codes: the share of the group's rows; rows with a value that the original lacks count too."""
    names = table.schema.sensitive
    if not names or not set(names) <= set(frame.columns):
        return None
    value = _sensitive(frame, table)
    sizes = np.bincount(group, weights, groups)
    known = value >= 0
    each = (1 if weights is None else weights) / np.maximum(sizes, 1)[group]
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
