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
    """What published frames hold, as text, without order."""
    frame = _texts(next(iter(tables.values())))
    if "sensitive" not in tables:
        return frozenset(Counter(frame.rows()).items())
    people, values = frame.rows_by_key(GROUP), _texts(tables["sensitive"]).rows_by_key(GROUP)
    buckets = [(tuple(sorted(map(repr, people[key]))), tuple(sorted(map(repr, values[key])))) for key in people]
    return frozenset(Counter(buckets).items())


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(sorted(frame.columns)).cast(pl.String)
