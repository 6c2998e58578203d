"""anonymize_folder: one release of a table larger than memory, region by region or by the codes of all rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from reissue.engines.registry import choose
from reissue.methods import find
from reissue.publishing.anonymize import refuse_memory
from reissue.publishing.larger.anonymize import ReleaseFolder, write_release
from reissue.publishing.larger.asked import Asked, why_all_rows
from reissue.publishing.larger.by_codes import refuse_by_codes, write_by_codes
from reissue.release.release import Release
from reissue.requirements import Requirement, parse
from reissue.schema import Schema
from reissue.utility import measure

__all__ = ["anonymize_folder"]


def anonymize_folder(
    data: Any,
    schema: Schema,
    requirement: Requirement | str,
    out: str | Path,
    *,
    method: str = "mondrian",
    engine: str = "stream",
    suppress: float = 0.0,
    seed: int | None = None,
    fits: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
    boxes: str = "nodes",
    memory: str | Path | None = None,
    newcomers: bool = False,
    **options: Any,
) -> ReleaseFolder:
    """Make one release of a table larger than memory, and write it to a folder that is not there yet.

    `data` is what the engine opens: for "stream" Parquet, a file or a folder. The release has the same rows as that of
    `anonymize` with the same options, in another order. `fits` says how many rows are grouped in memory at a time, or
    written to a file where the codes of all rows must be looked at (`by_codes`): a further table of such a release goes
    to a folder beside. `memory` is the file of a series that such a method goes on, or begins.
    """
    chosen, requirement = find(method), parse(requirement) if isinstance(requirement, str) else requirement
    why = why_all_rows(chosen, requirement, chosen.settle(options), suppress, schema)
    if why:
        source = refuse_by_codes(choose(engine, data).open(data), engine, method, why)
        plan = {"method": method, "seed": seed, "suppress": suppress, "boxes": boxes, "newcomers": newcomers, **options}
        kept = None if memory is None else Path(memory)
        release = write_by_codes(
            source, schema, requirement, Path(out), plan, memory=kept, rows=fits, progress=progress
        )
        return _folder_of(release, Path(out))
    refuse_memory(memory, method)
    asked = Asked.of(method, requirement, suppress, boxes, options, schema)
    return write_release(data, schema, asked, Path(out), engine, seed, fits, progress)


def _folder_of(release: Release, place: Path) -> ReleaseFolder:
    """What is known of a release that was made of codes."""
    return ReleaseFolder(
        folder=place,
        rows=next(iter(release.tables.values())).height,
        groups=release.groups,
        regions=1,
        loss=measure(release).loss,
        requirement=release.requirement,
        method=release.method,
        warnings=release.warnings,
    )
