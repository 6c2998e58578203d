"""Table: any dataframe or file, coded as integers, with the way back to the same kind of dataframe."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Counts, Domain, Margin, margins_of
from reissue.counting.keys import pack
from reissue.counting.people import PeopleCounts
from reissue.data.frames import Back, from_frame, read_together
from reissue.data.identifiers import identifier_texts
from reissue.errors import DataError, ReadingNote, SchemaError, TaxonomyError, nearest_column
from reissue.files.cells import typed_cells
from reissue.files.databases import database_table, is_database_url
from reissue.files.dialect import FOUND, PLAIN, Dialect
from reissue.files.tables import detect_dialect, refuse_nested
from reissue.protection import TOGETHER, Protection
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Coding, prepare, unrounded
from reissue.taxonomy.tree import Taxonomy
from reissue.words import plural

if TYPE_CHECKING:
    from reissue.cleaning import Defect

__all__ = [
    "RowDraws",
    "Table",
    "code_column",
    "column_margins",
    "joint_codes",
    "people_of",
    "to_polars",
    "unlisted_values",
    "with_ranges",
]


class RowDraws(Protocol):
    """Numbers that are drawn for the rows of a table."""

    def of(self, rows: Ints) -> Ints:
        """The numbers of some rows, which include all rows equal to any of them."""

    def some(self, rows: Ints) -> "RowDraws":
        """The draws of a table that has only these rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A dataframe as integer codes, one row of `codes` for each quasi-identifier. Methods work on it.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> patients = next(Population(seed=1, people=200).months(1))
    >>> table = ri.Table.read(patients, schema())
    >>> table.rows, table.codes.shape
    (200, (4, 200))
    """

    schema: Schema
    codings: tuple[Coding, ...]
    """How each quasi-identifier was coded."""
    codes: Codes
    """Codes of the quasi-identifiers: quasi-identifiers x rows."""
    sensitive: Codes
    """The sensitive code of each row: of all sensitive columns together; 0 if there is none."""
    domain: Domain
    secrets: tuple[Coding, ...]
    """How each sensitive column was coded."""
    joint: Codes
    """Sensitive columns x sensitive codes: each column's own code for each joint code."""
    frame: pl.DataFrame
    """The user's columns, for publishing whatever is not generalized; never read by methods.

    If an engine delivered codes, it lacks the quasi-identifiers, and kept texts may be categories.
    """
    back: Back
    people: Ints | None = None
    """The person number (0, 1, ...) of each row, if the schema says that people have several rows."""
    times: Ints | None = None
    """The number of records of each row, if an engine counted equal ones; None: one each."""
    draw: "RowDraws | None" = None
    """Numbers drawn for rows (`data.draws`), which order equal ones; None: the order of the table."""
    dialect: Dialect = PLAIN
    """How the file was written that the table was read from; releases are written the same way."""
    repairs: tuple[str, ...] = ()
    """What was repaired when the table was read, in sentences without values."""
    given: Mapping[str, pl.DataType] | None = None
    """The user's columns in order with their types, if `frame` lacks some; None: those of `frame`."""

    def __repr__(self) -> str:
        """The size of the table; its fields would show private data."""
        return f"Table of {plural(self.rows, 'row')}, {plural(len(self.codings), 'quasi-identifier')}: {self.schema!r}"

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[1])

    @property
    def records(self) -> int:
        """The number of records that the rows stand for."""
        return self.rows if self.times is None else int(self.times.sum())

    @property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The taxonomy of each quasi-identifier."""
        return tuple(coding.taxonomy for coding in self.codings)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of leaves of each quasi-identifier."""
        return tuple(taxonomy.size for taxonomy in self.taxonomies)

    @property
    def kinds(self) -> Mapping[str, pl.DataType]:
        """The user's columns in order, with their types."""
        return self.frame.schema if self.given is None else self.given

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """The margins of the sensitive columns: one each, and one of all together if there are several."""
        return column_margins(self.schema, self.secrets, self.joint)

    @property
    def ids(self) -> pl.Series | None:
        """The identifiers, for methods that follow people from release to release."""
        name = self.schema.identifier
        return None if name is None else self.frame[name]

    @property
    def providers(self) -> pl.Series | None:
        """The provider of each record."""
        name = self.schema.provider
        return None if name is None else self.frame[name]

    @property
    def contributed(self) -> dict[str, int]:
        """The number of records of each provider, largest first; empty if the schema names no provider."""
        if self.providers is None:
            return {}
        counts = self.providers.cast(pl.String).alias("provider").value_counts()
        ordered = counts.sort(["count", "provider"], descending=[True, False])
        return {str(name): int(count) for name, count in ordered.drop_nulls().iter_rows()}

    def some(self, rows: Ints) -> "Table":
        """A table of some of the rows, with the same codes."""
        sensitive = self.sensitive[rows]
        totals = np.bincount(sensitive, minlength=self.domain.size)
        domain = replace(self.domain, totals=totals)
        people = None if self.people is None else self.people[rows]
        draw = None if self.draw is None else self.draw.some(rows)
        codes, frame = self.codes.take(rows, axis=1), self.frame[rows]
        return replace(self, codes=codes, sensitive=sensitive, domain=domain, frame=frame, people=people, draw=draw)

    def of_sensitive(self, column: str) -> "Table":
        """The table of one sensitive column; it lacks the others."""
        place = self.schema.sensitive.index(column)
        label, secret = self.joint[place], self.secrets[place]
        sensitive, taxonomy = label[self.sensitive], secret.taxonomy
        domain = Domain(np.bincount(label, self.domain.totals, taxonomy.size).astype(np.int64), taxonomy)
        joint, schema = np.arange(taxonomy.size, dtype=np.int32)[np.newaxis], self.schema.of_sensitive(column)
        return replace(self, schema=schema, sensitive=sensitive, domain=domain, secrets=(secret,), joint=joint)

    def with_sensitive(self, values: pl.DataFrame) -> "Table":
        """The same table with other values in all of its sensitive columns."""
        secrets = tuple(code_column(values[name], self.schema) for name in self.schema.sensitive)
        hidden = [_encode(values[name], coding) for name, coding in zip(self.schema.sensitive, secrets, strict=True)]
        sensitive, domain, joint = joint_codes(hidden, secrets, self.rows)
        frame = self.frame.with_columns(values.get_columns())
        return replace(self, sensitive=sensitive, domain=domain, secrets=secrets, joint=joint, frame=frame)

    def with_boxes(self, *, tight: bool) -> "Table":
        """The same table, published as ranges from the smallest to the largest value of a group, or as nodes only."""
        return replace(self, codings=tuple(with_ranges(one, tight=tight) for one in self.codings))

    def whole(self) -> Counts:
        """The counts of the whole table as a single group."""
        groups = np.zeros(self.rows, np.int32)
        if self.people is not None:
            return PeopleCounts(groups, self.sensitive, self.people, self.domain, 1)
        return Counts(groups, self.sensitive, self.domain, 1, self.times)

    def decode(self, sensitive: Codes) -> pl.DataFrame:
        """The sensitive columns that sensitive codes stand for."""
        return pl.DataFrame(
            [
                coding.decode(codes[sensitive]).alias(name).cast(self.kinds[name])
                for name, coding, codes in zip(self.schema.sensitive, self.secrets, self.joint, strict=True)
            ]
        )

    @classmethod
    def read(
        cls,
        data: Any,
        schema: Schema,
        *,
        dialect: Dialect = FOUND,
        codings: Sequence[Coding] = (),
        secrets: Sequence[Coding] = (),
        repair: bool = True,
    ) -> "Table":
        """Code a dataframe (pandas, Polars, Arrow) or a file.

        Parameters
        ----------
        data
            A dataframe, or the path of a file or of a folder with a file per provider.
        schema
            The roles and hierarchies of the columns.
        dialect
            How the file is written; what is not given is detected.
        codings, secrets
            Codings of the quasi-identifiers and of the sensitive columns from an earlier table, whose codes are kept.
        repair
            Whether the table is repaired as the schema's `[clean]` section says; not if it has been already.

        Raises
        ------
        InputError
            If a column is missing, a value is not in its taxonomy, or an identifier is repeated or missing.

        Examples
        --------
        >>> import polars as pl
        >>> import reissue as ri
        >>> schema = ri.Schema.of_columns(quasi=["age"], sensitive=["disease"])
        >>> frame = pl.DataFrame({"age": [31, 45], "disease": ["flu", "cold"]})
        >>> ri.Table.read(frame, schema).rows
        2

        """
        if not schema.quasi:
            raise SchemaError("The schema names no quasi-identifier: there is nothing to generalize.")
        frame, back, repairs = _read(data, schema, dialect, schema.used, repair=repair)
        _check_columns(frame, schema)
        if not frame.height:
            raise DataError("The table has no rows.")
        people = people_of(frame, schema)
        frame = _typed(_one_kind_of_missing(frame, schema), schema)
        if not codings:
            codings = [code_column(frame[name], schema) for name in schema.quasi]
        codes = np.empty((len(codings), frame.height), np.int32)
        for place, (name, coding) in enumerate(zip(schema.quasi, codings, strict=True)):
            codes[place] = _encode(frame[name], coding)
        secrets = tuple(secrets) or tuple(code_column(frame[name], schema) for name in schema.sensitive)
        hidden = [_encode(frame[name], coding) for name, coding in zip(schema.sensitive, secrets, strict=True)]
        sensitive, domain, joint = joint_codes(hidden, secrets, frame.height)
        used = frame.select([name for name in frame.columns if name in schema.used])
        manner = detect_dialect(data, dialect) if isinstance(data, str | Path) else PLAIN
        made = cls(schema, tuple(codings), codes, sensitive, domain, secrets, joint, used, back, people, dialect=manner)
        for one in repairs:
            warnings.warn(ReadingNote(f"Repaired: {one.sentence}"), stacklevel=2)
        return replace(made, repairs=tuple(one.sentence for one in repairs))


def to_polars(
    data: Any,
    schema: Schema | None = None,
    *,
    dialect: Dialect = FOUND,
    only: Sequence[str] = (),
    repair: bool = True,
) -> tuple[pl.DataFrame, Back]:
    """Convert a dataframe or read a path; return a Polars frame and the way back. Only columns in `only` are needed.

    The table is repaired as the schema's `[clean]` section says, unless `repair` is False: it is a published one.
    """
    frame, back, _ = _read(data, schema, dialect, only, repair=repair)
    return frame, back


def _read(
    data: Any, schema: Schema | None, dialect: Dialect, only: Sequence[str], *, repair: bool
) -> tuple[pl.DataFrame, Back, tuple["Defect", ...]]:
    """The table, the way back, and what was repaired."""
    text = () if schema is None else _prefixed(schema)
    if schema is not None and schema.clean and repair:
        from reissue.data.repairs import read_repaired

        frame, back, repairs = read_repaired(data, schema, dialect=dialect, text=text)
        refuse_nested(frame, schema.used)
        return frame, back, repairs
    if isinstance(data, str | Path):
        if is_database_url(data):
            data = database_table(str(data))
        else:
            return read_together(data, schema, text=text, dialect=dialect, only=only), lambda frame: frame, ()
    frame, back = from_frame(data, only)
    refuse_nested(frame, () if schema is None else schema.used)
    return frame, back, ()


def _prefixed(schema: Schema) -> tuple[str, ...]:
    """The columns whose characters count."""
    return tuple(name for name, hierarchy in schema.hierarchies.items() if hierarchy.kind == "prefix")


def with_ranges(coding: Coding, *, tight: bool) -> Coding:
    """The same coding, publishing any range of ordered values, or nodes only."""
    return replace(coding, taxonomy=replace(coding.taxonomy, runs=tight and coding.taxonomy.ordered))


def code_column(column: pl.Series, schema: Schema) -> Coding:
    """Code one column by its hierarchy; a sensitive column is published as it is, to the second."""
    hierarchy = schema.hierarchy(column.name)
    secret = schema.columns.get(column.name) == Role.SENSITIVE
    hierarchy = unrounded(hierarchy, column) if secret else hierarchy
    return Coding.build(hierarchy, prepare(column, hierarchy), published=not secret)


def _encode(column: pl.Series, coding: Coding) -> Codes:
    codes, unlisted = coding.encode(prepare(column, coding.hierarchy))
    if len(unlisted):
        rows = ", ".join(str(row + 1) for row in unlisted[:5].tolist())
        remedy = "Code it together with the tables that hold these values."
        if coding.hierarchy.kind in {"file", "tree"}:
            remedy = (
                'Add the values to the hierarchy, or write  unlisted = "root"  under '
                f"[taxonomy.{column.name}] to hang them directly under the root. --show-values lists them on screen."
            )
        raise TaxonomyError(
            f"Column '{column.name}' has {len(unlisted)} records whose value its taxonomy lacks (first rows: {rows}). "
            + remedy
        )
    return codes


def column_margins(schema: Schema, secrets: Sequence[Coding], joint: Codes) -> tuple[Margin, ...]:
    """Return the margins of the sensitive columns: one each, and one of all together if there are several.

    Parameters
    ----------
    schema
        Names the columns, and says which of their values need no protection.
    secrets
        The coding of each sensitive column.
    joint
        Sensitive columns x joint codes: each column's own code.

    """
    protection = Protection.of(schema.policy, schema.sensitive)
    taxonomies = [coding.taxonomy for coding in secrets]
    return margins_of(
        schema.sensitive,
        tuple(joint),
        taxonomies,
        lambda column, place: protection.harmless_in(column, taxonomies[place].names),
        TOGETHER.join(schema.sensitive),
    )


def unlisted_values(data: Any, schema: Schema, *, dialect: Dialect = FOUND) -> dict[str, list[str]]:
    """Return the values that the taxonomies lack, by column; for the holder's own eyes, on request only."""
    frame, _ = to_polars(data, schema, dialect=dialect)
    lacking = {}
    for name in (*schema.quasi, *schema.sensitive):
        if name in frame.columns and schema.hierarchy(name).kind in {"file", "tree"}:
            coding = code_column(frame[name], schema)
            _, rows = coding.encode(prepare(frame[name], coding.hierarchy))
            if len(rows):
                lacking[name] = frame[name].gather(rows).unique(maintain_order=True).cast(pl.String).to_list()
    return lacking


def _check_columns(frame: pl.DataFrame, schema: Schema) -> None:
    absent = [name for name in schema.used if name not in frame.columns]
    if not absent:
        return
    hint = nearest_column(absent[0], frame.columns)
    raise SchemaError(f"The schema names columns that the data lacks: {', '.join(absent)}.{hint}")


def _one_kind_of_missing(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Not-a-number as missing, so that both are counted as one value."""
    names = [name for name in (*schema.quasi, *schema.sensitive) if frame.schema[name].is_float()]
    return frame.with_columns(pl.col(names).fill_nan(None)) if names else frame


def _typed(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Text that the schema generalizes as dates or in ranges as dates and numbers, as from a file."""
    texts = [
        frame[name]
        for name in schema.quasi
        if frame.schema[name] == pl.String and schema.hierarchy(name).kind in {"dates", "ranges"}
    ]
    return frame.with_columns(typed_cells(pl.DataFrame(texts), FOUND)[0].iter_columns()) if texts else frame


def people_of(frame: pl.DataFrame, schema: Schema) -> Ints | None:
    """The person of each row, if people may have several; else check that no person has two."""
    if schema.identifier is None:
        return None
    ids = identifier_texts(frame[schema.identifier])
    if ids.null_count():
        raise DataError(
            f"The identifier '{schema.identifier}' is missing in {ids.null_count()} rows. "
            "`reissue clean` shows them, and leaves them out."
        )
    if schema.several_rows:
        return ids.rank("dense").to_numpy().astype(np.int64) - 1
    repeated = ids.is_duplicated()
    if repeated.any():
        rows = ", ".join(str(row + 1) for row in np.flatnonzero(repeated.to_numpy())[:5].tolist())
        raise DataError(
            f"The identifier '{schema.identifier}' is not unique: {int(repeated.sum())} rows share theirs with another "
            f"(first rows: {rows}). If people have several rows, such as visits, say so in the schema:  [person]  "
            "several_rows = true.  Otherwise one row per person is needed: `reissue clean` shows rows that are doubled."
        )
    return None


def joint_codes(columns: Sequence[Codes], secrets: Sequence[Coding], rows: int) -> tuple[Codes, Domain, Codes]:
    """The joint code of each row, the domain of joint codes, and each column's own code for each joint code."""
    if not secrets:
        return np.zeros(rows, np.int32), Domain(np.array([rows], np.int64)), np.empty((0, 1), np.int32)
    if len(columns) == 1:
        taxonomy = secrets[0].taxonomy
        domain = Domain(np.bincount(columns[0], minlength=taxonomy.size), taxonomy)
        return columns[0], domain, np.arange(taxonomy.size, dtype=np.int32)[np.newaxis]
    keys, _ = pack(columns, [coding.taxonomy.size for coding in secrets])
    _, first, joint, number = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return joint.astype(np.int32), Domain(number), np.stack([column[first] for column in columns])
