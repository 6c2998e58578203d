"""Published tables back into groups and counts, with Polars, sharing nothing with the algorithms' own counting.

What a group is, the reader of published tables says. Every column becomes small integers, the columns of a row
one integer, and sorted integers become runs: group, sensitive value, how many rows. All checks work on those runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from reissue.counting.cells import Domain
from reissue.errors import TaxonomyError
from reissue.protection import TOGETHER, Protection
from reissue.published import PublishedRelease
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding, Hierarchy, prepare, unrounded
from reissue.taxonomy.tree import Taxonomy

__all__ = ["CheckedGroups", "number_column", "read_columns", "read_groups"]

_LIMIT = 2**62
"""Bound of a packed key; beyond it keys are replaced by ranks."""


@dataclass(frozen=True, eq=False)
class CheckedGroups:
    """Published groups as runs of (group, value, count), with what is known about the values.

    A dataframe rather than a Histogram: the check shares no arithmetic with what it checks.
    """

    runs: pl.DataFrame
    """Columns `group` (0, 1, ...), `value`, `count`, sorted by group, then value."""
    domain: Domain
    """The values in the table from which distances are measured, with their taxonomy if there is one."""
    rows: tuple[pl.DataFrame, pl.Series] | None = None
    """The published quasi-identifiers, and a number for each row that sorts like groups; for boxes only."""
    times: pl.Series | None = None
    """The number of records of each of these rows, if equal ones were counted; None: one each."""
    members: pl.DataFrame | None = None
    """Distinct pairs of columns `group` and `person`, if people have repeated records; runs then count people."""
    column: str = ""
    """The sensitive column of the values, or all names if columns are taken together."""
    harmless: pl.Series | None = None
    """Which values need no protection; None: all need it."""

    @cached_property
    def statistics(self) -> pl.DataFrame:
        """Rows, distinct values and rows of the most frequent value of each group; or people instead of rows."""
        count = pl.col("count")
        found = self.runs.group_by("group", maintain_order=True).agg(
            count.sum().alias("size"), pl.len().alias("distinct"), count.max().alias("largest")
        )
        if self.members is None:
            return found
        return found.with_columns(self.members.group_by("group").len("size").sort("group")["size"])

    @cached_property
    def spared(self) -> "CheckedGroups":
        """The same groups, with a value of its own for each record whose value needs no protection."""
        if self.harmless is None or not self.harmless.any():
            return self
        free = self.runs.filter(self.harmless.gather(self.runs["value"]))
        if not free.height:
            return self
        single = free.select(pl.col("group").repeat_by("count").explode())
        number = pl.int_range(pl.len(), dtype=pl.Int64) + self.domain.size
        single = single.with_columns(number.alias("value"), pl.lit(1).alias("count"))
        bound = self.runs.filter(~self.harmless.gather(self.runs["value"]))
        columns = [pl.col("group", "value", "count").cast(pl.Int64)]
        runs = pl.concat([bound.select(columns), single.select(columns)]).sort("group", "value")
        totals = np.append(np.where(self.harmless.to_numpy(), 0, self.domain.totals), np.ones(single.height, np.int64))
        return CheckedGroups(runs, Domain(totals), self.rows, self.times, self.members, self.column)

    @property
    def total(self) -> int:
        """The number of groups."""
        return self.statistics.height

    @property
    def size(self) -> pl.Series:
        """Number of rows of each group."""
        return self.statistics["size"]

    @property
    def distinct(self) -> pl.Series:
        """Number of distinct sensitive values of each group."""
        return self.statistics["distinct"]

    @property
    def largest(self) -> pl.Series:
        """Number of rows of each group's most frequent value."""
        return self.statistics["largest"]

    @cached_property
    def share(self) -> pl.Series:
        """The share of each run in its group."""
        return (self.runs["count"] / self.size.gather(self.runs["group"])).alias("share")

    @cached_property
    def ranked(self) -> pl.DataFrame:
        """Runs sorted by frequency within each group, with their rank (0, 1, ...)."""
        most = self.runs["count"].max()
        width = int(most if isinstance(most, int) else 0) + 1
        key = (self.runs["group"].cast(pl.Int64) * width + (width - 1 - self.runs["count"].cast(pl.Int64))).sort()
        first = self.distinct.cum_sum() - self.distinct
        # Polars groups sorted columns run by run if it is told that they are sorted.
        ranked = pl.DataFrame({"group": (key // width).set_sorted(), "count": width - 1 - key % width})
        return ranked.with_columns((pl.int_range(pl.len()) - first.gather(ranked["group"])).alias("place"))

    def top(self, ranks: int) -> pl.Series:
        """Number of rows of each group's most frequent values together."""
        if ranks == 1:
            return self.largest.cast(pl.Int64)
        first = self.ranked.filter(pl.col("place") < ranks)
        return first.group_by("group", maintain_order=True).agg(pl.col("count").sum())["count"]

    def sum(self, each: pl.Series) -> pl.Series:
        """The sum over the runs of each group."""
        runs = pl.DataFrame({"group": self.runs["group"], "each": each})
        return runs.group_by("group", maintain_order=True).agg(pl.col("each").sum())["each"]


def read_groups(
    published: PublishedRelease,
    *,
    secrets: Sequence[Coding] = (),
    sensitive: bool = True,
    by: str | None = None,
    people: pl.Series | None = None,
    columns: Sequence[str] = (),
) -> CheckedGroups:
    """Count published tables by group and sensitive value.

    Parameters
    ----------
    published
        The published tables.
    by
        A column that numbers the groups, if not the release's own.
    secrets
        The holder's codings of the sensitive columns; without them the published values define their own.
    columns
        The sensitive columns that are taken together; by default all.
    sensitive
        Whether sensitive values are counted at all.
    people
        The person of each row of a single table, if people have repeated records: then people are counted, not rows.

    """
    rows, schema = published.values, published.schema
    if by is not None or not published.form.numbered:
        key, bound = _key(rows, list(schema.quasi) if by is None else [by])
    else:
        key, bound = pl.Series(published.value_group), published.groups
    weights = pl.Series(published.weights) if published.tables.apart or published.tables.times is not None else None
    asked = sensitive and bool(schema.sensitive)
    if not asked:
        values, domain, harmless = (*_nothing(rows, weights), None)
    else:
        values, domain, harmless = _values(rows, weights, schema, secrets, columns or schema.sensitive)
    named = TOGETHER.join(columns or schema.sensitive) if asked else ""
    if people is not None:
        return replace(_by_people(key, values, people, domain), column=named, harmless=harmless)
    if bound * domain.size > _LIMIT:
        key = key.rank("dense").cast(pl.Int64)
    boxes = None
    if published.form.boxes and by is None:
        shown, group = (published.main, pl.Series(published.group)) if published.tables.apart else (rows, key)
        boxes = (shown.select(schema.quasi), group)
    runs, times = _runs(key * domain.size + values, domain.size, weights), published.tables.times
    return CheckedGroups(runs, domain, boxes, times, column=named, harmless=harmless)


def read_columns(
    published: PublishedRelease,
    *,
    secrets: Sequence[Coding] = (),
    sensitive: bool = True,
    by: str | None = None,
    people: pl.Series | None = None,
) -> tuple[CheckedGroups, ...]:
    """Count published tables for each sensitive column by itself, and for all of them together if there are several.

    Groups have the same numbers in each result.
    """
    names = published.schema.sensitive
    sets: list[Sequence[str]] = [(), *([name] for name in names)] if sensitive and len(names) > 1 else [()]
    found = [
        read_groups(published, secrets=secrets, sensitive=sensitive, by=by, people=people, columns=one) for one in sets
    ]
    return (*found[1:], found[0])


def number_column(column: pl.Series) -> tuple[pl.Series, int]:
    """Number the distinct values of a column; return the numbers and an upper bound of them."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    whole = column.dtype.is_integer() and column.dtype not in {pl.UInt64, pl.Int128, pl.UInt128}  # fits 64 bits
    counted = whole or column.dtype.is_temporal() or isinstance(column.dtype, pl.Boolean | pl.Enum | pl.Categorical)
    if not counted:
        own = pl.Categorical(pl.Categories.random())
        column = column.cast(pl.String).cast(own)
    codes = column.to_physical().cast(pl.Int64)
    low, high = codes.min(), codes.max()
    if not (isinstance(low, int) and isinstance(high, int)):
        return pl.repeat(0, len(codes), dtype=pl.Int64, eager=True), 1
    if high - low > 4 * len(codes) + 1024:
        codes = codes.rank("dense").cast(pl.Int64)
        low, high = 1, int(codes.max())  # type: ignore[arg-type]
    codes = codes - low
    missing = column.null_count() > 0
    return (codes.fill_null(high - low + 1) if missing else codes), high - low + 1 + missing


def _key(frame: pl.DataFrame, columns: list[str]) -> tuple[pl.Series, int]:
    """One integer per row, equal where all columns are equal, with a bound above all of them."""
    key, bound = pl.repeat(0, frame.height, dtype=pl.Int64, eager=True), 1
    for name in columns:
        codes, size = number_column(frame[name])
        if bound * size > _LIMIT:
            key = key.rank("dense").cast(pl.Int64)
            bound = frame.height + 1
        key, bound = key * size + codes, bound * size
    return key, bound


def _runs(keys: pl.Series, width: int, weights: pl.Series | None) -> pl.DataFrame:
    if weights is None:
        runs = keys.sort().rle().struct.unnest().rename({"len": "count", "value": "key"})
    else:
        counted = pl.DataFrame({"key": keys, "count": weights.cast(pl.Int64)}).sort("key")  # then run by run
        runs = counted.group_by("key", maintain_order=True).agg(pl.col("count").sum()).filter(pl.col("count") > 0)
    key = pl.col("key")
    return runs.select((key // width).rle_id().alias("group"), (key % width).alias("value"), "count")


def _by_people(key: pl.Series, values: pl.Series, people: pl.Series, domain: Domain) -> CheckedGroups:
    """Groups of different people: each person counts once per group, and once for each value there."""
    rows = pl.DataFrame({"key": key, "value": values, "person": people}).unique()
    rows = rows.with_columns(group=pl.col("key").rank("dense").cast(pl.Int64) - 1)
    runs = rows.group_by("group", "value").agg(pl.len().alias("count")).sort("group", "value")
    return CheckedGroups(runs, domain, members=rows.select("group", "person").unique())


def _nothing(rows: pl.DataFrame, weights: pl.Series | None) -> tuple[pl.Series, Domain]:
    """A single sensitive value for all rows."""
    records = rows.height if weights is None else int(weights.sum())
    return pl.repeat(0, rows.height, dtype=pl.Int64, eager=True), Domain(np.array([records], np.int64))


def _values(
    rows: pl.DataFrame, weights: pl.Series | None, schema: Schema, secrets: Sequence[Coding], columns: Sequence[str]
) -> tuple[pl.Series, Domain, pl.Series]:
    """Number the values of some sensitive columns; return the numbers, their domain, and which need no protection.

    A combination needs no protection if it needs none in any column.
    """
    places = [schema.sensitive.index(name) for name in columns]
    coded = [
        _leaves(rows[name], schema.hierarchy(name), secrets[place : place + 1])
        for name, place in zip(columns, places, strict=True)
    ]
    protection = Protection.of(schema.policy, schema.sensitive)
    free = [
        pl.Series(protection.harmless_in(name, taxonomy.names))
        for name, (_, taxonomy) in zip(columns, coded, strict=True)
    ]
    values, taxonomy = coded[0]
    harmless, size = free[0], taxonomy.size
    if len(coded) > 1:
        together = pl.DataFrame({str(place): codes for place, (codes, _) in enumerate(coded)})
        values = _key(together, together.columns)[0].rank("dense").cast(pl.Int64) - 1
        size = max(values.n_unique(), 1)
        each = {str(place): own.gather(codes) for place, (own, (codes, _)) in enumerate(zip(free, coded, strict=True))}
        spared = pl.DataFrame(each).select(pl.all_horizontal(pl.all()).alias("spared"))
        harmless = spared.with_columns(values.alias("value")).unique("value").sort("value")["spared"]
    totals = np.bincount(values.to_numpy(), None if weights is None else weights.to_numpy(), size)
    return values, Domain(totals.astype(np.int64), taxonomy if len(coded) == 1 else None), harmless


def _leaves(column: pl.Series, hierarchy: Hierarchy, secret: Sequence[Coding]) -> tuple[pl.Series, Taxonomy]:
    """A sensitive column as leaf codes; each distinct value is looked up once."""
    codes, size = number_column(column)
    first = codes.is_first_distinct()
    hierarchy = secret[0].hierarchy if secret else unrounded(hierarchy, column)
    values = prepare(column.filter(first), hierarchy)
    coding = secret[0] if secret else Coding.build(hierarchy, values, published=False)
    leaves, unlisted = coding.encode(values)
    if len(unlisted):
        raise TaxonomyError(
            f"Column '{column.name}' has {len(unlisted)} different values that its taxonomy lacks. Add them to the "
            'hierarchy, or write  unlisted = "root"  to hang them directly under the root.'
        )
    leaf = np.zeros(size, np.int64)
    leaf[codes.filter(first).to_numpy()] = leaves
    return pl.Series(column.name, leaf[codes.to_numpy()]), coding.taxonomy
