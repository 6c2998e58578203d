"""What notebooks and terminals show."""

import polars as pl
import pytest

import reissue as ri
from reissue._notebook import notebook
from reissue.synth import Population, schema
from reissue.utility import measure
from tests.report.cases import SCRIPT, every_picture


@pytest.fixture(scope="module")
def release() -> ri.Release:
    return ri.anonymize(next(Population(seed=4, people=200).months(1)), schema(), "k=4", seed=1)


def test_findings_show_their_verdict_first_and_escape_values() -> None:
    shown = every_picture()._repr_html_()
    assert shown.index("Exposed") < shown.index("attack-bars") < shown.index("does not apply")
    assert "border-left: 6px solid #a3270f" in shown
    assert SCRIPT not in shown
    assert "&lt;script&gt;" in shown


def test_findings_print_a_line_for_each_attack() -> None:
    lines = str(every_picture()).splitlines()
    assert lines[0] == "exposed"
    assert lines[-1] == "coalition not run: there is no provider column."
    assert len(lines) == 1 + len(every_picture())


def test_a_release_shows_what_was_published_and_nothing_else(release: ri.Release) -> None:
    for shown in (release._repr_html_(), repr(release), str(release)):
        assert "meets k=4: 200 rows" in shown
        assert "patient" not in shown
    first = release.tables["release"].head(1).select("zip").item()
    assert first in release._repr_html_()


def test_hostile_published_values_are_escaped() -> None:
    frame = pl.DataFrame({"age": [1, 1, 1], "job": [SCRIPT] * 3, "ill": ["a", "b", SCRIPT]})
    made = ri.anonymize(frame, ri.Schema.of_columns(quasi=["age", "job"], sensitive=["ill"]), "k=3", seed=1)
    assert SCRIPT not in made._repr_html_()


def test_checks_and_utility_show_their_sentences(release: ri.Release) -> None:
    check, lost = ri.check(release, schema(), "k=4 & l=9"), measure(release)
    assert "NOT MET" in check._repr_html_()
    assert check.measures[0].sentence in check._repr_html_()
    assert "zip" in lost._repr_html_()
    assert str(lost).splitlines() == list(lost.sentences)


def test_a_plan_shows_its_recommendation_first() -> None:
    waves = [month.drop("hospital") for month in Population(seed=1, people=120).months(2)]
    found = ri.plan(waves, schema().with_roles({"hospital": "drop"}), budget=1, further=0)
    shown = found._repr_html_()
    assert "Recommended: " in shown or "No setting is safe: " in shown
    assert "groups known" in shown


def test_what_has_no_view_is_a_bug() -> None:
    with pytest.raises(TypeError, match="no view of int"):
        notebook(3)
