"""What two threads could save: the same work twice, one after the other and in two threads at once.

A ratio of 2 would be twice as fast, 1 nothing: Python's lock, or a library that has both processors already. Medians of
several runs in turn, on the clock, and the CPU seconds that both ways take; whatever else runs makes the ratio smaller.
`pool` is there to compare with: it does have threads. Elsewhere: the share of CPU seconds in threads of libraries.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks._waves import large_hospital
from reissue.counting.resources import ENVIRONMENT
from reissue.data.table import Table
from reissue.methods import Job, find
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.requirements import parse
from reissue.synth import bench_schema, bench_table
from reissue.verify.check import check


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="threads", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table that is checked")
    parser.add_argument("--people", type=int, default=20_000, help="of the twelve releases that are attacked")
    parser.add_argument("--times", type=int, default=5)
    chosen = parser.parse_args(arguments)
    print(
        f"{'work':<34}{'clock s, in turn':>18}{'at once':>9}{'ratio':>7}{'CPU s':>8}{'at once':>9}{'elsewhere':>11}",
        flush=True,
    )
    frame, schema, asked = bench_table(chosen.rows), bench_schema(), parse("k=10 & l=2 & t=0.9")
    published = anonymize(frame, schema, "k=10", method="mondrian").tables["release"]
    run, table = find("pool"), Table.read(frame, schema)
    job = Job(table, parse("k=10"), np.random.default_rng(0), options=run.settle({"effort": "fast"}))
    os.environ[ENVIRONMENT] = "1"  # otherwise it has several threads by itself
    compare("pool, k = 10, one thread each", lambda: run.run(job), chosen.times)
    compare("check k, l, t of a release", lambda: check(published, schema, asked), chosen.times)
    with tempfile.TemporaryDirectory() as folder:
        waves, made = large_hospital(Path(folder), chosen.people, 12)
        compare("minimality", lambda: attack(made, waves.schema, only="minimality"), chosen.times)


def compare(name: str, work: Callable[[], object], times: int) -> None:
    """Both ways in turn, after one that warms up."""
    work()
    elsewhere = median(share_elsewhere(work) for _ in range(times))
    runs = [[seconds(work, threads) for threads in (1, 2)] for _ in range(times)]
    clock, cpu = ([median(run[way][kind] for run in runs) for way in range(2)] for kind in range(2))
    print(f"{name:<34}{clock[0]:>18.2f}{clock[1]:>9.2f}{clock[0] / clock[1]:>7.2f}", end="")
    print(f"{cpu[0]:>8.2f}{cpu[1]:>9.2f}{elsewhere:>11.0%}", flush=True)


def share_elsewhere(work: Callable[[], object]) -> float:
    """The share of the CPU seconds that threads of libraries take, if one thread of ours does the work."""
    whole, own = time.process_time(), time.thread_time()
    work()
    whole, own = time.process_time() - whole, time.thread_time() - own
    return 1 - own / whole


def seconds(work: Callable[[], object], threads: int) -> tuple[float, float]:
    """Clock and CPU of the work done twice."""
    clock, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as several:
        for one in [several.submit(work) for _ in range(2)]:
            one.result()
    return time.perf_counter() - clock, time.process_time() - cpu
