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
from reissue.ledger.fingerprints import (
    FORM,
    PERSON,
    TableFingerprints,
    fingerprint_by_rows,
    followed_columns,
    identifier_order,
    row_digest,
    table_digest,
    table_fingerprint,
    written_forms,
)
from reissue.publishing.candidate import Request, kinds_of
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.ledger import Ledger

__all__ = ["PrivateCopy"]


@dataclass(frozen=True, eq=False)
class PrivateCopy:
    """A folder of Parquet."""

    folder: Path
    known: TableFingerprints
    kinds: dict[str, str]
    people: Ints
    """Row to its pseudonym."""
    order: Ints | None
    """The rows in an order that does not depend on how they came, if that was asked for."""

    @classmethod
    def of(
        cls, source: InBatches, schema: Schema, ledger: "Ledger", request: Request, folder: Path, *, ordered: bool
    ) -> "PrivateCopy":
        """Read the table once, a batch at a time."""
        name, digest, own = schema.identifier or "", row_digest(ledger.key), table_digest(ledger.key)
        forms, texts = [], []
        columns = source.columns
        absent = [one for one in schema.used if one not in columns]
        if absent:
            raise SchemaError(f"The schema names columns that the data lacks: {', '.join(absent)}.")
        folder.mkdir()
        used = [one for one in columns if one in schema.used]
        for number, batch in enumerate(source.batches(used)):
            if batch[name].null_count():
                raise DataError(f"The identifier '{name}' is missing in {batch[name].null_count()} rows, or more.")
            forms.append(written_forms(ledger.key, batch[name]))
            named = batch.with_columns(forms[-1][PERSON].alias(name))
            digest.add(named)
            own.add(followed_columns(named, schema))
            texts += [identifier_texts(batch[name])] if ordered else []
            named.write_parquet(folder / f"{number:05d}.parquet", compression="lz4")
        written = pl.concat([pl.DataFrame(schema={PERSON: pl.Int64, FORM: pl.Int64}), *forms])
        everyone = written[PERSON].to_numpy()
        if not len(everyone):
            raise DataError("The table has no rows.")
        if len(np.unique(everyone)) < len(everyone):
            raise DataError(f"The identifier '{name}' is not unique: one row per person is needed.")
        mark = fingerprint_by_rows(ledger.key, request.asked(schema), digest)
        kinds = kinds_of({one: columns[one] for one in schema.used}, schema)
        form = identifier_kind(pl.Series(dtype=columns[name]))
        known = TableFingerprints(mark, table_fingerprint(ledger.key, own), digest, form, written)
        return cls(folder, known, kinds, everyone, identifier_order(pl.concat(texts)) if ordered else None)
