"""How well a classifier predicts a column's value, trained on the true table and on the published one.

The classifier is linear: ridge regression of each category's indicator on the other columns, and the category with the
largest prediction. Both are tested on a third of the true table's rows that the true one was not trained on. (Who was
tested is among the published people too, generalized; that favours the published table, if anything.) A number explains
by its value and its square, a category by the nodes of its taxonomy. O(rows x columns^2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue._arrays import Floats
from reissue.data.table import Table
from reissue.errors import InputError
from reissue.published import PublishedRelease
from reissue.utility.records import PublishedRecords, Records, Scale, Variable, groups_of, scale_of

__all__ = ["Prediction", "predictions_of"]

_MOST = 500
"""Columns with more categories do not explain, and are not predicted."""
_RIDGE = 1e-3
"""Per row: enough for columns that depend on each other."""


@dataclass(frozen=True)
class Prediction:
    """The shares of people whose category is predicted right."""

    column: str
    true: float
    """Trained on the true table."""
    published: float
    """Trained on the published one."""
    baseline: float
    """Without any training: everybody has the most frequent category."""

    @property
    def sentence(self) -> str:
        """The prediction in one sentence."""
        return (
            f"A linear classifier that learns from the published table predicts '{self.column}' right for "
            f"{self.published:.1%} of people; one that learns from the true table for {self.true:.1%}, and the most "
            f"frequent value alone for {self.baseline:.1%}."
        )


def predictions_of(table: Table, published: PublishedRelease, columns: Sequence[str]) -> tuple[Prediction, ...]:
    """Compare predictions of some columns from all others."""
    return tuple(_prediction(table, published, column) for column in columns)


def _prediction(table: Table, published: PublishedRelease, column: str) -> Prediction:
    schema = table.schema
    if column not in (*schema.quasi, *schema.sensitive):
        raise InputError(f"'{column}' cannot be predicted: name a quasi-identifier or a sensitive column.")
    target = groups_of(table, Variable(column))
    if not 2 <= len(target.labels) <= _MOST:
        raise InputError(f"'{column}' cannot be predicted: it needs 2 to {_MOST} categories.")
    others = [(name, scale) for name in schema.quasi if name != column and (scale := _scale(table, name)) is not None]
    true, shown = Records(table), PublishedRecords(table, published)
    learn = np.random.default_rng(0).random(table.rows) < 2 / 3
    explain, outcome = _columns(true, others), np.nan_to_num(true.expect(column, target))
    by_true = _fitted(explain[learn], outcome[learn], np.ones(int(learn.sum())))
    by_published = _fitted(_columns(shown, others), np.nan_to_num(shown.expect(column, target)), shown.weights)
    wanted = outcome[~learn].argmax(axis=1)

    def right(weights: Floats) -> float:
        return float(((explain[~learn] @ weights).argmax(axis=1) == wanted).mean())

    most = int(outcome[learn].sum(axis=0).argmax())
    return Prediction(column, right(by_true), right(by_published), float((wanted == most).mean()))


def _scale(table: Table, column: str) -> Scale | None:
    scale = scale_of(table, Variable(column))
    scale = scale if len(scale.labels) <= _MOST else groups_of(table, Variable(column))
    return scale if len(scale.labels) <= _MOST else None


def _columns(side: Records | PublishedRecords, others: Sequence[tuple[str, Scale]]) -> Floats:
    """Rows x explaining columns; what is not known counts as the mean."""
    parts = [np.ones((len(side.weights), 1))]
    for name, scale in others:
        found = side.expect(name, scale)
        if scale.line:
            known = scale.leaves[~np.isnan(scale.leaves)]
            found = (found - known.mean()) / (known.std() or 1.0)
            found = np.hstack([found, np.square(found)])
        parts.append(np.nan_to_num(found))
    return np.hstack(parts)


def _fitted(explain: Floats, outcome: Floats, weights: Floats) -> Floats:
    """Columns x categories: the coefficients of weighted ridge regression."""
    weighted = explain * weights[:, np.newaxis]
    square = weighted.T @ explain + _RIDGE * max(float(weights.sum()), 1.0) * np.eye(explain.shape[1])
    return np.asarray(np.linalg.solve(square, weighted.T @ outcome))
