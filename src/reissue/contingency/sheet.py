"""Finds the tables in a sheet as people publish it: titles and notes around them, header lines, blocks of rows.

- A title is a line with one text above a header; a note is one below the last row.
- A header may have several lines, of which the upper ones name groups of columns: their parts are joined by a line
  break, and a name over several columns holds for all of them.
- A line with nothing but a text in its first cell, above further rows, is the name of a block of rows. Blocks become a
  column of labels.
- Blank lines end a table where a header follows; else they only divide its rows.

O(cells).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl

from reissue.contingency.cells import Kind, read_cell

__all__ = ["PART", "SheetTable", "plain_rows", "sheet_tables"]

PART = "\n"
"""Between the parts of a column's name that stand in several header lines."""
BLOCK = "block"
"""What the column is called that says in which block of rows a row stands."""
_HEADER_LINES = 4
_YEAR = re.compile(r"(?:19|20)\d\d")

_Row = list[str]


@dataclass(frozen=True, eq=False)
class SheetTable:
    """A table, and what stands above it."""

    title: str
    frame: pl.DataFrame
    """All cells as text."""


def sheet_tables(rows: Sequence[Sequence[str | None]]) -> list[SheetTable]:
    """Return the tables of a sheet, from the top.

    Examples
    --------
    >>> from reissue.contingency.sheet import sheet_tables
    >>> rows = [["Deaths in May"], [], ["age", "women", "men"], ["0-17", "3", "1"], ["18+", "90", "<5"], ["a note"]]
    >>> (table,) = sheet_tables(rows)
    >>> table.title, table.frame.columns, table.frame.height
    ('Deaths in May', ['age', 'women', 'men'], 2)

    """
    width = max(map(len, rows), default=0)
    text = [[" ".join((cell or "").split()) for cell in row] + [""] * (width - len(row)) for row in rows]
    found: list[_Sheet] = []
    title = ""
    for blank, lines in groupby(text, key=lambda row: not any(row)):
        if blank:
            continue
        stretch = list(lines)
        titles = next((at for at, row in enumerate(stretch) if not _is_single(row)), len(stretch))
        said = " ".join(cell for row in stretch[:titles] for cell in row if cell)
        stretch = stretch[titles:]
        title = said or title
        if not stretch:
            continue
        header = _header(stretch) or int(not found)
        if header:
            found.append(_Sheet(title, stretch[:header], stretch[header:]))
            title = ""
        elif found:  # further rows of the table above, whose block the line above them may name
            block = [[said, *[""] * (width - 1)]] if said else []
            found[-1].body.extend([*block, *stretch])
    made = [one.table() for one in found]
    return [one for one in made if one is not None]


@dataclass(eq=False)
class _Sheet:
    title: str
    header: list[_Row]
    body: list[_Row]

    def table(self) -> SheetTable | None:
        """The table; None where no rows are left."""
        names = _names(self.header, self.body)
        labels, rows = list[str | None](), list[_Row]()
        block: str | None = None
        for row in self.body:
            if _is_single(row):
                block = row[0]
            elif not _of_shares(row):
                labels.append(block)
                rows.append(row)
        if not rows:
            return None
        firsts = [row[0] for row in rows]
        blocks = _is_single(self.body[0]) or len(set(firsts)) < len(firsts)
        columns = {name: [row[at] or None for row in rows] for at, name in names.items()}
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        if blocks and len(set(labels)) > 1:
            frame = frame.insert_column(0, pl.Series(BLOCK, labels, pl.String))
        return SheetTable(self.title, frame)


def _is_single(row: _Row) -> bool:
    """Whether nothing but the first cell is filled."""
    return bool(row[0]) and not any(row[1:])


def _of_shares(row: _Row) -> bool:
    """Whether a row shows percentages only, of the counts above it."""
    numbers = [cell for cell in row[1:] if any(map(str.isdigit, cell))]
    return bool(numbers) and all(cell.endswith("%") for cell in numbers)


def _is_data(cell: str) -> bool:
    """Whether a cell is a count or hides one, as cells of the body are; years name columns."""
    kind = read_cell(cell)[0]
    return (kind == Kind.NUMBER and not _YEAR.fullmatch(cell)) or (kind == Kind.MARK and not cell.isalpha())


def _header(rows: Sequence[_Row]) -> int:
    """Number of header lines at the beginning; 0 where rows begin at once.

    Classes such as 0-17 name columns, and are counts only below a line that names all columns already.
    """
    for at, row in enumerate(rows[: _HEADER_LINES + 1]):
        complete = at and all(rows[0]) and len(set(rows[0])) == len(row)
        if any(_is_data(cell) or (complete and read_cell(cell)[0] == Kind.RANGE) for cell in row[1:]):
            return at
        if at and _is_single(row):
            return at
    return 1


def _filled(row: _Row) -> int:
    return sum(bool(cell) for cell in row)


def _names(header: Sequence[_Row], body: Sequence[_Row]) -> dict[int, str]:
    """Place of each column that holds something to its name."""
    width = len(header[0])
    used = [at for at in range(width) if any(row[at] for row in (*header, *body))]
    lines = []
    for number, line in enumerate(header):
        over, made = "", list[str]()
        for at in range(width):
            below = any(one[at] for one in header[number + 1 :])
            over = line[at] or over
            made.append(over if below else line[at])
        lines.append(made)
    names: dict[int, str] = {}
    for at in used:
        name = PART.join(dict.fromkeys(line[at] for line in lines if line[at])) or f"column {at + 1}"
        names[at] = name if name not in names.values() else f"{name} ({at + 1})"
    return names


def plain_rows(rows: Sequence[Sequence[str | None]]) -> bool:
    """Whether rows are a table that any reader reads: names without gaps, and as many cells in every row."""
    first = rows[0] if rows else ()
    return all(first) and len(set(first)) == len(first) and all(len(row) == len(first) and any(row) for row in rows)
