"""When two releases are the same: everyone in the same group, and the same values in every group, in whatever order.

A published frame does not say who stands where; there, the same rows must do.
"""

from collections import Counter
from collections.abc import Hashable
from typing import TypeAlias

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.data.table import Table
from reissue.published import Form, PublishedRelease
from reissue.release.recode import boxes_of
from reissue.release.release import Draft

__all__ = ["Signature", "frame_signature", "signature"]

Signature: TypeAlias = Hashable


def signature(table: Table, draft: Draft) -> Signature:
    """What a draft publishes, for someone who knows where everyone stands."""
    kept = draft.groups >= 0
    values = table.sensitive if draft.sensitive is None else draft.sensitive
    if not draft.form.boxes:
        _, first, of_row = np.unique(draft.groups, return_index=True, return_inverse=True)
        place = np.where(kept, first[of_row], -1)[np.newaxis]
    else:
        boxes = boxes_of(table, draft)
        place = np.concatenate([boxes.lo[:, draft.groups], boxes.hi[:, draft.groups]])
        place = np.where(kept, place, -1)
    columns = np.concatenate([place[:, kept], values[np.newaxis, kept]])
    return place.tobytes(), columns[:, np.lexsort(columns)].tobytes()


def frame_signature(release: PublishedRelease) -> Signature:
    """What published frames hold, as text, without order; how groups are numbered does not matter."""
    if release.form == Form.GENERALIZED:
        return frozenset(Counter(_texts(release.main).rows()).items())
    apart = list(release.schema.sensitive)
    people = _by_group(release.main.drop(*release.by, *apart, strict=False), release.group, release.groups)
    each = np.repeat(np.arange(release.values.height), release.weights)
    values = _by_group(release.values.select(apart)[each], release.value_group[each], release.groups)
    return frozenset(Counter(zip(people, values, strict=True)).items())


def _by_group(frame: pl.DataFrame, group: Ints, groups: int) -> list[tuple[str, ...]]:
    """The rows of each group, as text, without order."""
    rows: list[list[str]] = [[] for _ in range(groups)]
    for place, row in zip(group.tolist(), _texts(frame).rows(), strict=True):
        rows[place].append(repr(row))
    return [tuple(sorted(some)) for some in rows]


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(sorted(frame.columns)).cast(pl.String)
