"""The engine `memory`: the whole table in memory, as one Polars frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.data.table import to_polars
from reissue.engines.base import Counted
from reissue.engines.registry import MEMORY, engine

__all__ = ["open_in_memory"]


@dataclass(frozen=True, eq=False)
class _Frame:
    frame: pl.DataFrame

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        return dict(self.frame.schema)

    def counts(self, by: Sequence[str]) -> Counted:
        return counted(self.frame.lazy(), by)


@engine(MEMORY, "All rows in memory: the quickest where they fit.")
def open_in_memory(data: Any) -> _Frame:
    """Any dataframe, or a file."""
    return _Frame(to_polars(data)[0])


def counted(rows: pl.LazyFrame, by: Sequence[str]) -> Counted:
    """Different combinations of some columns and their numbers, counted a batch of rows at a time."""
    times = "times of " + ", ".join(by)  # longer than any of their names, so none of them
    # A text is hashed and kept as a number of four bytes: published tables have few texts, each very often.
    kinds = rows.collect_schema()
    texts = [pl.col(one).cast(pl.Categorical(pl.Categories.random())) for one in by if kinds[one] == pl.String]
    counted_rows = rows.select(by).with_columns(texts).group_by(by).agg(pl.len().cast(pl.Int64).alias(times))
    found = counted_rows.sort(by).collect(engine="streaming")
    return Counted(found.select(by), found[times])
