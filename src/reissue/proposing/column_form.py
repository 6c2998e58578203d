"""Columns on a form: a summary of each column for its holder, and the schema that the answers describe."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import SchemaError, TaxonomyError
from reissue.files.tables import nested
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Hierarchy
from reissue.taxonomy.paths import groups_in_file, tree_of

__all__ = ["ColumnChoice", "ColumnPicture", "picture_of", "schema_of"]

_BARS = 10
"""Maximum number of bars of a summary."""
_LISTED = 80
"""Maximum number of different values that are listed."""


@dataclass(frozen=True)
class ColumnPicture:
    """A summary of a column for its holder."""

    name: str
    missing: int
    distinct: int
    bars: tuple[tuple[str, int], ...]
    """Values or ranges with their numbers of records; empty if every record has its own."""
    values: tuple[str, ...] = ()
    """All different values, if there are not too many."""

    def as_dict(self) -> dict[str, Any]:
        """As plain texts and numbers."""
        return asdict(self)


def picture_of(column: pl.Series) -> ColumnPicture:
    """Summarize numbers in ranges of equal width, everything else by the most frequent values."""
    if nested(column.dtype):
        return ColumnPicture(column.name, column.null_count(), 0, ())
    known = column.drop_nulls()
    distinct = known.n_unique()
    texts = known.cast(pl.String)
    listed = tuple(texts.unique().sort()) if distinct <= _LISTED else ()
    numbers = column.dtype.is_numeric() and distinct > _BARS
    dates = column.dtype in {pl.Date, pl.Datetime} and distinct > _BARS
    own = distinct == len(known) > _BARS and not dates
    bars = () if own else _years(known) if dates else _spread(known) if numbers else _most(texts)
    return ColumnPicture(column.name, column.null_count(), distinct, bars, listed)


def _most(texts: pl.Series) -> tuple[tuple[str, int], ...]:
    counts = texts.alias("value").value_counts().sort(["count", "value"], descending=[True, False])
    shown = [(str(value), int(count)) for value, count in counts.head(_BARS).iter_rows()]
    rest = len(texts) - sum(count for _, count in shown)
    return (*shown, *([("all others", rest)] if rest else []))


def _years(dates: pl.Series) -> tuple[tuple[str, int], ...]:
    """Dates by year, decade or century: as fine as a few bars allow."""
    years = dates.dt.year().cast(pl.Int64)
    step = next((step for step in (1, 10) if (years // step).n_unique() <= _BARS + 2), 100)
    counts = (years // step * step).alias("year").value_counts().sort("year")
    return tuple(
        (str(year) if step == 1 else f"{year} to {year + step - 1}", int(count)) for year, count in counts.iter_rows()
    )


def _spread(numbers: pl.Series) -> tuple[tuple[str, int], ...]:
    values = numbers.cast(pl.Float64)
    values = values.filter(values.is_finite())
    counts = values.hist(bin_count=_BARS)
    ends = [float(str(values.min())), *counts["breakpoint"].to_list()]
    return tuple(
        (f"{low:.4g} to {high:.4g}", int(count))
        for low, high, count in zip(ends[:-1], ends[1:], counts["count"].to_list(), strict=True)
    )


@dataclass(frozen=True)
class ColumnChoice:
    """A column's role and how it is generalized, as entered in a form."""

    name: str
    role: Role
    kind: str = "auto"
    ranges: str = ""
    """Widths, separated by commas."""
    prefix: str = ""
    """Numbers of characters, separated by commas."""
    dates: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    """The group of each value; `Europe / South` is a group within a group, an empty text is none."""
    file: Path | None = None

    @property
    def tree(self) -> Any:
        """The groups as a tree."""
        return tree_of({value: _path(text) for value, text in self.groups.items()})

    def with_file(self, file: Path) -> "ColumnChoice":
        """With the groups of an ARX hierarchy, to be edited like any others."""
        return replace(
            self, kind="tree", groups={value: " / ".join(path) for value, path in groups_in_file(file).items()}
        )


def schema_of(choices: Sequence[ColumnChoice], *, folder: Path = Path(), several_rows: bool = False) -> Schema:
    """The schema that the form describes; dropped columns are not named in it."""
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
