"""Small random streams of people who come, leave and come back, with values that last."""

from typing import Any

import numpy as np
import polars as pl

from reissue import anonymize
from reissue.release import Release
from reissue.schema import Schema

__all__ = ["SCHEMA", "publish", "stream"]

SCHEMA = Schema.of_columns(quasi=["q", "r"], sensitive=["s"], identifier="id", keep=["who"])


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
    return pl.DataFrame({"id": number, "who": number, "q": q, "r": r, "s": [f"v{value}" for value in s]})


def publish(frames: list[pl.DataFrame], method: str, requirement: str, seed: int = 5, **options: Any) -> list[Release]:
    """The releases of a stream, one after the other."""
    releases: list[Release] = []
    for frame in frames:
        memory = releases[-1].draft.memory if releases else None
        options = {"ineligible": "counterfeits", **options}
        releases.append(anonymize(frame, SCHEMA, requirement, method=method, memory=memory, seed=seed, **options))
    return releases
