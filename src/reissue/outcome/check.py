"""What a published table satisfies, in words: the requirements asked for, the risk, and every measure."""

from dataclasses import dataclass

from reissue.outcome.view import BAD, GOOD, TableView, table
from reissue.verify.check import Check

__all__ = ["CheckView", "RequirementView", "view_of"]


@dataclass(frozen=True)
class RequirementView:
    """Whether one requirement is met."""

    mark: str
    outcome: str
    sentence: str


@dataclass(frozen=True)
class CheckView:
    """A check."""

    first: str
    """How much there is, and what was taken for a group."""
    requirements: tuple[RequirementView, ...]
    measures: TableView
    by_column: tuple[str, ...]
    risk: tuple[str, ...]
    also: str
    """All measures in a line, for beside what was asked for."""


def view_of(check: Check) -> CheckView:
    """Return the view of a check."""
    values = [(one.name, "–" if one.value is None else f"{one.value:.4g}") for one in check.measures]
    rows = [(*pair, one.sentence) for pair, one in zip(values, check.measures, strict=True)]
    return CheckView(
        check.first,
        tuple(
            RequirementView(GOOD if one.met else BAD, "met" if one.met else "NOT MET", one.sentence)
            for one in check.verdicts
        ),
        table(("measure", "value#", "in words"), rows),
        check.by_column,
        () if check.risk is None else tuple(check.risk.sentences),
        ", ".join(f"{name} {value}" for name, value in values),
    )
