"""Estimates from randomized values, as tables."""

from dataclasses import dataclass

from reissue.outcome.view import TableView, table
from reissue.utility import Analysis, Estimation

__all__ = ["EstimationView", "view_of"]

_KINDS = {
    "count": "people by {}",
    "mean": "means: {}",
    "linear": "linear regression: {}",
    "logistic": "logistic regression: {}",
}
_HEADINGS = ("", "estimate#", "standard error#", "95% interval#", "values as published#")


@dataclass(frozen=True)
class EstimationView:
    """Estimates in words and tables."""

    sentences: tuple[str, ...]
    tables: tuple[TableView, ...]
    """One for each question, with the question as its caption."""


def view_of(found: Estimation) -> EstimationView:
    """Return the view of estimates."""
    return EstimationView(found.sentences, tuple(_table(one) for one in found.analyses))


def _table(one: Analysis) -> TableView:
    rows = [
        (
            line.name,
            f"{line.value:.4g}",
            f"{line.error:.2g}",
            f"{line.low:.4g} to {line.high:.4g}",
            "–" if line.published is None else f"{line.published:.4g}",
        )
        for line in one.lines
    ]
    return table(_HEADINGS, rows, f"{_KINDS[one.kind].format(one.asked)} ({one.people:,} rows)")
