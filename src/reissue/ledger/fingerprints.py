"""Fingerprints of tables and requests, which only the owner of the key can make.

Publishing the same table again, with its rows in any order, returns the existing release and makes no second one. So
the fingerprint does not depend on the order of rows, and neither may the release: rows are sorted first.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.hashing import RowDigest
from reissue.data.identifiers import identifier_texts
from reissue.data.table import Table
from reissue.ledger.chain import canonical
from reissue.ledger.key import Key
from reissue.ledger.pack import csv_bytes
from reissue.schema import Schema

__all__ = [
    "FORM",
    "PERSON",
    "TableFingerprints",
    "fingerprint_by_csv",
    "fingerprint_by_rows",
    "followed_columns",
    "identifier_order",
    "is_former",
    "row_digest",
    "row_order",
    "rows_in_order",
    "table_digest",
    "table_fingerprint",
    "written_forms",
]

_ROWS = "rows:"


@dataclass(frozen=True, eq=False)
class TableFingerprints:
    """What a ledger knows about a table without its identifiers."""

    mark: str
    """The fingerprint of the table and the request."""
    table: str
    """The fingerprint of the table alone."""
    rows: RowDigest
    """From which earlier versions made fingerprints."""
    identifiers: str | None
    """The form of the identifiers in the table."""
    forms: pl.DataFrame | None
    """The relaxed form of each person's identifier, both as numbers; None if there is no identifier."""


PERSON, FORM = "person", "form"


def written_forms(key: Key, ids: pl.Series) -> pl.DataFrame:
    """Return the relaxed form of each person's identifier, both as numbers that only the key can make."""
    return pl.DataFrame({PERSON: key.pseudonyms(ids), FORM: key.relaxed(ids)})


def table_digest(key: Key) -> RowDigest:
    """An empty digest of what is followed through a series; rows are added at once or in batches."""
    return RowDigest(key.derive("table rows"))


def followed_columns(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The columns that keep their meaning through a series, with all numbers of one type."""
    names = [name for name in (schema.identifier, *schema.quasi, *schema.sensitive) if name is not None]
    numbers = [name for name in names if frame[name].dtype.is_numeric() and name != schema.identifier]
    return frame.select(names).with_columns(pl.col(numbers).cast(pl.Float64))


def table_fingerprint(key: Key, rows: RowDigest) -> str:
    """The fingerprint of a table, whatever is asked of it and whatever the order of its rows and columns."""
    return key.derive("table", rows.hex().encode()).hex()


def row_digest(key: Key) -> RowDigest:
    """An empty digest; rows are added at once or in batches."""
    return RowDigest(key.derive("rows"))


def fingerprint_by_rows(key: Key, asked: Sequence[Any], rows: RowDigest) -> str:
    """The fingerprint of a request: of a table's digest and of whatever is asked beside it."""
    content = canonical({"asked": list(asked), "rows": rows.hex()})
    return _ROWS + key.derive("request", content.encode()).hex()


def is_former(mark: str) -> bool:
    """Whether a fingerprint was made by an earlier version, from the CSV of a table in the order of its rows."""
    return not mark.startswith(_ROWS)


def fingerprint_by_csv(key: Key, asked: Sequence[Any], table: Table) -> str:
    """The fingerprint that earlier versions made."""
    content = hashlib.sha256(csv_bytes(table.frame)).hexdigest()
    return key.derive("request", canonical({"asked": list(asked), "table": content}).encode()).hex()


def row_order(table: Table) -> Ints:
    """An order of rows that depends on their content only: by identifier, shorter ones first, else by all columns."""
    if table.ids is not None:
        return identifier_order(identifier_texts(table.ids))
    return rows_in_order(table.frame.select(sorted(table.frame.columns)))


def identifier_order(texts: pl.Series) -> Ints:
    """The order of rows by the identifiers of their people."""
    return rows_in_order(pl.DataFrame({"length": texts.str.len_bytes(), "text": texts}))


def rows_in_order(by: pl.DataFrame) -> Ints:
    """The order of rows by all columns, one after the other."""
    return by.select(pl.arg_sort_by(by.columns, maintain_order=True)).to_series().to_numpy().astype(np.int64)
