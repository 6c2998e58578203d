"""What an engine is: it opens a table that may be larger than memory, and counts it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import polars as pl

__all__ = ["Counted", "Engine", "Rows", "Source"]


@dataclass(frozen=True, eq=False)
class Counted:
    """Different rows, and how often each occurs."""

    values: pl.DataFrame
    """Texts may be categories."""
    times: pl.Series
    """Whole numbers, 1 or more; their sum is the number of records."""


class Source(Protocol):
    """A table that an engine has opened. Nothing but what is asked for comes into memory."""

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        """The names of its columns, in order, and their types."""

    def counts(self, by: Sequence[str]) -> Counted:
        """The different combinations of some columns, in their order, and how many rows have each."""


@runtime_checkable
class Rows(Source, Protocol):
    """A table whose rows can be rewritten, too."""

    @property
    def rows(self) -> pl.LazyFrame:
        """All of them, to be read a batch at a time."""


@dataclass(frozen=True)
class Engine:
    """A registered engine."""

    name: str
    summary: str
    """One sentence for people who read a list of engines."""
    open: Callable[[Any], Source]
    """From what a user gives; InputError with the reason where it cannot be opened this way."""
    suits: Callable[[Any], bool]
    """Whether "auto" takes this engine for what a user gives; nothing may be read for that but a file's own notes."""
