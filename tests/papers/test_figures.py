"""The page of the papers' figures is what the tables beside it say, the tables are what the code computes today."""

from pathlib import Path

import polars as pl
import pytest
from benchmarks._measure import data_folder
from benchmarks.papers import PAPERS, made, spreads
from benchmarks.papers.figure import Claim, Curves, Figure, Verdict, falls, rises, span
from benchmarks.papers.page import render

from tests.pages import ROOT

FOLDER = ROOT / "docs" / "papers"
WANTED = {"000": range(6, 11), "001": range(6, 13), "002": range(3, 10), "003": range(1, 3), "004": range(7, 12)}
FIGURES = [figure for paper in PAPERS for figure in paper.figures]
DATA = data_folder()
has_data = pytest.mark.skipif(not (DATA / "adult").is_dir(), reason="the public data sets are not here: REISSUE_DATA")
by_figure = pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.number)


def test_every_figure_of_the_papers_is_there() -> None:
    assert [figure.number for figure in FIGURES] == [f"{paper}.{n}" for paper, some in WANTED.items() for n in some]


def test_the_page_is_fresh() -> None:
    assert (FOLDER / "index.md").read_text() == render(PAPERS, FOLDER, made(FOLDER), spreads(FOLDER))


@by_figure
def test_every_figure_has_a_picture_and_claims_with_numbers(figure: Figure) -> None:
    assert (FOLDER / f"{figure.number}.svg").read_text().startswith("<svg")
    judged = [claim.verdict(Curves.load(FOLDER / f"{figure.number}.csv")) for claim in figure.claims]
    assert judged
    assert all(ours for _, ours in judged)
    assert Verdict.DIFFERS not in {verdict for verdict, _ in judged} or figure.remark, "what differs is explained"


@has_data
@by_figure
def test_a_cheap_point_is_what_the_page_shows(figure: Figure) -> None:
    shown = Curves.load(FOLDER / f"{figure.number}.csv").frame
    again = Curves.of(figure.point(DATA, 0)).frame
    assert again.height
    assert not same(again, shown)
    said = spreads(FOLDER).filter(figure=figure.number, seed=0).select(again.columns)
    assert not same(again, said)
    assert again.height == said.height


@has_data
@pytest.mark.slow
@by_figure
def test_the_whole_figure_is_what_the_page_shows(figure: Figure) -> None:
    shown = Curves.load(FOLDER / f"{figure.number}.csv").frame
    again = Curves.of(figure.make(DATA)).frame
    assert again.select("panel", "line", "x").equals(shown.select("panel", "line", "x"))
    timed = pl.col("panel").str.contains("CPU") | pl.col("line").str.contains("CPU")
    assert not same(again.filter(~timed), shown)


def same(again: pl.DataFrame, shown: pl.DataFrame) -> list[tuple[object, ...]]:
    """The points that are not what is shown."""
    both = again.join(shown, on=["panel", "line", "x"], how="left", suffix="_shown")
    return both.filter(~pl.col("y").eq_missing(pl.col("y_shown"))).rows()


def test_a_verdict_is_one_of_three() -> None:
    curves = Curves.of([("a", "b", 1, 2)])
    said = [Claim("it is", "it is", lambda _, met=met: (met, "2")).verdict(curves)[0] for met in (True, False, None)]  # type: ignore[misc]
    assert said == [Verdict.HOLDS, Verdict.DIFFERS, Verdict.NOT_COMPARABLE]


def test_lines_rise_and_fall() -> None:
    assert rises([1, 1, 2])
    assert not rises([1, 0.9])
    assert rises([1, 0.9], slack=0.1)
    assert falls([3, 2, 2])
    assert span([1.0, 2.0, 4.0], ".1f") == "1.0 to 4.0"
    assert span([1.0, 2.0, 4.0], ".1f") == "1.0 to 4.0"


def test_curves_survive_their_file(tmp_path: Path) -> None:
    curves = Curves.of([("a, b", "one", 2, 1 / 3), ("a, b", "one", 1, 5)])
    curves.save(tmp_path / "x.csv")
    assert Curves.load(tmp_path / "x.csv").line("a, b", "one") == {1: 5, 2: 0.3333}
    with pytest.raises(KeyError):
        curves.line("a, b", "two")
