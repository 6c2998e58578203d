"""Tables read for cleaning, and repaired by a schema's recipe each time they are read."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reissue.cleaning import Cleaned, CleanRecipe, Defect, Sheet, repaired, sheet_of_frame, sheet_of_grid
from reissue.data.frames import Back, from_frame, read_together
from reissue.files.cells import report_missing, typed_cells
from reissue.files.databases import database_table, is_database_url
from reissue.files.dialect import FOUND, Dialect
from reissue.files.grid import has_grid, read_grid
from reissue.schema import Schema

__all__ = ["frame_of", "read_repaired", "read_sheet"]


def read_sheet(
    data: Any, schema: Schema | None = None, *, dialect: Dialect = FOUND, text: tuple[str, ...] = ()
) -> tuple[Sheet, Back]:
    """Return a table as it is: text files and workbooks cell by cell, all others with the types of their columns."""
    if isinstance(data, str) and is_database_url(data):
        data = database_table(data)
    if isinstance(data, str | Path):
        if has_grid(Path(data)):
            return sheet_of_grid(read_grid(Path(data), dialect)), lambda frame: frame
        return replace(sheet_of_frame(read_together(data, schema, text=text, dialect=dialect)), dialect=dialect), _same
    frame, back = from_frame(data)
    return replace(sheet_of_frame(frame), dialect=dialect), back


def _same(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


def frame_of(made: Cleaned, *, name: str = "", text: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return the repaired table, its text with the types that all cells of a column have."""
    sheet = made.sheet
    standard = {column: kind for kind in ("numbers", "dates") for column in made.recipe.settings.get(kind, {})}
    settled = {
        column: sheet.frame[column].str.to_date(strict=False) if kind == "dates" else _as_numbers(sheet.frame[column])
        for column, kind in standard.items()
        if column in sheet.texts and column not in text
    }
    if sheet.typed:
        return sheet.frame.with_columns(settled.values())
    others = sheet.frame.drop(settled)
    frame, marks = typed_cells(others, sheet.dialect, text=text) if others.width else (others, {})
    report_missing(Path(name), marks)
    found: dict[str, pl.Series] = {**{one.name: one for one in frame.iter_columns()}, **settled}
    return pl.DataFrame([found[column] for column in sheet.frame.columns])


def _as_numbers(column: pl.Series) -> pl.Series:
    """Text in standard notation as numbers."""
    whole = column.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == column.null_count() else column.cast(pl.Float64, strict=False)


def read_repaired(
    data: Any, schema: Schema, *, dialect: Dialect = FOUND, text: tuple[str, ...] = ()
) -> tuple[pl.DataFrame, Back, tuple[Defect, ...]]:
    """Read a table and repair it as the schema's `[clean]` section says; return what was done, too."""
    sheet, back = read_sheet(data, schema, dialect=dialect, text=text)
    made = repaired(replace(sheet, identifier=schema.identifier), CleanRecipe.of(schema.clean))
    name = Path(data).name if isinstance(data, str | Path) else ""
    return frame_of(made, name=name, text=text), back, made.done
