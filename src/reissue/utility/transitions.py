"""Transitions: how many people go from one sensitive value to another between two releases.

The true shares come from the two tables, of the people who are in both. What the releases allow depends on whether
their rows can be linked:

- a published column that lasts (`link`, such as the seats of a panel): the shares of the linked rows;
- nothing: only how often each value occurs in each release. Then any share between two bounds fits (Frechet), and the
  estimate assumes independent values. The bounds allow for counterfeits, for people who left or arrived, and for
  suppressed records; how many people are in both tables is taken as known.

O(rows + values^2).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats, Ints
from reissue.counting.texts import MISSING, SEPARATOR
from reissue.data.table import Table
from reissue.errors import InputError, SchemaError, nearest_column
from reissue.files.dialect import FOUND, Dialect
from reissue.published import PublishedRelease, joined_texts, read_published
from reissue.release.release import SLOT
from reissue.schema import Schema
from reissue.utility.estimates import NORMAL

__all__ = ["Transition", "Transitions", "transitions"]


@dataclass(frozen=True)
class Transition:
    """The share of people who go from one value to another, or stay."""

    before: str
    after: str
    true: float
    low: float
    high: float
    """The upper end of the 95% sampling interval of the true share."""
    published: float
    """A recipient's estimate."""
    least: float
    most: float
    """The largest share compatible with the releases; the same as `published` if rows are linked."""


@dataclass(frozen=True)
class Transitions:
    """All transitions between two releases, true and as the releases suggest."""

    people: int
    """Number of people in both tables."""
    linked: bool
    stay: Transition
    """The share of people who keep their value."""
    each: tuple[Transition, ...]
    """By value before and after, the most frequent first."""

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and lists."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """The comparison in one sentence."""
        stay = self.stay
        true = f"Of {self.people:,} people in both tables {stay.true:.1%} keep their value"
        if self.linked:
            return f"{true}; the linked rows say {stay.published:.1%}."
        span = f"from {stay.least:.1%} to {stay.most:.1%}"
        return f"{true}; the releases, whose rows cannot be linked, allow anything {span}."


def transitions(
    before: tuple[Any, Any],
    after: tuple[Any, Any],
    schema: Schema,
    *,
    link: str | None = None,
    dialect: Dialect = FOUND,
) -> Transitions:
    """Compare the transitions between two tables with what their releases say; each pair is original and published.

    `link` names a published column that identifies people in both releases; for panels, the seat.
    """
    if schema.identifier is None or not schema.sensitive:
        raise SchemaError("Transitions are of people: the schema must name an identifier and a sensitive column.")
    schema.refuse_several_rows("A table of transitions")
    sides = [_Side.of(original, published, schema, dialect) for original, published in (before, after)]
    names = sorted(set().union(*(set(side.true.to_list()) | set(side.shown.to_list()) for side in sides)))
    both = sides[0].people.join(sides[1].people, on="person", suffix="_after")
    if not both.height:
        raise InputError("Nobody is in both tables: there are no transitions between them.")
    counts = _counted(both["value"], both["value_after"], np.ones(both.height), names)
    if link is None and all(side.published.form.seats for side in sides):
        link = SLOT
    if link is not None:
        seen = _linked(sides, link, names)
        return _compared(names, counts, seen, seen, seen, linked=True)
    parts = [side.bounds(names, both.height) for side in sides]
    (low, high, share), (low_after, high_after, share_after) = parts
    total = both.height
    least = np.maximum(low[:, np.newaxis] + low_after - total, 0) / total
    most = np.minimum(high[:, np.newaxis], high_after) / total
    guess = np.clip(np.outer(share, share_after), least, most)
    return _compared(names, counts, guess, least, most, linked=False)


@dataclass(frozen=True, eq=False)
class _Side:
    """A table and its published form."""

    table: Table
    published: PublishedRelease
    true: pl.Series
    """The sensitive value of each row, as text."""
    shown: pl.Series
    """The sensitive value of each published row, as text."""

    @classmethod
    def of(cls, original: Any, published: Any, schema: Schema, dialect: Dialect) -> "_Side":
        table = original if isinstance(original, Table) else Table.read(original, schema, dialect=dialect)
        release = read_published(published, table.schema, dialect=dialect, as_text=False)
        release.require(*schema.sensitive)
        true, shown = (joined_texts(frame, schema.sensitive) for frame in (table.frame, release.values))
        return cls(table, release, true, shown)

    @property
    def people(self) -> pl.DataFrame:
        ids = self.table.frame[self.table.schema.identifier or ""].cast(pl.String)
        return pl.DataFrame({"person": ids, "value": self.true})

    def bounds(self, names: Sequence[str], both: int) -> tuple[Ints, Ints, Floats]:
        """The minimum and maximum number of those in both tables with each value, and its published share."""
        counts = _histogram(self.shown, self.published.weights.astype(np.float64), names)
        rows, fakes = int(counts.sum()), int(self.published.counterfeits.sum())
        real = rows - fakes
        left_out = max(self.table.rows - real, 0)
        others = max(real - max(both - left_out, 0), 0)
        low = np.maximum(counts - fakes - others, 0)
        high = np.minimum(np.minimum(counts, real) + left_out, both)
        return low.astype(np.int64), high.astype(np.int64), counts / max(rows, 1)


def _linked(sides: Sequence[_Side], link: str, names: Sequence[str]) -> Floats:
    """The shares of transitions in rows that a column links."""
    frames = []
    for side in sides:
        main = side.published.main
        if link not in main.columns or side.published.tables.apart:
            hint = nearest_column(link, main.columns)
            raise InputError(f"No column of that name links the rows of both releases.{hint}")
        if main[link].null_count() or main[link].is_duplicated().any():
            raise InputError("The column that links two releases must be there, and different, in every row.")
        frames.append(pl.DataFrame({"link": main[link].cast(pl.String), "value": side.shown}))
    both = frames[0].join(frames[1], on="link", suffix="_after")
    if not both.height:
        raise InputError("No row of one release is linked with one of the other.")
    return _counted(both["value"], both["value_after"], np.ones(both.height), names) / both.height


def _histogram(values: pl.Series, weights: Floats, names: Sequence[str]) -> Floats:
    codes = values.replace_strict(dict(zip(names, range(len(names)), strict=True)), return_dtype=pl.Int64).to_numpy()
    return np.bincount(codes, weights, len(names)).astype(np.float64)


def _counted(before: pl.Series, after: pl.Series, weights: Floats, names: Sequence[str]) -> Floats:
    """Values x values: the number of people who go from one to the other."""
    places = dict(zip(names, range(len(names)), strict=True))
    first, second = (one.replace_strict(places, return_dtype=pl.Int64).to_numpy() for one in (before, after))
    flat = np.bincount(first * len(names) + second, weights, len(names) ** 2)
    return flat.reshape(len(names), len(names)).astype(np.float64)


def _compared(
    names: Sequence[str], counts: Floats, guess: Floats, least: Floats, most: Floats, *, linked: bool
) -> Transitions:
    people = int(counts.sum())

    def one(before: str, after: str, true: float, seen: float, low: float, high: float) -> Transition:
        error = NORMAL * (true * (1 - true) / people) ** 0.5
        return Transition(before, after, true, true - error, true + error, seen, low, min(high, 1.0))

    shares = counts / people
    order = np.argsort(-shares, axis=None, kind="stable")
    each = tuple(
        one(_shown(names[a]), _shown(names[b]), *(float(table[a, b]) for table in (shares, guess, least, most)))
        for a, b in zip(*np.unravel_index(order, shares.shape), strict=True)
        if shares[a, b] or guess[a, b]
    )
    stay = one("", "", *(float(np.trace(table)) for table in (shares, guess, least, most)))
    return Transitions(people, linked, stay, each)


def _shown(name: str) -> str:
    """A value in words: a missing one, or those of several columns."""
    return name.replace(MISSING, "missing").replace(SEPARATOR, ", ")
