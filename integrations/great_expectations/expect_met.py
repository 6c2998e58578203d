"""A Great Expectations expectation: the table meets a requirement, as Reissue counts it. For pandas dataframes."""

from typing import Any, ClassVar

from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

import reissue as ri

METRIC = "table.reissue.check"


class TableCheck(TableMetricProvider):
    """What Reissue counts in a table: whether it meets the requirement, and how many rows and groups it has."""

    metric_name = METRIC
    value_keys = ("roles", "requirement")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805  (Great Expectations makes a class method of it)
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        **_: Any,
    ) -> dict[str, Any]:
        frame, _compute, _accessor = execution_engine.get_compute_domain(metric_domain_kwargs, "table")
        found = ri.check(frame, metric_value_kwargs["roles"], metric_value_kwargs["requirement"])
        return {"met": found.met, "rows": found.rows, "groups": found.groups}


class ExpectTableToMeetRequirement(BatchExpectation):
    """`ExpectTableToMeetRequirement(roles={"age": "quasi", "disease": "sensitive"}, requirement="k=5 & l=3")`."""

    roles: dict[str, str]
    requirement: str = "k=5"
    metric_dependencies: ClassVar[tuple[str, ...]] = (METRIC,)
    success_keys: ClassVar[tuple[str, ...]] = ("roles", "requirement")

    def _validate(self, metrics: dict[str, Any], **_: Any) -> dict[str, Any]:
        found = metrics[METRIC]
        return {"success": found["met"], "result": {"observed_value": found}}
