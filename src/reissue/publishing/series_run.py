"""A run of a series that its memory file remembers: after a crash the same command gives the same releases.

The memory is on disk before the releases take their places. It remembers the one before too, and tells by a mark the
tables of its last run and what was asked: the same once more are the same releases, not the next ones. Without a seed
they follow from the memory's key, the tables and what is asked.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from reissue.counting.hashing import RowDigest
from reissue.errors import InputError
from reissue.files.tables import write_private
from reissue.ledger.key import Key
from reissue.ledger.marks import fingerprint_by_rows, row_digest
from reissue.release.memory import Memory, SeriesFile, fingerprint, load_series, pack_memory
from reissue.schema import Schema

__all__ = ["AGAIN", "SeriesRun"]

AGAIN = "This is the last run of the series once more: these are the same releases, not the next ones."
_PLACE = "\0place"


@dataclass(eq=False)
class SeriesRun:
    """A run: its rows are added in order, then it is known which it is."""

    file: Path
    kept: SeriesFile
    rows: RowDigest
    mark: str = ""

    @classmethod
    def begin(cls, file: Path, schema: Schema, method: str) -> Self:
        """Open the memory file of a series, or begin one."""
        if file.exists():
            kept = load_series(file)
        else:
            memory = Memory(fingerprint(schema), method, secrets.token_bytes(16))
            kept = SeriesFile(memory, memory, "")
        return cls(file, kept, row_digest(Key(kept.memory.key)))

    def add(self, frame: pl.DataFrame, *, in_order: bool = True) -> None:
        """Some more rows; in another order they make other releases."""
        place = pl.int_range(self.rows.rows, self.rows.rows + frame.height, eager=True).alias(_PLACE)
        self.rows.add(frame.with_columns(place) if in_order else frame)

    def settle(self, schema: Schema, asked: Mapping[str, Any]) -> tuple[Memory, int]:
        """With what is asked: the memory to go on from, and the seed."""
        key, seed = Key(self.kept.memory.key), asked.get("seed")
        said = [schema.dumps(), sorted([name, repr(value)] for name, value in asked.items())]
        self.mark = fingerprint_by_rows(key, said, self.rows)
        drawn = int.from_bytes(key.derive("seed", self.mark.encode())[:16], "little")
        return self.kept.before if self.is_again else self.kept.memory, drawn if seed is None else seed

    @property
    def is_again(self) -> bool:
        """Whether the file remembers this run already."""
        return self.mark == self.kept.mark

    @contextmanager
    def remembered(self, after: Memory) -> Iterator[None]:
        """The memory after the run is on disk while its releases are placed; as before if they cannot be."""
        before = self.file.read_bytes() if self.file.exists() else None
        gone_on_from = self.kept.before if self.is_again else self.kept.memory
        write_private(pack_memory(SeriesFile(after, gone_on_from, self.mark)), self.file, force=True)
        try:
            yield
        except BaseException:
            with suppress(OSError, InputError):
                self.file.unlink() if before is None else write_private(before, self.file, force=True)
            raise
