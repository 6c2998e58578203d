"""Estimates from a release of randomized values and its side table alone: what anybody can compute who has the files.

Published values are not all true, so what is computed from them as they are is attenuated. The side table has the
probabilities by which they were drawn; every row is put into the table once for each true value, with a weight
(`reissue.randomized.estimate`).

Two kinds of weights. *Exact* ones are the inverse of the probabilities: right on average whatever the true values are.
Where a class's probabilities are nearly alike for several values, their inverse is too sensitive, and the weights are
those of *categories*: values that a question does not tell apart are taken together, with shares as the side table
has them in the class. That needs much less of the data, and is right on average if those shares hold wherever the
question looks within the class.

Generalized quasi-identifiers count as in `utility`: a range as its middle, `*` as the mean of the other rows; other
texts are categories as published.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from reissue._arrays import Bools, Floats, Ints
from reissue._notebook import notebook
from reissue.data.frames import from_frame
from reissue.errors import DataError, InputError, nearest
from reissue.files.dialect import FOUND, Dialect
from reissue.files.tables import read_file
from reissue.randomized import CLASS, SideTable, regression
from reissue.randomized.estimate import Inference
from reissue.randomized.side import codes_of
from reissue.release.release import Release
from reissue.taxonomy.notation import span_of
from reissue.taxonomy.tree import ROOT
from reissue.utility.estimates import NORMAL
from reissue.utility.records import Formula, Variable, middle_of
from reissue.words import plural

__all__ = ["Analysis", "EstimatedLine", "Estimation", "Rows", "estimate"]

_CONDITION = 100.0
"""Beyond this condition number, standard errors of exact weights are some ten times those of well-drawn values."""
_ILL = (
    "some values are published with nearly the same probabilities, so they cannot be told apart directly (condition "
    "number above 100). Values that a question does not tell apart are taken together, with shares as the side table "
    "has them. Where those shares differ within a class, estimates are drawn towards the class's."
)
_HOPELESS = (
    "for some questions even values taken together are published with nearly the same probabilities: their intervals "
    "are wide, and their estimates should not be used."
)
_UNKNOWN, _MOST = 1e300, 100
"""A number that stands for an unknown one; and how many groups a question may have."""
Kind = Literal["count", "mean", "linear", "logistic"]


@dataclass(frozen=True)
class EstimatedLine:
    """One number, with its standard error and 95% interval, and what published values as they are would give."""

    name: str
    value: float
    error: float
    low: float
    high: float
    published: float | None
    """None where it cannot be computed."""


@dataclass(frozen=True)
class Analysis:
    """A question and its numbers."""

    asked: str
    kind: Kind
    people: int
    """Rows with all that the question needs."""
    lines: tuple[EstimatedLine, ...]


@dataclass(frozen=True, repr=False)
class Estimation:
    """Estimates from a release of randomized values."""

    rows: int
    left_out: int
    """Rows without a published value or class."""
    truth: float
    """The share of published values that are true, by the side table."""
    condition: float
    """The largest condition number of a class."""
    analyses: tuple[Analysis, ...]
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain numbers, texts and dictionaries."""
        return asdict(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What must be known to read the numbers."""
        head = (
            f"Of {plural(self.rows, 'published value')} about {self.truth:.0%} are true. Estimates correct for that; "
            "intervals hold the true number in 95 of 100 cases."
        )
        return (head, *(f"Warning: {one}" for one in self.warnings))

    def __str__(self) -> str:
        """Everything in plain text."""
        lines = [*self.sentences]
        for one in self.analyses:
            lines += ["", one.asked]
            lines += [f"  {x.name}: {x.value:.4g} ({x.low:.4g} to {x.high:.4g})" for x in one.lines]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """One sentence."""
        return f"Estimation: {plural(len(self.analyses), 'analysis', 'analyses')} of {plural(self.rows, 'row')}."

    def _repr_html_(self) -> str:
        """For a notebook."""
        return notebook(self)


def estimate(
    release: Any,
    side: Any = None,
    *,
    counts: Sequence[str] = (),
    crosses: Sequence[tuple[str, str]] = (),
    means: Sequence[str] = (),
    models: Sequence[str] = (),
    logistic: Sequence[str] = (),
    these_people: bool = False,
    dialect: Dialect = FOUND,
) -> Estimation:
    """Estimate counts, means and regressions from a release of randomized values.

    Parameters
    ----------
    release
        A release with randomized values: a `Release`, a dataframe or a path.
    side
        Its side table: a `SideTable`, a dataframe or a path. A `Release` has its own.
    counts
        Columns whose values are counted; by default the sensitive ones, if nothing else is asked.
    crosses
        Pairs of columns by which people are counted.
    means
        Means, or shares of values, by the groups of one column: "visits ~ sex", "disease[flu] ~ sex".
    models
        Linear regressions: "disease[flu|cold] ~ age + sex", "cost ~ disease + age".
    logistic
        Logistic regressions of the same form; the outcome lies between 0 and 1.
    these_people
        Intervals of means and regressions are for what the true values of these very people would give. By default
        they are for a population of which these people are a sample. Counts are always of these people.
    dialect
        How the cells of a text file are written; what is not given is detected.

    Returns
    -------
    Estimation
        Numbers with standard errors and 95% intervals, what published values as they are would give, and warnings.

    Raises
    ------
    InputError
        If a question names a column or value that is not there.
    DataError
        If release and side table do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import reissue as ri
    >>> from reissue.randomized import SideTable
    >>> chance, share = np.array([[[0.8, 0.2], [0.2, 0.8]]]), np.array([[0.5, 0.5]])
    >>> side = SideTable(chance, share, pl.DataFrame({"flu": ["yes", "no"]}))
    >>> release = pl.DataFrame({"value_class": [1] * 100, "flu": ["yes"] * 40 + ["no"] * 60})
    >>> [(line.name, round(line.value, 1)) for line in ri.estimate(release, side).analyses[0].lines]
    [('yes', 33.3), ('no', 66.7)]
    """
    rows = Rows.of(release, side, dialect)
    asked = Asked(rows, these_people=these_people)
    names = rows.side.values.columns
    if not (counts or crosses or means or models or logistic):
        counts = names
    found = (
        *(asked.count([_column(name, rows.columns)]) for name in counts),
        *(asked.count([_column(name, rows.columns) for name in pair]) for pair in crosses),
        *(asked.mean(Formula.parse(text, rows.columns)) for text in means),
        *(asked.model(Formula.parse(text, rows.columns), "linear") for text in models),
        *(asked.model(Formula.parse(text, rows.columns), "logistic") for text in logistic),
    )
    used = rows.side.condition[np.unique(rows.classes)]
    people = np.bincount(rows.classes, minlength=len(rows.side.truth))
    truth = float(people @ rows.side.truth) / max(len(rows.classes), 1)
    return Estimation(len(rows.classes), rows.left_out, truth, float(used.max(initial=1.0)), found, asked.warnings)


def _column(name: str, columns: Sequence[str]) -> Variable:
    if name not in columns:
        raise InputError("A question names a column that the release lacks." + nearest(name, columns))
    return Variable(name)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a release that have a published value, with their classes."""

    frame: pl.DataFrame
    side: SideTable
    classes: Ints
    published: Ints
    left_out: int

    @classmethod
    def of(cls, release: Any, side: Any, dialect: Dialect = FOUND) -> "Rows":
        """Read a release and its side table."""
        if side is None and isinstance(release, Release):
            side = release.tables.get("side")
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
        return cls(frame[kept], side, classes[kept].astype(np.int64), published[kept], int((~use).sum()))

    @property
    def columns(self) -> list[str]:
        """The columns that a question may name."""
        return [name for name in self.frame.columns if name != CLASS]

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
class _Data:
    """What a question needs of the rows: weights of categories of true values, and terms by row and category."""

    weights: Floats
    """Rows x categories."""
    shown: Floats
    """The same as published: 1 at the published category."""
    terms: tuple[Floats, ...]
    """(Rows or 1) x (categories or 1) x labels."""
    condition: float

    @classmethod
    def of(cls, rows: Rows, terms: Sequence[Term], *, exact: bool) -> "_Data":
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
        weights, condition = rows.weights(category, exact=exact)
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


class Asked:
    """Questions about the same rows."""

    def __init__(self, rows: Rows, *, these_people: bool) -> None:
        self._rows, self._these_people = rows, these_people
        worst = float(rows.side.condition[np.unique(rows.classes)].max())
        self._exact = worst <= _CONDITION
        self._notes = {} if self._exact else {_ILL: None}
        if rows.left_out:
            self._notes[f"{plural(rows.left_out, 'row')} without a published value: left out."] = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody must know to read the numbers."""
        return tuple(self._notes)

    def _data(self, *terms: Term) -> _Data:
        found = _Data.of(self._rows, terms, exact=self._exact)
        if found.condition > _CONDITION:
            self._notes[_HOPELESS] = None
        return found

    def count(self, columns: Sequence[Variable]) -> Analysis:
        """Count people by one or two columns."""
        terms = [_groups(self._rows, one) for one in columns]
        data = self._data(*terms)
        rows, values = np.ones((len(data.weights), 1)), np.ones((data.weights.shape[1], 1))
        names = [""]
        for term, one in zip(terms, data.terms, strict=True):
            if term.by_row is not None:
                rows = _crossed(rows, one[:, 0])
            else:
                values = _crossed(values, one[0])
        names = [" | ".join(names) for names in product(*(one.labels for one in terms))]
        swap = len(terms) == 2 and terms[0].by_value is not None and terms[1].by_row is not None

        def laid_out(cells: Floats) -> Floats:
            return np.asarray(cells.T if swap else cells).ravel()

        inside = data.weights @ values
        spread = laid_out((rows**2).T @ (inside**2 - data.weights @ values**2))
        found = Inference(laid_out(rows.T @ inside), np.sqrt(np.maximum(spread, 0)))
        shown = laid_out(rows.T @ (data.shown @ values))
        return Analysis(" by ".join(map(str, columns)), "count", len(rows), _lines(names, found, shown))

    def mean(self, formula: Formula) -> Analysis:
        """Means, or shares of values, by the groups of one column."""
        if len(formula.terms) != 1:
            raise InputError("Means are by the groups of one column:  visits ~ sex.")
        group, outcome = _groups(self._rows, formula.terms[0]), _numbers(self._rows, formula.outcome, bands=True)
        data = self._data(group, outcome)
        lines: tuple[EstimatedLine, ...] = ()
        for number, label in enumerate(outcome.labels):
            names = tuple(f"{label} | {name}" if len(outcome.labels) > 1 else name for name in group.labels)
            lines += self._fitted(data, names, data.by_row(0), data.by_row(1)[..., number], "linear")
        return Analysis(str(formula), "mean", len(data.weights), lines)

    def model(self, formula: Formula, family: Literal["linear", "logistic"]) -> Analysis:
        """A regression."""
        outcome = _numbers(self._rows, formula.outcome, bands=True)
        if len(outcome.labels) > 1:
            raise InputError(
                f"The outcome '{formula.outcome.column}' holds no numbers. Ask for the share of one of its values:  "
                "column[value] ~ ..."
            )
        terms = [_numbers(self._rows, term).without_base() for term in formula.terms]
        data = self._data(outcome, *terms)
        names = ("intercept", *(label for term in terms for label in term.labels))
        every = [data.by_row(place + 1) for place in range(len(terms))]
        if any(one.ndim == 3 for one in every):
            every = [one if one.ndim == 3 else np.repeat(one[:, np.newaxis], data.weights.shape[1], 1) for one in every]
        x = np.concatenate([np.ones((*every[0].shape[:-1], 1)), *every], axis=-1)
        lines = self._fitted(data, names, x, data.by_row(0)[..., 0], family)
        return Analysis(str(formula), family, len(data.weights), lines)

    def _fitted(
        self, data: _Data, names: Sequence[str], x: Floats, y: Floats, family: Literal["linear", "logistic"]
    ) -> tuple[EstimatedLine, ...]:
        found = regression(data.weights, x, y, family=family, these_people=self._these_people)
        try:
            shown = regression(data.shown, x, y, family=family).value
        except InputError:
            shown = np.full(len(names), np.nan)
        return _lines(names, found, shown)


def _lines(names: Sequence[str], found: Inference, shown: Floats) -> tuple[EstimatedLine, ...]:
    low, high = found.interval(NORMAL)
    columns = (found.value, found.error, low, high, shown)
    rows = zip(names, np.stack(columns, 1).tolist(), strict=True)
    return tuple(
        EstimatedLine(name, value, error, least, most, None if np.isnan(seen) else seen)
        for name, (value, error, least, most, seen) in rows
    )


def _crossed(one: Floats, other: Floats) -> Floats:
    """Products of all pairs of columns."""
    return np.asarray((one[:, :, np.newaxis] * other[:, np.newaxis, :]).reshape(len(one), -1))


# --- columns as numbers ----------------------------------------------------------------------------------------------


def _groups(rows: Rows, variable: Variable) -> Term:
    """A column as groups: an indicator for each of its values."""
    column, sensitive = _column_of(rows, variable)
    if variable.value is not None:
        return _placed(sensitive, (str(variable),), _indicator(column, variable))
    texts = column.cast(pl.String)
    names = texts.drop_nulls().unique(maintain_order=True).to_list()
    names = names if sensitive else sorted(names)
    if not sensitive and len(names) > _MOST:
        raise InputError(f"'{variable.column}' has more than {_MOST} different values: too many to group by.")
    member = np.stack([(texts == name).fill_null(value=False).to_numpy() for name in names], 1).astype(np.float64)
    member[texts.is_null().to_numpy()] = np.nan
    return _placed(sensitive, tuple(names), member)


def _numbers(rows: Rows, variable: Variable, *, bands: bool = False) -> Term:
    """A column as numbers, if it has some, else as groups; with `bands` texts such as `v6-8` are numbers too."""
    column, sensitive = _column_of(rows, variable)
    if variable.value is not None:
        return _placed(sensitive, (str(variable),), _indicator(column, variable))
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return _placed(
            sensitive, (variable.column,), column.cast(pl.Float64).fill_null(np.nan).to_numpy()[:, np.newaxis]
        )
    texts = column.cast(pl.String)
    read = {text: _number(text, bands=bands) for text in texts.drop_nulls().unique() if text != ROOT}
    if not read or None in read.values():
        found = _groups(rows, variable)
        return Term(tuple(f"{variable.column}[{name}]" for name in found.labels), found.by_row, found.by_value)
    numbers = texts.replace_strict(read, default=None, return_dtype=pl.Float64)
    # `*` says nothing: it counts as the mean of the others.
    numbers = pl.select(pl.when(texts == ROOT).then(numbers.mean()).otherwise(numbers)).to_series()
    return _placed(sensitive, (variable.column,), numbers.fill_null(np.nan).to_numpy()[:, np.newaxis])


def _number(text: str, *, bands: bool) -> float | None:
    """The middle of a range; None for codes with leading zeros, prefixes and other texts."""
    if ROOT in text or re.match(r"\s*0\d", text):
        return None
    span = span_of(text)
    return middle_of(text) if bands or (span is not None and not span.days) else None


def _indicator(column: pl.Series, variable: Variable) -> Floats:
    """1 for rows with the value, or with one of several: `disease[flu|cold]`."""
    texts, asked = column.cast(pl.String), variable.value or ""
    names = [asked] if (texts == asked).any() else asked.split("|")
    if not all((texts == name).any() for name in names):
        raise InputError(f"A question asks for a value of '{variable.column}' that is not there.")
    found = texts.is_in(names).cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.asarray(found)[:, np.newaxis]


def _column_of(rows: Rows, variable: Variable) -> tuple[pl.Series, bool]:
    """A column of the rows, or of true values."""
    sensitive = variable.column in rows.side.values.columns
    return (rows.side.values if sensitive else rows.frame)[variable.column], sensitive


def _placed(sensitive: bool, labels: tuple[str, ...], numbers: Floats) -> Term:
    return Term(labels, by_value=numbers) if sensitive else Term(labels, by_row=numbers)
