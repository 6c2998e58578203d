"""Exporting releases: their files with the same bytes whenever they are written."""

import gzip
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from reissue.errors import DataError
from reissue.files.dialect import PLAIN, Dialect
from reissue.files.places import beside_folder, refuse_existing, second_path
from reissue.files.staging import Staging, scratch_folder
from reissue.files.tables import stage_tables
from reissue.ledger.folders import FolderInLedger
from reissue.ledger.pack import csv_bytes, unpack_frame
from reissue.ledger.recorded import Recorded

__all__ = ["exported_bytes", "is_exported", "stage_release", "table_parts"]

Read = Callable[[str], bytes]
"""Reads a file of the ledger by its name."""
_EXACT = (".csv", ".csv.gz", ".parquet")
"""Formats whose bytes are the same whenever they are written."""


def _table_bytes(release: Recorded, table: str, path: str, read: Read) -> bytes:
    """A table in the format that the path asks for."""
    if path.lower().endswith(_original_ending(release, table)):
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


def _original_ending(release: Recorded, table: str) -> tuple[str, ...]:
    """The ending of the file from which the table was adopted, if that file is stored."""
    name = release.files.get(f"original.{table}", "")
    return (name[name.index(".") :],) if name else ()


def table_parts(release: Recorded, table: str, read: Read) -> Iterator[pl.DataFrame]:
    """Yield a table of a release part by part, each checked; a table that is not stored in parts is a single part."""
    folder = FolderInLedger.of(release, table, read)
    whole = (unpack_frame(read(release.files[f"table.{table}"])) for _ in range(1))
    return whole if folder is None else folder.frames()


def stage_release(
    release: Recorded,
    path: str | Path,
    staging: Staging,
    read: Read,
    *,
    force: bool = False,
    dialect: Dialect = PLAIN,
) -> list[str]:
    """Stage the files of a release beside their places; return their paths.

    A release that is stored in parts goes to a folder if the path has no ending.
    """
    in_folder = "." not in Path(path).name
    further = release.tables[1:]
    beside = [str(beside_folder(Path(path), one)) if in_folder else second_path(path, one) for one in further]
    places = [str(path), *beside]
    for name, place in zip(release.tables, places, strict=True):
        parts = in_folder and FolderInLedger.of(release, name, read)
        if not parts or not parts.is_at(Path(place)):
            refuse_existing(place, force=force, table=not parts)
    for name, place in zip(release.tables, places, strict=True):
        folder = FolderInLedger.of(release, name, read)
        how = {"in_folder": in_folder, "force": force}
        if folder is not None and dialect == PLAIN and folder.stage(Path(place), staging, **how):
            continue
        if folder is None and dialect == PLAIN and place.lower().endswith((*_EXACT, *_original_ending(release, name))):
            staging.add_bytes(Path(place), _table_bytes(release, name, place, read), replaces=force)
        else:
            frame = pl.concat(table_parts(release, name, read))
            stage_tables(staging, [(frame, place)], force=force, dialect=dialect)
    return places


def is_exported(release: Recorded, path: Path, read: Read, dialect: Dialect = PLAIN) -> bool:
    """Whether a folder or file already holds exactly what exporting the release there would write."""
    parts = FolderInLedger.of(release, release.tables[0], read)
    if parts is not None and "." not in path.name:
        return parts.is_at(path)
    if release.withdrawn is not None or not path.is_file():
        return False
    with scratch_folder() as scratch:
        with Staging() as staging:
            places = stage_release(release, scratch / path.name, staging, read, force=False, dialect=dialect)
            staging.place()
        pairs = [(Path(place), path.parent / Path(place).name) for place in places]
        return all(there.is_file() and there.read_bytes() == one.read_bytes() for one, there in pairs)


def exported_bytes(release: Recorded, name: str, read: Read) -> list[bytes]:
    """Return what exporting a release to a file of this name would write; nothing if the bytes are not stored.

    Not stored are those of releases in parts, and of formats that libraries write differently each time.
    """
    parts = any(FolderInLedger.of(release, table, read) is not None for table in release.tables)
    if parts or not name.lower().endswith(_EXACT):
        return []
    return [_table_bytes(release, table, name, read) for table in release.tables]
