"""Spark against memory: CPU seconds of the driver, Java and the workers together, peak memory, and stage by stage.

`python -m benchmarks engines [--rows N] [--cores N]`. The table has eight quasi-identifiers and nearly all rows are
distinct; k = 10. Spark is warm: a table of a million rows went through before. What is serial is the CPU that is used
while no stage runs on a worker: with more cores only the rest gets faster, and a stage of n tasks by n cores at most.
So a simulation says how much faster twice the cores would be.
"""

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import polars as pl
import psutil

from reissue.engines.spark.session import running_session
from reissue.publishing.anonymize import anonymize
from reissue.publishing.folder import anonymize_frame
from reissue.synth import bench_schema, bench_table
from reissue.verify.check import check

STAGES = {0.2: "coding", 0.4: "regions", 0.9: "making", 1.0: "recheck"}
FILES = 8
WARM = 1_000_000
"""Rows of the table by which Spark gets warm."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="engines", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--memory", default="6g", help="of Java")
    parser.add_argument("--methods", nargs="*", default=["mondrian", "pool"])
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table"
        _write(table, chosen.rows)
        memory = {method: _memory(table, method) for method in chosen.methods}
        settings = {"spark.driver.memory": chosen.memory, "spark.sql.shuffle.partitions": str(2 * chosen.cores)}
        with running_session(f"local[{chosen.cores}]", settings) as spark:
            _warm(spark, Path(folder) / "small")
            for method, inside in memory.items():
                _spark(spark, table, Path(folder) / method, method, inside)
            _check(spark, Path(folder) / chosen.methods[0])


@dataclass
class Meter:
    """CPU seconds of this process and all that it started, wall seconds, and the peak of their memory.

    What each process used is remembered when it ends: Spark's daemon disowns its workers, so that nobody inherits their
    CPU seconds, and a sum over those who live would fall when idle workers end.
    """

    busy: Callable[[], bool] = lambda: True
    """Whether workers have something to do."""
    top: float = 0.0
    serial: float = 0.0
    """CPU seconds while they had nothing to do."""
    used: dict[tuple[int, float], float] = field(default_factory=dict)
    """CPU seconds of every process that was ever seen, by its number and when it began."""
    ended: threading.Event = field(default_factory=threading.Event)
    began: tuple[float, float] = (0.0, 0.0)

    def __enter__(self) -> Self:
        self.began = self.now()
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()

    def _watch(self) -> None:
        last = self.now()[0]
        while not self.ended.wait(0.1):
            last, before = self.now()[0], last
            self.serial += 0.0 if self.busy() else last - before

    def now(self) -> tuple[float, float]:
        """CPU and wall seconds so far."""
        tree = [psutil.Process(), *psutil.Process().children(recursive=True)]
        seen = {(one.pid, one.create_time()): _of(one, lambda p: float(sum(p.cpu_times()[:2]))) for one in tree}
        self.used |= {one: max(seconds, self.used.get(one, 0.0)) for one, seconds in seen.items()}
        self.top = max(self.top, sum(_of(one, lambda p: float(p.memory_info().rss)) for one in tree) / 2**30)
        return sum(list(self.used.values())), time.monotonic()

    def since(self) -> tuple[float, float]:
        """CPU and wall seconds since it began."""
        cpu, wall = self.now()
        return cpu - self.began[0], wall - self.began[1]


def _of(process: psutil.Process, what: Callable[[psutil.Process], float]) -> float:
    try:
        return what(process)
    except psutil.Error:  # it has just ended
        return 0.0


def _write(folder: Path, rows: int) -> None:
    folder.mkdir()
    frame = bench_table(rows)
    for number in range(FILES):
        frame[number::FILES].write_parquet(folder / f"{number}.parquet")


def _memory(table: Path, method: str) -> float:
    with Meter() as meter:
        frame = pl.read_parquet(table / "*.parquet")
        anonymize(frame, bench_schema(), "k=10", method=method, seed=1)
        seconds, wall = meter.since()
    print(
        f"{method}, memory: {seconds:.1f} CPU s, {wall:.1f} s, {meter.top:.2f} GB (of this process so far)", flush=True
    )
    return seconds


def _warm(spark: Any, place: Path) -> None:
    bench_table(WARM).write_parquet(place)
    for method in ("mondrian", "pool"):
        with anonymize_frame(spark.read.parquet(str(place)), bench_schema(), "k=10", method=method) as release:
            check(release.frame, bench_schema(), "k=10")


def _spark(spark: Any, table: Path, out: Path, method: str, inside: float) -> None:
    stages: dict[str, tuple[float, float]] = {}
    frame = spark.read.parquet(str(table))
    size: dict[str, Any] = {"fits": 1_000_000} if method == "mondrian" else {}
    tracker = spark.sparkContext.statusTracker()
    with Meter(lambda: bool(tracker.getActiveStageIds())) as meter:

        def progress(share: float) -> None:
            if round(share, 6) in STAGES:
                stages[STAGES[round(share, 6)]] = meter.since()

        release = anonymize_frame(frame, bench_schema(), "k=10", method=method, seed=1, progress=progress, **size)
        seconds, wall = meter.since()
    print(
        f"{method}, spark: {seconds:.1f} CPU s, {wall:.1f} s, {meter.top:.2f} GB in {release.regions} regions: "
        f"{seconds / inside:.2f} times the CPU of memory",
        flush=True,
    )
    before = (0.0, 0.0)
    for name, (cpu, then) in stages.items():
        print(f"  {name:<10}{cpu - before[0]:>8.1f} CPU s{then - before[1]:>8.1f} s", flush=True)
        before = cpu, then
    _simulate(meter.serial, seconds, release.regions)
    with Meter() as meter:
        release.frame.write.parquet(str(out))
        seconds, wall = meter.since()
    print(f"  {'written':<10}{seconds:>8.1f} CPU s{wall:>8.1f} s, which is not in the sum", flush=True)
    release.close()


def _simulate(serial: float, seconds: float, regions: int) -> None:
    """How much faster twice the cores are where they are there: what is serial stays, the rest is shared by tasks."""
    took = {cores: _time(serial, seconds, regions, cores) for cores in (1, 2, 4, 8, 16)}
    parts = [f"{cores} to {2 * cores}: {took[cores] / took[2 * cores]:.2f}" for cores in (1, 2, 4, 8)]
    print(f"  serial    {serial:>8.1f} CPU s; simulated, times as fast with cores from {', '.join(parts)}", flush=True)


def _time(serial: float, seconds: float, regions: int, cores: int) -> float:
    """Rounds of tasks, a region each, all of the same length."""
    return serial + (seconds - serial) / regions * -(-regions // cores)


def _check(spark: Any, release: Path) -> None:
    """A check against Spark's own group-by of the same cells, both with what they bring to the driver."""
    names = [*bench_schema().quasi, *bench_schema().sensitive]
    frame = spark.read.parquet(str(release))
    for _ in range(2):
        with Meter() as meter:
            cells = frame.groupBy(*names).count().toArrow().num_rows
            own, wall = meter.since()
    print(f"Spark's own group-by of {cells:,} cells: {own:.1f} CPU s, {wall:.1f} s", flush=True)
    with Meter() as meter:
        check(frame, bench_schema(), "k=10")
        seconds, wall = meter.since()
    print(f"check: {seconds:.1f} CPU s, {wall:.1f} s: {seconds / own:.2f} times that", flush=True)
