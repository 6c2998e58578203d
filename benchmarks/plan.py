"""Plan: what it recommends, what publishing so then costs, and how long planning takes.

Parts (`--only`): *panel*, five years of a real health panel: the plan, the series published by its policy through a
ledger, everyone at once over all of it, and a regression coefficient from each release beside the truth; *hospital*,
the same for the synthetic hospital; *speed*, CPU seconds of a plan of five waves of 4,000 people.
"""

import argparse
import tempfile
import time
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._waves import SOURCES, Waves
from reissue import synth
from reissue.people.knowledge import Knowledge
from reissue.publishing.attack import attack
from reissue.publishing.plan import Limits, Plan, plan
from reissue.publishing.publish import publish
from reissue.publishing.refusal import RefusedError
from reissue.release.release import Release
from reissue.utility import compare

LIMIT = 0.75
MODEL = "visits ~ female + age"
"""Bands of visits count as the middle of their numbers."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="plan", description=__doc__)
    parser.add_argument("--data", help="the folder that holds panel/")
    parser.add_argument("--quick", action="store_true", help="fewer people and releases")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], help="which parts")
    chosen = parser.parse_args(arguments)
    for part in chosen.only:
        print(f"-- {part}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            PARTS[part](Path(folder), chosen)


def panel(folder: Path, chosen: argparse.Namespace) -> None:
    """A real panel: nobody exposed to a reader with a register, at most 5% counterfeits."""
    waves = SOURCES["panel"](folder, chosen.data, quick=chosen.quick)
    waves = replace(waves, schema=replace(waves.schema, updates={}))
    _planned_and_published(folder, waves, Limits(LIMIT, counterfeits=0.05), MODEL)


def hospital(folder: Path, chosen: argparse.Namespace) -> None:
    """The synthetic hospital's months, all groups known to readers."""
    waves = SOURCES["hospital"](folder, None, quick=chosen.quick)
    waves = replace(waves, tables=waves.tables[:6], schema=waves.schema.with_roles({"hospital": "drop"}))
    _planned_and_published(folder, waves, Limits(LIMIT), "age ~ sex")


def speed(folder: Path, chosen: argparse.Namespace) -> None:
    """As many people as a county's register has."""
    del folder
    people = 1_000 if chosen.quick else 4_000
    months = list(synth.Population(seed=1, people=people).months(5))
    _planned(Waves("speed", tuple(months), synth.schema().with_roles({"hospital": "drop"})), Limits(LIMIT))


def _planned(waves: Waves, limits: Limits) -> Plan:
    """The plan, told."""
    began = time.process_time()
    made = plan(waves.tables, waves.schema, limit=limits.limit, counterfeits=limits.counterfeits)
    took = time.process_time() - began
    print("| setting | outcome | releases | surest | loss | counterfeits | left out | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for one in made.outcomes:
        spent = f"{one.counterfeits:,} | {one.left_out:,} | {one.seconds:.1f}"
        risk, loss = one.risk or 0, one.loss or 0
        print(f"| {one.setting.name} | {one.verdict} | {one.published} | {risk:.2f} | {loss:.3f} | {spent} |")
    print(f"{len(made.outcomes)} settings, {took:.0f} CPU s")
    print(*made.sentences, sep="\n", flush=True)
    return made


@dataclass(frozen=True)
class _Row:
    """A release in numbers."""

    loss: float
    query_error: float
    counterfeits: float
    left_out: int
    true: float
    published: float


def _planned_and_published(folder: Path, waves: Waves, limits: Limits, model: str) -> None:
    made = _planned(waves, limits)
    if made.recommended is None:
        return
    schema = replace(waves.schema, policy=made.recommended.setting.policy(limits), updates=dict(made.updates))
    if not made.updates:
        schema = replace(schema, updates=waves.schema.updates)
    releases, rows = [], []
    print(f"| release | loss | queries | counterfeits | left out | {model}: true | published |")
    print("|---|---|---|---|---|---|---|")
    for number, table in enumerate(waves.tables, start=1):
        try:
            release = publish(table, folder / "series.ledger", schema)
        except RefusedError as problem:
            print(str(problem).splitlines()[0])
            break
        releases.append(release)
        rows.append(_row(table, release, schema, model))
        _print(str(number), rows[-1])
    _print("mean", _mean(rows))
    print(_exposed(releases, schema), flush=True)


def _row(table: pl.DataFrame, release: Release, schema: Any, model: str) -> _Row:
    found = compare(table, release, schema, models=[model])
    line = found.models[0].lines[1]
    true, published = (0.0 if one is None else one.value for one in (line.true, line.published))
    error = 0.0 if found.queries is None else found.queries.median
    missing = table.height - (found.published - found.added)
    return _Row(found.loss, error, found.added / table.height, missing, true, published)


def _mean(rows: list[_Row]) -> _Row:
    loss, error, fakes, gone, true, published = (
        sum(each) / len(rows) for each in zip(*(astuple(row) for row in rows), strict=True)
    )
    return _Row(loss, error, fakes, round(gone), true, published)


def _print(name: str, row: _Row) -> None:
    shares = f"{row.loss:.3f} | {row.query_error:.3f} | {row.counterfeits:.1%} | {row.left_out}"
    print(f"| {name} | {shares} | {row.true:.3f} | {row.published:.3f} |", flush=True)


def _exposed(releases: list[Release], schema: Any) -> str:
    (found,) = attack(releases, schema, only=["joint"], knowledge=Knowledge(), limits={"joint": LIMIT})
    people = f"{found.people:,} of {found.population:,} exposed, at worst {found.worst:.2f}"
    return f"Everyone at once, {found.details['knowledge']} known: {people}"


PARTS = {"panel": panel, "hospital": hospital, "speed": speed}
