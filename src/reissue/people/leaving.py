"""How soon people leave: of those who have a value in a release the share who are not in the next one."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.texts import joined_texts
from reissue.data.table import to_polars
from reissue.errors import InputError
from reissue.schema import Schema

__all__ = ["counted_leaving", "read_leaving"]

_LEAVES = "leaves"
_WORTH = 5.0
"""Presences' worth of what holds for all values together, beside what is counted of each."""
_LEAST = 1e-3
"""Nobody surely stays, or leaves: somebody may be the first."""


def read_leaving(data: Any, schema: Schema, names: Sequence[str | None]) -> Floats:
    """Value to that share, from a table: the sensitive columns, `leaves`; what it lacks leaves as others do."""
    frame, _ = to_polars(data)
    lacking = [name for name in (*schema.sensitive, _LEAVES) if name not in frame.columns]
    if lacking:
        raise InputError(
            f"A table of who leaves has a column for each sensitive one and `{_LEAVES}`, the share of people with that "
            f"value who are gone in the next release. {len(lacking)} of these {'is' if len(lacking) == 1 else 'are'} "
            "lacking."
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
    """The same by the true tables: release and person to the value, -1 who is not there."""
    here, gone = np.zeros(values), np.zeros(values)
    for now, later in pairwise(truth):
        some = np.flatnonzero(now >= 0)
        here += np.bincount(now[some], minlength=values)
        gone += np.bincount(now[some], later[some] < 0, values)
    usual = gone.sum() / max(float(here.sum()), 1.0)
    return np.asarray(np.clip((gone + _WORTH * usual) / (here + _WORTH), _LEAST, 1 - _LEAST))
