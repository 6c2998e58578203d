"""One release of a table larger than memory: to a folder of Parquet, or from one Spark DataFrame to another.

The driver sees counts: it splits the table into regions that fit (`methods.partition.regions`), and each is grouped
by the method itself. Values are coded as in the whole table, shares are compared with the whole table's, and the whole
release is counted again from what was written before it is there.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from reissue.engines.base import FinishedRows, RegionWork, Rewritable
from reissue.engines.registry import SPARK, choose
from reissue.errors import DataError, InputError, InternalError
from reissue.files.staging import Staging, reason
from reissue.methods import find
from reissue.methods.partition.regions import find_regions
from reissue.published.counted import read_counted
from reissue.publishing.larger.asked import Asked
from reissue.publishing.larger.coding import WholeCoding, code_whole
from reissue.publishing.larger.making import ByMethod, decide_cuts
from reissue.release.release import TIGHT
from reissue.requirements import Requirement
from reissue.schema import Role, Schema
from reissue.verify.by_parts import meets_by_parts, value_totals

__all__ = ["ReleaseFolder", "ReleaseFrame", "anonymize_frame", "fill_folder", "write_release"]


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """What is known of a release that is not in memory."""

    rows: int
    groups: int
    """As the method made them; some may look alike. By cuts: added up over regions."""
    regions: int
    loss: float
    """The share of what the quasi-identifiers say that is lost; rows left out lose all."""
    requirement: Requirement
    method: str
    warnings: tuple[str, ...] = ()
    """What whoever sends it out should know."""


@dataclass(frozen=True, kw_only=True)
class ReleaseFolder(_Outcome):
    """A release that was written to a folder of Parquet."""

    folder: Path


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseFrame(_Outcome):
    """A release as a DataFrame of the engine that made it; the engine keeps its rows until `close`."""

    frame: Any
    close: Callable[[], None] = field(repr=False)
    """Gives up the rows: write `frame` somewhere before."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_release(
    data: Any,
    schema: Schema,
    asked: Asked,
    place: Path,
    engine: str,
    seed: int | None,
    fits: int | None,
    progress: Callable[[float], None],
) -> ReleaseFolder:
    """Make a release region by region, and write it to a folder that is not there yet."""
    if place.exists():
        raise InputError(f"'{place}' is there already. Name a folder that is not.")
    with Staging() as staging:
        made = fill_folder(data, schema, asked, staging.add_folder(place), engine, seed, fits, progress)
        staging.place()
    progress(1.0)
    return replace(made, folder=place)


def fill_folder(
    data: Any,
    schema: Schema,
    asked: Asked,
    folder: Path,
    engine: str,
    seed: int | None,
    fits: int | None,
    progress: Callable[[float], None],
) -> ReleaseFolder:
    """The same into an empty folder, which may be left with some of it if anything goes wrong."""
    source, asked = _rewritable(data, engine), asked.with_earlier(engine, schema)
    try:
        made = _run(source, schema, asked, folder, seed, fits, progress)
    except OSError as problem:
        raise InputError(f"The release cannot be written: {reason(problem)}.") from None
    except pl.exceptions.PolarsError:
        raise DataError(
            "The table cannot be read to its end, or there is no room for it on disk: a file is damaged, the files "
            "differ, or the disk is full."
        ) from None
    return ReleaseFolder(folder=folder, **made.known(asked))


def anonymize_frame(
    data: Any,
    schema: Schema,
    requirement: Requirement | str,
    *,
    method: str = "mondrian",
    suppress: float = 0.0,
    seed: int | None = None,
    fits: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
    boxes: str = "nodes",
    **options: Any,
) -> ReleaseFrame:
    """Make one release of a Spark DataFrame, as a Spark DataFrame: no row comes to the driver.

    The release has the same rows as that of `anonymize` in memory. Other dataframes are for `anonymize`.

    Parameters
    ----------
    data
        The Spark DataFrame.
    schema
        The roles of the columns.
    requirement
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
        The release; `.frame` is the Spark DataFrame.

    Raises
    ------
    InputError
        If `data` is not a Spark DataFrame, or does not fit the schema.

    Examples
    --------
    >>> import reissue as ri
    >>> release = ri.anonymize_frame(patients, schema, "k=5")  # doctest: +SKIP
    """
    asked = Asked.of(method, requirement, suppress, boxes, options, schema)
    source, asked = _rewritable(data, SPARK), asked.with_earlier(SPARK, schema)
    made = _run(source, schema, asked, None, seed, fits, progress)
    progress(1.0)
    frame = getattr(made.finished.source, "frame", None)
    return ReleaseFrame(frame=frame, close=made.finished.drop, **made.known(asked))


def _rewritable(data: Any, engine: str) -> Rewritable:
    source = choose(engine, data).open(data)
    if not isinstance(source, Rewritable):
        raise InputError(f"The engine '{engine}' counts tables and cannot rewrite them. Try engine stream.")
    return source


def _run(
    source: Rewritable,
    schema: Schema,
    asked: Asked,
    place: Path | None,
    seed: int | None,
    fits: int | None,
    progress: Callable[[float], None],
) -> "_Run":
    """The release, counted again."""
    with source.held([name for name in source.columns if name in schema.used]) as held:
        return _made(held, schema, asked, place, seed, fits, progress)


def _made(
    source: Rewritable,
    schema: Schema,
    asked: Asked,
    place: Path | None,
    seed: int | None,
    fits: int | None,
    progress: Callable[[float], None],
) -> "_Run":
    """The same of rows that the engine holds, so that they are handed over once."""
    sequence: Any = np.random.default_rng(seed).bit_generator.seed_seq
    entropy = sequence.entropy
    coding, plan = code_whole(
        source,
        schema,
        sensitive=asked.requirement.sensitive,
        tight=asked.tight,
        person=asked.drawn(entropy),
        by_provider=asked.by_provider,
    )
    judged, counted = asked.region_rule(coding)
    make = decide_cuts(source, coding, asked, entropy) if asked.by_cells else ByMethod(coding, asked, entropy)
    with source.coded(plan) as rows:
        progress(0.2)
        size = int(coding.domain.totals.sum())
        regions = find_regions(rows, size, coding.taxonomies, counted, judged, asked.most(fits, size))
        progress(0.4)
        work = RegionWork(regions, make, place, lambda share: progress(0.4 + 0.5 * share), asked.any_order)
        finished = rows.finish(work)
        with ExitStack() as stack:
            stack.callback(finished.drop)
            _recheck(finished, coding, asked)
            loss = _loss(finished, coding, asked)
            stack.pop_all()
    return _Run(finished, len(regions.sizes), loss)


def _loss(made: FinishedRows, coding: WholeCoding, asked: Asked) -> float:
    """The mean over all rows; what is left out, and a value that must have been changed, is lost whole."""
    rows, changed = int(coding.domain.totals.sum()), 0
    if find(asked.method).changes_values:
        published = value_totals(made.source, coding.schema, coding.secrets)
        changed = int(np.maximum(published - coding.domain.totals, 0).sum())
    each = made.lost / max(made.rows, 1)
    return ((made.rows - changed) * each + changed + rows - made.rows) / rows


@dataclass(frozen=True, eq=False)
class _Run:
    finished: FinishedRows
    regions: int
    loss: float

    def known(self, asked: Asked) -> dict[str, Any]:
        """What is told of it."""
        told = {"rows": self.finished.rows, "groups": self.finished.groups, "regions": self.regions, "loss": self.loss}
        warnings = (TIGHT,) if asked.tight and not asked.by_cells else ()
        return {**told, "requirement": asked.requirement, "method": asked.method, "warnings": warnings}


def _recheck(release: FinishedRows, coding: WholeCoding, asked: Asked) -> None:
    """Count the whole release again from what was written."""
    unasked = () if asked.requirement.sensitive else coding.schema.sensitive
    plan = coding.schema.with_roles(dict.fromkeys(unasked, Role.DROP))
    if not meets_by_parts(release.source, release.parts, plan, asked.requirement, coding.secrets):
        raise InternalError(
            f"The release that '{asked.method}' made does not meet {asked.requirement} when counted again from its "
            "published columns. Nothing was published. Please report this."
        )
    again = find(asked.method).recheck_counted
    if again is not None:
        shown = read_counted(release.source, coding.schema)
        again(shown, coding.codings, asked.requirement, asked.options)
