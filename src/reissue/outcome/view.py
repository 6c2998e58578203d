"""The parts that all views are made of: a headline and a table of texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["BAD", "GOOD", "UNSURE", "Headline", "TableView", "table"]

BAD, GOOD, UNSURE = "bad", "good", "unsure"
"""How an outcome looks."""


@dataclass(frozen=True)
class Headline:
    """What anybody reads first: how it is marked, one word, a sentence or two, and what to do next."""

    mark: str
    """`bad`, `good` or `unsure`."""
    word: str
    sentence: str
    next: str = ""
    """What to do next; empty where nothing follows."""
    needs: tuple[str, ...] = ()
    """The inputs that this takes, by their names in `findings.INPUTS`."""


@dataclass(frozen=True)
class TableView:
    """A table of texts."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    numeric: tuple[bool, ...] = ()
    """Which columns hold numbers, and are aligned to the right where that is possible."""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> TableView:
    """Return a table; a heading that ends in `#` is that of a column of numbers."""
    numeric = tuple(heading.endswith("#") for heading in headings)
    return TableView(
        tuple(heading.removesuffix("#") for heading in headings), tuple(map(tuple, rows)), caption, numeric
    )
