"""How a table larger than memory is coded: column by column, by its different values, which an engine counts."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.cells import Domain
from reissue.data.table import code_column, with_ranges
from reissue.engines.base import ColumnCodes, Counted, PersonDraw, Rewritable, RewritePlan
from reissue.errors import DataError, SchemaError, TaxonomyError, nearest_column
from reissue.release.memory import widened
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Coding, prepare
from reissue.taxonomy.tree import Taxonomy

__all__ = ["Providers", "WholeCoding", "code_whole", "coded_column", "refuse_source"]


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
    providers: "Providers | None" = None
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
    refuse_source(source, schema, by_provider=by_provider)
    found = source.distinct([*schema.quasi, *schema.sensitive])
    quasi = [coded_column(found[name], name, schema) for name in schema.quasi]
    secrets = [coded_column(found[name], name, schema) for name in schema.sensitive]
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


def refuse_source(source: Rewritable, schema: Schema, *, by_provider: bool = False) -> None:
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


def coded_column(
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
