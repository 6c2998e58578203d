"""A whole series at once: snapshot after snapshot through a stateful method, with a memory file between two runs."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reissue.data.outputs import Input, Output, Outputs, table_inputs
from reissue.data.table import Table
from reissue.errors import DataError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.places import FORMATS, default_output, is_table_file
from reissue.files.staging import Staging
from reissue.publishing.anonymize import anonymize
from reissue.publishing.series_run import SeriesRun
from reissue.release.memory import Memory
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.schema import Options, Schema

__all__ = ["Written", "anonymize_series", "snapshots", "write_series"]


def snapshots(folder: str | Path) -> list[Path]:
    """The tables in a folder, in the order of their names."""
    folder = Path(folder)
    found = sorted(path for path in folder.iterdir() if path.is_file() and is_table_file(path))
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
    """Make the releases of a series, in order; the last one's draft holds the memory for what comes after.

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


@dataclass(frozen=True, eq=False)
class Written:
    """Releases of a series, and the files that each became."""

    releases: tuple[Release, ...]
    files: tuple[tuple[str, ...], ...]
    again: bool = False
    """Whether they are those of the run before, from the same tables."""


def write_series(
    data: Path,
    schema: Schema,
    requirement: Requirement,
    *,
    method: str,
    out: Path | None = None,
    memory: Path | None = None,
    inputs: Iterable[Input] = (),
    dialect: Dialect = FOUND,
    force: bool = False,
    options: Options | None = None,
    **more: Any,
) -> Written:
    """Make and write the next releases: of a table, or of all tables in a folder.

    Everything is made before anything is written, the memory first: the same run once more gives the same releases.
    `memory` is a file that is continued, or begun; for a single table there must be one. `inputs` are files beside the
    data that must not be replaced; `more` is for `anonymize_series`.
    """
    files = snapshots(data) if data.is_dir() else [data]
    if memory is None and not data.is_dir():
        raise InputError(f"The method '{method}' follows people from release to release: give --memory FILE to keep.")
    outputs = _outputs(files, data, out, memory, force=force, inputs=inputs)
    run = None if memory is None else SeriesRun.begin(memory, schema, method)
    tables = [Table.read(file, schema, dialect=dialect) for file in files]
    more |= dict(options or {})
    if run is not None:
        more["memory"], more["seed"] = _settled(run, tables, schema, requirement, more)
    releases = anonymize_series(tables, schema, requirement, method=method, **more)
    with Staging() as staging:
        if outputs.folder is not None and not outputs.folder.is_dir():
            staging.add_folder(outputs.folder)
        pairs = zip(releases, (file.path for file in outputs.files if file.table), strict=True)
        written = [release.stage(staging, str(target), force=force) for release, target in pairs]
        kept = releases[-1].draft.memory
        with nullcontext() if run is None or kept is None else run.remembered(kept):
            staging.place()
    return Written(tuple(releases), tuple(map(tuple, written)), again=run is not None and run.is_again)


def _settled(
    run: SeriesRun, tables: Sequence[Table], schema: Schema, requirement: Requirement, more: dict[str, Any]
) -> tuple[Memory, int]:
    """The memory that a run goes on from, and its seed."""
    for table in tables:
        run.add(table.frame)
    asked = {name: value for name, value in more.items() if name != "progress"}
    return run.settle(schema, {"requirement": str(requirement), "tables": len(tables), **asked})


def _outputs(
    files: list[Path], data: Path, out: Path | None, memory: Path | None, *, force: bool, inputs: Iterable[Input]
) -> Outputs:
    """Where each release goes, and the memory: beside a single file; in a folder of their own otherwise."""
    kept = [] if memory is None else [Output("--memory", memory, continues=True)]
    read = (*table_inputs("the data", [data]), *inputs)
    if not data.is_dir():
        target = out or default_output(data, "release")
        return Outputs((Output("--out", target, table=True), *kept), read, force=force)
    folder = out or data.with_name(f"{data.name}.release")
    if folder.exists() and (not folder.is_dir() or folder.samefile(data)):
        raise InputError("--out must be a folder, and not that of the data.")
    if folder.exists() and any(folder.iterdir()) and not force:
        raise InputError(
            f"The folder '{folder}' is not empty. Choose another name, or force=True to replace files in it."
        )
    targets = [Output("--out", folder / file.name, table=True) for file in files]
    return Outputs((*targets, *kept), read, force=force, folder=folder)
