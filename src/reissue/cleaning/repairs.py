"""Repairs: each finds its defect in a table, and repairs it as a setting says; the same code does both.

A repair finds settings by column, and runs with one; what running it changes is the count of the defect. No repair
invents a value: a cell that cannot be read becomes missing, and a spelling becomes that of other cells.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import polars.selectors as cs

from reissue.cleaning.sheet import Hit, Sheet
from reissue.cleaning.values import (
    DATE_CHOICES,
    are_plain_numbers,
    are_usual_dates,
    find_codes,
    find_dates,
    find_missing,
    find_numbers,
    find_spelling,
    find_yes_no,
    is_spelling,
    read_dates,
    read_numbers,
    spelt,
    stripped,
    with_yes_no,
    without_codes,
    without_placeholders,
)

__all__ = ["REPAIRS", "RepairKind"]

_TOTAL = (
    r"(?i)^(?:(?:gesamt|teil|zwischen|end)?summen?|gesamt(?:ergebnis|wert|zahl)?|insgesamt|(?:sub|grand )?-?totals?|"
    r"sum|mittelwert|durchschnitt|average|mean|somme|totaux|totale|totaal|suma)(?:$|[\s:(=])"
)
"""How the first cell of a row with totals begins."""
_BLANK_SHARE = 0.3
"""Share of a total row's cells that are blank, at least, where no column names people."""
_NAMES = 0.95
"""Share of different values from which a column tells people apart."""
_SHOWN = 5
"""Maximum number of values that show what is meant."""
Settings = Mapping[str, Any]
"""The setting for each column; an empty name stands for whole rows."""


@dataclass(frozen=True)
class RepairKind:
    """One kind of defect and its repair; `wording` has its words."""

    find: Callable[[Sheet], Settings]
    run: Callable[[Sheet, str, Any], tuple[Sheet, Hit]]
    of_rows: bool = False
    """Whether it concerns whole rows."""
    settings: Callable[[Any], bool] | None = None
    """Whether something is a setting; None: the repair needs none."""
    wanted: str = ""
    """Which settings there are, in words."""
    certain: Callable[[Sheet, str], bool] = lambda _sheet, _column: True
    """Whether it is recommended, and not only a hint."""


def _empty_rows(sheet: Sheet) -> Settings:
    empty = sheet.frame.select(pl.all_horizontal(pl.all().is_null())).to_series() if sheet.frame.width else None
    return {"": True} if empty is not None and empty.any() else {}


def _without_empty_rows(sheet: Sheet, _column: str, _setting: Any) -> tuple[Sheet, Hit]:
    return sheet.without(sheet.frame.select(pl.all_horizontal(pl.all().is_null())).to_series())


def _empty_columns(sheet: Sheet) -> Settings:
    rows = sheet.frame.height
    return {name: True for name in sheet.frame.columns if rows and sheet.frame[name].null_count() == rows}


def _without_empty_column(sheet: Sheet, column: str, _setting: Any) -> tuple[Sheet, Hit]:
    known = sheet.frame[column].count()
    return replace(sheet, frame=sheet.frame.drop(column)), Hit(column, (), cells=sheet.frame.height - known)


# --- rows ------------------------------------------------------------------------------------------------------------


def _total_rows(sheet: Sheet) -> pl.Series:
    """Which rows hold totals: their first cell says so, and they are nobody's."""
    frame = sheet.frame
    plain = frame.select(~(cs.nested() | cs.duration() | cs.binary() | cs.object()))  # others are no text
    lead = plain.select(pl.coalesce(pl.all().cast(pl.String).str.strip_chars())).to_series()
    says = lead.str.contains(_TOTAL).fill_null(value=False)
    if sheet.identifier in frame.columns:
        person = frame[sheet.identifier].cast(pl.String).str.strip_chars()
        return says & (person.is_null() | (person == lead).fill_null(value=False))
    blank = frame.select(pl.sum_horizontal(pl.all().is_null().cast(pl.Int64))).to_series()
    return says & (blank >= max(_BLANK_SHARE * frame.width, 1))


def _totals(sheet: Sheet) -> Settings:
    return {"": True} if sheet.texts and _total_rows(sheet).any() else {}


def _without_totals(sheet: Sheet, _column: str, _setting: Any) -> tuple[Sheet, Hit]:
    mask = _total_rows(sheet) if sheet.frame.width else pl.Series([], dtype=pl.Boolean)
    return sheet.without(mask)


def _copies(sheet: Sheet) -> pl.Series:
    return ~sheet.frame.select(pl.struct(pl.all()).is_first_distinct()).to_series()


def _duplicates(sheet: Sheet) -> Settings:
    """Equal rows, where some column tells people apart; else two people may well have equal rows."""
    if not sheet.frame.width or not _copies(sheet).any():
        return {}
    once = sheet.frame.filter(~_copies(sheet))
    return {"": True} if any(one.n_unique() >= _NAMES * once.height for one in once.iter_columns()) else {}


def _without_duplicates(sheet: Sheet, _column: str, _setting: Any) -> tuple[Sheet, Hit]:
    return sheet.without(_copies(sheet))


def _nameless(sheet: Sheet) -> Settings:
    name = sheet.identifier
    if name is None or name not in sheet.frame.columns:
        return {}
    lacking = sheet.frame[name].null_count()
    return {name: True} if 0 < lacking <= (1 - _NAMES) * sheet.frame.height else {}


def _without_nameless(sheet: Sheet, column: str, _setting: Any) -> tuple[Sheet, Hit]:
    return sheet.without(sheet.frame[column].is_null(), column)


def _repeated(sheet: Sheet) -> Settings:
    """A few identifiers that occur again; many would be people with several rows."""
    name = sheet.identifier
    if name is None or name not in sheet.frame.columns:
        return {}
    ids = sheet.frame[name].drop_nulls()
    again = len(ids) - ids.n_unique()
    return {name: "last"} if 0 < again <= (1 - _NAMES) * max(len(ids), 1) else {}


def _without_repeated(sheet: Sheet, column: str, setting: Any) -> tuple[Sheet, Hit]:
    ids = sheet.frame[column]
    kept = ids.is_last_distinct() if setting == "last" else ids.is_first_distinct()
    again = ids.is_duplicated() & ids.is_not_null()
    return sheet.without(again & ~kept, column)


# --- cells -----------------------------------------------------------------------------------------------------------


def _blanks(sheet: Sheet) -> Settings:
    return {name: True for name in sheet.texts if sheet.frame[name].ne_missing(stripped(sheet.frame[name])).any()}


def _of_columns(find: Callable[[pl.Series, Sheet], Any]) -> Callable[[Sheet], Settings]:
    """A finder of settings for each column but the identifier."""

    def found(sheet: Sheet) -> Settings:
        settings = {one.name: find(one, sheet) for one in sheet.frame.iter_columns() if one.name != sheet.identifier}
        return {name: setting for name, setting in settings.items() if setting is not None}

    return found


def _by_column(change: Callable[[pl.Series, Any, Sheet], pl.Series]) -> Callable[[Sheet, str, Any], tuple[Sheet, Hit]]:
    """A repair that changes the cells of a column."""

    def run(sheet: Sheet, column: str, setting: Any) -> tuple[Sheet, Hit]:
        return sheet.with_column(change(sheet.frame[column], setting, sheet).alias(column))

    return run


def _odd(
    change: Callable[[pl.Series, Any], pl.Series], usual: Callable[[pl.Series, Any], pl.Series]
) -> Callable[[Sheet, str, Any], tuple[Sheet, Hit]]:
    """A repair that concerns the cells that are not written as usual, and names those first that cannot be read."""

    def run(sheet: Sheet, column: str, setting: Any) -> tuple[Sheet, Hit]:
        old = sheet.frame[column]
        if old.dtype != pl.String and setting != "serial":
            return sheet, Hit(column, ())
        new = change(old, setting).alias(column)
        odd = old.is_not_null() & ~usual(old, setting).fill_null(value=False)
        lost = odd & new.is_null()
        named = (lost if lost.any() else odd).to_numpy()
        examples = tuple(old.filter(pl.Series(named)).cast(pl.String).unique(maintain_order=True).head(_SHOWN))
        hit = Hit(column, tuple(sheet.rows[named].tolist()), examples, int(odd.sum()), int(lost.sum()))
        return replace(sheet, frame=sheet.frame.with_columns(new)), hit

    return run


def _several_placeholders(sheet: Sheet, column: str) -> bool:
    """Whether missing values are written in several ways, which would count as different values; or beside numbers."""
    return find_missing(sheet.frame[column], sheet.dialect.marks) != "hint"


REPAIRS: Mapping[str, RepairKind] = {
    "blanks": RepairKind(
        _blanks,
        _by_column(lambda column, _setting, _sheet: stripped(column)),
    ),
    "empty_rows": RepairKind(_empty_rows, _without_empty_rows, of_rows=True),
    "totals": RepairKind(_totals, _without_totals, of_rows=True),
    "missing": RepairKind(
        _of_columns(lambda column, sheet: find_missing(column, sheet.dialect.marks) and True),
        _by_column(lambda column, _setting, sheet: without_placeholders(column, sheet.dialect.marks)),
        certain=_several_placeholders,
    ),
    "yes_no": RepairKind(
        _of_columns(lambda column, _sheet: find_yes_no(column)),
        _by_column(lambda column, _setting, _sheet: with_yes_no(column)),
    ),
    "spelling": RepairKind(
        _of_columns(lambda column, _sheet: find_spelling(column)),
        _by_column(lambda column, setting, _sheet: spelt(column, setting)),
        settings=is_spelling,
        wanted='"upper", "lower" or a list of spellings',
    ),
    "numbers": RepairKind(
        _of_columns(lambda column, sheet: find_numbers(column, sheet.dialect.marks)),
        _odd(read_numbers, are_plain_numbers),
        settings=lambda value: value in {".", ","},
        wanted='the decimal mark, "." or ","',
    ),
    "dates": RepairKind(
        _of_columns(lambda column, sheet: find_dates(column, sheet.dialect)),
        _odd(read_dates, are_usual_dates),
        settings=lambda value: value in DATE_CHOICES,
        wanted=f"one of {', '.join(DATE_CHOICES)}",
    ),
    "codes": RepairKind(
        _of_columns(lambda column, _sheet: find_codes(column)),
        _by_column(lambda column, setting, _sheet: without_codes(column, setting)),
        settings=lambda value: isinstance(value, list) and all(isinstance(one, int) for one in value),
        wanted="a list of numbers",
        certain=lambda _sheet, _column: False,
    ),
    "duplicates": RepairKind(
        _duplicates,
        _without_duplicates,
        of_rows=True,
        certain=lambda sheet, _column: sheet.identifier is not None,
    ),
    "nameless": RepairKind(_nameless, _without_nameless),
    "repeated": RepairKind(
        _repeated,
        _without_repeated,
        settings=lambda value: value in {"first", "last"},
        wanted='"first" or "last"',
    ),
    "empty_columns": RepairKind(_empty_columns, _without_empty_column),
}
"""All repairs, in the order in which they are made."""
