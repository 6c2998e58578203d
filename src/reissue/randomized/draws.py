"""Keyed randomness: a draw is a function of key, pseudonym, release, column and purpose, so it can be repeated."""

import numpy as np

from reissue._arrays import Floats, Ints
from reissue.counting.hashing import siphash_words

__all__ = ["pick", "tags", "uniform"]

_RANDOM, _TAG = 0x72616E646F6D, 0x746167
"""So that draws and tags under one key have nothing to do with each other."""


def uniform(key: bytes, pseudonyms: Ints, release: int, column: int, purpose: int) -> Floats:
    """One number in [0, 1) for each pseudonym."""
    hashes = siphash_words(pseudonyms, [_RANDOM, release, column, purpose], key)
    return np.asarray((hashes.view(np.uint64) >> np.uint64(11)) * 2.0**-53, np.float64)


def tags(key: bytes, pseudonyms: Ints, values: Ints, column: int) -> Ints:
    """A keyed tag of each person's true value: tells whether it changed, and to whoever lacks the key nothing else."""
    return siphash_words(pseudonyms, [_TAG, values, column], key)


def pick(chances: Floats, at: Floats) -> Ints:
    """The value that each number in [0, 1) falls on, by distributions (people x values)."""
    ends = np.cumsum(chances, axis=1)
    last = chances.shape[1] - 1 - np.argmax(chances[:, ::-1] > 0, axis=1)
    return np.asarray(np.minimum((at[:, np.newaxis] * ends[:, -1:] >= ends).sum(1), last), np.int64)
