"""Numbers drawn for rows: which of several people with equal quasi-identifiers comes first.

Where a group is cut between such people, somebody has to go one way and somebody the other. The order of the table may
follow from sensitive values, and an engine's rows have no order at all, so it is drawn by lot: a number for each row
that follows from the seed and from who it is, by a keyed hash of the identifier. Where there is none, rows are told
apart by what is published of them, and each of several that are equal gets a number of its own: so every order of the
values is as likely as any other. The same numbers come out wherever the rows lie.
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
"""Tells the key's random numbers from those of regions, which are numbered from 1."""


def draw_key(rng: np.random.Generator) -> bytes:
    """The key that follows from a generator's seed; nothing is taken from the generator."""
    seed: Any = rng.bit_generator.seed_seq
    return np.random.default_rng([*np.atleast_1d(np.array(seed.entropy, object)), _STREAM]).bytes(24)


def person_draws(ids: pl.Series, key: bytes) -> Ints:
    """Identifier to its number."""
    return _signed(mix(row_words(ids.alias("person").to_frame(), key[:16]) ^ _last(key)))


@dataclass(frozen=True, eq=False)
class FixedDraws:
    """Numbers that are there, one for each row."""

    numbers: Ints

    def of(self, rows: Ints) -> Ints:
        """Those of some rows."""
        return self.numbers[rows]

    def some(self, rows: Ints) -> "FixedDraws":
        """Those of a table that has these rows only."""
        return FixedDraws(self.numbers[rows])


@dataclass(frozen=True, eq=False)
class _LazyDraws:
    """Numbers that are drawn when they are asked for: most rows of a large table have no equal."""

    key: bytes = field(repr=False)
    codes: Codes
    shown: pl.DataFrame
    """The identifiers alone, or what is published beside the codes."""
    people: bool

    def of(self, rows: Ints) -> Ints:
        """Those of some rows, among them all that are equal to one of them."""
        shown = self._shown(rows)
        if self.people:
            return person_draws(shown.to_series(), self.key)
        return _row_draws(self.codes[:, rows], shown, self.key)

    def some(self, rows: Ints) -> "_LazyDraws":
        """Those of a table that has these rows only."""
        return replace(self, codes=self.codes[:, rows], shown=self._shown(rows))

    def _shown(self, rows: Ints) -> pl.DataFrame:
        """Some rows of what is shown; where that is nothing, a frame has no rows either."""
        return self.shown[rows] if self.shown.width else self.shown


def with_draws(table: Table, key: bytes) -> Table:
    """The same table with numbers for its rows."""
    known = table.schema.identifier
    names = [*table.schema.sensitive, *table.schema.kept] if known is None else [known]
    return replace(table, draw=_LazyDraws(key, table.codes, table.frame.select(names), known is not None))


def _row_draws(codes: Codes, shown: pl.DataFrame, key: bytes) -> Ints:
    """Row to its number, by codes and by what else is published; of equal rows each gets another one."""
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
