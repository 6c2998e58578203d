"""Sensitive values as texts: how several columns become one, and how often each text occurs in each group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.histogram import Histogram, starts_of

__all__ = ["MISSING", "SEPARATOR", "TextCounts", "count_texts", "joined_texts"]

MISSING, SEPARATOR = "\0", "\1"
"""What stands for a missing value, and between the texts of several sensitive columns."""


@dataclass(frozen=True, eq=False)
class TextCounts(Histogram):
    """How often each sensitive value occurs in each published group, by its text."""

    names: tuple[str, ...]
    """Value to its published text, in order; several sensitive columns are joined, and a missing value is a mark."""


def joined_texts(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Several columns as one text for each row; an empty one if there are none."""
    if not columns:
        return pl.repeat("", frame.height, dtype=pl.String, eager=True)
    return frame.select(
        pl.concat_str(pl.col(columns).cast(pl.String).fill_null(MISSING), separator=SEPARATOR)
    ).to_series()


def count_texts(group: Ints, texts: pl.Series, weights: Ints, groups: int) -> TextCounts:
    """Count texts by group; a weight of 0 is no record."""
    counted = (
        pl.DataFrame({"group": group, "text": texts, "count": weights})
        .filter(pl.col("count") > 0)
        .group_by("group", "text")
        .agg(pl.col("count").sum())
        .with_columns((pl.col("text").rank("dense").cast(pl.Int64) - 1).alias("value"))
        .sort("group", "value")
    )
    group, value, count = (counted[name].to_numpy().astype(np.int64) for name in ("group", "value", "count"))
    names = tuple(counted["text"].unique().sort().to_list())
    return TextCounts(starts_of(group, groups), value, count, len(names), names)
