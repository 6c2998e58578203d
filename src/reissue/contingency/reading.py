"""Reads published tables of counts: long ones, cross tables, and several one-way tables in one.

Columns are classified first. Counts are columns that say so by name; in a cross table all columns of whole numbers that
are not known to describe people. Rates and figures about something else are left out. Every column of counts is a table
of its own, unless one of them is the total of the others: then they are categories of one more dimension. A row or a
column of totals is recognized by its label, or because it is the sum of the others. O(columns x rows).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Bools, Ints
from reissue.contingency.cells import AS_SHOWN, CountCells, CountRules, Kind, read_cells, rounding_base
from reissue.contingency.recognition import KINDS, PLACES, identifying, is_total, named_count, named_rate, total_in
from reissue.contingency.sheet import PART
from reissue.contingency.table import CountTable
from reissue.errors import DataError
from reissue.words import plural, words_of

__all__ = ["COLUMN", "count_tables"]

COLUMN = "column"
"""What the dimension of a cross table is called that its header shows."""
_DESCRIBES = words_of(
    "age year month week day quarter date zip postcode plz code grade class band group alter jahr monat ward level "
    "period edad annee"
)
"""Names of columns whose whole numbers are categories."""
_ALIKE = 0.25
"""Relative difference at most between the sums of classifications of the same people: some are not known of all."""


@dataclass(frozen=True, eq=False)
class _Columns:
    """A table's columns by what they hold."""

    labels: pl.DataFrame
    counts: Mapping[str, CountCells]
    crossed: bool
    """Whether the header shows the categories of a dimension."""


def count_tables(
    frame: pl.DataFrame, name: str = "", rules: CountRules = AS_SHOWN, known: Collection[str] = ()
) -> tuple[CountTable, ...]:
    """Read the tables of counts in a published table.

    Parameters
    ----------
    frame
        The table as published, in any form.
    name
        What it is called in messages, and beside the names of its counts.
    rules
        How its counts were protected.
    known
        Columns that describe people, whatever they hold.

    Returns
    -------
    tuple[CountTable, ...]
        One for each column of counts, or one of a cross table.

    Raises
    ------
    DataError
        If there are no counts in it, or several for the same categories.

    Examples
    --------
    >>> import polars as pl
    >>> from reissue.contingency import count_tables
    >>> wide = pl.DataFrame({"age": ["0-17", "18+"], "flu": ["5", "*"], "HIV": ["0", "7"]})
    >>> (table,) = count_tables(wide)
    >>> table.dimensions, table.low.tolist(), table.hidden
    (('age', 'column'), [5, 1, 0, 7], 1)

    """
    columns = _classified(_texts(frame), known)
    if columns is None:
        raise DataError(f"{name or 'The table'} has no column of counts beside a column that says what is counted.")
    base = rounding_base(list(columns.counts.values())) if rules.rounding is None else rules.rounding
    if base > 1 and rules.random is None and _exceeds_totals(columns, base):
        rules = replace(rules, random=True)
    zeros = any(bool((one.exact & (one.low == 0)).any()) for one in columns.counts.values())
    protected = {what: one.protected(rules, base, zeros=zeros) for what, one in columns.counts.items()}
    assumed = _assumed(columns, rules, base, name)
    found: list[CountTable] = []
    for table in _melted(columns, protected, name) if columns.crossed else _long(columns, protected, name):
        found += _unstacked(replace(table, base=base, again=rules.repeated, assumed=assumed))
    for table in found:
        if table.categories.is_duplicated().any():
            raise DataError(f"{name or 'The table'} has several counts for the same categories.")
    return tuple(found)


def _exceeds_totals(columns: _Columns, base: int) -> bool:
    """Whether counts that are rounded to the nearest multiple would exceed their totals: they are rounded at random."""
    labels = columns.labels
    for name in labels.columns:
        others = [one for one in labels.columns if one != name]
        for cells in columns.counts.values():
            shown = labels.with_columns(
                pl.zeros(labels.height, pl.Int64, eager=True).alias("\0"),
                pl.col(name).is_null().alias("\0total"),
                pl.Series("\0number", np.where(cells.exact, cells.low, 0)),
            )
            sums = shown.group_by("\0", *others).agg(
                totals=pl.col("\0total").sum(),
                of_all=pl.col("\0number").filter("\0total").sum(),
                of_parts=pl.col("\0number").filter(~pl.col("\0total")).sum(),
                parts=(~pl.col("\0total")).sum(),
            )
            widest = (pl.col("parts") + 1) * (base // 2)
            if sums.filter((pl.col("totals") == 1) & (pl.col("of_parts") - pl.col("of_all") > widest)).height:
                return True
    return False


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    """All cells as text; blank ones and rows without any are missing."""
    names = {name: name.strip() or f"column {place}" for place, name in enumerate(frame.columns, start=1)}
    names = names if len(set(names.values())) == len(names) else {}
    text = frame.rename(names).select(pl.all().cast(pl.String).str.strip_chars())
    text = text.select(pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in text.columns)
    return text.filter(~pl.all_horizontal(pl.all().is_null())) if text.width else text


# --- columns ---------------------------------------------------------------------------------------------------------


def _classified(text: pl.DataFrame, known: Collection[str]) -> _Columns | None:
    """Labels and counts of a table; None if it lacks one of them."""
    cells = {name: read_cells(text[name]) for name in text.columns}
    read = [name for name, one in cells.items() if one.counts and not named_rate(name)]
    # A column of ranges alone names classes, such as 0-17 and 18-44.
    whole = [name for name in read if cells[name].exact.any() or named_count(name)]
    counts = [name for name in whole if named_count(name) and name not in known]
    if all(is_total(name) for name in counts):
        counts = []  # "All people" beside "Women" and "Men"
    others = [name for name in whole if name not in counts]
    crossed = not counts
    numbers = {name: cells[name].low[cells[name].exact] for name in whole}
    coded = {name: total for name in text.columns if (total := total_in(text, text[name], numbers)) is not None}
    described = [
        name
        for name in others
        if name in {*known, *coded}
        or (words_of(name) & (_DESCRIBES | PLACES) and not is_total(name))
        or text[name].str.contains(r"^0\d").any()
    ]
    if crossed:
        counts = [name for name in others if name not in described]
    else:  # beside named counts, whole numbers are categories if they repeat
        described += [name for name in others if name not in described and _repeats(text[name])]
    labels = [
        name
        for name, one in cells.items()
        if name in described or (name not in whole and name not in counts and not _decimal(text[name]))
    ]
    if not counts or not labels:
        return None
    filled = np.logical_or.reduce([cells[name].kind != Kind.BLANK for name in counts])
    kept = {name: _some(cells[name], filled) for name in counts}
    crossed = (crossed and len(counts) > 1) or _one_is_total(kept)
    return _Columns(_labels(identifying(text.select(labels).filter(pl.Series(filled))), coded), kept, crossed)


def _some(cells: CountCells, rows: Bools) -> CountCells:
    return CountCells(cells.kind[rows], cells.low[rows], cells.high[rows])


def _repeats(column: pl.Series) -> bool:
    return 2 * column.n_unique() <= len(column)


def _decimal(column: pl.Series) -> bool:
    """Whether a column holds rates or other numbers that count nothing."""
    filled = column.drop_nulls()
    numbers = filled.str.strip_chars("%").cast(pl.Float64, strict=False).is_not_null()
    return named_rate(column.name) or bool(len(filled) == 0 or numbers.all())


def _one_is_total(counts: Mapping[str, CountCells]) -> bool:
    """Whether one column is called the total of the others, and is."""
    totals = [name for name in counts if is_total(name) or words_of(name) & {"total", "totals"}]
    parts = [one.low for name, one in counts.items() if name not in totals]
    if len(totals) != 1 or len(parts) < 2 or not all(one.exact.all() for one in counts.values()):
        return False
    return bool((np.sum(parts, axis=0) == counts[totals[0]].low).all())


def _labels(labels: pl.DataFrame, coded: Mapping[str, object]) -> pl.DataFrame:
    """Categories with merged cells filled, and null for totals."""
    first = labels.columns[0]
    rest = labels.drop(first)
    blank = labels[first].is_null()
    if blank.any() and labels.width > 1 and not rest.select(pl.any_horizontal(pl.all().is_null())).to_series().any():
        filled = labels.with_columns(pl.col(first).forward_fill())
        if not filled.is_duplicated().any():
            labels = filled
    made = {}
    for column in labels.iter_columns():
        totals = [text for text in column.unique().drop_nulls().to_list() if is_total(text)]
        totals += [str(coded[column.name])] if column.name in coded else []
        made[column.name] = column.set(column.is_in(totals), None)
    return pl.DataFrame(made)


def _assumed(columns: _Columns, rules: CountRules, base: int, name: str) -> tuple[str, ...]:
    """What was taken for granted, in sentences."""
    said, of = [], f" of {name}" if name else ""
    if base > 1 and rules.rounding is None:
        below, _ = rules.widths(base)
        how = "at random, up or down" if below == base - 1 else "to the nearest multiple"
        said.append(f"The counts{of} are taken to be rounded to multiples of {base}, {how}, as all of them are.")
    hidden = sum(int((one.kind == Kind.MARK).sum()) for one in columns.counts.values())
    if hidden and rules.suppressed is None:
        said.append(
            f"{plural(hidden, 'cell')}{of} hide a count. What a mark stands for is not said, so it may be any number."
        )
    return tuple(said)


# --- tables ----------------------------------------------------------------------------------------------------------


def _long(columns: _Columns, counts: Mapping[str, CountCells], name: str) -> list[CountTable]:
    """A table for each column of counts."""
    made = []
    for what, one in counts.items():
        shown = np.asarray(one.kind != Kind.BLANK)
        if len(counts) == 1:
            shown[:] = True
        labels = _with_found_total(columns.labels.filter(pl.Series(shown)), one.low[shown], one.exact[shown])
        title = what if len(counts) > 1 or not name else f"{name}: {what}" if name else what
        hidden = int((~one.exact[shown]).sum())
        made.append(CountTable(title, labels, one.low[shown], one.high[shown], hidden=hidden))
    return made


def _melted(columns: _Columns, counts: Mapping[str, CountCells], name: str) -> list[CountTable]:
    """A cross table as one with a row for each cell, and a dimension for each line of its header."""
    names = list(counts)
    parts = [one.split(PART) for one in names]
    if len({len(one) for one in parts}) > 1:
        parts = [[", ".join(one)] for one in parts]
    lines = [line for line in zip(*parts, strict=True) if len(set(line)) > 1] or [tuple(names)]
    rows = columns.labels.height
    labels = columns.labels.select(pl.all().repeat_by(len(names)).explode())
    for number, line in enumerate(lines, start=1):
        heads = [None if is_total(one) or (words_of(one) & {"total", "totals"}) else one for one in line]
        title = COLUMN if number == 1 else f"{COLUMN} {number}"
        labels = labels.with_columns(pl.Series(title, heads * rows, dtype=pl.String))
    low, high = (np.stack([getattr(counts[one], end) for one in names], axis=1).reshape(-1) for end in ("low", "high"))
    hidden = sum(int((~one.exact).sum()) for one in counts.values())
    return [CountTable(name or "counts", labels, low, high, hidden=hidden)]


def _with_found_total(labels: pl.DataFrame, low: Ints, exact: Bools) -> pl.DataFrame:
    """The labels of a table of one dimension, with null for the one row that is the sum of all others."""
    if labels.width != 1 or labels.to_series().null_count() or len(low) < 4 or not exact.all():
        return labels
    totals = np.flatnonzero((2 * low == low.sum()) & (low > 0))
    if len(totals) != 1:
        return labels
    column = labels.to_series().clone()
    column[int(totals[0])] = None
    return column.to_frame()


def _unstacked(table: CountTable) -> list[CountTable]:
    """Several classifications one below the other, as tables of their own."""
    found = _classifications(table)
    if found is None:
        return [table]
    kind, category = found
    kinds, made = table.categories[kind], []
    for name in kinds.drop_nulls().unique(maintain_order=True).to_list():
        rows = np.flatnonzero((kinds == name).fill_null(value=False).to_numpy())
        own = table.categories[rows]
        shown = own[category]
        total = [one is None or one == name or is_total(one) for one in shown.to_list()]
        column = shown.alias(name).set(pl.Series(total), None)
        low, high = table.low[rows], table.high[rows]
        categories = own.drop(kind, category).with_columns(column)
        made.append(replace(table, categories=categories, low=low, high=high, hidden=int((low < high).sum())))
    return made


def _classifications(table: CountTable) -> tuple[str, str] | None:
    """The dimension that names classifications, and that of their categories; None where there is no such stack.

    Every category belongs to one classification, and all of these count about as many people.
    """
    names = [name for name in table.dimensions if words_of(name) & KINDS]
    for kind in names:
        at = table.dimensions.index(kind) + 1
        if at == len(table.dimensions):
            continue
        category = table.dimensions[at]
        pairs = table.categories.select(kind, category).unique().drop_nulls()
        kinds = table.categories[kind].drop_nulls().unique(maintain_order=True).to_list()
        if len(kinds) < 2 or not pairs.height or pairs[category].is_duplicated().any():
            continue
        parts = [(table.categories[kind] == name).fill_null(value=False).to_numpy() for name in kinds]
        sums = [int(table.low[rows].sum()) for rows in parts if table.categories.filter(rows)[category].n_unique() > 1]
        if len(sums) > 1 and min(sums) >= (1 - _ALIKE) * max(sums):
            return kind, category
    return None


def names_of(tables: Sequence[CountTable]) -> tuple[str, ...]:
    """The dimensions of some tables."""
    return tuple(dict.fromkeys(name for one in tables for name in one.dimensions))
