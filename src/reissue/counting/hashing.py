"""Hashing: a 64-bit mixer, a keyed hash of texts, and a digest of a table's rows.

The keyed hash is SipHash-2-4 (Aumasson and Bernstein 2012). A library would have to be called once per text, which for
the identifiers of a register costs more than anonymizing it; here all texts of one length in words are hashed together,
eight bytes at a time.

The digest depends neither on the order of the rows nor on whether they are read at once or in batches: every value
becomes 64 bits (texts by SipHash, numbers and times as they are), the values of a row are mixed in the order of the
column names, and rows are summed, twice with different keys. It uses no library's own hashing, so that it means the
same in every version.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reissue._arrays import Ints

__all__ = ["RowDigest", "mix", "row_words", "siphash", "siphash_words"]


def mix(keys: Any) -> Any:
    """Scatter numbers over 64 bits (splitmix64), so that their sums distinguish sets."""
    with np.errstate(over="ignore"):
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


Words = NDArray[np.uint64]
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
"""SipHash's initial state, as the algorithm defines it."""


def siphash(texts: pl.Series, key: bytes) -> Ints:
    """Hash texts, none of them missing, under a key of 16 bytes; return signed 64-bit integers."""
    raw = texts.cast(pl.String).cast(pl.Binary)
    sizes = raw.bin.size().to_numpy().astype(np.int64)
    padded = np.array(raw.to_list(), dtype=np.bytes_)
    width = padded.dtype.itemsize
    bytewise = np.zeros((len(sizes), (width // 8 + 1) * 8), np.uint8)
    bytewise[:, :width] = padded.view(np.uint8).reshape(len(sizes), width)
    # The last byte of the last word is the length of the text.
    last = (sizes // 8 + 1) * 8 - 1
    bytewise[np.arange(len(sizes)), last] = sizes & 0xFF
    words = bytewise.view("<u8").astype(np.uint64, copy=False)
    hashes = np.empty(len(sizes), np.uint64)
    for count in np.unique(sizes // 8 + 1).tolist():
        here = np.flatnonzero(sizes // 8 + 1 == count)
        hashes[here] = _hash(words[here, :count], np.frombuffer(key, "<u8"))
    return hashes.view(np.int64)


def siphash_words(first: Ints, others: Sequence[Ints | int], key: bytes) -> Ints:
    """Hash rows of 64-bit integers; among the columns after the first a number stands for a column of it."""
    words = np.empty((len(first), len(others) + 2), np.int64)
    words[:, 0] = first
    for place, column in enumerate(others, 1):
        words[:, place] = column
    words[:, -1] = len(others) + 1  # in place of the length in bytes
    return _hash(words.view(np.uint64), np.frombuffer(key, "<u8")).view(np.int64)


def _hash(words: Words, key: Words) -> Words:
    """The hash of every row."""
    state = [np.full(len(words), int(key[place % 2]) ^ start, np.uint64) for place, start in enumerate(_START)]
    for word in words.T:
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    state[2] ^= np.uint64(0xFF)
    _rounds(state, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _rounds(v: list[Words], number: int) -> None:
    """Apply SipRound `number` times; additions wrap around."""
    for _ in range(number):
        v[0] += v[1]
        v[2] += v[3]
        v[1] = _turned(v[1], 13) ^ v[0]
        v[3] = _turned(v[3], 16) ^ v[2]
        v[0] = _turned(v[0], 32)
        v[2] += v[1]
        v[0] += v[3]
        v[1] = _turned(v[1], 17) ^ v[2]
        v[3] = _turned(v[3], 21) ^ v[0]
        v[2] = _turned(v[2], 32)


def _turned(words: Words, bits: int) -> Words:
    return np.asarray((words << np.uint64(bits)) | (words >> np.uint64(64 - bits)))


_MISSING = np.uint64(0x6D697373696E6721)


@dataclass(eq=False)
class RowDigest:
    """A digest of the rows added so far, under a key of 32 bytes."""

    key: bytes
    rows: int = 0
    sums: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows with the same columns."""
        for place in range(2):
            mixed = row_words(frame, self.key[16 * place : 16 * place + 16])
            self.sums[place] = (self.sums[place] + int(mixed.sum(dtype=np.uint64))) % 2**64
        self.rows += frame.height

    def hex(self) -> str:
        """The digest as hexadecimal text."""
        said = f"{self.rows}:{self.sums[0]:016x}:{self.sums[1]:016x}"
        return hashlib.sha256(said.encode()).hexdigest()


def row_words(frame: pl.DataFrame, key: bytes) -> Words:
    """Return 64 bits for every row, depending on its values and a key of 16 bytes, but not on the order of columns."""
    mixed = np.zeros(frame.height, np.uint64)
    for name in sorted(frame.columns):
        start = np.uint64(int(siphash(pl.Series([name]), key)[0]) & 0xFFFFFFFFFFFFFFFF)
        mixed = mix(mixed ^ mix(_words(frame[name], key) ^ start))
    return mixed


_A_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def _words(column: pl.Series, key: bytes) -> Words:
    """64 bits for every value; equal values have equal bits in every frame."""
    kind = column.dtype
    if kind.is_float():
        column = column.cast(pl.Float64).fill_nan(None)
        # Positive and negative zero are the same number.
        words = (column.fill_null(0.0).to_numpy() + 0.0).view(np.uint64)
    elif kind.is_integer() and kind not in {pl.Int128, pl.UInt128, pl.UInt64}:
        words = column.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    else:
        return _texts(_written(column), key)
    return np.where(column.is_null().to_numpy(), _MISSING, words)


def _written(column: pl.Series) -> pl.Series:
    """A column as texts that depend on its values alone."""
    kind = column.dtype
    if isinstance(kind, pl.Datetime):
        # Seconds and nanoseconds: distant times would overflow a number of nanoseconds.
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
    """64 bits for every text by SipHash; each distinct text is hashed once."""
    number = column.cast(pl.Categorical(pl.Categories.random())).to_physical().cast(pl.Int64).fill_null(-1)
    first = number.is_first_distinct() & column.is_not_null()
    words = np.full(int(number.max() or 0) + 2, _MISSING)  # type: ignore[arg-type]
    if first.any():
        words[number.filter(first).to_numpy()] = siphash(column.filter(first), key).view(np.uint64)
    # The last place is for -1.
    return np.asarray(words[number.to_numpy()])
