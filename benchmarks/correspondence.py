"""Correspondence attacks: the experiment of Fung et al. (2008) on Adult, and what they take on a million rows.

D1 is Adult's test set, D2 the first 200, the first 2,000 or all records of its training set; Sen1 takes native-country
as sensitive, Sen3 native-country, education and occupation together. Releases that are only k-anonymous violate
BCF-anonymity (figure 1), however they were made; those of the BCF-anonymizer never do, at some cost (figure 2). The
bars: each anonymization below one CPU second; on 10^6 rows and 7 QI detection in two releases in 6 passes,
anonymization in 40, an audit of 12 releases of a growing table in 60.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._measure import adult_folder, cpu, one_pass
from reissue.data.table import Table
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.synth import bench_schema, bench_table
from reissue.taxonomy.codings import Hierarchy

CATEGORIES = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)
SENSITIVE = {"Sen1": ["native-country"], "Sen3": ["native-country", "education", "occupation"]}
ARRIVALS = {"200D2": 200, "2000D2": 2_000, "allD2": None}
THRESHOLDS = (40, 80, 120, 160, 200)
BCF, K2, D2 = "BCF-anonymized R2", "k-anonymized R2", "k-anonymized D2"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="correspondence", description=__doc__)
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where figures go")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table; 0 leaves it out")
    chosen = parser.parse_args(arguments)
    folder = adult_folder(chosen.data)
    runs = experiment(folder)
    summary(runs)
    other_recodings(folder)
    draw(runs, chosen.out)
    if chosen.rows:
        large(chosen.rows)


# --- the paper's experiment ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One (D1, D2), one choice of sensitive attributes, one k."""

    sensitive: str
    arrivals: str
    k: int
    careless: tuple[int, int]
    """FA and BA where R1 and R2 are each k-anonymized by themselves."""
    safe: tuple[int, int]
    """FA and BA of the BCF-anonymizer's R2."""
    cost: dict[str, float]
    seconds: float
    """CPU seconds of the BCF-anonymizer."""


def experiment(folder: Path) -> list[Run]:
    first, more = (pl.read_csv(folder / f"{name}.csv") for name in ("test", "train"))
    runs = []
    print(f"{'':<24}{'k-anonymized':<15}{'BCF-anonymized':<17}discernibility", flush=True)
    pair = f"{'FA':>6}{'BA':>6}   "
    print(f"{'sensitive':<10}{'D2':<8}{'k':>4}  {pair}{pair} {'BCF':>8}{'R2':>8}{'D2':>8}{'CPU s':>8}")
    for sensitive, columns in SENSITIVE.items():
        schema = adult_plan(folder, columns)
        d1 = Table.read(first, schema)
        for arrivals, number in ARRIVALS.items():
            d2 = Table.read(more[:number], schema)
            both = Table.read(pl.concat([first, more[:number]]), schema)
            for k in THRESHOLDS:
                runs.append(one_run(sensitive, arrivals, k, (d1, d2, both)))
                show(runs[-1])
    return runs


def adult_plan(folder: Path, sensitive: list[str]) -> Schema:
    """The eight categorical attributes; relationship has no hierarchy file and is flat."""
    quasi = [name for name in CATEGORIES if name not in sensitive]
    files = {n: folder / "hierarchies" / f"{n}.csv" for n in quasi if n != "relationship"}
    taxonomies = {name: Hierarchy("file", file=path) for name, path in files.items()}
    return Schema.of_columns(quasi=quasi, sensitive=sensitive, taxonomies=taxonomies)


def one_run(sensitive: str, arrivals: str, k: int, data: tuple[Table, Table, Table]) -> Run:
    d1, d2, both = data
    r1, careless, alone = (topdown(table, k, []) for table in (d1, both, d2))
    seconds, safe = cpu(lambda: topdown(both, k, [r1]))
    cost = {BCF: discernibility(safe), K2: discernibility(careless), D2: discernibility(alone)}
    return Run(sensitive, arrivals, k, anonymity(r1, careless, k), anonymity(r1, safe, k), cost, seconds)


def topdown(table: Table, k: int, after: list[Release]) -> Release:
    """The paper's algorithm; without earlier releases plain top-down k-anonymization with the same score."""
    return anonymize(table, table.schema, f"k={k}", method="correspondence", after=after, seed=0)


def anonymity(r1: Release, r2: Release, k: int) -> tuple[int, int]:
    finding = attack([r1, r2], r1.schema, only="correspondence", limits={"correspondence": k})["correspondence"]
    return finding.details["FA"], finding.details["BA"]


def discernibility(release: Release) -> float:
    sizes = release.boxes.sizes.astype(float)
    return float((sizes**2).sum() / sizes.sum() ** 2)


def show(run: Run) -> None:
    """One line; an exclamation mark says that the release violates."""
    pairs = [f"{value:>5}{'!' if value < run.k else ' '}" for value in (*run.careless, *run.safe)]
    prices = "".join(f"{run.cost[name]:>8.3f}" for name in (BCF, K2, D2))
    start = f"{run.sensitive:<10}{run.arrivals:<8}{run.k:>4}  "
    print(f"{start}{''.join(pairs[:2])}   {''.join(pairs[2:])}    {prices}{run.seconds:>8.3f}", flush=True)


def summary(runs: list[Run]) -> None:
    for name in SENSITIVE:
        for arrivals in ARRIVALS:
            some = [run for run in runs if (run.sensitive, run.arrivals) == (name, arrivals)]
            ours, alone = (sum(run.cost[which] for run in some) for which in (BCF, D2))
            print(f"{name} in {arrivals}: BCF-anonymized R2 costs {ours / alone - 1:+.0%} against D2 alone")
    broken = sum(min(run.safe) < run.k for run in runs)
    slowest = max(run.seconds for run in runs)
    print(f"BCF-anonymized releases that violate: {broken} of {len(runs)}; the slowest took {slowest:.3f} CPU seconds")


def other_recodings(folder: Path) -> None:
    """How often k-anonymous releases violate when other global recodings make them."""
    first, more = (pl.read_csv(folder / f"{name}.csv") for name in ("test", "train"))
    print("\nviolations in 5 cases each, by F and by B:")
    print(f"{'method':<20}" + "".join(f"{f'{name} {arrivals}':>14}" for name in SENSITIVE for arrivals in ARRIVALS))
    ways: list[tuple[str, dict[str, Any]]] = [("topdown", {"score": "squares"}), ("topdown", {}), ("incognito", {})]
    for method, options in ways:
        cells = []
        for columns in SENSITIVE.values():
            schema = adult_plan(folder, columns)
            d1 = Table.read(first, schema)
            for number in ARRIVALS.values():
                both = Table.read(pl.concat([first, more[:number]]), schema)
                cells.append(violated(d1, both, method, options))
        label = " ".join([method, *options.values()])
        print(f"{label:<20}" + "".join(f"{f'{by_f} and {by_b}':>14}" for by_f, by_b in cells), flush=True)


def violated(d1: Table, both: Table, method: str, options: dict[str, Any]) -> tuple[int, int]:
    by_f = by_b = 0
    for k in THRESHOLDS:
        r1, r2 = (anonymize(t, t.schema, f"k={k}", method=method, seed=0, **options) for t in (d1, both))
        fa, ba = anonymity(r1, r2, k)
        by_f, by_b = by_f + (fa < k), by_b + (ba < k)
    return by_f, by_b


# --- figures ---------------------------------------------------------------------------------------------------------


def draw(runs: list[Run], folder: Path) -> None:
    """The paper's figures 1 and 2 as SVG, where Altair is installed (the extra `bench`)."""
    try:
        import altair as alt
    except ModuleNotFoundError:
        print("No figures: install the extra `bench` (Altair and vl-convert) to draw them.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in (("violations", violations(alt, runs)), ("discernibility", costs(alt, runs))):
        chart.save(folder / f"correspondence-{name}.svg")
        print(f"Drawn: correspondence-{name}.svg")


def violations(alt: Any, runs: list[Run]) -> Any:
    """Figure 1: FA and BA of k-anonymous releases against k; below the dashed line they violate."""
    panels = []
    for place, measure in enumerate(("FA", "BA")):
        for name in SENSITIVE:
            rows = [(r.k, r.arrivals, r.careless[place]) for r in runs if r.sensitive == name]
            frame = pl.DataFrame(rows, schema=["k", "D2", measure], orient="row")
            lines = alt.Chart(frame).mark_line(point=True).encode(x="k:Q", y=f"{measure}:Q", color="D2:N")
            bound = alt.Chart(pl.DataFrame({"k": THRESHOLDS})).mark_line(strokeDash=[4, 4], color="grey")
            panels.append((lines + bound.encode(x="k:Q", y="k:Q")).properties(title=f"{measure}, {name}", width=220))
    return alt.vconcat(alt.hconcat(*panels[:2]), alt.hconcat(*panels[2:]))


def costs(alt: Any, runs: list[Run]) -> Any:
    """Figure 2: the discernibility cost of the three alternatives against k."""
    rows = []
    for arrivals in ARRIVALS:
        panels = []
        for name in SENSITIVE:
            some = [run for run in runs if (run.sensitive, run.arrivals) == (name, arrivals)]
            points = [(run.k, release, value) for run in some for release, value in run.cost.items()]
            frame = pl.DataFrame(points, schema=["k", "release", "cost"], orient="row")
            lines = alt.Chart(frame).mark_line(point=True).encode(x="k:Q", y="cost:Q", color="release:N")
            panels.append(lines.properties(title=f"{name} in {arrivals}", width=220, height=160))
        rows.append(alt.hconcat(*panels))
    return alt.vconcat(*rows)


# --- a million rows --------------------------------------------------------------------------------------------------


def large(rows: int) -> None:
    """Nearly distinct rows, seven quasi-identifiers, k = 10, in passes."""
    frame, schema = bench_table(rows, 7), bench_schema(7)
    unit, whole = one_pass(frame), Table.read(frame, schema)
    print(f"\n{rows:,} rows, 7 QI, k = 10; one pass is {unit:.3f} CPU seconds")
    first = topdown(Table.read(frame[: rows // 2], schema, codings=whole.codings), 10, [])
    seconds, second = cpu(lambda: topdown(whole, 10, [first]))
    report("anonymization after one release", seconds / unit, 40)
    pair = [first.tables["release"], second.tables["release"]]
    seconds, _ = cpu(lambda: attack(pair, schema, only="correspondence"))
    report("detection in two releases", seconds / unit, 6)
    twelve = []
    for number in range(1, 13):
        table = Table.read(frame[: rows * number // 12], schema, codings=whole.codings)
        twelve.append(topdown(table, 10, []).tables["release"])
    seconds, findings = cpu(lambda: attack(twelve, schema, only="correspondence"))
    report("audit of twelve releases", seconds / unit, 60)
    print(findings["correspondence"].sentence)


def report(what: str, passes: float, bar: float) -> None:
    print(f"{what:<34}{passes:>7.1f} passes (bar {bar:g})", flush=True)
