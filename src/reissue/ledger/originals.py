"""Original tables: which release of a ledger was made from which table, and whose record is which.

A ledger stores neither who has which value nor who contributed which record. To find out what insiders would see in a
series, its holder supplies the tables again; each is recognized by its people and their values, in any order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from reissue.counting.texts import joined_texts
from reissue.data.table import Table
from reissue.errors import InputError, ReissueError
from reissue.files.dialect import FOUND, Dialect
from reissue.ledger.ledger import Ledger
from reissue.ledger.recorded import Recorded, releases_of, sent_of
from reissue.methods import look_up
from reissue.methods.registry import Trait
from reissue.published import PublishedRelease
from reissue.release.presences import Presences
from reissue.schema import Schema
from reissue.words import plural

__all__ = ["Originals", "find_originals"]


@dataclass(frozen=True, eq=False)
class Originals:
    """The releases that somebody may hold, each with the table that it was made from."""

    releases: tuple[PublishedRelease, ...]
    numbers: tuple[int, ...]
    next: Any = None
    """The table of the next release, if one more table was given."""


def find_originals(ledger: Ledger, tables: Sequence[Any], *, dialect: Dialect = FOUND) -> Originals:
    """Match releases with tables: of those that fit, the one with the fewest further people. One table may remain."""
    entries = ledger.entries()
    schema, sent, left = ledger.schema_of(entries), sent_of(releases_of(entries)), list(range(len(tables)))

    @cache
    def read(place: int, text: str) -> Table | None:
        return _read(ledger, tables[place], by[text], dialect)

    by: dict[str, Schema] = {}
    found, missing = [], []
    for one in sent:
        then = ledger.schema_of(entries[: entries.index(one.entry)])
        by[text := then.dumps()] = then
        release, known = _followed(ledger, one, schema)
        tables_read = ((place, read(place, text)) for place in left)
        fitting = sorted(_fitting(one, known, ((place, table) for place, table in tables_read if table is not None)))
        if not fitting:
            missing.append(one.number)
            continue
        _, place = fitting[0]
        left.remove(place)
        whole = known.with_table(_people(read(place, text), known))
        found.append(replace(release, tables=replace(release.tables, presences=whole)))
    if missing or len(left) > 1:
        raise InputError(_unlike(missing, len(sent), len(left)))
    return Originals(tuple(found), tuple(one.number for one in sent), tables[left[0]] if left else None)


def _unlike(missing: Sequence[int], releases: int, left: int) -> str:
    """The error for missing or superfluous tables."""
    lack = f"None of the tables is the one of release {', '.join(map(str, missing))}. " if missing else ""
    more = f"{plural(left, 'table')} of those given fit no release. " if left > 1 else ""
    return (
        f"{lack}{more}Give the original table of each of the {plural(releases, 'release')} that went out, as it was "
        "then, and at most one more, which becomes the next."
    )


def _followed(ledger: Ledger, one: Recorded, schema: Schema) -> tuple[PublishedRelease, Presences]:
    release = ledger.followed(one, schema)
    known = release.presences
    if known is None or one.record.adopted:
        raise InputError(
            f"Release {one.number} was not made through the ledger, or its people have no names: it is not known "
            "whose record is where."
        )
    return release, known


def _read(ledger: Ledger, data: Any, schema: Schema, dialect: Dialect) -> Table | None:
    """A table with pseudonyms as it was published; None if it cannot have been."""
    try:
        table = Table.read(data, schema, dialect=dialect)
    except ReissueError:
        return None
    ids = table.ids
    return None if ids is None else replace(table, frame=table.frame.with_columns(ledger.key.pseudonyms(ids)))


def _people(table: Table | None, known: Presences) -> Table | None:
    """The records of these people, in their order; None if somebody is not in the table."""
    if table is None or table.ids is None:
        return None
    place = pl.DataFrame({"id": table.ids, "row": np.arange(table.rows)})
    rows = pl.DataFrame({"id": known.ids}).join(place, on="id", how="left", maintain_order="left")["row"]
    return None if rows.null_count() else table.some(rows.to_numpy())


def _fitting(one: Recorded, known: Presences, tables: Iterator[tuple[int, Table]]) -> Iterator[tuple[int, int]]:
    """The tables that a release may have been made from, each with its number of further people and its position."""
    method = look_up(one.record.method)
    for place, table in tables:
        mine = _people(table, known)
        if mine is not None and (method is None or Trait.CHANGES_VALUES in method.traits or _shows(known, mine)):
            yield table.rows - mine.rows, place


def _shows(known: Presences, mine: Table) -> bool:
    """Whether every group shows the values of its people."""
    shown = known.histogram
    published = pl.DataFrame(
        {"group": shown.group, "text": pl.Series(shown.names, dtype=pl.String).gather(shown.value), "n": shown.count}
    )
    texts = joined_texts(mine.decode(mine.sensitive), mine.schema.sensitive)
    true = pl.DataFrame({"group": known.group, "text": texts}).group_by("group", "text").len()
    both = true.join(published, on=["group", "text"], how="left")
    return bool((both["len"] <= both["n"].fill_null(0)).all())
