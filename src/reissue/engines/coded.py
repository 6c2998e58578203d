"""A table larger than memory as integer codes on disk: counted by region, and handed out a region at a time.

The rows are read once and written beside their codes into a private folder; every pass after that reads codes alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs

from reissue._arrays import Codes, Ints
from reissue.counting.resources import give_back
from reissue.engines.base import FinishedRows, RegionWork, RewritePlan, Source
from reissue.engines.regions import Split, Spread
from reissue.errors import InternalError

__all__ = ["CodedFiles", "laid_out"]

_REGION, _CODE, _COUNT, _DRAW, _LO, _HI = "region", "code", "count", "draw", "lo", "hi"
_ROOT = 0
_FILE = 250_000
"""Rows of a file: Polars reads some of them ahead."""
_CHUNK = 50_000
"""Rows that a thread codes at a time."""
_TOGETHER = 4
"""Files that are sorted by region together."""
_ANSWERS = 16
"""Files whose answers wait to be added up."""
_REMEMBERED = 1 << 19
"""Numbers up to which a spread is counted with the bounds of every code, so that both halves' bounds are known."""


@dataclass(eq=False)
class _Known:
    """What one pass tells the next: two passes a round would be one too many."""

    bounds: dict[int, Codes] = field(default_factory=dict)
    """Region to its smallest and its largest codes, two x attributes."""
    cells: Mapping[int, pl.DataFrame] = field(default_factory=dict)
    """Region to what was counted of each code of the attribute that it was tried on."""

    def halve(self, region: int, split: Split) -> None:
        """Bounds of the halves of a region whose codes are known one by one."""
        cells = self.cells.get(region)
        if cells is not None and split.below not in self.bounds:
            above = pl.col(_CODE) >= split.cut
            self.bounds |= {split.below: _ends(cells.filter(~above)), split.above: _ends(cells.filter(above))}


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
    sizes: tuple[int, ...]
    """Attribute to the number of its codes."""
    values: int
    """The number of sensitive codes."""
    drawn: bool
    """Whether there are numbers that were drawn for people."""
    known: _Known = field(default_factory=_Known, repr=False)

    @property
    def attributes(self) -> int:
        """How many there are."""
        return len(self.sizes)

    @classmethod
    def write(
        cls, folder: Path, rows: pl.LazyFrame, plan: RewritePlan, opens: Callable[[Path], Source]
    ) -> "CodedFiles":
        """Read rows once, a batch at a time: the columns to hand on, and the codes of each attribute and value."""
        columns = [pl.col(name).alias(str(place)) for place, name in enumerate(plan.handed)]
        codes = [column.code().alias(f"q{place}") for place, column in enumerate(plan.quasi)]
        more = [plan.value_code().alias("s"), *([] if plan.person is None else [plan.person.draw().alias(_DRAW)])]
        files = pl.PartitionBy(folder / "rows", max_rows_per_file=_FILE)
        with pl.Config(streaming_chunk_size=_CHUNK):
            rows.select(*columns, *codes, *more).sink_parquet(files, mkdir=True, compression="lz4", statistics=False)
        sizes = tuple(int(column.codes.max()) + 1 for column in plan.quasi)
        return cls(folder, opens, plan.handed, plan.texts, sizes, plan.values, plan.person is not None)

    @property
    def _files(self) -> list[Path]:
        return sorted((self.folder / "rows").iterdir())

    def _of_each_file(self, ask: Callable[[pl.LazyFrame], pl.LazyFrame], by: Sequence[str]) -> pl.DataFrame:
        """The answers of all files, one after the other: Polars would read many at once, and keep them."""
        together = [pl.col(f"^{_COUNT}$").sum(), pl.col(f"^{_LO}.*$").min(), pl.col(f"^{_HI}.*$").max()]
        found: list[pl.DataFrame] = []
        for file in self._files:
            found.append(ask(pl.scan_parquet(file, glob=False)).collect())
            found = [pl.concat(found).group_by(by).agg(together)] if len(found) == _ANSWERS else found
        return pl.concat(found).group_by(by).agg(together).sort(by)

    def bounds(self, splits: Mapping[int, Split], regions: Sequence[int]) -> tuple[Codes, Codes]:
        """Attributes x regions: the smallest and the largest code."""
        known = self.known
        for parent, split in splits.items():
            known.halve(parent, split)
        asked = [one for one in regions if one not in known.bounds]
        if asked:
            region = _region(splits)
            found = self._of_each_file(
                lambda rows: (
                    rows.with_columns(region).filter(pl.col(_REGION).is_in(asked)).group_by(_REGION).agg(self._ends)
                ),
                [_REGION],
            )
            known.bounds.update(
                {one: _ends(part) for (one,), part in found.partition_by(_REGION, as_dict=True).items()}
            )
        lo, hi = np.stack([known.bounds[one] for one in regions], axis=2)
        return lo, hi

    def spreads(self, splits: Mapping[int, Split], attribute: Mapping[int, int]) -> Mapping[int, Spread]:
        """Region to the spread on the attribute that it asks for."""
        region, by = pl.col(_REGION), [_REGION, _CODE, "s"]
        code = pl.coalesce(pl.when(region == one).then(pl.col(f"q{place}")) for one, place in attribute.items())
        cells = sum(self.sizes[place] for place in attribute.values()) * self.values
        ends = self._ends if cells * self.attributes <= _REMEMBERED else []
        own = _region(splits)
        found = self._of_each_file(
            lambda rows: (
                rows.with_columns(own)
                .filter(region.is_in(list(attribute)))
                .group_by(region, code.alias(_CODE), "s")
                .agg(pl.len().cast(pl.Int64).alias(_COUNT), *ends)
            ),
            by,
        )
        parts = {one: part for (one,), part in found.partition_by(_REGION, as_dict=True).items()}
        self.known.cells = parts if ends else {}
        return {one: Spread(*(part[name].to_numpy() for name in (_CODE, "s", _COUNT))) for one, part in parts.items()}

    @property
    def _ends(self) -> list[pl.Expr]:
        codes = [(place, pl.col(f"q{place}")) for place in range(self.attributes)]
        return [
            *(code.min().alias(f"{_LO}{place}") for place, code in codes),
            *(code.max().alias(f"{_HI}{place}") for place, code in codes),
        ]

    def finish(self, work: RegionWork) -> FinishedRows:
        """Every region by a function, one after the other, into files of a folder."""
        if work.place is None:
            raise InternalError("A release larger than memory needs a folder. Please report this.")
        groups, published, lost, files = 0, 0, 0.0, []
        for number, (region, part, draw) in enumerate(self._parts(work), start=1):
            made = work.make(region, part, draw)
            files.append(work.place / f"{number:05d}.parquet")
            made.rows.with_columns(map(_category, made.rows.select(cs.by_name(self.texts) | cs.enum()))).write_parquet(
                files[-1]
            )
            groups, published, lost = groups + made.groups, published + made.rows.height, lost + made.lost
            del made, part
            give_back()
            work.progress(number / len(work.regions.sizes))
        return FinishedRows(self.open(work.place), groups, published, lost, parts=tuple(map(self.open, files)))

    def _parts(self, work: RegionWork) -> Iterator[tuple[int, pl.DataFrame, Ints | None]]:
        """The rows of each region, one region at a time in memory."""
        place, names = self.folder / "parts", [str(number) for number in range(len(self.names))]
        columns = [*names, *([_DRAW] if self.drawn else []), _region(work.regions.splits)]
        # Some files at a time: of all of them Polars keeps the first rows of every region until the end.
        coded = self._files
        for first in range(0, len(coded), _TOGETHER):
            files = pl.PartitionBy(place / f"{first:05d}", key=_REGION, include_key=False)
            rows = pl.scan_parquet(coded[first : first + _TOGETHER], glob=False).select(columns)
            rows.sink_parquet(files, mkdir=True, compression="lz4", statistics=False)
        for region in sorted(work.regions.sizes):
            part = pl.read_parquet(place / "*" / f"{_REGION}={region}" / "*.parquet", hive_partitioning=False)
            # Where any order will do, by what rows hash to, quickly: nothing is told of the order of the table.
            part = part[part.hash_rows().arg_sort()] if work.any_order else part
            yield region, *laid_out(part, self.names, any_order=work.any_order)


def laid_out(part: pl.DataFrame, names: Sequence[str], *, any_order: bool = False) -> tuple[pl.DataFrame, Ints | None]:
    """Numbered columns in the order of all that they say, under their names; and the numbers drawn, if there are."""
    part = part if any_order else part.sort(part.columns)
    draw = part.drop_in_place(_DRAW).to_numpy() if _DRAW in part.columns else None
    return part.rename(dict(zip(part.columns, names, strict=True))), draw


def _ends(parts: pl.DataFrame) -> Codes:
    """Two x attributes: the smallest and the largest codes of some parts taken together."""
    ends = (parts.select(pl.col(f"^{_LO}.*$").min()), parts.select(pl.col(f"^{_HI}.*$").max()))
    return np.stack([one.to_numpy()[0].astype(np.int32) for one in ends])


def _category(texts: pl.Series) -> pl.Series:
    """As categories: one type in all parts, and in its file no text but those that the part has."""
    if not isinstance(texts.dtype, pl.Enum):
        return texts.cast(pl.Categorical)
    return texts.dtype.categories.cast(pl.Categorical).gather(texts.to_physical()).alias(texts.name)


def _region(splits: Mapping[int, Split], node: int = _ROOT) -> pl.Expr:
    """A row's region."""
    if node not in splits:
        return pl.lit(node, pl.Int32).alias(_REGION)
    split = splits[node]
    above = pl.col(f"q{split.place}") >= split.cut
    return pl.when(above).then(_region(splits, split.above)).otherwise(_region(splits, split.below)).alias(_REGION)
