"""Marks for what is missing: NA, N/A, k.A. and the like in columns that are numbers or dates otherwise.

Such a mark is read as missing where all other cells of the column are numbers, or all are dates; that is said, with
the number of cells. Columns of text keep their marks, and so does what is read as text: published columns. A
number, such as 999 or -9, is a mark only where it is named: `Dialect(missing=("-9",))`. Nothing is, with `missing=""`.
"""

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reissue.errors import ReadingNote
from reissue.files.dialect import Dialect
from reissue.files.values import as_numbers, in_standard_writing
from reissue.words import plural

__all__ = ["say_missing", "without_codes", "without_marks"]

_STARTS = r"^\s*[+-]?\d"
_DAY = r"^\d{4}-\d{2}-\d{2}(?:[ T]\d|$)"

Found = Mapping[str, Mapping[str, int]]
"""Column to its marks, each with the number of cells that it stands in."""


def without_marks(
    frame: pl.DataFrame, dialect: Dialect, *, text: Sequence[str] = (), as_text: Sequence[str] | None = ()
) -> tuple[pl.DataFrame, Found]:
    """Texts that are numbers or dates but for marks, without these; what is to be read as text stays as it is."""
    marks = {mark.lower(): mark for mark in dialect.marks}
    if as_text is None or not marks:
        return frame, {}
    columns, found = [], {}
    for column in frame.iter_columns():
        if column.dtype == pl.String and column.name not in {*text, *as_text}:
            counts = _marks_of(column, marks)
            bare = _unmarked(column, list(marks), dialect) if counts else None
            if bare is not None:
                columns.append(bare)
                found[column.name] = counts
    return frame.with_columns(columns), found


def _marks_of(column: pl.Series, marks: Mapping[str, str]) -> dict[str, int]:
    """The marks of a column and how many cells each stands in; none where something else is no number either."""
    cells = column.drop_nulls()
    digits = cells.str.contains(_STARTS)
    if digits.all() or not digits.any():
        return {}
    others = _folded(cells.filter(~digits))
    if not others.is_in(list(marks)).all():
        return {}
    return {marks[mark]: number for mark, number in others.value_counts(sort=True).iter_rows()}


def _folded(cells: pl.Series) -> pl.Series:
    return cells.str.strip_chars().str.to_lowercase()


def _unmarked(column: pl.Series, marks: Sequence[str], dialect: Dialect) -> pl.Series | None:
    """The column without its marks, if all else is numbers or dates; in local writing it stays as it is."""
    bare = pl.select(pl.when(~_folded(column).is_in(marks)).then(column)).to_series().alias(column.name)
    if in_standard_writing(bare, dialect) is not bare:
        return bare
    numbers = as_numbers(bare)
    if numbers is not None:
        return numbers
    return bare if bare.drop_nulls().str.contains(_DAY).all() else None


def without_codes(
    frame: pl.DataFrame, dialect: Dialect, *, text: Sequence[str] = (), as_text: Sequence[str] | None = ()
) -> tuple[pl.DataFrame, Found]:
    """Numbers that were named as missing, such as -9, taken out of the columns of numbers."""
    codes = {float(mark): mark for mark in dialect.marks if _is_number(mark)}
    if as_text is None or not codes:
        return frame, {}
    columns, found = [], {}
    for column in frame.iter_columns():
        if column.dtype.is_numeric() and column.name not in {*text, *as_text}:
            coded = column.cast(pl.Float64).is_in(list(codes)).fill_null(value=False)
            if coded.any():
                counts = column.filter(coded).cast(pl.Float64).value_counts(sort=True)
                found[column.name] = {codes[value]: number for value, number in counts.iter_rows()}
                columns.append(pl.select(pl.when(~coded).then(column)).to_series().alias(column.name))
    return frame.with_columns(columns), found


def _is_number(mark: str) -> bool:
    try:
        return math.isfinite(float(mark))
    except ValueError:
        return False


def say_missing(path: Path, found: Found) -> None:
    """Say which marks were read as missing, in how many cells of which columns."""
    if not found:
        return
    cells: Counter[str] = Counter()
    for counts in found.values():
        cells.update(counts)
    shown = ", ".join(f"'{mark}' in {plural(number, 'cell')}" for mark, number in cells.most_common())
    columns = "its column" if len(found) == 1 else f"their {len(found)} columns"
    fact = f"{path.name}: {shown} read as missing, for all else in {columns} is numbers or dates."
    warnings.warn(ReadingNote(fact, "With dialect=Dialect(missing='') it is text."), stacklevel=3)
