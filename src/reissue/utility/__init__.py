"""Utility: what a release lost. `measure` combines the measures of the modules."""

from reissue.utility.estimates import Comparison, Estimate, Line
from reissue.utility.loss import attribute_losses, average_group_size, discernibility, information_loss, shares_of
from reissue.utility.measures import Utility, compare, measure
from reissue.utility.prediction import Prediction
from reissue.utility.queries import (
    WORKLOADS,
    Predicates,
    QueryError,
    Workload,
    draw_queries,
    estimates,
    query_error,
    true_counts,
)
from reissue.utility.randomized import Analysis, EstimatedLine, Estimation, estimate
from reissue.utility.tabulation import CrossTable, Distribution, PairedRows, cross_table, distributions, paired_rows
from reissue.utility.transitions import Transition, Transitions, transitions

__all__ = [
    "WORKLOADS",
    "Analysis",
    "Comparison",
    "CrossTable",
    "Distribution",
    "Estimate",
    "EstimatedLine",
    "Estimation",
    "Line",
    "PairedRows",
    "Predicates",
    "Prediction",
    "QueryError",
    "Transition",
    "Transitions",
    "Utility",
    "Workload",
    "attribute_losses",
    "average_group_size",
    "compare",
    "cross_table",
    "discernibility",
    "distributions",
    "draw_queries",
    "estimate",
    "estimates",
    "information_loss",
    "measure",
    "paired_rows",
    "query_error",
    "shares_of",
    "transitions",
    "true_counts",
]
