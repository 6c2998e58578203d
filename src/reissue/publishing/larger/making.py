"""How rows larger than memory are made into a release: a region by the method itself, or by cuts decided on counts.

A maker is handed to an engine, which calls it with a region's number and rows, perhaps on another machine.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.cells import Domain
from reissue.counting.keys import pack, rank
from reissue.data.draws import FixedDraws, draw_key, with_draws
from reissue.data.table import Table
from reissue.engines.base import MadeRegion, Source
from reissue.methods import Job, find
from reissue.methods.partition.by_regions import region_generator
from reissue.publishing.larger.asked import Asked
from reissue.publishing.larger.coding import WholeCoding
from reissue.release.recode import boxes_of, tables_of
from reissue.release.release import Draft
from reissue.requirements import by_column
from reissue.schema import Role
from reissue.utility.loss import attribute_losses

__all__ = ["ByCuts", "ByMethod", "decide_cuts"]


@dataclass(frozen=True, eq=False)
class ByMethod:
    """Each region by the method itself."""

    coding: WholeCoding
    asked: Asked
    seed: Any

    def __call__(self, region: int, part: pl.DataFrame, draw: Ints | None) -> MadeRegion:
        """The published rows of a region."""
        whole = np.random.default_rng(self.seed)
        rng, asked, method = region_generator(whole, region), self.asked, find(self.asked.method)
        table = _read(self.coding, part)
        if method.draws(asked.options):
            table = with_draws(table, draw_key(whole)) if draw is None else replace(table, draw=FixedDraws(draw))
        requirement = by_column(asked.requirement, table.margins, table.domain)
        draft = method.run(Job(table, requirement, rng, asked.suppress, asked.options))
        return _made(table, draft, rng)


@dataclass(frozen=True, eq=False)
class ByCuts:
    """Each row by itself, as cuts say that were decided on the whole table's counts."""

    coding: WholeCoding
    cuts: tuple[Codes, ...]
    left_out: pl.DataFrame
    """Nodes of the groups that are not published, a column for each quasi-identifier."""
    seed: Any

    def __call__(self, region: int, part: pl.DataFrame, _: Ints | None) -> MadeRegion:
        """The published rows of a region."""
        rng = region_generator(np.random.default_rng(self.seed), region)
        table = _read(self.coding, part)
        nodes = _nodes(self.cuts, table.codes)
        out = nodes.with_row_index("row").join(self.left_out, on=nodes.columns, how="semi")["row"].to_numpy()
        groups = rank(pack([one.to_numpy() for one in nodes], table.sizes)[0])[0]
        groups[out] = -1
        kept = groups >= 0
        groups[kept] = rank(groups[kept])[0]
        return _made(table, Draft(groups.astype(np.int32), self.cuts), rng)


def decide_cuts(source: Source, coding: WholeCoding, asked: Asked, seed: Any) -> ByCuts:
    """Let a method decide on the different rows and their numbers; equal rows are one."""
    chosen = find(asked.method)
    unasked = coding.schema.sensitive if chosen.blind and not asked.requirement.sensitive else ()
    dropped = dict.fromkeys((*unasked, *coding.schema.kept), Role.DROP)
    schema = coding.schema.with_roles(dropped)
    counted = source.counts([*schema.quasi, *schema.sensitive])
    texts = counted.values.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    table = Table.read(texts, schema, codings=coding.codings, secrets=coding.secrets if schema.sensitive else ())
    times = counted.times.to_numpy().astype(np.int64)
    domain = coding.domain if schema.sensitive else Domain(np.array([times.sum()], np.int64))
    table = replace(table, times=times, domain=domain)
    requirement = by_column(asked.requirement, table.margins, table.domain)
    chosen.refuse_impossible(requirement, table, asked.suppress)
    draft = chosen.run(Job(table, requirement, np.random.default_rng(seed), asked.suppress, asked.options))
    assert draft.cuts is not None  # noqa: S101  # methods by cells decide on cuts
    out = _nodes(draft.cuts, table.codes[:, draft.groups < 0]).unique()
    return ByCuts(coding, draft.cuts, out, seed)


def _nodes(cuts: tuple[Codes, ...], codes: Codes) -> pl.DataFrame:
    """Rows' nodes in cuts, by the first leaf of each."""
    return pl.DataFrame({str(place): cut[codes[place]] for place, cut in enumerate(cuts)})


def _read(coding: WholeCoding, part: pl.DataFrame) -> Table:
    table = Table.read(part, coding.region_schema, codings=coding.codings, secrets=coding.secrets)
    # Shares are those of the whole table: a region's own would let a group be as uneven as its region.
    return replace(table, domain=coding.domain)


def _made(table: Table, draft: Draft, rng: np.random.Generator) -> MadeRegion:
    boxes = boxes_of(table, draft)
    shown = tables_of(table, draft, boxes, rng)["release"]
    losses = attribute_losses(table.taxonomies, boxes.lo, boxes.hi, boxes.sizes.astype(np.float64))
    return MadeRegion(shown, len(boxes.sizes), float(losses.mean() * shown.height))
