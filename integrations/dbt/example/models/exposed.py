"""What January and February give away together: a row for each attack, with its outcome and how many people."""

from typing import Any

import polars as pl

import reissue as ri

ROLES = {"age": "quasi", "sex": "quasi", "disease": "sensitive"}


def model(dbt: Any, session: Any) -> Any:  # noqa: ARG001  (dbt wants both)
    """A table that dbt keeps; a test of `outcome` stops what is downstream."""
    dbt.config(materialized="table")
    findings = ri.attack([dbt.ref("january").pl(), dbt.ref("february").pl()], ROLES)
    rows = [{"attack": one.attack, "outcome": str(one.status), "people": one.people} for one in findings]
    return pl.DataFrame(rows, schema={"attack": pl.String, "outcome": pl.String, "people": pl.Int64})
