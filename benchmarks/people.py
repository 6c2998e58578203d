"""Attacks that follow people by every engine: CPU, peak memory of the one who solves, and the finding against memory's.

`python -m benchmarks people [--people N] [--releases N] [--engines memory stream spark] [--attacks joint]`. Months of
the synthetic hospital by `mondrian`, the holder's copies as folders of Parquet. Every engine has a process of its own.
CPU is that of all processes that it started; the peak is that of Python on the driver, without Java and the workers.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._measure import peak
from benchmarks.engines import Meter
from benchmarks.same import rounded
from reissue.published.series import Series
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.synth import Population, schema

FILES = 4


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="people", description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--engines", nargs="*", default=("memory", "stream", "spark"))
    parser.add_argument("--attacks", nargs="*", default=("joint",))
    parser.add_argument("--run", nargs=2, help="measure one engine on a folder of releases in this process")
    chosen = parser.parse_args(arguments)
    if chosen.run:
        measure(chosen.run[0], Path(chosen.run[1]), chosen.attacks)
        return
    with tempfile.TemporaryDirectory() as folder:
        records = write(Path(folder), chosen.people, chosen.releases)
        print(f"{records:,} person-releases: {', '.join(chosen.attacks)}", flush=True)
        for engine in chosen.engines:
            asked = ["--run", engine, folder, "--attacks", *chosen.attacks]
            subprocess.run([sys.executable, "-m", "benchmarks", "people", *asked], check=True)  # noqa: S603


def write(folder: Path, people: int, releases: int) -> int:
    """Private copies of releases, each a folder; how many records they have."""
    records, name = 0, str(schema().identifier)
    for number, month in enumerate(Population(seed=1, people=people).months(releases)):
        shown = anonymize(month, schema(), "k=5 & l=3", method="mondrian", seed=1).frame.with_columns(month[name])
        place = folder / f"{number:03d}"
        place.mkdir()
        for part in range(FILES):
            shown[part::FILES].write_parquet(place / f"{part}.parquet")
        records += shown.height
    return records


def measure(engine: str, folder: Path, attacks: list[str]) -> None:
    """Who has which row, and the attacks."""
    paths = sorted(folder.iterdir())

    def given() -> list[Any]:
        return [pl.read_parquet(one / "*.parquet") for one in paths] if engine == "memory" else list(paths)

    with ExitStack() as stack:
        if engine == "spark":
            from reissue.engines.spark.session import running_session

            stack.enter_context(running_session("local[2]"))
        began = peak() / 1e6
        with Meter() as meter:
            series = Series.read(given(), schema(), engine=engine)
            whose = [release.named for release in series.releases]
            read, after = meter.since()[0], peak() / 1e6
            del series, whose
            found = attack(given(), schema(), only=attacks, engine=engine)
            cpu, wall = meter.since()
    said = json.dumps([rounded(one.as_dict()) for one in found], default=str).encode()
    print(
        f"  {engine:<8}whose rows {read:.1f} CPU s; attack, reading again {cpu - read:.1f} CPU s, "
        f"{wall:.0f} s wall; peak {began:,.0f} MB before, {after:,.0f} with rows and people, {peak() / 1e6:,.0f} "
        f"at the end; finding {hashlib.sha256(said).hexdigest()[:12]}",
        flush=True,
    )
