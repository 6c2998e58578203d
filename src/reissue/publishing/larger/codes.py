"""A table larger than memory as the codes of its rows: of each four bytes for every quasi-identifier come into memory.

Beside them: which of the different sensitive values a row has, its identifier, and what is kept as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.data.identifiers import identifier_texts
from reissue.data.table import Table, joint_codes, people_of
from reissue.engines.base import ColumnCodes, Counted, InBatches
from reissue.errors import DataError, InputError, SchemaError
from reissue.ledger.marks import identifier_order, rows_in_order
from reissue.publishing.larger.coding import coded_column, refuse_source
from reissue.release.memory import Memory
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding

__all__ = ["table_by_codes"]


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
    refuse_source(source, schema)
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
    coding, codes, _ = coded_column(found[name], name, schema, None if past is None else past[name])
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
