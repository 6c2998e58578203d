"""One person's case: a history and pictures for each sensitive column. Private."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reissue.attacks.stories import Case
from reissue.outcome.view import TableView, table
from reissue.papers.personal import PRIVATE, PersonalCase
from reissue.words import percent

__all__ = ["PersonColumn", "PersonView", "view_of"]

_HEADINGS = (
    "release#",
    "published as",
    "values left#",
    "true value",
    "probability of it#",
    "largest so far#",
    "likeliest",
)
_MOST = 3
"""Values of which the probability is shown."""


@dataclass(frozen=True)
class PersonColumn:
    """What is known of one person's values in one sensitive column."""

    name: str
    history: TableView
    graph: Case
    cut: Case | None
    note: str


@dataclass(frozen=True)
class PersonView:
    """Everything about one person; the identifier is not repeated."""

    warning: str
    columns: tuple[PersonColumn, ...]


def view_of(cases: Sequence[PersonalCase]) -> PersonView:
    """Return the view of one person's cases, one for each sensitive column."""
    return PersonView(PRIVATE, tuple(_column(one) for one in cases))


def _column(one: PersonalCase) -> PersonColumn:
    rows = [_row(row) for row in one.history.to_dicts()]
    caption = (
        "The probability of the true value once all releases are known (Li and Zhou 2008, definition 8), and the "
        "largest that any release so far gave it (definition 9)."
    )
    return PersonColumn(one.column, table(_HEADINGS, rows, caption), one.update_graph, one.equivalence, one.note)


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    shown = ", ".join(f"{name} {value}" for name, value in json.loads(row["published"]).items())
    likely = json.loads(row["posterior"])
    likeliest = ", ".join(f"{value} {percent(share)}" for value, share in list(likely.items())[:_MOST])
    risks = ["" if row[name] is None else percent(row[name]) for name in ("disclosure_risk", "republication_risk")]
    return (
        str(row["release"]),
        shown or "exact",
        f"{row['values_left']} of {row['values_shown']}",
        "not known" if row["true_value"] is None else row["true_value"],
        *risks,
        likeliest,
    )
