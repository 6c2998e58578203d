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
from typing import Any, Literal

import numpy as np
import polars as pl

from reissue._arrays import Floats
from reissue._notebook import notebook
from reissue.errors import InputError, nearest
from reissue.files.dialect import FOUND, Dialect
from reissue.randomized import regression
from reissue.randomized.estimate import Inference
from reissue.taxonomy.notation import span_of
from reissue.taxonomy.tree import ROOT
from reissue.utility.estimates import NORMAL
from reissue.utility.records import Formula, Variable, middle_of
from reissue.utility.rows import CONDITION, Rows, Term, Weighted
from reissue.words import plural

__all__ = ["Analysis", "EstimatedLine", "Estimation", "Rows", "estimate"]

_ILL = (
    "some values are published with nearly the same probabilities, so they cannot be told apart directly (condition "
    "number above 100). Values that a question does not tell apart are taken together, with shares as the side table "
    "has them. Where those shares differ within a class, estimates are drawn towards the class's."
)
_HOPELESS = (
    "for some questions even values taken together are published with nearly the same probabilities: their intervals "
    "have no bounds, and their estimates should not be used."
)
_MOST = 100
"""How many groups a question may have."""
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
    """Estimates from a release of randomized values. `estimate` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import reissue as ri
    >>> from reissue.randomized import SideTable
    >>> chance, share = np.array([[[0.8, 0.2], [0.2, 0.8]]]), np.array([[0.5, 0.5]])
    >>> side = SideTable(chance, share, pl.DataFrame({"flu": ["yes", "no"]}))
    >>> release = pl.DataFrame({"value_class": [1] * 100, "flu": ["yes"] * 40 + ["no"] * 60})
    >>> found = ri.estimate(release, side)
    >>> found.rows, round(found.truth, 2)
    (100, 0.8)
    """

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


class Asked:
    """Questions about the same rows."""

    def __init__(self, rows: Rows, *, these_people: bool) -> None:
        self._rows, self._these_people = rows, these_people
        self._notes = {} if rows.exact else {_ILL: None}
        if rows.left_out:
            self._notes[f"{plural(rows.left_out, 'row')} without a published value: left out."] = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody must know to read the numbers."""
        return tuple(self._notes)

    def _data(self, *terms: Term) -> Weighted:
        found = Weighted.of(self._rows, terms)
        if found.condition > CONDITION:
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
        return Analysis(" by ".join(map(str, columns)), "count", len(rows), _lines(data, names, found, shown))

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
        self, data: Weighted, names: Sequence[str], x: Floats, y: Floats, family: Literal["linear", "logistic"]
    ) -> tuple[EstimatedLine, ...]:
        found = regression(data.weights, x, y, family=family, these_people=self._these_people)
        try:
            shown = regression(data.shown, x, y, family=family).value
        except InputError:
            shown = np.full(len(names), np.nan)
        return _lines(data, names, found, shown)


def _lines(data: Weighted, names: Sequence[str], found: Inference, shown: Floats) -> tuple[EstimatedLine, ...]:
    """Numbers with intervals; without bounds where the release does not determine them."""
    error = found.error if data.condition <= CONDITION else np.full(len(names), np.inf)
    columns = (found.value, error, found.value - NORMAL * error, found.value + NORMAL * error, shown)
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
