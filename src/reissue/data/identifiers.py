"""Identifiers: one text per person whatever the column's type, and a check that people do return.

The same person must get the same text from every table of a series: patient 1 is `1` as a whole number, as the float
1.0 that a column with gaps becomes in some tools, and as text. Otherwise texts count as they are: `001` and `1`, `a`
and `A` are different people.
"""

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.errors import DataError
from reissue.taxonomy.numbers import EXACT

__all__ = [
    "MIDNIGHT",
    "WHOLE",
    "identifier_kind",
    "identifier_texts",
    "refuse_strangers",
    "relaxed_texts",
    "too_long",
]

WHOLE = r"^(-?(?:0|[1-9][0-9]*))\.0+$"
MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]00:00(?::00(?:\.0+)?)?$"
_ENOUGH = 20
"""Number of people who must have been there before their absence means anything."""
_FEW = 0.1
"""The share of people who could have returned below which hardly anybody has."""


def identifier_texts(ids: pl.Series) -> pl.Series:
    """Return identifiers as text that does not depend on the type of their column; missing ones stay missing."""
    if ids.dtype.is_integer():
        return ids.cast(pl.String)
    if ids.dtype.is_float():
        ids = ids.fill_nan(None)
        whole = ids.cast(pl.Int64, strict=False)
        if (ids.abs() >= EXACT).any():
            raise too_long(ids.name)
        return ids.cast(pl.String).zip_with(whole.cast(ids.dtype) != ids, whole.cast(pl.String))
    texts = ids.cast(pl.String).str.strip_chars()
    return texts.str.replace(WHOLE, "${1}").str.replace(MIDNIGHT, "${1}")


def relaxed_texts(ids: pl.Series) -> pl.Series:
    """Return identifiers without what tools change in them: leading zeros, case, blanks, punctuation, Unicode forms.

    An identifier that consists of nothing else stays as it is, and zeros alone become one zero.
    """
    texts = identifier_texts(ids)
    plain = texts.str.normalize("NFKC").str.to_uppercase().str.to_lowercase().str.normalize("NFKC")
    bare = plain.str.replace_all(r"[^\p{L}\p{M}\p{N}]", "")
    short = bare.str.strip_chars_start("0")
    short = short.zip_with(short != "", bare.str.slice(0, 1))  # zeros alone become one zero
    return short.zip_with(bare != "", texts)


def too_long(name: str) -> DataError:
    """The error for identifiers that are floats with so many digits that they may have been rounded."""
    return DataError(
        f"The identifier '{name}' holds floating-point numbers of more than 15 digits: different people may have "
        "become the same. Store it as whole numbers or as text."
    )


def identifier_kind(ids: pl.Series) -> str:
    """The form of identifiers in a table, to explain what has changed."""
    if ids.dtype.is_numeric():
        return "whole numbers" if ids.dtype.is_integer() else "numbers"
    return "times" if ids.dtype.is_temporal() else "text"


def refuse_strangers(before: Ints, now: Ints, form: str = "") -> None:
    """Refuse a table in which hardly anybody of the last release returns: most often identifiers have changed.

    Parameters
    ----------
    before, now
        The numbers of the people in the last release and in the table.
    form
        How the form of identifiers has changed, if that is known.

    """
    most = min(len(before), len(now))
    back = len(np.intersect1d(before, now))
    if len(before) < _ENOUGH or back >= _FEW * most:
        return
    raise DataError(
        f"Of the {len(before):,} people in the last release {back:,} are among the {len(now):,} of this table. Where "
        f"identifiers have changed{form}, everybody is taken for somebody new, and what earlier releases gave away is "
        "not counted. Bring the identifiers into their earlier form. If these really are other people, say so: "
        "newcomers=True."
    )
