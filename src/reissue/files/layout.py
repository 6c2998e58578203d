"""Where the table stands in a sheet: notes above and below it, header lines, and the names of its columns.

A sheet is a list of rows of text. The header is the first row that names most columns, with different texts and no
numbers; if there is none, the first of the fullest rows. A second header line is joined to it where the first leaves
names out or gives the same name twice, and left out where it only adds units.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cells", "SheetLayout", "find_layout", "is_blank"]

Cells = Sequence[str | None]
"""The cells of one row."""
_FIRST = 40
"""Number of rows in which the header is searched for."""
_NAMED = 0.6
"""Share of the columns that a header names, at least: titles over several columns name fewer."""
_SAMPLE = 60
"""Rows below the header that show which columns hold numbers."""
_NUMBER = re.compile(r"^[+-]?[\d.,'’ \u00a0\u202f]*\d[\d.,]*\s*[%€$£]?$|^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[ T].*)?$")
_PROSE = 25
"""Characters from which a single cell below a table is a note, even without a blank in it."""


@dataclass(frozen=True)
class SheetLayout:
    """Which rows of a sheet are the table, counted from 0."""

    header: tuple[int, ...]
    """The rows of the header."""
    first: int
    """The first row below it."""
    end: int
    """The row after the last row of the table."""
    names: tuple[str, ...]
    """The names of the columns; an empty text where there is none."""
    above: tuple[int, ...] = ()
    """Rows with notes above the header."""
    below: tuple[int, ...] = ()
    """Rows with notes below the table."""

    named: int = 0
    """The row that names the columns best, for readers of a single header line."""


def is_blank(cell: str | None) -> bool:
    """Whether a cell shows nothing."""
    return cell is None or not cell.strip()


def find_layout(rows: Sequence[Cells], header: int | None = None) -> SheetLayout:
    """Return where the table stands; `header` is the row of the names, counted from 1, if it is known."""
    filled = [sum(not is_blank(cell) for cell in row) for row in rows]
    lines = _header_lines(rows, filled, None if header is None else header - 1)
    first = lines[-1] + 1
    end = max((place + 1 for place in range(first, len(rows)) if filled[place]), default=first)
    notes = []
    width = max(filled[lines[0] : end], default=0)
    while width > 2 and end > first and (not filled[end - 1] or _is_note(rows[end - 1], filled[end - 1])):
        end -= 1
        notes += [end] if filled[end] else []
    above = tuple(place for place in range(lines[0]) if filled[place])
    names = _names(rows, lines)
    named = lines[0] if rows and names == tuple(_texts(rows[lines[0]])) else lines[-1]
    return SheetLayout(lines, first, end, names, above, tuple(reversed(notes)), named)


def _header_lines(rows: Sequence[Cells], filled: Sequence[int], known: int | None) -> tuple[int, ...]:
    start = _header(rows, filled) if known is None else min(known, max(len(rows) - 1, 0))
    if known is None and start and 1 < filled[start - 1] < filled[start] and _is_title(rows[start - 1]):
        start -= 1  # groups of columns, each named over its first column
        return (start, start + 1)
    return (start, start + 1) if _is_second_line(rows, start) else (start,)


def _header(rows: Sequence[Cells], filled: Sequence[int]) -> int:
    """The first row that names most columns; a full row of values is taken for one where no names come first."""
    most = max(filled[:_FIRST], default=0)
    for place, row in enumerate(rows[:_FIRST]):
        unnamed_index = filled[place] == most - 1 and is_blank(row[0])
        if filled[place] < max(_NAMED * most, 1) and not unnamed_index:
            continue
        named = [cell.strip() for cell in row if cell is not None and cell.strip()]
        names = len(set(named)) == len(named) and not any(map(_NUMBER.match, named))
        if names or filled[place] == most:
            return place
    return 0


def _is_title(row: Cells) -> bool:
    """Whether the texts of a row can stand over groups of columns: short, different, and none is a number."""
    named = [cell.strip() for cell in row if cell is not None and cell.strip()]
    return len(set(named)) == len(named) and all(len(cell) <= _PROSE and not _NUMBER.match(cell) for cell in named)


def _is_second_line(rows: Sequence[Cells], start: int) -> bool:
    """Whether the row below a header has texts wherever the rows after it have numbers, in two columns at least."""
    if start + 3 >= len(rows):
        return False
    second, body = rows[start + 1], rows[start + 2 : start + 2 + _SAMPLE]
    if any(not is_blank(cell) and _NUMBER.match(str(cell).strip()) for cell in second):
        return False
    numbers = [place for place in range(len(second)) if _holds_numbers(body, place)]
    named = sum(not is_blank(second[place]) for place in numbers)
    seen = {str(cell).strip() for row in body for cell in row if not is_blank(cell)}
    return len(numbers) >= 2 and named >= 2 and not any(str(cell).strip() in seen for cell in second if cell)


def _holds_numbers(body: Sequence[Cells], place: int) -> bool:
    cells = [str(row[place]).strip() for row in body if place < len(row) and not is_blank(row[place])]
    return len(cells) >= 2 and sum(bool(_NUMBER.match(cell)) for cell in cells) >= 0.8 * len(cells)


def _names(rows: Sequence[Cells], lines: Sequence[int]) -> tuple[str, ...]:
    if not rows:
        return ()
    first = _texts(rows[lines[0]])
    names = [name for name in first if name]
    if len(lines) == 1 or (len(set(names)) == len(names) and all(first)):
        return tuple(first)
    second = _texts(rows[lines[1]])
    width = max(len(first), len(second))
    first, second = (line + [""] * (width - len(line)) for line in (first, second))
    over, joined = "", []
    for top, name in zip(first, second, strict=True):
        over = top or over
        joined.append(" ".join(part for part in ((over if name else top), name) if part))
    # Where the second line names all columns differently it needs nothing above it.
    return tuple(second if all(second) and len(set(second)) == width else joined)


def _texts(row: Cells) -> list[str]:
    return [re.sub(r"\s+", " ", cell).strip() if cell else "" for cell in row]


def _is_note(row: Cells, filled: int) -> bool:
    """Whether a row below a table is a remark: a single cell of several words, or a long one."""
    if filled != 1:
        return False
    text = next(str(cell).strip() for cell in row if not is_blank(cell))
    return len(text) > _PROSE or text.endswith(":") or (" " in text and not _NUMBER.match(text))
