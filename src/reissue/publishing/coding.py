"""How a table that an engine holds is coded: column by column, by its different values, which the engine counts.

Rows stay where they are (`code_whole`), or their codes come into memory (`table_by_codes`): four bytes for every
quasi-identifier of each row, and beside them which of the different sensitive values a row has, its identifier, and
what is kept as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Domain
from reissue.data.identifiers import identifier_texts
from reissue.data.table import Table, code_column, joint_codes, people_of, with_ranges
from reissue.engines.base import ColumnCodes, Counted, InBatches, PersonDraw, Rewritable, RewritePlan
from reissue.engines.registry import SPARK, choose
from reissue.errors import DataError, InputError, SchemaError, TaxonomyError, nearest_column
from reissue.ledger.fingerprints import identifier_order, rows_in_order
from reissue.release.memory import Memory, widened
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Coding, prepare
from reissue.taxonomy.tree import Taxonomy

__all__ = ["WholeCoding", "code_whole", "spark_table", "table_by_codes"]


@dataclass(frozen=True, eq=False)
class Providers:
    """Who gave how many records of each sensitive value; of one value, where values are not asked about."""

    column: ColumnCodes
    counts: Ints
    """Providers x values."""
    values: Domain

    @classmethod
    def of(cls, source: Rewritable, name: str, value: ColumnCodes | None, domain: Domain) -> "Providers":
        """Counted; stops where a provider is missing."""
        counted = source.counts([name] if value is None else [name, value.name])
        found = counted.values.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
        times, given = counted.times.to_numpy(), found[name].cast(pl.String)
        if given.null_count():
            raise DataError(f"The provider is missing in {int(times[given.is_null().to_numpy()].sum())} rows.")
        code = given.rank("dense").to_numpy().astype(np.int32) - np.int32(1)
        secret = np.zeros_like(code) if value is None else found.select(value.code()).to_series().to_numpy()
        values = Domain(np.array([times.sum()], np.int64)) if value is None else domain
        counts = np.zeros((int(code.max()) + 1, values.size), np.int64)
        np.add.at(counts, (code, secret), times)
        first = found[name].is_first_distinct().to_numpy()
        column, codes = found[name].filter(first), code[first]
        return cls(ColumnCodes(name, column, codes), counts, values)


@dataclass(frozen=True, eq=False)
class WholeCoding:
    """How the whole table is coded."""

    schema: Schema
    """Without identifier and provider, which are never published."""
    region_schema: Schema
    """Of the rows of a region: with the provider, where it matters."""
    codings: tuple[Coding, ...]
    secrets: tuple[Coding, ...]
    domain: Domain
    providers: Providers | None = None
    """Who gave which values, where that matters."""

    @property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The taxonomy of each quasi-identifier."""
        return tuple(coding.taxonomy for coding in self.codings)


def code_whole(
    source: Rewritable,
    schema: Schema,
    *,
    sensitive: bool,
    tight: bool = False,
    person: PersonDraw | None = None,
    by_provider: bool = False,
) -> tuple[WholeCoding, RewritePlan]:
    """Code every column; and what an engine has to do for that. Rows are told apart by value if `sensitive`.

    With `tight`, ranges are published that are no nodes. `person` says for whom numbers are drawn.
    """
    _refuse_source(source, schema, by_provider=by_provider)
    found = source.distinct([*schema.quasi, *schema.sensitive])
    quasi = [_coded_column(found[name], name, schema) for name in schema.quasi]
    secrets = [_coded_column(found[name], name, schema) for name in schema.sensitive]
    if secrets:
        coding, value, totals = secrets[0]
        domain = Domain(totals, coding.taxonomy)
    else:
        value, domain = None, Domain(np.array([quasi[0][2].sum()], np.int64))
    value = value if sensitive else None
    providers = Providers.of(source, schema.provider or "", value, domain) if by_provider else None
    whole = WholeCoding(
        schema.with_roles(_private(schema.identifier, schema.provider)),
        _of_regions(schema, by_provider=by_provider),
        tuple(with_ranges(coding, tight=tight) for coding, _, _ in quasi),
        tuple(coding for coding, _, _ in secrets),
        domain,
        providers,
    )
    public = {*schema.quasi, *schema.sensitive, *schema.kept}
    names = tuple(name for name in source.columns if name in public)
    codes = tuple(codes for _, codes, _ in quasi)
    who = None if providers is None else providers.column
    return whole, RewritePlan(names, tuple(schema.quasi), codes, value, person, who, domain.size)


def _of_regions(schema: Schema, *, by_provider: bool) -> Schema:
    """The schema of regions: who gave a record stays where it matters; every row is known to be somebody else's."""
    if not by_provider:
        return schema.with_roles(_private(schema.identifier, schema.provider))
    return replace(schema.with_roles(_private(schema.identifier)), several_rows=False)


def _private(*names: str | None) -> dict[str, Role]:
    return dict.fromkeys((name for name in names if name is not None), Role.DROP)


def _refuse_source(source: Rewritable, schema: Schema, *, by_provider: bool = False) -> None:
    """Stop where a table lacks columns, or people have several rows or no name."""
    _refuse_columns(source, schema, by_provider=by_provider)
    _refuse_people(source, schema)


def _refuse_columns(source: Rewritable, schema: Schema, *, by_provider: bool) -> None:
    absent = [name for name in schema.used if name not in source.columns]
    if absent:
        hint = nearest_column(absent[0], list(source.columns))
        raise SchemaError(f"The schema names columns that the data lacks: {', '.join(absent)}.{hint}")
    if by_provider and schema.provider is None:
        raise SchemaError('This needs to know who gave each record: name the column in the schema, as  x = "provider".')
    if by_provider:
        schema.refuse_unidentified("The method 'providers'")


def _coded_column(
    found: Counted, name: str, schema: Schema, past: pl.Series | None = None
) -> tuple[Coding, ColumnCodes, Ints]:
    """A column's coding, the code of each of its values, and how often each code occurs.

    `past` are values that must have a code too, if nobody has them now.
    """
    values = found.values[name]
    if not len(values):
        raise DataError("The table has no rows.")
    values = values.fill_nan(None) if values.dtype.is_float() else values
    coding = code_column(values, schema)
    if past is not None and len(past):
        coding = widened(coding, past.cast(values.dtype), values.clone)
    codes, unlisted = coding.encode(prepare(values, coding.hierarchy))
    if len(unlisted):
        raise TaxonomyError(
            f"Column '{name}' has {len(unlisted)} different values that its taxonomy lacks. Add them to the hierarchy, "
            f'or write  unlisted = "root"  under [taxonomy.{name}] to hang them directly under the root.'
        )
    totals = np.bincount(codes, found.times.to_numpy(), coding.taxonomy.size).astype(np.int64)
    first = values.is_first_distinct().to_numpy()  # missing and not-a-number are one value
    return coding, ColumnCodes(name, values.filter(first), codes[first]), totals


def _refuse_people(source: Rewritable, schema: Schema) -> None:
    """Stop where an identifier is missing or not unique: every row must be somebody else's."""
    if schema.identifier is None:
        return
    missing, different, rows = source.people(schema.identifier)
    if missing:
        raise DataError(f"The identifier '{schema.identifier}' is missing in {missing} rows.")
    if different < rows:
        raise DataError(f"The identifier '{schema.identifier}' is not unique: one row per person is needed.")


# --- the codes of all rows -------------------------------------------------------------------------------------------


def table_by_codes(source: InBatches, schema: Schema, memory: Memory | None = None) -> Table:
    """A table of codes, without its quasi-identifiers as they were; what is remembered of a series has codes too.

    Rows that have no order where they lie are put in that of their identifiers, else of all that they say.
    """
    if not schema.quasi:
        raise SchemaError("The schema names no quasi-identifier: there is nothing to generalize.")
    if schema.several_rows:
        raise InputError("Several rows per person need the whole table in memory: use engine memory.")
    with source.held([name for name in source.columns if name in schema.used]) as held:
        table = _coded_table(held, schema, memory)
    return table if source.in_order else table.some(_order(table))


def _coded_table(source: InBatches, schema: Schema, memory: Memory | None) -> Table:
    _refuse_source(source, schema)
    kinds = {name: kind for name, kind in source.columns.items() if name in schema.used}
    listed = [*schema.quasi, *schema.sensitive, *([] if schema.provider is None else [schema.provider])]
    found = {
        name: Counted(one.values.cast({name: kinds[name]}), one.times) for name, one in source.distinct(listed).items()
    }
    quasi = [_coded(found, name, schema, None if memory is None else memory.rows) for name in schema.quasi]
    secrets = [_coded(found, name, schema, None if memory is None else memory.values) for name in schema.sensitive]
    rows = _read(source, schema, kinds, found, [one.codes for one in quasi])
    people_of(rows.frame, schema)  # what came must be different people too: a table may change while it is read
    hidden = [one.codes.codes[rows.place[one.codes.name]] for one in secrets]
    codings = tuple(one.coding for one in secrets)
    sensitive, domain, joint = joint_codes(hidden, codings, rows.codes.shape[1])
    return Table(
        schema,
        tuple(one.coding for one in quasi),
        rows.codes,
        sensitive,
        domain,
        codings,
        joint,
        rows.frame,
        source.back,
        given=kinds,
    )


def _order(table: Table) -> Ints:
    """As a ledger orders rows, by identifier; without one by codes, and what is beside them."""
    if table.ids is not None:
        return identifier_order(identifier_texts(table.ids))
    codes = {f"q{number}": one for number, one in enumerate(table.codes)}
    other = {f"o{number}": one for number, one in enumerate(table.frame.get_columns())}
    return rows_in_order(pl.DataFrame({**codes, **other}))


@dataclass(frozen=True, eq=False)
class _Column:
    coding: Coding
    codes: ColumnCodes


@dataclass(frozen=True, eq=False)
class _Rows:
    """What comes into memory."""

    codes: Codes
    """Quasi-identifiers x rows."""
    place: Mapping[str, Ints]
    """Sensitive columns and providers: which of its different values a row has."""
    frame: pl.DataFrame
    """All columns but quasi-identifiers."""


def _coded(found: Mapping[str, Counted], name: str, schema: Schema, past: pl.DataFrame | None) -> _Column:
    coding, codes, _ = _coded_column(found[name], name, schema, None if past is None else past[name])
    return _Column(coding, codes)


def _read(
    source: InBatches,
    schema: Schema,
    kinds: Mapping[str, pl.DataType],
    found: Mapping[str, Counted],
    quasi: Sequence[ColumnCodes],
) -> _Rows:
    """Read all rows once, some at a time."""
    size = int(found[schema.quasi[0]].times.sum())
    listed = {name: _different(one.values[name]) for name, one in found.items() if name not in schema.quasi}
    places = [ColumnCodes(name, one, np.arange(len(one), dtype=np.int32)) for name, one in listed.items()]
    other = [name for name in kinds if name not in schema.quasi and name not in listed]
    held = {name: pl.Categorical(pl.Categories.random()) for name in schema.kept if kinds[name] == pl.String}
    codes = np.empty((len(quasi) + len(places), size), np.int32)
    rest, start = [], 0
    for batch in source.batches(other, [*quasi, *places]):
        stop = start + batch.height
        if stop > size:
            raise DataError(_CHANGED)
        for number, column in enumerate(batch.get_columns()[len(other) :]):
            codes[number, start:stop] = column.to_numpy()
        rest.append(batch[:, : len(other)].cast(held))  # type: ignore[arg-type]
        start = stop
    if start < size:
        raise DataError(_CHANGED)
    whole = pl.concat(rest, rechunk=True) if other else pl.DataFrame()
    place = {one.name: codes[len(quasi) + number] for number, one in enumerate(places)}
    columns = {name: _categories(listed[name]).gather(at).alias(name) for name, at in place.items()}
    columns |= {name: whole[name] for name in other}
    return _Rows(codes[: len(quasi)], place, pl.DataFrame([columns[name] for name in kinds if name in columns]))


_CHANGED = "The table changed while it was read."


def _different(values: pl.Series) -> pl.Series:
    """The different values; not-a-number is missing."""
    return (values.fill_nan(None) if values.dtype.is_float() else values).unique(maintain_order=True)


def _categories(values: pl.Series) -> pl.Series:
    """Texts as categories: four bytes a row."""
    return values.cast(pl.Categorical(pl.Categories.random())) if values.dtype == pl.String else values


def spark_table(data: Any, schema: Schema, memory: Memory | None) -> Table:
    """The codes of all rows of a Spark DataFrame."""
    source = choose(SPARK, data).open(data)
    assert isinstance(source, InBatches)  # noqa: S101  # it was asked for by name
    return table_by_codes(source, schema, memory)
