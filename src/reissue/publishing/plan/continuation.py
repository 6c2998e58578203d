"""A simulated continuation of a series: more waves like those there are, or by dynamics that somebody states. A guess.

From wave to wave people go, their values change, and others come. Who stays keeps the quasi-identifiers; who comes has
those, and the value, of somebody who arrived before (of anybody, where there is only one wave).
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue._arrays import Floats
from reissue.data.table import Table
from reissue.errors import InputError
from reissue.publishing.plan.waves import Waves

__all__ = ["Dynamics", "continued"]


SIMULATED = 4
"""Waves that are simulated after a single one."""


@dataclass(frozen=True)
class Dynamics:
    """How a table changes from one wave to the next, as shares of its people."""

    come: float = 0.1
    go: float = 0.1
    change: float = 0.05

    def __post_init__(self) -> None:
        if not all(0 <= share < 1 for share in (self.come, self.go, self.change)):
            raise InputError("How many come, go and change are shares of the people, at least 0 and below 1.")


@dataclass(frozen=True, eq=False)
class _Course:
    """The same for each value."""

    come: float
    leaving: Floats
    """Value to the share of its people who go."""
    ends: Floats
    """Value x value: cumulated chances of what it is in the next wave."""
    arrivals: pl.DataFrame
    """People like whom others come."""


def continued(waves: Waves, count: int, rng: np.random.Generator, dynamics: Dynamics | None = None) -> Waves:
    """The waves and this many more after the last one; without dynamics as the waves themselves show them."""
    course = _seen(waves) if dynamics is None else _stated(waves, dynamics)
    tables, last = list(waves.tables), (waves.tables[-1].frame, waves.codes[-1])
    newest = int(max(people.max() for people in waves.people)) + 1
    for _ in range(count):
        frame, codes = _lived(waves, course, *last, rng)
        frame, codes, newest = _joined(waves, course, frame, codes, newest, rng)
        tables.append(replace(Table.read(frame, waves.schema), back=waves.tables[0].back))
        last = frame, codes
    return replace(waves, tables=tuple(tables))


def _seen(waves: Waves) -> _Course:
    """What the waves themselves show; smoothed where a value is rare."""
    size = waves.values
    there, left = np.zeros(size), np.zeros(size)
    arrivals = []
    for place in range(len(waves.tables) - 1):
        before, after = waves.people[place], waves.people[place + 1]
        gone = ~np.isin(before, after)
        there += np.bincount(waves.codes[place], minlength=size)
        left += np.bincount(waves.codes[place], gone, size)
        arrivals.append(waves.tables[place + 1].frame.filter(pl.Series(~np.isin(after, before))))
    leaving = (left + waves.gone) / (there + 1)
    steps = waves.steps + np.eye(size)
    some = pl.concat(arrivals)
    return _Course(waves.come, leaving, _cumulated(steps), some if some.height else waves.tables[-1].frame)


def _stated(waves: Waves, dynamics: Dynamics) -> _Course:
    """What somebody states: whoever changes gets any of the other values, as often as they are there."""
    shares = np.bincount(waves.codes[-1], minlength=waves.values) / len(waves.codes[-1])
    others = np.tile(shares, (waves.values, 1)) * (1 - np.eye(waves.values))
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-12)
    steps = (1 - dynamics.change) * np.eye(waves.values) + dynamics.change * others
    return _Course(dynamics.come, np.full(waves.values, dynamics.go), _cumulated(steps), waves.tables[-1].frame)


def _cumulated(steps: Floats) -> Floats:
    return np.asarray(np.cumsum(steps / steps.sum(axis=1, keepdims=True), axis=1))


def _lived(
    waves: Waves, course: _Course, frame: pl.DataFrame, codes: np.ndarray, rng: np.random.Generator
) -> tuple[pl.DataFrame, np.ndarray]:
    """Who stays, with the values of the next wave."""
    stays = np.flatnonzero(rng.random(len(codes)) >= course.leaving[codes])
    chance = rng.random((len(stays), 1))
    codes = np.minimum((course.ends[codes[stays]] < chance).sum(axis=1), waves.values - 1)
    return frame[stays].with_columns(waves.known_values[codes]), codes


def _joined(
    waves: Waves, course: _Course, frame: pl.DataFrame, codes: np.ndarray, newest: int, rng: np.random.Generator
) -> tuple[pl.DataFrame, np.ndarray, int]:
    """With those who come."""
    number = int(rng.poisson(course.come * waves.tables[-1].rows))
    chosen = course.arrivals[rng.integers(0, course.arrivals.height, number)]
    ids = pl.Series(str(waves.schema.identifier), np.arange(newest, newest + number), dtype=pl.Int64)
    chosen = chosen.with_columns(ids)
    both = np.concatenate([codes, waves.codes_of(chosen)])
    return pl.concat([frame, chosen.select(frame.columns)], how="vertical_relaxed"), both, newest + number
