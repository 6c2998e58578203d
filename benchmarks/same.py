"""The same release by every engine: the multiset of published rows against memory's, row for row.

`python -m benchmarks same [--sizes N ...] [--engines stream spark] [--methods NAME ...]`. Synthetic patients with
identifiers, trees, ranges, missing values and a column that is kept as it is; regions of an eighth of the rows. Rows
are compared by an order-free digest of all published columns, 128 bits. By `correspondence` a second release comes
after a first one of half the table; then attacks by counts are compared with those on all rows, finding for finding.
"""

import argparse
import json
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from reissue.counting.digests import RowDigest
from reissue.people.knowledge import Knowledge
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.publishing.larger.folder import anonymize_folder
from reissue.schema import Role, Schema
from reissue.synth import Population, schema

SIZES = (100_000, 1_000_000)
PLAIN = (("k=10", 0.0), ("k=10 & l=7", 0.0), ("k=10 & t=0.5", 0.0))
CASES: dict[str, tuple[tuple[str, float], ...]] = {
    "mondrian": PLAIN,
    "pool": (*PLAIN, ("k=100", 0.05), ("k=100 & l=12", 0.05)),
    "mask": (("k=10 & simple-l=3", 0.0), ("k=10 & simple-l=3", 0.05)),
    "providers": (("k=10", 0.0), ("k=10 & l=5", 0.0)),
    "correspondence": (("k=10", 0.0), ("k=10 & l=5", 0.0)),
    "topdown": (*PLAIN, ("k=100", 0.05)),
    "incognito": (*PLAIN, ("k=100", 0.05)),
}
REGIONS = ("pool", "mask", "providers")
"""Methods of which regions are a part, in memory too."""
FILES = 5


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="same", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--engines", nargs="*", default=("stream", "spark"))
    parser.add_argument("--methods", nargs="*", default=tuple(CASES))
    chosen = parser.parse_args(arguments)
    print(
        f"{'rows':>9}  {'method':<15}{'asked for':<18}{'spare':>6}  {'engine':<7}{'regions':>8}{'published':>11}"
        f"{'loss':>8}{'wall s':>8}  rows",
        flush=True,
    )
    with ExitStack() as stack:
        if "spark" in chosen.engines:
            from reissue.engines.spark.session import running_session

            stack.enter_context(running_session("local[2]", {"spark.driver.memory": "4g"}))
        for rows in chosen.sizes:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            table = patients(rows)
            for number in range(FILES):
                (folder / "table").mkdir(exist_ok=True)
                table[number::FILES].write_parquet(folder / "table" / f"{number}.parquet")
            for method in chosen.methods:
                for require, spare in CASES[method]:
                    compare(folder, table, method, require, spare, chosen.engines)


def patients(rows: int) -> pl.DataFrame:
    """Patients of one month; some ages and jobs are missing, and a number is kept that says nothing."""
    table = next(Population(seed=6, people=rows).months(1))
    gap = pl.int_range(pl.len())
    return table.with_columns(
        age=pl.when(gap % 97 > 0).then("age"), job=pl.when(gap % 89 > 0).then("job"), note=gap % 1000
    )


def plan() -> Schema:
    """The patients' schema, with what is kept."""
    return schema().with_roles({"note": Role.KEEP})


def compare(folder: Path, table: pl.DataFrame, method: str, require: str, spare: float, engines: list[str]) -> None:
    """One release in memory, and by each engine."""
    region = max(table.height // 8, 1)
    asked: dict[str, Any] = {"method": method, "seed": 3, "suppress": spare}
    size: dict[str, Any] = {"region" if method in REGIONS else "fits": region}
    if method == "correspondence":
        first = anonymize(table[: table.height // 2], plan(), require, **asked).frame
        first.write_parquet(folder / "first.parquet")
        asked["after"] = [folder / "first.parquet"]
    whole = anonymize(table, plan(), require, **asked, **(size if method in REGIONS else {}))
    right = digest(whole.frame)
    for engine in engines:
        began = time.monotonic()
        made = anonymize_folder(
            folder / "table",
            plan(),
            require,
            folder / f"{engine} {time.monotonic_ns()}",
            engine=engine,
            **size,
            **asked,
        )
        took = time.monotonic() - began
        found = digest(pl.concat(pl.read_parquet(one) for one in made.folder.iterdir()).select(whole.frame.columns))
        print(
            f"{table.height:>9,}  {method:<15}{require:<18}{spare:>6}  {engine:<7}{made.regions:>8}{made.rows:>11,}"
            f"{made.loss:>8.4f}{took:>8.1f}  {'the same' if found == right else 'OTHERS'}",
            flush=True,
        )
        if method == "correspondence":
            findings(folder / "first.parquet", whole.frame, made.folder, table, folder / "table", engine, require)


def findings(
    first: Path, whole: pl.DataFrame, made: Path, table: pl.DataFrame, people: Path, engine: str, require: str
) -> None:
    """Attacks on the two releases by counts, and on all rows."""
    only = ["correspondence", "minimality"]
    right = attack([first, whole], plan(), only=only, knowledge=Knowledge(requirement=require, population=table))
    known = Knowledge(requirement=require, population=people)
    found = attack([first, made], plan(), only=only, knowledge=known, engine=engine)
    for name in only:
        one, other = (json.dumps(rounded(some[name].as_dict()), default=str) for some in (right, found))
        print(
            f"{table.height:>9,}  {name + ', attack':<23}{engine:<7}{right[name].status.value:<10}"
            f"{'the same finding' if one == other else 'ANOTHER FINDING'}",
            flush=True,
        )


def rounded(found: dict[str, Any]) -> Any:
    """Sums may be added up in another order."""
    return json.loads(json.dumps(found, default=str), parse_float=lambda text: round(float(text), 9))


def digest(frame: pl.DataFrame) -> str:
    """Of published rows, whatever their order."""
    found = RowDigest(bytes(32))
    found.add(frame.with_columns(pl.all().cast(pl.String)))
    return found.hex()
