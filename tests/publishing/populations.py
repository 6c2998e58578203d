"""Five populations of different persistence and turnover: people with an age, a place and one of some values."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue._arrays import Ints
from reissue.schema import Schema

__all__ = ["POPULATIONS", "SCHEMA", "Life"]

SCHEMA = Schema.of_columns(identifier="p", quasi=["age", "place"], sensitive=["ill"])
_SHARES = np.array([0.2, 0.17, 0.15, 0.13, 0.12, 0.1, 0.08, 0.05])


@dataclass(frozen=True)
class Life:
    """How many go, come and change from wave to wave, as shares."""

    go: float
    come: float
    change: float

    def waves(self, people: int, count: int, seed: int = 0) -> list[pl.DataFrame]:
        """The waves; the same seed, the same lives."""
        rng = np.random.default_rng(seed)
        state, known, made = _newcomers(rng, people, 0), people, []
        for wave in range(count):
            if wave:
                state = state[:, rng.random(state.shape[1]) >= self.go]
                moved = np.flatnonzero(rng.random(state.shape[1]) < self.change)
                state[3, moved] = rng.choice(len(_SHARES), len(moved), p=_SHARES)
                fresh = _newcomers(rng, int(rng.poisson(self.come * people)), known)
                known += fresh.shape[1]
                state = np.hstack([state, fresh])
            made.append(_frame(state))
        return made


def _newcomers(rng: np.random.Generator, number: int, known: int) -> Ints:
    columns = [
        np.arange(known, known + number),
        rng.integers(0, 90, number),
        rng.integers(0, 20, number),
        rng.choice(len(_SHARES), number, p=_SHARES),
    ]
    return np.stack(columns)


def _frame(state: Ints) -> pl.DataFrame:
    names = pl.Series([f"v{value}" for value in range(len(_SHARES))])
    return pl.DataFrame({"p": state[0], "age": state[1], "place": state[2], "ill": names.gather(state[3])})


POPULATIONS = {
    "hardly anything changes": Life(0.02, 0.02, 0.0),
    "people come and go, values stay": Life(0.25, 0.25, 0.0),
    "people stay, values change often": Life(0.03, 0.03, 0.4),
    "both, a little": Life(0.1, 0.1, 0.05),
    "a table that only grows": Life(0.0, 0.15, 0.0),
}
