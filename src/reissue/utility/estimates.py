"""What an analyst computes, from the true table and from the published one: regressions, means and shares by group.

Every estimate has an interval that covers, in 95 of 100 samples, the result of the same computation on the whole
population from which the people of the table were drawn at random. It shows how far an estimate is off by chance; the
effect of anonymization is the difference between the true and the published estimate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from reissue._arrays import Bools, Floats
from reissue.data.table import Table
from reissue.errors import InputError
from reissue.published import PublishedRelease
from reissue.randomized import regression
from reissue.utility.records import Formula, PublishedRecords, Records, Scale, groups_of, numbers_in, scale_of
from reissue.utility.rows import Rows, Term, Weighted

__all__ = ["NORMAL", "Comparison", "Estimate", "Line", "means_of", "models_of"]

NORMAL = 1.959963984540054
"""Half the width of a 95% interval, in standard errors."""


@dataclass(frozen=True)
class Estimate:
    """A number with the interval of its sampling error."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """A number from the true table and from the published one; None if it cannot be computed."""

    name: str
    true: Estimate | None
    published: Estimate | None
    estimated: Estimate | None = None
    """Where values are randomized: what the published ones are corrected to (`ri.estimate`)."""

    @property
    def inside(self) -> bool | None:
        """Whether the published (or estimated) number lies in the interval of the true one; None if one is missing."""
        shown = self.estimated or self.published
        if self.true is None or shown is None:
            return None
        return self.true.low <= shown.value <= self.true.high


@dataclass(frozen=True)
class Comparison:
    """A computation: the question, the number of people, and the resulting numbers."""

    asked: str
    people: int
    """Number of rows of the true table with all values."""
    records: float
    """The same for the published table, without counterfeits."""
    lines: tuple[Line, ...]

    @property
    def sentence(self) -> str:
        """The comparison in one sentence."""
        known = [line for line in self.lines if line.inside is not None]
        inside = sum(bool(line.inside) for line in known)
        return (
            f"{self.asked}: of {len(self.lines):,} estimates {len(known):,} can be computed from what was published, "
            f"{inside:,} of them within the true one's 95% interval."
        )


class _Side(Protocol):
    @property
    def weights(self) -> Floats: ...

    def expect(self, column: str, scale: Scale) -> Floats: ...


def models_of(table: Table, published: PublishedRelease, models: Sequence[str]) -> tuple[Comparison, ...]:
    """Compare ordinary least squares on the true and the published rows, coefficient by coefficient."""
    return tuple(_compared(table, published, text, _regression) for text in models)


def means_of(table: Table, published: PublishedRelease, means: Sequence[str]) -> tuple[Comparison, ...]:
    """Compare means of a number, or shares of a category's values, by the groups of one column: `wage ~ region`."""
    return tuple(_compared(table, published, text, _means) for text in means)


_Computed = tuple[dict[str, Estimate], float]
_Compute = Callable[[Table, Formula], Callable[[_Side], _Computed]]


def _compared(table: Table, published: PublishedRelease, text: str, compute: _Compute) -> Comparison:
    schema = table.schema
    formula = Formula.parse(text, [*schema.quasi, *schema.sensitive, *schema.kept])
    run = compute(table, formula)
    true, people = run(Records(table))
    shown = PublishedRecords(table, published)
    seen, records = run(shown)
    rows = Rows.of_published(published)
    found = {} if rows is None else _corrected(shown, rows, formula, means=compute is _means)
    lines = (Line(name, true.get(name), seen.get(name), found.get(name)) for name in {**true, **seen, **found})
    return Comparison(str(formula), round(people), records, tuple(lines))


# --- regressions -----------------------------------------------------------------------------------------------------


def _regression(table: Table, formula: Formula) -> Callable[[_Side], _Computed]:
    outcome = scale_of(table, formula.outcome, bands=True)
    if len(outcome.labels) > 1:
        raise InputError(
            f"The outcome '{formula.outcome.column}' holds no numbers. Ask for the share of one of its values:  "
            "column[value] ~ ..."
        )
    terms = [(term.column, _without_base(scale_of(table, term))) for term in formula.terms]
    names = ["intercept", *(label for _, scale in terms for label in scale.labels)]

    def run(side: _Side) -> _Computed:
        weights = side.weights
        explain = [np.ones((len(weights), 1)), *(side.expect(column, scale) for column, scale in terms)]
        return _least_squares(names, np.hstack(explain), side.expect(formula.outcome.column, outcome)[:, 0], weights)

    return run


def _without_base(scale: Scale) -> Scale:
    """The columns without the first category, which is the base."""
    return scale if len(scale.labels) == 1 else Scale(scale.labels[1:], scale.leaves[:, 1:], scale.line)


def _least_squares(names: Sequence[str], explain: Floats, outcome: Floats, weights: Floats) -> _Computed:
    """Weighted least squares with heteroscedasticity-consistent intervals (HC1)."""
    use: Bools = ~np.isnan(explain).any(axis=1) & ~np.isnan(outcome) & (weights > 0)
    explain, outcome, weights = explain[use], outcome[use], weights[use]
    root = np.sqrt(weights)[:, np.newaxis]
    kept = _independent(explain * root)
    free = len(outcome) - len(kept)
    if free <= 0 or not kept:
        return {}, float(weights.sum())
    chosen = explain[:, kept]
    inverse = np.linalg.inv((chosen * weights[:, np.newaxis]).T @ chosen)
    found = inverse @ (chosen.T @ (weights * outcome))
    scores = chosen * (weights * (outcome - chosen @ found))[:, np.newaxis]
    variance = np.maximum(np.diag(inverse @ (scores.T @ scores) @ inverse), 0)  # rounding may take it below
    spread = np.sqrt(variance * len(outcome) / free)
    return {
        names[place]: _estimate(value, error) for place, value, error in zip(kept, found, spread, strict=True)
    }, float(weights.sum())


def _independent(columns: Floats) -> list[int]:
    """The columns that are linearly independent of those before them."""
    kept: list[int] = []
    basis = np.zeros((len(columns), 0))
    for place, column in enumerate(columns.T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > 1e-7 * max(float(np.linalg.norm(column)), 1e-300) and length > 0:
            kept.append(place)
            basis = np.hstack([basis, (rest / length)[:, np.newaxis]])
    return kept


def _estimate(value: float, error: float) -> Estimate:
    return Estimate(float(value), float(value - NORMAL * error), float(value + NORMAL * error))


# --- randomized values -----------------------------------------------------------------------------------------------


def _corrected(shown: PublishedRecords, rows: Rows, formula: Formula, *, means: bool) -> dict[str, Estimate]:
    """The same numbers, corrected for randomized values."""
    table = shown.table

    def term(column: str, scale: Scale) -> Term:
        if column not in rows.side.values.columns:
            return Term(scale.labels, by_row=shown.expect(column, scale)[rows.places])
        return Term(scale.labels, by_value=numbers_in(table, column, scale, rows.side.values[column]))

    outcome = scale_of(table, formula.outcome, bands=True)
    of = groups_of if means else scale_of
    scales = [(one.column, of(table, one)) for one in formula.terms]
    if not means:
        scales = [(column, _without_base(scale)) for column, scale in scales]
    data = Weighted.of(rows, [term(formula.outcome.column, outcome), *(term(*one) for one in scales)])
    if means:
        return _corrected_means(data, outcome.labels, scales[0][1].labels)
    labels = ["intercept", *(label for _, scale in scales for label in scale.labels)]
    every = [np.broadcast_to(one, (*data.weights.shape, one.shape[2])) for one in data.terms]
    x = np.concatenate([np.ones((*data.weights.shape, 1)), *every[1:]], axis=2)
    try:
        found = regression(data.weights, x, every[0][..., 0])
    except InputError:
        return {}
    pairs = zip(labels, found.value.tolist(), found.error.tolist(), strict=True)
    return {name: _estimate(value, error) for name, value, error in pairs}


def _corrected_means(data: Weighted, outcomes: Sequence[str], groups: Sequence[str]) -> dict[str, Estimate]:
    """Weighted means; errors by linearization."""
    found = {}
    for place, group in enumerate(groups):
        member = data.weights * data.terms[1][..., place]
        total = float(member.sum())
        for number, outcome in enumerate(outcomes):
            if total > 1e-9:
                part = (member * data.terms[0][..., number]).sum(1)
                mean = float(part.sum()) / total
                error = float(np.linalg.norm(part - mean * member.sum(1))) / total
                found[f"{outcome} | {group}"] = _estimate(mean, error)
    return found


# --- means and shares ------------------------------------------------------------------------------------------------


def _means(table: Table, formula: Formula) -> Callable[[_Side], _Computed]:
    if len(formula.terms) != 1:
        raise InputError("Means are by the groups of one column:  wage ~ region.")
    by = formula.terms[0]
    groups = groups_of(table, by)
    outcome = scale_of(table, formula.outcome, bands=True)

    def run(side: _Side) -> _Computed:
        values, member = side.expect(formula.outcome.column, outcome), side.expect(by.column, groups)
        use: Bools = ~np.isnan(values).any(axis=1) & ~np.isnan(member).any(axis=1) & (side.weights > 0)
        weights = side.weights[use]
        found = {
            f"{label} | {group}": estimate
            for group, share in zip(groups.labels, member[use].T, strict=True)
            for label, value in zip(outcome.labels, values[use].T, strict=True)
            if (estimate := _mean(value, weights * share)) is not None
        }
        return found, float(weights.sum())

    return run


def _mean(values: Floats, weights: Floats) -> Estimate | None:
    """A weighted mean; None without people."""
    total = float(weights.sum())
    if total < 1e-9:
        return None
    mean = float(weights @ values) / total
    people = total**2 / float(weights @ weights)
    spread = float(weights @ np.square(values - mean)) / total / max(people - 1, 1)
    return _estimate(mean, spread**0.5)
