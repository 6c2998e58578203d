"""Defects found, and repairs made: once to look at a table, and again with the recipe each time one is read."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from reissue.cleaning.recipe import LAYOUT, CleanRecipe
from reissue.cleaning.repairs import REPAIRS
from reissue.cleaning.sheet import Hit, Sheet
from reissue.cleaning.wording import SHEET_DEFECTS, said_of
from reissue.errors import InputError, nearest
from reissue.language import counted, text

__all__ = ["Cleaned", "Defect", "cleaned", "find_defects", "repaired"]

_SHOWN = 5
"""Maximum number of rows that a sentence names."""


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
        numbers = ", ".join(map(str, self.rows[:_SHOWN]))
        if more > 0:
            return counted(more, "rows {numbers} and {count} more", "rows {numbers} and {count} more", numbers=numbers)
        return (
            text("row {numbers}", numbers=numbers) if len(self.rows) == 1 else text("rows {numbers}", numbers=numbers)
        )

    @property
    def sentence(self) -> str:
        """What was found where, and what would be done, in one line."""
        where = f" ({self.where})" if self.where else ""
        return f"{self.fact}{where}: {self.action}."

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
            defect = _defect(name, hit, setting, certain=repair.certain(sheet, column))
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
                done.append(_defect(name, hit, setting))
    return Cleaned(sheet, recipe, tuple(done))


def _of_layout(sheet: Sheet) -> tuple[Defect, ...]:
    return tuple(Defect(name, "", hit.count, hit.rows, *said_of(name, hit)) for name, hit in sheet.layout)


def _defect(name: str, hit: Hit, setting: Any, *, certain: bool = True) -> Defect:
    return Defect(name, hit.column, hit.count, hit.rows, *said_of(name, hit), certain, setting, hit.examples)
