"""Releases of a table larger than memory by methods that look at all rows at once: they look at codes.

Of each row a number of four bytes for every quasi-identifier comes into memory, which of the different sensitive values
it has, its identifier, and what is kept as it is. The method is then run as it is in memory, and so the release has the
same rows. It is written some rows at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.algorithms import Algorithm
from reissue.data.table import Table, joint_codes, people_of
from reissue.engines.base import ColumnCodes, Counted, InBatches, Source
from reissue.errors import DataError, InputError, SchemaError
from reissue.files.places import SECOND_TABLES, beside_folder, refuse_existing
from reissue.files.staging import Staging
from reissue.publishing.anonymize import anonymize
from reissue.publishing.larger.coding import coded_column, refuse_source
from reissue.release.memory import Memory, load_memory, pack_memory
from reissue.release.release import Release
from reissue.requirements import Requirement
from reissue.schema import Schema
from reissue.taxonomy.codings import Coding

__all__ = ["PART", "refuse_by_codes", "table_by_codes", "write_by_codes"]

PART = 250_000
"""Rows of a file, unless said otherwise."""


def refuse_by_codes(source: Source, engine: str, chosen: Algorithm) -> InBatches:
    """The same source, if rows come here from where it lies."""
    if isinstance(source, InBatches):
        return source
    raise InputError(
        f"The method '{chosen.name}' needs the whole table in memory, or the codes of all its rows: "
        f"{chosen.whole_table}. The engine '{engine}' leaves rows where they are. Use engine stream or memory."
    )


# --- the table -------------------------------------------------------------------------------------------------------


def table_by_codes(source: InBatches, schema: Schema, memory: Memory | None = None) -> Table:
    """A table of codes, without its quasi-identifiers as they were; what is remembered of a series has codes too."""
    if not schema.quasi:
        raise SchemaError("The schema names no quasi-identifier: there is nothing to generalize.")
    if schema.several_rows:
        raise InputError("Several rows per person need the whole table in memory: use engine memory.")
    refuse_source(source, schema)
    kinds = {name: kind for name, kind in source.columns.items() if name in schema.used}
    listed = [*schema.quasi, *schema.sensitive, *([] if schema.provider is None else [schema.provider])]
    found = {
        name: Counted(one.values.cast({name: kinds[name]}), one.times) for name, one in source.distinct(listed).items()
    }
    quasi = [_coded(found, name, schema, None if memory is None else memory.rows) for name in schema.quasi]
    secrets = [_coded(found, name, schema, None if memory is None else memory.values) for name in schema.sensitive]
    rows = _read(source, schema, kinds, found, [one.codes for one in quasi])
    people_of(rows.frame, schema)  # `1` and `1.0` are one person, whom an engine that counts texts takes for two
    hidden = [one.codes.codes[rows.place[one.codes.name]] for one in secrets]
    codings = tuple(one.coding for one in secrets)
    sensitive, domain, joint = joint_codes(hidden, codings, rows.codes.shape[1])
    return Table(
        schema,
        tuple(one.coding for one in quasi),
        rows.codes,
        sensitive,
        domain,
        codings,
        joint,
        rows.frame,
        lambda frame: frame,
        given=kinds,
    )


@dataclass(frozen=True, eq=False)
class _Column:
    coding: Coding
    codes: ColumnCodes


@dataclass(frozen=True, eq=False)
class _Rows:
    """What comes into memory."""

    codes: Codes
    """Quasi-identifiers x rows."""
    place: Mapping[str, Ints]
    """Sensitive columns and providers: which of its different values a row has."""
    frame: pl.DataFrame
    """All columns but quasi-identifiers."""


def _coded(found: Mapping[str, Counted], name: str, schema: Schema, past: pl.DataFrame | None) -> _Column:
    coding, codes, _ = coded_column(found[name], name, schema, None if past is None else past[name])
    return _Column(coding, codes)


def _read(
    source: InBatches,
    schema: Schema,
    kinds: Mapping[str, pl.DataType],
    found: Mapping[str, Counted],
    quasi: Sequence[ColumnCodes],
) -> _Rows:
    """Read all rows once, some at a time."""
    size = int(found[schema.quasi[0]].times.sum())
    listed = {name: _different(one.values[name]) for name, one in found.items() if name not in schema.quasi}
    places = [ColumnCodes(name, one, np.arange(len(one), dtype=np.int32)) for name, one in listed.items()]
    other = [name for name in kinds if name not in schema.quasi and name not in listed]
    held = {name: pl.Categorical(pl.Categories.random()) for name in schema.kept if kinds[name] == pl.String}
    wanted = [
        *(one.code().alias(f"q{number}") for number, one in enumerate(quasi)),
        *(one.code().alias(f"v{number}") for number, one in enumerate(places)),
        *(pl.col(name).cast(held.get(name, kinds[name])).alias(f"o{at}") for at, name in enumerate(other)),
    ]
    codes = np.empty((len(quasi) + len(places), size), np.int32)
    rest, start = [], 0
    for batch in source.batches(wanted):
        stop = start + batch.height
        if stop > size:
            raise DataError(_CHANGED)
        for number, column in enumerate(batch.get_columns()[: len(codes)]):
            codes[number, start:stop] = column.to_numpy()
        rest.append(batch[:, len(codes) :])
        start = stop
    if start < size:
        raise DataError(_CHANGED)
    whole = pl.concat(rest, rechunk=True) if other else pl.DataFrame()
    place = {one.name: codes[len(quasi) + number] for number, one in enumerate(places)}
    columns = {name: _categories(listed[name]).gather(at).alias(name) for name, at in place.items()}
    columns |= {name: whole[f"o{number}"].alias(name) for number, name in enumerate(other)}
    return _Rows(codes[: len(quasi)], place, pl.DataFrame([columns[name] for name in kinds if name in columns]))


_CHANGED = "The table changed while it was read."


def _different(values: pl.Series) -> pl.Series:
    """The different values; not-a-number is missing."""
    return (values.fill_nan(None) if values.dtype.is_float() else values).unique(maintain_order=True)


def _categories(values: pl.Series) -> pl.Series:
    """Texts as categories: four bytes a row."""
    return values.cast(pl.Categorical(pl.Categories.random())) if values.dtype == pl.String else values


# --- the release -----------------------------------------------------------------------------------------------------


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
    _refuse_beside(place)
    earlier = load_memory(memory) if memory is not None and memory.exists() else None
    table = table_by_codes(source, schema, earlier)
    progress(0.2)
    more = dict(asked) if earlier is None else {"memory": earlier, **asked}
    release = anonymize(table, schema, requirement, progress=lambda done: progress(0.2 + 0.6 * done), **more)
    with Staging() as staging:
        for number, name in enumerate(release.tables):
            folder = place if number == 0 else beside_folder(place, name)
            _stage(staging, folder, release.in_parts(name, PART if rows is None else rows))
        kept = release.draft.memory
        if memory is not None and kept is not None:
            staging.add_bytes(memory, pack_memory(kept), replaces=True, private=True)
        staging.place()
    progress(1.0)
    return release


def _refuse_beside(place: Path) -> None:
    """Stop before work starts if there is something already where the release goes."""
    for one in (place, *(beside_folder(place, name) for name in SECOND_TABLES)):
        if one.exists():
            raise InputError(f"'{one}' is there already. Name a folder that is not.")
    refuse_existing(place, force=False, table=False)


def _stage(staging: Staging, folder: Path, parts: Iterator[pl.DataFrame]) -> None:
    staging.add_folder(folder)
    for number, part in enumerate(parts, start=1):
        staging.add(folder / f"{number:05d}.parquet", part.write_parquet)
