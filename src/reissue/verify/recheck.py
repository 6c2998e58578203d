"""Making a release from a draft, checked again from its published columns by independent code."""

import numpy as np

from reissue.data.table import Table
from reissue.errors import InternalError, NotMetError
from reissue.methods.registry import Trait, find
from reissue.release.recode import boxes_of, shuffled, tables_of
from reissue.release.release import Draft, Release
from reissue.requirements import Requirement
from reissue.verify.check import unmet

__all__ = ["make_release"]


def make_release(
    table: Table, draft: Draft, requirement: Requirement, method: str, rng: np.random.Generator
) -> Release:
    """Turn a draft into published tables, in random row order, checked again from their columns.

    Raises
    ------
    NotMetError
        If a method that groups by joint values violates the requirement in a single column.
    InternalError
        If the release violates the requirement in any other way: a bug.

    """
    boxes = boxes_of(table, draft)
    order = shuffled(draft, rng)
    tables = tables_of(table, draft, boxes, rng, order)
    release = Release(tables, table, draft, boxes, requirement, method, order)
    failed = unmet(release, table.schema, requirement, table.secrets)
    if failed and len(table.schema.sensitive) > 1 and Trait.GROUPS_BY_VALUE in find(method).traits:
        raise NotMetError(
            f"The method '{method}' makes groups of people who differ in the sensitive columns taken together, which "
            f"is not enough here: {' '.join(one.sentence for one in failed)} Nothing was published. Use the method "
            "'pool' or 'cohorts', which see to it that every sensitive column meets the requirement by itself."
        )
    if failed:
        raise InternalError(
            f"The release that '{method}' made does not meet {requirement} when counted again from its published "
            "columns. Nothing was published. Please report this."
        )
    return release
