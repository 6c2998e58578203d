"""Numbers drawn for rows, which decide among people with equal quasi-identifiers.

Where a group is cut between such people, some must go one way and some the other. The order of the table may depend on
sensitive values, and the rows of an engine have no order at all, so the decision is by lot: each row gets a number that
follows from the seed and from whose record it is, by a keyed hash of the identifier. Without an identifier, rows are
distinguished by what is published of them, and equal rows get different numbers, so that every order of the values is
equally likely. The numbers are the same wherever the rows are stored.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.hashing import mix, row_words
from reissue.data.table import Table

__all__ = ["FixedDraws", "draw_key", "person_draws", "with_draws"]

_STREAM = 2**32 - 1
"""Separates the key's random numbers from those of regions, which are numbered from 1."""


def draw_key(rng: np.random.Generator) -> bytes:
    """Derive a key from a generator's seed, without drawing from the generator."""
    seed: Any = rng.bit_generator.seed_seq
    return np.random.default_rng([*np.atleast_1d(np.array(seed.entropy, object)), _STREAM]).bytes(24)


def person_draws(ids: pl.Series, key: bytes) -> Ints:
    """Return the number of each identifier."""
    return _signed(mix(row_words(ids.alias("person").to_frame(), key[:16]) ^ _last(key)))


@dataclass(frozen=True, eq=False)
class FixedDraws:
    """Numbers that are given, one per row."""

    numbers: Ints

    def of(self, rows: Ints) -> Ints:
        """The numbers of some rows."""
        return self.numbers[rows]

    def some(self, rows: Ints) -> "FixedDraws":
        """The draws of a table that has only these rows."""
        return FixedDraws(self.numbers[rows])


@dataclass(frozen=True, eq=False)
class _LazyDraws:
    """Numbers that are computed on demand: most rows of a large table have no equal."""

    key: bytes = field(repr=False)
    codes: Codes
    shown: pl.DataFrame
    """The identifiers alone, or what is published beside the codes."""
    people: bool

    def of(self, rows: Ints) -> Ints:
        """The numbers of some rows, which include all rows equal to any of them."""
        shown = self._shown(rows)
        if self.people:
            return person_draws(shown.to_series(), self.key)
        return _row_draws(self.codes[:, rows], shown, self.key)

    def some(self, rows: Ints) -> "_LazyDraws":
        """The draws of a table that has only these rows."""
        return replace(self, codes=self.codes[:, rows], shown=self._shown(rows))

    def _shown(self, rows: Ints) -> pl.DataFrame:
        """Some rows of what is shown; a frame without columns has no rows either."""
        return self.shown[rows] if self.shown.width else self.shown


def with_draws(table: Table, key: bytes) -> Table:
    """Return the table with a number for each row."""
    known = table.schema.identifier
    names = [*table.schema.sensitive, *table.schema.kept] if known is None else [known]
    return replace(table, draw=_LazyDraws(key, table.codes, table.frame.select(names), known is not None))


def _row_draws(codes: Codes, shown: pl.DataFrame, key: bytes) -> Ints:
    """A number for each row from its codes and whatever else is published; equal rows get different numbers."""
    words = row_words(shown, key[:16]) if shown.width else np.zeros(codes.shape[1], np.uint64)
    for column in codes:
        words = mix(words ^ mix(column.astype(np.uint64) ^ _last(key)))
    order = np.argsort(words, kind="stable")
    laid = words[order]
    first = np.flatnonzero(np.concatenate([[True], laid[1:] != laid[:-1]]))
    earlier = np.empty(len(words), np.uint64)
    earlier[order] = np.arange(len(words)) - np.repeat(first, np.diff([*first, len(words)]))
    return _signed(mix(words ^ mix(earlier ^ _last(key))))


def _last(key: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(key[16:], "little"))


def _signed(words: Any) -> Ints:
    return np.asarray(words.view(np.int64))
