"""What a ledger keeps of tables of counts: the cells as published, and who is in which class of each margin.

People are pseudonyms, and classes are numbers in the order of the published cells: no quasi-identifier of a person is
kept beyond what was published.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from reissue._arrays import Ints
from reissue.contingency.table import CountTable
from reissue.errors import DataError
from reissue.people.counts import kept_presences
from reissue.published import PublishedRelease, Tables, read_published
from reissue.release.presences import Presences
from reissue.release.states import unpack_state
from reissue.schema import Schema

__all__ = ["KeptCounts", "KeptMargin", "KeptTable", "counted_release"]


@dataclass(frozen=True, eq=False)
class KeptTable:
    """The cells of a table."""

    name: str
    dimensions: tuple[str, ...]
    categories: tuple[tuple[str | None, ...], ...]
    low: Ints
    high: Ints
    base: int
    hidden: int

    @classmethod
    def of(cls, table: CountTable) -> "KeptTable":
        """As it is kept."""
        rows = tuple(table.categories.rows())
        return cls(table.name, table.dimensions, rows, table.low, table.high, table.base, table.hidden)

    @property
    def table(self) -> CountTable:
        """The table again."""
        columns = dict.fromkeys(self.dimensions, pl.String)
        categories = pl.DataFrame([tuple(row) for row in self.categories], schema=columns, orient="row")
        return CountTable(self.name, categories, self.low, self.high, self.base, hidden=self.hidden)


@dataclass(frozen=True, eq=False)
class KeptMargin:
    """A margin, and the class of each person by pseudonym."""

    cells: KeptTable
    person: Ints
    group: Ints
    complete: bool

    @classmethod
    def of(cls, margin: CountTable, known: Presences) -> "KeptMargin":
        """As it is kept."""
        return cls(KeptTable.of(margin), known.ids.cast(pl.Int64).to_numpy(), known.group, known.complete)


@dataclass(frozen=True, eq=False)
class KeptCounts:
    """Everything of one entry."""

    VERSION: ClassVar[int] = 1

    tables: tuple[KeptTable, ...]
    margins: tuple[KeptMargin, ...]

    @classmethod
    def of(cls, tables: Sequence[CountTable], margins: Sequence[tuple[CountTable, Presences]]) -> "KeptCounts":
        """As it is kept."""
        return cls(tuple(map(KeptTable.of, tables)), tuple(KeptMargin.of(*one) for one in margins))

    def presences(self, schema: Schema) -> tuple[tuple[CountTable, Presences], ...]:
        """The margins, with who is in which class."""
        made = []
        for one in self.margins:
            margin, names = one.cells.table, pl.Series(one.person)
            made.append((margin, kept_presences(margin, schema, names, one.group, complete=one.complete)))
        return tuple(made)


def counted_release(frames: Mapping[str, pl.DataFrame], content: bytes, schema: Schema) -> PublishedRelease:
    """What was kept, as a release for attacks."""
    kept = unpack_state(KeptCounts, content)
    if kept is None:
        raise DataError("The counts of this release were kept by another version of Reissue.")
    tables = tuple(one.table for one in kept.tables)
    return read_published(Tables(frames, counts=tables, margins=kept.presences(schema)), schema)
