"""Coefficient of `female` on banded doctor visits in the panel, estimated from randomized waves of a ledger.

Keys differ from repetition to repetition. The policy assumes that 5% of values change; in the panel three in four do.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import reissue as ri
from benchmarks._measure import data_folder

_MIDDLES = {"v0": 0, "v1": 1, "v2": 2, "v3": 3, "v4-5": 4.5, "v6-8": 7, "v9-12": 10.5, "v13+": 13}
_POLICY = '[columns]\nid = "identifier"\nage = "quasi"\nfemale = "quasi"\nedlevel = "quasi"\nvisits = "sensitive"\n'
_POLICY += '[policy]\nrequire = "k=5"\nvalues = "randomized"\n'


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="randomized_panel", description=__doc__)
    parser.add_argument("--data", help="folder with panel/ in it")
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--waves", type=int, default=1)
    chosen = parser.parse_args(arguments)
    folder = data_folder(chosen.data) / "panel"
    tables = [pl.read_csv(folder / f"{year}.csv").drop("docvis") for year in range(1984, 1984 + chosen.waves)]
    found = np.array([estimated(tables) for _ in range(chosen.keys)])
    for wave, table in enumerate(tables):
        visits = table["visits"].replace_strict(_MIDDLES, return_dtype=pl.Float64).to_numpy()
        female = table["female"].to_numpy() == 1
        true = visits[female].mean() - visits[~female].mean()
        value, error, condition = found[:, wave].T
        inside = np.abs(value - true) < 1.96 * error
        print(
            f"wave {wave + 1}: true {true:.3f}, mean of {chosen.keys} estimates {value.mean():.3f} "
            f"({value.mean() / true - 1:+.1%}), standard error {error.mean():.3f}, intervals hold it in "
            f"{inside.mean():.0%}, condition at most {condition.max():.1f}"
        )


def estimated(tables: list[pl.DataFrame]) -> list[tuple[float, float, float]]:
    """The coefficient of every wave, its standard error, and the condition number."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "schema.toml").write_text(_POLICY)
        found = []
        with ri.Ledger.create(Path(name) / "x.ledger", ri.Schema.load(Path(name) / "schema.toml")) as ledger:
            for table in tables:
                made = ri.estimate(ri.publish(table, ledger), models=["visits ~ female"], these_people=True)
                line = made.analyses[0].lines[1]
                found.append((line.value, line.error, made.condition))
    return found
