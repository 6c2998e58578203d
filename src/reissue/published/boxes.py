"""Published groups as boxes: intervals of codes, one box for each different look of a group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Bools, Codes, Ints
from reissue.published.release import PublishedRelease
from reissue.taxonomy.codings import Coding
from reissue.taxonomy.notation import parse_column
from reissue.taxonomy.ranges import is_range

__all__ = ["BoxBounds", "boxes_in"]


@dataclass(frozen=True, eq=False)
class BoxBounds:
    """The first and the last code of each attribute, attributes x boxes."""

    lo: Codes
    hi: Codes

    def __len__(self) -> int:
        return int(self.lo.shape[1])

    @property
    def inhabited(self) -> Bools:
        """Box to whether it holds any code of every attribute."""
        return np.asarray((self.lo <= self.hi).all(axis=0))

    @property
    def exact(self) -> Bools:
        """Box to whether it is one point."""
        return np.asarray((self.lo == self.hi).all(axis=0))

    def some(self, boxes: Ints | Bools) -> "BoxBounds":
        """Select some of them."""
        return BoxBounds(self.lo[:, boxes], self.hi[:, boxes])


def boxes_in(release: PublishedRelease, codings: Sequence[Coding]) -> BoxBounds:
    """The looks of a release in the codes of a table of people; one that is not `inhabited` has none of them.

    Where quasi-identifiers are published as they are, a value that none of the people has is somebody else's, or
    nobody's. A name in a generalized release, or beside ranges, may include some of them: it must be in the taxonomy.
    """
    exact = not release.form.boxes
    columns = [release.looks.texts[name] for name in release.schema.quasi]
    read = [
        parse_column(texts, coding, partial=True, strange=exact and not _shows_ranges(texts))
        for texts, coding in zip(columns, codings, strict=True)
    ]
    return BoxBounds(np.stack([part.lo for part in read]), np.stack([part.hi for part in read]))


def _shows_ranges(texts: pl.Series) -> bool:
    return any(map(is_range, texts.drop_nulls().unique()))
