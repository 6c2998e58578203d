"""The figures of the five papers, made again: `python -m benchmarks papers [--figure 002.5 ...]`.

Each figure becomes a table (CSV) and a picture (SVG, with the extra `bench`), and is printed with what the paper's text
says of it and whether that holds. The page index.md is written beside them from the tables that are there.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import reissue
from benchmarks._measure import data_folder
from benchmarks.papers import changing_values, equivalence, growing_tables, minimality, providers
from benchmarks.papers.draw import draw
from benchmarks.papers.figure import Curves, Figure, Paper
from benchmarks.papers.page import render

__all__ = ["PAPERS", "made", "main", "spreads", "write_page"]

PAPERS: tuple[Paper, ...] = (
    equivalence.PAPER,
    providers.PAPER,
    changing_values.PAPER,
    growing_tables.PAPER,
    minimality.PAPER,
)
MADE = "made.csv"
"""When each figure was made: CPU seconds, and the version of Reissue."""
SPREAD = "spread.csv"
"""A few cheap points of each figure with other seeds."""
SEEDS = range(5)


def main(arguments: list[str]) -> None:
    figures = {figure.number: figure for paper in PAPERS for figure in paper.figures}
    parser = argparse.ArgumentParser(
        prog="papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="the folder that holds adult/ and census/")
    parser.add_argument("--figure", nargs="+", choices=figures, default=list(figures), metavar="002.5")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "out" / "papers")
    parser.add_argument("--again", action="store_true", help="draw and judge the tables that are there; run nothing")
    parser.add_argument("--spread", action="store_true", help="run only the cheap points, with every seed")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    for number in chosen.figure:
        if not chosen.again and not chosen.spread:
            make(figures[number], data_folder(chosen.data), chosen.out)
        if not chosen.again:
            spread(figures[number], data_folder(chosen.data), chosen.out)
        show(figures[number], chosen.out)
    write_page(PAPERS, chosen.out)


def make(figure: Figure, data: Path, out: Path) -> None:
    """Run one figure: its table, what it took, and which version it was."""
    start = time.process_time()
    Curves.of(figure.make(data)).save(out / f"{figure.number}.csv")
    rows = made(out) | {figure.number: (round(time.process_time() - start, 1), reissue.__version__)}
    pl.DataFrame(
        [(number, *row) for number, row in sorted(rows.items())], schema=["figure", "CPU s", "version"], orient="row"
    ).write_csv(out / MADE)


def spread(figure: Figure, data: Path, out: Path) -> None:
    """Run a few cheap points of a figure with every seed."""
    tables = [
        Curves.of(figure.point(data, seed)).frame.with_columns(
            pl.lit(figure.number).alias("figure"), pl.lit(seed, pl.Int64).alias("seed")
        )
        for seed in SEEDS
    ]
    kept = spreads(out).filter(pl.col("figure") != figure.number)
    pl.concat([kept, *(table.select(kept.columns) for table in tables)]).sort("figure", maintain_order=True).write_csv(
        out / SPREAD
    )


def show(figure: Figure, out: Path) -> None:
    """Print a figure's table and what holds, and draw it."""
    curves = Curves.load(out / f"{figure.number}.csv")
    print(f"\n{figure.number} {figure.title} ({made(out)[figure.number][0]} CPU s)")
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
    for claim in figure.claims:
        verdict, ours = claim.verdict(curves)
        print(f"  {verdict.upper():14} {claim.paper}: {ours}", flush=True)
    if not draw(figure, curves, out / f"{figure.number}.svg"):
        print("  no picture: install the extra `bench` (Altair and vl-convert)")


def write_page(papers: Sequence[Paper], out: Path) -> None:
    """The page, of the tables that are there."""
    (out / "index.md").write_text(render(papers, out, made(out), spreads(out)), encoding="utf-8")
    print("\nWritten: index.md")


def made(out: Path) -> dict[str, tuple[float, str]]:
    """CPU seconds of the figures made so far, and the version that made them."""
    if not (out / MADE).is_file():
        return {}
    table = pl.read_csv(out / MADE, schema={"figure": pl.String, "CPU s": pl.Float64, "version": pl.String})
    return {number: (seconds, version) for number, seconds, version in table.iter_rows()}


def spreads(out: Path) -> pl.DataFrame:
    """The cheap points with every seed, as far as they were made."""
    schema = {
        "figure": pl.String,
        "seed": pl.Int64,
        "panel": pl.String,
        "line": pl.String,
        "x": pl.Float64,
        "y": pl.Float64,
    }
    return pl.read_csv(out / SPREAD, schema=schema) if (out / SPREAD).is_file() else pl.DataFrame(schema=schema)
