"""A table that is looked at for defects: its cells, with the numbers that its rows have in the file.

From a sheet as it is (`files/grid.py`) the table is taken out: notes around it are left, header lines are joined,
short rows are filled up, and merged cells are filled down. Each of these is a defect that is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.errors import DataError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.grid import Grid
from reissue.files.layout import SheetLayout, find_layout, is_blank

__all__ = ["Hit", "Sheet", "sheet_of_frame", "sheet_of_grid"]

_SHOWN = 5
"""Maximum number of values that show what is meant."""


@dataclass(frozen=True, eq=False)
class Hit:
    """What a repair concerns: a column (empty: whole rows), and the numbers of the rows."""

    column: str
    rows: tuple[int, ...]
    examples: tuple[str, ...] = ()
    """Some of the values, for the holder's own eyes."""
    cells: int | None = None
    """The number of cells, if it is not that of the rows."""
    lost: int = 0
    """How many of these cells could not be read, and are missing now."""

    @property
    def count(self) -> int:
        """The number of cells or rows."""
        return len(self.rows) if self.cells is None else self.cells


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table and the numbers of its rows in the file, counted from 1."""

    frame: pl.DataFrame
    rows: Ints
    dialect: Dialect = FOUND
    typed: bool = True
    """Whether the columns have types; else all of them are text."""
    identifier: str | None = None
    """The column that seems to name people."""
    layout: tuple[tuple[str, Hit], ...] = ()
    """What was done to take the table out of the sheet."""
    others: tuple[str, ...] = ()
    """Further sheets of the workbook that hold tables."""

    def without(self, mask: pl.Series, column: str = "", examples: Sequence[str] = ()) -> "tuple[Sheet, Hit]":
        """The sheet without some rows, and which they were."""
        drop = mask.fill_null(value=False).to_numpy()
        hit = Hit(column, tuple(self.rows[drop].tolist()), tuple(examples))
        return replace(self, frame=self.frame.filter(pl.Series(~drop)), rows=self.rows[~drop]), hit

    def with_column(self, new: pl.Series) -> "tuple[Sheet, Hit]":
        """The sheet with a column changed, and in which rows."""
        old = self.frame[new.name]
        changed = old.ne_missing(new if new.dtype == old.dtype else new.cast(pl.String))
        if new.dtype != old.dtype:
            changed = old.cast(pl.String).ne_missing(new.cast(pl.String))
        places = changed.to_numpy()
        values = old.filter(changed).drop_nulls().cast(pl.String).unique(maintain_order=True).head(_SHOWN)
        hit = Hit(new.name, tuple(self.rows[places].tolist()), tuple(values))
        return replace(self, frame=self.frame.with_columns(new)), hit

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of text."""
        return tuple(name for name, kind in self.frame.schema.items() if kind == pl.String)


def sheet_of_frame(frame: pl.DataFrame, identifier: str | None = None) -> Sheet:
    """The sheet of a table whose columns have types."""
    return Sheet(frame, np.arange(1, frame.height + 1), identifier=identifier)


def sheet_of_grid(grid: Grid) -> Sheet:
    """The table in a sheet as it is, as text."""
    layout = find_layout(grid.rows, grid.header)
    if not layout.names or not any(layout.names):
        raise DataError("The sheet is empty: it has no row that names columns.")
    rows, merged = _filled_down(grid, layout)
    own = layout.names[: _width(layout.names)]
    width = max([len(own), *(_width(rows[place]) for place in range(layout.first, layout.end))])
    names, renamed = _all_named(own, width)
    body, numbers, ragged = [], [], []
    for place in range(layout.first, layout.end):
        row = rows[place]
        odd = _width(row) > len(own) or len(row) < len(own)
        ragged += [place + 1] if odd and _width(row) else []
        body.append([*row[:width], *[None] * (width - len(row))])
        numbers.append(place + 1)
    frame = pl.DataFrame(body, schema=dict.fromkeys(names, pl.String), orient="row")
    frame = frame.with_columns(pl.when(pl.all().str.strip_chars() != "").then(pl.all()))
    found = [("notes", Hit("", tuple(place + 1 for place in (*layout.above, *layout.below))))]
    found += [("header", Hit("", tuple(place + 1 for place in layout.header) if len(layout.header) > 1 else ()))]
    found += [("names", Hit("", (layout.header[-1] + 1,) if renamed else (), cells=renamed))]
    found += [("unnamed", Hit("", (), cells=len(layout.names) - len(own)))]
    found += [("ragged", Hit("", tuple(ragged))), ("merged", Hit("", merged))]
    dialect = replace(grid.dialect, header=layout.named + 1)
    kept = tuple((name, hit) for name, hit in found if hit.count)
    return Sheet(frame, np.array(numbers, np.int64), dialect, typed=False, layout=kept, others=grid.others)


def _width(row: Sequence[str | None]) -> int:
    """The number of cells up to the last one that is not blank."""
    return max((place + 1 for place, cell in enumerate(row) if not is_blank(cell)), default=0)


def _all_named(names: Sequence[str], width: int) -> tuple[list[str], int]:
    """A name of its own for every column, and how many were given one."""
    made: list[str] = []
    renamed = 0
    for place in range(width):
        name = names[place] if place < len(names) else ""
        own, number = name or f"column {place + 1}", 2
        while own in made or (own != name and own in names):
            own, number = f"{name or 'column'} {number}", number + 1
        renamed += own != name
        made.append(own)
    return made, renamed


def _filled_down(grid: Grid, layout: SheetLayout) -> tuple[list[list[str | None]], tuple[int, ...]]:
    """The rows with the value of merged cells in each of them, and the rows that were filled."""
    rows, filled = list(grid.rows), set()
    for first, last, left, _ in grid.merged:
        if first == last or first < layout.first or last >= layout.end or left >= len(rows[first]):
            continue
        for place in range(first + 1, last + 1):
            rows[place] = [*rows[place][:left], rows[first][left], *rows[place][left + 1 :]]
            filled.add(place + 1)
    return rows, tuple(sorted(filled))
