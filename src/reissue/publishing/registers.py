"""Tables of people that an adversary may have, looked at before any attack runs: whether they fit the releases."""

from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from reissue.data.table import Table, to_polars
from reissue.engines.registry import MEMORY, open_where_it_lies
from reissue.errors import InputError, SchemaError
from reissue.people.knowledge import Knowledge
from reissue.people.presences import counted_population
from reissue.published.series import Series
from reissue.release.release import Release
from reissue.words import plural

__all__ = ["check_registers"]


def check_registers(knowledge: Knowledge, series: Series, engine: str = MEMORY) -> Knowledge:
    """Refuse tables that lack columns or are too many or too few; each mistake is said once, with the nearest name.

    A table of people that does not lie in memory is counted by an engine: the same knowledge with that instead.
    """
    members = knowledge.members
    if members is not None and len(members) != len(series):
        raise InputError(
            f"There are {plural(len(series), 'release')} and {plural(len(members), 'table')} of members: give one "
            "table for each release, in the same order."
        )
    shown = [name for name in series.schema.quasi if any(name not in one.lacking for one in series.releases)]
    named = [series.schema.identifier] if len(series) > 1 and series.schema.identifier else []
    for number, one in enumerate(members or (), start=1):
        columns = _columns(one, series)
        if columns is not None and len(series) > 1 and series.schema.identifier is None:
            raise SchemaError(
                "Tables of members need a column that names people, the same in all of them: say which with "
                '--identifier COLUMN, or give it the role "identifier" in the schema.'
            )
        _refuse_lacking(f"Table {number} of members", columns, [*named, *shown])
    people = knowledge.population
    if people is None:
        return knowledge
    if engine == MEMORY or isinstance(people, Table | Release):
        _refuse_lacking("The table of people", _columns(people, series), shown)
        return knowledge
    source = open_where_it_lies(engine, people)
    _refuse_lacking("The table of people", list(source.columns), shown)
    return replace(knowledge, population=counted_population(source, series.schema))


def _columns(table: Any, series: Series) -> list[str] | None:
    """What the columns of a table are called; None for one that was read before."""
    if isinstance(table, Table | Release):
        return None
    frame, _ = to_polars(table, series.schema)
    return list(frame.columns)


def _refuse_lacking(what: str, columns: list[str] | None, wanted: list[str]) -> None:
    absent = [] if columns is None else [name for name in wanted if name not in columns]
    if not absent or columns is None:
        return
    spelled = ", ".join(f"'{name}'{_near(name, columns)}" for name in absent)
    raise SchemaError(
        f"{what} lacks {'a column' if len(absent) == 1 else 'columns'} that the releases are compared by: {spelled}. "
        "Rename what is spelled otherwise; leave out with --quasi, or in the schema, what nobody knows."
    )


def _near(name: str, columns: list[str]) -> str:
    spelled = {column.lower(): column for column in columns}
    close = get_close_matches(name.lower(), spelled, n=1, cutoff=0.5)
    return f" (is it '{spelled[close[0]]}'?)" if close else ""
