"""The views of results as a notebook shows them."""

from functools import singledispatch

from reissue._notebook import card
from reissue.attacks.findings import Findings
from reissue.outcome import check, estimation, findings, plan, price, utility
from reissue.publishing.plan import Plan
from reissue.publishing.price import Price
from reissue.utility import Estimation, Utility
from reissue.verify.check import Check

__all__ = ["card_of"]


@singledispatch
def card_of(result: object) -> str:
    """Return a result as HTML."""
    raise TypeError(f"There is no view of {type(result).__name__}.")


@card_of.register
def _(result: Findings) -> str:
    view = findings.view_of(result)
    top = view.headline
    lines = {} if view.growth is None else {line.attack: line.points for line in view.growth.lines}
    rows = [
        (one.attack, one.outcome, one.people, one.worst, one.limit, one.sentence)
        for one in (*view.ran, *view.lacking, *view.apart)
    ]
    said = " ".join(filter(None, (f"{top.word}. {top.sentence}", top.next)))
    return card(said, [*view.summary.headings, "in words"], rows, mark=top.mark, lines=lines)


@card_of.register
def _(result: Plan) -> str:
    view = plan.view_of(result)
    return card(" ".join(view.sentences), view.summary.headings, view.summary.rows, mark=view.headline.mark)


@card_of.register
def _(result: Check) -> str:
    view = check.view_of(result)
    asked = [(one.outcome, "", one.sentence) for one in view.requirements]
    risks = [("risk", "", sentence) for sentence in view.risk]
    return card(view.first, view.measures.headings, [*asked, *risks, *view.measures.rows])


@card_of.register
def _(result: Utility) -> str:
    view = utility.view_of(result)
    return card(" ".join(view.sentences), view.columns.headings, view.columns.rows)


@card_of.register
def _(result: Estimation) -> str:
    view = estimation.view_of(result)
    rows = [(one.caption, *row) for one in view.tables for row in one.rows]
    return card(" ".join(view.sentences), ["", *view.tables[0].headings], rows)


@card_of.register
def _(result: Price) -> str:
    view = price.view_of(result)
    said = " ".join(
        (view.headline.sentence, view.headline.next, *view.sentences, *(one.sentence for one in view.cheaper))
    )
    return card(said, view.columns.headings, view.columns.rows, mark=view.headline.mark)
