"""Small random streams of people who come, leave and come back, with values that last."""

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from reissue import anonymize
from reissue.release.release import GROUP, Release
from reissue.schema import Schema

__all__ = ["SCHEMA", "drafted", "publish", "published", "stream"]

SCHEMA = Schema.of_columns(quasi=["q", "r"], sensitive=["s"], identifier="id")


def stream(
    seed: int, releases: int = 4, size: int = 14, values: int = 4, *, returns: bool = False
) -> list[pl.DataFrame]:
    """Snapshots: each time some leave, some come, and perhaps some of those who left come back."""
    rng = np.random.default_rng(seed)
    secret: list[int] = []
    everyone: dict[int, tuple[int, str, int]] = {}

    def born(number: int) -> list[int]:
        new = list(range(len(everyone), len(everyone) + number))
        for one in new:
            # The first people have all values, so that every value is known from the start.
            value = one % values if one < 2 * values else int(rng.integers(values) ** rng.integers(1, 3) % values)
            everyone[one] = (int(rng.integers(20)), "xyz"[rng.integers(3)], value)
        return new

    live, gone, frames = born(size), secret, []
    for _ in range(releases):
        frames.append(_frame([(one, *everyone[one]) for one in live]))
        leaving = {one for one in live if rng.random() < 0.3}
        leaving -= {live[0]} if len(leaving) == len(live) else set()
        back = [one for one in gone if returns and rng.random() < 0.3]
        gone = [*(one for one in gone if one not in back), *leaving]
        live = [one for one in live if one not in leaving] + born(int(rng.integers(0, size // 2))) + back
        live = [live[place] for place in rng.permutation(len(live))]
    return frames


def _frame(rows: list[tuple[int, int, str, int]]) -> pl.DataFrame:
    columns = zip(*rows, strict=True)
    number, q, r, s = (list(column) for column in columns)
    return pl.DataFrame({"id": number, "q": q, "r": r, "s": [f"v{value}" for value in s]})


def publish(frames: list[pl.DataFrame], method: str, requirement: str, seed: int = 5, **options: Any) -> list[Release]:
    """The releases of a stream, one after the other."""
    releases: list[Release] = []
    for frame in frames:
        memory = releases[-1].draft.memory if releases else None
        small = {"k": 2} if method == "equivalence" else {}
        options = {"ineligible": "counterfeits", **small, **options}
        releases.append(anonymize(frame, SCHEMA, requirement, method=method, memory=memory, seed=seed, **options))
    return releases


Group = tuple[Any, ...]
"""Counts of the quasi-identifiers and of the values of a group, and its number of counterfeits."""


def _group(quasi: list[Any], values: list[Any], fakes: int) -> Group:
    return (frozenset(Counter(quasi).items()), frozenset(Counter(values).items()), fakes)


def drafted(release: Release, frame: pl.DataFrame, *, exact: bool) -> Counter[Group]:
    """The groups that must go out, by what is private: who stands where, and which counterfeits stand with them."""
    table, draft, fakes = release.table, release.draft, release.draft.counterfeits
    found: Counter[Group] = Counter()
    for group in range(release.groups):
        rows = frame.select("q", "r", "s").filter(pl.Series(draft.groups == group)).rows()
        chosen = [] if fakes is None else (fakes.groups == group).nonzero()[0].tolist()
        if fakes is not None:
            values = table.decode(fakes.sensitive)["s"].to_list()
            q, r = (coding.decode(codes).to_list() for coding, codes in zip(table.codings, fakes.codes, strict=True))
            rows += [(q[one], r[one], values[one]) for one in chosen]
        texts = [
            taxonomy.text(release.boxes.lo[place, [group]], release.boxes.hi[place, [group]])[0]
            for place, taxonomy in enumerate(table.taxonomies)
        ]
        quasi = [row[:2] if exact else tuple(texts) for row in rows]
        found[_group(quasi, [row[2] for row in rows], len(chosen))] += 1
    return found


def published(release: Release) -> Counter[Group]:
    """The groups as everyone can read them."""
    tables = release.frames
    quasi = next(iter(tables.values()))
    values = tables.get("sensitive", quasi.group_by(GROUP, *(["s"] if "s" in quasi.columns else [])).len("count"))
    counted = tables.get("counterfeits", pl.DataFrame({GROUP: [], "counterfeits": []}))
    fakes = dict(counted.select(GROUP, "counterfeits").rows())
    found: Counter[Group] = Counter()
    for (number,), rows in quasi.group_by(GROUP):
        own = values.filter(pl.col(GROUP) == number).select("s", "count").rows()
        shown = [value for value, count in own for _ in range(count)]
        found[_group(rows.select("q", "r").rows(), shown, fakes.get(number, 0))] += 1
    return found
