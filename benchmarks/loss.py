"""Information loss per cell, and median error of count queries, of the single-release methods.

On Adult (with its hierarchies) and on Census (flat).

In both spaces of published values: nodes of the taxonomies (the default), and tight ranges between people's own values.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks._measure import adult_folder, adult_table, cpu
from reissue.data.table import Table
from reissue.methods import Job, find
from reissue.release.recode import boxes_of
from reissue.release.release import Draft
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.utility.published import Published
from reissue.utility.queries import Workload, query_error

WORKLOAD = Workload(attributes=(2, 3), sensitive="none", selectivity=0.1)
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pool", {"effort": "fast"}),
    ("pool", {}),
    ("pool", {"effort": "best"}),
    ("mondrian", {}),
    ("mondrian", {"strict": False}),
    ("mondrian", {"effort": "balanced"}),
    ("topdown", {}),
)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="loss", description=__doc__)
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--only", help="one of the requirements")
    chosen = parser.parse_args(arguments)
    folder = adult_folder(chosen.data)
    print(
        f"{'table':<28}{'requirement':<16}{'method':<22}{'boxes':<8}{'loss':>8}{'queries':>9}{'groups':>8}"
        f"{'lost':>6}{'CPU s':>8}",
        flush=True,
    )
    nine, eight = adult_table(folder), adult_table(folder, "occupation")
    for name, table, requirement in (
        *(("Adult, nine QI", nine, f"k={k}") for k in (2, 5, 10, 50, 100)),
        ("Adult, nine QI", nine, "k-m=5,2"),
        ("Adult, nine QI", nine, "k-m=5,3"),
        ("Adult, occupation sensitive", eight, "k=5 & l=3"),
        ("Adult, occupation sensitive", eight, "k=5 & t=0.2"),
        *census(folder.parent / "census" / "census.csv.gz"),
    ):
        for method, options in METHODS if chosen.only in {None, requirement} else ():
            for boxes in ("nodes", "tight"):
                if boxes == "nodes" or method != "topdown":  # which publishes nodes only
                    compare(name, table.with_boxes(tight=boxes == "tight"), requirement, method, options, boxes)


def census(path: Path) -> Iterator[tuple[str, Table, str]]:
    """Census records: seven QI, detailed occupation sensitive."""
    if not path.is_file():
        return
    quasi = ["age", "sex", "education", "marital_stat", "race", "country_self", "class_worker"]
    frame = pl.read_csv(path, infer_schema_length=None)
    table = Table.read(frame, Schema.of_columns(quasi=quasi, sensitive=["det_occ_code"]))
    for requirement in ("k=5", "k=50", "k=10 & l=5"):
        yield f"Census, {frame.height:,} rows", table, requirement


def compare(name: str, table: Table, requirement: str, method: str, options: dict[str, Any], boxes: str) -> None:
    run, wanted = find(method), parse(requirement)
    job = Job(table, wanted, np.random.default_rng(0), options=run.settle(options))
    seconds, draft = cpu(lambda: run.run(job))
    label = method + "".join(f" {key}={value}" for key, value in options.items())
    lost = int((draft.groups < 0).sum())
    groups = len(boxes_of(table, draft).sizes)
    loss = average_loss(table, draft)
    print(f"{name:<28}{requirement:<16}{label:<22}{boxes:<8}{loss:>8.4f}", end="")
    print(f"{median_error(table, draft):>9.4f}{groups:>8}{lost:>6}{seconds:>8.3f}", flush=True)


def average_loss(table: Table, draft: Draft) -> float:
    """The average information loss per cell; a suppressed row is fully lost."""
    boxes = boxes_of(table, draft)
    cells = sum(float(t.loss(boxes.lo[i], boxes.hi[i]) @ boxes.sizes) for i, t in enumerate(table.taxonomies))
    return (cells / len(table.codes) + int((draft.groups < 0).sum())) / table.rows


def median_error(table: Table, draft: Draft) -> float:
    """The median relative error of count queries on two or three quasi-identifiers, each a tenth of the rows."""
    boxes = boxes_of(table, draft)
    rows, number = boxes.sizes.astype(np.float64), np.arange(len(boxes.sizes))
    published = Published(table, boxes.lo, boxes.hi, rows, number, boxes.sizes, None, apart=False)
    return query_error(published, WORKLOAD).median
