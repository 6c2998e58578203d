"""anonymize: one table, one release."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reissue.algorithms import Job, find
from reissue.errors import InputError, SchemaError
from reissue.recode import make_release
from reissue.release import Release
from reissue.requirements import Requirement, parse
from reissue.schema import Schema
from reissue.table import Table

__all__ = ["DEFAULT_METHOD", "anonymize"]

DEFAULT_METHOD = "pool"


def anonymize(
    data: Any,
    schema: Schema,
    requirement: Requirement | str,
    *,
    method: str = DEFAULT_METHOD,
    suppress: float = 0.0,
    seed: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
    **options: Any,
) -> Release:
    """Make one release of a table that meets a requirement.

    `data` is a dataframe, a path, or a Table. `suppress` is the share of rows that may be left out (methods that can
    do without leave nothing out). The same data, options and seed give the same release; whoever knows the seed can
    undo the shuffling of rows, so without one a secret is drawn and forgotten.
    """
    requirement = parse(requirement) if isinstance(requirement, str) else requirement
    chosen = find(method)
    settled = chosen.settle(options)
    if not 0 <= suppress < 1:
        raise InputError("`suppress` must be a share of the rows, at least 0 and below 1.")
    table = data if isinstance(data, Table) else Table.read(data, schema)
    if requirement.sensitive and not table.schema.sensitive:
        raise SchemaError(
            f"The requirement {requirement} looks at sensitive values, but the schema names no such column."
        )
    requirement.refuse_impossible(table.whole())
    rng = np.random.default_rng(seed)
    draft = chosen.run(Job(table, requirement, rng, suppress, settled, progress))
    progress(1.0)
    return make_release(table, draft, requirement, method, rng)
