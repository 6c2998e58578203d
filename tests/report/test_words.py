"""The report's sentences and numbers: they agree with each other, and all point one way."""

from collections.abc import Sequence

import reissue as ri
from reissue.attacks.findings import Finding, Findings, Point, Status
from reissue.errors import Why
from reissue.outcome.costs import view_of as costs_view
from reissue.outcome.findings import growth_of, line_of, view_of
from reissue.report.pictures import drawing
from reissue.synth import Population, schema
from reissue.utility import Utility, measure
from reissue.words import number, percent


def posterior(attack: str, worst: float) -> Finding:
    return Finding(
        attack, Status.WITHSTOOD, "Nobody.", (1, 2), measure="posterior: how surely", worst=worst, limit=0.75
    )


def limit(finding: Finding) -> str:
    return line_of(finding).limit


def figures(*findings: Finding) -> dict[str, str]:
    return dict(view_of(Findings(findings)).figures)


def test_a_limit_says_on_which_side_to_keep() -> None:
    assert limit(posterior("joint", 0.3)) == "at most 75%"
    hidden = Finding("correspondence", Status.WITHSTOOD, "Nobody.", (1,), worst=5, limit=3, at_least=True)
    assert limit(hidden) == "at least 3"
    assert limit(Finding("mine", Status.WITHSTOOD, "Nobody.", (1,))) == "–"


def test_what_was_not_run_says_whether_it_applies_or_what_it_needs() -> None:
    def idle(why: Why, *needs: str) -> str:
        return line_of(Finding("mine", Status.NOT_RUN, "", (1,), reason="It cannot.", why=why, needs=needs)).outcome

    assert idle(Why.DOES_NOT_APPLY) == "does not apply"
    assert idle(Why.NEEDS_INPUT, "members") == "needs membership lists"
    assert idle(Why.TOO_LARGE) == "too large"


def test_what_is_not_quite_certain_is_not_shown_as_if_it_were() -> None:
    shown = figures(posterior("joint", 1 - 1e-7))
    assert shown["Highest probability of a value"] == "over 99.9%"
    assert [percent(one) for one in (0, 1e-7, 0.25, 1 - 1e-7, 1)] == ["0%", "under 0.1%", "25%", "over 99.9%", "100%"]
    assert [number(one) for one in (1 - 1e-7, 0.9994, 1.0)] == ["over 0.999", "0.999", "1"]


def test_the_surest_link_is_that_of_the_attack_that_is_the_verdict() -> None:
    shown = figures(posterior("updates", 0.61), posterior("joint", 0.28))
    assert shown["Highest probability of a value"] == "28%"
    assert figures(posterior("updates", 0.61))["Highest probability of a value"] == "61%"


def test_the_caption_names_the_worst_release_of_an_attack_on_single_ones() -> None:
    points = tuple(Point(number, people, 90, None) for number, people in ((1, 5), (2, 9), (3, 7)))
    chart = growth_of(Findings(timeline={"coalition": points, "joint": points}))
    assert chart is not None
    assert "coalition exposes 9 people in release 2, the most in any" in chart.sentence
    assert "joint exposes 7 people at the end, the first with release 1" in chart.sentence


def test_near_numbers_have_different_colours() -> None:
    names = ["a", "b"]
    values: list[list[float | None]] = [[432, 405], [369, None]]
    drawn = drawing({"kind": "matrix", "rows": names, "columns": names, "values": values, "unit": "people", "limit": 0})
    assert [[cell["level"] for cell in row["cells"]] for row in drawn["rows"]] == [[4, 3], [1, 0]]


def price(**costs: Sequence[Utility]) -> str:
    view = costs_view(costs)
    assert view is not None
    return view.price


def test_the_price_of_safety_is_a_sentence() -> None:
    table = next(Population(seed=4, people=200).months(1))
    cheap, dear = (measure(ri.anonymize(table, schema(), f"k={k}", seed=1)) for k in (2, 20))
    said = price(alone=[cheap], together=[dear])
    assert said.startswith("Together costs more than alone: ")
    assert f"{dear.loss:.1%} of what the tables said is lost instead of {cheap.loss:.1%}" in said
    assert price(alone=[cheap]) == ""
    assert price(alone=[cheap], same=[cheap]) == "Same costs as much as alone."
