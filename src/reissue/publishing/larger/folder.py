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
    """Make one release of a table larger than memory, and write it to a new folder.

    The release has the same rows as that of `anonymize` with the same options, in another order.

    Parameters
    ----------
    data
        What the engine opens: for "stream", Parquet, a file or a folder.
    schema
        The roles of the columns.
    requirement
        What every group must meet: text such as "k=5 & l=3", or requirements joined with `&`.
    out
        The folder to write to. It must not exist. A second table of a release goes to a folder beside it.
    method
        How groups are formed.
    engine
        Who reads and counts.
    suppress
        The share of records that may be suppressed.
    seed
        The seed of all random choices; by default one is drawn and forgotten.
    fits
        How many rows are grouped in memory at a time.
    progress
        Called with the share of the work that is done.
    boxes
        "nodes" or "tight", as for `anonymize`.
    memory
        For methods that follow people through a series: the file of their memory.
    newcomers
        Whether it is right that hardly anybody of the release before returns.
    **options
        Options of the method.

    Returns
    -------
    ReleaseFolder
        What was written.

    Raises
    ------
    NotMetError
        If no release meets the requirement.
    InputError
        If the table does not fit the schema, or the folder exists. Nothing is written then.

    Examples
    --------
    >>> import reissue as ri
    >>> from reissue.synth import Population, schema
    >>> next(Population(seed=1, people=500).months(1)).write_parquet("patients.parquet")
    >>> release = ri.anonymize_folder("patients.parquet", schema(), "k=5", "release", seed=1)
    >>> ri.check("release", schema(), "k=5").met
    True
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
