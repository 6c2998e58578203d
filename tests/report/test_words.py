"""The report's sentences and numbers: they agree with each other, and all point one way."""

import reissue as ri
from reissue.attacks.findings import Finding, Findings, Point, Status, bound, outcome
from reissue.errors import Why
from reissue.report.pictures import drawing
from reissue.report.timeline import risk_over_time
from reissue.report.words import figures, price
from reissue.synth import Population, schema
from reissue.utility import measure
from reissue.words import number, percent


def posterior(attack: str, worst: float) -> Finding:
    return Finding(
        attack, Status.WITHSTOOD, "Nobody.", (1, 2), measure="posterior: how surely", worst=worst, limit=0.75
    )


def test_a_limit_says_on_which_side_to_keep() -> None:
    assert bound(posterior("joint", 0.3)) == "at most 0.75"
    hidden = Finding("correspondence", Status.WITHSTOOD, "Nobody.", (1,), worst=5, limit=3, at_least=True)
    assert bound(hidden) == "at least 3"
    assert bound(Finding("mine", Status.WITHSTOOD, "Nobody.", (1,))) == "–"


def test_what_was_not_run_says_whether_it_applies_or_what_it_needs() -> None:
    def idle(why: Why, *needs: str) -> str:
        return outcome(Finding("mine", Status.NOT_RUN, "", (1,), reason="It cannot.", why=why, needs=needs))

    assert idle(Why.DOES_NOT_APPLY) == "does not apply"
    assert idle(Why.NEEDS_INPUT, "members") == "needs members"
    assert idle(Why.TOO_LARGE) == "too large"


def test_what_is_not_quite_certain_is_not_shown_as_if_it_were() -> None:
    shown = dict(figures(Findings((posterior("joint", 1 - 1e-7),))))
    assert shown["Surest link of a person to a value"] == "over 99.9%"
    assert [percent(one) for one in (0, 1e-7, 0.25, 1 - 1e-7, 1)] == ["0%", "under 0.1%", "25%", "over 99.9%", "100%"]
    assert [number(one) for one in (1 - 1e-7, 0.9994, 1.0)] == ["over 0.999", "0.999", "1"]


def test_the_surest_link_is_that_of_the_attack_that_is_the_verdict() -> None:
    shown = dict(figures(Findings((posterior("updates", 0.61), posterior("joint", 0.28)))))
    assert shown["Surest link of a person to a value"] == "28%"
    assert dict(figures(Findings((posterior("updates", 0.61),))))["Surest link of a person to a value"] == "61%"


def test_the_caption_names_the_worst_release_of_an_attack_on_single_ones() -> None:
    points = tuple(Point(number, people, 90, None) for number, people in ((1, 5), (2, 9), (3, 7)))
    chart = risk_over_time(Findings(timeline={"coalition": points, "joint": points}))
    assert chart is not None
    assert "coalition exposes 9 people in release 2, the most in any" in chart.sentence
    assert "joint exposes 7 people at the end, the first with release 1" in chart.sentence


def test_near_numbers_have_different_colours() -> None:
    names = ["a", "b"]
    values: list[list[float | None]] = [[432, 405], [369, None]]
    drawn = drawing({"kind": "matrix", "rows": names, "columns": names, "values": values, "unit": "people", "limit": 0})
    assert [[cell["level"] for cell in row["cells"]] for row in drawn["rows"]] == [[4, 3], [1, 0]]


def test_the_price_of_safety_is_a_sentence() -> None:
    table = next(Population(seed=4, people=200).months(1))
    cheap, dear = (measure(ri.anonymize(table, schema(), f"k={k}", seed=1)) for k in (2, 20))
    said = price({"alone": [cheap], "together": [dear]})
    assert said.startswith("together costs more than alone: ")
    assert f"{dear.loss:.1%} of what the tables said is lost instead of {cheap.loss:.1%}" in said
    assert price({"alone": [cheap]}) == ""
    assert price({"alone": [cheap], "the same": [cheap]}) == "the same costs as much as alone."
