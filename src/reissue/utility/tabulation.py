"""Tabulations, true and published: distributions of columns, cross tables, and some rows."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Floats
from reissue.data.table import Table
from reissue.errors import InputError, nearest
from reissue.published import PublishedRelease
from reissue.release.release import Release
from reissue.utility.records import PublishedRecords, Records, Scale, Variable, groups_of, scale_of

__all__ = [
    "CrossTable",
    "Distribution",
    "PairedRows",
    "cross_table",
    "distributions",
    "paired_rows",
    "suggested_means",
    "suggested_model",
]

_MOST = 12
"""Maximum number of labels of a column; the others are merged."""
_FEW = 3
"""Maximum number of categories of a column in a suggested model."""
_OTHERS, _MISSING = "others", "missing"


@dataclass(frozen=True)
class Distribution:
    """The distribution of people over the values of a column, true and published."""

    column: str
    labels: tuple[str, ...]
    true: tuple[float, ...]
    published: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and lists."""
        return asdict(self)


@dataclass(frozen=True)
class CrossTable:
    """People by two columns, true and published."""

    down: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    true: tuple[tuple[float, ...], ...]
    published: tuple[tuple[float, ...], ...]

    @property
    def off(self) -> float:
        """The share of people who would have to move to get from one to the other."""
        one, other = np.array(self.true), np.array(self.published)
        return float(np.abs(one / max(one.sum(), 1e-9) - other / max(other.sum(), 1e-9)).sum() / 2)

    @property
    def sentence(self) -> str:
        """The difference in one sentence."""
        return f"{self.down} by {self.across}: {self.off:.1%} of the people are counted in another cell than they are."

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and lists."""
        return {**asdict(self), "off": self.off, "sentence": self.sentence}


@dataclass(frozen=True)
class PairedRows:
    """Some rows of a table, and the same rows as published."""

    before: pl.DataFrame
    after: pl.DataFrame
    same: bool
    """Whether both show the same people, row by row; some forms hide who is who even from us."""


def distributions(table: Table, published: PublishedRelease) -> tuple[Distribution, ...]:
    """The distributions of all quasi-identifiers and published sensitive columns."""
    shown = {*published.main.columns, *published.values.columns}
    names = [name for name in (*table.schema.quasi, *table.schema.sensitive) if name in shown]
    sides = Records(table), PublishedRecords(table, published)
    found = []
    for name in names:
        scale = _scale(table, name)
        true, seen = (_known(side.expect(name, scale, evenly=True), side.weights).sum(axis=0) for side in sides)
        some = true + seen > 0
        labels = tuple(np.array(_names(name, scale))[some].tolist())
        found.append(Distribution(name, labels, tuple(true[some].tolist()), tuple(seen[some].tolist())))
    return tuple(found)


def cross_table(table: Table, published: PublishedRelease, down: str, across: str) -> CrossTable:
    """People by two published columns."""
    known = [*table.schema.quasi, *table.schema.sensitive]
    for name in (down, across):
        if name not in known:
            raise InputError(f"A cross table is of quasi-identifiers and sensitive columns.{nearest(name, known)}")
    if down == across:
        raise InputError("A cross table needs two different columns.")
    scales = _scale(table, down), _scale(table, across)
    true, seen = (
        _crossed(side, (down, across), scales) for side in (Records(table), PublishedRecords(table, published))
    )
    whole = true + seen
    rows, columns = (np.flatnonzero(whole.sum(axis=axis) > 0) for axis in (1, 0))
    cells = [tuple(tuple(row) for row in one[np.ix_(rows, columns)].tolist()) for one in (true, seen)]
    names = (np.array(_names(name, scale)) for name, scale in zip((down, across), scales, strict=True))
    labels = [tuple(some[kept].tolist()) for some, kept in zip(names, (rows, columns), strict=True)]
    return CrossTable(down, across, labels[0], labels[1], cells[0], cells[1])


def _crossed(side: Records | PublishedRecords, columns: tuple[str, str], scales: tuple[Scale, Scale]) -> Floats:
    ones = np.ones(len(side.weights))
    one, other = (
        _known(side.expect(name, scale, evenly=True), ones) for name, scale in zip(columns, scales, strict=True)
    )
    return np.asarray((one * side.weights[:, None]).T @ other)


def paired_rows(release: Release, rows: int = 8) -> PairedRows:
    """Rows from all over the table, and how they are published; in forms that hide who is who, any published rows."""
    table, draft, schema = release.table, release.draft, release.schema
    names = [name for name in table.frame.columns if name in {*schema.quasi, *schema.sensitive, *schema.kept}]
    kept = np.flatnonzero(draft.groups >= 0)
    chosen = kept[np.linspace(0, len(kept) - 1, min(rows, len(kept)), dtype=np.int64)] if len(kept) else kept
    before = after = table.frame[chosen].select(names)
    if release.drawn is not None:  # the table has the published values
        known = release.drawn.true[chosen]
        true = release.drawn.values[np.maximum(known, 0)].select(pl.when(pl.Series(known >= 0)).then(pl.all()))
        before = before.with_columns(true.select(name for name in true.columns if name in names))
    if not draft.form.boxes:
        return PairedRows(before, next(iter(release.tables.values())).head(len(chosen)), same=False)
    for place, name in enumerate(schema.quasi):
        lo, hi = (ends[place][draft.groups[chosen]] for ends in (release.boxes.lo, release.boxes.hi))
        after = after.with_columns(pl.Series(name, table.taxonomies[place].text(lo, hi), dtype=pl.String))
    if draft.sensitive is not None:
        after = after.with_columns(table.decode(draft.sensitive[chosen]))
    return PairedRows(before, after, same=True)


def suggested_model(table: Table) -> str:
    """A regression that an analyst may want: a sensitive number, or the most frequent value, on simple columns."""
    numbers = [name for name in table.schema.quasi if len(scale_of(table, Variable(name)).labels) <= _FEW][:4]
    if not numbers or not table.schema.sensitive:
        return ""
    return f"{_outcome(table)} ~ {' + '.join(_quoted(name) for name in numbers)}"


def suggested_means(table: Table) -> str:
    """The mean or share of the same outcome in the groups of the column that has fewest values."""
    several = [(size, name) for name, size in zip(table.schema.quasi, table.sizes, strict=True) if size > 1]
    return f"{_outcome(table)} ~ {_quoted(min(several)[1])}" if several and table.schema.sensitive else ""


def _outcome(table: Table) -> str:
    """The first sensitive column as an outcome: the number, or its most frequent value."""
    outcome = table.schema.sensitive[0]
    if len(scale_of(table, Variable(outcome), bands=True).labels) == 1:
        return _quoted(outcome)
    most = table.frame[outcome].drop_nulls().cast(pl.String).value_counts(sort=True)[outcome]
    return f"{_quoted(outcome)}[{most[0]}]"


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _scale(table: Table, name: str) -> Scale:
    """A column with few labels: groups of its taxonomy, else ranges of numbers, else the most frequent values."""
    scale = groups_of(table, Variable(name))
    if len(scale.labels) <= _MOST:
        return scale
    codes = Records(table).expect(name, scale)
    often = np.nansum(codes, axis=0)
    numbers = scale_of(table, Variable(name))
    if len(numbers.labels) == 1:
        return _runs(scale, often)
    kept = np.sort(np.argsort(-often, kind="stable")[: _MOST - 1])
    rest = np.setdiff1d(np.arange(len(often)), kept)
    leaves = np.column_stack([scale.leaves[:, kept], scale.leaves[:, rest].sum(axis=1)])
    return Scale((*(scale.labels[place] for place in kept), f"{name}[{_OTHERS}]"), leaves, line=False)


def _runs(scale: Scale, often: Floats) -> Scale:
    """Ranges of neighbouring numbers, with about as many people in each."""
    ends = np.searchsorted(np.cumsum(often), np.linspace(0, often.sum(), _MOST + 1)[1:-1])
    starts = np.unique(np.concatenate([[0], ends + 1]))
    starts = starts[starts < len(often)]
    parts = np.split(np.arange(len(often)), starts[1:])
    leaves = np.column_stack([scale.leaves[:, part].sum(axis=1) for part in parts])
    bare = [label.partition("[")[2].removesuffix("]") for label in scale.labels]
    texts = [bare[part[0]] if len(part) == 1 else f"{bare[part[0]]} to {bare[part[-1]]}" for part in parts]
    column = scale.labels[0].partition("[")[0]
    return Scale(tuple(f"{column}[{text}]" for text in texts), leaves, line=False)


def _known(expected: Floats, weights: Floats) -> Floats:
    """Rows x labels, with one more for the missing value, by weight."""
    missing = np.isnan(expected[:, :1])
    return np.asarray(np.hstack([np.where(missing, 0.0, expected), missing]) * weights[:, None])


def _names(column: str, scale: Scale) -> tuple[str, ...]:
    return (*(label.removeprefix(f"{column}[").removesuffix("]") for label in scale.labels), _MISSING)
