"""Other tools on the same table: what they say of it, what they make of it, and what that costs.

Adult, the hierarchies that ARX users have, k = 5. Every tool gets a process of its own with the table in memory: CPU
seconds and memory (the peak above what there was before) are of the work alone, without imports and files. A loss is
the share of its column's domain that a published value covers, and is to be compared only within one *space* of
published values:

- levels: every column as a whole on one level of its hierarchy (full-domain generalization);
- nodes: every cell a node of its column's hierarchy;
- ranges: every cell any range of the hierarchy's leaves, in their order;
- sets: every cell any set of values, or any range of a number.

pycanon, anjana and anonypyx are no dependencies of Reissue, and need other versions of NumPy. Give them an environment
of their own, and say where it is:

    python -m venv others
    others/bin/pip install pycanon anjana anonypyx
    python -m benchmarks others --python others/bin/python

ARX is not on PyPI, and is quoted at the end with how it was measured.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks._measure import ADULT, adult_folder
from benchmarks.loss import WORKLOAD
from reissue._arrays import Floats, Ints
from reissue.methods.microaggregation import squares_within
from reissue.publishing.anonymize import anonymize
from reissue.schema import Schema
from reissue.utility import Utility, measure
from reissue.verify.check import check

SENSITIVE = "occupation"
QUASI = [name for name in ADULT if name != SENSITIVE]
K, FEW = 5, 3_000
"""anonypyx takes a minute for ten thousand records: it gets so many, and so does Reissue beside it."""
EFFORTS: tuple[dict[str, Any], ...] = ({"effort": "fast"}, {})
PREDICTED = "income"
DRAWS = 8
"""Medians of a thousand queries differ by a tenth from one draw to the next."""
ARX_QUERIES = {2: (0.026, 0.019), 5: (0.067, 0.077), 10: (0.098, 0.144), 50: (0.179, 0.356), 100: (0.202, 0.437)}
"""k to the median errors of ARX and of pool fast with the same queries, as the project measured them."""
ARX = """\
ARX 3.9.2, quoted and not of this run: the project ran it side by side with Reissue in November 2026, on Adult's
training records with the same hierarchies, in CPU seconds; what it publishes are nodes of the hierarchies. Which of its
settings for local recoding were used was not recorded, nor which count queries were asked (median errors in brackets:
compare their ratios to pool fast's, see `--only queries`). ARX is Java and not on PyPI: it cannot be run again here.
  nine QI, k = 2, 5, 10, 50, 100    nodes    loss 0.0298 (0.026), 0.0591 (0.067), 0.0830 (0.098), 0.1549 (0.179),
                                             0.1970 (0.202); k = 5: 3.7 CPU s
  eight QI, k = 5 & l = 3           nodes    loss 0.0367   1.24 CPU s
  eight QI, k = 5 & t = 0.2         nodes    loss 0.456    84 CPU s, 4,424 records left out
  eight QI, k = 5 & beta = 1        nodes    loss 0.2585   16% of records left out
  eight QI, k = 5, nothing left out levels                 0.06 CPU s, warm
"""


class Missing(Exception):  # noqa: N818
    """A library that the other Python does not have."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="others", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--python", default=sys.executable, help="the Python that has pycanon, anjana and anonypyx")
    parser.add_argument("--only", choices=PARTS, help="one part")
    chosen = parser.parse_args(arguments)
    bench = Bench(adult_folder(chosen.data), chosen.python)
    for part in PARTS.values() if chosen.only is None else [PARTS[chosen.only]]:
        try:
            part(bench)
        except Missing as missing:
            print(f"{missing} is left out: it is not installed there. --help says how to install it and where.")
    print(f"\n{ARX}", end="")


class Bench:
    """The table, and whoever runs a tool on it."""

    def __init__(self, folder: Path, python: str) -> None:
        self.everything = pl.read_csv(folder / "train.csv")
        self.frame = self.everything.select(*ADULT)
        self._python, self._hierarchies = python, (folder / "hierarchies").resolve()

    def schema(self, sensitive: str | None = SENSITIVE) -> str:
        """As TOML."""
        lines = ["[columns]", *(f'{name} = "{"sensitive" if name == sensitive else "quasi"}"' for name in ADULT)]
        for name, file in ADULT.items():
            lines += [f"[taxonomy.{name}]", f'file = "{file}.csv"']
        return "\n".join(lines)

    def plan(self, sensitive: str | None = SENSITIVE) -> Schema:
        """The same, read."""
        return Schema.loads(self.schema(sensitive), folder=self._hierarchies)

    def ask(self, tool: str, task: str, table: pl.DataFrame, **job: Any) -> dict[str, Any]:
        """Let a tool do a job on a table in its own process; its answer, with the table that it `made`."""
        job |= {"tool": tool, "task": task, "quasi": QUASI, "sensitive": SENSITIVE, "k": K}
        job |= {"hierarchies": str(self._hierarchies), "files": {name: f"{file}.csv" for name, file in ADULT.items()}}
        python = sys.executable if tool == "reissue" else self._python
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            table.write_csv(place / "table.csv")
            (place / "job.json").write_text(json.dumps({"schema": self.schema(), **job}))
            subprocess.run([python, Path(__file__).with_name("_tools.py"), place], check=True)  # noqa: S603
            answer: dict[str, Any] = json.loads((place / "answer.json").read_text())
            if "missing" in answer:
                raise Missing(answer["missing"])
            if (place / "made.csv").is_file():
                answer["made"] = pl.read_csv(place / "made.csv", infer_schema=False)
        return answer

    def ours(self, table: pl.DataFrame, method: str, require: str = f"k={K}", **job: Any) -> dict[str, Any]:
        """A release by Reissue."""
        job = {"percent": 0, "options": {}} | job
        return self.ask("reissue", "make", table, method=method, require=require, **job)


# --- what a table satisfies ------------------------------------------------------------------------------------------


def checks(bench: Bench) -> None:
    print(f"{'what a table satisfies':<44}{'CPU s':>9}{'MB':>7}  {'k':>4}{'l':>4}{'alpha':>8}{'t':>8}")
    tables = {"the original": bench.frame, "5-anonymous, by pool": bench.ours(bench.frame, "pool")["made"]}
    for name, table in tables.items():
        for tool in ("reissue", "pycanon"):
            answer = bench.ask(tool, "check", table)
            values = answer["values"]
            cells = f"{values['k']:>4.0f}{values['l']:>4.0f}{values['alpha-k']:>8.4f}{values['t']:>8.4f}"
            label = f"{name}: {tool} {answer['version']}"
            print(f"{label:<44}{answer['seconds']:>9.3f}{answer['memory']:>7.0f}  {cells}", flush=True)
            if tool == "pycanon":
                print(f"{'    of it k alone':<44}{answer['k seconds']:>9.3f}")
    smalls(bench)


def smalls(bench: Bench) -> None:
    """Two tiny tables on which the answers differ."""
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"])
    uneven = pl.DataFrame({"q": ["x"] * 10, "s": ["a"] * 8 + ["b", "c"]})
    theirs, ours = bench.ask("pycanon", "small", uneven), check(uneven, schema)
    rank = theirs["l"]
    c = ours[f"recursive:l={rank}"]
    print(f"c for l = {rank} of 8, 1, 1 records: Reissue above {c:g}, pycanon {theirs['c']:g}")
    gap = pl.DataFrame({"q": ["x"] * 10 + [None], "s": ["a", "b"] * 5 + ["c"]})
    theirs, ours = bench.ask("pycanon", "small", gap), check(gap, schema)
    print(f"k of ten records and one with a missing value: Reissue {ours['k']}, pycanon {theirs['k']}")


# --- what they make --------------------------------------------------------------------------------------------------


def head(title: str) -> None:
    print(f"\n{title:<44}{'space':<8}{'may go':>7}{'CPU s':>9}{'MB':>7}{'loss':>9}", end="")
    print(f"{'queries':>9}{'right':>8}{'groups':>8}{'gone':>7}", flush=True)


def row(
    label: str,
    space: str,
    percent: int,
    answer: dict[str, Any],
    loss: float,
    groups: int,
    gone: int,
    found: Utility | None = None,
) -> None:
    cells = f"{answer['seconds']:>9.3f}{answer['memory']:>7.0f}{loss:>9.4f}"
    if found is not None and found.queries is not None:
        cells += f"{found.queries.median:>9.4f}{found.predictions[0].published:>8.1%}"
    else:
        cells += " " * 17
    cells += f"{groups:>8,}{gone:>7,}"
    print(f"{label} {answer['version']}".ljust(44) + f"{space:<8}{percent:>6}%{cells}", flush=True)


def judged(
    bench: Bench, label: str, space: str, percent: int, answer: dict[str, Any], sensitive: str | None = SENSITIVE
) -> None:
    """A line of a table that the hierarchies can read."""
    plan = bench.plan(sensitive)
    found = measure(bench.frame, answer["made"], plan, queries=None, workload=WORKLOAD, predict=[PREDICTED])
    row(label, space, percent, answer, found.loss, found.groups, found.suppressed, found)


def full_domain(bench: Bench) -> None:
    head(f"eight QI, k = {K}: full domain")
    for percent in (0, 5):
        judged(bench, "reissue, incognito", "levels", percent, bench.ours(bench.frame, "incognito", percent=percent))
        answer = bench.ask("anjana", "make", bench.frame, percent=percent)
        judged(bench, "anjana", "levels", percent, answer)
        if answer["added"]:
            print(f"    anjana's table came with {len(answer['added'])} column more, dropped: {answer['added'][0]}")


def local(bench: Bench) -> None:
    head(f"eight QI, k = {K}: local")
    for space, boxes in (("nodes", "nodes"), ("ranges", "tight")):
        for method, effort in (("mondrian", {}), *(("pool", effort) for effort in EFFORTS)):
            options = {"boxes": boxes, **effort}
            label = " ".join(["reissue,", method, *effort.values()])
            judged(bench, label, space, 0, bench.ours(bench.frame, method, options=options))


def same_as_arx(bench: Bench) -> None:
    """Settings that ARX was run with."""
    for name, sensitive, require, percents in (
        *((f"nine QI, k = {k}", None, f"k={k}", (0,)) for k in ARX_QUERIES),
        ("eight QI, k = 5 & l = 3", SENSITIVE, "k=5 & l=3", (0,)),
        ("eight QI, k = 5 & t = 0.2", SENSITIVE, "k=5 & t=0.2", (0,)),
        ("eight QI, k = 5 & beta = 1", SENSITIVE, "k=5 & beta=1", (0, 16)),
    ):
        head(f"as ARX was run: {name}")
        for percent, effort in itertools.product(percents, EFFORTS):
            job = {"options": effort, "schema": bench.schema(sensitive), "percent": percent}
            answer = bench.ours(bench.frame, "pool", require, **job)
            judged(bench, " ".join(["reissue, pool", *effort.values()]), "nodes", percent, answer, sensitive)


def queries(bench: Bench) -> None:
    """Errors of count queries relative to those of pool fast, which ARX's were measured beside."""
    print(
        f"\n{f'nine QI, {DRAWS} draws of queries':<44}{'fast':>9}{'pool':>9}{'pool/fast':>11}{'spread':>8}"
        f"{'ARX/fast':>10}"
    )
    plan = bench.plan(None)
    for k, (arx, beside) in ARX_QUERIES.items():
        errors = np.empty((len(EFFORTS), DRAWS))
        for row_, effort in enumerate(EFFORTS):
            made = bench.ours(bench.frame, "pool", f"k={k}", options=effort, schema=bench.schema(None))["made"]
            for seed in range(DRAWS):
                found = measure(bench.frame, made, plan, queries=None, workload=replace(WORKLOAD, seed=seed)).queries
                errors[row_, seed] = np.nan if found is None else found.median
        (fast, pool), ratio = errors.mean(axis=1), errors[1] / errors[0]
        print(
            f"{f'k = {k}':<44}{fast:>9.4f}{pool:>9.4f}{ratio.mean():>11.3f}{ratio.std():>8.3f}{arx / beside:>10.3f}",
            flush=True,
        )


def numbers(bench: Bench) -> None:
    """Six numbers: means of groups by squares, beside MDAV of the whole table (from its definition) and pool."""
    names = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    frame = bench.everything.select(*names, PREDICTED)
    points = frame.select(names).to_numpy().astype(np.float64)
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    schema = Schema.of_columns(quasi=names, sensitive=[PREDICTED])
    model = f"{PREDICTED}[>50K] ~ {' + '.join(f'`{name}`' for name in names)}"
    print(f"\n{'six numbers':<44}{'CPU s':>9}{'squares':>9}{'off':>8}{'inside':>8}{'groups':>8}")
    for k, method in itertools.product((5, 10), ("pool", "microaggregation", "MDAV")):
        began = time.process_time()
        if method == "MDAV":
            group = mdav(points, k)
            made: Any = group_means(frame, names, group)
        else:
            made = anonymize(frame, schema, f"k={k}", method=method, seed=1)
            group = made.draft.groups.astype(np.int64)
        seconds = time.process_time() - began
        squares = squares_within(points, group) / float(np.square(points).sum())
        lines = measure(frame, made, schema, models=[model]).models[0].lines[1:]
        off = np.mean([abs(one.published.value / one.true.value - 1) for one in lines if one.true and one.published])
        inside = sum(bool(one.inside) for one in lines)
        print(f"{f'k = {k}: {method}':<44}{seconds:>9.2f}{squares:>9.4f}{off:>8.1%}{inside:>6}/6{group.max() + 1:>8,}")


def mdav(points: Floats, k: int) -> Ints:
    """MDAV of all rows at once, from its definition: two groups of k, from the row farthest from the mean and back."""
    group, rest, made = np.full(len(points), -1), np.arange(len(points)), 0
    while len(rest) >= 2 * k:
        far = np.square(points[rest] - points[rest].mean(axis=0)).sum(axis=1).argmax()
        ends = [points[rest[far]]]
        if len(rest) >= 3 * k:
            ends.append(points[rest[np.square(points[rest] - ends[0]).sum(axis=1).argmax()]])
        for end in ends:
            near = np.argpartition(np.square(points[rest] - end).sum(axis=1), k - 1)[:k]
            group[rest[near]], made = made, made + 1
            rest = np.delete(rest, near)
    group[rest] = made
    return group


def group_means(frame: pl.DataFrame, names: list[str], group: Ints) -> pl.DataFrame:
    """The table with the mean of each number over its group."""
    numbered = frame.select(pl.Series("group", group + 1), *frame.columns)
    return numbered.with_columns(pl.col(names).mean().over("group").name.suffix("_mean"))


def sets(bench: Bench) -> None:
    head(f"eight QI, k = {K}, the first {FEW:,} records: sets")
    some = bench.frame[:FEW]
    for method in ("Mondrian", "MDAV-generic"):
        answer = bench.ask("anonypyx", "make", some, method=method)
        made = answer["made"].with_columns(pl.col("count").cast(pl.Int64))
        gone = FEW - int(made["count"].sum())
        row(f"anonypyx, {method}", "sets", 0, answer, set_loss(made, some), made.select(QUASI).unique().height, gone)
    for effort in EFFORTS:
        answer = bench.ours(some, "pool", options={"boxes": "tight", **effort})
        found = measure(some, answer["made"], bench.plan())
        label = " ".join(["reissue, pool", *effort.values()])
        row(label, "ranges", 0, answer, found.loss, found.groups, found.suppressed)
        row(f"{label}: as sets", "sets", 0, answer, set_loss(as_sets(answer["groups"], some), some), found.groups, 0)


def set_loss(made: pl.DataFrame, original: pl.DataFrame) -> float:
    """The share of the domain that a cell covers beyond one value: of a set by its values, of a range by its width."""
    lost = 0.0
    for name in QUASI:
        column = original[name]
        if name == "age":
            ends = made[name].str.extract_all(r"\d+").list.eval(pl.element().cast(pl.Float64))
            part = (ends.list.last() - ends.list.first()) / (max(column.to_list()) - min(column.to_list()))
        else:
            part = made[name].str.count_matches(",") / (column.n_unique() - 1)
        lost += float((part * made["count"]).sum())
    return lost / (len(QUASI) * float(made["count"].sum()))


def as_sets(groups: list[int], original: pl.DataFrame) -> pl.DataFrame:
    """Our groups, with the values that their people have, as anonypyx would publish them."""
    people = original.select(QUASI).with_columns(pl.Series("group", groups))
    texts = [
        pl.concat_str(pl.col("age").min(), pl.col("age").max(), separator="-").alias("age"),
        *(pl.col(name).unique().str.join(",") for name in QUASI if name != "age"),
        pl.len().cast(pl.Int64).alias("count"),
    ]
    return people.group_by("group").agg(texts)


PARTS = {
    "checks": checks,
    "full-domain": full_domain,
    "local": local,
    "arx": same_as_arx,
    "queries": queries,
    "numbers": numbers,
    "sets": sets,
}
