"""Figures that an adversary may know from elsewhere: the total of each value, and its departure rate."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.texts import joined_texts
from reissue.data.table import to_polars
from reissue.errors import InputError
from reissue.schema import Schema

__all__ = ["counted_leaving", "read_leaving", "read_totals", "totals_of"]

_COUNT, _RELEASE, _LEAVES = "count", "release", "leaves"
_WORTH = 5.0
"""Weight of the rate over all values, in presences, that is added to what is counted for each value."""
_LEAST = 1e-3
"""The smallest rate, and the smallest complement of one: no departure is certain or impossible."""


def totals_of(truth: pl.Series) -> dict[str, int]:
    """Count true values."""
    counted = truth.value_counts(name="number")
    return {str(text): int(number) for text, number in counted.iter_rows()}


def read_totals(data: Any, schema: Schema, number: int, releases: int) -> Mapping[str, int]:
    """Read the totals of one release from a table with the sensitive columns, `count` and, of several, `release`."""
    frame = _table(
        data,
        [*schema.sensitive, _COUNT, *([_RELEASE] if releases > 1 else [])],
        f"A table of totals has a column for each sensitive one, `{_COUNT}` and, of several releases, `{_RELEASE}` "
        "(numbered from 1).",
    )
    counts = frame[_COUNT].cast(pl.Int64, strict=False)
    if counts.is_null().any() or (counts < 0).any():
        raise InputError(f"A table of totals: every `{_COUNT}` must be a whole number, 0 or more.")
    if releases > 1:
        mine = (frame[_RELEASE].cast(pl.Int64, strict=False) == number).fill_null(value=False)
        frame, counts = frame.filter(mine), counts.filter(mine)
    texts = joined_texts(frame, schema.sensitive)
    if texts.is_duplicated().any():
        raise InputError("A table of totals: every value may be there once in a release.")
    return dict(zip(texts.to_list(), counts.to_list(), strict=True))


def read_leaving(data: Any, schema: Schema, names: Sequence[str | None]) -> Floats:
    """Read the departure rate of each value from a table with a column `leaves`.

    A value that it lacks gets the mean rate.
    """
    frame = _table(
        data,
        [*schema.sensitive, _LEAVES],
        f"A table of who leaves has a column for each sensitive one and `{_LEAVES}`, the share of people with that "
        "value who are gone in the next release.",
    )
    shares = frame[_LEAVES].cast(pl.Float64, strict=False)
    if shares.is_null().any() or not shares.is_between(0, 1).all() or not len(shares):
        raise InputError(f"A table of who leaves: every `{_LEAVES}` must be a share, from 0 to 1.")
    texts = joined_texts(frame, schema.sensitive)
    if texts.is_duplicated().any():
        raise InputError("A table of who leaves: every value may be there once.")
    known = dict(zip(texts.to_list(), shares.to_list(), strict=True))
    usual = float(np.mean(list(known.values())))
    return np.asarray(np.clip([known.get(name, usual) for name in names], _LEAST, 1 - _LEAST))


def counted_leaving(truth: Sequence[Ints], values: int) -> Floats:
    """Estimate the departure rate of each value from true tables: release and person to the value, -1 where absent."""
    here, gone = np.zeros(values), np.zeros(values)
    for now, later in pairwise(truth):
        some = np.flatnonzero(now >= 0)
        here += np.bincount(now[some], minlength=values)
        gone += np.bincount(now[some], later[some] < 0, values)
    usual = gone.sum() / max(float(here.sum()), 1.0)
    return np.asarray(np.clip((gone + _WORTH * usual) / (here + _WORTH), _LEAST, 1 - _LEAST))


def _table(data: Any, wanted: Sequence[str], has: str) -> pl.DataFrame:
    """Read a table that must have some columns; `has` describes it in the error."""
    frame, _ = to_polars(data)
    lacking = [name for name in wanted if name not in frame.columns]
    if lacking:
        raise InputError(f"{has} {len(lacking)} of these {'is' if len(lacking) == 1 else 'are'} lacking.")
    return frame
