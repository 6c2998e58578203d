"""The rows of a release of randomized values, joined with its side table, and their weights for a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue.data.frames import from_frame
from reissue.errors import DataError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.tables import read_file
from reissue.published import PublishedRelease
from reissue.randomized import CLASS, SideTable
from reissue.randomized.side import codes_of
from reissue.release.release import SIDE, Release

__all__ = ["CONDITION", "Rows", "Term", "Weighted"]

CONDITION = 100.0
"""Beyond this condition number, standard errors of exact weights are some ten times those of well-drawn values."""
_UNKNOWN = 1e300
"""A number that stands for an unknown one."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a release that have a published value, with their classes."""

    frame: pl.DataFrame
    side: SideTable
    classes: Ints
    published: Ints
    places: Ints
    """Where each row is in the release."""
    left_out: int

    @classmethod
    def of(cls, release: Any, side: Any, dialect: Dialect = FOUND) -> "Rows":
        """Read a release and its side table."""
        if side is None and isinstance(release, Release):
            side = release.tables.get(SIDE)
        if side is None:
            raise InputError("Estimates need the side table that was published beside the release.")
        table = SideTable.read(side if isinstance(side, SideTable) else _frame_of(side, dialect))
        return cls.joined(_frame_of(release, dialect), table)

    @classmethod
    def joined(cls, frame: pl.DataFrame, side: SideTable) -> "Rows":
        """Rows of a frame, joined with the side table."""
        lacking = [name for name in (CLASS, *side.values.columns) if name not in frame.columns]
        if lacking:
            raise DataError(
                f"The release has no column '{lacking[0]}', by which the side table is joined. Is it the side table "
                "of this release?"
            )
        classes = frame[CLASS].cast(pl.Int64, strict=False).fill_null(0).to_numpy() - 1
        published = codes_of(side.values, frame)
        use: Bools = (classes >= 0) & (classes < len(side.share)) & (published >= 0)
        silent = frame.select(pl.all_horizontal(pl.col(side.values.columns).is_null())).to_series().to_numpy()
        if not use.any() or (~use & ~silent).any():
            raise DataError("The release has classes or values that the side table lacks. Is it that of this release?")
        kept = np.flatnonzero(use)
        return cls(frame[kept], side, classes[kept].astype(np.int64), published[kept], kept, int((~use).sum()))

    @classmethod
    def of_published(cls, release: PublishedRelease) -> "Rows | None":
        """The rows of a published release; None if no side table lies beside it."""
        side = release.tables.frames.get(SIDE)
        return None if side is None else cls.joined(release.main, SideTable.read(side))

    @property
    def columns(self) -> list[str]:
        """The columns that a question may name."""
        return [name for name in self.frame.columns if name != CLASS]

    @property
    def exact(self) -> bool:
        """Whether the probabilities of all classes can be inverted."""
        return float(self.side.condition[np.unique(self.classes)].max()) <= CONDITION

    def weights(self, category: Ints, *, exact: bool) -> tuple[Floats, float]:
        """Rows x categories, and the condition number behind them; `category` is that of each true value."""
        member = np.eye(int(category.max()) + 1)[category]
        used = np.unique(self.classes)
        if exact:
            return np.asarray((self.side.unbiased @ member)[self.classes, self.published]), 1.0
        weights = self.side.collapsed(member)
        condition = float(np.linalg.cond(weights[used]).max()) if member.shape[1] > 1 else 1.0
        return weights[self.classes, self.published], condition


def _frame_of(source: Any, dialect: Dialect) -> pl.DataFrame:
    """The rows of a release or table, whatever it is given as."""
    if isinstance(source, Release):
        return source.tables["release"]
    return from_frame(source)[0] if not isinstance(source, str | Path) else read_file(source, dialect=dialect)


@dataclass(frozen=True, eq=False)
class Term:
    """A column, or indicators of its values, as numbers: a label for each."""

    labels: tuple[str, ...]
    by_row: Floats | None = None
    """Rows x labels, for a column that was not randomized; not a number where it is not known."""
    by_value: Floats | None = None
    """True values x labels, for a sensitive column."""

    def without_base(self) -> "Term":
        """Without the first category, which is the base of a regression."""
        if len(self.labels) == 1:
            return self
        row, value = (None if one is None else one[:, 1:] for one in (self.by_row, self.by_value))
        return Term(self.labels[1:], row, value)


@dataclass(frozen=True, eq=False)
class Weighted:
    """What a question needs of the rows: weights of categories of true values, and terms by row and category."""

    weights: Floats
    """Rows x categories."""
    shown: Floats
    """The same as published: 1 at the published category."""
    terms: tuple[Floats, ...]
    """(Rows or 1) x (categories or 1) x labels."""
    condition: float

    @classmethod
    def of(cls, rows: Rows, terms: Sequence[Term]) -> "Weighted":
        """Values that no term tells apart are one category."""
        told = np.hstack(
            [np.zeros((len(rows.side.values), 1)), *(one.by_value for one in terms if one.by_value is not None)]
        )
        distinct, category = np.unique(np.nan_to_num(told, nan=_UNKNOWN), axis=0, return_inverse=True)
        category = category.reshape(-1)
        every, known = np.arange(len(distinct)), ~(distinct == _UNKNOWN).any(1)
        use = np.ones(len(rows.classes), np.bool_)
        for one in terms:
            use &= one.by_row is None or ~np.isnan(one.by_row).any(1)
        first = np.array([np.flatnonzero(category == number)[0] for number in every])[known]
        found = tuple(
            one.by_row[use][:, np.newaxis, :] if one.by_row is not None else one.by_value[first][np.newaxis]  # type: ignore[index]
            for one in terms
        )
        weights, condition = rows.weights(category, exact=rows.exact)
        shown = np.eye(len(every))[category[rows.published]]
        return cls(weights[use][:, known], shown[use][:, known], found, condition)

    def by_row(self, term: int) -> Floats:
        """Rows x labels if nothing depends on the true value, else rows x categories x labels."""
        one = self.terms[term]
        return (
            one[:, 0]
            if len(one) == len(self.weights) > 1
            else np.broadcast_to(one, (*self.weights.shape, one.shape[2]))
        )
