"""Differences of published tables: small ones isolate the people in whom two outputs differ.

- *Over time*: the same cell of two tables of different dates. People who came or left are isolated.
- *Beside each other*: two tables of one date whose classes of an ordered dimension end at different points. Running
  totals of both are subtracted: between two ends lies a class that neither shows.
- *Inside one*: a cell that is hidden, or a total less the cells that are shown (`bounds`).

A difference is known when both counts are; of protected counts it is an interval, and small only if it cannot be large
or zero. O(cells) for each pair of tables.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.contingency.bounds import bounds
from reissue.contingency.table import CountTable
from reissue.taxonomy.ranges import span_of
from reissue.words import words_of

__all__ = ["Difference", "Single", "between", "inside", "kind_of_name", "only_change", "over_time"]

_GROUPS = words_of("group groups band bands class classes category range bracket gruppe")
"""Words beside the name of what is classified."""


@dataclass(frozen=True)
class Difference:
    """People whom two published numbers isolate, or one that was hidden."""

    kind: str
    """"cell", "over time" or "beside"."""
    table: str
    """What is counted."""
    low: int
    """How many they are, at least and at most."""
    high: int
    dimensions: tuple[str, ...]
    categories: tuple[str | None, ...]
    """The population that is isolated, by dimension; null: all."""
    releases: tuple[int, ...]
    """The releases that are subtracted, the one with more people last."""
    dates: tuple[str, ...] = ()
    """Their dates, where tables of several dates are in one release."""

    @property
    def population(self) -> str:
        """The isolated population in words."""
        pairs = zip(self.dimensions, self.categories, strict=True)
        return ", ".join(f"{name} {text}" for name, text in pairs if text is not None) or "everyone"


@dataclass(frozen=True)
class Single:
    """The only person in whom tables of two successive dates differ, as far as they were compared."""

    came: bool
    releases: tuple[int, int]
    dates: tuple[str, ...]
    classes: tuple[tuple[str, str], ...]
    """Everything that the tables say about this person: dimension and category."""


def over_time(before: CountTable, after: CountTable, numbers: tuple[int, int], most: int) -> list[Difference]:
    """Cells of two tables whose counts differ by fewer than `most`, and differ."""
    if not _renamed(before, after):
        return []
    names = list(after.dimensions)
    mine, theirs = _same_cells(before, after)
    more, less = after.low[theirs] - before.high[mine], after.high[theirs] - before.low[mine]
    found = []
    for row in np.flatnonzero(((more > 0) & (less < most)) | ((less < 0) & (-more < most))).tolist():
        grew = bool(more[row] > 0)
        ends = (int(more[row]), int(less[row])) if grew else (int(-less[row]), int(-more[row]))
        where = numbers if grew else numbers[::-1]
        texts = after.categories.row(int(theirs[row]))
        found.append(Difference("over time", after.name, *ends, tuple(names), texts, where))
    return found


def only_change(before: CountTable, after: CountTable) -> tuple[bool, tuple[tuple[str, str], ...]] | None:
    """Whether one person came, or left, and the classes of this person; None where the tables do not tell so.

    Exactly one of the most detailed cells that both have differs, by one.
    """
    mine, theirs = _same_cells(before, after)
    margin = next(after.margins())
    detailed = np.isin(theirs, margin.cell)
    low, high = after.low[theirs] - before.high[mine], after.high[theirs] - before.low[mine]
    moved = np.flatnonzero(detailed & ((low != 0) | (high != 0)))
    if len(moved) != 1 or low[moved[0]] != high[moved[0]] or abs(low[moved[0]]) != 1:
        return None
    row = after.categories.row(int(theirs[moved[0]]))
    classes = tuple((name, text) for name, text in zip(after.dimensions, row, strict=True) if text is not None)
    return bool(low[moved[0]] > 0), classes


def _same_cells(before: CountTable, after: CountTable) -> tuple[Ints, Ints]:
    """The cells that both tables have, in the order of the later one; notations of categories may differ."""
    if before.categories.equals(after.categories):
        every = np.arange(after.cells)
        return every, every
    alike = _renamed(before, after)
    keys = [one.categories.select(names) for one, names in ((before, list(alike)), (after, list(alike.values())))]
    keys = [one.rename(dict(zip(one.columns, map(str, range(one.width)), strict=True))) for one in keys]
    plain = [_in_one_notation(one) for one in keys]
    if not any(one.is_duplicated().any() for one in plain):
        keys = plain
    pair = [one.with_row_index("\0cell") for one in keys]
    columns = keys[0].columns
    both = pair[0].join(pair[1], on=columns, how="inner", nulls_equal=True, maintain_order="right")
    mine, theirs = (both[name].to_numpy().astype(np.int64) for name in ("\0cell", "\0cell_right"))
    return mine, theirs


def _renamed(before: CountTable, after: CountTable) -> dict[str, str]:
    """Dimension of the earlier table to the same of the later one: by its words, else by its place."""
    if set(before.dimensions) == set(after.dimensions):
        return {name: name for name in before.dimensions}
    words = {kind_of_name(name): name for name in after.dimensions}
    fits = {name: words.get(kind_of_name(name), "") for name in before.dimensions}
    return fits if set(fits.values()) == set(after.dimensions) else {}


def kind_of_name(name: str) -> frozenset[str]:
    """The words of a dimension's name that tell it from others: "AGE_GROUP" is "Age group" and "age"."""
    words = words_of(name)
    return words - _GROUPS or words


def _in_one_notation(keys: pl.DataFrame) -> pl.DataFrame:
    """Categories in one notation: "18 to 44 years" is "18-44"."""
    return keys.select(
        pl.all()
        .str.to_lowercase()
        .str.replace_all(r"[‐-―]", "-")
        .str.replace_all(r"(\d)\s*(?:-|to|bis|à)\s*(\d)", "${1}-${2}")
        .str.replace_all(r"\b(?:years?|yrs?|aged?|ages?|jahre|and|the|of)\b|[^\w+<>-]", " ")
        .str.replace_all(r"\s+", " ")
        .str.strip_chars()
    )


def inside(tables: Sequence[CountTable], number: int, most: int) -> tuple[list[Difference], bool, bool]:
    """Hidden cells of tables of one date that totals tell; whether bounds are exact, and cells consistent."""
    found, solved = [], bounds(tables)
    for table, one in zip(tables, solved, strict=True):
        # A cell that is published as one of few people is told only if its very count is.
        told = (one.low == one.high) | (table.high >= most)
        small = np.flatnonzero((table.low < table.high) & told & (one.low > 0) & (one.high < most))
        found += [
            Difference(
                "cell",
                table.name,
                int(one.low[cell]),
                int(one.high[cell]),
                table.dimensions,
                table.categories.row(cell),
                (number,),
            )
            for cell in small.tolist()
        ]
    return found, all(one.exact for one in solved), all(one.consistent for one in solved)


def between(tables: Sequence[CountTable], number: int, most: int) -> list[Difference]:
    """Classes that two tables of one date isolate because theirs end at different points of an ordered dimension."""
    found: dict[tuple[str, str, str], Difference] = {}
    times = Counter((table.name, dimension) for table in tables for dimension in table.dimensions)
    runs = [run for one in tables for run in _runs(one, [name for name in one.dimensions if times[one.name, name] > 1])]
    for place, one in enumerate(runs):
        for other in runs[place + 1 :]:
            if not one.like(other):
                continue
            for start, end, low, high in _slices(one, other):
                if low > 0 and high < most:
                    text = f"from {start:g} to below {end:g}"
                    rest = [pair for pair in one.where if pair[1] is not None]
                    names = (one.dimension, *(name for name, _ in rest))
                    texts = (text, *(value for _, value in rest))
                    made = Difference("beside", one.name, low, high, names, texts, (number,))
                    found.setdefault((one.name, made.population, text), made)
    return list(found.values())


@dataclass(frozen=True, eq=False)
class _Run:
    """Running totals along an ordered dimension, for one combination of the other dimensions."""

    name: str
    dimension: str
    where: tuple[tuple[str, str | None], ...]
    edges: tuple[float, ...]
    low: Ints
    high: Ints
    begin: float

    def like(self, other: "_Run") -> bool:
        """Whether both run over the same people, from the same point."""
        mine, its = (self.name, self.dimension, self.where, self.begin), (other.name, other.dimension, other.where)
        return mine == (*its, other.begin)


def _runs(table: CountTable, dimensions: Sequence[str]) -> Iterator[_Run]:
    """The running totals of a table along those of the dimensions whose classes follow each other without a gap."""
    for dimension in dimensions:
        column = table.categories[dimension]
        spans = {text: _span(text) for text in column.drop_nulls().unique().to_list()}
        known = {text: span for text, span in spans.items() if span is not None}
        if len(known) < 2 or len(known) < len(spans):
            continue
        order = sorted(known, key=lambda text: known[text])
        ends = [known[text] for text in order]
        if any(one[1] != two[0] for one, two in pairwise(ends)):
            continue
        rest = [name for name in table.dimensions if name != dimension]
        rows = table.categories.with_columns(low=table.low, high=table.high).filter(column.is_not_null())
        place = {text: at for at, text in enumerate(order)}
        for key, part in rows.group_by(rest, maintain_order=True) if rest else [((), rows)]:
            if part.height < len(order):
                continue
            order_of = part[dimension].replace_strict(place).arg_sort().to_numpy()
            low, high = (np.cumsum(part[end].to_numpy()[order_of]) for end in ("low", "high"))
            where = tuple(sorted(zip(rest, key, strict=True)))
            yield _Run(table.name, dimension, where, tuple(end[1] for end in ends), low, high, ends[0][0])


def _span(text: str) -> tuple[float, float] | None:
    """Where a class of whole numbers begins, and where the next one does."""
    span = span_of(text)
    if span is None:
        return None
    low, high = float(str(span.low)), float(str(span.high))
    return low, high if span.open or not np.isfinite(high) else high + 1


def _slices(one: _Run, other: _Run) -> Iterator[tuple[float, float, int, int]]:
    """Between neighbouring ends of two runs: begin, end, and how many people are there."""
    runs = (one, other)
    ends = sorted((edge, at, whose) for whose, run in enumerate(runs) for at, edge in enumerate(run.edges))
    for (start, at, whose), (end, then, other_whose) in pairwise(ends):
        if start == end or whose == other_whose:
            continue
        before, after = runs[whose], runs[other_whose]
        yield start, end, int(after.low[then] - before.high[at]), int(after.high[then] - before.low[at])
