"""pycanon and anjana on the same table: what they say of it, what they make of it, and what it costs, in CPU seconds.

Adult, eight quasi-identifiers with their hierarchies, occupation sensitive, k = 5. Frames are in memory on both sides:
imports and files are not timed. pycanon and anjana are no dependencies of Reissue, and need other versions of NumPy.
Give them an environment of their own, and say where it is:

    python -m venv others
    others/bin/pip install pycanon anjana
    python -m benchmarks others --python others/bin/python
"""

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._measure import ADULT, adult_folder, adult_schema, cpu
from reissue.publishing.anonymize import anonymize
from reissue.schema import Schema
from reissue.utility import compare
from reissue.verify.check import check

SENSITIVE = "occupation"
QUASI = [name for name in ADULT if name != SENSITIVE]
K = 5
METHODS = ("incognito", "topdown", "mondrian", "pool")


class Missing(Exception):  # noqa: N818
    """A library that the other Python does not have."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="others", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="the folder that holds adult/")
    parser.add_argument("--python", default=sys.executable, help="the Python that has pycanon and anjana")
    chosen = parser.parse_args(arguments)
    folder = adult_folder(chosen.data)
    schema = adult_schema(folder, SENSITIVE)
    frame = pl.read_csv(folder / "train.csv").select(*ADULT)
    for part in (checks, releases):
        try:
            part(frame, schema, folder, chosen.python)
        except Missing as missing:
            print(f"{missing} is left out: it is not installed there. --help says how to install it and where.")


def ask(python: str, job: dict[str, Any], table: pl.DataFrame) -> dict[str, Any]:
    """Let the other Python do a job on a table; its answer, with the table that it `made`, if it made one."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        table.write_csv(place / "table.csv")
        (place / "job.json").write_text(json.dumps({**job, "quasi": QUASI}))
        subprocess.run([python, Path(__file__).with_name("_theirs.py"), place], check=True)  # noqa: S603
        answer: dict[str, Any] = json.loads((place / "answer.json").read_text())
        if "missing" in answer:
            raise Missing(answer["missing"])
        if (place / "made.csv").is_file():
            answer["made"] = pl.read_csv(place / "made.csv", infer_schema=False)
    return answer


def checks(frame: pl.DataFrame, schema: Schema, _folder: Path, python: str) -> None:
    """What a table satisfies."""
    print(f"{'what a table satisfies':<42}{'CPU s':>9}  {'k':>4}{'l':>4}{'alpha':>8}{'t':>8}")
    release = anonymize(frame, schema, f"k={K}", seed=1).tables["release"]
    for name, table in (("the original", frame), ("5-anonymous, by pool", release)):
        seconds, ours = cpu(partial(check, table, schema))
        row(f"{name}: Reissue", seconds, {key: float(ours[key] or 0) for key in ("k", "l", "alpha-k", "t")})
        answer = ask(python, {"task": "check", "sensitive": SENSITIVE}, table)
        row(f"{name}: pycanon {answer['version']}", answer["seconds"], answer["values"])
        print(f"{'    of it k alone':<42}{answer['k seconds']:>9.3f}")
    smalls(python)


def smalls(python: str) -> None:
    """Two tiny tables on which the answers differ."""
    schema = Schema.of_columns(quasi=["q"], sensitive=["s"])
    uneven = pl.DataFrame({"q": ["x"] * 10, "s": ["a"] * 8 + ["b", "c"]})
    theirs, ours = ask(python, {"task": "small"}, uneven), check(uneven, schema)
    rank = theirs["l"]
    print(
        f"c for l = {rank} of 8, 1, 1 records: Reissue above {ours[f'recursive:l={rank}']:g}, pycanon {theirs['c']:g}"
    )
    gap = pl.DataFrame({"q": ["x"] * 10 + [None], "s": ["a", "b"] * 5 + ["c"]})
    theirs, ours = ask(python, {"task": "small"}, gap), check(gap, schema)
    print(f"k of ten records and one with a missing value: Reissue {ours['k']}, pycanon {theirs['k']}")


def row(label: str, seconds: float, values: dict[str, float]) -> None:
    cells = f"{values['k']:>4.0f}{values['l']:>4.0f}{values['alpha-k']:>8.4f}{values['t']:>8.4f}"
    print(f"{label:<42}{seconds:>9.3f}  {cells}", flush=True)


def releases(frame: pl.DataFrame, schema: Schema, folder: Path, python: str) -> None:
    """What a k-anonymous table costs, in seconds and in information."""
    print(f"\n{'5-anonymous tables':<42}{'may go':>7}{'CPU s':>9}{'loss':>8}{'groups':>8}{'gone':>7}")
    trees = {name: str((folder / "hierarchies" / f"{file}.csv").resolve()) for name, file in ADULT.items()}
    for percent in (0, 5):
        for method, boxes in (*((name, "nodes") for name in METHODS), ("pool", "tight")):
            suppress = percent / 100
            work = partial(anonymize, frame, schema, f"k={K}", method=method, suppress=suppress, seed=1, boxes=boxes)
            seconds, release = cpu(work)
            judge(f"Reissue, {method} ({boxes})", percent, seconds, compare(frame, release, schema, queries=0))
        answer = ask(python, {"task": "anonymize", "k": K, "percent": percent, "hierarchies": trees}, frame)
        utility = compare(frame, answer["made"], schema, queries=0)
        judge(f"anjana {answer['version']}", percent, answer["seconds"], utility)
        if answer["added"]:
            print(
                f"    anjana's table came with {len(answer['added'])} column more, dropped here: {answer['added'][0]}"
            )


def judge(label: str, percent: int, seconds: float, utility: Any) -> None:
    cells = f"{utility.loss:>8.4f}{utility.groups:>8}{utility.suppressed:>7}"
    print(f"{label:<42}{percent:>6}%{seconds:>9.3f}{cells}", flush=True)
