"""A table larger than memory as integer codes on disk: counted by region, and handed out a region at a time.

The rows are read once and written beside their codes into a private folder; every pass after that reads codes alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from reissue._arrays import Codes
from reissue.engines.base import FinishedRows, MadeRegion, RewritePlan, Source
from reissue.engines.regions import Regions, Split, Spread
from reissue.errors import InternalError

__all__ = ["CodedFiles"]

_REGION, _CODE, _COUNT = "region", "code", "count"
_ROOT = 0


@dataclass(frozen=True, eq=False)
class CodedFiles:
    """Rows in a folder: the columns to publish, numbered (`0`, `1`, ...), and the codes (`q0`, `q1`, ..., `s`)."""

    folder: Path
    open: Callable[[Path], Source]
    """Opens the folder that a release is written to."""
    names: tuple[str, ...]
    """What the columns to publish are called."""
    attributes: int

    @classmethod
    def write(
        cls, folder: Path, rows: pl.LazyFrame, plan: RewritePlan, opens: Callable[[Path], Source]
    ) -> "CodedFiles":
        """Read rows once, a batch at a time: the columns to publish, and the codes of each attribute and value."""
        columns = [pl.col(name).alias(str(place)) for place, name in enumerate(plan.names)]
        codes = [column.code().alias(f"q{place}") for place, column in enumerate(plan.quasi)]
        value = pl.lit(0, pl.Int32) if plan.value is None else plan.value.code()
        rows.select(*columns, *codes, value.alias("s")).sink_parquet(folder / "rows.parquet", compression="lz4")
        return cls(folder, opens, plan.names, len(codes))

    @property
    def _rows(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.folder / "rows.parquet", glob=False)

    def bounds(self, splits: Mapping[int, Split], regions: Sequence[int]) -> tuple[Codes, Codes]:
        """Attributes x regions: the smallest and the largest code."""
        codes = [pl.col(f"q{place}") for place in range(self.attributes)]
        ends = [end for code in codes for end in (code.min().name.suffix("lo"), code.max().name.suffix("hi"))]
        rows = self._rows.with_columns(_region(splits).alias(_REGION)).filter(pl.col(_REGION).is_in(list(regions)))
        found = rows.group_by(_REGION).agg(ends).collect(engine="streaming")
        found = pl.DataFrame({_REGION: pl.Series(regions, dtype=pl.Int32)}).join(
            found, on=_REGION, how="left", maintain_order="left"
        )
        lo, hi = (
            np.stack([found[f"q{place}{end}"].to_numpy().astype(np.int32) for place in range(self.attributes)])
            for end in ("lo", "hi")
        )
        return lo, hi

    def spreads(self, splits: Mapping[int, Split], attribute: Mapping[int, int]) -> Mapping[int, Spread]:
        """Region to the spread on the attribute that it asks for."""
        region = pl.col(_REGION)
        code = pl.coalesce(pl.when(region == one).then(pl.col(f"q{place}")) for one, place in attribute.items())
        rows = self._rows.with_columns(_region(splits).alias(_REGION)).filter(region.is_in(list(attribute)))
        counted = rows.group_by(region, code.alias(_CODE), "s").agg(pl.len().cast(pl.Int64).alias(_COUNT))
        found = counted.sort(_REGION, _CODE, "s").collect(engine="streaming")
        return {
            one: Spread(*(part[name].to_numpy() for name in (_CODE, "s", _COUNT)))
            for (one,), part in found.partition_by(_REGION, as_dict=True).items()
        }

    def finish(
        self,
        regions: Regions,
        make: Callable[[int, pl.DataFrame], MadeRegion],
        place: Path | None,
        progress: Callable[[float], None],
    ) -> FinishedRows:
        """Every region by a function, one after the other, into files of a folder."""
        if place is None:
            raise InternalError("A release larger than memory needs a folder. Please report this.")
        groups = 0
        for number, (region, part) in enumerate(self._parts(regions), start=1):
            made = make(region, part)
            made.rows.write_parquet(place / f"{number:05d}.parquet")
            groups += made.groups
            progress(number / len(regions.sizes))
        return FinishedRows(self.open(place), groups)

    def _parts(self, regions: Regions) -> Iterator[tuple[int, pl.DataFrame]]:
        """The rows of each region, in an order that depends on nothing but them; one region at a time in memory."""
        place = self.folder / "parts"
        rows = self._rows.select(*(str(number) for number in range(len(self.names))), _region(regions.splits))
        rows.sink_parquet(pl.PartitionBy(place, key=_REGION, include_key=False), mkdir=True, compression="lz4")
        for region in sorted(regions.sizes):
            part = pl.read_parquet(place / f"{_REGION}={region}" / "*.parquet", hive_partitioning=False)
            yield region, part.rename(dict(zip(part.columns, self.names, strict=True))).sort(self.names)


def _region(splits: Mapping[int, Split], node: int = _ROOT) -> pl.Expr:
    """A row's region."""
    if node not in splits:
        return pl.lit(node, pl.Int32).alias(_REGION)
    split = splits[node]
    above = pl.col(f"q{split.place}") >= split.cut
    return pl.when(above).then(_region(splits, split.above)).otherwise(_region(splits, split.below)).alias(_REGION)
