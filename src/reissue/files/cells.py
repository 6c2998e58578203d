"""Cells of text files: numbers and dates in local notation, and marks for missing values.

All cells of a column decide together. A column is numeric if every cell is a number in the same notation (such as
1.234,50) and at least one cell is unambiguous; where all cells are ambiguous (1.234), the file's dialect decides. Codes
with leading zeros stay text. A column is a date column if every cell is a date. No single cell is interpreted: a column
that is not numeric throughout stays text.

A mark for a missing value (NA, N/A, k.A. and the like) is read as missing where all other cells of the column are
numbers, or all are dates, and the reader is told how many there were. Columns of text keep their marks, and so do
columns that are read as text, such as published ones. A number such as 999 or -9 is a mark only if it is named:
`Dialect(missing=("-9",))`. With `missing=""` nothing is.
"""

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import DataError, ReadingNote
from reissue.files.dialect import DATES, Dialect
from reissue.words import plural

__all__ = [
    "are_numbers",
    "as_numbers",
    "column_of",
    "in_standard_writing",
    "inexact",
    "number_pattern",
    "report_missing",
    "typed_cells",
    "whole_if_all_are",
    "with_standard_values",
    "without_codes",
    "without_marks",
]

_GROUPS = {",": r".'’ \u{a0}\u{202f}", ".": r",'’ \u{a0}\u{202f}"}
"""Thousands separators that may go with each decimal mark."""
_SURE = {
    ",": r",(?:\d{1,2}|\d{4,})$|\.\d{3},|^[+-]?0,",
    ".": r"\.(?:\d{1,2}|\d{4,})$|,\d{3}\.|^[+-]?0\.",
}
_DAY = r"^(?:\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{4}/\d{1,2}/\d{1,2})(?: |$)"
_ISO = r"^\d{4}-\d{2}-\d{2}$"
_CLOCK = (" %H:%M", " %H:%M:%S")
"""Times of day that may follow a date."""


def with_standard_values(
    frame: pl.DataFrame, dialect: Dialect, *, text: Sequence[str] = (), as_text: Sequence[str] | None = ()
) -> pl.DataFrame:
    """Convert columns in local notation to numbers and dates; columns in `text` keep their characters.

    Columns in `as_text` (None: all) stay text, but in standard notation: 1234.5 and 2024-02-03.
    """
    changed = []
    for column in frame.iter_columns():
        if column.dtype == pl.String and column.name not in text:
            found = in_standard_writing(column, dialect)
            typed = as_text is not None and column.name not in as_text
            if found is not column:
                changed.append(_typed(found) if typed else found)
            elif typed and column.count() and column.drop_nulls().str.contains(_ISO).all():
                days = column.str.to_date("%Y-%m-%d", strict=False)
                changed += [days] if days.null_count() == column.null_count() else []
    return frame.with_columns(changed) if changed else frame


def typed_cells(
    frame: pl.DataFrame, dialect: Dialect, *, text: Sequence[str] = (), as_text: Sequence[str] | None = ()
) -> tuple[pl.DataFrame, "Found"]:
    """Give every text column the type that all of its cells have: numbers, dates, or text.

    Returns the marks for missing values that were removed, too. This decides the types of every source whose cells are
    text, and those that are proposed for all others.
    """
    frame, marks = without_marks(frame, dialect, text=text, as_text=as_text)
    frame = with_standard_values(frame, dialect, text=text, as_text=as_text)
    if as_text is None:
        return frame, marks
    own = {*text, *as_text}
    columns = [one for one in frame.iter_columns() if one.dtype == pl.String and one.name not in own and one.count()]
    numbers = [numeric for one in columns if (numeric := as_numbers(one)) is not None]
    frame = frame.with_columns(numbers)
    floats = [one for one in frame.iter_columns() if one.dtype == pl.Float64 and one.name not in own]
    return frame.with_columns(whole_if_all_are(one) for one in floats), marks


def in_standard_writing(column: pl.Series, dialect: Dialect) -> pl.Series:
    """Return the column in standard notation, still as text; the column itself if it is not in local notation."""
    cells = column.drop_nulls()
    if not len(cells) or not cells.str.contains(r"^\s*[+-]?\d").all():
        return column
    mark = _decimal_mark(cells.str.strip_chars(), dialect.decimal or ".")
    if mark is not None:
        bare = column.str.strip_chars().str.replace_all(f"[{_GROUPS[mark]}]", "")
        return bare.str.replace(",", ".", literal=True) if mark == "," else bare
    return _days(column, cells, dialect.dates)


def _decimal_mark(cells: pl.Series, otherwise: str) -> str | None:
    """The decimal mark of a numeric column, part of which is not in standard notation; None for other columns."""
    if not cells.str.contains(r"[.,'’ \u{a0}\u{202f}]").any() or cells.str.contains(r"^[+-]?0\d").any():
        return None
    fits = {mark: are_numbers(cells, mark) for mark in ",."}
    if not any(fits.values()):
        return None
    sure = [mark for mark in ",." if fits[mark] and cells.str.contains(_SURE[mark]).any()]
    mark = sure[0] if sure else otherwise if fits[otherwise] else next(mark for mark in ",." if fits[mark])
    plain = mark == "." and not cells.str.contains(f"[{_GROUPS[mark]}]").any()
    return None if plain else mark


def number_pattern(mark: str) -> str:
    """Return the pattern of numbers with a decimal mark, perhaps with thousands separators."""
    groups = f"[{_GROUPS[mark]}]"
    return rf"^[+-]?(?:\d+|[1-9]\d{{0,2}}(?:{groups}\d{{3}})+)(?:{'[.]' if mark == '.' else ','}\d+)?$"


def are_numbers(cells: pl.Series, mark: str, *, sure: bool = False) -> bool:
    """Whether all cells are numbers with a decimal mark; with `sure` one of them has no other reading."""
    fits = bool(cells.str.contains(number_pattern(mark)).all())
    return fits and (not sure or bool(cells.str.contains(_SURE[mark]).any()))


def _days(column: pl.Series, cells: pl.Series, dates: str | None) -> pl.Series:
    """The column as dates, perhaps with times, in the first notation that fits all cells; else the column itself."""
    if not cells.str.strip_chars().str.contains(_DAY).all():
        return column
    ways = [name for name in DATES if name != "yyyy-mm-dd"]
    fits = [name for name in ways if _parsed(cells, DATES[name]) is not None]
    if len(fits) > 1 and dates not in fits:
        return column  # 01/02/2024 may be January or February, and nothing says which
    way = dates if dates in fits else next(iter(fits), None)
    parsed = None if way is None else _parsed(column, DATES[way])
    return column if parsed is None else parsed.cast(pl.String)


def _parsed(column: pl.Series, way: str) -> pl.Series | None:
    """Cells that look like dates as dates or times; None unless every one is."""
    known = column.len() - column.null_count()
    bare = column.str.strip_chars()
    if bare.str.len_chars().max() <= 10:  # type: ignore[operator]
        days = bare.str.to_date(way, strict=False)
        return days if days.len() - days.null_count() == known else None
    for clock in _CLOCK:
        times = bare.str.to_datetime(way + clock, strict=False, time_unit="us")
        if times.len() - times.null_count() == known:
            return times
    return None


def _typed(column: pl.Series) -> pl.Series:
    """Text in standard notation as numbers, dates or times."""
    first = column.drop_nulls()[0]
    if first[4:5] == "-" and first[7:8] == "-":
        return column.str.to_date() if len(first) == 10 else column.str.to_datetime(time_unit="us")
    whole = column.drop_nulls().str.contains(r"^[+-]?\d{1,15}$").all()
    return column.cast(pl.Int64 if whole else pl.Float64)


def as_numbers(column: pl.Series) -> pl.Series | None:
    """Return text as whole numbers or floats, if every cell is exactly that number; else None."""
    whole = column.cast(pl.Int64, strict=False)
    if (whole.cast(pl.String) == column).sum() == column.count():
        return whole
    real = column.cast(pl.Float64, strict=False)
    return None if real.count() < column.count() or pl.select(inexact(pl.lit(column)).any()).item() else real


def inexact(cell: pl.Expr) -> pl.Expr:
    """Whether a text would lose something as a float: leading zeros, a plus sign, digits of a long whole number."""
    bare = cell.str.strip_prefix("-")
    coded = cell.str.starts_with("+") | bare.str.contains(r"^0\d")
    long = (cell.cast(pl.Float64, strict=False).abs() >= 2**53) & cell.str.contains(r"^-?\d+$")
    return coded | long


def whole_if_all_are(column: pl.Series) -> pl.Series:
    """Return floats as whole numbers if all of them are; some file formats have no other numeric type."""
    whole = column.cast(pl.Int64, strict=False)
    if column.null_count() == len(column) or whole.null_count() != column.null_count():
        return column
    return whole if (whole.cast(pl.Float64) == column).fill_null(value=True).all() else column


_SCALARS = (bool, int, float, str, datetime, date, time, Decimal)
"""Types of cells that a column may hold, also several of them."""


def column_of(cells: list[Any], name: str) -> pl.Series:
    """Return cells of one type as a column of it; cells of several types as the texts that a file would hold."""
    kinds = {type(one) for one in cells if one is not None}
    if any(not issubclass(kind, _SCALARS) for kind in kinds):
        plain = [one.item() if hasattr(one, "item") else one for one in cells]
        kinds = {type(one) for one in plain if one is not None}
        if plain != cells and all(issubclass(kind, _SCALARS) for kind in kinds):
            return column_of(plain, name)
        raise DataError(f"Column '{name}' holds lists, structures or objects, not plain values. Leave it out.")
    if len(kinds) > 1 and not kinds <= {int, float}:
        cells = [None if one is None else _cell_text(one) for one in cells]
    if kinds == {int, float}:
        cells = [None if one is None else float(one) for one in cells]
    try:
        return pl.Series(name, cells) if kinds else pl.Series(name, cells, dtype=pl.String)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        raise DataError(f"Column '{name}' cannot be converted: its values are too large. Make it text.") from None


def _cell_text(cell: Any) -> str:
    """A cell as a text file would hold it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


_STARTS = r"^\s*[+-]?\d"
_ISO_DAY = r"^\d{4}-\d{2}-\d{2}(?:[ T]\d|$)"

Found = Mapping[str, Mapping[str, int]]
"""Marks for missing values by column, each with its number of cells."""


def without_marks(
    frame: pl.DataFrame, dialect: Dialect, *, text: Sequence[str] = (), as_text: Sequence[str] | None = ()
) -> tuple[pl.DataFrame, Found]:
    """Remove marks for missing values from text columns that are otherwise numbers or dates."""
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
    """The marks in a column with their numbers of cells; nothing if some other cell is not a number either."""
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
    """The column without its marks if the rest is numbers or dates (local notation stays text); else None."""
    bare = pl.select(pl.when(~_folded(column).is_in(marks)).then(column)).to_series().alias(column.name)
    if in_standard_writing(bare, dialect) is not bare:
        return bare
    numbers = as_numbers(bare)
    if numbers is not None:
        return numbers
    return bare if bare.drop_nulls().str.contains(_ISO_DAY).all() else None


def without_codes(
    frame: pl.DataFrame, dialect: Dialect, *, text: Sequence[str] = (), as_text: Sequence[str] | None = ()
) -> tuple[pl.DataFrame, Found]:
    """Remove numbers that were named as missing values, such as -9, from numeric columns."""
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


def report_missing(path: Path, found: Found) -> None:
    """Warn which marks were read as missing, in how many cells and columns."""
    if not found:
        return
    cells: Counter[str] = Counter()
    for counts in found.values():
        cells.update(counts)
    shown = ", ".join(f"'{mark}' in {plural(number, 'cell')}" for mark, number in cells.most_common())
    columns = "its column" if len(found) == 1 else f"their {len(found)} columns"
    fact = f"{path.name}: {shown} read as missing, for all else in {columns} is numbers or dates."
    warnings.warn(ReadingNote(fact, "With dialect=Dialect(missing='') it is text."), stacklevel=3)
