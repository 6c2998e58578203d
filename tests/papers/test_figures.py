"""The page of the papers' figures is what the tables beside it say, and no figure is missing."""

from pathlib import Path

import pytest
from benchmarks.papers import PAPERS, spent
from benchmarks.papers.figure import Curves, Figure, falls, rises, span
from benchmarks.papers.page import render, verdicts

from tests.pages import ROOT

FOLDER = ROOT / "docs" / "papers"
WANTED = {"000": range(6, 11), "001": range(6, 13), "002": range(3, 10), "003": range(1, 3), "004": range(7, 12)}
FIGURES = [figure for paper in PAPERS for figure in paper.figures]


def test_every_figure_of_the_papers_is_there() -> None:
    assert [figure.number for figure in FIGURES] == [f"{paper}.{n}" for paper, some in WANTED.items() for n in some]


def test_the_page_is_fresh() -> None:
    assert (FOLDER / "index.md").read_text() == render(PAPERS, FOLDER, sum(spent(FOLDER).values()) / 60)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.number)
def test_every_figure_has_a_picture_and_claims_with_numbers(figure: Figure) -> None:
    assert (FOLDER / f"{figure.number}.svg").read_text().startswith("<svg")
    judged = verdicts(figure, Curves.load(FOLDER / f"{figure.number}.csv"))
    assert judged
    assert all(ours for _, _, ours in judged)
    assert all(good for _, good, _ in judged) or figure.remark, "what differs is explained"


def test_lines_rise_and_fall() -> None:
    assert rises([1, 1, 2])
    assert not rises([1, 0.9])
    assert rises([1, 0.9], slack=0.1)
    assert falls([3, 2, 2])
    assert span([1.0, 2.0, 4.0], ".1f") == "1.0 to 4.0"


def test_curves_survive_their_file(tmp_path: Path) -> None:
    curves = Curves.of([("a, b", "one", 2, 1 / 3), ("a, b", "one", 1, 5)])
    curves.save(tmp_path / "x.csv")
    assert Curves.load(tmp_path / "x.csv").line("a, b", "one") == {1: 5, 2: 0.3333}
    with pytest.raises(KeyError):
        curves.line("a, b", "two")
