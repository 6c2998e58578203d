"""The page as text: its sentences, its size, and that nothing in it can do harm."""

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.attacks import registered
from reissue.attacks.findings import AttackedRelease, Finding, Findings, Point, Status, not_run
from reissue.errors import InputError, InternalError, Why
from reissue.report import costs_of, report_html, write_report
from reissue.report.charts import fit
from reissue.report.page import _code
from reissue.report.pictures import KINDS, drawing
from reissue.synth import Population, schema
from reissue.utility import measure
from tests.report.cases import PICTURES, SCRIPT, every_picture

GOOD = Finding("updates", Status.WITHSTOOD, "Nobody.", (1, 2), population=9)
BAD = Finding("coalition", Status.EXPOSED, "Somebody.", (1, 2), people=3, population=9)
TWO = (AttackedRelease(1, "a.csv", 9, 3, 2), AttackedRelease(2, "b.csv", 9, 3, 2))


def said(findings: Findings) -> str:
    found = re.search(r'<p class="said">(.*?)</p>', report_html(findings))
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("findings", "sentence"),
    [
        (Findings((GOOD, BAD), TWO), "3 of 9 people are exposed by these 2 releases together."),
        (Findings((BAD,), TWO[:1]), "3 of 9 people are exposed by this release."),
        (Findings((GOOD,), TWO), "Nobody is exposed by these 2 releases together. Tried: updates."),
        (
            Findings((GOOD, not_run("coalition", (1,), "no.", why=Why.NEEDS_INPUT)), TWO),
            (
                "Nobody is exposed by these 2 releases together, as far as was tried: updates. 1 other attack could "
                "not be run and has shown nothing."
            ),
        ),
        (
            Findings((not_run("coalition", (1,), "no.", why=Why.NEEDS_INPUT),), TWO[:1]),
            "No attack could be run on this release, so nothing was shown.",
        ),
    ],
)
def test_the_verdict_is_one_sentence(findings: Findings, sentence: str) -> None:
    assert said(findings) == sentence


def test_every_kind_of_picture_is_drawn_and_every_value_escaped() -> None:
    page = report_html(every_picture())
    assert set(PICTURES) == set(KINDS)
    assert SCRIPT not in page
    assert page.count("<figure") == len(PICTURES) + 1
    assert "Content-Security-Policy" in page
    assert not re.search(r"<script|\son\w+=|javascript:|https?://|url\((?!#)", page)


@given(st.text())
def test_code_is_marked_and_everything_escaped(text: str) -> None:
    shown = str(_code(text))
    assert not re.search(r"<(?!/?code>)", shown)
    assert shown.count("<code>") == shown.count("</code>")


def test_a_picture_of_no_kind_is_a_bug_of_the_attack() -> None:
    with pytest.raises(InternalError, match="no picture"):
        drawing({"kind": "hologram"})  # type: ignore[arg-type]


def test_what_prevents_an_exposing_attack_is_told_once() -> None:
    attack = registered()["coalition"]
    page = report_html(Findings((BAD, GOOD), TWO))
    assert page.count(str(_code(attack.prevention[0]))) == 1
    assert str(_code(registered()["updates"].prevention[0])) not in page


def test_an_attack_that_was_not_run_says_what_it_needs() -> None:
    page = report_html(Findings((not_run("coalition", (1,), "there is `no` provider.", why=Why.NEEDS_INPUT),), TWO))
    assert "there is <code>no</code> provider." in page
    assert str(_code(registered()["coalition"].needs)) in page


def test_code_in_headlines_is_set_as_code() -> None:
    own = Finding("mine", Status.EXPOSED, "Look at `reissue explain`.", (1,), people=1, population=2)
    page = report_html(Findings((own,), TWO))
    assert "Look at <code>reissue explain</code>." in page
    assert "`" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def test_an_attack_of_ones_own_is_told_too() -> None:
    own = Finding("mine", Status.EXPOSED, "It works.", (1,), people=1, population=2)
    page = report_html(Findings((own,), TWO, {"mine": (Point(1, 0, 2, None), Point(2, 1, 2, None))}))
    assert 'id="mine"' in page
    assert "mine exposes 1 person at the end, the first with release 2." in page


def test_where_the_risk_began_is_said_only_as_far_as_it_was_looked_at() -> None:
    own = Finding("mine", Status.EXPOSED, "It works.", (1, 2, 3, 4), people=1, population=2)
    points = (Point(2, 0, 2, None), Point(4, 1, 2, None))
    page = report_html(Findings((own,), TWO, {"mine": points}))
    assert "the first between releases 3 and 4." in page


def test_costs_are_compared_release_by_release() -> None:
    months = list(Population(seed=5, people=200).months(2))
    ways = {k: [ri.anonymize(month, schema(), f"k={k}", seed=1) for month in months] for k in (2, 20)}
    costs = {f"k={k}": [measure(release) for release in releases] for k, releases in ways.items()}
    page = report_html(Findings((GOOD,), TWO), utility=costs)
    assert "k=2: loss" in page
    assert f"{costs['k=20'][1].loss:.1%}" in page
    assert costs["k=2"][0].loss < costs["k=20"][0].loss
    again = costs_of(months, ways[2], schema())
    assert [one.loss for one in again] == pytest.approx([one.loss for one in costs["k=2"]])
    with pytest.raises(InputError, match="one for each"):
        costs_of(months[:1], ways[2], schema())


def test_an_existing_file_is_replaced_by_force_only(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    path.write_text("mine")
    with pytest.raises(InputError):
        write_report(Findings((GOOD,)), path)
    assert path.read_text() == "mine"
    assert write_report(Findings((GOOD,)), path, force=True) == path


@given(st.floats(0, 1e9), st.floats(1e-6, 1e9), st.booleans())
def test_axes_hold_what_they_show(low: float, more: float, whole: bool) -> None:
    axis = fit(low, low + more, 0, 100, whole=whole)
    assert axis.low <= low + 1e-6 * more
    assert axis.high >= (low + more) * (1 - 1e-6)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(-0.1 <= place <= 100.1 for place, _ in ticks)


def test_the_page_shows_values_only_as_published() -> None:
    """No identifier, and no zip code but those that stand in a published table; not even with a real attack."""
    months = [
        month.with_columns(pl.format("Xanthippe-{}", "patient").alias("patient"))
        for month in Population(seed=6, people=300).months(3)
    ]
    releases = [ri.anonymize(month, schema(), "k=4 & l=2", seed=1, suppress=0.05) for month in months]
    found = ri.attack(releases, schema(), only=["coalition", "updates", "definetti", "minimality"], timeline=True)
    assert found.verdict == "exposed"
    page = report_html(found, utility={"these": [measure(release) for release in releases]})
    assert "Xanthippe" not in page
    public = {text for release in releases for text in release.tables["release"]["zip"].cast(pl.String).unique()}
    private = {text for month in months for text in month["zip"].unique()} - public
    assert private
    assert not set(re.findall(r"\b\d{5}\b", page)) & private
