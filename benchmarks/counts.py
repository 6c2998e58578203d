"""Tables of counts, every month: what three two-way tables about the same people give away together, and its cost."""

import argparse
import itertools
from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

import reissue as ri
from benchmarks._measure import peak, timed
from reissue.contingency import CountTable
from reissue.published import Tables
from reissue.schema import Schema
from reissue.synth import Population

PAIRS = (("age", "sex"), ("age", "region"), ("sex", "region"))
ROLES = {"patient": "identifier", "age": "quasi", "sex": "quasi", "region": "quasi", "disease": "sensitive"}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="counts", description=__doc__)
    parser.add_argument("--people", nargs="+", type=int, default=[10_000], help="people a month")
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--hidden", nargs="+", type=int, default=[0, 5], help="cells below this are hidden")
    parser.add_argument("--seed", type=int, default=11)
    chosen = parser.parse_args(arguments)
    print(f"{'people':>8} {'hidden':>7} {'above 0.75':>11} {'right':>7} {'CPU s':>7} {'peak GB':>8}")
    for people in chosen.people:
        tables = months(chosen.seed, people, chosen.months)
        for hidden in chosen.hidden:
            releases = [published(month, hidden) for month in tables]
            seconds, found = timed(partial(judged, releases, tables), times=1)
            row = f"{people:8,} {hidden:7} {found.people:11,} {found.details['right']:7,}"
            print(f"{row} {seconds.cpu:7.1f} {peak() / 2**30:8.2f}", flush=True)


def judged(releases: Sequence[Tables], tables: Sequence[pl.DataFrame]) -> ri.Finding:
    """The joint attack by someone who knows who was counted; the truth tells how many guesses are right."""
    known = ri.Knowledge(members=tables)
    return ri.attack(releases, Schema.read(ROLES), only="joint", knowledge=known)["joint"]


def months(seed: int, people: int, number: int) -> list[pl.DataFrame]:
    """People of synthetic hospitals with banded ages and regions."""
    decade = (pl.col("age") // 10).clip(0, 9).cast(pl.String).alias("age")
    region = pl.col("zip").str.slice(0, 1).alias("region")
    return [one.select("patient", decade, "sex", region, "disease") for one in Population(seed, people).months(number)]


def published(month: pl.DataFrame, hidden: int = 0) -> Tables:
    """Two-way tables by disease of one month."""
    return Tables({"release": month.head(1)}, counts=tuple(counted(month, pair, hidden) for pair in PAIRS))


def counted(month: pl.DataFrame, names: Sequence[str], hidden: int) -> CountTable:
    """A table with cells between 1 and `hidden` - 1 hidden."""
    axes = [sorted(month[name].unique().to_list()) for name in (*names, "disease")]
    cells = pl.DataFrame(list(itertools.product(*axes)), schema=[*names, "disease"], orient="row")
    number = cells.join(month.group_by(cells.columns).len(), on=cells.columns, how="left", maintain_order="left")["len"]
    counts = number.fill_null(0).to_numpy().astype(np.int64)
    small = (counts > 0) & (counts < hidden)
    return CountTable("count", cells, np.where(small, 1, counts), np.where(small, hidden - 1, counts))
