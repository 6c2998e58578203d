"""How a ledger grows old: `python -m benchmarks ledger [--quick] [--releases N] [--rows N] [--policy NAME]`.

A register in which one in twenty people leaves and as many arrive between two releases. Prints what opening the ledger
costs, and what publishing a late release costs against release 12, in CPU seconds: anonymizing, attacking, the rest.
Policies: `all` attacks each release with all earlier ones, `ceiling` too, with a limit given (then only people who are
in the new release need following), `window` with the last eleven.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks._measure import cpu
from reissue.ledger import Ledger
from reissue.publish import publish_next
from reissue.schema import Schema

EARLY = 12
POLICY = """
[columns]
person = "identifier"
age = "quasi"
zip = "quasi"
sex = "quasi"
disease = "sensitive"
[taxonomy.age]
ranges = [5, 10, 20]
[taxonomy.zip]
ranges = [10, 100]
[policy]
require = "m-unique=3"
method = "invariance"
attacks = ["updates"]
"""

POLICIES = {"all": "", "ceiling": "risk = 0.34\n", "window": "look_back = 11\n"}


def months(rows: int, number: int, seed: int = 1) -> Iterator[pl.DataFrame]:
    """Tables of so many people, of whom one in twenty is new each time."""
    rng = np.random.default_rng(seed)
    person = np.arange(rows)
    columns = _people(rng, rows)
    for month in range(number):
        if month:
            leaving = rng.choice(rows, rows // 20, replace=False)
            person[leaving] = rows + month * rows // 20 + np.arange(len(leaving))
            for name, fresh in _people(rng, len(leaving)).items():
                columns[name][leaving] = fresh
        frame = pl.DataFrame({"person": person.copy(), **{name: column.copy() for name, column in columns.items()}})
        yield frame.with_columns(pl.format("d{}", "disease").alias("disease"))


def _people(rng: np.random.Generator, number: int) -> dict[str, np.ndarray]:
    sizes = {"age": 90, "zip": 400, "sex": 2, "disease": 30}
    return {name: rng.integers(0, size, number) for name, size in sizes.items()}


@dataclass
class Cost:
    """CPU seconds of one publication."""

    total: float
    attacks: float


def publish(frame: pl.DataFrame, ledger: Ledger) -> Cost:
    """Publish, and say what it cost."""
    from reissue.ledger import _together

    spent = 0.0
    real = _together.attack_together

    def timed(*given: object) -> object:
        nonlocal spent
        start = time.process_time()
        outcome = real(*given)  # type: ignore[arg-type]
        spent = time.process_time() - start
        return outcome

    _together.attack_together = timed  # type: ignore[assignment]
    start = time.process_time()
    publish_next(frame, ledger)
    total = time.process_time() - start
    _together.attack_together = real
    return Cost(total, spent)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks ledger")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--releases", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--policy", choices=list(POLICIES), action="append")
    given = parser.parse_args(arguments)
    releases, rows = given.releases or (36 if given.quick else 121), given.rows or (5_000 if given.quick else 100_000)
    for name in given.policy or POLICIES:
        schema = Schema.loads(POLICY + POLICIES[name])
        with tempfile.TemporaryDirectory() as folder:
            _run(name, Path(folder) / "x.ledger", schema, rows, releases)


def _run(name: str, place: Path, schema: Schema, rows: int, releases: int) -> None:
    with Ledger.create(place, schema) as ledger:
        costs = [publish(frame, ledger) for frame in months(rows, releases)]
    seconds, _ = cpu(lambda: Ledger.open(place).close(), times=3)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    early = min(costs[EARLY - 2 : EARLY + 1], key=lambda cost: cost.total)
    late = min(costs[-2:], key=lambda cost: cost.total)
    print(f"{name}: {releases} releases of {rows:,} records, {size / 1e6:,.0f} MB; opening {seconds:.3f} s")
    print(f"  release {EARLY}: {early.total:.2f} s, of which attacks {early.attacks:.2f} s")
    print(f"  release {releases}: {late.total:.2f} s, of which attacks {late.attacks:.2f} s")
    without = (late.total - late.attacks) / (early.total - early.attacks)
    print(f"  ratio {late.total / early.total:.2f}; without attacks {without:.2f}", flush=True)
