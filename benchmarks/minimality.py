"""Section 7 of Wong et al. 2009 on Adult: how well the minimality attack works, and what MASK costs instead.

Eight quasi-identifiers, sensitive value set "education before 9th". First (figure 7): under an (alpha,k)-anonymizer
with alpha = 1/m and k = 1, the share of problematic tuples among the sensitive ones, their average credibility, and the
CPU seconds for the credibilities of all people (the paper: 173 s for m = 2, 239 s for m = 10). Then (figures 8 to 10):
MASK's time, query error, information loss and distortion beside the (alpha,k)-anonymizer's.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._measure import adult_folder, cpu
from reissue._arrays import Floats
from reissue.attacks.minimality.attack import credibility, link_release
from reissue.data.table import Table
from reissue.errors import NotMetError
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.release.release import Release
from reissue.requirements import AlphaK, KAnonymity, Requirement, SimpleLDiversity
from reissue.schema import Schema
from reissue.utility import measure

QUASI = ("age", "workclass", "marital-status", "occupation", "race", "sex", "native-country", "income")
"""Table XXII, in its order."""
LOW = ("Preschool", "1st-4th", "5th-6th", "7th-8th")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="minimality", description=__doc__)
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--quick", action="store_true", help="fewer points, fewer queries")
    given = parser.parse_args(arguments)
    folder = adult_folder(given.data)
    attacks(folder, quick=given.quick)
    knowing(folder, quick=given.quick)
    masks(folder, quick=given.quick)


def adult(folder: Path, quasi: int) -> Table:
    """All 45,222 records with the first quasi-identifiers of table XXII."""
    files = {name: f"{'salary-class' if name == 'income' else name}.csv" for name in (*QUASI, "education")}
    names = [*QUASI[:quasi], "education"]
    lines = ["[columns]", *(f'{name} = "{"sensitive" if name == "education" else "quasi"}"' for name in names)]
    for name in names:
        lines += [f"[taxonomy.{name}]", f'file = "{files[name]}"']
    schema = Schema.loads("\n".join(lines), folder=folder / "hierarchies")
    frame = pl.concat([pl.read_csv(folder / "train.csv"), pl.read_csv(folder / "test.csv")])
    return Table.read(frame, schema)


def attacks(folder: Path, *, quick: bool) -> None:
    """Figure 7."""
    print(
        f"{'method':<10}{'QI':>3}{'m':>4}{'problematic':>13}{'of sensitive':>14}{'average':>9}{'CPU s':>8}", flush=True
    )
    sizes = [(8, m) for m in ((2, 10) if quick else (2, 4, 6, 8, 10))]
    sizes += [(quasi, 2) for quasi in ((3,) if quick else (3, 4, 5, 6, 7))]
    for method in ("pool", "mondrian"):
        for quasi, m in sizes:
            table = adult(folder, quasi)
            release = anonymize(table, table.schema, AlphaK(1 / m, 1, values=(LOW,)), method=method, seed=0)
            one_attack(release, m)


def one_attack(release: Release, m: int) -> None:
    wanted = SimpleLDiversity(m, values=(LOW,))

    def credibilities() -> Floats:
        linkage = link_release(release)
        return credibility(linkage, wanted).worst[linkage.of_row]

    seconds, believed = cpu(credibilities, times=1)
    low = release.table.frame["education"].is_in(LOW).to_numpy()
    above = believed > 1 / m + 1e-9
    average = float(believed[above].mean()) if above.any() else float("nan")
    print(
        f"{release.method:<10}{len(release.schema.quasi):>3}{m:>4}{int(above.sum()):>13,}"
        f"{(above & low).sum() / low.sum():>14.1%}{average:>9.3f}{seconds:>8.2f}",
        flush=True,
    )


def knowing(folder: Path, *, quick: bool) -> None:
    """What someone learns who knows that it was Mondrian, and someone who learns across groups."""
    print()
    table = adult(folder, 8)
    for m in (2,) if quick else (2, 10):
        release = anonymize(table, table.schema, AlphaK(1 / m, 1, values=(LOW,)), method="mondrian", seed=0)
        for name in ("mechanism", "definetti"):
            seconds, findings = cpu(partial(attack, [release], table.schema, only=name), times=1)
            found = findings[name]
            unknown = found.details.get("unknown", 0)
            print(f"m = {m}, {name}, {seconds:.1f} CPU s, {unknown:,} people unknown: {found.sentence}", flush=True)


def masks(folder: Path, *, quick: bool) -> None:
    """Figures 8 to 10: one table and two."""
    head = (
        f"{'method':<14}{'QI':>3}{'m':>4}{'k':>4}{'CPU s':>8}{'error':>8}{'cells':>8}{'changed':>9}{'distortion':>12}"
    )
    print(f"\n{head}", flush=True)
    for quasi in (8,) if quick else (3, 5, 8):
        table = adult(folder, quasi)
        for m in (2, 10):
            for k in (10,) if quick else (2, 10, 20):
                both = KAnonymity(k) & SimpleLDiversity(m, values=(LOW,))
                one_release(table, AlphaK(1 / m, k, values=(LOW,)), "pool", m, k, quick=quick)
                one_release(table, both, "mask", m, k, quick=quick)
                one_release(table, both, "mask", m, k, quick=quick, tables=2)


def one_release(
    table: Table, requirement: Requirement, method: str, m: int, k: int, *, quick: bool, tables: int = 1
) -> None:
    options: dict[str, Any] = {"tables": tables} if method == "mask" else {}
    name = "(alpha,k)" if method == "pool" else "MASK" if tables == 1 else "MASK, 2 tables"
    start = f"{name:<14}{len(table.schema.quasi):>3}{m:>4}{k:>4}"
    try:
        seconds, release = cpu(
            lambda: anonymize(table, table.schema, requirement, method=method, seed=0, **options), times=1
        )
    except NotMetError:
        print(f"{start}  refused: too few groups to look like", flush=True)
        return
    found = measure(release, queries=1000 if quick else 10_000, workload="anatomy")
    error = found.queries.mean if found.queries else float("nan")
    notes = release.draft.notes
    changed, distortion = int(notes.get("changed", 0)), float(notes.get("distortion", 0.0))
    print(f"{start}{seconds:>8.2f}{error:>8.3f}{found.covered:>8.4f}{changed:>9,}{distortion:>12.5f}", flush=True)
