"""How a table larger than memory is coded: column by column, by its different values, which an engine counts."""

from dataclasses import dataclass

import numpy as np

from reissue._arrays import Ints
from reissue.counting.cells import Domain
from reissue.data.table import code_column, with_ranges
from reissue.engines.base import ColumnCodes, Counted, PersonDraw, Rewritable, RewritePlan
from reissue.errors import DataError, SchemaError, TaxonomyError, nearest_column
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Coding, prepare
from reissue.taxonomy.tree import Taxonomy

__all__ = ["WholeCoding", "code_whole"]


@dataclass(frozen=True, eq=False)
class WholeCoding:
    """How the whole table is coded."""

    schema: Schema
    """Without identifier and provider, which are never published."""
    codings: tuple[Coding, ...]
    secrets: tuple[Coding, ...]
    domain: Domain

    @property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The taxonomy of each quasi-identifier."""
        return tuple(coding.taxonomy for coding in self.codings)


def code_whole(
    source: Rewritable, schema: Schema, *, sensitive: bool, tight: bool = False, person: PersonDraw | None = None
) -> tuple[WholeCoding, RewritePlan]:
    """Code every column; and what an engine has to do for that. Rows are told apart by value if `sensitive`.

    With `tight`, ranges are published that are no nodes. `person` says for whom numbers are drawn.
    """
    absent = [name for name in schema.used if name not in source.columns]
    if absent:
        hint = nearest_column(absent[0], list(source.columns))
        raise SchemaError(f"The schema names columns that the data lacks: {', '.join(absent)}.{hint}")
    _refuse_people(source, schema)
    found = source.distinct([*schema.quasi, *schema.sensitive])
    quasi = [_coded(found[name], name, schema) for name in schema.quasi]
    secrets = [_coded(found[name], name, schema) for name in schema.sensitive]
    if secrets:
        coding, value, totals = secrets[0]
        domain = Domain(totals, coding.taxonomy)
    else:
        value, domain = None, Domain(np.array([quasi[0][2].sum()], np.int64))
    public = {*schema.quasi, *schema.sensitive, *schema.kept}
    private = [name for name in (schema.identifier, schema.provider) if name is not None]
    whole = WholeCoding(
        schema.with_roles(dict.fromkeys(private, Role.DROP)),
        tuple(with_ranges(coding, tight=tight) for coding, _, _ in quasi),
        tuple(coding for coding, _, _ in secrets),
        domain,
    )
    names = tuple(name for name in source.columns if name in public)
    codes = tuple(codes for _, codes, _ in quasi)
    return whole, RewritePlan(names, tuple(schema.quasi), codes, value if sensitive else None, person)


def _coded(found: Counted, name: str, schema: Schema) -> tuple[Coding, ColumnCodes, Ints]:
    """A column's coding, the code of each of its values, and how often each code occurs."""
    values = found.values[name]
    if not len(values):
        raise DataError("The table has no rows.")
    values = values.fill_nan(None) if values.dtype.is_float() else values
    coding = code_column(values, schema)
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
