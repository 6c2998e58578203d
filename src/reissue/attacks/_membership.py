"""Who stands in which group of which release, over a whole series, and what the groups show.

Known membership is what attacks over a series start from: the adversary knows who was in the data, and finds the group
by the quasi-identifiers. Read from our own releases; from files that kept the identifier column (a holder's private
copy); or from tables of people, one per release, by which published group their quasi-identifiers fall into. Whoever
fits several groups is left out, and a group's other records, counterfeits too, are people nobody knows. In a private
copy those with the same published quasi-identifiers are taken for the same from release to release; with tables of
people each is one of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue._identifiers import identifier_texts
from reissue.attacks._base import CannotRunError, Knowledge
from reissue.attacks._hashing import mix
from reissue.attacks._series import Published, Series
from reissue.cells import cells_of
from reissue.errors import InputError, SchemaError
from reissue.notation import parse_column
from reissue.people.containment import containment
from reissue.release import GROUP, Release
from reissue.schema import Role, Schema
from reissue.table import Table, to_polars

__all__ = ["COUNT", "NUMBER", "Membership", "fitting", "membership", "mix", "numbered", "published_rows"]

NUMBER, COUNT = "\0group", "\0count"
"""Columns beside those of the data, whatever the data's own are called."""
_PERSON, _RELEASE, _REAL = "\0person", "\0release", "\0real"
_STRANGER = "\0"
"""How the name of a record that nobody knows begins."""
_ALONE = "\0#"
"""How a record that nobody knows, and that is in one release only, is named for a while."""


@dataclass(frozen=True, eq=False)
class Membership:
    """Presences of people in groups, sorted by group; and the groups' values."""

    person: Ints
    """Presence to person 0, 1, ..."""
    group: Ints
    """Presence to group; groups are numbered over all releases, in order of release."""
    release: Ints
    """Group to its release 0, 1, ..."""
    value_group: Ints
    """Histogram of the groups: group, value and count, sorted by group, then value."""
    value: Ints
    count: Ints
    real: Bools
    """Person to whether it is somebody whom the adversary knows."""
    names: tuple[str, ...] = ()
    """Value to its text; several sensitive columns are joined, and a missing value is a mark."""
    label: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Group to its number in its own release; none if nobody knows."""

    @property
    def people(self) -> int:
        """How many known people there are."""
        return int(self.real.sum())

    @cached_property
    def sizes(self) -> Ints:
        """Records of each group."""
        return np.bincount(self.group, minlength=len(self.release))

    @cached_property
    def kinds(self) -> Ints:
        """Group to the number of its multiset of values."""
        return self._classes(self.count)

    @cached_property
    def shapes(self) -> Ints:
        """Group to the number of its distribution of values: multisets that are multiples of each other share one."""
        starts = np.flatnonzero(np.diff(self.value_group, prepend=-1))
        common = np.gcd.reduceat(self.count, starts)
        return self._classes(self.count // np.repeat(common, np.diff(np.append(starts, len(self.count)))))

    @cached_property
    def distinct(self) -> Ints:
        """How many different values each group has."""
        return np.bincount(self.value_group, minlength=len(self.release))

    def _classes(self, count: Ints) -> Ints:
        keys = mix(self.value.astype(np.uint64) * np.uint64(1 << 32) + count.astype(np.uint64))
        sums = np.zeros(len(self.release), np.uint64)
        np.add.at(sums, self.value_group, keys)
        return np.unique(sums, return_inverse=True)[1].astype(np.int64)

    def until(self, releases: int) -> "Membership":
        """Only the first releases."""
        groups = int(np.searchsorted(self.release, releases))
        shown, seen = (int(np.searchsorted(of, groups)) for of in (self.group, self.value_group))
        person, again = np.unique(self.person[:shown], return_inverse=True)
        return Membership(
            again.astype(np.int64),
            self.group[:shown],
            self.release[:groups],
            self.value_group[:seen],
            self.value[:seen],
            self.count[:seen],
            self.real[person],
            self.names,
            self.label[:groups],
        )


def membership(series: Series, knowledge: Knowledge, *, strangers: bool = True) -> Membership:
    """Who stands where in all releases of a series; without strangers, groups keep all their values all the same."""
    return _numbered(*_gathered(series, knowledge, strangers=strangers), list(series.schema.sensitive))


def named_membership(series: Series, *, strangers: bool = True) -> tuple[Membership, Ints, Ints]:
    """The same, and every person's identifier, a whole number; and of people nobody knows the number that they keep.

    A person nobody knows who is in one release only has the number -1.
    """
    presences, values = _gathered(series, Knowledge(), strangers=strangers)
    members = _numbered(presences, values, list(series.schema.sensitive))
    names = presences[_PERSON].unique().sort()
    strange = names.str.starts_with(_STRANGER)
    known = names.set(strange, None).cast(pl.Int64).fill_null(-1).to_numpy()
    lasting = names.set(~strange | names.str.starts_with(_ALONE), None).str.strip_prefix(_STRANGER)
    return members, known, lasting.cast(pl.Int64).fill_null(-1).to_numpy()


def _gathered(series: Series, knowledge: Knowledge, *, strangers: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of all releases: person, group and whether it is known; and the values of each group with their counts."""
    if not series.schema.sensitive:
        raise CannotRunError("the schema names no sensitive column, so there is nothing to link people to.")
    given = knowledge.members
    if given is not None and len(given) != len(series):
        raise InputError(f"`members` must have one table for each of the {len(series)} releases.")
    parts, values = [], []
    for number, release in enumerate(series.releases):
        presences, shown = _presences(release, series.schema, None if given is None else given[number])
        presences = presences if strangers else presences.filter(_REAL)
        alone = pl.col(_PERSON).str.starts_with(_ALONE)
        names = pl.when(alone).then(pl.col(_PERSON) + f"\1{number}").otherwise(_PERSON)
        parts.append(presences.with_columns(names.alias(_PERSON), pl.lit(number).alias(_RELEASE)))
        values.append(shown.with_columns(pl.lit(number).alias(_RELEASE)))
    return pl.concat(parts), pl.concat(values)


def _numbered(presences: pl.DataFrame, values: pl.DataFrame, sensitive: list[str]) -> Membership:
    """People, groups and values as numbers."""
    groups = values.select(_RELEASE, NUMBER).unique().sort(_RELEASE, NUMBER).with_row_index("\0g")
    texts = values.with_columns(
        pl.concat_str(pl.col(sensitive).cast(pl.String).fill_null("\0"), separator="\1").alias("\0v")
    )
    shown = texts.join(groups, on=[_RELEASE, NUMBER]).group_by("\0g", "\0v").agg(pl.col(COUNT).sum())
    shown = shown.with_columns(pl.col("\0v").rank("dense").alias("\0n")).sort("\0g", "\0n")
    placed = presences.join(groups, on=[_RELEASE, NUMBER])
    people = placed.select(pl.col(_PERSON).rank("dense").alias("p") - 1, "\0g", _REAL).sort("\0g", "p")
    real = np.zeros(int(people["p"].max() or 0) + 1, np.bool_)  # type: ignore[arg-type]
    real[people["p"].to_numpy()] = people[_REAL].to_numpy()
    return Membership(
        people["p"].to_numpy().astype(np.int64),
        people["\0g"].to_numpy().astype(np.int64),
        groups[_RELEASE].to_numpy().astype(np.int64),
        shown["\0g"].to_numpy().astype(np.int64),
        shown["\0n"].to_numpy().astype(np.int64) - 1,
        shown[COUNT].to_numpy().astype(np.int64),
        real,
        tuple(shown["\0v"].unique().sort().to_list()),
        groups[NUMBER].to_numpy().astype(np.int64),
    )


def _presences(release: Published, schema: Schema, members: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One release: person, group and whether it is known; and the values of each group with their counts."""
    if members is None and release.source is not None and release.source.table.ids is not None:
        return _own(release.source)
    rows, values = published_rows(release.tables, schema)
    if not rows.height:
        raise CannotRunError("a release has no rows.")
    if members is not None:
        return _with_strangers(_matched(rows, schema, members), rows, schema), values
    if schema.identifier is None or schema.identifier not in rows.columns:
        raise CannotRunError(
            "it starts from who stands in which group: give our own releases, files that kept the identifier column, "
            "or a table of people for each release (`Knowledge(members=...)`)."
        )
    known = rows.filter(pl.col(schema.identifier).is_not_null())
    known = known.select(identifier_texts(known[schema.identifier]).alias(_PERSON), NUMBER)
    return _with_strangers(known, rows, schema), values


def _own(release: Release) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The holder's own release: everybody's group, and the counterfeits as people nobody knows."""
    table, draft = release.table, release.draft
    kept = np.flatnonzero(draft.groups >= 0)
    ids = identifier_texts(table.frame[table.schema.identifier or ""].gather(kept))
    groups = draft.groups[kept]
    codes = (table.sensitive if draft.sensitive is None else draft.sensitive)[kept]
    names = pl.Series(_PERSON, [], dtype=pl.String)
    if draft.counterfeits is not None:
        fakes = draft.counterfeits
        lasting = draft.memory.get("state", {}).get("fake_name")
        mark, numbers = (_ALONE, np.arange(len(fakes.groups))) if lasting is None else (_STRANGER, lasting)
        names = pl.select(pl.lit(mark) + pl.Series(numbers).cast(pl.String)).to_series().alias(_PERSON)
        groups, codes = np.concatenate([groups, fakes.groups]), np.concatenate([codes, fakes.sensitive])
    presences = pl.DataFrame(
        {
            _PERSON: pl.concat([ids.alias(_PERSON), names]),
            NUMBER: groups.astype(np.int64),
            _REAL: np.arange(len(groups)) < len(kept),
        }
    )
    values = table.decode(codes.astype(np.int32)).with_columns(pl.Series(NUMBER, groups, dtype=pl.Int64))
    values = values.group_by(NUMBER, *table.schema.sensitive).len(COUNT).with_columns(pl.col(COUNT).cast(pl.Int64))
    return presences, values


def published_rows(tables: Mapping[str, pl.DataFrame], schema: Schema) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The published rows with their group, and the values of each group with their counts."""
    rows = tables.get("quasi", tables.get("release", pl.DataFrame()))
    _refuse_absent(tables.get("sensitive", rows), schema.sensitive)
    if "sensitive" not in tables:
        rows = numbered(rows, schema)
        return rows, rows.group_by(NUMBER, *schema.sensitive).agg(pl.len().cast(pl.Int64).alias(COUNT))
    values = tables["sensitive"]
    mine, its = _as_numbers(rows[GROUP], values[GROUP])
    by_value = values.with_columns(its).group_by(NUMBER, *schema.sensitive)
    return rows.with_columns(mine), by_value.agg(pl.col("count").cast(pl.Int64).sum().alias(COUNT))


def numbered(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Published rows with the number of their group: their own, else by what they look like."""
    if GROUP in rows.columns and GROUP not in schema.columns:
        return rows.with_columns(*_as_numbers(rows[GROUP]))
    if not schema.quasi:
        raise SchemaError("The schema names no quasi-identifier: there is nothing that groups records.")
    _refuse_absent(rows, schema.quasi)
    texts = pl.struct(pl.col(schema.quasi).cast(pl.String))
    return rows.with_columns(texts.rank("dense").cast(pl.Int64).alias(NUMBER))


def _refuse_absent(rows: pl.DataFrame, names: Sequence[str]) -> None:
    absent = [name for name in names if name not in rows.columns]
    if absent:
        raise InputError(f"A release lacks columns that the schema names: {', '.join(absent)}.")


def _as_numbers(*columns: pl.Series) -> list[pl.Series]:
    """Group numbers as they are; where others called their groups by names, or left one out, numbers for these."""
    if all(column.dtype.is_integer() and column.dtype != pl.UInt64 and not column.null_count() for column in columns):
        return [column.cast(pl.Int64).alias(NUMBER) for column in columns]
    texts = [column.cast(pl.String).fill_null("\0") for column in columns]
    order = pl.concat(texts).unique().sort()
    return [order.search_sorted(text).cast(pl.Int64).alias(NUMBER) for text in texts]


def _with_strangers(known: pl.DataFrame, rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The known people of each group, and for its other records people nobody knows."""
    sizes = rows.group_by(NUMBER).len("size")
    missing = sizes.join(known.group_by(NUMBER).len("known"), on=NUMBER, how="left").select(
        # Numbers of rows are unsigned: their difference would never be below 0.
        NUMBER,
        (pl.col("size").cast(pl.Int64) - pl.col("known").fill_null(0)).alias("missing"),
    )
    if (missing["missing"] < 0).any():
        raise CannotRunError("more people than records were found in a group: the tables are not of these releases.")
    if schema.identifier in rows.columns and NUMBER in rows.columns:
        strangers = _lasting(rows.filter(pl.col(str(schema.identifier)).is_null()), schema)
    else:
        strangers = missing.filter(pl.col("missing") > 0).select(pl.col(NUMBER).repeat_by("missing")).explode(NUMBER)
        turn = pl.int_range(pl.len()).cast(pl.String)
        strangers = strangers.with_columns((pl.lit(_ALONE) + turn).alias(_PERSON))
    columns = [_PERSON, NUMBER]
    return pl.concat(
        [
            known.select(columns).with_columns(pl.lit(value=True).alias(_REAL)),
            strangers.select(columns).with_columns(pl.lit(value=False).alias(_REAL)),
        ]
    )


def _lasting(strangers: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Records without a name that look the same from release to release are one person."""
    looks = pl.concat_str(pl.col(schema.quasi).cast(pl.String).fill_null("\0"), separator="\1")
    marked = strangers.with_columns(looks.alias("\0looks"))
    turn = pl.int_range(pl.len()).over("\0looks").cast(pl.String)
    return marked.with_columns((pl.lit(_STRANGER) + pl.col("\0looks") + pl.lit("\3") + turn).alias(_PERSON))


def _matched(rows: pl.DataFrame, schema: Schema, members: Any) -> pl.DataFrame:
    """The people whose quasi-identifiers fall into exactly one published group."""
    ids, of_row, pairs = fitting(rows, schema, members)
    total = int(of_row.max(initial=-1)) + 1
    only = np.bincount(pairs[0], minlength=total) == 1
    where = np.full(total, -1, np.int64)
    where[pairs[0]] = pairs[1]
    rows_known = np.flatnonzero(only[of_row])
    return pl.DataFrame([ids.gather(rows_known), pl.Series(NUMBER, where[of_row[rows_known]])])


def fitting(rows: pl.DataFrame, schema: Schema, members: Any) -> tuple[pl.Series, Ints, Ints]:
    """Which published groups people fit: their names, the class of each, and the pairs (class, group), sorted.

    A class is all people with the same exact quasi-identifiers.
    """
    if schema.identifier is None:
        raise CannotRunError("the schema names no identifier, by which people could be told from each other.")
    frame, _ = to_polars(members, schema)
    used = {schema.identifier, *schema.quasi}
    table = Table.read(frame, schema.with_roles({name: Role.DROP for name in schema.columns if name not in used}))
    texts = [rows[name].cast(pl.String) for name in schema.quasi]
    read = [parse_column(text, coding, partial=True) for text, coding in zip(texts, table.codings, strict=True)]
    lo, hi = np.stack([part.lo for part in read]), np.stack([part.hi for part in read])
    somebody: Bools = np.asarray((lo <= hi).all(axis=0))
    if not somebody.any():
        raise CannotRunError("none of the people fits any published group: the tables are not of these releases.")
    rows, lo, hi = rows.filter(somebody), lo[:, somebody], hi[:, somebody]
    boxes = cells_of(
        np.vstack([lo, hi, rows[NUMBER].rank("dense").to_numpy()[np.newaxis]]).astype(np.int32), _sizes(table, rows)
    )
    width = len(schema.quasi)
    group = np.unique(rows[NUMBER].to_numpy())[boxes.codes[-1] - 1]
    cells = cells_of(table.codes, table.sizes)
    cell, box = containment(cells.codes, boxes.codes[:width], boxes.codes[width : 2 * width])
    pairs = np.unique(np.stack([cell, group[box]]), axis=1)
    return identifier_texts(table.frame[schema.identifier]).alias(_PERSON), cells.of_row, pairs


def _sizes(table: Table, rows: pl.DataFrame) -> list[int]:
    return [*table.sizes, *table.sizes, int(rows[NUMBER].n_unique()) + 1]
