"""True totals: how many people of a release have each value, as a yearbook may say beside it."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from reissue.counting.texts import joined_texts
from reissue.data.table import to_polars
from reissue.errors import InputError
from reissue.schema import Schema

__all__ = ["read_totals", "totals_of"]

_COUNT, _RELEASE = "count", "release"


def totals_of(truth: pl.Series) -> dict[str, int]:
    """The totals of true values."""
    counted = truth.value_counts(name="number")
    return {str(text): int(number) for text, number in counted.iter_rows()}


def read_totals(data: Any, schema: Schema, number: int, releases: int) -> Mapping[str, int]:
    """The totals of one release from a table: the sensitive columns, `count`, and of several releases `release`."""
    frame, _ = to_polars(data)
    wanted = [*schema.sensitive, _COUNT, *([_RELEASE] if releases > 1 else [])]
    lacking = [name for name in wanted if name not in frame.columns]
    if lacking:
        raise InputError(
            f"A table of totals has a column for each sensitive one, `{_COUNT}` and, of several releases, `{_RELEASE}` "
            f"(numbered from 1). {len(lacking)} of these {'is' if len(lacking) == 1 else 'are'} lacking."
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
