"""Draft and Release: what an algorithm decided, and what goes out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue._notebook import card
from reissue.data.table import Table
from reissue.errors import InputError
from reissue.files.databases import DatabaseTable, database_table, is_database_url
from reissue.files.dialect import Dialect
from reissue.files.places import refuse_existing, second_path
from reissue.files.staging import Staging
from reissue.files.tables import Place, stage_tables
from reissue.release.averages import Averages
from reissue.release.form import DEFAULT_FORM, Form
from reissue.release.memory import Memory
from reissue.requirements import Requirement
from reissue.schema import Schema
from reissue.words import plural

__all__ = [
    "COUNT",
    "COUNTERFEITS",
    "DRAWN",
    "EXACT",
    "GROUP",
    "SIDE",
    "SLOT",
    "TIGHT",
    "Boxes",
    "Counterfeits",
    "Draft",
    "DrawnValues",
    "Form",
    "Release",
]

TIGHT = "Ranges are tight (`boxes`): their ends are values of real people, the smallest and the largest of each group."
"""What is said wherever tight ranges go out."""
_SHOWN = 5
"""Rows that a notebook shows."""
GROUP = "group"
"""The column that numbers groups, and joins the two tables of a bucketized release."""
SLOT = "slot"
"""The column of a panel that numbers slots; the number lasts over the series."""
COUNT = "count"
"""The column of a bucketized release's second table that says how often a value occurs in its group."""
COUNTERFEITS = "counterfeits"
"""The table, and its column, that says how many records of a group are nobody's."""

DRAWN = "Sensitive values are randomized: not all of them are true. Estimate with the side table."
"""What is said wherever randomized values go out."""
SIDE = "side"
"""The table beside a release of randomized values by which analysts estimate."""

EXACT = "Quasi-identifiers are exact: this shows who is in the table."
"""What is said of every release whose rows show them."""


@dataclass(frozen=True, eq=False)
class Draft:
    """What an algorithm decides: which rows stand together, and how their values are generalized."""

    groups: Codes
    """Row to group number 0, 1, ...; -1 for a suppressed row."""
    cuts: tuple[Codes, ...] | None = None
    """Global recoding: one cut per quasi-identifier. None: every group is published as a box of its own, the lowest
    nodes that hold its values, or their ranges where the taxonomy `runs`."""
    form: Form = DEFAULT_FORM
    """How the groups are published."""
    looks: Codes | None = None
    """Of a permuted release: row, then counterfeit, to those that are generalized alike. None: they are exact."""
    sensitive: Codes | None = None
    """Row to the sensitive code that is published, where a method changes or permutes the values."""
    counterfeits: "Counterfeits | None" = None
    averages: Averages | None = None
    """Of a numbered release: what is published of numbers beside their ranges."""
    slots: Ints | None = None
    """Row, then counterfeit, to the slot that it fills, whose number lasts; for cohorts. -1 for a suppressed row."""
    e: int | None = None
    """Fewer people than this are never shown to have the same values as as many others, if the method promises it."""
    state: object | None = None
    """Private: what the method leaves for the next release, of a class of its own; None if it needs nothing."""
    memory: Memory | None = None
    """Private: what the series remembers, the state in it, of methods that follow people."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What the method wants to tell: levels, cuts, rounds."""

    @property
    def exact(self) -> bool:
        """Whether rows show exact quasi-identifiers."""
        return not self.form.boxes and self.looks is None


@dataclass(frozen=True, eq=False)
class Counterfeits:
    """Counterfeit records, added so that groups keep their values. Published like the others, and counted per group."""

    groups: Codes
    """Counterfeit to its group, which has real rows too or none."""
    codes: Codes
    """Quasi-identifiers x counterfeits: leaf codes inside the group's box."""
    sensitive: Codes
    names: Ints | None = None
    """The number that each keeps from release to release; None if they are in this one only."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The published interval of each group on each quasi-identifier, and its number of rows."""

    lo: Codes
    """Quasi-identifiers x groups."""
    hi: Codes
    sizes: Ints


@dataclass(frozen=True, eq=False)
class DrawnValues:
    """Of a release of randomized values: what was published in place of what. Private, but for the side table."""

    values: pl.DataFrame
    """All values that may be published: the sensitive columns, a row for each code."""
    true: Ints
    """Row of the table to the code of its true value; -1 for a value that was not known at the start."""
    published: Ints
    """Row of the table to the code of its published value."""

    @property
    def share_true(self) -> float:
        """The share of published values that are true."""
        return float((self.true == self.published).mean()) if len(self.true) else 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A release: the published tables, and beside them what stays with the holder.

    `anonymize` and `publish` return one. `frame` is the published table, of the same kind as the input; `write`
    stores it.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> release = ri.anonymize(patients, schema(), "k=5 & l=3", seed=1)
    >>> release.frame.columns
    ['age', 'zip', 'sex', 'job', 'disease']
    >>> release.suppressed
    0
    """

    tables: Mapping[str, pl.DataFrame]
    """Published tables: "release", or "quasi" and "sensitive" of a bucketized one; "counterfeits" per group if any.

    Generalized columns are Enums: texts stand once, rows hold small numbers. `frames` has them as plain text.
    """
    table: Table
    """Private: the original."""
    draft: Draft
    """Private: who stands together."""
    boxes: Boxes
    requirement: Requirement
    method: str
    order: Codes | None = None
    """Private: published row to row of the table; counterfeits not counted."""
    drawn: DrawnValues | None = None
    """Private: where values are randomized, what was published in place of what; `table` has the published values."""

    @property
    def schema(self) -> Schema:
        """The schema that it was made by."""
        return self.table.schema

    @property
    def frame(self) -> Any:
        """The published table, as the kind of frame the user gave; of a bucketized release the one with the QI."""
        return self._handed(next(iter(self.tables.values())))

    @property
    def frames(self) -> dict[str, Any]:
        """All published tables, as the kind of frame the user gave."""
        return {name: self._handed(frame) for name, frame in self.tables.items()}

    def _handed(self, frame: pl.DataFrame) -> Any:
        """A table as its user wants it."""
        return self.table.back(self.as_given(frame))

    def as_given(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A published table, or some of its rows, in the user's types; generalized values as text, not as our Enum."""
        own, schema = self.table.kinds, self.schema
        ours = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Enum) and kind != own.get(name)]
        public = [name for name in (*schema.sensitive, *schema.kept) if name in frame.columns]
        held = {
            name: own[name] for name in public if frame.schema[name] != own[name] and not isinstance(own[name], pl.Enum)
        }
        return frame.with_columns(pl.col(ours).cast(pl.String)).cast(held) if ours or held else frame  # type: ignore[arg-type]

    def of_sensitive(self, column: str) -> "Release":
        """The release as somebody sees it who looks at one sensitive column only."""
        draft, label = self.draft, self.table.joint[self.schema.sensitive.index(column)]
        fakes = draft.counterfeits
        fakes = None if fakes is None else replace(fakes, sensitive=label[fakes.sensitive])
        changed = None if draft.sensitive is None else label[draft.sensitive]
        draft = replace(draft, sensitive=changed, counterfeits=fakes)
        return replace(self, table=self.table.of_sensitive(column), draft=draft)

    def in_parts(self, name: str, rows: int) -> Iterator[pl.DataFrame]:
        """A published table so many rows at a time, as it goes out; one of no rows is one part."""
        frame = self.tables[name]
        return (self.as_given(frame[start : start + rows]) for start in range(0, max(frame.height, 1), rows))

    @property
    def suppressed(self) -> int:
        """How many records were suppressed."""
        return int((self.draft.groups < 0).sum())

    @property
    def groups(self) -> int:
        """How many groups were published."""
        return len(self.boxes.sizes)

    @property
    def people(self) -> pl.Series | None:
        """Private: whose each published row is, where people have several rows."""
        if self.table.people is None or self.order is None:
            return None
        return pl.Series("person", self.table.people[self.order])

    @property
    def group_people(self) -> Ints:
        """How many people each published group has; as many as rows, unless people have several rows."""
        if self.table.people is None:
            return self.boxes.sizes
        kept = np.flatnonzero(self.draft.groups >= 0)
        pairs = np.unique(np.stack([self.draft.groups[kept], self.table.people[kept]]), axis=1)
        return np.bincount(pairs[0], minlength=self.groups)

    @property
    def counterfeits(self) -> int:
        """How many counterfeit records were added."""
        return 0 if self.draft.counterfeits is None else len(self.draft.counterfeits.groups)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever sends it out should know."""
        if self.draft.exact:
            return (EXACT,)
        drawn = () if self.drawn is None else (DRAWN,)
        tight = self.draft.cuts is None and any(taxonomy.runs for taxonomy in self.table.taxonomies)
        averages = () if self.draft.averages is None else (self.draft.averages.warning,)
        return (*drawn, *((TIGHT,) if tight else ()), *averages)

    def __str__(self) -> str:
        """What went out, in one sentence."""
        rows = self.table.rows - self.suppressed
        made = f"Release by the method {self.method}, which meets {self.requirement}"
        left = f"{plural(self.suppressed, 'suppressed record')}, {plural(self.counterfeits, 'counterfeit')}"
        return f"{made}: {rows:,} rows in {self.groups:,} groups, {left}."

    __repr__ = __str__  # the fields would show what is private

    def _repr_html_(self) -> str:
        """For a notebook: the first rows as published."""
        frame = next(iter(self.tables.values())).head(_SHOWN)
        return card(
            str(self), frame.columns, [["" if cell is None else str(cell) for cell in row] for row in frame.rows()]
        )

    def write(self, path: Place, *, force: bool = False, dialect: Dialect | None = None) -> list[str]:
        """Write the published tables; a second table goes beside the first. Returns the paths.

        CSV goes out in the dialect that the table was read in, or the one given; a path may be a database's URL.
        """
        with Staging() as staging:
            written = self.stage(staging, path, force=force, dialect=dialect)
            staging.place()
        return written

    def stage(self, staging: Staging, path: Place, *, force: bool = False, dialect: Dialect | None = None) -> list[str]:
        """The same beside their places, to be placed with other files."""
        places = self.places(path)
        for place in places:
            if not isinstance(place, DatabaseTable) and not staging.is_new(Path(place).parent):
                refuse_existing(place, force=force)
        tables = list(zip(self.tables.values(), places, strict=True))
        stage_tables(staging, tables, force=force, dialect=dialect or self.table.dialect)
        return [str(place) for place in places]

    @property
    def private_copy(self) -> pl.DataFrame:
        """The published table with the identifier of each row, for the holder's own checks. Never to be handed out."""
        name = self.schema.identifier
        if name is None or self.order is None or self.draft.form.numbered or self.counterfeits:
            raise InputError(
                "A private copy needs an identifier in the schema and a release of one table without counterfeits."
            )
        return pl.DataFrame([self.table.frame[name].gather(self.order), *self.tables["release"]])

    def places(self, path: Place) -> list[Place]:
        """Where each table goes."""
        first = database_table(path) if isinstance(path, str) and is_database_url(path) else path
        if isinstance(first, DatabaseTable):
            return [first, *(first.beside(name) for name in list(self.tables)[1:])]
        return [str(first), *(second_path(first, name) for name in list(self.tables)[1:])]
