"""A table of counts: cells with their categories, each an interval, and the margins that it shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.contingency.cells import UNBOUNDED

__all__ = ["CountTable", "TableMargin"]


@dataclass(frozen=True, eq=False)
class TableMargin:
    """The cells of a table that have categories in the same dimensions; the others are summed over."""

    dimensions: tuple[str, ...]
    categories: pl.DataFrame
    """One row for each cell, one column of texts for each dimension."""
    low: Ints
    high: Ints
    cell: Ints
    """Number of each cell in its table."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """A published table of counts.

    Examples
    --------
    >>> import polars as pl
    >>> from reissue.contingency import count_tables
    >>> frame = pl.DataFrame({"sex": ["f", "m", "Total"], "count": ["<5", "12", "15"]})
    >>> (table,) = count_tables(frame)
    >>> table.low.tolist(), table.high.tolist()
    ([0, 12, 15], [4, 12, 15])
    >>> [margin.dimensions for margin in table.margins()]
    [('sex',), ()]
    """

    name: str
    """What is counted, or the sheet: tables of different files are compared by it."""
    categories: pl.DataFrame
    """One row for each cell, one column of texts for each dimension; null: the total over the dimension."""
    low: Ints
    high: Ints
    """The true count of each cell is between these."""
    base: int = 1
    """The base to which counts were rounded."""
    shown: Ints | None = None
    """The published number of each cell, where that is not its true count; None: by its bounds."""
    hidden: int = 0
    """Number of cells that do not show a number."""
    again: bool | None = None
    """Whether each date of a column of dates counts the same people again; None: as the numbers show."""
    assumed: tuple[str, ...] = field(default=(), compare=False)
    """What was taken for granted to read it, in sentences."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        """What the cells differ in."""
        return tuple(self.categories.columns)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.low)

    @property
    def exact(self) -> Bools:
        """Whether each cell shows its true count."""
        return np.asarray(self.low == self.high)

    def margins(self) -> Iterator[TableMargin]:
        """Yield the cells by the dimensions in which they have categories, the most detailed first."""
        shown = self.categories.select(pl.all().is_not_null()).to_numpy().astype(np.bool_).reshape(self.cells, -1)
        number = shown @ (1 << np.arange(shown.shape[1], dtype=np.int64))  # one for each set of dimensions
        patterns = {shown[first].tobytes(): int(number[first]) for first in np.unique(number, return_index=True)[1]}
        for pattern in sorted(patterns, key=lambda one: (-sum(one), one)):
            cell = np.flatnonzero(number == patterns[pattern])
            names = [name for name, kept in zip(self.dimensions, pattern, strict=True) if kept]
            yield TableMargin(tuple(names), self.categories[cell].select(names), self.low[cell], self.high[cell], cell)

    def renamed(self, names: Mapping[str, str]) -> "CountTable":
        """The same with other names of dimensions."""
        return replace(self, categories=self.categories.rename({old: new for old, new in names.items() if old != new}))

    def limited(self, most: int) -> "CountTable":
        """The same where no count can be larger than `most`."""
        return replace(self, high=np.where(self.high >= UNBOUNDED, np.maximum(self.low, most), self.high))

    def texts(self) -> list[str]:
        """The cells as they are published."""
        if self.shown is not None:
            return [str(number) for number in self.shown.tolist()]
        pairs = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return [str(low) if low == high else f"{low}-{high}" if high < UNBOUNDED else "*" for low, high in pairs]

    @classmethod
    def of(cls, name: str, categories: pl.DataFrame, counts: Sequence[int] | Ints) -> "CountTable":
        """A table of exact counts."""
        exact = np.asarray(counts, np.int64)
        return cls(name, categories, exact, exact)
