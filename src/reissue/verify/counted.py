"""Published tables for the check: all rows, or the different ones with their numbers, where an engine counts them."""

from typing import Any

from reissue.engines.base import Source
from reissue.engines.registry import AUTO, MEMORY, choose
from reissue.errors import DataError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.tables import refuse_nested
from reissue.published import PublishedRelease, read_published
from reissue.published.tables import WHOLE, Tables
from reissue.release.release import GROUP, Release
from reissue.schema import Schema
from reissue.verify.risk import RiskInputs

__all__ = ["read_counted", "read_for_check", "refuse_records"]


def read_for_check(
    published: Any, schema: Schema, *, by: str | None = None, dialect: Dialect = FOUND, engine: str = AUTO
) -> PublishedRelease:
    """A release as `check` reads it; `by` is a column that numbers groups."""
    known = isinstance(published, PublishedRelease | Release)
    chosen = choose(MEMORY if known and engine == AUTO else engine, published)
    if chosen.name == MEMORY:
        return read_published(published, schema, dialect=dialect, as_text=False)
    if schema.several_rows:
        raise InputError(f"The engine '{chosen.name}' counts rows, not people who have several: use engine memory.")
    return read_counted(chosen.open(published), schema, by=by)


def read_counted(source: Source, schema: Schema, *, by: str | None = None) -> PublishedRelease:
    """A release that an engine has opened: its different rows, each with its number."""
    asked = dict.fromkeys([*schema.quasi, *schema.sensitive, *([by] if by else []), GROUP])
    columns = [name for name in source.columns if name in asked]
    if not columns:
        raise DataError("The published table has none of the columns that the schema names.")
    counted = source.counts(columns)
    refuse_nested(counted.values, columns)
    return read_published(Tables({WHOLE: counted.values}, times=counted.times), schema)


def refuse_records(release: PublishedRelease, inputs: RiskInputs) -> None:
    """Stop where risk is asked for that needs every record, and equal ones were counted."""
    if release.tables.times is not None and inputs.by_record:
        raise InputError(
            "A register, weights and households are matched with single records, and this engine counts equal ones "
            "together: use engine memory."
        )
