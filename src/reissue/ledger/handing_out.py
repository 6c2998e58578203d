"""The files of a release as they are handed out: always the same bytes, whenever they are written."""

import gzip
import hashlib
from collections.abc import Callable

from reissue.errors import DataError
from reissue.ledger.pack import csv_bytes, unpack_frame
from reissue.ledger.recorded import Recorded

__all__ = ["KEPT", "original_ending", "table_bytes"]

KEPT = (".csv", ".csv.gz", ".parquet")
"""Endings of files that are the same bytes whenever they are written."""


def table_bytes(release: Recorded, table: str, path: str, read: Callable[[str], bytes]) -> bytes:
    """A table in the format that a path asks for; `read` reads a file of the ledger."""
    if path.lower().endswith(original_ending(release, table)):
        return read(release.files[f"original.{table}"])
    stored = read(release.files[f"table.{table}"])
    if path.lower().endswith(".parquet"):
        return stored
    text = csv_bytes(unpack_frame(stored))
    if hashlib.sha256(text).hexdigest() != release.record.csv[table]:
        raise DataError(
            f"Release {release.number} was written as CSV by other versions of the libraries, and the bytes differ "
            "now. Export it as .parquet: these bytes are kept as they are."
        )
    return gzip.compress(text, mtime=0) if path.lower().endswith(".gz") else text


def original_ending(release: Recorded, table: str) -> tuple[str, ...]:
    """The ending of the file that a table was adopted from, if it is kept."""
    name = release.files.get(f"original.{table}", "")
    return (name[name.index(".") :],) if name else ()
