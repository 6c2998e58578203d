"""A release made, and checked again from its published columns by other code than the algorithm's."""

import numpy as np

from reissue.data.table import Table
from reissue.errors import InternalError
from reissue.release.recode import boxes_of, shuffled, tables_of
from reissue.release.release import Draft, Release
from reissue.requirements import Requirement
from reissue.verify.check import meets

__all__ = ["make_release"]


def make_release(
    table: Table, draft: Draft, requirement: Requirement, method: str, rng: np.random.Generator
) -> Release:
    """Turn a draft into the tables that go out, in random row order, re-checked from their published columns."""
    boxes = boxes_of(table, draft)
    order = shuffled(draft, rng)
    tables = tables_of(table, draft, boxes, rng, order)
    release = Release(tables, table, draft, boxes, requirement, method, order)
    if not meets(release, table.schema, requirement, table.secrets):
        raise InternalError(
            f"The release that '{method}' made does not meet {requirement} when counted again from its published "
            "columns. Nothing was published. Please report this."
        )
    return release
