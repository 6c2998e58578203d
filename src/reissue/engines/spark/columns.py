"""The columns of a Spark DataFrame: by their places, and with the types that they have in Arrow and in Polars."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reissue.engines.spark.errors import explained

__all__ = ["column_types", "no_rows", "numbered", "to_polars"]


def numbered(frame: Any, names: Sequence[str]) -> Any:
    """Some columns, named by their places: Spark takes other names apart at dots, and ignores their case."""
    places = [str(place) for place, _ in enumerate(frame.columns)]
    of_name = dict(zip(frame.columns, places, strict=True))
    chosen = frame.toDF(*places).select(*(of_name[name] for name in names))
    return chosen.toDF(*(str(place) for place, _ in enumerate(names)))


def column_types(frame: Any) -> Mapping[str, pl.DataType]:
    """Names to types in Polars."""
    with explained("reading the table's columns"):
        kinds = to_polars(no_rows(numbered(frame, frame.columns))).schema
    return dict(zip(frame.columns, kinds.values(), strict=True))


def no_rows(frame: Any) -> Any:
    """An Arrow table with the types that Spark gives columns, times too, whatever its version."""
    return frame.limit(0).toArrow()


def to_polars(table: Any) -> pl.DataFrame:
    """An Arrow table that came from Spark."""
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)  # noqa: S101  # a table is one
    return found
