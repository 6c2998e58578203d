"""A pandera check: at least k rows look alike on the quasi-identifiers, as Reissue counts them."""

from collections.abc import Mapping
from typing import Any

import pandera.pandas as pa

import reissue as ri


def k_anonymous(roles: Mapping[str, str], requirement: str = "k=5") -> pa.Check:
    """For `DataFrameSchema(checks=[k_anonymous({"age": "quasi", "disease": "sensitive"})])`."""

    def holds(frame: Any) -> bool:
        return ri.check(frame, roles, requirement).met

    return pa.Check(holds, name=requirement, error=f"the table does not meet {requirement}")
