"""Reading CSV with types that lose no character that matters, and protecting spreadsheets from formulas.

A column is whole numbers only if every cell is printed the way that number is (so `007` and `+1` stay text), numbers if
every cell is one and none is a code with leading zeros or too long to be exact, else text. The file is streamed twice:
to detect the types, and to read. A row with fewer cells than the header is refused; Polars would silently fill it up.
For encodings, decimal commas and dates as people write them, see `dialect.py` and `cells.py`.
"""

import csv
import gzip
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self, cast

import polars as pl

from reissue.errors import DataError
from reissue.files.cells import inexact, report_missing, typed_cells
from reissue.files.dialect import Dialect
from reissue.files.limits import MOST_COLUMNS

__all__ = ["escape_formulas", "read_csv", "unescape_formulas"]

_UNSEEN = r"\p{Cc}\p{Cf}\p{Z}\u{34F}\u{115F}\u{1160}\u{180B}-\u{180F}\u{2800}\u{3164}\u{FE00}-\u{FE0F}\u{FFA0}"
"""Invisible characters that some spreadsheets skip: control, zero-width, blank."""
_SIGN = rf"^'*[{_UNSEEN}]*[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"[+\-] ?[0-9.,]*[0-9][0-9.,]*(?:[eE][+\-]?[0-9]+)?%?"
_HARMLESS = rf"^'*[{_UNSEEN}&&[^\t\r\n]]*(?:[+\-＋－]+|[=@＝＠]|{_NUMBER})[{_UNSEEN}]*$"
"""Signs with nothing to compute, and plain numbers."""
_CHUNK = 2**22
"""Bytes of a file that are counted at a time."""


def read_csv(
    path: Path,
    dialect: Dialect,
    *,
    packed: bool,
    text: Sequence[str] = (),
    as_text: Sequence[str] | None = (),
    only: Sequence[str] = (),
) -> pl.DataFrame:
    """Read a CSV file in a known dialect; if it has all columns in `only`, just those.

    Columns in `text` keep their characters; those in `as_text` (None: all) are text too, but in standard notation.
    """
    file = _File.of(path, dialect, packed)
    header = file.header()
    names = pl.select(_rearmed(pl.lit(pl.Series(header, dtype=pl.String)))).to_series().to_list()
    if len(set(names)) < len(names):
        raise DataError(
            f"'{path}' has column names that occur more than once. Every column needs one of its own; `reissue clean` "
            "gives it one."
        )
    wanted = [name for name in names if name in set(only)] if only and set(only) <= set(names) else names
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"'{path}' has {len(names):,} columns, and {MOST_COLUMNS:,} are the most. Is the delimiter right?"
        )
    lazy = file.scan(dict.fromkeys(names, pl.String))
    facts = _facts(lazy, wanted, names[-1])
    texts = wanted if as_text is None else {*text, *as_text}
    types = _types(lazy, facts, [name for name in wanted if name not in texts])
    late = [name for name, kind in types.items() if kind == pl.Float64 and dialect.decimal == ","]
    early = {name: kind for name, kind in types.items() if name not in late}
    frame = file.scan(dict.fromkeys(names, pl.String) | early).select(wanted).collect()
    if len(names) > 1 and facts["last"]:
        frame = frame.head(frame.height - _blank_end(file, len(names), frame.height))
    quoted = [name for name in wanted if facts[f"quoted {name}"]]
    frame = frame.with_columns(_rearmed(pl.col(name)) for name in quoted)
    # Where commas are decimal marks, points may separate thousands: only columns without them are numbers with a point.
    frame, marks = typed_cells(frame, dialect, text=text, as_text=as_text)
    report_missing(path, marks)
    return frame


@dataclass(frozen=True)
class _File:
    """A CSV file and its delimiter and encoding."""

    path: Path
    delimiter: str
    packed: bool
    content: bytes | None = None
    """The file in UTF-8, if its encoding is another one."""
    above: int = 0
    """Rows above the header."""

    @classmethod
    def of(cls, path: Path, dialect: Dialect, packed: bool) -> Self:
        """Open a file; one in another encoding is converted to UTF-8 at once."""
        encoding, mark = dialect.encoding or "utf-8", dialect.delimiter or ","
        above = (dialect.header or 1) - 1
        if encoding == "utf-8":
            return cls(path, mark, packed, above=above)
        try:
            with gzip.open(path, "rb") if packed else path.open("rb") as file:
                text = file.read().decode(encoding).removeprefix("\ufeff")
        except UnicodeError:
            raise DataError(
                f"'{path}' is not text in the encoding {encoding}. Say which it is: dialect=Dialect(encoding='...')."
            ) from None
        return cls(path, mark, packed, text.encode(), above)

    def scan(self, types: Mapping[str, Any]) -> pl.LazyFrame:
        """Scan the file with our own names and types; Polars does not undo doubled quotes in a header."""
        return pl.scan_csv(
            self.path if self.content is None else self.content,
            separator=self.delimiter,
            skip_lines=self._lines_above(),
            infer_schema=False,
            schema_overrides=list(types.values()),
            new_columns=list(types),
            glob=False,
        )

    def opened(self) -> IO[bytes]:
        """The bytes in UTF-8."""
        if self.content is not None:
            return io.BytesIO(self.content)
        return cast("IO[bytes]", gzip.open(self.path, "rb")) if self.packed else self.path.open("rb")

    def rows(self) -> Iterator[list[str]]:
        """The cells of each row, starting with the header."""
        with io.TextIOWrapper(self.opened(), encoding="utf-8-sig", newline="") as lines:
            below = itertools.islice(csv.reader(lines, delimiter=self.delimiter), self.above, None)
            yield from itertools.dropwhile(lambda row: not row, below)

    def _lines_above(self) -> int:
        """The number of lines that the rows above the header take."""
        if not self.above:
            return 0
        with io.TextIOWrapper(self.opened(), encoding="utf-8-sig", newline="") as lines:
            found = csv.reader(lines, delimiter=self.delimiter)
            for _ in itertools.islice(found, self.above):
                pass
            return found.line_num

    def header(self) -> list[str]:
        """The column names."""
        try:
            return next(self.rows())
        except StopIteration:
            raise DataError(f"'{self.path}' is empty.") from None
        except UnicodeDecodeError:
            raise DataError(
                f"'{self.path}' is not UTF-8 text. Say what it is, for example dialect=Dialect(encoding='cp1252')."
            ) from None


def _facts(lazy: pl.LazyFrame, wanted: Sequence[str], last: str) -> dict[str, Any]:
    """What all cells of each column have in common."""
    asked = []
    for name in wanted:
        cell = pl.col(name)
        whole, real = cell.cast(pl.Int64, strict=False), cell.cast(pl.Float64, strict=False)
        asked += [
            cell.count().alias(f"cells {name}"),
            (whole.cast(pl.String) == cell).sum().alias(f"whole {name}"),
            real.count().alias(f"real {name}"),
            cell.str.starts_with("'").any().alias(f"quoted {name}"),
        ]
    return lazy.select(*asked, pl.col(last).null_count().alias("last")).collect().row(0, named=True)


def _types(lazy: pl.LazyFrame, facts: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Int64 or Float64 for the numeric columns."""
    filled = [name for name in names if facts[f"cells {name}"]]
    whole = [name for name in filled if facts[f"whole {name}"] == facts[f"cells {name}"]]
    real = [name for name in filled if name not in whole and facts[f"real {name}"] == facts[f"cells {name}"]]
    if real:
        codes = lazy.select(inexact(pl.col(name)).any().alias(name) for name in real).collect().row(0, named=True)
        real = [name for name in real if not codes[name]]
    return dict.fromkeys(whole, pl.Int64) | dict.fromkeys(real, pl.Float64)


def _blank_end(file: _File, width: int, rows: int) -> int:
    """The number of blank lines at the end; a short row anywhere else is an error."""
    with file.opened() as raw:
        marks = quotes = 0
        for chunk in iter(lambda: raw.read(_CHUNK), b""):
            marks += chunk.count(file.delimiter.encode())
            quotes += chunk.count(b'"')
    if not quotes and marks == (rows + 1) * (width - 1):
        return 0
    blank = 0
    for number, cells in enumerate(itertools.islice(file.rows(), 1, None), start=1):
        if cells and (blank or len(cells) != width):
            raise DataError(
                f"'{file.path}' has a row with fewer cells than its header has (row {number - blank}; row 1 follows "
                "the header). Complete it, or check quotes and the delimiter; `reissue clean` fills it up."
            )
        blank += not cells
    return blank


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with an apostrophe before every text that a spreadsheet would take for a formula."""
    columns = [_disarmed(column) for column in frame.iter_columns()]
    names = _disarmed(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, names, strict=True)])


def unescape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame as it was before `escape_formulas`."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(_rearmed(pl.col(name)) for name in texts) if texts else frame


def _disarmed(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Enum):
        safe = _disarmed(column.dtype.categories)
        return pl.Series(safe, dtype=pl.Enum(safe)).gather(column.to_physical())
    if isinstance(column.dtype, pl.Categorical):
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        return column
    if not column.str.contains(_SIGN).any():
        return column
    cell = pl.lit(column)
    return pl.select(pl.when(_runs(cell)).then("'" + cell).otherwise(cell)).to_series().alias(column.name)


def _rearmed(cell: pl.Expr) -> pl.Expr:
    """Text as it was before `escape_formulas`."""
    return pl.when(cell.str.starts_with("'") & _runs(cell)).then(cell.str.strip_prefix("'")).otherwise(cell)


def _runs(cell: pl.Expr) -> pl.Expr:
    """Whether a spreadsheet may run a text. Leading apostrophes do not matter, so that every text can be restored."""
    return cell.str.contains(_SIGN) & ~cell.str.contains(_HARMLESS)
