"""The experiments of Rani (2014), section V, on Adult: runtime of the searches, runtime and query error of methods.

45,222 records (train and test), occupation sensitive, ten providers with shares that fall exponentially. Tables go to
benchmarks/out/providers.csv, figures like the paper's 6 to 10 and 12 beside it where Altair is installed.
"""

import argparse
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl

from benchmarks._measure import adult_folder, adult_schema, cpu, one_pass
from reissue.algorithms import Job, find
from reissue.data.table import Table
from reissue.kernels.coalitions.contributions import Contributions
from reissue.kernels.coalitions.exact import worst_coalition
from reissue.kernels.coalitions.group import Group, Oracle
from reissue.kernels.coalitions.search import STRATEGIES, powers
from reissue.publishing.anonymize import anonymize
from reissue.requirements import parse
from reissue.schema import Role, Schema
from reissue.synth import bench_table
from reissue.utility import measure

FALL = 0.3
"""Each provider has exp(-FALL) times as many records as the one before."""
RULE = "k=15 & l=5"
WAYS: dict[str, dict[str, Any]] = {
    "provider-blind": {"aware": False},
    "provider-aware": {},
    "aware, providers last": {"choose": "last"},
    "aware, providers first": {"choose": "first"},
    "aware, by fitness": {"choose": "fitness"},
}
Row = tuple[str, str, float, str, float]
"""Figure, line, x, what is measured, value."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="providers", description=__doc__)
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--quick", action="store_true", help="fewer points, and no million rows")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    chosen = parser.parse_args(arguments)
    table = adult(adult_folder(chosen.data), 10)
    rows = [*searches(table, chosen.quick), *releases(table, chosen.quick)]
    if not chosen.quick:
        large(1_000_000)
    save(rows, chosen.out)
    summary(rows)


def shares(providers: int) -> Any:
    """What each provider gives of all records."""
    falling = np.exp(-FALL * np.arange(providers))
    return falling / falling.sum()


def adult(folder: Path, providers: int, rows: int | None = None) -> Table:
    """Adult with a provider drawn for each record."""
    frame = pl.concat([pl.read_csv(folder / f"{name}.csv") for name in ("train", "test")])
    rng = np.random.default_rng(0)
    frame = frame.with_columns(pl.Series("provider", rng.choice(providers, frame.height, p=shares(providers))))
    frame = frame[rng.permutation(frame.height)[:rows]] if rows else frame
    return Table.read(frame, adult_schema(folder, "occupation").with_roles({"provider": Role.PROVIDER}))


# --- searches: figures 6, 7, 8 ---------------------------------------------------------------------------------------


def sample(table: Table, records: int, providers: int, seed: int = 0) -> Group:
    """Some records of Adult as one group of this many providers."""
    rng = np.random.default_rng(seed)
    values = table.sensitive[rng.permutation(table.rows)[:records]].astype(np.int64)
    gave = rng.choice(providers, records, p=shares(providers))
    gave[:providers] = np.arange(providers)  # nobody gives nothing
    return Contributions.of_rows(np.zeros(records, np.int64), gave, values, table.domain).one(0)[0]


def searches(table: Table, quick: bool) -> Iterator[Row]:
    """Runtime and checks of every strategy against m, the number of providers, and records per provider."""
    for records in (150, 750):
        for m in range(1, 10, 4 if quick else 1):
            yield from timed(f"6: {records} records", m, sample(table, records, 10), m)
        for providers in range(4, 11 if quick else 15, 3 if quick else 2):
            group = sample(table, records * providers // 10, providers)
            yield from timed(f"7: {records // 10} records per provider", providers, group, providers // 2)
    for each in (5, 15, 30) if quick else (5, 10, 15, 20, 30, 50, 75):
        yield from timed("8: ten providers, m = 5", each, sample(table, 10 * each, 10), 5)


def timed(figure: str, x: float, group: Group, m: int) -> Iterator[Row]:
    """Every strategy on one group."""
    requirement, verdicts = parse(RULE), set()
    yield figure, "mean fitness", x, "fitness", float(np.mean(powers(group, requirement)))
    for name, strategy in STRATEGIES.items():
        oracle = Oracle(group, requirement)
        start = process_time()
        verdicts.add(strategy(oracle, min(m, group.providers - 1)) is None)
        yield figure, name, x, "CPU s", process_time() - start
        yield figure, name, x, "checks", oracle.checks
    seconds, verdict = cpu(lambda: worst_coalition(group, requirement, m), times=1)
    verdicts.add(verdict.coalition is None)
    yield figure, "exact", x, "CPU s", seconds
    yield figure, "exact", x, "checks", verdict.checks
    if len(verdicts) > 1:
        raise SystemExit("The strategies disagree.")


# --- releases: figures 9, 10, 12 -------------------------------------------------------------------------------------


def releases(table: Table, quick: bool) -> Iterator[Row]:
    """Runtime, query error and loss against m, the number of records, k and l."""
    for m in (1, 3, 6, 9) if quick else range(10):
        yield from published("9: m", m, table, RULE, m)
    for rows in (5_000, 45_222) if quick else (1_000, 2_000, 5_000, 10_000, 20_000, 45_222):
        yield from published("10: records", rows, some(table, rows), RULE, 3)
    for k in (5, 30) if quick else (5, 10, 15, 20, 30, 45):
        yield from published("12: k", k, table, f"k={k} & l=5", 3)
    for least in (2, 8) if quick else (2, 3, 5, 7, 9):
        yield from published("12: l", least, table, f"k=15 & l={least}", 3)


def some(table: Table, rows: int) -> Table:
    """The first records of a table that is in random order of providers."""
    return Table.read(table.frame[:rows], table.schema, codings=table.codings, secrets=table.secrets)


def published(figure: str, x: float, table: Table, rule: str, m: int) -> Iterator[Row]:
    """Every way to partition."""
    for name, options in WAYS.items():
        job = Job(table, parse(rule), np.random.default_rng(0), options={"m": m, **options})
        seconds, _ = cpu(lambda job=job: find("providers").run(job))  # type: ignore[misc]
        release = anonymize(table, table.schema, rule, method="providers", m=m, seed=0, **options)
        utility = measure(release, queries=None, workload="providers", seed=1)
        error = utility.queries.mean if utility.queries else float("nan")
        groups, gave = release.draft.groups, table.frame["provider"].to_numpy()
        yield figure, name, x, "CPU s", seconds
        yield figure, name, x, "query error", error
        yield figure, name, x, "loss", utility.loss
        yield figure, name, x, "providers per group", len(np.unique(groups * 1000 + gave)) / release.groups
    print(f"  {figure} = {x:g} done", flush=True)


def large(rows: int) -> None:
    """A million nearly distinct records of twenty providers, m = 3, in passes."""
    frame = bench_table(rows)
    quasi = [name for name in frame.columns if name != "s"]
    unit = one_pass(frame)
    given = frame.with_columns(pl.Series("from", np.random.default_rng(0).choice(20, rows, p=shares(20))))
    table = Table.read(given, Schema.of_columns(quasi=quasi, sensitive=["s"], provider="from"))
    for rule in ("k=10", "k=5 & l=3"):
        for name, options in WAYS.items():
            if name != "aware, by fitness":
                job = Job(table, parse(rule), np.random.default_rng(0), options={"m": 3, **options})
                seconds, _ = cpu(lambda job=job: find("providers").run(job), times=1)  # type: ignore[misc]
                print(
                    f"{rows:,} rows, 20 providers, m = 3, {rule:<10}{name:<24}{seconds / unit:>7.1f} passes", flush=True
                )


# --- telling ---------------------------------------------------------------------------------------------------------


def save(rows: Iterable[Row], folder: Path) -> None:
    """The table, and a figure for each number and measure."""
    folder.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(list(rows), schema=["figure", "line", "x", "measure", "value"], orient="row")
    frame.write_csv(folder / "providers.csv")
    try:
        alt: Any = import_module("altair")
    except ModuleNotFoundError:
        print("No figures: install the extra `bench` (Altair and vl-convert) to draw them.")
        return
    for (figure, what), part in frame.filter(pl.col("line") != "mean fitness").group_by("figure", "measure"):
        logarithmic = what in {"CPU s", "checks"}
        y = alt.Y("value:Q", title=what, scale=alt.Scale(type="log" if logarithmic else "linear"))
        chart = alt.Chart(part).mark_line(point=True).encode(x=alt.X("x:Q", title=figure), y=y, color="line:N")
        name = f"providers-{figure}-{what}.svg".replace(": ", "-").replace(" ", "-").replace(",", "").replace("=", "")
        chart.properties(width=320, height=220).save(folder / name)


def summary(rows: list[Row]) -> None:
    """The tables in words and numbers."""
    frame = pl.DataFrame(rows, schema=["figure", "line", "x", "measure", "value"], orient="row")
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=4
    ):
        for (figure, what), part in frame.group_by("figure", "measure", maintain_order=True):
            print(f"{figure}, {what}")
            print(part.pivot("line", index="x", values="value").sort("x"))
    wide = frame.filter(pl.col("measure") == "query error").pivot("line", index=["figure", "x"], values="value")
    worse = wide.filter(pl.col("provider-aware") > pl.col("provider-blind"))
    print(f"Query error above the baseline's: in {worse.height} of {wide.height} settings.")
