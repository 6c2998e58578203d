"""Which sensitive values a series of randomized values may publish, and the order of quasi-identifiers in its classes.

Both are those of the first table, so that codes mean the same in all releases.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue.counting.texts import MISSING, joined_texts
from reissue.data.table import Table
from reissue.randomized.adversaries import normalized
from reissue.taxonomy.codings import Coding
from reissue.updates import read_updates

__all__ = ["codes_of", "names_of", "places_of", "scale_of", "texts_of", "values_and_changes"]

_COMBINATIONS = 256
"""Up to so many combinations of several columns may be published; beyond, only those of the first table."""


def values_and_changes(table: Table, shown: Sequence[str] = ()) -> tuple[pl.DataFrame, Floats]:
    """All values that may be published, and how likely each becomes another: values that the schema lists count too.

    So do those that earlier releases have `shown`, as text.
    """
    schema = table.schema
    values = _listed_values(table)
    if values.width == 1:
        listed = set(texts_of(values))
        earlier = [None if text == MISSING else text for text in shown if text not in listed]
        values = pl.concat([values, _as_values(earlier, values, schema.sensitive[0], missing=None in earlier)])
    texts = names_of(values)
    model = read_updates(schema, texts) if schema.updates else None
    if model is not None and len(schema.sensitive) == 1:
        further = [name for name in model.names[len(texts) :] if name is not None]
        more = _as_values(further, values, schema.sensitive[0])
        values = pl.concat([values, more])
        if more.height < len(model.names) - len(texts):  # a missing value that only the model names, or no such value
            model = read_updates(schema, names_of(values))
    size = values.height
    if model is None:
        return values, np.empty((0, 0, 0))  # as soon as there are shares
    if model.fixed:
        return values, np.eye(size)[np.newaxis]
    return values, normalized(model.chance[:size, :size] + 1e-12 * np.eye(size))[np.newaxis]


def _listed_values(table: Table) -> pl.DataFrame:
    """The values of the table, and those of the hierarchies of sensitive columns."""
    kinds = {name: _plain(table.kinds[name]) for name in table.schema.sensitive}
    if len(table.secrets) == 1:
        return table.decode(np.arange(table.domain.size, dtype=np.int32)).cast(kinds)  # type: ignore[arg-type]
    sizes = [coding.taxonomy.size for coding in table.secrets]
    if np.prod(sizes) > _COMBINATIONS:
        return table.decode(np.flatnonzero(table.domain.totals > 0).astype(np.int32)).cast(kinds)  # type: ignore[arg-type]
    codes = np.array(list(product(*map(range, sizes))), np.int32).T
    columns = zip(table.schema.sensitive, table.secrets, codes, strict=True)
    return pl.DataFrame([coding.decode(own).alias(name).cast(kinds[name]) for name, coding, own in columns])


def _plain(kind: pl.DataType) -> pl.DataType:
    return pl.String() if isinstance(kind, pl.Enum | pl.Categorical) else kind


def _as_values(names: Sequence[str | None], like: pl.DataFrame, column: str, *, missing: bool = False) -> pl.DataFrame:
    """Texts as values of a column, the missing one too if it is wanted; those that cannot be are left out."""
    found = pl.Series(column, [*names], dtype=pl.String).cast(like.schema[column], strict=False).drop_nulls()
    return pl.DataFrame([found.extend_constant(None, 1) if missing else found])


def texts_of(values: pl.DataFrame) -> list[str]:
    """The values as text, the missing one by a text of its own."""
    return [str(text) for text in joined_texts(values, values.columns).to_list()]


def names_of(values: pl.DataFrame) -> list[str | None]:
    """The values as text, as policies and update models name them."""
    texts = texts_of(values)
    return [None if text == MISSING else text for text in texts] if values.width == 1 else [*texts]


def scale_of(coding: Coding) -> pl.DataFrame:
    """The values of a quasi-identifier in the order of their codes, the missing one last."""
    column = coding.decode(np.arange(coding.taxonomy.size, dtype=np.int32)).alias("value")
    return pl.DataFrame([column.cast(_plain(column.dtype))])


def places_of(scales: Sequence[pl.DataFrame], codings: Sequence[Coding]) -> list[Ints]:
    """Code of today to its place among the values of the first table; of new values where they would be.

    Numbers and dates have their place by size, other new values are put in the middle: any rule will do that goes by
    nothing but the value.
    """
    found = []
    for scale, coding in zip(scales, codings, strict=True):
        then, now = scale["value"], scale_of(coding)["value"]
        known = then.drop_nulls()
        if then.dtype.is_numeric() or then.dtype.is_temporal():
            sorted_ = known.to_physical().to_numpy()
            at = np.searchsorted(sorted_, now.cast(then.dtype).to_physical().fill_null(strategy="zero").to_numpy())
            place = np.minimum(at, max(len(sorted_) - 1, 0)).astype(np.int64)
        else:
            numbered = dict(zip(known.cast(pl.String).to_list(), range(len(known)), strict=True))
            place = np.array([numbered.get(text, len(known) // 2) for text in now.cast(pl.String).to_list()], np.int64)
        place[now.is_null().to_numpy()] = len(known)
        found.append(place)
    return found


def codes_of(table: Table, values: pl.DataFrame) -> tuple[Ints, Bools]:
    """The code of each row's true value, and whether it has one.

    A value that nobody named at the start has none. Its people are treated as if they had a value that is drawn by a
    prior and the key: what is published of them says nothing about the true one.
    """
    own = table.decode(np.arange(table.domain.size, dtype=np.int32))
    place = {text: code for code, text in enumerate(joined_texts(values, values.columns).to_list())}
    code = np.array([place.get(text, -1) for text in joined_texts(own, values.columns).to_list()], np.int64)
    found = code[table.sensitive]
    return np.where(found >= 0, found, 0), found >= 0
