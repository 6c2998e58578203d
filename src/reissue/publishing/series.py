"""A whole series at once: snapshot after snapshot through a stateful method, with a memory file between two runs.

The memory is on disk before the releases take their places. It remembers the one before too, and tells by a
fingerprint the tables of its last run and what was asked: after a crash the same command makes the same releases, not
the next ones. Without a seed they follow from the memory's key, the tables and what is asked.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from reissue.counting.hashing import RowDigest
from reissue.data.outputs import Input, Output, Outputs, table_inputs
from reissue.data.table import Table
from reissue.errors import DataError, InputError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.places import FORMATS, default_output, is_table_file
from reissue.files.staging import Staging
from reissue.files.tables import write_private
from reissue.ledger.fingerprints import fingerprint_by_rows, row_digest
from reissue.ledger.key import Key
from reissue.publishing.anonymize import anonymize
from reissue.release.memory import Memory, SeriesFile, fingerprint, load_series, pack_memory
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.schema import Options, Schema

__all__ = ["AGAIN", "SeriesRun", "Written", "anonymize_series", "snapshots", "write_series"]


AGAIN = "This is the last run of the series once more: these are the same releases, not the next ones."
_PLACE = "\0place"


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
                progress=lambda share, done=number: progress((done + share) / len(tables)),
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
    run: "SeriesRun", tables: Sequence[Table], schema: Schema, requirement: Requirement, more: dict[str, Any]
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


# --- a run that the memory file remembers ----------------------------------------------------------------------------


@dataclass(eq=False)
class SeriesRun:
    """A run: its rows are added in order, then it is known which it is."""

    file: Path
    kept: SeriesFile
    rows: RowDigest
    mark: str = ""

    @classmethod
    def begin(cls, file: Path, schema: Schema, method: str) -> Self:
        """Open the memory file of a series, or begin one."""
        if file.exists():
            kept = load_series(file)
        else:
            memory = Memory(fingerprint(schema), method, secrets.token_bytes(16))
            kept = SeriesFile(memory, memory, "")
        return cls(file, kept, row_digest(Key(kept.memory.key)))

    def add(self, frame: pl.DataFrame, *, in_order: bool = True) -> None:
        """Some more rows; in another order they make other releases."""
        place = pl.int_range(self.rows.rows, self.rows.rows + frame.height, eager=True).alias(_PLACE)
        self.rows.add(frame.with_columns(place) if in_order else frame)

    def settle(self, schema: Schema, asked: Mapping[str, Any]) -> tuple[Memory, int]:
        """With what is asked: the memory to go on from, and the seed."""
        key, seed = Key(self.kept.memory.key), asked.get("seed")
        said = [schema.dumps(), sorted([name, repr(value)] for name, value in asked.items())]
        self.mark = fingerprint_by_rows(key, said, self.rows)
        drawn = int.from_bytes(key.derive("seed", self.mark.encode())[:16], "little")
        return self.kept.before if self.is_again else self.kept.memory, drawn if seed is None else seed

    @property
    def is_again(self) -> bool:
        """Whether the file remembers this run already."""
        return self.mark == self.kept.mark

    @contextmanager
    def remembered(self, after: Memory) -> Iterator[None]:
        """The memory after the run is on disk while its releases are placed; as before if they cannot be."""
        before = self.file.read_bytes() if self.file.exists() else None
        gone_on_from = self.kept.before if self.is_again else self.kept.memory
        write_private(pack_memory(SeriesFile(after, gone_on_from, self.mark)), self.file, force=True)
        try:
            yield
        except BaseException:
            with suppress(OSError, InputError):
                self.file.unlink() if before is None else write_private(before, self.file, force=True)
            raise
