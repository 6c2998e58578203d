"""Global recoding on Adult: the optimal full-domain generalization, and top-down specialization beside it.

The bars: with at most 5% of rows left out the true optimum (ARX 3.9.2 chooses a node of 0.2696) in 2 CPU seconds, with
none left out in 0.15, both over 12,960 nodes. Also what top-down specialization and Anatomy take on a million rows.
"""

import argparse

import numpy as np

from benchmarks._measure import adult_folder, adult_table, cpu, one_pass
from benchmarks.loss import average_loss
from reissue.data.table import Table
from reissue.methods import Job, find
from reissue.release.release import Draft
from reissue.requirements import parse
from reissue.synth import bench_schema, bench_table


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="fulldomain", description=__doc__)
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table; 0 leaves it out")
    chosen = parser.parse_args(arguments)
    folder = adult_folder(chosen.data)
    print(f"{'method':<12}{'requirement':<14}{'may go':>7}{'CPU s':>8}{'loss':>8}{'gone':>7}{'groups':>8}  notes")
    nine, eight = adult_table(folder), adult_table(folder, "occupation")
    for method in ("incognito", "topdown"):
        for suppress in (0.0, 0.05):
            adult(nine, method, "k=5", suppress)
            adult(eight, method, "k=5 & l=3", suppress)
            adult(eight, method, "k=5 & t=0.2", suppress)
    if chosen.rows:
        large(chosen.rows)


def measured(table: Table, method: str, requirement: str, suppress: float = 0.0) -> tuple[float, Draft]:
    run = find(method)
    job = Job(table, parse(requirement), np.random.default_rng(0), suppress, run.settle({}))
    return cpu(lambda: run.run(job))


def adult(table: Table, method: str, requirement: str, suppress: float) -> None:
    seconds, draft = measured(table, method, requirement, suppress)
    gone, groups = int((draft.groups < 0).sum()), int(draft.groups.max()) + 1
    loss = average_loss(table, draft)
    levels = {"levels": "".join(map(str, draft.notes["levels"].values()))} if "levels" in draft.notes else {}
    notes = ", ".join(f"{key} {value}" for key, value in {**draft.notes, **levels}.items() if key != "loss")
    print(f"{method:<12}{requirement:<14}{suppress:>7.0%}{seconds:>8.3f}{loss:>8.4f}{gone:>7}{groups:>8}  {notes}")


def large(rows: int) -> None:
    """Nearly distinct rows, eight quasi-identifiers, in passes."""
    frame = bench_table(rows)
    table, unit = Table.read(frame, bench_schema()), one_pass(frame).cpu
    print(f"\n{'method':<12}{'requirement':<14}{'rows':>12}{'CPU s':>9}{'passes':>9}{'groups':>9}")
    for method, requirement in (
        ("topdown", "k=10"),
        ("topdown", "k=10 & l=3"),
        ("anatomy", "l=3"),
        ("anatomy", "t=0.1"),
    ):
        seconds, draft = measured(table, method, requirement)
        groups = int(draft.groups.max()) + 1
        print(f"{method:<12}{requirement:<14}{rows:>12,}{seconds:>9.3f}{seconds / unit:>9.1f}{groups:>9}")
