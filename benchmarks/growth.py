"""How work grows: with rows, quasi-identifiers, sensitive values, releases and providers, as exponents.

Each line is one piece of work at rising sizes, in CPU seconds, and two exponents: from the first size to the last, and
of the last step alone (where what is paid once weighs least). 1 is linear. What is above 1.15 is marked. Every size of
rows runs in a process of its own, which also tells its peak memory.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks._measure import cpu, group_all, peak
from reissue import synth
from reissue.data.table import Table
from reissue.methods import Job, find
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.publishing.series import anonymize_series
from reissue.release.release import Release
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.verify.check import check

BAR = 1.15
Work = Callable[[], Any]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*KINDS], default=[*KINDS], help="which sizes grow")
    parser.add_argument("--quick", action="store_true", help="without the largest size of each")
    parser.add_argument("--here", nargs=2, metavar=("KIND", "SIZE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.here:
        name, size = chosen.here
        seconds = {what: spent(work) for what, work in KINDS[name].works(int(size))}
        print(json.dumps({"seconds": seconds, "gigabytes": peak() / 2**30}))
        return
    for name in chosen.only:
        kind = KINDS[name]
        sizes = kind.sizes[:-1] if chosen.quick else kind.sizes
        report(kind, sizes, [measured(name, kind, size) for size in sizes])


@dataclass(frozen=True)
class Kind:
    """One size that grows."""

    title: str
    sizes: Sequence[int]
    works: Callable[[int], Iterator[tuple[str, Work]]]
    """The pieces of work of one size, by name."""
    apart: bool = False
    """Whether every size runs in a process of its own."""


def measured(name: str, kind: Kind, size: int) -> Mapping[str, Any]:
    """CPU seconds of every piece of work at one size, and the memory at most where it is known."""
    if not kind.apart:
        return {"seconds": {what: spent(work) for what, work in kind.works(size)}}
    command = [sys.executable, "-m", "benchmarks", "growth", "--here", name, str(size)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found


def spent(work: Work) -> float:
    """CPU seconds: the least of three where it is quick."""
    seconds, _ = cpu(work, times=1)
    return seconds if seconds > 2 else min(seconds, cpu(work, times=2)[0])


def report(kind: Kind, sizes: Sequence[int], found: Sequence[Mapping[str, Any]]) -> None:
    print(f"\n{kind.title:<46}" + "".join(f"{size:>11,}" for size in sizes) + f"{'all':>8}{'last':>7}")
    for what in found[0]["seconds"]:
        done = [(size, one["seconds"][what]) for size, one in zip(sizes, found, strict=True) if what in one["seconds"]]
        some, seconds = [size for size, _ in done], [spent for _, spent in done]  # not everything is done at each size
        whole, last = exponent(some, seconds, 0), exponent(some, seconds, -2)
        mark = "  above 1.15" if max(whole, last) > BAR else ""
        cells = "".join(f"{one:>11.3f}" for one in seconds) + " " * 11 * (len(sizes) - len(some))
        print(f"{what:<46}{cells}{whole:>8.2f}{last:>7.2f}{mark}", flush=True)
    if kind.apart:
        memory = [one["gigabytes"] for one in found]
        rates = f"{exponent(sizes, memory, 0):>8.2f}{exponent(sizes, memory, -2):>7.2f}"
        print(f"{'memory at most, GB':<46}" + "".join(f"{one:>11.2f}" for one in memory) + rates, flush=True)


def exponent(sizes: Sequence[int], seconds: Sequence[float], start: int) -> float:
    """The slope between two points on logarithmic paper: from `start` to the last."""
    return math.log(seconds[-1] / seconds[start]) / math.log(sizes[-1] / sizes[start])


# --- what is done ----------------------------------------------------------------------------------------------------


FAST = {"pool": {"effort": "fast"}}
"""Of pool the groups alone are measured: the search after them is measured by `speed --search`."""


def drafted(method: str, table: Table, requirement: str, **options: Any) -> Work:
    """A method alone, on a table in codes."""
    run = find(method)
    job = Job(table, parse(requirement), np.random.default_rng(0), options=run.settle(options))
    return partial(run.run, job)


def by_rows(rows: int) -> Iterator[tuple[str, Work]]:
    frame, schema = synth.bench_table(rows), synth.bench_schema()
    yield "one pass (a Polars group-by)", partial(group_all, frame)
    yield "coding the frame", partial(Table.read, frame, schema)
    table = Table.read(frame, schema)
    for method in ("mondrian", "pool", "topdown"):
        yield f"{method}, k = 10", drafted(method, table, "k=10", **FAST.get(method, {}))
    yield "check of all measures", partial(check, frame, schema)
    halves = [Table.read(frame[: rows // part], schema, codings=table.codings) for part in (2, 1)]
    made = [anonymize(one, schema, "k=10", method="topdown", seed=0) for one in halves]
    yield "correspondence attack, two releases", partial(attack, made, schema, only="correspondence")


def by_quasi(quasi: int, rows: int = 20_000) -> Iterator[tuple[str, Work]]:
    frame, schema = synth.bench_table(rows, quasi), synth.bench_schema(quasi)
    table = Table.read(frame, schema)
    yield "coding the frame", partial(Table.read, frame, schema)
    for method in ("mondrian", "pool"):
        yield f"{method}, k = 10", drafted(method, table, "k=10", **FAST.get(method, {}))
    yield "anonymize, frame to frame (mondrian)", partial(anonymize, frame, schema, "k=10", method="mondrian", seed=0)
    yield "check of all measures", partial(check, frame, schema)


def by_values(values: int, rows: int = 100_000) -> Iterator[tuple[str, Work]]:
    rng = np.random.default_rng(0)
    # As many rows of each: of two values drawn at random one has more than half, which anatomy refuses.
    frame = synth.bench_table(rows, 5).with_columns(pl.Series("s", rng.permutation(np.arange(rows) % values)))
    schema = synth.bench_schema(5)
    table = Table.read(frame, schema)
    for method in ("mondrian", "pool"):
        yield f"{method}, k = 10 & l = 2", drafted(method, table, "k=10 & l=2", **FAST.get(method, {}))
    yield "anatomy, l = 2", drafted("anatomy", table, "l=2")
    release = anonymize(table, schema, "k=10 & l=2", method="mondrian", seed=0)
    yield "check of all measures", partial(check, release.tables["release"], schema)
    yield "definetti attack", partial(attack, [release], schema, only="definetti")
    if values <= 1_000:
        again = anonymize(table, schema, "k=10 & l=2", method="pool", seed=0, effort="fast")
        yield "composition of two releases", partial(attack, [release, again], schema, only="composition")


@cache
def hospital(people: int, months: int) -> tuple[Schema, tuple[pl.DataFrame, ...], list[Release]]:
    """Months of a hospital, each published by itself."""
    folder = Path(tempfile.mkdtemp())
    synth.updates().write_csv(folder / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=folder)
    tables = tuple(synth.Population(seed=1, people=people).months(months))
    return schema, tables, [anonymize(one, schema, "k=5 & l=3", seed=n) for n, one in enumerate(tables)]


def by_releases(releases: int, people: int = 250) -> Iterator[tuple[str, Work]]:
    schema, tables, made = hospital(people, 120)
    for name in ("updates", "equivalence", "trajectory", "minimality", "joint"):
        yield f"{name} attack", partial(attack, made[:releases], schema, only=name)
    stays = replace(schema, updates={"none": True})
    first = (
        pl.concat(tables[:releases]).unique("patient", keep="first", maintain_order=True).select("patient", "disease")
    )
    same = [one.drop("disease").join(first, on="patient", maintain_order="left") for one in tables[:releases]]
    fakes: dict[str, Any] = {"ineligible": "counterfeits"}
    yield (
        "publishing by invariance, m = 3",
        partial(anonymize_series, same, stays, "m-unique=3", method="invariance", seed=0, **fakes),
    )
    yield (
        "publishing by distinct, m = 3",
        partial(anonymize_series, tables[:releases], schema, "m-unique=3", method="distinct", seed=0, **fakes),
    )


def by_providers(providers: int, rows: int = 20_000) -> Iterator[tuple[str, Work]]:
    rng = np.random.default_rng(0)
    given = synth.bench_table(rows, 5).with_columns(pl.Series("from", rng.integers(0, providers, rows)))
    quasi = [f"q{n}" for n in range(1, 6)]
    schema = Schema.of_columns(quasi=quasi, sensitive=["s"], provider="from", several_rows=False)
    table = Table.read(given, schema)
    m = max(providers // 2, 1)
    for rule in ("k=10", "k=10 & l=3"):
        yield f"providers, m = n/2, {rule}", drafted("providers", table, rule, m=m)
        release = anonymize(table, schema, rule, method="mondrian", seed=0)
        yield f"coalition attack on mondrian, {rule}", partial(attack, [release], schema, only="coalition")


KINDS = {
    "rows": Kind("rows (8 QI)", (100_000, 1_000_000, 10_000_000), by_rows, apart=True),
    "quasi": Kind("quasi-identifiers (20,000 rows)", (5, 10, 25, 50, 100), by_quasi),
    "values": Kind("sensitive values (100,000 rows, 5 QI)", (2, 10, 100, 1_000, 10_000), by_values),
    "releases": Kind("releases (250 people)", (2, 12, 30, 60, 120), by_releases),
    "providers": Kind("providers (20,000 rows, 5 QI)", (2, 5, 10, 20, 50), by_providers),
}
