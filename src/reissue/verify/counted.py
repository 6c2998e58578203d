"""Published tables for the check: all rows, or the different ones with their numbers, where an engine counts them."""

from typing import Any

from reissue.engines.registry import AUTO, MEMORY, choose
from reissue.errors import InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.published import PublishedRelease, read_published
from reissue.published.counted import open_counted
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.verify.risk import RiskInputs

__all__ = ["read_for_check", "refuse_records"]


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
    return open_counted(chosen, published, schema, by=by)


def refuse_records(release: PublishedRelease, inputs: RiskInputs) -> None:
    """Stop where risk is asked for that needs every record, and equal ones were counted."""
    if release.tables.times is not None and inputs.by_record:
        raise InputError(
            "A register, weights and households are matched with single records, and this engine counts equal ones "
            "together: use engine memory."
        )
