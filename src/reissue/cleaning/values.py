"""Cells that mean the same but are written differently, and cells that are not of their column's kind."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from reissue.files.cells import are_numbers, number_pattern
from reissue.files.dialect import DATES, Dialect
from reissue.words import words_of

__all__ = [
    "DATE_CHOICES",
    "are_plain_numbers",
    "are_usual_dates",
    "find_codes",
    "find_dates",
    "find_missing",
    "find_numbers",
    "find_spelling",
    "find_yes_no",
    "folded",
    "is_spelling",
    "read_dates",
    "read_numbers",
    "spelt",
    "stripped",
    "with_yes_no",
    "without_codes",
    "without_placeholders",
]

DATE_CHOICES = (*DATES, "serial")
"""Notations of dates; `serial` are days since the end of 1899, as spreadsheets count them."""
_MOST = 0.8
"""Share of cells that must be numbers, or dates, so that the others are odd."""
_FEW = 5
"""Cells that show what a column holds, at least."""
_OWN = 0.5
"""Share of different values from which a column holds names or free text, whose case is nobody's defect."""
_LISTED = 500
"""Maximum number of spellings that a recipe lists."""
_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_ERRORS = (
    *("#nv", "#n/a", "#n/v", "#null!", "#div/0!", "#wert!", "#value!", "#valeur!", "#bezug!", "#ref!", "#name?"),
    *("#zahl!", "#num!", "#nom?", "#nombre!", "err:502", "err:504", "err:511"),
)
"""What spreadsheets show where a formula failed."""
_NOT_IN_TEXT = {"none"}
"""Marks for missing numbers that may be a value among texts."""
_CODE = r"^\p{L}{1,3}[-.]?\d+(?:\.\d+)?\p{L}?$|^\d+[-/]?\p{L}$"
"""Codes and house numbers, such as E11 and 12a: with these, a column of digits holds no numbers."""
_UNIT = (
    r"(?i)\s*(?:[%€$£]|eur|kg|g|mg|cm|mm|m|years?|yrs?|jahre?|j\.|ans|months?|monate?n?|weeks?|wochen?|"
    r"days?|tage?n?|hours?|h|std\.?|stunden?|min\.?|minuten?)$"
)
_SIGN = r"^[€$£]\s*"
_SERIAL = r"^[1-7]\d{4}(?:\.0+)?$"
_FIRST_DAY = pl.date(1899, 12, 30)
"""Day 0 of a spreadsheet, so that day 61 is the first of March 1900."""
_DATED = frozenset(
    {"date", "datum", "dob", "birth", "birthday", "birthdate", "geburt", "geburtsdatum", "geburtstag", "gebdat", "geb"}
    | {"aufnahme", "entlassung", "admission", "discharge", "naissance", "nacimiento", "fecha", "data"}
)
"""Words by which a column of whole numbers holds a spreadsheet's days."""
_YES = frozenset(["yes", "y", "ja", "j", "oui", "o", "si", "sí", "true", "t", "wahr", "vrai", "1", "x"])
_NO = frozenset(["no", "n", "nein", "non", "false", "f", "falsch", "faux", "0"])
_SUSPECTS = (99, 999, 9999, 99999, -1, -9, -99, -999, -9999)
_FAR = 1.5
"""How many times the next largest value a suspect must be."""


def stripped(column: pl.Series) -> pl.Series:
    """Text without blanks and invisible marks around it; a cell of nothing else is missing."""
    bare = column.str.replace_all("\u00a0", " ", literal=True).str.strip_chars().str.strip_chars(_ZERO_WIDTH)
    bare = bare.str.strip_chars()
    return pl.select(pl.when(bare != "").then(bare)).to_series().alias(column.name)


def folded(column: pl.Series) -> pl.Series:
    """Return texts without what does not distinguish values: case, and how many blanks."""
    return column.str.strip_chars().str.to_lowercase().str.replace_all(r"[\s\u00a0]+", " ").str.normalize("NFC")


# --- missing values --------------------------------------------------------------------------------------------------


def _placeholders(column: pl.Series, marks: Sequence[str]) -> pl.Series:
    """Which cells are a mark for a missing value, or what a failed formula shows."""
    return folded(column).is_in([*(mark.lower() for mark in marks), *_ERRORS]).fill_null(value=False)


def find_missing(column: pl.Series, marks: Sequence[str]) -> str | None:
    """Return "sure" or "hint" if cells of a column stand for missing values, else None.

    It is sure beside numbers and dates, for failed formulas, and where missing values are written in several ways.
    """
    if column.dtype != pl.String:
        return None
    held = _placeholders(column, marks)
    rest = column.filter(~held).drop_nulls()
    kinds = folded(column.filter(held)).unique().to_list()
    if not kinds or not len(rest):
        return None
    if _share(_numeric(rest)) >= _MOST or _share(_dated(rest)) >= _MOST:
        return "sure"
    if set(kinds) <= _NOT_IN_TEXT or "+" in rest.to_list():
        return None
    return "sure" if len(kinds) + bool(column.null_count()) > 1 or set(kinds) & set(_ERRORS) else "hint"


def without_placeholders(column: pl.Series, marks: Sequence[str]) -> pl.Series:
    """The column with these cells missing."""
    if column.dtype != pl.String:
        return column
    return pl.select(pl.when(~_placeholders(column, marks)).then(column)).to_series()


def _values(column: pl.Series) -> pl.Series | None:
    """The numbers of a column, also of text; None if most cells are none."""
    if column.dtype == pl.String:
        cells = column.drop_nulls().str.strip_chars()
        mark = max(".,", key=lambda one: int(cells.str.contains(number_pattern(one)).sum()))
        numbers = read_numbers(column, mark).cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric():
        numbers = column.cast(pl.Float64)
    else:
        return None
    return numbers if numbers.count() >= max(_FEW, _MOST * column.count()) else None


def find_codes(column: pl.Series) -> list[int] | None:
    """Numbers such as 9999 that are far from all others, and occur several times; None if there are none."""
    numbers = _values(column)
    if numbers is None:
        return None
    known = numbers.drop_nulls()
    found = []
    for suspect in _SUSPECTS:
        rest = known.filter(known != suspect)
        if len(rest) in {0, len(known)}:
            continue
        low, high = float(str(rest.min())), float(str(rest.max()))
        found += [suspect] if (suspect > _FAR * max(high, 1) if suspect > 0 else low >= 0) else []
    return found or None


def without_codes(column: pl.Series, codes: Sequence[int]) -> pl.Series:
    """The column with these numbers missing."""
    numbers = _values(column)
    if numbers is None:
        return column
    coded = numbers.is_in([float(code) for code in codes]).fill_null(value=False)
    return pl.select(pl.when(~coded).then(column)).to_series()


# --- spellings -------------------------------------------------------------------------------------------------------


def find_yes_no(column: pl.Series) -> bool | None:
    """True if a column says yes or no in several words, else None."""
    if column.dtype != pl.String:
        return None
    words = set(folded(column.drop_nulls()).unique().to_list())
    if not words or not words <= _YES | _NO or not words & _YES or not words & _NO:
        return None
    return True if max(len(words & _YES), len(words & _NO)) > 1 else None


def with_yes_no(column: pl.Series) -> pl.Series:
    """Yes and no, for every word that says so; other cells as they are."""
    if column.dtype != pl.String:
        return column
    words, cell = pl.lit(folded(column)), pl.lit(column)
    said = pl.when(words.is_in(list(_YES))).then(pl.lit("yes")).when(words.is_in(list(_NO))).then(pl.lit("no"))
    return pl.select(said.otherwise(cell)).to_series()


def find_spelling(column: pl.Series) -> str | list[str] | None:
    """How a column is spelt whose values differ only in case or blanks: "upper", "lower", or the spellings listed."""
    if column.dtype != pl.String or not column.count():
        return None
    counts = _spellings(column)
    if counts.height == counts["key"].n_unique() or counts["key"].n_unique() > _OWN * max(column.count(), 1):
        return None
    usual = counts.unique("key", keep="first", maintain_order=True)["cell"]
    if (usual == usual.str.to_uppercase()).all():
        return "upper"
    if (usual == usual.str.to_lowercase()).all():
        return "lower"
    shared = counts.filter(pl.col("key").is_duplicated())["key"].unique()
    listed = usual if len(usual) <= _LISTED else usual.filter(folded(usual).is_in(shared.implode()))
    return sorted(listed.to_list())


def _spellings(column: pl.Series) -> pl.DataFrame:
    """All spellings, the most frequent of each value first."""
    counts = column.drop_nulls().alias("cell").value_counts()
    return counts.with_columns(folded(counts["cell"]).alias("key")).sort(["count", "cell"], descending=[True, False])


def is_spelling(value: Any) -> bool:
    """Whether something is a setting of the repair."""
    return value in ("upper", "lower") or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def spelt(column: pl.Series, setting: str | Sequence[str]) -> pl.Series:
    """The column with one spelling for each value.

    A value that is not listed is written as most of its cells are.
    """
    if column.dtype != pl.String:
        return column
    bare = column.str.replace_all(r"[\s\u00a0]+", " ").str.strip_chars()
    if setting == "upper":
        return bare.str.to_uppercase()
    if setting == "lower":
        return bare.str.to_lowercase()
    counts = _spellings(column)
    usual = dict(counts.unique("key", keep="first", maintain_order=True).select("key", "cell").iter_rows())
    usual |= {folded(pl.Series([one]))[0]: one for one in setting}
    return folded(column).replace_strict(usual, default=None, return_dtype=pl.String)


# --- numbers and dates -----------------------------------------------------------------------------------------------


def _share(mask: pl.Series) -> float:
    return float(mask.sum()) / max(len(mask), 1)


def _numeric(cells: pl.Series) -> pl.Series:
    """Which cells are numbers, in the notation that most of them have."""
    bare = cells.str.strip_chars()
    masks = [bare.str.contains(number_pattern(mark)) for mark in ".,"]
    return max(masks, key=lambda mask: int(mask.sum()))


def find_numbers(column: pl.Series, marks: Sequence[str]) -> str | None:
    """The decimal mark of a column of numbers some of whose cells have units, or are no numbers; else None."""
    if column.dtype != pl.String:
        return None
    cells = column.filter(~_placeholders(column, marks)).drop_nulls().str.strip_chars()
    plain = cells.str.replace(_UNIT, "").str.replace(_SIGN, "")
    if len(cells) < _FEW or plain.str.contains(r"^[+-]?0\d").any():
        return None
    fits = {mark: plain.str.contains(number_pattern(mark)) for mark in ".,"}
    sure = {mark: int(fits[mark].sum()) + int(are_numbers(plain.filter(fits[mark]), mark, sure=True)) for mark in ".,"}
    best = max(".,", key=lambda mark: sure[mark])
    odd = cells.filter(~fits[best])
    if _share(read_numbers(cells, best).is_not_null()) < _MOST or odd.str.contains(_CODE).any():
        return None
    return best if len(odd) or (plain != cells).any() else None


def read_numbers(column: pl.Series, mark: str) -> pl.Series:
    """Numbers in standard notation, without thousands separators and units; what is none is missing.

    Cells in the other notation are read too, if they leave no doubt. Where both notations occur, 1.234 leaves one.
    """
    bare = column.str.strip_chars().str.replace(_UNIT, "").str.replace(_SIGN, "")
    other = "." if mark == "," else ","
    fits = {one: bare.str.contains(number_pattern(one)).fill_null(value=False) for one in ".,"}
    doubtful = bare.str.contains(r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$").fill_null(value=False)
    both = (fits[mark] & ~fits[other]).any() and (fits[other] & ~fits[mark]).any()
    own, foreign = fits[mark] & ~(doubtful & both), fits[other] & ~fits[mark] & ~doubtful
    texts = pl.when(own).then(_standard(bare, mark)).when(foreign).then(_standard(bare, other))
    return pl.select(texts).to_series()


def are_plain_numbers(column: pl.Series, mark: str) -> pl.Series:
    """Which cells are numbers with this decimal mark and nothing else."""
    return column.cast(pl.String).str.strip_chars().str.contains(number_pattern(mark))


def _standard(cells: pl.Series, mark: str) -> pl.Series:
    groups = r"[.'’ \u{a0}\u{202f}]" if mark == "," else r"[,'’ \u{a0}\u{202f}]"
    return cells.str.replace_all(groups, "").str.replace(",", ".", literal=True)


def _dated(cells: pl.Series) -> pl.Series:
    """Which cells are dates, in any notation."""
    return pl.select(pl.any_horizontal(_days(cells, name).is_not_null() for name in DATES)).to_series()


def _days(column: pl.Series, notation: str) -> pl.Series:
    """The days that cells name in one notation, perhaps with a time; missing where they do not."""
    mark = next(sign for sign in notation if not sign.isalpha())
    parts = [r"\d{1,2}", r"\d{1,2}"]
    parts.insert(0 if notation[0] == "y" else 2, r"\d{4}")
    cell = rf"^({f'[{mark}]'.join(parts)})(?:[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?)?$"
    day = column.str.strip_chars().str.extract(cell)
    return day.str.to_date(DATES[notation], strict=False)


def are_usual_dates(column: pl.Series, notation: str) -> pl.Series:
    """Which cells are dates in this notation; the numbers of a spreadsheet are no usual one."""
    if notation == "serial":
        return pl.Series([False]).new_from_index(0, len(column))
    return _days(column, notation).is_not_null()


def _serial_days(column: pl.Series) -> pl.Series:
    """The days that a spreadsheet's numbers stand for."""
    text = column.cast(pl.String).str.strip_chars()
    number = pl.select(pl.when(text.str.contains(_SERIAL)).then(text)).to_series().cast(pl.Float64, strict=False)
    return pl.select(_FIRST_DAY + pl.duration(days=pl.lit(number.cast(pl.Int64)))).to_series()


def find_dates(column: pl.Series, dialect: Dialect) -> str | None:
    """The notation of a column of dates some of whose cells are written in another way, or are no dates; else None."""
    if column.dtype.is_integer() or column.dtype == pl.String:
        known = column.drop_nulls()
        named = len(known) >= _FEW and bool(words_of(column.name) & _DATED)
        if named and _serial_days(known).null_count() == 0:
            return "serial"
    if column.dtype != pl.String:
        return None
    cells = column.filter(~_placeholders(column, dialect.marks)).drop_nulls()
    if len(cells) < _FEW or not cells.str.contains(r"^\s*\d{1,4}[-./]\d{1,2}[-./]\d").any():
        return None
    if cells.str.contains(r"\d:\d\d").any() and not cells.str.contains(r"[ T]00:00(?::00(?:\.0+)?)?$").any():
        return None  # the time of day would be lost
    fits = {name: _days(cells, name).is_not_null() for name in DATES}
    best = max(fits, key=lambda name: (int(fits[name].sum()), name == dialect.dates))
    other = {"dd/mm/yyyy": "mm/dd/yyyy", "mm/dd/yyyy": "dd/mm/yyyy"}.get(best)
    if other is not None and dialect.dates != best and fits[other].sum() == fits[best].sum():
        return None  # 01/02/2024 may be January or February, and nothing says which
    read = read_dates(cells, best).is_not_null()
    return best if _share(read) >= _MOST and not fits[best].all() else None


def read_dates(column: pl.Series, notation: str) -> pl.Series:
    """Days as 2024-02-03, in one notation, the standard one or a spreadsheet's numbers; what is none is missing."""
    if notation == "serial":
        return _serial_days(column).cast(pl.String)
    found = _days(column, notation)
    for other in ("yyyy-mm-dd", "dd.mm.yyyy", "yyyy/mm/dd"):
        found = found.zip_with(found.is_not_null(), _days(column, other))
    return found.zip_with(found.is_not_null(), _serial_days(column)).cast(pl.String)
