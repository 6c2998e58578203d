"""What a published table still says, in words: loss by column, what an analyst computes, who goes where."""

from collections.abc import Sequence
from dataclasses import dataclass

from reissue.outcome.view import TableView, table
from reissue.utility import Comparison, CrossTable, Distribution, Estimate, Line, Transition, Transitions, Utility

__all__ = ["Computed", "EstimateIntervals", "IntervalRow", "UtilityView", "computed_of", "view_of"]

FAR = 4.0
"""Coefficients further off than this many half-widths of the true interval stand at the edge of a chart."""
_HALVES = "distance from the true coefficient; 1 is where its 95% interval ends"
_INSIDE = {True: "yes", False: "no", None: "–"}
_ESTIMATES = ("estimate", "true#", "95% interval#", "published#", "95% interval#", "within the true interval")
_CORRECTED = ("estimated#", "95% interval#")
"""Where values are randomized."""


@dataclass(frozen=True)
class IntervalRow:
    """Two numbers with their intervals; None where one cannot be computed."""

    name: str
    true: Estimate
    published: Estimate | None


@dataclass(frozen=True)
class EstimateIntervals:
    """What is drawn of estimates."""

    rows: tuple[IntervalRow, ...]
    unit: str
    reach: str
    """What the published intervals are."""
    sentence: str
    fixed: float | None = None
    """Where the axis ends on both sides; None: around what is shown."""


@dataclass(frozen=True)
class Computed:
    """One computation: its numbers as a table and, where there are any, as a chart."""

    title: str
    sentence: str
    table: TableView
    intervals: EstimateIntervals | None


@dataclass(frozen=True)
class UtilityView:
    """A comparison of a published table with the original."""

    title: str
    figures: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]
    columns: TableView
    computed: tuple[Computed, ...]
    """Models, means and shares."""
    distributions: tuple[TableView, ...]
    crosses: tuple[TableView, ...]
    transitions: Computed | None


def view_of(utility: Utility, transitions: Transitions | None = None) -> UtilityView:
    """Return the view of a comparison."""
    return UtilityView(
        "What does the published table still say?",
        (
            ("information loss", f"{utility.loss:.1%}"),
            ("rows", f"{utility.rows:,}"),
            ("suppressed records", f"{utility.suppressed:,}"),
            ("counterfeits", f"{utility.added:,}"),
        ),
        utility.sentences,
        _columns(utility),
        (*(computed_of(one) for one in utility.models), *(_means(one) for one in utility.means)),
        tuple(_distribution(one) for one in utility.distributions),
        tuple(_cross(one) for one in utility.crosses),
        None if transitions is None else _transitions(transitions),
    )


def _columns(utility: Utility) -> TableView:
    losses, margins = ({name: f"{one:.1%}" for name, one in some.items()} for some in (utility.losses, utility.margins))
    rows = [(name, losses.get(name, "–"), margins.get(name, "–")) for name in {**losses, **margins}]
    return table(("column", "covered by a published value#", "shares off by, at worst#"), rows)


def computed_of(found: Comparison) -> Computed:
    """Return the view of a regression.

    Coefficients are in different units: each is drawn in half-widths of its true interval.
    """
    rows = tuple(_scaled(line, line.true) for line in found.lines if line.true is not None)
    said = f"{found.sentence} Where the published mark lies between -1 and 1, it is within the true interval."
    intervals = EstimateIntervals(rows, _HALVES, "with its 95% interval", said, FAR)
    return Computed(found.asked, found.sentence, _estimates(found.lines), intervals if rows else None)


def _scaled(line: Line, true: Estimate) -> IntervalRow:
    """A line as its numbers lie to the true one."""
    half = max((true.high - true.low) / 2, 1e-12)

    def scaled(one: Estimate) -> Estimate:
        low, value, high = ((number - true.value) / half for number in (one.low, one.value, one.high))
        return Estimate(value, low, high)

    return IntervalRow(line.name, scaled(true), None if line.published is None else scaled(line.published))


def _means(found: Comparison) -> Computed:
    rows = tuple(IntervalRow(line.name, line.true, line.published) for line in found.lines if line.true is not None)
    intervals = EstimateIntervals(rows, found.asked, "with its 95% interval", found.sentence)
    return Computed(found.asked, found.sentence, _estimates(found.lines), intervals if rows else None)


def _estimates(lines: Sequence[Line]) -> TableView:
    corrected = any(line.estimated is not None for line in lines)
    rows = [
        (
            line.name,
            *_cells(line.true),
            *_cells(line.published),
            *(_cells(line.estimated) if corrected else ()),
            _INSIDE[line.inside],
        )
        for line in lines
    ]
    return table((*_ESTIMATES[:5], *(_CORRECTED if corrected else ()), _ESTIMATES[5]), rows)


def _cells(one: Estimate | None) -> tuple[str, str]:
    return ("–", "–") if one is None else (f"{one.value:.4g}", f"{one.low:.4g} to {one.high:.4g}")


def _distribution(one: Distribution) -> TableView:
    counts = zip(one.labels, one.true, one.published, strict=True)
    return table((one.column, "true#", "published#"), [(name, f"{a:,.0f}", f"{b:,.0f}") for name, a, b in counts])


def _cross(one: CrossTable) -> TableView:
    """True counts, and published ones behind an arrow."""
    rows = [
        (name, *(f"{true:,.0f} → {seen:,.0f}" for true, seen in zip(*pair, strict=True)))
        for name, *pair in zip(one.rows, one.true, one.published, strict=True)
    ]
    return table((f"{one.down} by {one.across}", *(f"{column}#" for column in one.columns)), rows, "true → published")


def _transitions(moves: Transitions) -> Computed:
    """Who goes from which value to which, truly and as far as the releases tell."""
    rows = [
        (
            one.before,
            one.after,
            f"{one.true:.1%}",
            f"{one.low:.1%} to {one.high:.1%}",
            f"{one.published:.1%}",
            f"{one.least:.1%} to {one.most:.1%}",
        )
        for one in moves.each
    ]
    headings = ("from", "to", "true#", "95% interval#", "published#", "the releases allow#")
    drawn = (_moved("value kept", moves.stay), *(_moved(f"{one.before} → {one.after}", one) for one in moves.each))
    reach = "from the linked rows" if moves.linked else "with what the releases allow"
    return Computed(
        "Who goes from which value to which",
        moves.sentence,
        table(headings, rows),
        EstimateIntervals(drawn, "share of people in both tables", reach, moves.sentence),
    )


def _moved(name: str, one: Transition) -> IntervalRow:
    true = Estimate(one.true, max(one.low, 0.0), min(one.high, 1.0))
    return IntervalRow(name, true, Estimate(one.published, one.least, one.most))
