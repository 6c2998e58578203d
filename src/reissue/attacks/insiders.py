"""Releases as a coalition of providers sees them: without its own records.

A coalition knows its own records, so it can take them out of everything that was published and then attack what is left
like anyone else. Whoever has a record of a person knows that person: where an identifier tells that others gave records
of the same people, these are taken out too.

Providers are known of our own releases (the holder's table names them), and of files or frames that still have the
provider column, which a published file never has: these are the holder's own copies.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.counting.keys import rank
from reissue.errors import CannotRunError, InputError
from reissue.published import PublishedRelease, read_published, read_tables
from reissue.published.series import Series
from reissue.release.recode import tables_of
from reissue.release.release import Boxes, Release
from reissue.schema import Schema

__all__ = ["frame_of", "known_people", "people_of_rows", "provider_column", "refuse_outsiders", "repeated", "without"]

NO_PROVIDER = 'nobody knows who gave which record: the schema names no column as "provider".'


def refuse_outsiders(series: Series, coalition: Collection[str]) -> None:
    """Refuse a coalition with members who gave no record to any of the releases, as far as that is known.

    Raises
    ------
    InputError
        With the number of such members.

    """
    known: set[str] = set()
    for one in series.releases:
        given = _providers(one)
        if given is None:
            return
        known.update(given.cast(pl.String).unique().drop_nulls())
    outsiders = len(set(coalition) - known)
    if outsiders:
        raise InputError(f"The coalition names {outsiders} providers who gave no record to any of the releases.")


def _providers(release: PublishedRelease) -> pl.Series | None:
    """Who gave each record; None where nobody knows."""
    source, own, name = release.source, release.presences, release.schema.provider
    table = source.table if source is not None else None if own is None else own.table
    if table is not None:
        return table.providers
    return release.main[name] if name is not None and name in release.main.columns else None


def without(series: Series, coalition: Collection[str]) -> Series:
    """Return the series as a coalition sees it: without its own records."""
    if not coalition:
        return series
    return replace(series, releases=tuple(_rest(one, series.schema, coalition) for one in series.releases))


def _rest(published: PublishedRelease, schema: Schema, coalition: Collection[str]) -> PublishedRelease:
    """One release without the coalition's records."""
    if published.source is None:
        frame = frame_of(published, schema)
        names = frame[provider_column(schema)].cast(pl.String)
        left = _rows_of_others(published, names.is_in(list(coalition)).to_numpy())
        others, times = pl.Series(left > 0), published.tables.times
        tables = read_tables(_some(frame.filter(others).drop(provider_column(schema))))
        tables = tables if times is None else replace(tables, times=pl.Series(left).filter(others))
        return PublishedRelease(tables, schema, published.form)
    release = published.source
    if release.table.providers is None:
        raise CannotRunError(NO_PROVIDER, needs=["providers"])
    names = release.table.providers.cast(pl.String)
    known: Bools = names.is_in(list(coalition)).to_numpy()
    if release.table.people is not None:
        known = known_people(pl.Series(release.table.people), known)
    rest = _release_of(release, ~known)
    _some(next(iter(rest.tables.values())))
    return read_published(rest, schema)


def _rows_of_others(published: PublishedRelease, own: Bools) -> Ints:
    """Row to how many of its records are of people whom the coalition does not know."""
    people = people_of_rows(published)
    if people is None or not repeated(people[0]):
        return np.where(own, 0, published.row_times)
    who, row = people
    known = known_people(pl.Series(who), own[row])
    return np.bincount(row[~known], minlength=len(own)).astype(np.int64)


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


def frame_of(published: PublishedRelease, schema: Schema) -> pl.DataFrame:
    """The one table with the provider of each record."""
    frame = published.generalized
    if frame is None:
        raise CannotRunError(
            "a release publishes quasi-identifiers and sensitive values apart and does not tell who gave which value; "
            "give the Release itself.",
            needs=["providers"],
        )
    if provider_column(schema) not in frame.columns:
        raise CannotRunError(
            "a release has no column that names the provider of each record: give the holder's copy, which has it.",
            needs=["providers"],
        )
    return frame


def provider_column(schema: Schema) -> str:
    """The column that names who gave a record; CannotRunError where there is none."""
    if schema.provider is None:
        raise CannotRunError(NO_PROVIDER, needs=["providers"])
    return schema.provider


def people_of_rows(published: PublishedRelease) -> tuple[Ints, Ints] | None:
    """Person and row of each record of a copy that kept the identifier; None of other releases.

    Records without an identifier are people of their own.
    """
    if not published.keeps_identifier:
        return None
    ids, row = published.named
    nobody = ids.is_null().to_numpy()
    person = ids.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    person[nobody] = -1 - np.arange(int(nobody.sum()))
    return rank(person)[0].astype(np.int64), row


def repeated(people: Ints) -> bool:
    """Whether somebody has several records."""
    return len(np.unique(people)) < len(people)


def known_people(people: pl.Series, own: Bools) -> Bools:
    """Row to whether its person is somebody of whom the coalition has a record."""
    known: Bools = own | people.is_in(people.filter(pl.Series(own)).unique().implode()).to_numpy()
    return known
