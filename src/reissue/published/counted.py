"""Published tables that an engine counts: the different rows, each with its number, read as the table itself is."""

from functools import cache, partial

from reissue.engines.base import FollowsPeople, Source
from reissue.errors import DataError
from reissue.files.tables import refuse_nested
from reissue.published.release import PublishedRelease, read_published
from reissue.published.tables import WHOLE, Tables
from reissue.release.release import GROUP
from reissue.schema import Schema

__all__ = ["read_counted"]


def read_counted(source: Source, schema: Schema, *, by: str | None = None, providers: bool = False) -> PublishedRelease:
    """A release that an engine has opened; `providers` asks for who gave each record, in a holder's copy."""
    more = [name for name in (by, schema.provider if providers else None) if name]
    asked = dict.fromkeys([*schema.quasi, *schema.sensitive, *more, GROUP])
    columns = [name for name in source.columns if name in asked]
    if not columns:
        raise DataError("The published table has none of the columns that the schema names.")
    counted = source.counts(columns)
    refuse_nested(counted.values, columns)
    people = None
    if isinstance(source, FollowsPeople) and schema.identifier in source.columns and schema.identifier not in columns:
        people = cache(partial(source.by_person, str(schema.identifier), counted))
    return read_published(Tables({WHOLE: counted.values}, times=counted.times, people=people), schema)
