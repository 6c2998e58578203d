"""Dialects: delimiter, encoding, decimal mark and dates of a file; detected, or given.

What is not given is detected from the file's beginning: the encoding from its first bytes and from whether all of it is
UTF-8, the delimiter from the character that divides the first rows evenly, decimal mark and dates from columns that
have only one reading. When the file is read, the type of a column is decided by all of its cells (`cells.py`); the
dialect decides where they are ambiguous, and how a release is written that goes out as its table was read.
"""

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Any, cast

from reissue.errors import DataError, InputError, nearest
from reissue.files.layout import find_layout

__all__ = ["DATES", "FOUND", "MARKS", "PLAIN", "Dialect", "detect_csv_dialect", "dialect_from"]

DATES: Mapping[str, str] = {
    "dd.mm.yyyy": "%d.%m.%Y",
    "dd/mm/yyyy": "%d/%m/%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "dd-mm-yyyy": "%d-%m-%Y",
    "yyyy/mm/dd": "%Y/%m/%d",
    "yyyy-mm-dd": "%Y-%m-%d",
}
"""Notations of dates, and the Polars format of each."""
MARKS = (
    *("NA", "N/A", "n.a.", "#N/A", "#NV", "NULL", "(null)", r"\N", "None", "NaN", "unknown", "missing"),
    *("k.A.", "k. A.", "keine Angabe", "unbekannt", "?", ".", "-", "--", "–", "—"),
)
"""Default marks for a missing number or date, in any case."""
_DELIMITERS = ",;\t|"
"""Candidate delimiters."""
_BEGINNING = 2**18
"""Bytes of a file from which its dialect is detected."""
_MOST = 0.6
"""Share of the rows that a delimiter divides alike, at least, where it does not divide the first line."""
_SAMPLE = 200
"""Rows among these that are compared."""
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_WINDOWS = "cp1252"
_NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252", "utf-16": "UTF-16"}
_COMMA = re.compile(r"^[+-]?(?:\d+|[1-9]\d{0,2}(?:[.'’ \u00a0\u202f]\d{3})+)(?:,\d+)?$")
_POINT = re.compile(r"^[+-]?(?:\d+|[1-9]\d{0,2}(?:[,'’ \u00a0\u202f]\d{3})+)(?:\.\d+)?$")
_SURE_COMMA = re.compile(r",(?:\d{1,2}|\d{4,})$|\.\d{3},|^[+-]?0,")
_SURE_POINT = re.compile(r"\.(?:\d{1,2}|\d{4,})$|,\d{3}\.|^[+-]?0\.")


def _is_encoding(name: str) -> bool:
    try:
        codecs.lookup(name)
        "a".encode(name).decode(name)
    except (LookupError, ValueError, TypeError, AssertionError):
        return False
    return True


@dataclass(frozen=True)
class Dialect:
    """How the cells of a text file are written. A field that is None is detected.

    Examples
    --------
    A file of a German spreadsheet; the rest is detected:

    >>> import reissue as ri
    >>> dialect = ri.Dialect(delimiter=";", decimal=",", encoding="cp1252")
    >>> dialect.decimal
    ','
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    """The decimal mark, a point or a comma."""
    dates: str | None = None
    """The notation of dates, one of DATES."""
    sheet: str | None = None
    """The sheet of a workbook; by default its first table."""
    header: int | None = None
    """The row with the column names, counted from 1, of a workbook or of a text file with lines above its table."""
    missing: str | None = None
    """Marks for missing values in columns of numbers or dates, separated by commas; empty: none.

    By default the usual ones, such as NA; a number is a mark only if it is named, as in "NA,-9".
    """
    bom: bool = False
    """Whether a UTF-8 byte order mark stands at the beginning, as some spreadsheets expect."""

    def __post_init__(self) -> None:
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            raise DataError("The delimiter must be one character, such as ',' or ';', or the word tab.")
        if self.decimal not in {None, ".", ","}:
            raise DataError("The decimal mark must be a point or a comma.")
        if self.dates is not None and self.dates not in DATES:
            raise DataError(f"Dates are written in one of these ways: {', '.join(DATES)}.")
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise DataError("This encoding is not known. Some that are: utf-8, cp1252 (Windows), latin-1, cp850 (DOS).")
        if self.header is not None and (not isinstance(self.header, int) or self.header < 1):
            raise DataError("The header's row is a number from 1.")

    def __repr__(self) -> str:
        """The given settings in a sentence."""
        all_of = {one.name: getattr(self, one.name) for one in fields(self)}
        given = [f"{name} {value!r}" for name, value in all_of.items() if value not in {None, False}]
        return f"Dialect: {', '.join(given)}; all else as it is found." if given else "Dialect: all as it is found."

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks for a missing number or date."""
        return (
            MARKS if self.missing is None else tuple(mark.strip() for mark in self.missing.split(",") if mark.strip())
        )

    @property
    def sentence(self) -> str:
        """How a file was read, in one line; empty if it is plain CSV."""
        mark, letters = self.delimiter or ",", self.encoding or "utf-8"
        shown = "tabs" if mark == "\t" else mark
        said = [f"{shown} between cells"] if mark != "," else []
        said += [_NAMES.get(letters, letters)] if letters != "utf-8" else []
        said += ["decimal commas"] if self.decimal == "," else []
        said += [f"dates as {self.dates}"] if self.dates not in {None, "yyyy-mm-dd"} else []
        said += [f"the sheet '{self.sheet}'"] if self.sheet is not None else []
        said += [f"column names in row {self.header}"] if (self.header or 1) > 1 else []
        return ", ".join(said)


FOUND = Dialect()
"""Everything detected."""
PLAIN = Dialect(",", "utf-8", ".", "yyyy-mm-dd")
"""What Reissue writes unless its table was read in another dialect."""


def dialect_from(options: Mapping[str, Any]) -> Dialect:
    """Make a dialect from names and values, as given on the command line."""
    known = [field.name for field in fields(Dialect)]
    for name in options:
        if name not in known:
            raise InputError(f"A file has no '{name}' to be read by." + nearest(name, known))
    given: dict[str, Any] = {
        name: value if name in {"header", "bom"} else str(value) for name, value in options.items()
    }
    if given.get("delimiter") in {"tab", "\\t"}:
        given["delimiter"] = "\t"
    return Dialect(**given)


# --- CSV -------------------------------------------------------------------------------------------------------------


def detect_csv_dialect(path: Path, given: Dialect, *, packed: bool) -> Dialect:
    """Detect whatever `given` leaves open about a CSV file."""
    with _opened(path, packed) as file:
        start = file.read(_BEGINNING)
    if start.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        raise DataError(f"'{path}' is packed, no text: is its ending wrong? It may be .csv.gz, or .xlsx of a workbook.")
    bom = next((mark for mark in _BOMS if start.startswith(mark)), b"")
    encoding = given.encoding or _BOMS.get(bom) or _encoding(path, start, packed)
    text = _beginning(start, encoding)
    delimiter = _delimiter(text, given.delimiter)
    header = given.header or find_layout(_rows(text, delimiter, blank=True)).named + 1
    columns = _columns(text, delimiter, given.marks, header)
    return replace(
        given,
        encoding=codecs.lookup(encoding).name.removesuffix("-sig"),
        delimiter=delimiter,
        header=header if header > 1 else given.header,
        decimal=given.decimal or _decimal(columns, "," if delimiter == ";" else "."),
        dates=given.dates or _dates(columns),
        bom=bom == codecs.BOM_UTF8,
    )


def _opened(path: Path, packed: bool) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb")


def _encoding(path: Path, start: bytes, packed: bool) -> str:
    """UTF-8 if the whole file is; else Windows-1252 if it can be."""
    if start.count(0) > len(start) / 5:
        raise DataError(
            f"'{path}' is text neither in UTF-8 nor in a Windows encoding. If it is UTF-16, say so: "
            "dialect=Dialect(encoding='utf-16')."
        )
    for name in ("utf-8", _WINDOWS):
        with _opened(path, packed) as file:
            if _is_all(file, name):
                return name
    raise DataError(
        f"'{path}' is text neither in UTF-8 nor in Windows-1252. Say what it is, for example "
        "dialect=Dialect(encoding='cp850'), or save it as UTF-8."
    )


def _is_all(file: IO[bytes], encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for chunk in iter(lambda: file.read(2**22), b""):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _beginning(start: bytes, encoding: str) -> str:
    """The first lines as text, without a character that is cut in two at the end."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        raise DataError(f"The file is not text in the encoding {encoding}.") from None
    text = text.removeprefix("\ufeff")
    return text if len(start) < _BEGINNING else text[: text.rfind("\n") + 1] or text


def _delimiter(text: str, given: str | None) -> str:
    """The delimiter that divides the first rows evenly, and the header into the most cells.

    A given delimiter counts if the header contains it, or if nothing else divides the header: an original and its
    release may differ.
    """
    header = text.lstrip("\r\n").split("\n", 1)[0]
    found = [mark for mark in _DELIMITERS if mark in header]
    if given is not None and (given in header or not found):
        return given
    best = max(found, key=lambda mark: _division(text, mark), default=given or ",")
    even, width = _division(text, best)
    if even and width > 1:
        return best
    return _usual_delimiter(text) or (best if not found or width > 1 else ",")


def _usual_delimiter(text: str) -> str | None:
    """The delimiter that divides most rows into the same number of cells; None if none does."""
    found = []
    for mark in _DELIMITERS:
        widths = Counter(len(row) for row in _rows(text, mark))
        width, rows = widths.most_common(1)[0] if widths else (0, 0)
        if width > 1 and rows >= _MOST * widths.total():
            found.append((rows, width, mark))
    return max(found)[2] if found else None


def _division(text: str, mark: str) -> tuple[bool, int]:
    """Whether the first rows have as many cells as the header, and that number."""
    rows = _rows(text, mark)
    width = len(rows[0]) if rows else 0
    return all(len(row) == width for row in rows[:-1]), width


def _rows(text: str, mark: str, *, blank: bool = False) -> list[list[str]]:
    try:
        rows = (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row or blank)
        return [row for row, _ in zip(rows, range(_SAMPLE), strict=False)]
    except csv.Error:
        return []


def _columns(text: str, mark: str, missing: Sequence[str], header: int = 1) -> list[list[str]]:
    """The non-empty cells of each column in the first rows, without marks for missing values."""
    rows = [row for row in _rows(text, mark, blank=True)[header:] if row]
    blank = {"", *(one.lower() for one in missing)}
    width = max(map(len, rows), default=0)
    cells = [[row[place].strip() for row in rows if len(row) > place] for place in range(width)]
    return [[cell for cell in column if cell.lower() not in blank] for column in cells]


def _decimal(columns: Sequence[Sequence[str]], otherwise: str) -> str:
    """A comma if some column clearly has decimal commas and none clearly has points."""
    comma = any(_is_sure(cells, _COMMA, _SURE_COMMA) for cells in columns)
    point = any(_is_sure(cells, _POINT, _SURE_POINT) for cells in columns)
    return otherwise if comma == point else "," if comma else "."


def _is_sure(cells: Sequence[str], numbers: re.Pattern[str], sure: re.Pattern[str]) -> bool:
    return bool(cells) and all(map(numbers.match, cells)) and any(map(sure.search, cells))


def _dates(columns: Sequence[Sequence[str]]) -> str:
    """The first notation that fits a column; of two that fit, the one that fits all columns."""
    for cells in columns:
        for name in DATES:
            if cells and name != "yyyy-mm-dd" and all(_is_day(cell, name) for cell in cells):
                other = {"dd/mm/yyyy": "mm/dd/yyyy", "mm/dd/yyyy": "dd/mm/yyyy"}.get(name)
                if other is None or not all(_is_day(cell, other) for cell in cells):
                    return name
    return "yyyy-mm-dd"


def _is_day(cell: str, name: str) -> bool:
    day, _, _ = cell.replace("T", " ").partition(" ")
    mark = next(sign for sign in name if not sign.isalpha())
    parts = day.split(mark)
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return False
    found = dict(zip(name.split(mark), parts, strict=True))
    return len(found["yyyy"]) == 4 and 1 <= int(found["mm"]) <= 12 and 1 <= int(found["dd"]) <= 31
