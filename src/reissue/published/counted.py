"""Published tables that an engine counts: the different rows, each with its number, read as the table itself is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from reissue.engines.base import Engine, Source
from reissue.errors import DataError
from reissue.files.places import SECOND_TABLES, beside_folder
from reissue.files.tables import refuse_nested
from reissue.published.release import PublishedRelease, read_published
from reissue.published.tables import QUASI, VALUES, WHOLE, Tables
from reissue.release.release import COUNT, COUNTERFEITS, GROUP
from reissue.schema import Schema

__all__ = ["open_counted", "read_counted"]


def open_counted(
    engine: Engine, data: Any, schema: Schema, *, by: str | None = None, providers: bool = False
) -> PublishedRelease:
    """A release where it lies; of one in a folder, further tables lie in folders beside it (`out.sensitive`)."""
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
    """A release that an engine has opened; `providers` asks for who gave each record, in a holder's copy.

    `beside` are its further tables: the sensitive values of groups, and how many of their records are nobody's.
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
    """A small table of numbers, whose rows may be in several parts; without the column of numbers a row is one."""
    asked = [name for name in source.columns if name in {*by, number}]
    counted = source.counts(asked)
    each = counted.values[number] if number in asked else pl.Series([1]).new_from_index(0, len(counted.times))
    return counted.values.with_columns((each.cast(pl.Int64) * counted.times).alias(number))
