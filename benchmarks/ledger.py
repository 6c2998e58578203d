"""How a ledger grows old: `python -m benchmarks ledger [--quick] [--releases N] [--rows N] [--policy NAME ...]`.

A register in which one in twenty people leaves and as many come between two releases, one in ten of them somebody who
had left before. Prints what opening the ledger costs, and what publishing a late release costs against release 12, in
CPU seconds: anonymizing and recording, and attacking together with all earlier releases. Both are published again and
again in turn, with the ledger as it was then, at the end of the run; shown are the medians. Where a release is refused
it says why: of `window` with 72 releases the share of counterfeits is about 0.1, which is what a policy allows.

Policies: `invariance` with the attacks `updates` and `equivalence`; `distinct`, for values that change, with a ceiling
on the risk; `equivalence` with both attacks; `correspondence`, where records only arrive, one in a thousand each time
(or so many as `--arriving` says), so that the last release has all the rows;
`window` is `invariance` with the last eleven releases only.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks._measure import cpu, peak
from reissue.ledger import Ledger
from reissue.publishing.publish import publish_next
from reissue.publishing.refusal import RefusedError
from reissue.schema import Schema

EARLY = 12
TIMES = 7
COLUMNS = """
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
"""
DISEASES = 30
BRANCH = 3
"""A disease can become one of this many, itself among them."""
_TREE = ", ".join(
    f"b{first} = [{', '.join(f'{chr(34)}d{first + more}{chr(34)}' for more in range(BRANCH))}]"
    for first in range(0, DISEASES, BRANCH)
)
INVARIANCE = """
[policy]
require = "m-unique=3"
method = "invariance"
attacks = ["updates", "equivalence"]
limits = { equivalence = 1 }
"""
POLICIES = {
    "invariance": INVARIANCE,
    "window": INVARIANCE + "look_back = 11\n",
    "distinct": f"""
[taxonomy.disease]
tree = {{ {_TREE} }}
[updates]
taxonomy = 1
[policy]
require = "m-unique=3"
method = "distinct"
options = {{ risk = 0.67 }}
limits = {{ updates = 0.67 }}
attacks = ["updates"]
""",
    "equivalence": """
[policy]
require = "simple-l=3"
method = "equivalence"
options = { e = 3 }
attacks = ["updates", "equivalence"]
""",
    "correspondence": """
[policy]
require = "k=5"
method = "correspondence"
attacks = ["correspondence"]
""",
}


def months(rows: int, number: int, seed: int = 1, *, changing: bool = False) -> Iterator[pl.DataFrame]:
    """Tables of this many people, of whom one in twenty is replaced each time; diseases may change within branches."""
    rng = np.random.default_rng(seed)
    swap = rows // 20
    people = _people(rng, rows + number * swap)
    here, gone, new = np.arange(rows), np.empty(0, np.int64), rows
    for month in range(number):
        if month:
            leaving = rng.choice(rows, swap, replace=False)
            back = rng.choice(gone, min(swap // 10, len(gone)), replace=False)
            gone = np.concatenate([np.setdiff1d(gone, back), here[leaving]])
            coming = np.concatenate([back, new + np.arange(swap - len(back))])
            here[leaving], new = coming, new + swap - len(back)
        yield _frame(people, here)
        if changing:
            sick = here[rng.random(rows) < 0.1]
            branch = people["disease"][sick] // BRANCH * BRANCH
            people["disease"][sick] = branch + rng.integers(0, BRANCH, len(sick))


def growing(rows: int, number: int, arriving: int, seed: int = 1) -> Iterator[pl.DataFrame]:
    """Tables to which this many records are added each time; the last one has so many rows."""
    people = _people(np.random.default_rng(seed), rows)
    for month in range(number):
        yield _frame(people, np.arange(rows - (number - 1 - month) * arriving))


def _people(rng: np.random.Generator, number: int) -> dict[str, np.ndarray]:
    sizes = {"age": 90, "zip": 400, "sex": 2, "disease": DISEASES}
    return {name: rng.integers(0, size, number) for name, size in sizes.items()}


def _frame(people: dict[str, np.ndarray], here: np.ndarray) -> pl.DataFrame:
    frame = pl.DataFrame({"person": here.copy(), **{name: column[here] for name, column in people.items()}})
    return frame.with_columns(pl.format("d{}", "disease").alias("disease"))


@dataclass
class Cost:
    """CPU seconds of one publication."""

    total: float
    attacks: float


def publish(frame: pl.DataFrame, ledger: Ledger) -> Cost:
    """Publish, and say what it cost."""
    from reissue.publishing import gate

    spent = 0.0
    real = gate.run_gate

    def timed(*given: object) -> object:
        nonlocal spent
        start = time.process_time()
        outcome = real(*given)  # type: ignore[arg-type]
        spent = time.process_time() - start
        return outcome

    gate.run_gate = timed  # type: ignore[assignment]
    start = time.process_time()
    publish_next(frame, ledger)
    total = time.process_time() - start
    gate.run_gate = real
    return Cost(total, spent)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks ledger")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--releases", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--policy", choices=list(POLICIES), action="append")
    parser.add_argument("--trace", action="store_true", help="print what every release costs")
    parser.add_argument("--arriving", type=int, help="with `correspondence`: so many records arrive each time")
    given = parser.parse_args(arguments)
    releases, rows = given.releases or (36 if given.quick else 121), given.rows or (5_000 if given.quick else 100_000)
    for name in given.policy or POLICIES:
        schema = Schema.loads(COLUMNS + POLICIES[name])
        with tempfile.TemporaryDirectory() as folder:
            if name == "correspondence":
                tables = growing(rows, releases, given.arriving or max(rows // 1000, 20))
            else:
                tables = months(rows, releases, changing=name == "distinct")
            _run(name, Path(folder) / "x.ledger", schema, tables, rows, releases, trace=given.trace)


def _run(
    name: str, place: Path, schema: Schema, tables: Iterator[pl.DataFrame], rows: int, releases: int, *, trace: bool
) -> None:
    kept: dict[int, tuple[Path, pl.DataFrame]] = {}
    with Ledger.create(place, schema) as ledger:
        for number, frame in enumerate(tables, start=1):
            if number in {EARLY, releases}:
                kept[number] = (place.with_name(f"before.{number}"), frame)
                shutil.copytree(place, kept[number][0])
            try:
                cost = publish(frame, ledger)
            except RefusedError as refused:
                print(f"{name}: {refused}", flush=True)
                return
            if trace:
                print(f"  {name} {number}: {cost.total:.2f} s, attacks {cost.attacks:.2f} s", flush=True)
    seconds, _ = cpu(lambda: Ledger.open(place).close(), times=3)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    key = place.with_name(f"{place.name}.key")
    # In turn, so that whatever else the machine does meets both alike.
    costs = [{number: _again(*kept[number], key) for number in kept} for _ in range(TIMES)]
    early, late = (_median([cost[number] for cost in costs]) for number in (EARLY, releases))
    print(
        f"{name}: {releases} releases of {rows:,} records, {size / 1e6:,.0f} MB, at most {peak() / 1e9:.1f} GB in use"
    )
    print(f"  opening {seconds:.3f} s")
    print(f"  release {EARLY}: {early.total:.2f} s, of which attacks {early.attacks:.2f} s")
    print(f"  release {releases}: {late.total:.2f} s, of which attacks {late.attacks:.2f} s")
    without = (late.total - late.attacks) / (early.total - early.attacks)
    print(f"  ratio {late.total / early.total:.2f}; without attacks {without:.2f}", flush=True)


def _again(before: Path, frame: pl.DataFrame, key: Path) -> Cost:
    """What publishing a table costs with a ledger as it was then."""
    copy = before.with_name("again")
    shutil.copytree(before, copy)
    head = before.with_name("again.head")  # the ledger's own head is of all its releases
    with Ledger.open(copy, key=key, head=head) as ledger:
        cost = publish(frame, ledger)
    shutil.rmtree(copy)
    head.unlink()
    return cost


def _median(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(cost, part) for cost in costs) for part in ("total", "attacks")))
