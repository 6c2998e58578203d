"""A table larger than memory: CPU and peak of the engine `stream` against memory, and how both grow with the rows.

Every run is a process of its own, from a Parquet file to Parquet, so that its peak is its own. The table is written a
million rows at a time: nobody holds it whole but the engine `memory`. `--table patients` are people with texts and
identifiers, for methods that look at the codes of all rows; the other one is numbers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._measure import peak
from reissue.publishing.anonymize import anonymize
from reissue.publishing.folder import anonymize_folder
from reissue.schema import Schema
from reissue.synth import Population, bench_schema, bench_table, schema

SIZES = (1_000_000, 10_000_000)
STAGES = {0.2: "coding", 0.4: "regions", 0.9: "making", 1.0: "recheck"}
PART = 1_000_000


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="larger", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--engines", nargs="*", default=("memory", "stream"))
    parser.add_argument("--method", default="mondrian")
    parser.add_argument("--require", default="k=10")
    parser.add_argument("--table", choices=("numbers", "patients"), default="numbers")
    parser.add_argument("--folder", help="where there is room for the tables; else a temporary folder")
    parser.add_argument("--run", nargs=2, help="measure one engine on one table in this process")
    chosen = parser.parse_args(arguments)
    if chosen.run:
        engine, table = chosen.run
        measure(engine, table, chosen.method, chosen.require, plan(chosen.table))
        return
    print(f"{'engine':<10}{'rows':>13}{'CPU s':>9}{'wall s':>9}{'peak MB':>9}  CPU s by stage", flush=True)
    for rows in chosen.sizes:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            table = write_table(Path(folder), rows, chosen.table)
            for engine in chosen.engines:
                asked = ["--run", engine, str(table), "--method", chosen.method, "--require", chosen.require]
                asked += ["--table", chosen.table]
                subprocess.run([sys.executable, "-m", "benchmarks", "larger", *asked], check=True)  # noqa: S603


def plan(table: str) -> Schema:
    """Of the table of this name."""
    return bench_schema() if table == "numbers" else schema()


def some_rows(table: str, rows: int, number: int) -> pl.DataFrame:
    """A part of it; patients have numbers of their own."""
    if table == "numbers":
        return bench_table(rows, seed=number)
    people = next(Population(seed=number, people=rows).months(1))
    return people.with_columns(pl.col("patient").cast(pl.Int64) + number * 2 * PART)


def write_table(folder: Path, rows: int, name: str = "numbers") -> Path:
    """A folder of Parquet, a million rows each."""
    place = folder / "table"
    place.mkdir()
    for number, start in enumerate(range(0, rows, PART)):
        some_rows(name, min(PART, rows - start), number).write_parquet(place / f"{number:05d}.parquet")
    return place


def measure(engine: str, table: str, method: str, requirement: str, roles: Schema) -> None:
    """One release."""
    start, began = time.process_time(), time.perf_counter()
    stages: dict[str, float] = {}

    def progress(share: float) -> None:
        if round(share, 6) in STAGES:
            stages[STAGES[round(share, 6)]] = time.process_time() - start - sum(stages.values())

    out = Path(table).with_name(f"release-{engine}")
    if engine == "memory":
        release = anonymize(pl.read_parquet(table), roles, requirement, method=method, seed=0)
        release.write(f"{out}.parquet")
        rows = release.table.rows
    else:
        asked: dict[str, Any] = {"method": method, "engine": engine, "seed": 0, "progress": progress}
        rows = anonymize_folder(table, roles, requirement, out, **asked).rows
    used, took = time.process_time() - start, time.perf_counter() - began
    told = ", ".join(f"{name} {seconds:.1f}" for name, seconds in stages.items())
    print(f"{engine:<10}{rows:>13,}{used:>9.1f}{took:>9.1f}{peak() / 1e6:>9,.0f}  {told}", flush=True)
