"""What published columns satisfy, counted from the columns themselves (placeholder being built)."""

from collections.abc import Mapping

import polars as pl

from reissue.cells import Domain
from reissue.requirements import Requirement
from reissue.schema import Schema


def meets(tables: Mapping[str, pl.DataFrame], schema: Schema, requirement: Requirement, domain: Domain) -> bool:
    return True
