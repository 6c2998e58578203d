"""Who gave which record of a release, and what is left of releases without a coalition's own records.

A coalition of providers knows its own records, so it can take them out of everything that was published and then attack
what is left like anyone else: `without` turns a series into what the coalition sees, and every attack runs on that.

Providers are known for our own releases (the holder's table names them), and for files or frames that still have the
provider column, which a published file never has: these are the holder's audit copies.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.attacks.cases import box_text, row_texts, shown
from reissue.attacks.pictures import Shown
from reissue.counting.cells import Domain
from reissue.counting.keys import pack, rank
from reissue.counting.margins import Margin
from reissue.data.table import code_column, column_margins
from reissue.errors import CannotRunError, DataError, InputError
from reissue.kernels.coalitions.contributions import Contributions
from reissue.published import Form, PublishedRelease, read_published, read_tables
from reissue.published.series import Series
from reissue.release.recode import tables_of
from reissue.release.release import Boxes, Release
from reissue.schema import Schema

__all__ = ["ProviderRecords", "read_records", "without"]


@dataclass(frozen=True, eq=False)
class ProviderRecords:
    """What a release's providers gave, by published group."""

    contributions: Contributions
    names: Sequence[str]
    """The providers' names by number."""
    margins: Sequence[Margin]
    """Each sensitive column by itself, and all of them together where there are several."""
    look: Callable[[int], tuple[Shown, dict[int, str]]]
    """Group to its quasi-identifiers as published, if generalized, and to the texts of its sensitive values."""


def read_records(published: PublishedRelease, schema: Schema) -> ProviderRecords:
    """Count a release by group, provider and sensitive value."""
    if published.source is not None:
        return _of_release(published.source)
    frame = _frame(published, schema)
    providers, names = _numbered(frame[_column(schema)])
    texts = [frame[name].cast(pl.String).rank("dense").fill_null(0).to_numpy() for name in schema.quasi]
    groups, _ = rank(pack(texts, [int(text.max(initial=0)) + 1 for text in texts])[0])
    codings = [code_column(_typed(frame[name]), schema) for name in schema.sensitive]
    columns = [c.encode(_typed(frame[n]))[0] for c, n in zip(codings, schema.sensitive, strict=True)]
    if len(columns) == 1:
        totals = np.bincount(columns[0], published.weights, codings[0].taxonomy.size).astype(np.int64)
        domain = Domain(totals, codings[0].taxonomy)
        values = columns[0].astype(np.int64)
        joint = np.arange(domain.size, dtype=np.int32)[np.newaxis]
    else:
        packed = pack(columns, [c.taxonomy.size for c in codings])[0] if columns else np.zeros(frame.height, np.int64)
        values, _ = rank(packed)
        domain = Domain(np.bincount(values, published.weights).astype(np.int64))
        first = np.unique(values, return_index=True)[1]
        joint = np.array([column[first] for column in columns], np.int32).reshape(len(columns), domain.size)
    margins = column_margins(schema, codings, joint)

    def look(group: int) -> tuple[Shown, dict[int, str]]:
        mine = np.flatnonzero(groups == group)
        rows = frame[mine].cast(pl.String)
        texts = {name: rows[name][0] for name in schema.quasi}
        return shown(texts), dict(zip(values[mine].tolist(), row_texts(rows.select(schema.sensitive)), strict=True))

    given = Contributions.of_rows(groups, providers, values, domain, published.weights)
    return ProviderRecords(given, names, margins, look)


def _of_release(release: Release) -> ProviderRecords:
    """From what stays with the holder; groups with the same box are one group to a reader, unless numbered."""
    draft, table = release.draft, release.table
    if table.providers is None:
        raise CannotRunError(
            'nobody knows who gave which record: the schema names no column as "provider".', needs=["providers"]
        )
    providers, names = _numbered(table.providers)
    sensitive = table.sensitive if draft.sensitive is None else draft.sensitive
    totals = np.bincount(sensitive[draft.groups >= 0], minlength=table.domain.size)
    groups = draft.groups
    if draft.form == Form.GENERALIZED:
        ends = [ends[place] for place in range(len(table.sizes)) for ends in (release.boxes.lo, release.boxes.hi)]
        number, _ = rank(pack(ends, [size for size in table.sizes for _ in range(2)])[0])
        groups = np.where(groups >= 0, number[groups], -1).astype(np.int32)

    def look(group: int) -> tuple[Shown, dict[int, str]]:
        mine = np.flatnonzero(groups == group)
        codes = np.unique(sensitive[mine])
        return box_text(release, int(draft.groups[mine[0]])), dict(
            zip(codes.tolist(), row_texts(table.decode(codes)), strict=True)
        )

    given = groups.astype(np.int64), providers, sensitive.astype(np.int64)
    fakes = draft.counterfeits
    if fakes is not None:
        of_fake = fakes.groups if draft.form != Form.GENERALIZED else number[fakes.groups]
        given = _with_counterfeits(given, of_fake.astype(np.int64), fakes.sensitive.astype(np.int64))
        totals = totals + np.bincount(fakes.sensitive, minlength=len(totals))
    contributions = Contributions.of_rows(*given, replace(table.domain, totals=totals))
    return ProviderRecords(contributions, names, table.margins, look)


def _with_counterfeits(given: tuple[Ints, Ints, Ints], of_fake: Ints, value: Ints) -> tuple[Ints, Ints, Ints]:
    """With records of nobody: they count as those of the provider to whom all people of their group belong."""
    groups, providers, sensitive = given
    here = groups >= 0
    low, high = (np.full(int(groups.max(initial=-1)) + 1, none) for none in (len(providers), -1))
    np.minimum.at(low, groups[here], providers[here])
    np.maximum.at(high, groups[here], providers[here])
    if (low[of_fake] != high[of_fake]).any():
        raise CannotRunError(
            "the release has counterfeits in groups of several providers; no provider gave them, and none can tell "
            "them apart."
        )
    columns = zip((groups, providers, sensitive), (of_fake, low[of_fake], value), strict=True)
    groups, providers, sensitive = (np.concatenate(both) for both in columns)
    return groups, providers, sensitive


def without(series: Series, coalition: Collection[str]) -> Series:
    """The series as a coalition sees it: without its own records."""
    if not coalition:
        return series
    known: set[str] = set()
    releases = []
    for published in series.releases:
        release, names = _rest(published, series.schema, coalition)
        releases.append(release)
        known |= names
    strangers = len(set(coalition) - known)
    if strangers:
        raise InputError(f"The coalition names {strangers} providers who gave no record to any of the releases.")
    return replace(series, releases=tuple(releases))


def _rest(published: PublishedRelease, schema: Schema, coalition: Collection[str]) -> tuple[PublishedRelease, set[str]]:
    """One release without the coalition's records, and the names of its providers."""
    if published.source is None:
        frame = _frame(published, schema)
        names = frame[_column(schema)].cast(pl.String)
        others, times = ~names.is_in(list(coalition)), published.tables.times
        left = read_tables(_some(frame.filter(others).drop(_column(schema))))
        left = left if times is None else replace(left, times=times.filter(others))
        return PublishedRelease(left, schema, published.form), set(names.unique())
    release = published.source
    if release.table.providers is None:
        raise CannotRunError(
            'nobody knows who gave which record: the schema names no column as "provider".', needs=["providers"]
        )
    names = release.table.providers.cast(pl.String)
    rest = _release_of(release, ~names.is_in(list(coalition)).to_numpy())
    _some(next(iter(rest.tables.values())))
    return read_published(rest, schema), set(names.unique())


def _some(frame: pl.DataFrame) -> pl.DataFrame:
    if not frame.height:
        raise CannotRunError("the coalition gave all records of a release: there is nobody left to attack.")
    return frame


def _release_of(release: Release, others: Bools) -> Release:
    """Our own release with some of its rows only, in the boxes that were published."""
    table, draft = release.table, release.draft
    kept = others & (draft.groups >= 0)
    present = np.unique(draft.groups[kept])
    groups = np.searchsorted(present, draft.groups[kept]).astype(np.int32)
    sensitive = table.sensitive[kept]
    domain = replace(table.domain, totals=np.bincount(sensitive, minlength=table.domain.size))
    table = replace(
        table, codes=table.codes[:, kept], sensitive=sensitive, domain=domain, frame=table.frame.filter(pl.Series(kept))
    )
    changed = None if draft.sensitive is None else draft.sensitive[kept]
    # Looks are of all rows; without them quasi-identifiers are exact, which gives the attacker no less.
    draft = replace(draft, groups=groups, sensitive=changed, looks=None, state=None, memory=None, e=None)
    sizes = np.bincount(groups, minlength=len(present)).astype(np.int64)
    boxes = Boxes(release.boxes.lo[:, present], release.boxes.hi[:, present], sizes)
    tables = tables_of(table, draft, boxes, np.random.default_rng(0))
    return replace(release, tables=tables, table=table, draft=draft, boxes=boxes)


def _frame(published: PublishedRelease, schema: Schema) -> pl.DataFrame:
    """The one table with the provider of each record."""
    frame = published.generalized
    if frame is None:
        raise CannotRunError(
            "a release publishes quasi-identifiers and sensitive values apart and does not tell who gave which value; "
            "give the Release itself.",
            needs=["providers"],
        )
    if _column(schema) not in frame.columns:
        raise CannotRunError(
            "a release has no column that names the provider of each record: give the holder's copy, which has it.",
            needs=["providers"],
        )
    return frame


def _column(schema: Schema) -> str:
    if schema.provider is None:
        raise CannotRunError(
            'nobody knows who gave which record: the schema names no column as "provider".', needs=["providers"]
        )
    return schema.provider


def _numbered(column: pl.Series) -> tuple[Ints, list[str]]:
    """Providers as numbers, in the order of their names."""
    if column.null_count():
        raise DataError(f"The provider is missing in {column.null_count()} rows.")
    names = column.cast(pl.String)
    listed = names.unique().sort()
    numbers = names.rank("dense").to_numpy().astype(np.int64) - 1
    return numbers, listed.to_list()


def _typed(column: pl.Series) -> pl.Series:
    """A column that was read as text, as numbers where all of it are numbers."""
    if column.dtype != pl.String:
        return column
    for kind in (pl.Int64, pl.Float64):
        cast = column.cast(kind, strict=False)
        if cast.null_count() == column.null_count():
            return cast
    return column
