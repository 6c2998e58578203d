"""Published tables that an engine counts: distinct rows with their numbers, read like the table itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from reissue.engines.base import Counted, Engine, FollowsPeople, Source, WhoHasWhich
from reissue.errors import DataError
from reissue.files.places import SECOND_TABLES, beside_folder
from reissue.files.tables import refuse_nested
from reissue.published.release import PublishedRelease, read_published
from reissue.published.tables import QUASI, VALUES, WHOLE, Tables
from reissue.release.release import COUNT, COUNTERFEITS, GROUP
from reissue.schema import Schema

__all__ = ["open_counted", "read_counted", "with_people"]


def open_counted(
    engine: Engine, data: Any, schema: Schema, *, by: str | None = None, providers: bool = False
) -> PublishedRelease:
    """Open a release in place; if it is a folder, its further tables are folders beside it (`out.sensitive`)."""
    beside: dict[str, Source] = {}
    alone = data[0] if isinstance(data, list | tuple) and len(data) == 1 else data
    if isinstance(alone, str | Path) and Path(alone).is_dir():
        folders = {name: beside_folder(Path(alone), name) for name in SECOND_TABLES}
        beside = {name: engine.open(folder) for name, folder in folders.items() if folder.is_dir()}
    return read_counted(engine.open(data), schema, by=by, providers=providers, beside=beside)


def read_counted(
    source: Source,
    schema: Schema,
    *,
    by: str | None = None,
    providers: bool = False,
    beside: Mapping[str, Source] | None = None,
) -> PublishedRelease:
    """Read a release that an engine has opened; `providers` asks for the provider of each record, in a holder's copy.

    `beside` are its further tables: the sensitive values of groups, and their numbers of counterfeits.
    """
    more = [name for name in (by, schema.provider if providers else None) if name]
    asked = dict.fromkeys([*schema.quasi, *schema.sensitive, *more, GROUP])
    columns = [name for name in source.columns if name in asked]
    if not columns:
        raise DataError("The published table has none of the columns that the schema names.")
    counted = source.counts(columns)
    refuse_nested(counted.values, columns)
    others = {name: one for name, one in (beside or {}).items() if GROUP in one.columns and GROUP in columns}
    lacking = set(schema.sensitive) - set(columns)
    apart = bool(lacking) and VALUES in others and lacking <= set(others[VALUES].columns)
    frames = {QUASI if apart else WHOLE: counted.values}
    if apart:
        frames[VALUES] = _numbers(others[VALUES], [GROUP, *schema.sensitive], COUNT)
    if COUNTERFEITS in others:
        frames[COUNTERFEITS] = _numbers(others[COUNTERFEITS], [GROUP], COUNTERFEITS)
    return read_published(Tables(frames, times=counted.times, opened=source), schema)


def _numbers(source: Source, by: list[str], number: str) -> pl.DataFrame:
    """Read a small table of numbers, whose rows may be in several parts; without the column a row counts as one."""
    asked = [name for name in source.columns if name in {*by, number}]
    counted = source.counts(asked)
    each = counted.values[number] if number in asked else pl.Series([1]).new_from_index(0, len(counted.times))
    return counted.values.with_columns((each.cast(pl.Int64) * counted.times).alias(number))


# --- whose the rows are ---------------------------------------------------------------------------------------------


def with_people(releases: Sequence[PublishedRelease], schema: Schema) -> tuple[PublishedRelease, ...]:
    """Let releases say whose each row is, where an engine knows; it is asked on first use.

    Where people are told by numbers, these say something among the releases that were asked for together only, so all
    of the series must have been opened by that engine.
    """
    one_engine = len({type(release.tables.opened) for release in releases}) == 1
    known = [_known(release, schema.identifier, one_engine=one_engine) for release in releases]
    asked = [one for one in known if one is not None]
    answer = cache(lambda: _followed(asked, str(schema.identifier)))
    turn = iter(range(len(asked)))
    return tuple(
        release if one is None else replace(release, tables=replace(release.tables, people=_turn(answer, next(turn))))
        for release, one in zip(releases, known, strict=True)
    )


def _known(release: PublishedRelease, name: str | None, *, one_engine: bool) -> tuple[FollowsPeople, Counted] | None:
    """A table whose people can be followed, and its counts."""
    source, times = release.tables.opened, release.tables.times
    if not isinstance(source, FollowsPeople) or times is None or not (source.tells_identifiers or one_engine):
        return None
    kept = name in source.columns and name not in release.main.columns
    return (source, Counted(release.main, times)) if kept else None


def _turn(answer: Callable[[], list[WhoHasWhich]], place: int) -> Callable[[], WhoHasWhich]:
    return lambda: answer()[place]


def _followed(asked: Sequence[tuple[FollowsPeople, Counted]], name: str) -> list[WhoHasWhich]:
    """Ask each engine for all of its tables at once."""
    found: dict[int, WhoHasWhich] = {}
    for kind in {type(source) for source, _ in asked}:
        places = [place for place, (source, _) in enumerate(asked) if type(source) is kind]
        tables = [asked[place] for place in places]
        found |= zip(places, tables[0][0].by_person(name, tables), strict=True)
    return [found[place] for place in range(len(asked))]
