"""A release made region by region, wherever an engine holds the rows; or row by row, by cuts decided on counts.

The driver sees counts: it splits the table into regions that fit in memory (`methods.partition.regions`), and the
method groups each of them. Values are coded as in the whole table, shares are compared with the whole table's, and the
whole release is counted again from what was written before anybody gets it.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Counts, Domain
from reissue.counting.keys import pack, rank
from reissue.data.draws import FixedDraws, draw_key, with_draws
from reissue.data.table import Table, column_margins
from reissue.engines.base import FinishedRows, MadeRegion, PersonDraw, RegionWork, Rewritable, Source
from reissue.engines.registry import SPARK, choose, open_where_it_lies
from reissue.errors import DataError, InputError, InternalError, SchemaError
from reissue.files.staging import reason
from reissue.methods import ByRegions, Job, find
from reissue.methods.partition.frontier import refuse_top_down
from reissue.methods.partition.regions import find_regions, region_generator, region_rows
from reissue.methods.registry import Trait
from reissue.published.counted import read_counted
from reissue.publishing.coding import WholeCoding, code_whole
from reissue.publishing.recipe import Recipe
from reissue.release.recode import boxes_of, tables_of
from reissue.release.release import TIGHT, Draft, Release
from reissue.requirements import KAnonymity, Requirement, by_column
from reissue.schema import Role, Schema
from reissue.utility.loss import attribute_losses
from reissue.verify.by_parts import meets_by_parts, value_totals

__all__ = ["ReleaseFolder", "ReleaseFrame", "fill_folder", "frame_of"]

FITS = 500_000, 2_000_000
"""Rows of a region, at most, if it can be split: of a small table and of a large one. A method may say otherwise."""
_REGIONS = 50
"""About this many regions there are before they become larger: every row is looked at for each."""


@dataclass(frozen=True, eq=False)
class _Made:
    """A release that an engine holds, and what is known of it."""

    finished: FinishedRows
    regions: int
    loss: float
    """The share of what the quasi-identifiers say that is lost; suppressed rows lose all."""


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What is known of a release that is not in memory."""

    rows: int
    groups: int
    """As the method made them; some may look alike. By cuts: added up over regions."""
    regions: int
    loss: float
    """The share of what the quasi-identifiers say that is lost; suppressed rows lose all."""
    requirement: Requirement
    method: str
    warnings: tuple[str, ...] = ()
    """What whoever sends it out should know."""


@dataclass(frozen=True, kw_only=True)
class ReleaseFolder(_Known):
    """A release that was written to a folder of Parquet."""

    folder: Path


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseFrame(_Known):
    """A release as a DataFrame of the engine that made it; the engine keeps its rows until `close`."""

    frame: Any
    close: Callable[[], None] = field(repr=False)
    """Gives up the rows: write `frame` somewhere before."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make(
    source: Rewritable,
    schema: Schema,
    recipe: Recipe,
    place: Path | None,
    *,
    seed: int | None = None,
    fits: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> _Made:
    """Make a release as files in an empty folder, or where the engine keeps tables; it is counted again.

    `fits` is how many rows a region may have.
    """
    _refuse_schema(recipe, schema)
    sequence: Any = np.random.default_rng(seed).bit_generator.seed_seq
    work = _Work(recipe, schema, sequence.entropy)
    with source.held([name for name in source.columns if name in schema.used]) as held:
        return work.done(held, place, fits, progress)


def _refuse_schema(recipe: Recipe, schema: Schema) -> None:
    """Stop where a release by a recipe needs rows in memory, or the schema is not one for regions."""
    why = recipe.why_all_rows(schema)
    if why:
        raise InputError(
            f"The method '{recipe.method}' needs the codes of all rows in memory: {why}. `anonymize` and "
            "`anonymize_folder` bring them there."
        )
    if not schema.quasi:
        raise SchemaError("The schema names no quasi-identifier: there is nothing to generalize.")
    if schema.several_rows:
        raise InputError("Several rows per person need the whole table in memory: use engine memory.")
    recipe.refuse_schema(schema)


@dataclass(frozen=True, eq=False)
class _Work:
    """One release that is to be made."""

    recipe: Recipe
    schema: Schema
    entropy: Any
    """What decides everything random."""

    @property
    def _rule(self) -> ByRegions:
        return self.recipe.algorithm.by_regions or ByRegions()

    def done(
        self, source: Rewritable, place: Path | None, fits: int | None, progress: Callable[[float], None]
    ) -> _Made:
        """The release of rows that the engine holds."""
        recipe, by_cells = self.recipe, Trait.COUNTED_ROWS in self.recipe.algorithm.traits
        coding, plan = code_whole(
            source,
            self.schema,
            sensitive=recipe.requirement.sensitive,
            tight=recipe.tight,
            person=self._draws(),
            by_provider=self._rule.by_provider,
        )
        judged, counted = self._judged(coding)
        make = (
            _decide_cuts(source, coding, recipe, self.entropy) if by_cells else _ByMethod(coding, recipe, self.entropy)
        )
        with source.coded(plan) as rows:
            progress(0.2)
            size = int(coding.domain.totals.sum())
            most = _region_size(recipe, fits, size)
            regions = find_regions(rows, size, coding.taxonomies, counted, judged, most)
            progress(0.4)
            any_order = by_cells or self._rule.any_order
            work = RegionWork(regions, make, place, lambda share: progress(0.4 + 0.5 * share), any_order)
            finished = rows.finish(work)
            with ExitStack() as stack:
                stack.callback(finished.drop)
                _recheck(finished, coding, recipe)
                loss = _loss(finished, coding, recipe)
                stack.pop_all()
        return _Made(finished, len(regions.sizes), loss)

    def _draws(self) -> PersonDraw | None:
        """By what people's lots are drawn; None where there is no such column, or no need."""
        who = self.schema.identifier
        if who is None or not self.recipe.algorithm.draws(self.recipe.options):
            return None
        return PersonDraw(who, draw_key(np.random.default_rng(self.entropy)))

    def _judged(self, coding: WholeCoding) -> tuple[Requirement, Domain]:
        """What regions must meet, and by what they are counted; stops where the table as a whole does not meet it."""
        recipe, chosen = self.recipe, self.recipe.algorithm
        if Trait.COUNTED_ROWS in chosen.traits:
            return KAnonymity(1), coding.domain
        who = coding.providers
        counted = coding.domain if who is None else Domain(who.counts.reshape(-1))
        values, providers = (coding.domain, 0) if who is None else (who.values, len(who.counts))
        margins = column_margins(coding.schema, coding.secrets, np.arange(values.size, dtype=np.int32)[np.newaxis])
        asked = by_column(recipe.requirement, margins, values)
        judged = self._rule.judged(asked, recipe.options, values, providers)
        codes = np.arange(counted.size, dtype=np.int32)
        whole = Counts(np.zeros(counted.size, np.int32), codes, counted, 1, counted.totals)
        asked.fits(coding.domain)
        for part in asked.parts() if who is None else ():
            if not (part.sensitive and Trait.CHANGES_VALUES in chosen.traits):
                part.refuse_impossible(whole, suppressing=False)
        refuse_top_down(judged, whole)
        return judged, counted


def _region_size(recipe: Recipe, fits: int | None, rows: int) -> int:
    """How many rows a region of a table may have: the method's option says it where it has one."""
    least, most = FITS
    if "region" not in recipe.options:
        return min(max(rows // _REGIONS, least), most) if fits is None else fits
    if fits is not None:
        raise InputError(f"Regions are part of the method '{recipe.method}': its option 'region' says how large.")
    return region_rows(recipe.options)


def _suppress(recipe: Recipe) -> float:
    return recipe.suppress if Trait.SUPPRESSES in recipe.algorithm.traits else 0.0


# --- what is made of a region: called by an engine, perhaps on another machine ---------------------------------------


@dataclass(frozen=True, eq=False)
class _ByMethod:
    """Each region by the method itself."""

    coding: WholeCoding
    recipe: Recipe
    entropy: Any

    def __call__(self, region: int, part: pl.DataFrame, draw: Ints | None) -> MadeRegion:
        """The published rows of a region."""
        whole = np.random.default_rng(self.entropy)
        rng, recipe, method = region_generator(whole, region), self.recipe, find(self.recipe.method)
        table = _read(self.coding, part)
        if method.draws(recipe.options):
            table = with_draws(table, draw_key(whole)) if draw is None else replace(table, draw=FixedDraws(draw))
        requirement = by_column(recipe.requirement, table.margins, table.domain)
        return _made(table, method.run(Job(table, requirement, rng, _suppress(recipe), recipe.options)), rng)


@dataclass(frozen=True, eq=False)
class _ByCuts:
    """Each row by itself, as cuts say that were decided on the whole table's counts."""

    coding: WholeCoding
    cuts: tuple[Codes, ...]
    suppressed: pl.DataFrame
    """Nodes of the groups that are not published, a column for each quasi-identifier."""
    entropy: Any

    def __call__(self, region: int, part: pl.DataFrame, _: Ints | None) -> MadeRegion:
        """The published rows of a region."""
        rng = region_generator(np.random.default_rng(self.entropy), region)
        table = _read(self.coding, part)
        nodes = _nodes(self.cuts, table.codes)
        out = nodes.with_row_index("row").join(self.suppressed, on=nodes.columns, how="semi")["row"].to_numpy()
        groups = rank(pack([one.to_numpy() for one in nodes], table.sizes)[0])[0]
        groups[out] = -1
        kept = groups >= 0
        groups[kept] = rank(groups[kept])[0]
        return _made(table, Draft(groups.astype(np.int32), self.cuts), rng)


def _decide_cuts(source: Source, coding: WholeCoding, recipe: Recipe, entropy: Any) -> _ByCuts:
    """Let a method decide on the different rows and their numbers; equal rows are one."""
    chosen = recipe.algorithm
    unasked = coding.schema.sensitive if Trait.BLIND in chosen.traits and not recipe.requirement.sensitive else ()
    dropped = dict.fromkeys((*unasked, *coding.schema.kept), Role.DROP)
    schema = coding.schema.with_roles(dropped)
    counted = source.counts([*schema.quasi, *schema.sensitive])
    texts = counted.values.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    table = Table.read(
        texts, schema, codings=coding.codings, secrets=coding.secrets if schema.sensitive else (), repair=False
    )
    times = counted.times.to_numpy().astype(np.int64)
    domain = coding.domain if schema.sensitive else Domain(np.array([times.sum()], np.int64))
    table = replace(table, times=times, domain=domain)
    requirement = by_column(recipe.requirement, table.margins, table.domain)
    chosen.refuse_impossible(requirement, table, _suppress(recipe))
    draft = chosen.run(Job(table, requirement, np.random.default_rng(entropy), _suppress(recipe), recipe.options))
    assert draft.cuts is not None  # noqa: S101  # methods by cells decide on cuts
    out = _nodes(draft.cuts, table.codes[:, draft.groups < 0]).unique()
    return _ByCuts(coding, draft.cuts, out, entropy)


def _nodes(cuts: tuple[Codes, ...], codes: Codes) -> pl.DataFrame:
    """Rows' nodes in cuts, by the first leaf of each."""
    return pl.DataFrame({str(place): cut[codes[place]] for place, cut in enumerate(cuts)})


def _read(coding: WholeCoding, part: pl.DataFrame) -> Table:
    table = Table.read(part, coding.region_schema, codings=coding.codings, secrets=coding.secrets, repair=False)
    # Shares are those of the whole table: a region's own would let a group be as uneven as its region.
    return replace(table, domain=coding.domain)


def _made(table: Table, draft: Draft, rng: np.random.Generator) -> MadeRegion:
    boxes = boxes_of(table, draft)
    shown = tables_of(table, draft, boxes, rng)["release"]
    losses = attribute_losses(table.taxonomies, boxes.lo, boxes.hi, boxes.sizes.astype(np.float64))
    return MadeRegion(shown, len(boxes.sizes), float(losses.mean() * shown.height))


# --- what is known of the release ------------------------------------------------------------------------------------


def _loss(made: FinishedRows, coding: WholeCoding, recipe: Recipe) -> float:
    """The mean over all rows; a suppressed row, and a value that must have been changed, is lost whole."""
    rows, changed = int(coding.domain.totals.sum()), 0
    if Trait.CHANGES_VALUES in recipe.algorithm.traits:
        published = value_totals(made.source, coding.schema, coding.secrets)
        changed = int(np.maximum(published - coding.domain.totals, 0).sum())
    each = made.lost / max(made.rows, 1)
    return ((made.rows - changed) * each + changed + rows - made.rows) / rows


def _recheck(release: FinishedRows, coding: WholeCoding, recipe: Recipe) -> None:
    """Count the whole release again from what was written."""
    unasked = () if recipe.requirement.sensitive else coding.schema.sensitive
    plan = coding.schema.with_roles(dict.fromkeys(unasked, Role.DROP))
    if not meets_by_parts(release.source, release.parts, plan, recipe.requirement, coding.secrets):
        raise InternalError(
            f"The release that '{recipe.method}' made does not meet {recipe.requirement} when counted again from its "
            "published columns. Nothing was published. Please report this."
        )
    again = recipe.algorithm.recheck_counted
    if again is not None:
        shown = read_counted(release.source, coding.schema)
        again(shown, coding.codings, recipe.requirement, recipe.options)


# --- where the release goes ------------------------------------------------------------------------------------------


def frame_of(
    data: Any,
    schema: Schema,
    recipe: Recipe,
    *,
    seed: int | None,
    fits: int | None = None,
    progress: Callable[[float], None],
) -> ReleaseFrame:
    """Make a release of a Spark DataFrame by a recipe, as a Spark DataFrame."""
    _refuse_schema(recipe, schema)
    source, recipe = _rewritable(data, SPARK), _with_earlier(recipe, SPARK, schema)
    made = _make(source, schema, recipe, None, seed=seed, fits=fits, progress=progress)
    progress(1.0)
    frame = getattr(made.finished.source, "frame", None)
    return ReleaseFrame(frame=frame, close=made.finished.drop, **_known(made, recipe))


def fill_folder(
    data: Any,
    schema: Schema,
    recipe: Recipe,
    folder: Path,
    engine: str,
    *,
    seed: int | None,
    fits: int | None,
    progress: Callable[[float], None],
) -> ReleaseFolder:
    """Make a release region by region into an empty folder, which keeps some of it if anything goes wrong."""
    source, recipe = _rewritable(data, engine), _with_earlier(recipe, engine, schema)
    try:
        made = _make(source, schema, recipe, folder, seed=seed, fits=fits, progress=progress)
    except OSError as problem:
        raise InputError(f"The release cannot be written: {reason(problem)}.") from None
    except pl.exceptions.PolarsError:
        raise DataError(
            "The table cannot be read to its end, or there is no room for it on disk: a file is damaged, the files "
            "differ, or the disk is full."
        ) from None
    return ReleaseFolder(folder=folder, **_known(made, recipe))


def _rewritable(data: Any, engine: str) -> Rewritable:
    source = choose(engine, data).open(data)
    if not isinstance(source, Rewritable):
        raise InputError(f"The engine '{engine}' counts tables and cannot rewrite them. Try engine stream.")
    return source


def _with_earlier(recipe: Recipe, engine: str, schema: Schema) -> Recipe:
    """The recipe with earlier releases counted by an engine, where the method comes after some."""
    after = recipe.options.get("after") or ()
    if not isinstance(after, list | tuple) or not after:
        return recipe
    read = [one if isinstance(one, Release) else read_counted(open_where_it_lies(engine, one), schema) for one in after]
    return replace(recipe, options={**recipe.options, "after": read})


def _known(made: _Made, recipe: Recipe) -> dict[str, Any]:
    """What is told of a release that was made region by region."""
    finished = made.finished
    told = {"rows": finished.rows, "groups": finished.groups, "regions": made.regions, "loss": made.loss}
    warnings = (TIGHT,) if recipe.tight and Trait.COUNTED_ROWS not in recipe.algorithm.traits else ()
    return {**told, "requirement": recipe.requirement, "method": recipe.method, "warnings": warnings}
