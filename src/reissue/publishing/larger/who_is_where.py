"""Who is in which group of a release that was written in parts: a few numbers per person, whatever the table's width.

The parts are private: beside what is published each row has its person's pseudonym. People whose rows look alike are a
group, in whichever parts they are, for that is all that readers see.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.counting.keys import pack
from reissue.ledger.pack import pack_places

__all__ = ["WhoIsWhere", "who_is_where"]


@dataclass(frozen=True, eq=False)
class WhoIsWhere:
    """Rows of all parts: their people, groups and values."""

    person: pl.Series
    group: Ints
    values: pl.DataFrame
    groups: int

    def pack(self) -> bytes:
        """As a ledger keeps it: people and values by group, and nothing that links them within one."""
        nobody = pl.Series([None], dtype=pl.Int64).new_from_index(0, len(self.person))
        group = pl.Series(self.group)
        return pack_places(group, self.person, nobody, group, self.values)


def who_is_where(parts: Sequence[Path], identifier: str, quasi: Sequence[str], sensitive: Sequence[str]) -> WhoIsWhere:
    """Read private parts, one at a time; what is kept of each are its people, their values, and the different looks."""
    texts = pl.Categories.random()
    people, values, looks, places = [], [], [], []
    for part in parts:
        frame = pl.read_parquet(part, columns=[identifier, *quasi, *sensitive])
        # Column by column: texts are numbered as they come, and columns at once would come in any order.
        kind = pl.Categorical(texts)
        codes = [
            frame[name].cast(pl.String).cast(kind).to_physical().cast(pl.Int64).fill_null(-1) + 1 for name in quasi
        ]
        distinct, place = _distinct([column.to_numpy() for column in codes])
        people.append(frame[identifier])
        values.append(pl.DataFrame([frame[name].cast(pl.String).cast(kind) for name in sensitive]))
        looks.append(distinct)
        places.append(place)
    starts = np.cumsum([0, *(one.shape[1] for one in looks)])
    _, group = _distinct(list(np.concatenate(looks, axis=1)))
    rows = np.concatenate([group[place + start] for place, start in zip(places, starts[:-1], strict=True)])
    shown = pl.concat(values).with_columns(pl.all().cast(pl.String))
    return WhoIsWhere(pl.concat(people), rows.astype(np.int32), shown, int(group.max(initial=-1)) + 1)


def _distinct(columns: list[Ints]) -> tuple[Ints, Ints]:
    """Columns x the different combinations, and the combination of each row."""
    keys, _ = pack(columns, [int(column.max(initial=0)) + 1 for column in columns])
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return np.stack([column[first] for column in columns]), place
