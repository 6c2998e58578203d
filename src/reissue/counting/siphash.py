"""SipHash-2-4 (Aumasson and Bernstein 2012): a keyed hash of short texts, here of a whole column at once.

A library's keyed hash must be called text by text, which for a register's identifiers costs more than anonymizing it.
All texts of one length in words are hashed together, eight bytes at a time.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reissue._arrays import Ints

__all__ = ["siphash"]

Words = NDArray[np.uint64]
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def siphash(texts: pl.Series, key: bytes) -> Ints:
    """The hash of every text (none may be missing) under a key of 16 bytes, as signed 64-bit integers."""
    raw = texts.cast(pl.String).cast(pl.Binary)
    sizes = raw.bin.size().to_numpy().astype(np.int64)
    padded = np.array(raw.to_list(), dtype=np.bytes_)
    width = padded.dtype.itemsize
    bytewise = np.zeros((len(sizes), (width // 8 + 1) * 8), np.uint8)
    bytewise[:, :width] = padded.view(np.uint8).reshape(len(sizes), width)
    # The last byte of the last word is the length.
    last = (sizes // 8 + 1) * 8 - 1
    bytewise[np.arange(len(sizes)), last] = sizes & 0xFF
    words = bytewise.view("<u8").astype(np.uint64, copy=False)
    hashes = np.empty(len(sizes), np.uint64)
    for count in np.unique(sizes // 8 + 1).tolist():
        here = np.flatnonzero(sizes // 8 + 1 == count)
        hashes[here] = _hash(words[here, :count], np.frombuffer(key, "<u8"))
    return hashes.view(np.int64)


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
    """SipRound, this many times; additions wrap around."""
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
