"""When two releases are the same: everyone in the same group, and the same values in every group, in whatever order.

A published frame does not say who stands where; there, the same rows must do.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeAlias

import numpy as np
import polars as pl

from reissue.recode import boxes_of
from reissue.release import GROUP, Draft
from reissue.table import Table

__all__ = ["Signature", "frame_signature", "signature"]

Signature: TypeAlias = Hashable


def signature(table: Table, draft: Draft) -> Signature:
    """What a draft publishes, for someone who knows where everyone stands."""
    kept = draft.groups >= 0
    values = table.sensitive if draft.sensitive is None else draft.sensitive
    if draft.bucketized or draft.permuted:
        _, first, of_row = np.unique(draft.groups, return_index=True, return_inverse=True)
        place = np.where(kept, first[of_row], -1)[np.newaxis]
    else:
        boxes = boxes_of(table, draft)
        place = np.concatenate([boxes.lo[:, draft.groups], boxes.hi[:, draft.groups]])
        place = np.where(kept, place, -1)
    columns = np.concatenate([place[:, kept], values[np.newaxis, kept]])
    return place.tobytes(), columns[:, np.lexsort(columns)].tobytes()


def frame_signature(tables: Mapping[str, pl.DataFrame]) -> Signature:
    """What published frames hold, without order."""
    frame = next(iter(tables.values()))
    if "sensitive" in tables:
        values = tables["sensitive"]
        exact = frame.rows_by_key(GROUP)
        counted = values.rows_by_key(GROUP)
        return frozenset(
            Counter(
                (tuple(sorted(map(repr, rows))), tuple(sorted(map(repr, counted[key])))) for key, rows in exact.items()
            ).items()
        )
    return frozenset(Counter(map(repr, frame.select(sorted(frame.columns)).rows())).items())
