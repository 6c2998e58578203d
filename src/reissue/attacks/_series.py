"""The releases under attack, as they went out: files, frames or Release objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from reissue.attacks._views import Views, read_views
from reissue.errors import InputError, SchemaError, nearest_column
from reissue.files import second_path
from reissue.release import GROUP, Release
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.table import to_polars
from reissue.together import read_together

__all__ = ["Published", "Series"]


@dataclass(frozen=True, eq=False)
class Published:
    """One release as it went out."""

    tables: Mapping[str, pl.DataFrame]
    """One table called "release", or "quasi" and "sensitive" of a bucketized release; perhaps statistics."""
    source: Release | None = None
    """Of our own release: what stays with the holder, who attacks with all that an adversary could know."""

    @classmethod
    def read(cls, data: Any, schema: Schema, *, delimiter: str = ",") -> "Published":
        """From a path, a dataframe, a Release, or a mapping of tables; every column of a file is read as text."""
        if isinstance(data, cls):
            return data
        if isinstance(data, Release):
            return cls(data.tables, data)
        if isinstance(data, Mapping):
            return cls({name: to_polars(frame)[0] for name, frame in data.items()})
        if not isinstance(data, str | Path):
            return cls({"release": to_polars(data)[0]})
        frame = _read_text(data, schema, delimiter)
        apart = GROUP in frame.columns and set(schema.sensitive) - set(frame.columns)
        beside = Path(second_path(data, "sensitive")) if apart and Path(data).is_file() else None
        if beside is not None and beside.is_file():
            return cls({"quasi": frame, "sensitive": _read_text(beside, schema, delimiter)})
        return cls({"release": frame})

    def generalized(self, schema: Schema) -> pl.DataFrame | None:
        """The one table with quasi-identifiers and sensitive values; None if they were published apart."""
        frame = self.tables.get("release")
        if frame is None or (GROUP in frame.columns and GROUP not in schema.columns):
            return None
        absent = [name for name in (*schema.quasi, *schema.sensitive) if name not in frame.columns]
        if absent:
            hint = nearest_column(absent[0], frame.columns)
            raise SchemaError(f"A release lacks columns that the schema names: {', '.join(absent)}.{hint}")
        return frame


def _read_text(path: str | Path, schema: Schema, delimiter: str) -> pl.DataFrame:
    return read_together(path, schema, text=(*schema.quasi, *schema.sensitive), delimiter=delimiter)


@dataclass(frozen=True, eq=False)
class Series:
    """Releases in the order of their publication, and how they are judged."""

    releases: tuple[Published, ...]
    schema: Schema
    exact: bool = False
    """Whether attacks that have a slower, exact way take it."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Attack to its limit, where the caller sets one."""
    numbers: tuple[int, ...] = ()
    """What the releases are called in findings: numbers from 1."""

    def __post_init__(self) -> None:
        if not self.numbers:
            object.__setattr__(self, "numbers", tuple(range(1, len(self.releases) + 1)))

    @classmethod
    def read(
        cls,
        releases: Sequence[Any],
        schema: Schema,
        *,
        exact: bool = False,
        limits: Mapping[str, float] | None = None,
        delimiter: str = ",",
    ) -> "Series":
        """Read whatever was published."""
        if isinstance(releases, str | Path | Mapping) or not isinstance(releases, Sequence):
            raise InputError("The releases must be a list of paths, dataframes or releases, in the order published.")
        read = tuple(Published.read(data, schema, delimiter=delimiter) for data in releases)
        return cls(read, schema, exact, dict(limits or {}))

    def __len__(self) -> int:
        return len(self.releases)

    def of(self, numbers: Sequence[int]) -> "Series":
        """The series of some releases only."""
        kept = tuple(self.releases[self.numbers.index(number)] for number in numbers)
        return replace(self, releases=kept, numbers=tuple(numbers))

    @cached_property
    def views(self) -> Views | None:
        """All releases in common codes; None if one of them publishes quasi-identifiers and values apart."""
        frames = [release.generalized(self.schema) for release in self.releases]
        if any(frame is None for frame in frames):
            return None
        return read_views([frame for frame in frames if frame is not None], self.schema)

    @property
    def k(self) -> int | None:
        """How many records a group promises to have: by the policy (`require = "k=5"`), else by our releases' own."""
        require = self.schema.policy.get("require")
        if require:
            return parse(str(require)).least
        sources = [release.source for release in self.releases]
        own = [source.requirement.least for source in sources if source is not None]
        return min(own) if own and len(own) == len(sources) else None
