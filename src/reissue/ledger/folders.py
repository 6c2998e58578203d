"""Releases larger than memory: parts of Parquet, with a manifest that names each by its content.

A part is read, checked, exported and removed like any other file of an entry, one at a time.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from reissue.errors import DataError
from reissue.files.places import MANIFEST
from reissue.files.staging import Staging, sync_folder
from reissue.ledger.pack import Keep, csv_bytes, pack_frame, unpack_frame
from reissue.ledger.recorded import Recorded

__all__ = ["FolderInLedger", "StoredParts", "keep_parts"]

_PART = "part"
_CHANGED = (
    "Release {number} was written as CSV by other versions of the libraries, and the bytes differ now. Export it to a "
    "folder: these bytes are kept as they are."
)
Read = Callable[[str], bytes]


@dataclass(frozen=True)
class StoredParts:
    """What an entry says about a table in parts."""

    files: Mapping[str, str]
    csv: str
    """The SHA-256 of the CSV of all parts."""
    rows: int


def keep_parts(table: str, frames: Iterable[pl.DataFrame], keep: Keep) -> StoredParts:
    """Store a table that arrives part by part."""
    files: dict[str, str] = {}
    parts: list[dict[str, Any]] = []
    digest = hashlib.sha256()
    for number, frame in enumerate(frames, start=1):
        content = pack_frame(frame)
        name = keep(content, ".parquet")
        files[f"{_PART}.{table}.{number:05d}"] = name
        parts.append({"file": f"{number:05d}.parquet", "sha256": name.partition(".")[0], "rows": frame.height})
        digest.update(_text(frame, first=number == 1))
    rows = sum(part["rows"] for part in parts)
    said = json.dumps({"table": table, "rows": rows, "parts": parts}, indent=1, sort_keys=True)
    files[f"table.{table}"] = keep(f"{said}\n".encode(), ".json")
    return StoredParts(files, digest.hexdigest(), rows)


@dataclass(frozen=True)
class FolderInLedger:
    """A table of a release that a ledger stores in parts."""

    release: Recorded
    table: str
    names: tuple[str, ...]
    """The names of the parts in the store, in order."""
    read: Read
    """Reads and checks a file."""

    @classmethod
    def of(cls, release: Recorded, table: str, read: Read) -> "FolderInLedger | None":
        """Return the table, or None if it is a single file."""
        parts = {what: name for what, name in release.files.items() if what.startswith(f"{_PART}.{table}.")}
        return cls(release, table, tuple(parts[what] for what in sorted(parts)), read) if parts else None

    def frames(self) -> Iterator[pl.DataFrame]:
        """The parts, one at a time."""
        return (unpack_frame(self.read(name)) for name in self.names)

    def stage(self, place: Path, staging: Staging, *, in_folder: bool, force: bool) -> bool:
        """Stage the table: a folder byte for byte, or CSV. Return False for any other format."""
        kind = place.name.lower()
        if in_folder:
            self._stage_folder(place, staging)
        elif kind.endswith((".csv", ".csv.gz")):
            staging.add(place, lambda beside: self._write_csv(beside, packed=kind.endswith(".gz")), replaces=force)
        elif kind.endswith(".parquet"):
            staging.add(place, lambda beside: pl.concat(self.frames()).write_parquet(beside), replaces=force)
        else:
            return False
        return True

    @property
    def _files(self) -> dict[str, str]:
        """The name in the store of each file of the folder."""
        parts = {f"{number:05d}.parquet": name for number, name in enumerate(self.names, start=1)}
        return {MANIFEST: self.release.files[f"table.{self.table}"], **parts}

    def is_at(self, place: Path) -> bool:
        """Whether a folder already holds exactly this, perhaps from a run that was killed later."""
        files = self._files
        if not place.is_dir() or {one.name for one in place.iterdir()} != set(files):
            return False
        return all((place / name).read_bytes() == self.read(kept) for name, kept in files.items())

    def _stage_folder(self, place: Path, staging: Staging) -> None:
        if self.is_at(place):
            sync_folder(place.parent)
            return
        staging.add_folder(place)
        for name, kept in self._files.items():
            staging.add_bytes(place / name, self.read(kept))

    def _write_csv(self, beside: Path, *, packed: bool) -> None:
        with beside.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file as out:
            written = self._csv(out)
        if written != self.release.record.csv[self.table]:
            raise DataError(_CHANGED.format(number=self.release.number))

    def _csv(self, out: "IO[bytes] | gzip.GzipFile") -> str:
        """Write all parts as one CSV; return its SHA-256."""
        digest = hashlib.sha256()
        for number, frame in enumerate(self.frames(), start=1):
            text = _text(frame, first=number == 1)
            digest.update(text)
            out.write(text)
        return digest.hexdigest()


def _text(frame: pl.DataFrame, *, first: bool) -> bytes:
    """The CSV of a part; only the first one has a header."""
    whole = csv_bytes(frame)
    return whole if first else whole[len(csv_bytes(frame.clear())) :]
