"""`anonymize_folder` and `anonymize_frame`: a release where the rows lie, in a folder of Parquet or in Spark.

A method that can decide by regions or on counts never sees all rows (`by_regions`). Any other gets the codes of all
rows (`coding.table_by_codes`) and works on them as in memory; its release is written some rows at a time.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from reissue._renamed import renamed
from reissue.data.table import Table
from reissue.engines.base import InBatches, Source
from reissue.engines.registry import MEMORY, choose
from reissue.errors import InputError
from reissue.files.places import beside_folder, refuse_existing
from reissue.files.staging import Staging
from reissue.publishing.anonymize import anonymize
from reissue.publishing.by_regions import ReleaseFolder, ReleaseFrame, fill_folder, frame_of
from reissue.publishing.coding import table_by_codes
from reissue.publishing.recipe import BOXES, DEFAULT_METHOD, Recipe
from reissue.publishing.series import SeriesRun
from reissue.release.memory import Memory
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.schema import Schema
from reissue.utility import measure

__all__ = ["PART", "anonymize_folder", "anonymize_frame"]

PART = 250_000
"""Rows of a file, unless said otherwise."""


@renamed(requirement="require")
def anonymize_folder(
    data: Any,
    schema: Schema | Mapping[str, Any] | str | Path,
    require: Requirement | str,
    out: str | Path,
    *,
    method: str = DEFAULT_METHOD,
    suppress: float = 0.0,
    seed: int | None = None,
    boxes: str = BOXES[0],
    memory: str | Path | None = None,
    newcomers: bool = False,
    progress: Callable[[float], None] = lambda _: None,
    engine: str = "stream",
    fits: int | None = None,
    **options: Any,
) -> ReleaseFolder:
    """Make one release and write it to a new folder of Parquet; the table may be larger than memory.

    The release has the same rows as that of `anonymize` with the same options, in another order. All of it is
    written, or nothing.

    Parameters
    ----------
    data
        What the engine opens: for "stream", Parquet, a file or a folder.
    schema
        The roles of the columns: a Schema, a mapping of columns to roles, or a path.
    require
        What every group must meet: text such as "k=5 & l=3", or requirements joined with `&`.
    out
        The folder to write to. It must not exist. A second table of a release goes to a folder beside it.
    method
        How groups are formed.
    engine
        Who reads and counts: "stream", "spark", "memory", or "auto", which goes by the size of the data.
    suppress
        The share of records that may be suppressed.
    seed
        The seed of all random choices; by default one is drawn and forgotten.
    fits
        How many rows are grouped in memory at a time; where the method looks at all rows at once, how many rows a
        file has.
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
    recipe, schema, place = Recipe.of(method, require, suppress, boxes, options), Schema.read(schema), Path(out)
    recipe.refuse_memory(memory)
    chosen, why = choose(engine, data), recipe.why_all_rows(schema)
    if chosen.name != MEMORY:
        schema.refuse_repairs()
    if chosen.name != MEMORY and not why:
        return _write_regions(data, schema, recipe, place, engine, seed, fits, progress)
    source = None if chosen.name == MEMORY else _refuse_distant(chosen.open(data), engine, method, why)
    more = {"method": method, "suppress": suppress, "boxes": boxes, "newcomers": newcomers, **options}
    writing = _WholeTable(data, source, schema, recipe.requirement, place, more)
    release = writing.write(seed, None if memory is None else Path(memory), PART if fits is None else fits, progress)
    return ReleaseFolder(
        folder=place,
        rows=next(iter(release.tables.values())).height,
        groups=release.groups,
        regions=1,
        loss=measure(release, queries=0).loss,
        requirement=release.requirement,
        method=release.method,
        warnings=release.warnings,
    )


@renamed(requirement="require")
def anonymize_frame(
    data: Any,
    schema: Schema | Mapping[str, Any] | str | Path,
    require: Requirement | str,
    *,
    method: str = DEFAULT_METHOD,
    suppress: float = 0.0,
    seed: int | None = None,
    boxes: str = BOXES[0],
    progress: Callable[[float], None] = lambda _: None,
    fits: int | None = None,
    **options: Any,
) -> ReleaseFrame:
    """Make one release of a Spark DataFrame, as a Spark DataFrame: no row comes to the driver.

    The release has the same rows as that of `anonymize` in memory. Other dataframes are for `anonymize`.

    Parameters
    ----------
    data
        The Spark DataFrame.
    schema
        The roles of the columns: a Schema, a mapping of columns to roles, or a path.
    require
        What every group must meet: text such as "k=5 & l=3", or requirements joined with `&`.
    method
        How groups are formed. Methods that look at all rows at once are refused.
    suppress
        The share of records that may be suppressed.
    seed
        The seed of all random choices; by default one is drawn and forgotten.
    fits
        How many rows a task groups, at most.
    progress
        Called with the share of the work that is done.
    boxes
        "nodes" or "tight", as for `anonymize`.
    **options
        Options of the method.

    Returns
    -------
    ReleaseFrame
        The release; `.frame` is the Spark DataFrame. Spark keeps its rows until `close`, or the end of a `with`
        statement.

    Raises
    ------
    InputError
        If `data` is not a Spark DataFrame, or does not fit the schema.

    Examples
    --------
    >>> import reissue as ri
    >>> release = ri.anonymize_frame(patients, schema, "k=5")  # doctest: +SKIP
    """
    recipe = Recipe.of(method, require, suppress, boxes, options)
    return frame_of(data, Schema.read(schema), recipe, seed=seed, fits=fits, progress=progress)


def _write_regions(
    data: Any,
    schema: Schema,
    recipe: Recipe,
    place: Path,
    engine: str,
    seed: int | None,
    fits: int | None,
    progress: Callable[[float], None],
) -> ReleaseFolder:
    """The same into a folder that is there whole, or not at all."""
    _refuse_folder(place)
    with Staging() as staging:
        folder = staging.add_folder(place)
        made = fill_folder(data, schema, recipe, folder, engine, seed=seed, fits=fits, progress=progress)
        staging.place()
    progress(1.0)
    return replace(made, folder=place)


def _refuse_folder(place: Path) -> None:
    if place.exists():
        raise InputError(f"'{place}' is there already. Name a folder that is not.")


# --- the whole table at once -----------------------------------------------------------------------------------------


def _refuse_distant(source: Source, engine: str, method: str, why: str) -> InBatches:
    """The same source, if rows come here from where it lies."""
    if isinstance(source, InBatches):
        return source
    raise InputError(
        f"The method '{method}' needs the whole table in memory, or the codes of all its rows: {why}. The engine "
        f"'{engine}' leaves rows where they are. Use engine memory, stream or spark."
    )


@dataclass(frozen=True, eq=False)
class _WholeTable:
    """A release that is made of all rows at once, and written to a folder."""

    data: Any
    source: InBatches | None
    """Whoever holds the rows; None where they are read into memory."""
    schema: Schema
    requirement: Requirement
    place: Path
    more: Mapping[str, Any]
    """Further arguments of `anonymize`."""

    def write(self, seed: int | None, memory: Path | None, rows: int, progress: Callable[[float], None]) -> Release:
        """Make it, and write all its tables and the memory of its series, or nothing; a file has so many `rows`."""
        _refuse_folder(self.place)
        refuse_existing(self.place, force=False, table=False)
        run = None if memory is None else SeriesRun.begin(memory, self.schema, self.more["method"])
        before, seed = (None, seed) if run is None else self._settled(run, seed)
        progress(0.2)
        release = anonymize(
            self._table(before),
            self.schema,
            self.requirement,
            seed=seed,
            memory=before,
            progress=lambda done: progress(0.2 + 0.6 * done),
            **self.more,
        )
        with Staging() as staging:
            for number, name in reversed(list(enumerate(release.tables))):  # so that all is there when the first one is
                folder = self.place if number == 0 else beside_folder(self.place, name)
                _stage(staging, folder, release.in_parts(name, rows))
            kept = release.draft.memory
            with nullcontext() if run is None or kept is None else run.remembered(kept):
                staging.place()
        progress(1.0)
        return release

    def _table(self, memory: Memory | None) -> Table:
        if self.source is None:
            return Table.read(self.data, self.schema)
        return table_by_codes(self.source, self.schema, memory)

    def _settled(self, run: SeriesRun, seed: int | None) -> tuple[Memory, int]:
        """The memory that a run of a series goes on from, and its seed."""
        if self.source is None:
            run.add(Table.read(self.data, self.schema).frame)
        else:
            for batch in self.source.batches([name for name in self.source.columns if name in self.schema.used]):
                run.add(batch, in_order=self.source.in_order)
        return run.settle(self.schema, {"requirement": str(self.requirement), "seed": seed, **self.more})


def _stage(staging: Staging, folder: Path, parts: Iterator[pl.DataFrame]) -> None:
    staging.add_folder(folder)
    for number, part in enumerate(parts, start=1):
        staging.add(folder / f"{number:05d}.parquet", part.write_parquet)
