"""Recipes: which repairs are made each time a table is read, as the section `[clean]` of a schema file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reissue.cleaning.repairs import REPAIRS
from reissue.errors import SchemaError, nearest

__all__ = ["LAYOUT", "CleanRecipe"]

LAYOUT = "layout"
"""The repair that takes a table out of its sheet: notes, header lines, short rows, merged cells."""


@dataclass(frozen=True)
class CleanRecipe:
    """Repairs by name, each with its setting for each column (an empty name: for whole rows).

    Examples
    --------
    >>> import reissue as ri
    >>> recipe = ri.CleanRecipe.of({"totals": True, "spelling": {"diagnosis": "upper"}})
    >>> sorted(recipe.settings)
    ['spelling', 'totals']
    """

    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is anything to repair."""
        return bool(self.settings)

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> "CleanRecipe":
        """Read a `[clean]` section."""
        return cls({name: dict(_read(name, value)) for name, value in section.items()})

    def as_section(self) -> dict[str, Any]:
        """The `[clean]` section; `of` reads it."""
        return {name: _written(columns) for name, columns in self.settings.items()}

    def __or__(self, other: "CleanRecipe") -> "CleanRecipe":
        """Both recipes together; where both say something about a column, the first counts."""
        names = [*self.settings, *(name for name in other.settings if name not in self.settings)]
        return CleanRecipe({name: {**other.settings.get(name, {}), **self.settings.get(name, {})} for name in names})


def _read(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if name != LAYOUT and name not in REPAIRS:
        raise SchemaError(f"[clean] has an unknown repair '{name}'." + nearest(name, [LAYOUT, *REPAIRS]))
    repair = REPAIRS.get(name)
    if repair is None or repair.settings is None:
        whole = repair is None or repair.of_rows
        if whole and isinstance(value, bool):
            yield from [("", True)] if value else []
            return
        if not whole and isinstance(value, list) and all(isinstance(one, str) for one in value):
            yield from ((column, True) for column in value)
            return
        wanted = "true or false" if whole else "a list of columns"
        raise SchemaError(f"[clean]: `{name}` must be {wanted}.")
    if not isinstance(value, Mapping) or not all(repair.settings(one) for one in value.values()):
        raise SchemaError(f"[clean]: `{name}` must be {repair.wanted} by column.")
    yield from value.items()


def _written(columns: Mapping[str, Any]) -> Any:
    if "" in columns:
        return True
    return list(columns) if all(one is True for one in columns.values()) else dict(columns)
