"""The same release by every engine: the multiset of published rows against memory's, row for row.

`python -m benchmarks same [--sizes N ...] [--engines stream spark] [--methods NAME ...]`. Synthetic patients with
identifiers, trees, ranges, missing values and a column that is kept as it is; regions of an eighth of the rows. Rows
are compared by an order-free digest of all published columns, 128 bits. By `correspondence` a second release comes
after a first one of half the table; then attacks by counts are compared with those on all rows, finding for finding.
Methods that look at the codes of all rows are compared in all their tables together: `anatomy` on one release, those
that follow people on a series of two, through a memory file. Rows are in the order of identifiers, which is the one
that an engine without an order puts them in.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from reissue.counting.hashing import RowDigest
from reissue.data.identifiers import identifier_texts
from reissue.files.places import beside_folder
from reissue.ledger.fingerprints import identifier_order
from reissue.methods import find
from reissue.people.knowledge import Knowledge
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.publishing.folder import anonymize_folder
from reissue.release.memory import Memory, fingerprint, load_memory, pack_memory, save_memory
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
    "anatomy": (("simple-l=3", 0.0), ("k=10 & l=5", 0.0)),
    "invariance": (("m-unique=3", 0.0),),
    "equivalence": (("simple-l=3", 0.0),),
    "cohorts": (("k=10 & l=3", 0.05),),
    "distinct": (("m-unique=3", 0.0),),
}
STAYING = ("invariance", "equivalence")
"""Methods for people whose values stay."""
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
                    if not find(method).in_parts:
                        compare_codes(rows, method, require, spare, chosen.engines)
                        continue
                    compare(folder, table, method, require, spare, chosen.engines)


def patients(rows: int) -> pl.DataFrame:
    """Patients of one month; some ages and jobs are missing, and a number is kept that says nothing."""
    return noted(next(Population(seed=6, people=rows).months(1)))


def noted(table: pl.DataFrame) -> pl.DataFrame:
    """With gaps, and a number that is kept."""
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


def compare_codes(rows: int, method: str, require: str, spare: float, engines: list[str]) -> None:
    """Releases of all tables together, in memory and by codes; and what is remembered after each."""
    options: dict[str, Any] = {"method": method, "seed": 3, "suppress": spare}
    options |= {"ineligible": "counterfeits"} if method in STAYING else {}
    memory = Memory(fingerprint(plan()), method, bytes(16)) if find(method).stateful else None
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        kept = {engine: place / f"{engine} memory" for engine in engines}
        if memory is not None:
            for file in kept.values():
                save_memory(memory, file)
        for turn, table in enumerate(months(rows, method), start=1):
            began = time.monotonic()
            whole = anonymize(table, plan(), require, memory=memory, **options)
            right, memory = {name: digest(frame) for name, frame in whole.frames.items()}, whole.draft.memory
            in_memory, began = time.monotonic() - began, time.monotonic()
            in_files(table, place / f"table{turn}")
            for engine in engines:
                out, began = place / f"{engine} {turn}", time.monotonic()
                past: dict[str, Any] = {} if memory is None else {"memory": kept[engine]}
                made = anonymize_folder(
                    place / f"table{turn}",
                    plan(),
                    require,
                    out,
                    engine=engine,
                    **past,
                    **options,
                )
                took = time.monotonic() - began
                folders = [out if number == 0 else beside_folder(out, name) for number, name in enumerate(right)]
                found = [digest(pl.concat(pl.read_parquet(one) for one in folder.iterdir())) for folder in folders]
                same = found == list(right.values()) and (
                    memory is None or pack_memory(load_memory(kept[engine])) == pack_memory(memory)
                )
                print(
                    f"{table.height:>9,}  {method + (f' {turn}' if memory else ''):<15}{require:<18}{spare:>6}  "
                    f"{engine:<7}{'codes':>8}{made.rows:>11,}{made.loss:>8.4f}{took:>8.1f}  "
                    f"{'the same' if same else 'OTHERS'} (memory {in_memory:.1f} s)",
                    flush=True,
                )


def in_files(table: pl.DataFrame, folder: Path) -> None:
    """A folder of Parquet, whose files hold the rows in their order."""
    folder.mkdir()
    step = -(-table.height // FILES)
    for number in range(FILES):
        table[number * step : (number + 1) * step].write_parquet(folder / f"{number}.parquet")


def months(rows: int, method: str) -> Iterator[pl.DataFrame]:
    """One table, or two months of a series, by identifier; values stay where the method needs that."""
    if not find(method).stateful:
        yield by_identifier(patients(rows))
        return
    first: pl.DataFrame | None = None
    for month in Population(seed=6, people=rows).months(2):
        shown = noted(month)
        if first is not None and method in STAYING:
            known = first.select("patient", before="disease")
            shown = shown.join(known, on="patient", how="left", maintain_order="left")
            shown = shown.with_columns(disease=pl.coalesce("before", "disease")).drop("before")
        first = shown
        yield by_identifier(shown)


def by_identifier(table: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order in which a ledger, and an engine whose rows have none, puts them."""
    return table[identifier_order(identifier_texts(table["patient"]))]


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
