"""anonymize_folder: one release of a table larger than memory, written to a folder of Parquet.

The driver sees counts: it splits the table into regions that fit (`algorithms.partition.regions`), and each is grouped
by the method itself. Values are coded as in the whole table, shares are compared with the whole table's, and the whole
release is counted again from what was written before it is there.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import polars as pl

from reissue.algorithms import Algorithm, Job, find
from reissue.algorithms.partition.frontier import refuse_top_down
from reissue.algorithms.partition.regions import find_regions
from reissue.counting.cells import Counts, Domain
from reissue.data.table import Table
from reissue.engines.base import FinishedRows, MadeRegion, Rewritable
from reissue.engines.registry import choose
from reissue.errors import DataError, InputError, InternalError, SchemaError
from reissue.files.staging import reason
from reissue.publishing.larger.coding import WholeCoding, code_whole
from reissue.release.recode import boxes_of, tables_of
from reissue.requirements import Requirement, parse
from reissue.schema import Role, Schema
from reissue.verify.by_parts import meets_by_parts

__all__ = ["FITS", "ReleaseFolder", "anonymize_folder"]

FITS = 500_000, 2_000_000
"""Rows of a region, at most, if it can be split: of a small table and of a large one."""
_REGIONS = 50
"""About so many regions there are before they become larger: every row is looked at for each."""
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


def anonymize_folder(
    data: Any,
    schema: Schema,
    requirement: Requirement | str,
    out: str | Path,
    *,
    method: str = _METHODS[0],
    engine: str = "stream",
    seed: int | None = None,
    fits: int | None = None,
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
    if not isinstance(source, Rewritable):
        raise InputError(f"The engine '{engine}' counts tables and cannot rewrite them. Try engine stream.")
    with _all_or_nothing(place) as beside:
        finished, rows, regions = _Work(source, schema, requirement, chosen, seed, fits).run(beside, progress)
    progress(1.0)
    return ReleaseFolder(place, rows, finished.groups, regions, requirement, method)


@dataclass(frozen=True, eq=False)
class _Work:
    """One release, from a table that an engine has opened."""

    source: Rewritable
    schema: Schema
    requirement: Requirement
    method: Algorithm
    seed: int | None
    fits: int | None

    def run(self, place: Path | None, progress: Callable[[float], None]) -> tuple[FinishedRows, int, int]:
        """The release, counted again; its rows; and its regions."""
        requirement, method = self.requirement, self.method
        coding, plan = code_whole(self.source, self.schema, sensitive=requirement.sensitive)
        _refuse_impossible(requirement, coding.domain)
        make = partial(_made, coding, method.name, requirement, np.random.SeedSequence(self.seed).entropy)
        with self.source.coded(plan) as rows:
            progress(0.2)
            regions = find_regions(rows, coding.taxonomies, coding.domain, requirement, self._fits(coding.domain))
            progress(0.4)
            finished = rows.finish(regions, make, place, lambda share: progress(0.4 + 0.5 * share))
            _recheck(finished, coding, requirement, method.name)
        return finished, int(coding.domain.totals.sum()), len(regions.sizes)

    def _fits(self, domain: Domain) -> int:
        least, most = FITS
        return min(max(int(domain.totals.sum()) // _REGIONS, least), most) if self.fits is None else self.fits


@contextmanager
def _all_or_nothing(place: Path) -> Iterator[Path]:
    """A folder beside a place, which is moved there when all went well, and goes away otherwise."""
    beside = place.with_name(f".{place.name}.{token_hex(8)}")
    try:
        beside.mkdir()
        yield beside
        beside.rename(place)
    except OSError as problem:
        raise InputError(f"'{place}' cannot be written: {reason(problem)}.") from None
    except pl.exceptions.PolarsError:
        raise DataError(
            "The table cannot be read to its end, or there is no room for it on disk: a file is damaged, the files "
            "differ, or the disk is full."
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _made(
    coding: WholeCoding, method: str, requirement: Requirement, seed: Any, region: int, part: pl.DataFrame
) -> MadeRegion:
    """The published rows of a region."""
    chosen, rng = find(method), np.random.default_rng([seed, region])
    table = Table.read(part, coding.schema, codings=coding.codings, secrets=coding.secrets)
    # Shares are those of the whole table: a region's own would let a group be as uneven as its region.
    table = replace(table, domain=coding.domain)
    draft = chosen.run(Job(table, requirement, rng, 0.0, chosen.settle({})))
    boxes = boxes_of(table, draft)
    shown = tables_of(table, draft, boxes, rng)["release"]
    return MadeRegion(shown.with_columns(pl.col(coding.schema.quasi).cast(pl.String)), len(boxes.sizes))


def _recheck(release: FinishedRows, coding: WholeCoding, requirement: Requirement, method: str) -> None:
    """Count the whole release again from what was written."""
    unasked = () if requirement.sensitive else coding.schema.sensitive
    plan = coding.schema.with_roles(dict.fromkeys(unasked, Role.DROP))
    if not meets_by_parts(release.source, release.parts, plan, requirement, coding.secrets):
        raise InternalError(
            f"The release that '{method}' made does not meet {requirement} when counted again from its published "
            "columns. Nothing was published. Please report this."
        )


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


def _refuse_impossible(requirement: Requirement, domain: Domain) -> None:
    """Stop where the table as a whole does not meet a requirement."""
    values = np.arange(domain.size, dtype=np.int32)
    whole = Counts(np.zeros(domain.size, np.int32), values, domain, 1, domain.totals)
    requirement.fits(domain)
    for part in requirement.parts():
        part.refuse_impossible(whole, suppressing=False)
    refuse_top_down(requirement, whole)
