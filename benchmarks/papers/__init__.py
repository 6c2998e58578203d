"""The figures of the five papers, made again: `python -m benchmarks papers [--figure 002.5 ...]`.

Each figure becomes a table (CSV) and a picture (SVG, with the extra `bench`), and is printed with what the paper's text
says of it and whether that holds. The page index.md is written beside them from the tables that are there.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from benchmarks._measure import data_folder
from benchmarks.papers import changing_values, equivalence, growing_tables, minimality, providers
from benchmarks.papers.draw import draw
from benchmarks.papers.figure import Curves, Figure, Paper
from benchmarks.papers.page import render, verdicts

__all__ = ["PAPERS", "main", "spent", "write_page"]

PAPERS: tuple[Paper, ...] = (
    equivalence.PAPER,
    providers.PAPER,
    changing_values.PAPER,
    growing_tables.PAPER,
    minimality.PAPER,
)
TIMES = "cpu-seconds.csv"


def main(arguments: list[str]) -> None:
    figures = {figure.number: figure for paper in PAPERS for figure in paper.figures}
    parser = argparse.ArgumentParser(
        prog="papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="the folder that holds adult/ and census/")
    parser.add_argument("--figure", nargs="+", choices=figures, default=list(figures), metavar="002.5")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "out" / "papers")
    parser.add_argument("--again", action="store_true", help="draw and judge the tables that are there; run nothing")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    for number in chosen.figure:
        if not chosen.again:
            make(figures[number], data_folder(chosen.data), chosen.out)
        show(figures[number], chosen.out)
    write_page(PAPERS, chosen.out)


def make(figure: Figure, data: Path, out: Path) -> None:
    """Run one figure: its table, and what it took."""
    start = time.process_time()
    Curves.of(figure.make(data)).save(out / f"{figure.number}.csv")
    times = spent(out) | {figure.number: round(time.process_time() - start, 1)}
    pl.DataFrame(sorted(times.items()), schema=["figure", "CPU s"], orient="row").write_csv(out / TIMES)


def show(figure: Figure, out: Path) -> None:
    """Print a figure's table and what holds, and draw it."""
    curves = Curves.load(out / f"{figure.number}.csv")
    print(f"\n{figure.number} {figure.title} ({spent(out).get(figure.number, 0)} CPU s)")
    with pl.Config(
        tbl_rows=40,
        tbl_cols=12,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_formatting="MARKDOWN",
        tbl_width_chars=160,
    ):
        for panel in curves.panels:
            part = curves.frame.filter(pl.col("panel") == panel)
            print(f"{panel}\n{part.pivot('line', index='x', values='y').rename({'x': figure.axis(panel) or 'x'})}")
    for said, holds, ours in verdicts(figure, curves):
        print(f"  {'holds  ' if holds else 'DIFFERS'} {said}: {ours}", flush=True)
    if not draw(figure, curves, out / f"{figure.number}.svg"):
        print("  no picture: install the extra `bench` (Altair and vl-convert)")


def write_page(papers: Sequence[Paper], out: Path) -> None:
    """The page, of the tables that are there."""
    (out / "index.md").write_text(render(papers, out, sum(spent(out).values()) / 60), encoding="utf-8")
    print("\nWritten: index.md")


def spent(out: Path) -> dict[str, float]:
    """CPU seconds of the figures made so far."""
    if not (out / TIMES).is_file():
        return {}
    return dict(pl.read_csv(out / TIMES, schema={"figure": pl.String, "CPU s": pl.Float64}).iter_rows())
