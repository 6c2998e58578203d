"""clean: what is wrong with a table as people keep it, with one repair for each defect."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from reissue._notebook import card
from reissue.cleaning import LAYOUT, SHEET_DEFECTS, Cleaned, CleanRecipe, Defect, Sheet, cleaned, find_defects, repaired
from reissue.data.frames import Back
from reissue.data.repairs import frame_of, read_sheet
from reissue.errors import InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.proposing.from_table import likely_identifier
from reissue.schema import Schema, section_toml, toml_value
from reissue.words import listed, plural, visible

__all__ = ["CleanedTable", "Cleaning", "clean", "clean_toml", "common_recipe", "recipe_in"]


@dataclass(frozen=True, eq=False, repr=False)
class CleanedTable:
    """A table after its repairs."""

    frame: Any
    """The same kind of frame as was given; of a file, a Polars frame."""
    recipe: CleanRecipe
    """The repairs, to be made again when the next table is read."""
    done: tuple[Defect, ...]
    """What was repaired, where."""

    def __repr__(self) -> str:
        """What was done, in a sentence."""
        return f"Cleaned table: {plural(len(self.done), 'repair')}, {plural(len(self.frame), 'row')}."

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was done, a line each."""
        return tuple(one.sentence for one in self.done)

    @property
    def toml(self) -> str:
        """The `[clean]` section that repeats the repairs."""
        return section_toml("clean", self.recipe.as_section())


@dataclass(frozen=True, eq=False, repr=False)
class Cleaning:
    """The defects of a table, before anything is changed.

    `clean` returns one. Nothing is changed until `apply` is called, and the table that was given never is.

    Examples
    --------
    >>> import polars as pl
    >>> import reissue as ri
    >>> found = ri.clean(pl.DataFrame({"age": ["41", " 52 ", "n/a"], "ill": ["flu", "gout", "flu"]}))
    >>> found.sentence
    '2 defects in 3 rows: blanks and missing.'
    """

    sheet: Sheet = field(repr=False)
    defects: tuple[Defect, ...]
    """What was found, in the order in which it would be repaired."""
    back: Back = field(repr=False)
    name: str = ""
    """The file's name."""

    @property
    def rows(self) -> int:
        """The number of rows as they are."""
        return self.sheet.frame.height

    @property
    def columns(self) -> int:
        """The number of columns as they are."""
        return self.sheet.frame.width

    @property
    def recommended(self) -> tuple[Defect, ...]:
        """What is repaired unless somebody says otherwise."""
        return tuple(one for one in self.defects if one.recommended)

    @property
    def hints(self) -> tuple[Defect, ...]:
        """What is repaired only if it is named."""
        return tuple(one for one in self.defects if not one.recommended)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        if not self.defects:
            return f"No defect was found in {plural(self.rows, 'row')} and {plural(self.columns, 'column')}."
        names = listed(list(dict.fromkeys(one.name for one in self.defects)))
        return f"{plural(len(self.defects), 'defect')} in {plural(self.rows, 'row')}: {names}."

    @cached_property
    def _recommended(self) -> CleanedTable:
        return self.apply()

    @property
    def frame(self) -> Any:
        """The table after all recommended repairs."""
        return self._recommended.frame

    @property
    def recipe(self) -> CleanRecipe:
        """The recommended repairs."""
        return self._recommended.recipe

    def apply(self, names: Collection[str] | None = None) -> CleanedTable:
        """Repair a copy of the table: all that is recommended, or the repairs with these names.

        A name may be that of a repair (`spelling`), or of one in a column (`spelling:diagnosis`). What takes the table
        out of its sheet (notes, header lines) is always done: without it there is no table.
        """
        made = cleaned(self.sheet, names)
        return CleanedTable(self._back(made), made.recipe, made.done)

    def replay(self, recipe: CleanRecipe) -> CleanedTable:
        """Repair a copy of the table as a recipe says, made for an earlier table of the series."""
        made = repaired(self.sheet, recipe)
        return CleanedTable(self._back(made), recipe, made.done)

    def repaired_frame(self, recipe: CleanRecipe) -> pl.DataFrame:
        """The table repaired by a recipe, as a Polars frame."""
        return frame_of(repaired(self.sheet, recipe), name=self.name)

    def _back(self, made: Cleaned) -> Any:
        return self.back(frame_of(made, name=self.name))

    def as_dict(self, *, show_values: bool = False) -> dict[str, Any]:
        """As plain texts and numbers; with values of the table only if they are asked for."""
        return {
            "rows": self.rows,
            "columns": self.columns,
            "defects": [one.as_dict(show_values=show_values) for one in self.defects],
            "other_sheets": list(self.sheet.others),
        }

    def __repr__(self) -> str:
        """What was found, a line each."""
        return "\n".join([self.sentence, *(f"- {one.sentence}" for one in self.defects)])

    def _repr_html_(self) -> str:
        rows = [
            [one.name, one.fact, one.where, one.action if one.recommended else f"(hint) {one.action}"]
            for one in self.defects
        ]
        return card(self.sentence, ["repair", "what was found", "where", "what is done"], rows)


def clean(data: Any, *, identifier: str | None = None, dialect: Dialect = FOUND) -> Cleaning:
    """Find the defects of a table as people keep it: totals, doubled rows, variants of codes, odd cells, notes.

    Parameters
    ----------
    data
        A dataframe, or the path of a file.
    identifier
        The column that names people, if its name does not say so.
    dialect
        How the cells of a text file are written; what is not given is detected.

    Returns
    -------
    Cleaning
        Each defect with its count, its rows and one repair. Nothing is changed until `apply` is called.

    Raises
    ------
    InputError
        If the table cannot be read.

    Examples
    --------
    >>> import polars as pl
    >>> import reissue as ri
    >>> frame = pl.DataFrame({"patient": ["1", "2", "Total"], "diagnosis": ["E11.90", "e11.90 ", None]})
    >>> found = ri.clean(frame, identifier="patient")
    >>> [defect.name for defect in found.defects]
    ['blanks', 'totals', 'spelling']
    >>> found.apply().frame["diagnosis"].to_list()
    ['E11.90', 'E11.90']
    """
    sheet, back = read_sheet(data, dialect=dialect)
    names = sheet.frame.columns
    if identifier is not None and identifier not in names:
        raise InputError(f"There is no column '{identifier}' to name people.")
    sheet = replace(sheet, identifier=identifier or likely_identifier(sheet.frame))
    name = Path(data).name if isinstance(data, str | Path) else ""
    return Cleaning(sheet, find_defects(sheet), back, name)


def common_recipe(found: Sequence[Cleaning]) -> CleanRecipe:
    """Return one recipe for all tables of a series: everything that is recommended for any of them."""
    recipe = CleanRecipe()
    for one in found:
        recipe |= one.recipe
    return recipe


def clean_toml(recipe: CleanRecipe, defects: Sequence[Defect]) -> str:
    """Return the `[clean]` section of a schema file, with what was found as comments; empty if there is nothing."""
    if not recipe:
        return ""
    lines = ["[clean]  # what was wrong; it is repaired each time a table is read. Without its line it stays as it is."]
    for name, value in recipe.as_section().items():
        own = [one for one in defects if one.name == name or (name == LAYOUT and one.name in SHEET_DEFECTS)]
        lines += [f"# {visible(one.sentence)}" for one in own]
        lines.append(f"{name} = {toml_value(value)}")
    return "\n".join(lines) + "\n"


def recipe_in(path: Path) -> CleanRecipe:
    """Return the recipe in a schema file, or in a file that has only the section `[clean]`."""
    return CleanRecipe.of(Schema.clean_in(path))
