"""Columns that never change in a life, by their names, and how many rows share them in each release."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from reissue._arrays import Ints

__all__ = ["LastingCrowd", "crowds_of", "lasting_columns"]

_BIRTH = frozenset({"birth", "born", "birthdate", "birthday", "birthyear", "dob", "yob"})
_OTHERS = frozenset({"sex", "gender", "race", "ethnicity", "ethnic", "native"})
_ROWS = "\0rows"


@dataclass(frozen=True)
class LastingCrowd:
    """People who share all that never changes."""

    smallest: int
    """Rows in the release where there are fewest, of those that have some."""
    people: int
    """Rows in the release where there are most: at least this many people there are."""
    below: int
    """The same of releases where there are fewer than the limit."""


def lasting_columns(shown: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The quasi-identifiers that all releases show and whose names say that they never change; none if it is one alone.

    Sex alone, or race, tells too few people apart to follow anybody.
    """
    common = [name for name in shown[0] if all(name in other for other in shown)]
    lasting = tuple(name for name in common if (_BIRTH | _OTHERS) & _words(name))
    return lasting if len(lasting) > 1 or any(_BIRTH & _words(name) for name in lasting) else ()


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", name.lower()))


def crowds_of(
    texts: Sequence[pl.DataFrame], rows: Sequence[Ints], columns: Sequence[str], limit: int
) -> list[LastingCrowd]:
    """The crowds of all releases, from their different combinations and how many rows have each."""
    counted = [
        frame.select(columns).with_columns(pl.Series(_ROWS, count)).group_by(columns).agg(pl.col(_ROWS).sum())
        for frame, count in zip(texts, rows, strict=True)
    ]
    number = pl.col(_ROWS)
    found = (
        pl.concat(counted)
        .group_by(columns, maintain_order=True)
        .agg(
            number.min().alias("least"),
            number.max().alias("most"),
            number.filter(number < limit).max().fill_null(0).alias("below"),
        )
    )
    return [LastingCrowd(*row) for row in found.select("least", "most", "below").rows()]
