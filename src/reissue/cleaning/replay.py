"""Defects found, and repairs made: once to look at a table, and again with the recipe each time one is read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reissue.cleaning.recipe import LAYOUT, CleanRecipe
from reissue.cleaning.repairs import REPAIRS, RepairKind
from reissue.cleaning.sheet import Hit, Sheet
from reissue.errors import InputError, nearest
from reissue.words import plural, visible

__all__ = ["SHEET_DEFECTS", "Cleaned", "Defect", "cleaned", "find_defects", "repaired"]

_SHOWN = 5
"""Maximum number of rows that a sentence names."""
SHEET_DEFECTS = {
    "notes": ("{rows} above or below the table are notes", "leave them out"),
    "header": ("the column names stand in {rows}", "join them into one"),
    "names": ("{columns} have no name, or that of another column", "give them names"),
    "unnamed": ("{columns} have neither a name nor a cell", "leave them out"),
    "ragged": ("{rows} have more or fewer cells than the header", "fill them up with missing cells"),
    "merged": ("{rows} have cells that are merged with those above", "give each row its value"),
}
"""What taking a table out of its sheet may involve: facts and actions."""


@dataclass(frozen=True)
class Defect:
    """Something in a table that would make a release wrong, or impossible, and what would be done about it."""

    name: str
    """The repair's name, as `--apply` takes it."""
    column: str
    """The column; empty if it concerns whole rows."""
    count: int
    """The number of cells or rows."""
    rows: tuple[int, ...]
    """The rows in the file, counted from 1, as a spreadsheet numbers them; of a dataframe, its rows."""
    fact: str
    """What was found, without a value of the table."""
    action: str
    """What would be done about it."""
    recommended: bool = True
    """Whether it is repaired unless somebody says otherwise; else it is a hint."""
    setting: Any = field(default=True, repr=False)
    """What the recipe says of it."""
    examples: tuple[str, ...] = field(default=(), repr=False)
    """Some of the values, for the holder's own eyes."""

    @property
    def where(self) -> str:
        """The first rows concerned."""
        if not self.rows or self.name in {"header", "names"}:
            return ""
        more = len(self.rows) - _SHOWN
        numbers = ", ".join(map(str, self.rows[:_SHOWN])) + (f" and {more:,} more" if more > 0 else "")
        return f"row{'s' * (len(self.rows) > 1)} {numbers}"

    @property
    def sentence(self) -> str:
        """What was found where, and what would be done, in one line."""
        where = f" ({self.where})" if self.where else ""
        return f"{self.fact[:1].upper()}{self.fact[1:]}{where}: {self.action}."

    def as_dict(self, *, show_values: bool = False) -> dict[str, Any]:
        """As plain texts and numbers; with values of the table only if they are asked for."""
        said = {
            "name": self.name,
            "column": self.column or None,
            "count": self.count,
            "rows": list(self.rows),
            "fact": self.fact,
            "action": self.action,
            "recommended": self.recommended,
        }
        return said | ({"examples": list(self.examples)} if show_values else {})


@dataclass(frozen=True, eq=False)
class Cleaned:
    """A table after its repairs, the recipe that repeats them, and what was done."""

    sheet: Sheet
    recipe: CleanRecipe
    done: tuple[Defect, ...]


def find_defects(sheet: Sheet) -> tuple[Defect, ...]:
    """Return the defects of a table, in the order in which they would be repaired.

    Each is looked for after those before it were repaired, except hints, which are left as they are.
    """
    return _walk(sheet, None, only_recommended=True).done


def cleaned(sheet: Sheet, names: Collection[str] | None = None) -> Cleaned:
    """Repair a table: all that is recommended, or the repairs with these names.

    A name may be that of a repair, or of one in a column: `spelling` or `spelling:diagnosis`.
    """
    made = _walk(sheet, names, only_recommended=names is None)
    if names is not None:
        found = {name for one in made.done for name in (one.name, f"{one.name}:{one.column}")}
        known = found | {*REPAIRS, *SHEET_DEFECTS}
        for name in names:
            if name not in known:
                raise InputError(f"There is no repair '{name}'." + nearest(name, known))
    applied = tuple(one for one in made.done if _asked(one, names))
    return replace(made, done=applied)


def _asked(defect: Defect, names: Collection[str] | None) -> bool:
    if defect.name in SHEET_DEFECTS:
        return True
    return (
        defect.recommended if names is None else not {defect.name, f"{defect.name}:{defect.column}"}.isdisjoint(names)
    )


def _walk(sheet: Sheet, names: Collection[str] | None, *, only_recommended: bool) -> Cleaned:
    """All defects, and the table with those repaired that are asked for."""
    found = list(_of_layout(sheet))
    settings: dict[str, dict[str, Any]] = {LAYOUT: {"": True}} if found else {}
    for name, repair in REPAIRS.items():
        for column, setting in repair.find(sheet).items():
            after, hit = repair.run(sheet, column, setting)
            if not hit.count:
                continue
            defect = _defect(name, repair, hit, setting, certain=repair.certain(sheet, column))
            found.append(defect)
            if _asked(defect, None if only_recommended else names):
                sheet = after
                settings.setdefault(name, {})[column] = setting
    return Cleaned(sheet, CleanRecipe(settings), tuple(found))


def repaired(sheet: Sheet, recipe: CleanRecipe) -> Cleaned:
    """Repair a table by a recipe; what the table lacks of it is left out."""
    done = list(_of_layout(sheet)) if LAYOUT in recipe.settings else []
    for name, repair in REPAIRS.items():
        for column, setting in recipe.settings.get(name, {}).items():
            if column and column not in sheet.frame.columns:
                continue
            if name == "empty_columns" and sheet.frame[column].count():
                continue
            sheet, hit = repair.run(sheet, column, setting)
            if hit.count:
                done.append(_defect(name, repair, hit, setting))
    return Cleaned(sheet, recipe, tuple(done))


def _of_layout(sheet: Sheet) -> tuple[Defect, ...]:
    made = []
    for name, hit in sheet.layout:
        fact, action = SHEET_DEFECTS[name]
        made.append(Defect(name, "", hit.count, hit.rows, _said(fact, hit), action))
    return tuple(made)


def _defect(name: str, repair: RepairKind, hit: Hit, setting: Any, *, certain: bool = True) -> Defect:
    fact, action = _said(repair.fact, hit), repair.action
    if hit.lost == hit.count and repair.lost:
        fact, action = _said(repair.lost, hit), "read them as missing"
    elif hit.lost:
        fact, action = f"{fact}, or cannot be read ({hit.lost:,})", f"{action}, and as missing where that is impossible"
    return Defect(name, hit.column, hit.count, hit.rows, fact, action, certain, setting, hit.examples)


def _said(fact: str, hit: Hit) -> str:
    words: Mapping[str, Any] = {
        "rows": plural(hit.count, "row"),
        "cells": plural(hit.count, "cell"),
        "columns": plural(hit.count, "column"),
        "column": visible(hit.column),
    }
    text = fact.format(**words)
    if hit.count == 1:
        for many, one in ((" hold ", " holds "), (" have ", " has "), (" are ", " is "), (" differ ", " differs ")):
            text = text.replace(many, one, 1)
        text = text.replace(" repeat ", " repeats ", 1).replace(" say ", " says ", 1)
    return text
