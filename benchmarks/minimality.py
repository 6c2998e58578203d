"""What more than minimality tells: to someone who knows that it was Mondrian, or who learns across groups.

Adult as in section 7 of Wong et al. 2009 (`benchmarks papers --figure 004.7` has the minimality attack itself). With
`--optimum` instead: MASK beside the optimal 2-confidential recoding (definition 8), on small random tables.
"""

import argparse
from functools import partial

import numpy as np
import polars as pl

from benchmarks._measure import cpu, data_folder
from benchmarks.papers.minimality import adult, alpha_k
from reissue.data.table import Table
from reissue.errors import NotMetError
from reissue.papers.optimal import optimal_confidentiality
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.requirements import parse
from reissue.schema import Schema
from reissue.taxonomy.codings import Hierarchy
from reissue.utility import compare

TABLES = 200
"""Random tables of twelve people on which MASK is judged."""
TREE = {"A": ["a1", "a2", "a3"], "B": ["b1", "b2", "b3"]}


def optimum() -> None:
    """Print what MASK loses on tables so small that the optimum is known."""
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"], taxonomies={"q": Hierarchy("tree", tree=TREE)})
    both, none, refused, neither, changed = list[tuple[float, float]](), 0, 0, 0, 0
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        values = {"q": rng.choice([*TREE["A"], *TREE["B"]], 12), "s": rng.choice(["HIV", "none"], 12, p=[0.25, 0.75])}
        people = pl.DataFrame(values)
        if "HIV" not in values["s"]:
            continue
        best = optimal_confidentiality(Table.read(people, schema), parse("simple-l=2:HIV"), 2)
        try:
            made = anonymize(people, schema, "k=2 & simple-l=2:HIV", method="mask", seed=seed)
        except NotMetError:
            refused, neither = refused + (best is not None), neither + (best is None)
            continue
        changed += int(made.draft.notes["changed"])
        none += best is None
        if best is not None:
            both.append((best.loss, compare(people, made, schema, queries=0).loss))
    ours, theirs = np.array(both).T
    less = int((theirs < ours - 1e-9).sum())
    print(
        f"{TABLES} tables of 12 people, m = 2. Both publish {len(both)}, only MASK {none}, only the optimum {refused}."
    )
    print(
        f"Where both do, the optimum loses {ours.mean():.3f} on average, MASK {theirs.mean():.3f}; MASK loses less in"
    )
    print(f"{less}. MASK changes {changed} values in all, the optimum none. Neither publishes {neither}.")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="minimality", description=__doc__)
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--quick", action="store_true", help="m = 2 only")
    parser.add_argument("--optimum", action="store_true", help="MASK beside the optimum, on small random tables")
    given = parser.parse_args(arguments)
    if given.optimum:
        optimum()
        return
    table = adult(data_folder(given.data), 8)
    for m in (2,) if given.quick else (2, 10):
        release = alpha_k(table, m, 1, "mondrian")
        for name in ("mechanism", "definetti"):
            seconds, findings = cpu(partial(attack, [release], table.schema, only=name), times=1)
            found = findings[name]
            unknown = found.details.get("unknown", 0)
            print(f"m = {m}, {name}, {seconds:.1f} CPU s, {unknown:,} people unknown: {found.sentence}", flush=True)
