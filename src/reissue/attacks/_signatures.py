"""When two releases are the same: the same rows, whatever their order and whatever numbers their groups have."""

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
    """What a draft publishes, without order."""
    kept = np.flatnonzero(draft.groups >= 0)
    values = (table.sensitive if draft.sensitive is None else draft.sensitive)[kept]
    groups = draft.groups[kept]
    if draft.bucketized or draft.permuted:
        return _buckets(groups.tolist(), [tuple(code) for code in table.codes[:, kept].T.tolist()], values.tolist())
    boxes = boxes_of(table, draft)
    columns = np.concatenate([boxes.lo[:, groups], boxes.hi[:, groups], values[np.newaxis]])
    return columns[:, np.lexsort(columns)].tobytes()


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


def _buckets(groups: list[int], people: list[tuple[int, ...]], values: list[int]) -> Signature:
    """Buckets as sets of people beside multisets of values."""
    members: dict[int, list[tuple[int, ...]]] = {}
    held: dict[int, list[int]] = {}
    for group, person, value in zip(groups, people, values, strict=True):
        members.setdefault(group, []).append(person)
        held.setdefault(group, []).append(value)
    return frozenset(Counter((tuple(sorted(members[g])), tuple(sorted(held[g]))) for g in members).items())
