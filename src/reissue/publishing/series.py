"""A whole series at once: snapshot after snapshot through a method that remembers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reissue.errors import DataError, InputError
from reissue.files.tables import FORMATS
from reissue.publishing.anonymize import anonymize
from reissue.release.memory import Memory
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.schema import Schema

__all__ = ["anonymize_series", "snapshots"]


def snapshots(folder: str | Path) -> list[Path]:
    """The tables in a folder, in the order of their names."""
    folder = Path(folder)
    found = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().endswith(FORMATS))
    if not found:
        raise DataError(f"The folder '{folder}' has no file that ends in one of {', '.join(FORMATS)}.")
    return found


def anonymize_series(
    tables: Sequence[Any],
    schema: Schema,
    requirement: Requirement | str,
    *,
    method: str = "equivalence",
    memory: Memory | None = None,
    seed: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
    **options: Any,
) -> list[Release]:
    """Make the releases of a series, in order; the last one's draft carries the memory for what comes after.

    `tables` are dataframes, paths or Tables; `memory` continues an earlier series. Each release gets a seed of its own,
    drawn from the given one.
    """
    releases: list[Release] = []
    for number, table in enumerate(tables):
        try:
            release = anonymize(
                table,
                schema,
                requirement,
                method=method,
                memory=releases[-1].draft.memory if releases else memory,
                seed=None if seed is None else seed + number,
                progress=lambda share, done=number: progress((done + share) / len(tables)),  # type: ignore[misc]
                **options,
            )
        except InputError as problem:
            raise type(problem)(f"Snapshot {number + 1}: {problem}") from None
        releases.append(release)
    return releases
