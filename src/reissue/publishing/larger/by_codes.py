"""Releases of a table larger than memory by methods that look at all rows at once: they look at codes (`codes`).

The method is run as it is in memory, and so the release has the same rows. It is written some rows at a time.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl

from reissue.engines.base import InBatches, Source
from reissue.errors import InputError
from reissue.files.places import beside_folder, refuse_existing
from reissue.files.staging import Staging
from reissue.publishing.anonymize import anonymize
from reissue.publishing.larger.codes import table_by_codes
from reissue.publishing.series_run import SeriesRun
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.schema import Schema

__all__ = ["PART", "refuse_by_codes", "write_by_codes"]

PART = 250_000
"""Rows of a file, unless said otherwise."""


def refuse_by_codes(source: Source, engine: str, method: str, why: str) -> InBatches:
    """The same source, if rows come here from where it lies."""
    if isinstance(source, InBatches):
        return source
    raise InputError(
        f"The method '{method}' needs the whole table in memory, or the codes of all its rows: {why}. The engine "
        f"'{engine}' leaves rows where they are. Use engine memory, stream or spark."
    )


def write_by_codes(
    source: InBatches,
    schema: Schema,
    requirement: Requirement | str,
    place: Path,
    asked: Mapping[str, Any],
    *,
    memory: Path | None = None,
    rows: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Release:
    """Make a release as `asked` and write it: all its tables, and the memory of the series that it goes on; or nothing.

    A further table goes to a folder beside the first one's, as out.sensitive. A file has so many `rows` at most.
    """
    if place.exists():
        raise InputError(f"'{place}' is there already. Name a folder that is not.")
    refuse_existing(place, force=False, table=False)
    more, run = dict(asked), None if memory is None else SeriesRun.begin(memory, schema, asked["method"])
    if run is not None:
        for batch in source.batches([name for name in source.columns if name in schema.used]):
            run.add(batch, in_order=source.in_order)
        more["memory"], more["seed"] = run.settle(schema, {"requirement": str(requirement), **asked})
    table = table_by_codes(source, schema, more.get("memory"))
    progress(0.2)
    release = anonymize(table, schema, requirement, progress=lambda done: progress(0.2 + 0.6 * done), **more)
    with Staging() as staging:
        for number, name in reversed(list(enumerate(release.tables))):  # so that all is there when the first one is
            folder = place if number == 0 else beside_folder(place, name)
            _stage(staging, folder, release.in_parts(name, PART if rows is None else rows))
        kept = release.draft.memory
        with nullcontext() if run is None or kept is None else run.remembered(kept):
            staging.place()
    progress(1.0)
    return release


def _stage(staging: Staging, folder: Path, parts: Iterator[pl.DataFrame]) -> None:
    staging.add_folder(folder)
    for number, part in enumerate(parts, start=1):
        staging.add(folder / f"{number:05d}.parquet", part.write_parquet)
