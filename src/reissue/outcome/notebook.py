"""The views of results as a notebook shows them."""

from functools import singledispatch

from reissue._notebook import card
from reissue.attacks.findings import Findings
from reissue.outcome.findings import view_of

__all__ = ["card_of"]


@singledispatch
def card_of(result: object) -> str:
    """Return a result as HTML."""
    raise TypeError(f"There is no view of {type(result).__name__}.")


@card_of.register
def _(result: Findings) -> str:
    view = view_of(result)
    top = view.headline
    lines = {} if view.growth is None else {line.attack: line.points for line in view.growth.lines}
    rows = [
        (one.attack, one.outcome, one.people, one.worst, one.limit, one.sentence)
        for one in (*view.ran, *view.lacking, *view.apart)
    ]
    said = " ".join(filter(None, (f"{top.word}. {top.sentence}", top.next)))
    return card(said, [*view.summary.headings, "in words"], rows, mark=top.mark, lines=lines)
