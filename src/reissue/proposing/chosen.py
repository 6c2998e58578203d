"""chosen: what a form says about columns, as the schema that it means."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reissue.errors import SchemaError, TaxonomyError
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Hierarchy
from reissue.taxonomy.grouping import groups_in_file, tree_of

__all__ = ["ColumnChoice", "schema_of"]


@dataclass(frozen=True)
class ColumnChoice:
    """One column: its role, and how it is generalized, in the words of a form."""

    name: str
    role: Role
    kind: str = "auto"
    ranges: str = ""
    """Widths between commas."""
    prefix: str = ""
    """Numbers of characters between commas."""
    dates: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    """Value to its group; `Europe / South` is a group in a group, nothing is none."""
    file: Path | None = None

    @property
    def tree(self) -> Any:
        """The groups as a tree."""
        return tree_of({value: _path(text) for value, text in self.groups.items()})

    def with_file(self, file: Path) -> "ColumnChoice":
        """With the groups of an ARX hierarchy, to be changed like any others."""
        return replace(
            self, kind="tree", groups={value: " / ".join(path) for value, path in groups_in_file(file).items()}
        )


def schema_of(choices: Sequence[ColumnChoice], *, folder: Path = Path(), several_rows: bool = False) -> Schema:
    """The schema; what is left out is not named in it."""
    roles = {one.name: one.role for one in choices if one.role != Role.DROP}
    if Role.QUASI not in roles.values():
        raise SchemaError("No column is one that others may know: choose at least one.")
    hierarchies = {
        one.name: _hierarchy(one)
        for one in choices
        if one.role == Role.QUASI or (one.role == Role.SENSITIVE and one.kind in {"tree", "file"})
    }
    return Schema(roles, hierarchies, folder=folder, several_rows=several_rows or None)


def _hierarchy(choice: ColumnChoice) -> Hierarchy:
    try:
        if choice.kind == "ranges":
            return Hierarchy("ranges", ranges=_numbers(choice.ranges))
        if choice.kind == "prefix":
            return Hierarchy("prefix", prefix=tuple(int(number) for number in _numbers(choice.prefix)))
        if choice.kind == "dates":
            return Hierarchy("dates", dates=choice.dates)
        if choice.kind == "tree":
            return Hierarchy("tree", tree=choice.tree)
        if choice.kind == "file":
            return Hierarchy("file", file=choice.file)
        return Hierarchy(choice.kind)
    except TaxonomyError as problem:
        raise SchemaError(f"Column '{choice.name}': {problem}") from None


def _numbers(text: str) -> tuple[float, ...]:
    parts = [part for part in re.split(r"[,;\s]+", text.strip()) if part]
    try:
        found = tuple(float(part) for part in parts)
    except ValueError:
        raise TaxonomyError("Write numbers between commas, for example 5, 10, 20.") from None
    if not found:
        raise TaxonomyError("Write at least one number, for example 5, 10, 20.")
    return found


def _path(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r"\s+/\s+", text.strip()) if part.strip())
