"""What is measured, and in what: CPU seconds, passes, peak memory, and where the data lie."""

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import polars as pl

from reissue.data.table import Table
from reissue.schema import Schema

__all__ = [
    "Seconds",
    "adult_folder",
    "adult_schema",
    "adult_table",
    "cpu",
    "data_folder",
    "group_all",
    "one_pass",
    "peak",
    "timed",
]

Outcome = TypeVar("Outcome")
ADULT = {
    "sex": "sex",
    "age": "age",
    "race": "race",
    "marital-status": "marital-status",
    "education": "education",
    "native-country": "native-country",
    "workclass": "workclass",
    "occupation": "occupation",
    "income": "salary-class",
}
"""Adult's quasi-identifiers and the names of their hierarchy files."""


class Seconds(NamedTuple):
    """How long something took: of all processors together, and on the clock."""

    cpu: float
    clock: float


def cpu(work: Callable[[], Outcome], times: int = 2) -> tuple[float, Outcome]:
    """The least CPU seconds of several runs (the first warms up), and the last outcome."""
    seconds, outcome = timed(work, times)
    return seconds.cpu, outcome


def timed(work: Callable[[], Outcome], times: int = 2) -> tuple[Seconds, Outcome]:
    """The least seconds of several runs (the first warms up), either kind by itself, and the last outcome."""
    best = Seconds(float("inf"), float("inf"))
    for _ in range(times):
        start = Seconds(time.process_time(), time.perf_counter())
        outcome = work()
        best = Seconds(
            min(best.cpu, time.process_time() - start.cpu), min(best.clock, time.perf_counter() - start.clock)
        )
    return best, outcome


def one_pass(frame: pl.DataFrame) -> Seconds:
    """The yardstick: one lazy Polars group-by over all (integer-coded) columns, in this process, by all its threads."""
    return timed(lambda: group_all(frame), times=5)[0]


def group_all(frame: pl.DataFrame) -> pl.DataFrame:
    """All different rows, and how often each occurs."""
    return frame.lazy().group_by(frame.columns).len().collect()


def peak() -> int:
    """The most memory this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def data_folder(given: str | None = None) -> Path:
    """Where the public data sets are: an argument, REISSUE_DATA, or shared/data beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(given or os.environ.get("REISSUE_DATA") or beside)


def adult_folder(given: str | None = None) -> Path:
    """The folder of UCI Adult: train.csv, test.csv and hierarchies/."""
    folder = data_folder(given) / "adult"
    if not folder.is_dir():
        raise SystemExit(f"No Adult data in {folder}. Set REISSUE_DATA to the folder that holds adult/ and census/.")
    return folder


def adult_schema(folder: Path, sensitive: str | None = None) -> Schema:
    """The nine attributes with their hierarchies; one of them may be the sensitive one instead."""
    lines = ["[columns]", *(f'{name} = "{"sensitive" if name == sensitive else "quasi"}"' for name in ADULT)]
    for name, file in ADULT.items():
        lines += [f"[taxonomy.{name}]", f'file = "{file}.csv"']
    return Schema.loads("\n".join(lines), folder=folder / "hierarchies")


def adult_table(folder: Path, sensitive: str | None = None) -> Table:
    """The training records, coded."""
    return Table.read(folder / "train.csv", adult_schema(folder, sensitive))
