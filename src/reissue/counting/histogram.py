"""How often each sensitive value occurs in each published group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Ints

__all__ = ["MISSING", "SEPARATOR", "Histogram", "count_values", "joined_texts"]

MISSING, SEPARATOR = "\0", "\1"
"""What stands for a missing value, and between the texts of several sensitive columns."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Triples of group, value and count, sorted by group, then value."""

    group: Ints
    value: Ints
    count: Ints
    names: tuple[str, ...]
    """Value to its published text, in order; several sensitive columns are joined, and a missing value is a mark."""


def joined_texts(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Several columns as one text for each row; an empty one if there are none."""
    if not columns:
        return pl.repeat("", frame.height, dtype=pl.String, eager=True)
    return frame.select(
        pl.concat_str(pl.col(columns).cast(pl.String).fill_null(MISSING), separator=SEPARATOR)
    ).to_series()


def count_values(group: Ints, texts: pl.Series, weights: Ints) -> Histogram:
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
    return Histogram(group, value, count, tuple(counted["text"].unique().sort().to_list()))
