"""The engine `pieces`: one table that lies in several files or frames, counted one after the other.

Never more than one piece is in memory, beside the counts. Not a quick engine, but a short one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.data.table import to_polars
from reissue.engines.base import Counted
from reissue.engines.registry import engine
from reissue.errors import InputError


@dataclass(frozen=True)
class Pieces:
    """The pieces as they were given: paths or dataframes."""

    given: tuple[Any, ...]

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        """Those of the first piece."""
        return dict(to_polars(self.given[0])[0].schema)

    def counts(self, by: Sequence[str]) -> Counted:
        """Count every piece, and add up."""
        times = "times of " + ", ".join(by)  # no column has this name
        parts = [to_polars(piece)[0].group_by(by).len(times) for piece in self.given]
        whole = pl.concat(parts, how="vertical_relaxed").group_by(by).agg(pl.col(times).sum().cast(pl.Int64)).sort(by)
        return Counted(whole.select(by), whole[times])


@engine("pieces", "One table in several files, counted one after the other: a short example, not a quick engine.")
def open_pieces(data: Any) -> Pieces:
    """A list of paths or dataframes."""
    if not isinstance(data, list | tuple) or not data:
        raise InputError("The engine 'pieces' takes a list of files or dataframes with the same columns.")
    return Pieces(tuple(data))
