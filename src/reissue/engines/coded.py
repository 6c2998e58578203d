"""A table larger than memory as integer codes on disk: counted by region, and handed out a region at a time.

The rows are read once and written beside their codes into a private folder; every pass after that reads codes alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from reissue._arrays import Codes, Ints
from reissue.counting.memory import give_back
from reissue.engines.base import FinishedRows, RegionWork, RewritePlan, Source
from reissue.engines.regions import Split, Spread
from reissue.errors import InternalError

__all__ = ["CodedFiles", "laid_out"]

_REGION, _CODE, _COUNT, _DRAW = "region", "code", "count", "draw"
_ROOT = 0
_FILE = 250_000
"""Rows of a file: Polars reads some of them ahead."""
_WAITING = 20_000
"""Rows of a region that wait in memory until they are written."""


@dataclass(frozen=True, eq=False)
class CodedFiles:
    """Rows in a folder: the columns handed on, numbered (`0`, `1`, ...), codes (`q0`, `q1`, ..., `s`), draws."""

    folder: Path
    open: Callable[[Path], Source]
    """Opens the folder that a release is written to."""
    names: tuple[str, ...]
    """What the numbered columns are called."""
    texts: tuple[str, ...]
    """The columns that are published as texts."""
    attributes: int
    drawn: bool
    """Whether there are numbers that were drawn for people."""

    @classmethod
    def write(
        cls, folder: Path, rows: pl.LazyFrame, plan: RewritePlan, opens: Callable[[Path], Source]
    ) -> "CodedFiles":
        """Read rows once, a batch at a time: the columns to hand on, and the codes of each attribute and value."""
        columns = [pl.col(name).alias(str(place)) for place, name in enumerate(plan.handed)]
        codes = [column.code().alias(f"q{place}") for place, column in enumerate(plan.quasi)]
        more = [plan.value_code().alias("s"), *([] if plan.person is None else [plan.person.draw().alias(_DRAW)])]
        files = pl.PartitionBy(folder / "rows", max_rows_per_file=_FILE)
        rows.select(*columns, *codes, *more).sink_parquet(files, mkdir=True, compression="lz4", statistics=False)
        return cls(folder, opens, plan.handed, plan.texts, len(codes), plan.person is not None)

    @property
    def _files(self) -> list[Path]:
        return sorted((self.folder / "rows").iterdir())

    def _of_each_file(self, ask: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """The answers of all files, one after the other: Polars would read many at once, and keep them."""
        return pl.concat([ask(pl.scan_parquet(file, glob=False)).collect() for file in self._files])

    def bounds(self, splits: Mapping[int, Split], regions: Sequence[int]) -> tuple[Codes, Codes]:
        """Attributes x regions: the smallest and the largest code."""
        names, region = [f"q{place}" for place in range(self.attributes)], _region(splits)
        ends = [end for name in names for end in (pl.min(name).alias(f"{name}lo"), pl.max(name).alias(f"{name}hi"))]
        found = self._of_each_file(
            lambda rows: (
                rows.with_columns(region).filter(pl.col(_REGION).is_in(list(regions))).group_by(_REGION).agg(ends)
            )
        )
        found = found.group_by(_REGION).agg(pl.col("^.*lo$").min(), pl.col("^.*hi$").max())
        asked = pl.DataFrame({_REGION: pl.Series(regions, dtype=pl.Int32)})
        found = asked.join(found, on=_REGION, how="left", maintain_order="left")
        lo, hi = (
            np.stack([found[f"{name}{end}"].to_numpy().astype(np.int32) for name in names]) for end in ("lo", "hi")
        )
        return lo, hi

    def spreads(self, splits: Mapping[int, Split], attribute: Mapping[int, int]) -> Mapping[int, Spread]:
        """Region to the spread on the attribute that it asks for."""
        region, by = pl.col(_REGION), [_REGION, _CODE, "s"]
        code = pl.coalesce(pl.when(region == one).then(pl.col(f"q{place}")) for one, place in attribute.items())
        found = self._of_each_file(
            lambda rows: (
                rows.with_columns(_region(splits))
                .filter(region.is_in(list(attribute)))
                .group_by(region, code.alias(_CODE), "s")
                .agg(pl.len().cast(pl.Int64).alias(_COUNT))
            )
        )
        found = found.group_by(by).agg(pl.col(_COUNT).sum()).sort(by)
        return {
            one: Spread(*(part[name].to_numpy() for name in (_CODE, "s", _COUNT)))
            for (one,), part in found.partition_by(_REGION, as_dict=True).items()
        }

    def finish(self, work: RegionWork) -> FinishedRows:
        """Every region by a function, one after the other, into files of a folder."""
        if work.place is None:
            raise InternalError("A release larger than memory needs a folder. Please report this.")
        groups, published, lost, files = 0, 0, 0.0, []
        for number, (region, part, draw) in enumerate(self._parts(work), start=1):
            made = work.make(region, part, draw)
            files.append(work.place / f"{number:05d}.parquet")
            made.rows.with_columns(pl.col(self.texts).cast(pl.String)).write_parquet(files[-1])
            groups, published, lost = groups + made.groups, published + made.rows.height, lost + made.lost
            del made, part
            give_back()
            work.progress(number / len(work.regions.sizes))
        return FinishedRows(self.open(work.place), groups, published, lost, parts=tuple(map(self.open, files)))

    def _parts(self, work: RegionWork) -> Iterator[tuple[int, pl.DataFrame, Ints | None]]:
        """The rows of each region, one region at a time in memory."""
        place, names = self.folder / "parts", [str(number) for number in range(len(self.names))]
        rows = pl.scan_parquet(self._files, glob=False).select(
            *names, *([_DRAW] if self.drawn else []), _region(work.regions.splits)
        )
        files = pl.PartitionBy(place, key=_REGION, include_key=False)
        rows.sink_parquet(files, mkdir=True, compression="lz4", row_group_size=_WAITING, statistics=False)
        for region in sorted(work.regions.sizes):
            part = pl.read_parquet(place / f"{_REGION}={region}" / "*.parquet", hive_partitioning=False)
            # Where any order will do, by what rows hash to, quickly: nothing is told of the order of the table.
            part = part[part.hash_rows().arg_sort()] if work.any_order else part
            yield region, *laid_out(part, self.names, any_order=work.any_order)


def laid_out(part: pl.DataFrame, names: Sequence[str], *, any_order: bool = False) -> tuple[pl.DataFrame, Ints | None]:
    """Numbered columns in the order of all that they say, under their names; and the numbers drawn, if there are."""
    part = part if any_order else part.sort(part.columns)
    draw = part.drop_in_place(_DRAW).to_numpy() if _DRAW in part.columns else None
    return part.rename(dict(zip(part.columns, names, strict=True))), draw


def _region(splits: Mapping[int, Split], node: int = _ROOT) -> pl.Expr:
    """A row's region."""
    if node not in splits:
        return pl.lit(node, pl.Int32).alias(_REGION)
    split = splits[node]
    above = pl.col(f"q{split.place}") >= split.cut
    return pl.when(above).then(_region(splits, split.above)).otherwise(_region(splits, split.below)).alias(_REGION)
