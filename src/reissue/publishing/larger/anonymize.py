"""anonymize_folder: one release of a table larger than memory, written to a folder of Parquet.

The driver sees counts: it splits the table into regions that fit (`algorithms.partition.regions`), and each is grouped
by the method itself. Values are coded as in the whole table, shares are compared with the whole table's, and the whole
release is counted again from what was written before it is there.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.algorithms import Algorithm, Job, find
from reissue.algorithms.partition.frontier import refuse_top_down
from reissue.algorithms.partition.regions import find_regions
from reissue.counting.cells import Counts, Domain
from reissue.data.table import Table, code_column
from reissue.engines.base import Rows
from reissue.engines.coded import CodedRows
from reissue.engines.registry import choose
from reissue.errors import DataError, InputError, InternalError, SchemaError, TaxonomyError, nearest_column
from reissue.files.staging import reason, scratch_folder
from reissue.release.recode import boxes_of, tables_of
from reissue.requirements import Requirement, parse
from reissue.schema import Role, Schema
from reissue.taxonomy.codings import Coding, prepare
from reissue.taxonomy.tree import Taxonomy
from reissue.verify.check import meets
from reissue.verify.counted import read_for_check

__all__ = ["FITS", "ReleaseFolder", "anonymize_folder"]

FITS = 2_000_000
"""Rows of a region, at most, if it can be split."""
_METHODS = ("mondrian",)


@dataclass(frozen=True)
class ReleaseFolder:
    """A release that was written to a folder of Parquet."""

    folder: Path
    rows: int
    groups: int
    """As the method made them; some may look alike."""
    regions: int
    requirement: Requirement
    method: str


@dataclass(frozen=True, eq=False)
class _Coded:
    """How the whole table is coded."""

    schema: Schema
    """Without identifier and provider, which are never published."""
    codings: tuple[Coding, ...]
    secrets: tuple[Coding, ...]
    domain: Domain
    names: tuple[str, ...]
    """The columns that are published, in their order."""
    codes: tuple[pl.Expr, ...]
    value: pl.Expr

    @property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The taxonomy of each quasi-identifier."""
        return tuple(coding.taxonomy for coding in self.codings)


def anonymize_folder(
    data: Any,
    schema: Schema,
    requirement: Requirement | str,
    out: str | Path,
    *,
    method: str = _METHODS[0],
    engine: str = "stream",
    seed: int | None = None,
    fits: int = FITS,
    progress: Callable[[float], None] = lambda _: None,
) -> ReleaseFolder:
    """Make one release of a table larger than memory, and write it to a folder that is not there yet.

    `data` is what the engine opens: for "stream" Parquet, a file or a folder. The release has the same rows as that of
    `anonymize`, in another order. `fits` says how many rows are grouped in memory at a time.
    """
    requirement = parse(requirement) if isinstance(requirement, str) else requirement
    chosen, place = find(method), Path(out)
    _refuse(chosen, requirement, schema, place)
    source = choose(engine, data).open(data)
    if not isinstance(source, Rows):
        raise InputError(f"The engine '{engine}' counts tables and cannot rewrite them. Try engine stream.")
    coded = _code(source, schema)
    _refuse_impossible(requirement, coded.domain)
    with _all_or_nothing(place) as partial, scratch_folder() as scratch:
        rows = CodedRows.write(scratch, source.rows, coded.names, coded.codes, coded.value)
        progress(0.2)
        regions = find_regions(rows, coded.taxonomies, coded.domain, requirement, fits)
        progress(0.4)
        groups = 0
        for number, (region, part) in enumerate(rows.parts(regions), start=1):
            rng = np.random.default_rng(None if seed is None else [seed, region])
            shown, made = _made(coded, part, chosen, requirement, rng)
            shown.write_parquet(partial / f"{number:05d}.parquet")
            groups += made
            progress(0.4 + 0.5 * number / len(regions.sizes))
        _recheck(partial, coded, requirement, method)
    progress(1.0)
    return ReleaseFolder(place, int(coded.domain.totals.sum()), groups, len(regions.sizes), requirement, method)


@contextmanager
def _all_or_nothing(place: Path) -> Iterator[Path]:
    """A folder beside a place, which is moved there when all went well, and goes away otherwise."""
    partial = place.with_name(f".{place.name}.{token_hex(8)}")
    try:
        partial.mkdir()
        yield partial
        partial.rename(place)
    except OSError as problem:
        raise InputError(f"'{place}' cannot be written: {reason(problem)}.") from None
    except pl.exceptions.PolarsError:
        raise DataError(
            "The table cannot be read to its end, or there is no room for it on disk: a file is damaged, the files "
            "differ, or the disk is full."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _made(
    coded: _Coded, part: pl.DataFrame, chosen: Algorithm, requirement: Requirement, rng: np.random.Generator
) -> tuple[pl.DataFrame, int]:
    """The published rows of a region, and how many groups they are."""
    table = Table.read(part, coded.schema, codings=coded.codings, secrets=coded.secrets)
    # Shares are those of the whole table: a region's own would let a group be as uneven as its region.
    table = replace(table, domain=coded.domain)
    draft = chosen.run(Job(table, requirement, rng, 0.0, chosen.settle({})))
    boxes = boxes_of(table, draft)
    shown = tables_of(table, draft, boxes, rng)["release"]
    return shown.with_columns(pl.col(coded.schema.quasi).cast(pl.String)), len(boxes.sizes)


def _recheck(folder: Path, coded: _Coded, requirement: Requirement, method: str) -> None:
    """Count the whole release again from what was written."""
    unasked = () if requirement.sensitive else coded.schema.sensitive
    plan = coded.schema.with_roles(dict.fromkeys(unasked, Role.DROP))
    published = read_for_check(folder, plan, engine="stream")
    if not meets(published, plan, requirement, coded.secrets):
        raise InternalError(
            f"The release that '{method}' made does not meet {requirement} when counted again from its published "
            "columns. Nothing was published. Please report this."
        )


# --- how the whole table is coded ------------------------------------------------------------------------------------


def _code(source: Rows, schema: Schema) -> _Coded:
    """Code every column by its different values."""
    absent = [name for name in schema.used if name not in source.columns]
    if absent:
        hint = nearest_column(absent[0], list(source.columns))
        raise SchemaError(f"The schema names columns that the data lacks: {', '.join(absent)}.{hint}")
    _refuse_people(source, schema)
    quasi = [_coded(source, name, schema) for name in schema.quasi]
    secrets = [_coded(source, name, schema) for name in schema.sensitive]
    if secrets:
        coding, value, totals = secrets[0]
        domain = Domain(totals, coding.taxonomy)
    else:
        value, domain = pl.lit(0, pl.Int32), Domain(np.array([quasi[0][2].sum()], np.int64))
    public = {*schema.quasi, *schema.sensitive, *schema.kept}
    private = [name for name in (schema.identifier, schema.provider) if name is not None]
    return _Coded(
        schema.with_roles(dict.fromkeys(private, Role.DROP)),
        tuple(coding for coding, _, _ in quasi),
        tuple(coding for coding, _, _ in secrets),
        domain,
        tuple(name for name in source.columns if name in public),
        tuple(code for _, code, _ in quasi),
        value,
    )


def _coded(source: Rows, name: str, schema: Schema) -> tuple[Coding, pl.Expr, Ints]:
    """A column's coding, what codes it, and how often each code occurs."""
    found, column = source.counts([name]), pl.col(name)
    values, real = found.values[name], found.values[name].dtype.is_float()
    if not len(values):
        raise DataError("The table has no rows.")
    column, values = (column.fill_nan(None), values.fill_nan(None)) if real else (column, values)
    coding = code_column(values, schema)
    codes, unlisted = coding.encode(prepare(values, coding.hierarchy))
    if len(unlisted):
        raise TaxonomyError(
            f"Column '{name}' has {len(unlisted)} different values that its taxonomy lacks. Add them to the hierarchy, "
            f'or write  unlisted = "root"  under [taxonomy.{name}] to hang them directly under the root.'
        )
    totals = np.bincount(codes, found.times.to_numpy(), coding.taxonomy.size).astype(np.int64)
    once = pl.DataFrame({"value": values, "code": codes}).unique("value", maintain_order=True)
    return coding, column.replace_strict(once["value"], once["code"], return_dtype=pl.Int32), totals


# --- what cannot be done ---------------------------------------------------------------------------------------------


def _refuse(chosen: Algorithm, requirement: Requirement, schema: Schema, place: Path) -> None:
    if chosen.name not in _METHODS:
        raise InputError(
            f"The method '{chosen.name}' needs the whole table in memory. Larger than memory there is: "
            f"{', '.join(_METHODS)}."
        )
    if not schema.quasi:
        raise SchemaError("The schema names no quasi-identifier: there is nothing to generalize.")
    if schema.several_rows or len(schema.sensitive) > 1:
        raise InputError("Several rows per person and several sensitive columns need the whole table in memory.")
    if any(part.across for part in requirement.parts()):
        raise InputError(f"{requirement} is asked of the release as a whole, which needs it in memory.")
    if requirement.sensitive and not schema.sensitive:
        raise SchemaError(
            f"The requirement {requirement} looks at sensitive values, but the schema names no such column."
        )
    if place.exists():
        raise InputError(f"'{place}' is there already. Name a folder that is not.")


def _refuse_people(source: Rows, schema: Schema) -> None:
    """Stop where an identifier is missing or not unique: every row must be somebody else's."""
    if schema.identifier is None:
        return
    ids = pl.col(schema.identifier).cast(pl.String).str.strip_chars()
    counted = source.rows.select(ids.null_count().alias("missing"), ids.n_unique().alias("different"), pl.len())
    missing, different, rows = counted.collect(engine="streaming").row(0)
    if missing:
        raise DataError(f"The identifier '{schema.identifier}' is missing in {missing} rows.")
    if different < rows:
        raise DataError(f"The identifier '{schema.identifier}' is not unique: one row per person is needed.")


def _refuse_impossible(requirement: Requirement, domain: Domain) -> None:
    """Stop where the table as a whole does not meet a requirement."""
    values = np.arange(domain.size, dtype=np.int32)
    whole = Counts(np.zeros(domain.size, np.int32), values, domain, 1, domain.totals)
    requirement.fits(domain)
    for part in requirement.parts():
        part.refuse_impossible(whole, suppressing=False)
    refuse_top_down(requirement, whole)
