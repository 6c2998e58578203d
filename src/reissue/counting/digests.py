"""A digest of a table's rows that does not depend on their order, nor on how they are read: whole, or some at a time.

Every value becomes 64 bits by what it is (text by SipHash, numbers and times as they are), the values of a row are
mixed in the order of the columns' names, and rows are added up, twice with different keys. What is mixed is written
here and depends on no library's own hashing, so a digest means the same in every version.
"""

import hashlib
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reissue.counting.hashing import mix
from reissue.counting.siphash import siphash

__all__ = ["RowDigest", "row_words"]

Words = NDArray[np.uint64]
_MISSING = np.uint64(0x6D697373696E6721)


@dataclass(eq=False)
class RowDigest:
    """Of the rows added so far, under a key of 32 bytes."""

    key: bytes
    rows: int = 0
    sums: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, frame: pl.DataFrame) -> None:
        """Some more rows, with the same columns."""
        for place in range(2):
            mixed = row_words(frame, self.key[16 * place : 16 * place + 16])
            self.sums[place] = (self.sums[place] + int(mixed.sum(dtype=np.uint64))) % 2**64
        self.rows += frame.height

    def hex(self) -> str:
        """The digest as text."""
        said = f"{self.rows}:{self.sums[0]:016x}:{self.sums[1]:016x}"
        return hashlib.sha256(said.encode()).hexdigest()


def row_words(frame: pl.DataFrame, key: bytes) -> Words:
    """Every row as 64 bits that follow from its values and a key of 16 bytes, whatever the order of columns."""
    mixed = np.zeros(frame.height, np.uint64)
    for name in sorted(frame.columns):
        start = np.uint64(int(siphash(pl.Series([name]), key)[0]) & 0xFFFFFFFFFFFFFFFF)
        mixed = mix(mixed ^ mix(_words(frame[name], key) ^ start))
    return mixed


_A_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def _words(column: pl.Series, key: bytes) -> Words:
    """Every value as 64 bits: the same for equal values, whatever frame they come in."""
    kind = column.dtype
    if kind.is_float():
        column = column.cast(pl.Float64).fill_nan(None)
        # Zero has two signs, and is one number.
        words = (column.fill_null(0.0).to_numpy() + 0.0).view(np.uint64)
    elif kind.is_integer() and kind not in {pl.Int128, pl.UInt128, pl.UInt64}:
        words = column.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    else:
        return _texts(_written(column), key)
    return np.where(column.is_null().to_numpy(), _MISSING, words)


def _written(column: pl.Series) -> pl.Series:
    """A column as texts that follow from its values alone."""
    kind = column.dtype
    if isinstance(kind, pl.Datetime):
        # Seconds and billionths: a time far off would not fit a number of billionths.
        parts = _A_SECOND[kind.time_unit]
        count = column.to_physical()
        return (count // parts).cast(pl.String) + "." + (count % parts * (_A_SECOND["ns"] // parts)).cast(pl.String)
    if kind == pl.Binary:
        return column.bin.encode("hex")
    if kind.is_nested():
        said = [None if value is None else repr(value) for value in column.to_list()]
        return pl.Series(column.name, said, dtype=pl.String)
    return (column.to_physical() if kind.is_temporal() else column).cast(pl.String)


def _texts(column: pl.Series, key: bytes) -> Words:
    """Texts by SipHash, each different one once."""
    number = column.cast(pl.Categorical(pl.Categories.random())).to_physical().cast(pl.Int64).fill_null(-1)
    first = number.is_first_distinct() & column.is_not_null()
    words = np.full(int(number.max() or 0) + 2, _MISSING)  # type: ignore[arg-type]
    if first.any():
        words[number.filter(first).to_numpy()] = siphash(column.filter(first), key).view(np.uint64)
    # The last place is that of -1.
    return np.asarray(words[number.to_numpy()])
