"""How many passes the ground floor takes, how that grows from 10^5 to 10^7 rows, and how much memory.

Every size runs in a process of its own, so that its peak memory is its own. Tables are nearly all distinct rows.
Passes are given twice: CPU seconds by those of a pass, and seconds on the clock by those of a pass, which uses all
processors too. The clock means something only where nothing else runs.

With `--search` instead: what the search for better groups (`effort`) saves after `pool`, and what it takes.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from benchmarks._measure import Seconds, one_pass, peak, timed
from benchmarks.loss import average_loss
from reissue.data.table import Table
from reissue.methods import Job, find
from reissue.publishing.anonymize import anonymize
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.synth import bench_schema, bench_table
from reissue.verify.check import check

SIZES = (100_000, 1_000_000, 10_000_000)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="speed", description=__doc__)
    parser.add_argument("--rows", type=int, help="measure one size in this process")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--search", action="store_true", help="the search after pool, each effort by itself")
    chosen = parser.parse_args(arguments)
    if chosen.search:
        search(chosen.sizes)
        return
    if chosen.rows:
        measure(chosen.rows)
        return
    print(f"{'what':<34}{'rows':>12}{'CPU s':>9}{'passes':>9}{'clock s':>9}{'passes':>9}{'ns/row':>9}", flush=True)
    for rows in chosen.sizes:
        subprocess.run([sys.executable, "-m", "benchmarks", "speed", "--rows", str(rows)], check=True)  # noqa: S603


def measure(rows: int) -> None:
    """All measurements of one size."""
    warm = bench_table(1000)
    anonymize(warm, bench_schema(), "k=10", method="mondrian")
    before = peak()
    frame = bench_table(rows)
    schema = bench_schema()
    whole = _memory(frame, schema, before)
    unit = one_pass(frame)
    show("one pass", rows, unit, unit)
    show("coding the frame", rows, timed(lambda: Table.read(frame, schema))[0], unit)
    table = Table.read(frame, schema)
    for method in ("mondrian", "pool"):
        run, wanted = find(method), parse("k=10")
        job = Job(table, wanted, np.random.default_rng(0), options=run.settle({"effort": "fast"}))
        show(f"{method}, k = 10", rows, timed(partial(run.run, job), times=5)[0], unit)
    seconds, release = timed(lambda: anonymize(frame, schema, "k=10", method="mondrian"))
    show("anonymize, frame to frame", rows, seconds, unit)
    published = release.tables["release"]
    show(
        "check k, l, t of the release",
        rows,
        timed(lambda: check(published, schema, parse("k=10 & l=2 & t=0.9")))[0],
        unit,
    )
    show("check k, l, t of distinct rows", rows, timed(lambda: check(frame, schema, parse("k=1 & l=1 & t=1")))[0], unit)
    print(whole, flush=True)


def search(sizes: Sequence[int]) -> None:
    """Loss and seconds of pool with each effort, k = 10, nodes; memory at most is of all before it too."""
    print(f"{'effort':<12}{'rows':>12}{'loss':>9}{'groups':>9}{'CPU s':>9}{'clock s':>9}{'GB':>6}", flush=True)
    run = find("pool")
    for rows in sizes:
        table = Table.read(bench_table(rows), bench_schema())
        for effort in ("fast", "balanced", "best"):
            job = Job(table, parse("k=10"), np.random.default_rng(0), options=run.settle({"effort": effort}))
            seconds, draft = timed(partial(run.run, job), times=1)
            groups, gigabytes = int(draft.groups.max()) + 1, peak() / 2**30
            print(f"{effort:<12}{rows:>12,}{average_loss(table, draft):>9.4f}{groups:>9,}", end="")
            print(f"{seconds.cpu:>9.1f}{seconds.clock:>9.1f}{gigabytes:>6.2f}", flush=True)


def _memory(frame: pl.DataFrame, schema: Schema, before: int) -> str:
    """Peak memory of Mondrian and of a whole anonymization, first things in the process, against what came in."""
    run = find("mondrian")
    run.run(Job(Table.read(frame, schema), parse("k=10"), np.random.default_rng(0), options=run.settle({})))
    drafted = peak() - before
    anonymize(frame, schema, "k=10", method="mondrian")
    published = peak() - before
    coded, given = frame.width * 4 * frame.height, int(frame.estimated_size())
    bar = 3 * coded + given
    return (
        f"  input frame {given / 1e6:,.0f} MB, coded table {coded / 1e6:,.0f} MB; peak of coding and Mondrian "
        f"{drafted / 1e6:,.0f} MB: {drafted / bar:.2f} of (3 x coded + input);\n  with the published frame of texts "
        f"{published / 1e6:,.0f} MB: {published / bar:.2f}\n"
    )


def show(what: str, rows: int, seconds: Seconds, unit: Seconds) -> None:
    both = "".join(f"{one:>9.3f}{one / other:>9.2f}" for one, other in zip(seconds, unit, strict=True))
    print(f"{what:<34}{rows:>12,}{both}{seconds.cpu / rows * 1e9:>9.0f}", flush=True)
