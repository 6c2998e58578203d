"""A private copy of a table that is to be published, with pseudonyms instead of identifiers; marked as it is read."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.data.identifiers import identifier_kind, identifier_texts
from reissue.engines.base import InBatches
from reissue.errors import DataError, SchemaError
from reissue.ledger.marks import identifier_order, mark_by_rows, row_digest
from reissue.publishing.candidate import Request, kinds_of
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.ledger import Ledger

__all__ = ["PrivateCopy"]


@dataclass(frozen=True, eq=False)
class PrivateCopy:
    """A folder of Parquet."""

    folder: Path
    mark: str
    kinds: dict[str, str]
    identifiers: str
    people: Ints
    """Row to its pseudonym."""
    order: Ints | None
    """The rows in an order that does not depend on how they came, if that was asked for."""

    @classmethod
    def of(
        cls, source: InBatches, schema: Schema, ledger: "Ledger", request: Request, folder: Path, *, ordered: bool
    ) -> "PrivateCopy":
        """Read the table once, a batch at a time."""
        name, digest, people, texts = schema.identifier or "", row_digest(ledger.key), [], []
        columns = source.columns
        absent = [one for one in schema.used if one not in columns]
        if absent:
            raise SchemaError(f"The schema names columns that the data lacks: {', '.join(absent)}.")
        folder.mkdir()
        used = [one for one in columns if one in schema.used]
        for number, batch in enumerate(source.batches(used)):
            if batch[name].null_count():
                raise DataError(f"The identifier '{name}' is missing in {batch[name].null_count()} rows, or more.")
            named = batch.with_columns(ledger.key.pseudonyms(batch[name]))
            digest.add(named)
            people.append(named[name].to_numpy())
            texts += [identifier_texts(batch[name])] if ordered else []
            named.write_parquet(folder / f"{number:05d}.parquet", compression="lz4")
        everyone = np.concatenate([np.empty(0, np.int64), *people])
        if not len(everyone):
            raise DataError("The table has no rows.")
        if len(np.unique(everyone)) < len(everyone):
            raise DataError(f"The identifier '{name}' is not unique: one row per person is needed.")
        mark = mark_by_rows(ledger.key, request.asked(schema), digest)
        kinds = kinds_of({one: columns[one] for one in schema.used}, schema)
        form = identifier_kind(pl.Series(dtype=columns[name]))
        return cls(folder, mark, kinds, form, everyone, identifier_order(pl.concat(texts)) if ordered else None)
