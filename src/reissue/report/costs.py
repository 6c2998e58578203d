"""What protection cost, measured against the holder's own tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reissue.errors import InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.publishing.series import snapshots
from reissue.schema import Schema
from reissue.utility import Utility, compare

__all__ = ["costs_of"]

QUERIES = 500
SEED = 1
"""The same random queries for every release and every way of publishing, so that they can be compared."""


def costs_of(
    originals: Sequence[Any] | str | Path, published: Sequence[Any], schema: Schema, *, dialect: Dialect = FOUND
) -> list[Utility]:
    """The utility of each release; `originals` are tables in the same order, or a folder with one file for each."""
    tables = snapshots(originals) if isinstance(originals, str | Path) else list(originals)
    if len(tables) != len(published):
        raise InputError(f"There are {len(published)} releases and {len(tables)} original tables; give one for each.")
    return [
        compare(
            original,
            one,
            schema,
            queries=QUERIES,
            seed=SEED,
            dialect=dialect,
        )
        for original, one in zip(tables, published, strict=True)
    ]
