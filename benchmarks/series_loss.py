"""What series methods lose: `python -m benchmarks series_loss [--people N] [--months N]`.

The synthetic hospital, published month by month by `invariance` (values that stay) and `distinct` (values that change),
m = 5, in the space of the taxonomies' nodes; with the groups as the papers split them, and with records changing places
where that generalizes less. Loss counts everything, counterfeits too; cells are what published values cover.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

import reissue as ri
from benchmarks._measure import cpu
from reissue.methods.invariance import regroup
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.synth import Population, schema, updates
from reissue.utility import measure


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks series_loss")
    parser.add_argument("--people", type=int, default=1_500)
    parser.add_argument("--months", type=int, default=6)
    given = parser.parse_args(arguments)
    months = list(Population(seed=1, people=given.people).months(given.months))
    print(f"{'method':<12}{'groups':<14}{'loss':>7}{'cells':>7}{'counterfeits':>14}{'CPU s':>8}")
    with tempfile.TemporaryDirectory() as folder:
        updates().write_csv(Path(folder) / "updates.csv")
        changing = replace(schema(), updates={"file": "updates.csv"}, folder=Path(folder))
        for method, plan, frames in (
            ("invariance", replace(schema(), updates={}), staying(months)),
            ("distinct", changing, months),
        ):
            for groups, sweeps in (("as split", 0), ("regrouped", regroup._SWEEPS)):  # noqa: SLF001
                _show(method, groups, measured(method, plan, frames, sweeps))


def staying(months: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The months, with everybody's first disease for good."""
    first = pl.concat(months).unique("patient", keep="first", maintain_order=True).select("patient", "disease")
    return [month.drop("disease").join(first, on="patient", maintain_order="left") for month in months]


def measured(method: str, plan: Schema, frames: Sequence[pl.DataFrame], sweeps: int) -> tuple[float, list[Release]]:
    """CPU seconds and releases of a series with this many sweeps of regrouping."""
    kept, regroup._SWEEPS = regroup._SWEEPS, sweeps  # noqa: SLF001
    try:
        return cpu(partial(_series, method, plan, frames), times=1)
    finally:
        regroup._SWEEPS = kept  # noqa: SLF001


def _series(method: str, plan: Schema, frames: Sequence[pl.DataFrame]) -> list[Release]:
    made: list[Release] = []
    for frame in frames:
        memory = made[-1].draft.memory if made else None
        options: dict[str, Any] = {"method": method, "seed": 1, "ineligible": "counterfeits"}
        made.append(ri.anonymize(frame, plan, "m-unique=5", memory=memory, **options))
    return made


def _show(method: str, groups: str, outcome: tuple[float, list[Release]]) -> None:
    seconds, made = outcome
    found = [measure(release) for release in made]
    loss, cells = fmean(one.loss for one in found), fmean(one.covered for one in found)
    fakes = sum(one.added for one in found) / sum(one.rows for one in found)
    print(f"{method:<12}{groups:<14}{loss:>7.3f}{cells:>7.3f}{fakes:>14.3f}{seconds:>8.2f}", flush=True)
